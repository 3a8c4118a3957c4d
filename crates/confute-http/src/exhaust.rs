//! Every small script, by its number: what a server does is tried out to the end within a bound.
//!
//! The alphabet is GET, HEAD, PUT and DELETE of two resources, without a condition, or with If-Match or If-None-Match of `*`,
//! of a tag that was never there, and of each tag that was told before, as it is or marked as weak. A tag that has been replaced
//! since is a stale one. Every PUT has content of its own.
//!
//! Requests are asked one after the other, or two at a time over two connections. Scripts come in order of size, those
//! without anything at a time first. Of scripts that differ in the names of the resources only there is one: the first
//! request is about the first resource. So it is with two at a time that differ in their connections only, if there is nothing
//! else: otherwise it matters what else is asked there. None is kept: each is made from its number.

use std::collections::HashMap;
use std::sync::Arc;

use confute_drive::{Peer, Step, Until};

use crate::mark::mark;
use crate::message::{Method, Tag};
use crate::protocol::{Ask, AskTag, AskTags};

const METHODS: [Method; 4] = [Method::Get, Method::Head, Method::Put, Method::Delete];
const NAMES: [&str; 2] = ["r0", "r1"];

/// What is asked of which resource, without its condition.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind(usize);

impl Kind {
    /// All of them, those about the first resource first.
    fn all() -> impl Iterator<Item = Self> {
        (0..METHODS.len() * NAMES.len()).map(Self)
    }

    fn method(self) -> usize {
        self.0 % METHODS.len()
    }

    fn name(self) -> usize {
        self.0 / METHODS.len()
    }

    fn puts(self) -> bool {
        METHODS[self.method()] == Method::Put
    }
}

/// What the number of possibilities depends on.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct State {
    /// Whether anything was asked.
    begun: bool,
    /// Which resources something was put to.
    put: [bool; NAMES.len()],
    /// How many answers may have told a tag.
    told: usize,
}

impl State {
    /// How many conditions there are, with none.
    fn conditions(self) -> u64 {
        1 + 2 * (2 + 2 * self.told as u64)
    }

    /// What can be asked next, one or two at a time: beside other requests, or as all that there is.
    fn choices(self, block: usize, alone: bool) -> Vec<Choice> {
        let each = self.conditions();
        let firsts = || Kind::all().filter(|kind| self.begun || kind.name() == 0);
        if block == 1 {
            return firsts().map(|kind| Choice { kinds: vec![kind], each, alike: false }).collect();
        }
        let mut choices = Vec::new();
        for one in firsts() {
            for other in Kind::all() {
                // Where there is nothing else the two connections can be exchanged, and the two names as well. Otherwise a
                // connection has a past, or what comes later finds it there, and the server may have remembered it.
                if !alone || other.method() >= one.0 {
                    let alike = alone && other.method() == one.0;
                    choices.push(Choice { kinds: vec![one, other], each, alike });
                }
            }
        }
        choices
    }

    /// Afterwards.
    fn after(mut self, kinds: &[Kind]) -> Self {
        self.begun = true;
        kinds.iter().filter(|kind| kind.puts()).for_each(|kind| self.put[kind.name()] = true);
        self.told += kinds.iter().filter(|kind| self.tells(**kind)).count();
        self
    }

    /// Whether the answer may tell a tag, of a server that made this state of it.
    fn tells(self, kind: Kind) -> bool {
        METHODS[kind.method()] != Method::Delete && self.put[kind.name()]
    }
}

/// What is asked at a time.
struct Choice {
    kinds: Vec<Kind>,
    /// How many conditions each can have.
    each: u64,
    /// Whether there are two that are the same but for their conditions.
    alike: bool,
}

impl Choice {
    /// How many conditions there are, for all of it.
    fn ways(&self) -> u64 {
        match self.kinds.len() {
            1 => self.each,
            _ if self.alike => self.each * (self.each + 1) / 2,
            _ => self.each * self.each,
        }
    }

    /// One of these ways: the number of each condition.
    fn conditions(&self, way: u64) -> Vec<u64> {
        if self.kinds.len() == 1 {
            return vec![way];
        }
        if !self.alike {
            return vec![way / self.each, way % self.each];
        }
        let (mut first, mut left) = (0, way);
        while left >= self.each - first {
            left -= self.each - first;
            first += 1;
        }
        vec![first, first + left]
    }
}

/// What is asked at a time: one or two requests, each time. And from each state, how many scripts follow.
struct Shape {
    blocks: Vec<usize>,
    follow: Vec<HashMap<State, u64>>,
    all: u64,
}

impl Shape {
    fn new(blocks: Vec<usize>) -> Self {
        let mut shape = Self { follow: vec![HashMap::new(); blocks.len()], blocks, all: 0 };
        shape.all = shape.count(0, State::default());
        shape
    }

    fn count(&mut self, at: usize, state: State) -> u64 {
        let Some(block) = self.blocks.get(at) else { return 1 };
        if let Some(known) = self.follow[at].get(&state) {
            return *known;
        }
        let choices = state.choices(*block, self.blocks.len() == 1).into_iter();
        let all = choices.map(|one| one.ways() * self.count(at + 1, state.after(&one.kinds))).sum();
        self.follow[at].insert(state, all);
        all
    }

    /// How many scripts follow from a state that was counted.
    fn following(&self, at: usize, state: State) -> u64 {
        self.follow.get(at).map_or(1, |counted| counted.get(&state).copied().unwrap_or(0))
    }
}

/// All scripts of up to so many requests.
pub struct Exhaust {
    shapes: Vec<Shape>,
}

impl Exhaust {
    /// Of up to so many requests. Five make more scripts than anybody has time for.
    pub fn new(requests: usize) -> Self {
        let mut shapes = Vec::new();
        for size in 1..=requests {
            let mut same = divided(size);
            same.sort_by_key(|blocks| std::cmp::Reverse(blocks.len()));
            shapes.extend(same.into_iter().map(Shape::new));
        }
        Self { shapes }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.shapes.iter().map(|shape| shape.all).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one with this number, counted from zero. Nothing if there is none.
    pub fn script(&self, number: u64) -> Vec<Step<Ask>> {
        let mut left = number;
        for shape in &self.shapes {
            if left < shape.all {
                return script(shape, left);
            }
            left -= shape.all;
        }
        Vec::new()
    }
}

/// All ways to do so much, one or two at a time.
fn divided(size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for first in 1..=size.min(2) {
        all.extend(divided(size - first).into_iter().map(|rest| [vec![first], rest].concat()));
    }
    all
}

fn script(shape: &Shape, mut left: u64) -> Vec<Step<Ask>> {
    let mut steps = Vec::new();
    if shape.blocks.iter().skip(1).any(|block| *block == 2) {
        // The second connection is opened in time: two at a time are to arrive at the same time.
        let second = Peer::Opened(1);
        steps.extend([Step::Hold(second), Step::Release(second)]);
    }
    let mut state = State::default();
    let mut told: Vec<usize> = Vec::new();
    let mut asked = 0;
    for (at, block) in shape.blocks.iter().enumerate() {
        for choice in state.choices(*block, shape.blocks.len() == 1) {
            let after = state.after(&choice.kinds);
            let follow = shape.following(at + 1, after);
            let these = choice.ways() * follow;
            if left >= these {
                left -= these;
                continue;
            }
            let conditions = choice.conditions(left / follow);
            left %= follow;
            let before = told.clone();
            for (on, (kind, condition)) in choice.kinds.iter().zip(conditions).enumerate() {
                if after.tells(*kind) {
                    told.push(steps.len());
                }
                asked += 1;
                let ask = ask(*kind, condition, asked, &before);
                steps.push(Step::Ask { on: Peer::Opened(on as u32), ask, cuts: Vec::new() });
            }
            steps.push(Step::Wait(Until::Outstanding(0)));
            state = after;
            break;
        }
    }
    steps
}

/// This kind of request with this condition, as the so manieth of its script, after answers that may have told tags.
fn ask(kind: Kind, condition: u64, number: u64, told: &[usize]) -> Ask {
    let method = METHODS[kind.method()].clone();
    let body = kind.puts().then(|| Arc::from(mark(number)));
    let ask = Ask { method, name: NAMES[kind.name()].into(), body, ..Ask::default() };
    let Some(condition) = condition.checked_sub(1) else { return ask };
    let tag = (condition / 2) as usize;
    let tags = match tag.checked_sub(2) {
        None if tag == 0 => AskTags::Any,
        None => AskTags::one(AskTag::Guess(Tag::strong(Tag::MADE_UP))),
        Some(tag) => {
            let step = told.get(tag / 2).copied().unwrap_or_default();
            AskTags::one(if tag.is_multiple_of(2) { AskTag::Seen(step) } else { AskTag::Weak(step) })
        }
    };
    if condition.is_multiple_of(2) {
        Ask { if_match: Some(tags), ..ask }
    } else {
        Ask { if_none_match: Some(tags), ..ask }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn asks(steps: &[Step<Ask>]) -> Vec<&Ask> {
        steps
            .iter()
            .filter_map(|step| if let Step::Ask { ask, .. } = step { Some(ask) } else { None })
            .collect()
    }

    /// One request: four methods with 5 conditions each (none; `*` and a guess in either field): 20.
    ///
    /// Two, one after the other. The second has 8 kinds (two resources). After the 15 that put nothing it has 5 conditions, after
    /// the 5 that do it has 9 (the tag and its weak variant in either field): 15 * 8 * 5 + 5 * 8 * 9 = 960. At once: two of the
    /// 20 without their order, about the same resource or about two: 2 * 20 * 21 / 2 = 420.
    #[test]
    fn as_many_as_there_are() {
        assert_eq!(Exhaust::new(0).len(), 0);
        assert_eq!(Exhaust::new(1).len(), 20);
        assert_eq!(Exhaust::new(2).len(), 20 + 960 + 420);
        // As the guide has it.
        assert_eq!(Exhaust::new(3).len(), 159_800);
        assert_eq!(Exhaust::new(5).len(), 3_765_421_560);
        assert!(Exhaust::new(0).is_empty() && !Exhaust::new(1).is_empty());
    }

    #[test]
    fn each_once_in_order_of_size() {
        let all = Exhaust::new(3);
        let (mut seen, mut size) = (BTreeSet::new(), 1);
        for number in 0..all.len() {
            let steps = all.script(number);
            let asks = asks(&steps);
            assert!(asks.len() == size || asks.len() == size + 1, "{steps:?}");
            size = asks.len();
            assert_eq!(&*asks[0].name, NAMES[0], "{steps:?}");
            assert!(seen.insert(format!("{steps:?}")), "again: {steps:?}");
        }
        assert_eq!(size, 3);
        assert!(all.script(all.len()).is_empty());
    }

    /// What is referred to was asked before, was answered, and may have told a tag.
    #[test]
    fn references_are_to_what_was_answered() {
        let all = Exhaust::new(3);
        let mut references = 0;
        for number in 0..all.len() {
            let steps = all.script(number);
            for (place, step) in steps.iter().enumerate() {
                let Step::Ask { ask, .. } = step else { continue };
                let Some(AskTags::Lines(lines)) = ask.if_match.as_ref().or(ask.if_none_match.as_ref()) else {
                    continue;
                };
                for tag in lines.iter().flatten() {
                    let (AskTag::Seen(at) | AskTag::Weak(at)) = tag else { continue };
                    references += 1;
                    assert!(*at < place, "{steps:?}");
                    assert!(steps[*at..place].contains(&Step::Wait(Until::Outstanding(0))), "{steps:?}");
                    let Step::Ask { ask: told, .. } = &steps[*at] else { panic!("no ask: {steps:?}") };
                    assert_ne!(told.method, Method::Delete, "{steps:?}");
                    let puts = asks(&steps[..=*at + 1]);
                    assert!(
                        puts.iter().any(|put| put.method == Method::Put && put.name == told.name),
                        "{steps:?}"
                    );
                }
            }
        }
        assert!(references > 0);
    }

    /// Two at once are asked either way round if something else is asked too, before or after them.
    #[test]
    fn both_ways_if_connections_differ() {
        let all = Exhaust::new(3);
        let told = |ask: &Ask| format!("{:?}", (&ask.method, &ask.name, &ask.if_match, &ask.if_none_match));
        let (mut later, mut first) = (BTreeSet::new(), BTreeSet::new());
        for number in 0..all.len() {
            let steps = all.script(number);
            let told: Vec<String> = asks(&steps).into_iter().map(told).collect();
            let on = |step: &Step<Ask>| matches!(step, Step::Ask { on: Peer::Opened(1), .. });
            match (told.len(), steps.iter().filter(|step| matches!(step, Step::Ask { .. })).position(on)) {
                (3, Some(2)) => later.insert(told),
                (3, Some(1)) => first.insert(told),
                _ => false,
            };
        }
        let turned = |one: &Vec<String>| vec![one[0].clone(), one[2].clone(), one[1].clone()];
        assert!(later.iter().all(|one| later.contains(&turned(one))));
        // After the 15 that put nothing there are 8 kinds with 5 conditions each, after the 5 others with 9: any two of them.
        assert_eq!(later.len(), 15 * 40 * 40 + 5 * 72 * 72);
        // Of 4 kinds beside any of 8, with 5 conditions each, 18 pairs tell no tag, 8 tell one, 6 tell two.
        assert_eq!(first.len(), 5 * 5 * 8 * (18 * 5 + 8 * 9 + 6 * 13));
    }

    /// No two that are equal but for the order of what is asked at once, or for the names.
    #[test]
    fn symmetric_ones_are_left_out() {
        let all = Exhaust::new(2);
        let mut seen = BTreeSet::new();
        for number in 980..all.len() {
            let steps = all.script(number);
            let asks = asks(&steps);
            let other = |name: &str| Arc::from(if name == NAMES[0] { NAMES[1] } else { NAMES[0] });
            let told = |one: &Ask, flip: bool| {
                let name = if flip { other(&one.name) } else { one.name.clone() };
                // Contents are told apart by their place only.
                format!("{:?}", Ask { name, body: None, ..one.clone() })
            };
            let told = |flip: bool| {
                let mut both = [told(asks[0], flip), told(asks[1], flip)];
                both.sort();
                both
            };
            assert!(seen.insert(told(false).min(told(true))), "{steps:?}");
        }
        assert_eq!(seen.len(), 420);
    }
}
