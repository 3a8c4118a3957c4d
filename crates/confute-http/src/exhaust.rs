//! All small scripts, by number: exhaustive testing within a bound.
//!
//! The alphabet is GET, HEAD, PUT and DELETE of two resources, without a condition, or with If-Match or If-None-Match
//! of `*`, of a tag that never existed, and of each tag in an earlier response, as it is or marked as weak. A tag that
//! has been replaced since is stale. Every PUT has content of its own.
//!
//! Requests are sent one after the other, or two at a time over two connections. Scripts come in order of size, those
//! without concurrent requests first. Of scripts that differ only in the names of the resources there is one: the first
//! request is about the first resource. Of scripts of two concurrent requests that differ only in their connections
//! there is one, too; with any further request, the connections are no longer interchangeable. No script is stored:
//! each is made from its number.

use std::collections::HashMap;
use std::sync::Arc;

use confute_drive::{Peer, Step, Until};

use crate::ask::{Ask, AskRequest, AskTag, AskTags};
use crate::mark::mark;
use crate::message::{Method, Tag};

const METHODS: [Method; 4] = [Method::Get, Method::Head, Method::Put, Method::Delete];
const NAMES: [&str; 2] = ["r0", "r1"];

/// A method and a resource, without a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind(usize);

impl Kind {
    /// Returns all kinds, those about the first resource first.
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

/// The state of a script that determines the number of continuations.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct State {
    /// `true` if a request was sent.
    begun: bool,
    /// `true` for each resource that something was put to.
    put: [bool; NAMES.len()],
    /// Number of responses that may contain a tag.
    told: usize,
}

impl State {
    /// Returns the number of possible conditions, counting the absence of one.
    fn conditions(self) -> u64 {
        1 + 2 * (2 + 2 * self.told as u64)
    }

    /// Returns the choices for the next block of one or two requests. `alone` is `true` if the block is the whole
    /// script.
    fn choices(self, block: usize, alone: bool) -> Vec<Choice> {
        let each = self.conditions();
        let firsts = || Kind::all().filter(|kind| self.begun || kind.name() == 0);
        if block == 1 {
            return firsts().map(|kind| Choice { kinds: vec![kind], each, alike: false }).collect();
        }
        let mut choices = Vec::new();
        for one in firsts() {
            for other in Kind::all() {
                // If the block is the whole script, the two connections are interchangeable, and so are the two names.
                // Otherwise a connection has a past, or later requests use it, and the server may remember what
                // happened on it.
                if !alone || other.method() >= one.0 {
                    let alike = alone && other.method() == one.0;
                    choices.push(Choice { kinds: vec![one, other], each, alike });
                }
            }
        }
        choices
    }

    /// Returns the state after these requests.
    fn after(mut self, kinds: &[Kind]) -> Self {
        self.begun = true;
        kinds.iter().filter(|kind| kind.puts()).for_each(|kind| self.put[kind.name()] = true);
        self.told += kinds.iter().filter(|kind| self.tells(**kind)).count();
        self
    }

    /// Returns `true` if the response to a request of this kind, which led to this state, may contain a tag.
    fn tells(self, kind: Kind) -> bool {
        METHODS[kind.method()] != Method::Delete && self.put[kind.name()]
    }
}

/// One or two requests that are sent at the same time, without their conditions.
struct Choice {
    kinds: Vec<Kind>,
    /// Number of conditions that each request can have.
    each: u64,
    /// `true` if there are two requests that differ only in their conditions.
    alike: bool,
}

impl Choice {
    /// Returns the number of combinations of conditions.
    fn ways(&self) -> u64 {
        match self.kinds.len() {
            1 => self.each,
            _ if self.alike => self.each * (self.each + 1) / 2,
            _ => self.each * self.each,
        }
    }

    /// Returns the combination with this number: the number of each condition.
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

/// The sizes of the blocks of a script, one or two requests each. For each block and state, `follow` has the number of
/// continuations.
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

    /// Returns the number of continuations from a state that was counted.
    fn following(&self, at: usize, state: State) -> u64 {
        self.follow.get(at).map_or(1, |counted| counted.get(&state).copied().unwrap_or(0))
    }
}

/// All scripts up to a number of requests.
pub struct Exhaust {
    shapes: Vec<Shape>,
}

impl Exhaust {
    /// Creates the scripts of up to this number of requests. Five requests make more scripts than can be run in
    /// practice.
    pub fn new(requests: usize) -> Self {
        let mut shapes = Vec::new();
        for size in 1..=requests {
            let mut same = divided(size);
            same.sort_by_key(|blocks| std::cmp::Reverse(blocks.len()));
            shapes.extend(same.into_iter().map(Shape::new));
        }
        Self { shapes }
    }

    /// Returns the number of scripts.
    pub fn len(&self) -> u64 {
        self.shapes.iter().map(|shape| shape.all).sum()
    }

    /// Returns `true` if there are no scripts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the script with this number, counted from zero, or no steps if there is none.
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

/// Returns all ways to divide this number of requests into blocks of one or two.
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
        // The second connection is opened early, so that two requests at a time arrive at the same time.
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
                steps.push(Step::Ask { on: Peer::Opened(on as u32), ask: ask.into(), cuts: Vec::new() });
            }
            steps.push(Step::Wait(Until::Outstanding(0)));
            state = after;
            break;
        }
    }
    steps
}

/// Returns a request of this kind with this condition, as the request with this number in its script. `told` has the
/// steps whose responses may contain a tag.
fn ask(kind: Kind, condition: u64, number: u64, told: &[usize]) -> AskRequest {
    let method = METHODS[kind.method()].clone();
    let body = kind.puts().then(|| Arc::from(mark(number)));
    let ask = AskRequest { method, name: NAMES[kind.name()].into(), body, ..AskRequest::default() };
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
        AskRequest { if_match: Some(tags), ..ask }
    } else {
        AskRequest { if_none_match: Some(tags), ..ask }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn asks(steps: &[Step<Ask>]) -> Vec<&AskRequest> {
        let ask = |step| if let &Step::Ask { ask: Ask::Send(ref ask), .. } = step { Some(ask) } else { None };
        steps.iter().filter_map(ask).collect()
    }

    /// One request: four methods with 5 conditions each (none; `*` and a guess in either field): 20.
    ///
    /// Two requests, one after the other: the second has 8 kinds (two resources). After the 15 that put nothing it has
    /// 5 conditions, after the 5 that do it has 9 (the tag and its weak variant in either field): 15 * 8 * 5 + 5 * 8 *
    /// 9 = 960. Two at a time: two of the 20 in any order, about the same resource or about two: 2 * 20 * 21 / 2 = 420.
    #[test]
    fn as_many_as_there_are() {
        assert_eq!(Exhaust::new(0).len(), 0);
        assert_eq!(Exhaust::new(1).len(), 20);
        assert_eq!(Exhaust::new(2).len(), 20 + 960 + 420);
        // The guide states these numbers.
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

    /// Every reference is to an earlier request that was answered, and whose response may contain a tag.
    #[test]
    fn references_are_to_what_was_answered() {
        let all = Exhaust::new(3);
        let mut references = 0;
        for number in 0..all.len() {
            let steps = all.script(number);
            for (place, step) in steps.iter().enumerate() {
                let Step::Ask { ask: Ask::Send(ask), .. } = step else { continue };
                let tags = ask.if_match.as_ref().or(ask.if_none_match.as_ref());
                for tag in tags.into_iter().flat_map(AskTags::iter) {
                    let (AskTag::Seen(at) | AskTag::Weak(at)) = tag else { continue };
                    references += 1;
                    assert!(*at < place, "{steps:?}");
                    assert!(steps[*at..place].contains(&Step::Wait(Until::Outstanding(0))), "{steps:?}");
                    let Step::Ask { ask: Ask::Send(told), .. } = &steps[*at] else {
                        panic!("no ask: {steps:?}")
                    };
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

    /// Two concurrent requests occur in both orders if the script has a further request, before or after them.
    #[test]
    fn both_ways_if_connections_differ() {
        let all = Exhaust::new(3);
        let told =
            |ask: &AskRequest| format!("{:?}", (&ask.method, &ask.name, &ask.if_match, &ask.if_none_match));
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
        // After the 15 that put nothing there are 8 kinds with 5 conditions each, after the 5 others with 9: any two of
        // them.
        assert_eq!(later.len(), 15 * 40 * 40 + 5 * 72 * 72);
        // Of 4 kinds beside any of 8, with 5 conditions each, 18 pairs produce no tag, 8 produce one, 6 produce two.
        assert_eq!(first.len(), 5 * 5 * 8 * (18 * 5 + 8 * 9 + 6 * 13));
    }

    /// No two scripts differ only in the order of concurrent requests, or only in the names.
    #[test]
    fn symmetric_ones_are_left_out() {
        let all = Exhaust::new(2);
        let mut seen = BTreeSet::new();
        for number in 980..all.len() {
            let steps = all.script(number);
            let asks = asks(&steps);
            let other = |name: &str| Arc::from(if name == NAMES[0] { NAMES[1] } else { NAMES[0] });
            let told = |one: &AskRequest, flip: bool| {
                let name = if flip { other(&one.name) } else { one.name.clone() };
                // Contents differ only in the position of their request.
                format!("{:?}", AskRequest { name, body: None, ..one.clone() })
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
