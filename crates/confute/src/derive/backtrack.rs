//! Backtracking (Fig 11): keeps one live explanation and the choices behind it, and goes back only when it fails.
//!
//! A [`Part`] is a group of cells that no turn ties to others; it is searched by itself. Its stack holds the
//! alternatives that were passed by, each at the place in the trace where it was passed by. When the live explanation
//! fails, the latest alternative is taken up and brought forward; when none is left, nothing explains what was seen.
//!
//! What makes it exact and cheap at once:
//! - A packet is delivered only when something seen needs it: itself, or another that it could influence.
//! - A turn that only reads is placed when its answer is seen, at any version of its cell since it was sent. If that
//!   teaches no new fact it changes nothing, so no alternative is kept; the earliest fitting version is taken, because
//!   it leaves most room for its successor on the connection.
//! - A hypothesis met before at the same place is not taken up again.
//! - Settling brings all alternatives to the present and merges the equal ones; the past is then forgotten.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::book::Seen;
use super::compose::{Brood, Composed, Effect};
use super::dualize::{Entry, Task};
use super::hypothesis::{Delivery, Hypothesis, Outgoing};
use super::unify::{Reach, Spot};
use crate::fingerprint::Fingerprint;
use crate::lang::{Access, Conn, ServerModel, Val};
use crate::tester::{Meter, Pulse};

/// How many alternatives settling may leave before it gives up for now.
const MOST_SETTLED: usize = 512;
/// How long a log may grow before it is settled.
const FIRST_SETTLING: usize = 256;

/// An alternative: a hypothesis that has explained the log up to `at`, and the step to try next.
pub(crate) struct Node<S: ServerModel + ?Sized> {
    at: usize,
    hypothesis: Rc<Hypothesis<S>>,
    step: Step,
    /// How many packets were delivered, for the sake of what is to be explained at `at`, before the one in question.
    depth: usize,
    serial: u64,
}

/// What to try. Choices stay unmade until their turn comes: most never do.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Go on as it is.
    Go,
    /// The server takes this pending packet.
    Deliver(usize),
    /// It took this one, which only reads, at a version of its cell.
    Read(usize, Option<usize>),
    /// Something happens inside the server.
    Internal,
}

/// The alternatives.
///
/// Where something seen cannot be explained, either some other packet was delivered before it (one, or two, or many), or
/// an earlier choice was wrong, and nobody knows which. Going ever deeper at the latest place would try every order of
/// everything under way; going back first would try old choices for nothing. So two orders are followed in turns: the
/// latest alternative first, and the one with the fewest conjectured deliveries first.
struct Stack<S: ServerModel + ?Sized> {
    /// By depth, in the order of being passed by.
    levels: Vec<Vec<Node<S>>>,
    len: usize,
    serial: u64,
}

impl<S: ServerModel + ?Sized> Default for Stack<S> {
    fn default() -> Self {
        Self { levels: Vec::new(), len: 0, serial: 0 }
    }
}

impl<S: ServerModel + ?Sized> Stack<S> {
    fn push(&mut self, mut node: Node<S>) {
        let depth = node.depth.min(15);
        while self.levels.len() <= depth {
            self.levels.push(Vec::new());
        }
        self.serial += 1;
        node.serial = self.serial;
        self.levels[depth].push(node);
        self.len += 1;
    }

    fn extend(&mut self, nodes: impl Iterator<Item = Node<S>>) {
        nodes.for_each(|node| self.push(node));
    }

    /// The latest alternative.
    fn pop_latest(&mut self) -> Option<Node<S>> {
        let level = self.levels.iter_mut().max_by_key(|level| level.last().map_or(0, |node| node.serial))?;
        let node = level.pop()?;
        self.len -= 1;
        Some(node)
    }

    /// The alternative with the fewest conjectured deliveries.
    fn pop_nearest(&mut self) -> Option<Node<S>> {
        let node = self.levels.iter_mut().find_map(Vec::pop)?;
        self.len -= 1;
        Some(node)
    }

    fn nodes(&self) -> impl Iterator<Item = &Node<S>> {
        self.levels.iter().flatten()
    }

    fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node<S>> {
        self.levels.iter_mut().flatten()
    }
}

/// Cells that are searched together.
pub(crate) struct Part<S: ServerModel + ?Sized> {
    pub(crate) cells: Vec<u32>,
    pub(crate) log: Vec<Entry<S::Msg>>,
    /// Up to where the log is to be explained for now.
    horizon: usize,
    /// All hypotheses before the log begins.
    pub(crate) base: Vec<Hypothesis<S>>,
    stack: Stack<S>,
    /// Hypotheses that explain the log up to the horizon.
    pub(crate) live: Vec<Hypothesis<S>>,
    visited: HashSet<u128, BuildHasherDefault<Print>>,
    next_settling: usize,
    /// Every packet before this place that will be answered at all has been.
    answered: usize,
    /// How many turns were run here since it was settled last.
    runs: u64,
    /// The furthest entry that anybody reached.
    pub(crate) furthest: usize,
    /// Whether some turn here may touch anything.
    pub(crate) whole: bool,
    /// What a packet does to the only cell, by packet and content.
    effects: FxHashMap<(u32, u128), Option<Effect>>,
    /// How often looking ahead is left out after it was in vain, and how often still.
    blur: u32,
    blurred: u32,
    /// How often in a row the packet in question spoilt nothing: answers that tell nothing need no ranking.
    unspoilt: u32,
    /// Whether the furthest entry was a send that nobody could take.
    pub(crate) out_of_step: bool,
}

/// What a packet can still lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outlook {
    quiet: bool,
    loud: bool,
}

/// How many contents of a cell are looked at in advance.
const MOST_CONTENTS: usize = 24;
/// After how many packets in a row that spoilt nothing ranking is given up.
const MOST_UNSPOILT: u32 = 24;

fn print(value: Option<&Val>) -> Option<Fingerprint> {
    value.map(|value| value.fingerprint)
}

/// Fingerprints are hashes already.
#[derive(Default)]
struct Print(u64);

impl Hasher for Print {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }
}

/// How a search went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Something explains everything so far.
    Explained,
    /// Nothing does.
    Failed,
    /// Not finished.
    Unfinished,
}

impl<S: ServerModel + ?Sized> Part<S> {
    pub(crate) fn new(cells: Vec<u32>, base: Vec<Hypothesis<S>>, whole: bool) -> Self {
        Self {
            cells,
            log: Vec::new(),
            horizon: 0,
            live: base.clone(),
            base,
            stack: Stack::default(),
            visited: HashSet::default(),
            next_settling: FIRST_SETTLING,
            answered: 0,
            runs: 0,
            furthest: 0,
            whole,
            effects: FxHashMap::default(),
            blur: 0,
            blurred: 0,
            unspoilt: 0,
            out_of_step: false,
        }
    }

    /// Adds a cell that was in no part before.
    pub(crate) fn adopt(&mut self, world: &Composed<'_, S>, cell: u32) {
        if let Err(at) = self.cells.binary_search(&cell) {
            self.cells.insert(at, cell);
            for node in self.stack.nodes_mut() {
                world.ensure(Rc::make_mut(&mut node.hypothesis), cell);
            }
            for hypothesis in self.base.iter_mut().chain(&mut self.live) {
                world.ensure(hypothesis, cell);
            }
        }
    }

    /// Whether no hypothesis has a packet of this connection under way, and none will.
    pub(crate) fn is_clear_of(&self, wire: u32) -> bool {
        let given =
            |entry: &Entry<S::Msg>| matches!(&entry.task, Task::Given(delivery) if delivery.wire == wire);
        let holds = |hypothesis: &Hypothesis<S>| hypothesis.pending.iter().any(|it| it.delivery.wire == wire);
        !self.log.iter().any(given)
            && !self.stack.nodes().any(|node| holds(&node.hypothesis))
            && !self.live.iter().any(holds)
    }

    /// Whether it holds nothing worth keeping but its cells.
    pub(crate) fn is_idle(&self) -> bool {
        (self.stack.len == 0)
            && self.horizon == self.log.len()
            && self.live.iter().all(|it| it.pending.is_empty() && it.out.is_empty() && it.suspended.is_none())
    }

    /// All hypotheses that explain the log, as far as they can be found without undue effort; whether there are more.
    pub(crate) fn survey(&mut self, world: &Composed<'_, S>, most: usize) -> (Vec<Hypothesis<S>>, bool) {
        let most_runs = world.runs.get() + 64 * most as u64;
        while self.live.len() < most && world.runs.get() < most_runs {
            let Some(node) = self.stack.pop_latest() else { break };
            self.forward(world, node);
        }
        let mut seen = FxHashSet::default();
        self.live.retain(|hypothesis| seen.insert(hypothesis.fingerprint(0).0));
        (self.live.clone(), self.stack.len > 0)
    }

    /// What each of the next packets to this connection would be, after at most a few deliveries.
    pub(crate) fn prospects(
        &self,
        world: &Composed<'_, S>,
        hypothesis: &Hypothesis<S>,
        conn: Conn,
        place: u64,
    ) -> Vec<(Hypothesis<S>, Outgoing<S::Out>)> {
        let mut found = Vec::new();
        let mut todo = vec![(hypothesis.clone(), 0)];
        while let Some((hypothesis, depth)) = todo.pop() {
            if let Some(head) = hypothesis.out.iter().find(|item| item.conn == conn).cloned() {
                found.push((hypothesis, head));
                continue;
            }
            let parent = Rc::new(hypothesis);
            for index in 0..parent.pending.len() {
                let own = Some(parent.pending[index].delivery.wire) == conn.wire();
                if !world.is_deliverable(&parent, index)
                    || (!own && depth == 2)
                    || found.len() + todo.len() > 64
                {
                    continue;
                }
                let mut brood = Brood::new();
                if parent.pending[index].delivery.foot.is_reader() {
                    for version in versions(&parent, index) {
                        world.deliver_reader(Rc::clone(&parent), index, version, place, &mut brood);
                    }
                } else {
                    world.deliver(Rc::clone(&parent), index, place, &mut brood);
                }
                todo.extend(brood.into_iter().map(|next| (next, if own { depth } else { depth + 1 })));
            }
        }
        found
    }

    /// Searches again from the start of the log.
    pub(crate) fn restart(&mut self) {
        self.stack = Stack::default();
        self.live.clone_from(&self.base);
        self.horizon = 0;
        self.visited.clear();
    }

    /// How many entries of the log are not explained yet.
    pub(crate) fn lag(&self) -> usize {
        self.log.len() - self.horizon
    }

    /// How many alternatives are open.
    pub(crate) fn open(&self) -> usize {
        self.stack.len + self.live.len()
    }

    /// A rough count of bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let each = size_of::<Hypothesis<S>>() + 64 + 96 * self.cells.len().min(64);
        (self.stack.len + self.live.len() + self.base.len()) * each
            + self.visited.capacity() * 17
            + self.log.capacity() * size_of::<Entry<S::Msg>>()
    }

    fn pulse(&self, world: &Composed<'_, S>) -> Pulse {
        let event =
            self.log.get(self.furthest.min(self.log.len().saturating_sub(1))).map_or(0, |entry| entry.place);
        Pulse { event, turns: world.runs.get(), open: self.open(), bytes: self.bytes() }
    }

    /// Puts two parts together. Neither knew of the other, so every pair of their hypotheses is possible; their logs
    /// are gone through again as one.
    pub(crate) fn merge(mut self, mut other: Self) -> Self {
        let mut base = Vec::with_capacity(self.base.len() * other.base.len());
        for left in &self.base {
            for right in &other.base {
                base.push(left.joined(right));
            }
        }
        self.cells.append(&mut other.cells);
        self.cells.sort_unstable();
        self.log.append(&mut other.log);
        self.log.sort_by_key(|entry| entry.place);
        let mut merged = Self::new(self.cells, base, self.whole || other.whole);
        merged.next_settling = FIRST_SETTLING.max(self.log.len() + FIRST_SETTLING);
        merged.log = self.log;
        merged
    }

    /// Searches on until the log is explained, nothing is left, or the meter says stop.
    ///
    /// Works in stretches, each settled if it can be, so that the past does not pile up.
    pub(crate) fn advance(
        &mut self,
        world: &Composed<'_, S>,
        meter: &mut Meter<'_>,
        target: usize,
    ) -> Progress {
        let mut target = target.min(self.log.len());
        loop {
            match self.explore(world, meter) {
                Progress::Explained => {}
                other => return other,
            }
            if self.horizon >= self.next_settling {
                let before = self.log.len();
                self.settle(world, meter);
                target -= before - self.log.len();
                if world.mistake.borrow().is_some() || world.escaped.get() {
                    return Progress::Unfinished;
                }
                if self.live.is_empty() {
                    continue;
                }
            }
            if self.horizon >= target {
                return Progress::Explained;
            }
            let at = self.horizon;
            self.horizon = (self.horizon + FIRST_SETTLING).min(target);
            self.stack.extend(self.live.drain(..).rev().map(|hypothesis| Node::go(at, hypothesis)));
        }
    }

    /// Takes up alternatives until one reaches the horizon.
    fn explore(&mut self, world: &Composed<'_, S>, meter: &mut Meter<'_>) -> Progress {
        let mut stint = 64;
        let mut switch_at = world.runs.get() + stint;
        let mut nearest = false;
        while self.live.is_empty() {
            if meter.is_spent(world.runs.get(), || self.pulse(world)) {
                return Progress::Unfinished;
            }
            let before = world.runs.get();
            if before >= switch_at {
                stint += stint / 2;
                switch_at = before + stint;
                nearest = !nearest;
            }
            let node = if nearest { self.stack.pop_nearest() } else { self.stack.pop_latest() };
            let Some(node) = node else { return Progress::Failed };
            self.forward(world, node);
            self.runs += world.runs.get() - before;
            if world.mistake.borrow().is_some() || world.escaped.get() {
                return Progress::Unfinished;
            }
        }
        Progress::Explained
    }

    /// Goes through the log again, with all alternatives, up to where everything that was asked has been answered
    /// since; keeps what comes of it and forgets the log before. Gives up for now if there are too many.
    ///
    /// Later answers have ruled out most alternatives, so few are left there, while at the present there may be any
    /// number.
    fn settle(&mut self, world: &Composed<'_, S>, meter: &mut Meter<'_>) {
        self.ripe(world);
        let cut = self.answered.min(self.horizon);
        self.next_settling = self.horizon + self.horizon / 2;
        if cut < self.horizon / 4 {
            return;
        }
        let most_runs = world.runs.get() + 4 * self.runs + 4 * MOST_SETTLED as u64;
        let mut trial = Self::new(self.cells.clone(), self.base.clone(), self.whole);
        std::mem::swap(&mut trial.log, &mut self.log);
        trial.horizon = cut;
        trial.stack.extend(trial.live.drain(..).rev().map(|hypothesis| Node::go(0, hypothesis)));
        let mut settled = true;
        while let Some(node) = trial.stack.pop_latest() {
            let too_many = trial.live.len() > MOST_SETTLED || world.runs.get() > most_runs;
            if too_many || meter.is_spent(world.runs.get(), || trial.pulse(world)) {
                settled = false;
                break;
            }
            trial.forward(world, node);
            if world.mistake.borrow().is_some() || world.escaped.get() {
                settled = false;
                break;
            }
        }
        std::mem::swap(&mut trial.log, &mut self.log);
        if !settled || trial.live.is_empty() {
            return;
        }
        let mut seen = FxHashSet::default();
        trial.live.retain_mut(|hypothesis| {
            hypothesis.tidy();
            hypothesis.forget();
            seen.insert(hypothesis.fingerprint(0).0)
        });
        self.log.drain(..cut);
        self.log.shrink_to(2 * FIRST_SETTLING);
        let mut next = Self::new(std::mem::take(&mut self.cells), trial.live, self.whole);
        std::mem::swap(&mut next.log, &mut self.log);
        next.answered = self.answered - cut;
        next.horizon = self.horizon - cut;
        next.next_settling = next.horizon + FIRST_SETTLING;
        next.stack.extend(next.live.drain(..).rev().map(|hypothesis| Node::go(0, hypothesis)));
        next.blur = self.blur;
        next.blurred = self.blurred;
        next.unspoilt = self.unspoilt;
        *self = next;
    }

    /// How far the log can be explained without guessing what is yet to be answered. A request that waits for its
    /// answer too long does not hold up the rest for ever.
    pub(crate) fn ripe(&mut self, world: &Composed<'_, S>) -> usize {
        let waits = |entry: &Entry<S::Msg>| match &entry.task {
            Task::Given(delivery) => {
                !delivery.foot.whole
                    && delivery.foot.replies > 0
                    && !world.is_answered(delivery)
                    && !world.has_ended_at_all(delivery)
            }
            _ => false,
        };
        while self.answered < self.log.len() && !waits(&self.log[self.answered]) {
            self.answered += 1;
        }
        if !world.is_reliable || world.is_direct || self.log.len() - self.answered > FIRST_SETTLING {
            return self.log.len();
        }
        self.answered.max(self.horizon)
    }

    /// Takes one alternative as far as it goes without a choice; leaves the choices on the stack.
    #[expect(clippy::too_many_lines, reason = "one case for each task, all about the same hypothesis")]
    fn forward(&mut self, world: &Composed<'_, S>, node: Node<S>) {
        let Node { mut at, hypothesis, step, mut depth, .. } = node;
        if let Some(entry) = self.log.get(at)
            && !hypothesis.out.is_empty()
            && world.is_overtaken(&hypothesis, entry.place)
        {
            return;
        }
        let mut hypothesis = if let Step::Go = step {
            Rc::unwrap_or_clone(hypothesis)
        } else {
            let place = self.log[at].place;
            let mut brood = Brood::new();
            match step {
                Step::Go => {}
                Step::Deliver(index) => world.deliver(hypothesis, index, place, &mut brood),
                Step::Read(index, version) => {
                    world.deliver_reader(hypothesis, index, version, place, &mut brood);
                }
                Step::Internal => world.internal(&hypothesis, !self.whole, place, &mut brood),
            }
            let mut brood = brood.into_iter();
            let Some(first) = brood.next() else { return };
            self.stack.extend(brood.rev().map(|hypothesis| Node { depth, ..Node::go(at, hypothesis) }));
            first
        };
        loop {
            if at > self.furthest {
                self.furthest = at;
                self.out_of_step = false;
            }
            if at == self.horizon {
                self.live.push(hypothesis);
                return;
            }
            let Entry { place, task } = &self.log[at];
            let place = *place;
            match task {
                Task::Given(delivery) => {
                    world.admit(&mut hypothesis, delivery);
                    if world.is_direct {
                        return self.hand_over(world, hypothesis, at, place);
                    }
                    at += 1;
                    depth = 0;
                }
                Task::Severed(spot) => {
                    world.sever(&mut hypothesis, *spot);
                    at += 1;
                    depth = 0;
                }
                Task::Explain(spot, seen) => {
                    let mut brood = Brood::new();
                    let mut reach = match world.see_head(&mut hypothesis, *spot, seen) {
                        Some(true) => {
                            if !hypothesis.floors.is_empty() {
                                hypothesis.tidy();
                            }
                            at += 1;
                            depth = 0;
                            continue;
                        }
                        Some(false) => Reach::Closed,
                        None => world.see(&hypothesis, *spot, seen, &mut brood),
                    };
                    if matches!(seen, Seen::Closed) && world.network.breaks() {
                        let mut broken = hypothesis.clone();
                        world.sever(&mut broken, *spot);
                        brood.push(broken);
                        reach = if brood.len() == 1 { Reach::Closed } else { reach };
                    }
                    if reach == Reach::Closed {
                        return self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
                    }
                    let (spot, local) = (*spot, !self.whole);
                    if let (true, Spot::Client(conn), Seen::Message(seen)) =
                        (local && world.is_reliable, spot, seen)
                        && self.settle_read(world, &mut hypothesis, conn, seen)
                    {
                        at += 1;
                        depth = 0;
                        continue;
                    }
                    if !self.visited.insert(hypothesis.fingerprint(place).0) {
                        return;
                    }
                    let mut outlook = None;
                    if let (true, Spot::Client(conn), Seen::Message(seen)) =
                        (local && world.is_reliable, spot, seen)
                        && let Some(index) =
                            hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == conn.wire())
                        && hypothesis.pending[index].delivery.alone
                    {
                        let seen = Rc::clone(seen);
                        outlook = self.outlook(world, &hypothesis, index);
                        match outlook {
                            Some(Outlook { quiet: false, loud: false }) => return,
                            Some(Outlook { quiet: true, loud: false })
                                if versions(&hypothesis, index).into_iter().any(|version| {
                                    world.passes_unnoticed(&mut hypothesis, index, version, &seen)
                                }) =>
                            {
                                at += 1;
                                depth = 0;
                                continue;
                            }
                            _ => {}
                        }
                    }
                    let Entry { task: Task::Explain(_, seen), .. } = &self.log[at] else { return };
                    self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
                    match (local, spot, seen) {
                        (true, Spot::Client(conn), Seen::Message(seen)) => {
                            let seen = Rc::clone(seen);
                            self.steps_towards(world, hypothesis, conn, (&seen, outlook), (at, depth), place);
                        }
                        (true, Spot::Client(conn), Seen::Closed) => {
                            self.steps_of_all(world, hypothesis, Spot::Client(conn), (at, depth));
                        }
                        _ => self.steps_of_all(world, hypothesis, spot, (at, depth)),
                    }
                    return;
                }
                Task::Rest => match self.rest(world, hypothesis, at, place) {
                    Some(rested) => {
                        hypothesis = rested;
                        at += 1;
                        depth = 0;
                    }
                    None => return,
                },
            }
        }
    }

    /// Without a network the server must take the message now.
    fn hand_over(&mut self, world: &Composed<'_, S>, hypothesis: Hypothesis<S>, at: usize, place: u64) {
        if at == self.furthest {
            self.out_of_step = true;
        }
        if !hypothesis.out.is_empty() || !self.visited.insert(hypothesis.fingerprint(place).0) {
            return;
        }
        let Some(last) = hypothesis.pending.len().checked_sub(1) else { return };
        if world.has_internal {
            let mut before = hypothesis.clone();
            before.pending.pop();
            self.stack.push(Node {
                at,
                hypothesis: Rc::new(before),
                step: Step::Internal,
                depth: 1,
                serial: 0,
            });
        }
        let mut brood = Brood::new();
        world.took.set(false);
        world.deliver(Rc::new(hypothesis), last, place, &mut brood);
        if world.took.get() && at >= self.furthest {
            // It was taken, though what was seen later rules it out.
            self.furthest = at + 1;
            self.out_of_step = false;
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at + 1, hypothesis)));
    }

    /// Where the packet in question only reads, and one version of its cell explains what was seen without teaching
    /// anything, that is all there is to it.
    fn settle_read(
        &self,
        world: &Composed<'_, S>,
        hypothesis: &mut Hypothesis<S>,
        conn: Conn,
        seen: &S::Msg,
    ) -> bool {
        let wire = conn.wire();
        // On a reliable network the first is the only one that may be taken.
        let Some(index) = hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == wire) else {
            return false;
        };
        let foot = &hypothesis.pending[index].delivery.foot;
        if !world.late.get()
            || !foot.is_reader()
            || foot.replies != 1
            || !world.is_deliverable(hypothesis, index)
        {
            return false;
        }
        versions(hypothesis, index)
            .into_iter()
            .any(|version| world.passes_unnoticed(hypothesis, index, version, seen))
    }

    /// Every step there is, those on the connection in question first.
    fn steps_of_all(
        &mut self,
        world: &Composed<'_, S>,
        hypothesis: Hypothesis<S>,
        spot: Spot,
        (at, depth): (usize, usize),
    ) {
        let own = match spot {
            Spot::Client(conn) => conn.wire(),
            Spot::Accepted(wire) => Some(wire),
        };
        let hypothesis = Rc::new(hypothesis);
        if world.has_internal {
            self.stack.push(Node {
                at,
                hypothesis: Rc::clone(&hypothesis),
                step: Step::Internal,
                depth: depth + 1,
                serial: 0,
            });
        }
        for (index, pending) in hypothesis.pending.iter().enumerate() {
            if world.is_deliverable(&hypothesis, index) {
                let depth = if Some(pending.delivery.wire) == own { depth } else { depth + 1 };
                let step = Step::Deliver(index);
                self.stack.push(Node { at, hypothesis: Rc::clone(&hypothesis), step, depth, serial: 0 });
            }
        }
    }

    /// The steps that can help to explain something seen on this connection, the likeliest first.
    fn steps_towards(
        &mut self,
        world: &Composed<'_, S>,
        hypothesis: Hypothesis<S>,
        conn: Conn,
        (seen, outlook): (&S::Msg, Option<Outlook>),
        (at, depth): (usize, usize),
        place: u64,
    ) {
        let pending = &hypothesis.pending;
        let own: SmallVec<[usize; 4]> = (0..pending.len())
            .rev()
            .filter(|index| {
                Some(pending[*index].delivery.wire) == conn.wire()
                    && world.is_deliverable(&hypothesis, *index)
            })
            .collect();
        if own.is_empty() && !world.has_internal {
            // Turns that keep to themselves answer only who asked.
            return;
        }
        let others = self.influences(world, &hypothesis, &own, place);
        let mut hypothesis = hypothesis;
        if let ([index], Some(Outlook { quiet: true, loud: true })) = (own.as_slice(), outlook) {
            let packet = &hypothesis.pending[*index].delivery;
            if !packet.foot.is_reader() && packet.foot.may_be_late() && packet.foot.replies == 1 {
                // It may have changed nothing; then when it happened makes no difference. Otherwise it must have
                // changed something: that is the only other way worth trying.
                let sent = packet.sent;
                for version in versions(&hypothesis, *index) {
                    let mut passed = hypothesis.clone();
                    if hypothesis.must_write != Some(sent)
                        && world.passes_unnoticed(&mut passed, *index, version, seen)
                    {
                        self.stack.push(Node::go(at + 1, passed));
                        hypothesis.must_write = Some(sent);
                        break;
                    }
                }
            }
        }
        let hypothesis = Rc::new(hypothesis);
        let order = self.rank(world, &hypothesis, &own, &others, place, depth);
        let mut push = |step, depth| {
            self.stack.push(Node { at, hypothesis: Rc::clone(&hypothesis), step, depth, serial: 0 });
        };
        if world.has_internal {
            push(Step::Internal, depth + 1);
        }
        // The likeliest last: it is taken up first.
        for (index, depth) in order.into_iter().rev() {
            if hypothesis.pending[index].delivery.foot.is_reader() {
                for version in versions(&hypothesis, index).into_iter().rev() {
                    push(Step::Read(index, version), depth);
                }
            } else {
                push(Step::Deliver(index), depth);
            }
        }
    }

    /// In which order to try the packet in question and the others, and how deep each of them goes.
    ///
    /// The packet in question comes first, unless that would spoil others: make it impossible that they still give the
    /// answers which were seen since. Then what spoils least comes first.
    fn rank(
        &mut self,
        world: &Composed<'_, S>,
        hypothesis: &Rc<Hypothesis<S>>,
        own: &[usize],
        others: &[usize],
        place: u64,
        depth: usize,
    ) -> SmallVec<[(usize, usize); 8]> {
        let plain = |others: &[usize]| {
            own.iter()
                .map(|index| (*index, depth))
                .chain(others.iter().map(|index| (*index, depth + 1)))
                .collect()
        };
        let ([mine], true) = (own, world.is_reliable) else { return plain(others) };
        let answered = |index: &usize| {
            let delivery = &hypothesis.pending[*index].delivery;
            !delivery.foot.is_reader() && world.is_answered(delivery)
        };
        if self.unspoilt > MOST_UNSPOILT || !others.iter().any(answered) {
            return plain(others);
        }
        let deliver = |hypothesis: &Rc<Hypothesis<S>>, index: usize| {
            let mut brood = Brood::new();
            world.deliver(Rc::clone(hypothesis), index, place, &mut brood);
            brood
        };
        // Who can go now; of those who can, how many cannot go after each?
        let able: SmallVec<[u32; 8]> = others
            .iter()
            .filter(|index| answered(index) && !deliver(hypothesis, **index).is_empty())
            .map(|index| hypothesis.pending[*index].delivery.sent)
            .collect();
        let spoils = |index: usize| {
            let sent = hypothesis.pending[index].delivery.sent;
            let after = deliver(hypothesis, index);
            let Some(after) = after.into_iter().next().map(Rc::new) else { return usize::MAX };
            let survives = |other: &&u32| {
                let index = after.pending.iter().position(|pending| pending.delivery.sent == **other);
                index.is_none_or(|index| !deliver(&after, index).is_empty())
            };
            able.iter().filter(|other| **other != sent).filter(|other| !survives(other)).count()
        };
        let by_mine = spoils(*mine);
        if by_mine == 0 {
            self.unspoilt += 1;
            return plain(others);
        }
        self.unspoilt = 0;
        let mut ranked: Vec<(usize, usize, usize)> = others
            .iter()
            .map(|index| {
                let spoilt = if able.contains(&hypothesis.pending[*index].delivery.sent) {
                    spoils(*index)
                } else {
                    usize::MAX
                };
                (spoilt, *index, if spoilt < by_mine { depth } else { depth + 1 })
            })
            .collect();
        ranked.push((by_mine, *mine, depth));
        ranked.sort_by_key(|(spoilt, index, _)| (*spoilt, index != mine));
        ranked.into_iter().map(|(_, index, depth)| (index, depth)).collect()
    }

    /// Whether the packet in question can ever give the answer that was seen, whatever the others do: by changing
    /// something (`loud`), or without (`quiet`). Looks at every content that the others could bring the only cell to, in
    /// any number and order; `None` where that is too much.
    fn outlook(
        &mut self,
        world: &Composed<'_, S>,
        hypothesis: &Hypothesis<S>,
        index: usize,
    ) -> Option<Outlook> {
        let [cell] = hypothesis.cells.as_slice() else { return None };
        if !hypothesis.facts.is_empty() || world.has_internal {
            return None;
        }
        // Where contents never repeat, looking ahead is in vain; try again now and then.
        if self.blurred > 0 {
            self.blurred -= 1;
            return None;
        }
        let number = cell.number;
        let mut contents: SmallVec<[Option<Val>; 16]> = SmallVec::new();
        contents.push(cell.now.clone());
        let mut outlook = Outlook { quiet: false, loud: false };
        for version in versions(hypothesis, index).into_iter().flatten() {
            let past = cell.past()[version].0.clone();
            outlook.quiet |=
                self.effect(world, &hypothesis.pending[index].delivery, number, past.as_ref())?.matches;
        }
        let mut at = 0;
        while at < contents.len() {
            for (other, pending) in hypothesis.pending.iter().enumerate() {
                if pending.delivery.foot.is_reader() && other != index {
                    continue;
                }
                let Effect { matches, after, .. } =
                    self.effect(world, &pending.delivery, number, contents[at].as_ref())?;
                if !matches {
                    continue;
                }
                if other == index {
                    outlook.quiet |= after.is_none();
                    outlook.loud |= after.is_some();
                } else if let Some(after) = after
                    && !contents.iter().any(|known| print(known.as_ref()) == print(after.as_ref()))
                {
                    if contents.len() == MOST_CONTENTS {
                        self.blur = (self.blur * 4).clamp(16, 1 << 20);
                        self.blurred = self.blur;
                        return None;
                    }
                    contents.push(after);
                }
            }
            at += 1;
        }
        Some(outlook)
    }

    fn effect(
        &mut self,
        world: &Composed<'_, S>,
        delivery: &Delivery<S::Msg>,
        cell: u32,
        value: Option<&Val>,
    ) -> Option<Effect> {
        let key = (delivery.sent, value.map_or(1, |value| value.fingerprint.0));
        match self.effects.get(&key) {
            Some(None) => return None,
            // An answer may have come since.
            Some(Some(effect)) if effect.answered || !world.is_answered(delivery) => {
                return Some(effect.clone());
            }
            _ => {}
        }
        let effect = world.effect(delivery, cell, value);
        self.effects.insert(key, effect.clone());
        effect
    }

    /// Pending packets that could change what the packets in question lead to, directly or through others.
    fn influences(
        &self,
        world: &Composed<'_, S>,
        hypothesis: &Hypothesis<S>,
        own: &[usize],
        place: u64,
    ) -> SmallVec<[usize; 8]> {
        let pending = &hypothesis.pending;
        // An internal turn may write any cell.
        let all = self.cells.len() <= 1 || world.has_internal;
        let mut relevant: SmallVec<[bool; 16]> = SmallVec::from_elem(all, pending.len());
        if !all {
            self.mark_dependent(hypothesis, own, &mut relevant);
        }
        let mut chosen: SmallVec<[usize; 8]> = (0..pending.len())
            .filter(|index| {
                let lane = pending[*index].delivery.lane;
                // A read by itself is placed when its answer is seen; one in front of a write has to go first.
                let leads_somewhere = (*index..pending.len()).any(|behind| {
                    relevant[behind]
                        && pending[behind].delivery.lane == lane
                        && (!world.late.get()
                            || !pending[behind].delivery.foot.is_reader()
                            || pending[behind].delivery.foot.cells.len() > 1)
                });
                leads_somewhere && !own.contains(index) && world.is_deliverable(hypothesis, *index)
            })
            .collect();
        if chosen.len() > 1 {
            // Those that will be answered last first: what must come early is tried late, as a last resort.
            chosen.sort_by_cached_key(|index| {
                let delivery = &pending[*index].delivery;
                let answered = world.sightings.nth_since(Conn::client(delivery.wire), place, 0);
                std::cmp::Reverse((answered.map_or(u64::MAX, |(at, _)| *at), delivery.sent))
            });
        }
        chosen
    }

    /// Marks the pending packets that share a cell, of which one of both writes, with those in question.
    fn mark_dependent(&self, hypothesis: &Hypothesis<S>, own: &[usize], relevant: &mut [bool]) {
        let pending = &hypothesis.pending;
        let mut touched: SmallVec<[(u32, Access); 8]> = SmallVec::new();
        let mut todo: SmallVec<[usize; 8]> = own.into();
        while let Some(index) = todo.pop() {
            relevant[index] = true;
            touched.extend(pending[index].delivery.foot.cells.iter().copied());
            for (other, packet) in pending.iter().enumerate() {
                if relevant[other] || todo.contains(&other) {
                    continue;
                }
                let conflicts = packet.delivery.foot.cells.iter().any(|(cell, access)| {
                    touched.iter().any(|(known, had)| {
                        cell == known && (*access == Access::Write || *had == Access::Write)
                    })
                });
                let precedes = packet.delivery.lane == pending[index].delivery.lane && other < index;
                if conflicts || precedes {
                    todo.push(other);
                }
            }
        }
    }

    /// Nothing is under way any more: the hypothesis must come to rest. Returns it if it is at rest already.
    fn rest(
        &mut self,
        world: &Composed<'_, S>,
        hypothesis: Hypothesis<S>,
        at: usize,
        place: u64,
    ) -> Option<Hypothesis<S>> {
        if world.loses_input || world.loses_output {
            return Some(hypothesis);
        }
        if hypothesis.out.iter().any(|item| item.taken == 0)
            || !self.visited.insert(hypothesis.fingerprint(place).0)
        {
            return None;
        }
        let mut brood = Brood::new();
        let mut taken = false;
        let hypothesis = Rc::new(hypothesis);
        for index in 0..hypothesis.pending.len() {
            let delivery = &hypothesis.pending[index].delivery;
            let conn =
                if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
            if hypothesis.pending[index].taken > 0 || !world.is_deliverable(&hypothesis, index) {
                continue;
            }
            world.took.set(false);
            world.deliver(Rc::clone(&hypothesis), index, place, &mut brood);
            // What an ended connection left behind may arrive, but need not.
            taken |= world.took.get() && !world.has_ended(conn, place);
        }
        if world.has_internal {
            world.internal(&hypothesis, !self.whole, place, &mut brood);
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at, hypothesis)));
        if taken {
            return None;
        }
        let mut rested = Rc::unwrap_or_clone(hypothesis);
        // Spare copies are not under way either.
        rested.pending.retain(|pending| pending.taken == 0);
        rested.out.retain(|item| item.taken == 0);
        Some(rested)
    }
}

/// The versions of its cell that a packet may have met, oldest first; `None` is the present one.
fn versions<S: ServerModel + ?Sized>(
    hypothesis: &Hypothesis<S>,
    index: usize,
) -> SmallVec<[Option<usize>; 4]> {
    let pending = &hypothesis.pending[index];
    let floor = pending.since.max(hypothesis.floor(pending.delivery.lane));
    let mut versions = SmallVec::new();
    if let [(cell, _)] = pending.delivery.foot.cells.as_slice()
        && let Some(cell) = hypothesis.cell(*cell)
    {
        let past = cell.past();
        versions.extend((0..past.len()).filter(|version| past[*version].1 > floor).map(Some));
    }
    versions.push(None);
    versions
}

impl<S: ServerModel + ?Sized> Node<S> {
    fn go(at: usize, hypothesis: Hypothesis<S>) -> Self {
        Self { at, hypothesis: Rc::new(hypothesis), step: Step::Go, depth: 0, serial: 0 }
    }
}

impl<S: ServerModel + ?Sized> Hypothesis<S> {
    /// Both at once: two parts of the state that had nothing to do with each other.
    fn joined(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.cells.extend(other.cells.iter().cloned());
        both.cells.sort_by_key(|cell| cell.number);
        both.pending.extend(other.pending.iter().cloned());
        both.pending.sort_by_key(|pending| pending.delivery.sent);
        both.out.extend(other.out.iter().cloned());
        both.facts.absorb(&other.facts);
        both.links.extend(other.links.iter().copied());
        both.fired.extend(other.fired.iter().copied());
        both.floors.extend(other.floors.iter().copied());
        both.turns = self.turns.max(other.turns);
        both.internals = self.internals.max(other.internals);
        both.deviations += other.deviations;
        both
    }

    /// Forgets facts about secrets that nothing mentions any more.
    pub(crate) fn forget(&mut self) {
        use super::hypothesis::Parcel;
        use crate::lang::Pattern;
        if self.facts.is_empty() || self.suspended.is_some() {
            return;
        }
        let mut mentioned = FxHashSet::default();
        let mut visit = |var| {
            mentioned.insert(var);
        };
        for cell in &self.cells {
            for value in cell.past().iter().map(|(value, _)| value).chain([&cell.now]).flatten() {
                value.data.secrets(&mut visit);
            }
        }
        for item in &self.out {
            if let Parcel::Message(message) = &item.parcel {
                message.message.vars(&mut visit);
            }
        }
        self.facts.forget(&|var| mentioned.contains(&var));
    }
}
