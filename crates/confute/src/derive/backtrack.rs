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

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::book::Seen;
use super::compose::{Brood, Composed};
use super::dualize::{Entry, Task};
use super::hypothesis::Hypothesis;
use super::unify::{Reach, Spot};
use crate::lang::{Access, Conn, ServerModel};
use crate::tester::{Meter, Pulse};

/// How many alternatives settling may leave before it gives up for now.
const MOST_SETTLED: usize = 64;
/// How long a log may grow before it is settled.
const FIRST_SETTLING: usize = 48;

/// An alternative: a hypothesis that has explained the log up to `at`.
pub(crate) struct Node<S: ServerModel + ?Sized> {
    pub(crate) at: usize,
    pub(crate) hypothesis: Hypothesis<S>,
}

/// Cells that are searched together.
pub(crate) struct Part<S: ServerModel + ?Sized> {
    pub(crate) cells: Vec<u32>,
    pub(crate) log: Vec<Entry<S::Msg>>,
    /// Up to where the log is to be explained for now.
    horizon: usize,
    /// All hypotheses before the log begins.
    pub(crate) base: Vec<Hypothesis<S>>,
    stack: Vec<Node<S>>,
    /// Hypotheses that explain the log up to the horizon.
    pub(crate) live: Vec<Hypothesis<S>>,
    visited: FxHashSet<u128>,
    next_settling: usize,
    /// The furthest entry that anybody reached.
    pub(crate) furthest: usize,
    /// Whether some turn here may touch anything.
    pub(crate) whole: bool,
    /// Whether the furthest entry was a send that nobody could take.
    pub(crate) out_of_step: bool,
    spare: Vec<Node<S>>,
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
            stack: Vec::new(),
            visited: FxHashSet::default(),
            next_settling: FIRST_SETTLING,
            furthest: 0,
            whole,
            out_of_step: false,
            spare: Vec::new(),
        }
    }

    /// Adds a cell that was in no part before.
    pub(crate) fn adopt(&mut self, world: &Composed<'_, S>, cell: u32) {
        if let Err(at) = self.cells.binary_search(&cell) {
            self.cells.insert(at, cell);
            let everybody = self.stack.iter_mut().map(|node| &mut node.hypothesis);
            for hypothesis in everybody.chain(&mut self.base).chain(&mut self.live) {
                world.ensure(hypothesis, cell);
            }
        }
    }

    /// Whether no hypothesis has a packet of this connection under way, and none will.
    pub(crate) fn is_clear_of(&self, wire: u32) -> bool {
        let given = |entry: &Entry<S::Msg>| matches!(&entry.task, Task::Given(delivery) if delivery.wire == wire);
        let holds = |hypothesis: &Hypothesis<S>| hypothesis.pending.iter().any(|it| it.delivery.wire == wire);
        !self.log.iter().any(given)
            && !self.stack.iter().any(|node| holds(&node.hypothesis))
            && !self.live.iter().any(holds)
    }

    /// Whether it holds nothing worth keeping but its cells.
    pub(crate) fn is_idle(&self) -> bool {
        self.stack.is_empty()
            && self.horizon == self.log.len()
            && self.live.iter().all(|it| it.pending.is_empty() && it.out.is_empty() && it.suspended.is_none())
    }

    /// How many alternatives are open.
    pub(crate) fn open(&self) -> usize {
        self.stack.len() + self.live.len()
    }

    /// A rough count of bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let each = size_of::<Hypothesis<S>>() + 64 + 96 * self.cells.len().min(64);
        (self.stack.len() + self.live.len() + self.base.len()) * each
            + self.visited.capacity() * 17
            + self.log.capacity() * size_of::<Entry<S::Msg>>()
    }

    fn pulse(&self, world: &Composed<'_, S>) -> Pulse {
        let event = self.log.get(self.furthest.min(self.log.len().saturating_sub(1))).map_or(0, |entry| entry.place);
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
    pub(crate) fn advance(&mut self, world: &Composed<'_, S>, meter: &mut Meter<'_>) -> Progress {
        loop {
            while self.live.is_empty() {
                let Some(node) = self.stack.pop() else { return Progress::Failed };
                if meter.is_spent(world.runs.get(), || self.pulse(world)) {
                    self.stack.push(node);
                    return Progress::Unfinished;
                }
                self.forward(world, node);
                if world.mistake.borrow().is_some() || world.escaped.get() {
                    return Progress::Unfinished;
                }
            }
            if self.horizon >= self.next_settling {
                self.settle(world, meter);
                if world.mistake.borrow().is_some() || world.escaped.get() {
                    return Progress::Unfinished;
                }
            }
            if self.horizon == self.log.len() {
                return Progress::Explained;
            }
            let stretch = (self.horizon + FIRST_SETTLING).min(self.log.len());
            let at = self.horizon;
            self.horizon = stretch;
            self.stack.extend(self.live.drain(..).rev().map(|hypothesis| Node { at, hypothesis }));
        }
    }

    /// Brings every alternative to the horizon and forgets what lies before, unless there are too many.
    fn settle(&mut self, world: &Composed<'_, S>, meter: &mut Meter<'_>) {
        let most_runs = world.runs.get() + 2_000 + 64 * self.horizon as u64;
        while let Some(node) = self.stack.pop() {
            let too_many = self.live.len() > MOST_SETTLED || world.runs.get() > most_runs;
            if too_many || meter.is_spent(world.runs.get(), || self.pulse(world)) {
                self.stack.push(node);
                self.next_settling = self.horizon * 2;
                return;
            }
            self.forward(world, node);
            if world.mistake.borrow().is_some() || world.escaped.get() {
                return;
            }
        }
        let mut seen = FxHashSet::default();
        self.live.retain_mut(|hypothesis| {
            hypothesis.tidy();
            hypothesis.forget();
            seen.insert(hypothesis.fingerprint(0).0)
        });
        self.base.clone_from(&self.live);
        self.log.drain(..self.horizon);
        self.horizon = 0;
        self.furthest = 0;
        self.visited.clear();
        self.visited.shrink_to(256);
        self.next_settling = FIRST_SETTLING;
    }

    /// Takes one alternative as far as it goes without a choice; leaves the choices on the stack.
    fn forward(&mut self, world: &Composed<'_, S>, node: Node<S>) {
        let Node { mut at, mut hypothesis } = node;
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
                }
                Task::Severed(spot) => {
                    world.sever(&mut hypothesis, *spot);
                    at += 1;
                }
                Task::Explain(spot, seen) => {
                    let mut brood = Brood::new();
                    let mut reach = world.see(&hypothesis, *spot, seen, &mut brood);
                    if matches!(seen, Seen::Closed) && world.network.breaks() {
                        let mut broken = hypothesis.clone();
                        world.sever(&mut broken, *spot);
                        brood.push(broken);
                        reach = if brood.len() == 1 { Reach::Closed } else { reach };
                    }
                    if reach == Reach::Closed {
                        match brood.len() {
                            0 => return,
                            1 => {
                                hypothesis = brood.pop().expect("its length is one");
                                if !hypothesis.floors.is_empty() {
                                    hypothesis.tidy();
                                }
                                at += 1;
                            }
                            _ => {
                                return self
                                    .stack
                                    .extend(brood.into_iter().rev().map(|hypothesis| Node { at: at + 1, hypothesis }));
                            }
                        }
                        continue;
                    }
                    if !self.visited.insert(hypothesis.fingerprint(place).0) {
                        return;
                    }
                    let spot = *spot;
                    let mut children = std::mem::take(&mut self.spare);
                    children.extend(brood.into_iter().map(|hypothesis| Node { at: at + 1, hypothesis }));
                    if self.whole || !matches!(spot, Spot::Client(_)) {
                        self.steps_of_all(world, &hypothesis, spot, at, place, &mut children);
                    } else if let Spot::Client(conn) = spot
                        && let Some(settled) = self.steps_towards(world, &hypothesis, conn, at, place, &mut children)
                    {
                        self.spare = children;
                        hypothesis = settled;
                        continue;
                    }
                    self.stack.extend(children.drain(..).rev());
                    self.spare = children;
                    return;
                }
                Task::Rest => match self.rest(world, hypothesis, at, place) {
                    Some(rested) => {
                        hypothesis = rested;
                        at += 1;
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
        let mut brood = Brood::new();
        let last = hypothesis.pending.len();
        if last > 0 {
            world.deliver(&hypothesis, last - 1, place, &mut brood);
        }
        let mut children: Vec<Node<S>> =
            brood.drain(..).map(|hypothesis| Node { at: at + 1, hypothesis }).collect();
        if world.has_internal && last > 0 {
            let mut before = hypothesis;
            before.pending.pop();
            world.internal(&before, !self.whole, place, &mut brood);
            children.extend(brood.into_iter().map(|hypothesis| Node { at, hypothesis }));
        }
        self.stack.extend(children.into_iter().rev());
    }

    /// Every step there is, those on the connection in question first.
    fn steps_of_all(
        &self,
        world: &Composed<'_, S>,
        hypothesis: &Hypothesis<S>,
        spot: Spot,
        at: usize,
        place: u64,
        children: &mut Vec<Node<S>>,
    ) {
        let own = match spot {
            Spot::Client(conn) => conn.wire(),
            Spot::Accepted(wire) => Some(wire),
        };
        let mut brood = Brood::new();
        let order = |mine: bool| {
            (0..hypothesis.pending.len())
                .rev()
                .filter(move |index| (Some(hypothesis.pending[*index].delivery.wire) == own) == mine)
        };
        for index in order(true).chain(order(false)) {
            if world.is_deliverable(hypothesis, index) {
                world.deliver(hypothesis, index, place, &mut brood);
            }
        }
        if world.has_internal {
            world.internal(hypothesis, !self.whole, place, &mut brood);
        }
        children.extend(brood.into_iter().map(|hypothesis| Node { at, hypothesis }));
    }

    /// The steps that can help to explain something seen on this connection. A single hypothesis comes back where a
    /// read settles it without any alternative.
    fn steps_towards(
        &self,
        world: &Composed<'_, S>,
        hypothesis: &Hypothesis<S>,
        conn: Conn,
        at: usize,
        place: u64,
        children: &mut Vec<Node<S>>,
    ) -> Option<Hypothesis<S>> {
        let wire = conn.wire();
        let pending = &hypothesis.pending;
        let is_own = |index: usize| Some(pending[index].delivery.wire) == wire;
        let mut own: SmallVec<[usize; 4]> =
            (0..pending.len()).filter(|index| is_own(*index) && world.is_deliverable(hypothesis, *index)).collect();
        own.reverse();
        if own.is_empty() && !world.has_internal {
            // Turns that keep to themselves answer only who asked.
            return None;
        }
        let mut brood = Brood::new();
        for index in own.iter().copied() {
            if !pending[index].delivery.foot.is_reader() {
                world.deliver(hypothesis, index, place, &mut brood);
                continue;
            }
            for version in self.versions(hypothesis, index) {
                let before = brood.len();
                world.deliver_reader(hypothesis, index, version, place, &mut brood);
                let settles = world.is_reliable
                    && pending[index].delivery.foot.replies == 1
                    && brood.len() == before + 1
                    && brood[before].deviations == hypothesis.deviations
                    && brood[before].facts.fingerprint() == hypothesis.facts.fingerprint();
                if settles {
                    return brood.pop();
                }
            }
        }
        children.extend(brood.drain(..).map(|hypothesis| Node { at, hypothesis }));
        for index in self.influences(world, hypothesis, &own, place) {
            if pending[index].delivery.foot.is_reader() {
                for version in self.versions(hypothesis, index) {
                    world.deliver_reader(hypothesis, index, version, place, &mut brood);
                }
            } else {
                world.deliver(hypothesis, index, place, &mut brood);
            }
        }
        if world.has_internal {
            world.internal(hypothesis, !self.whole, place, &mut brood);
        }
        children.extend(brood.into_iter().map(|hypothesis| Node { at, hypothesis }));
        None
    }

    /// The versions of its cell that a read may have seen, oldest first; `None` is the present one.
    fn versions(&self, hypothesis: &Hypothesis<S>, index: usize) -> SmallVec<[Option<usize>; 4]> {
        let pending = &hypothesis.pending[index];
        let floor = pending.since.max(hypothesis.floor(pending.delivery.lane));
        let mut versions = SmallVec::new();
        if let [(cell, Access::Read)] = pending.delivery.foot.cells.as_slice()
            && let Some(cell) = hypothesis.cell(*cell)
        {
            versions.extend((0..cell.past.len()).filter(|version| cell.past[*version].1 > floor).map(Some));
        }
        versions.push(None);
        versions
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
        let mut relevant: SmallVec<[bool; 16]> = SmallVec::from_elem(self.cells.len() <= 1, pending.len());
        if self.cells.len() > 1 {
            self.mark_dependent(hypothesis, own, &mut relevant);
        }
        let mut chosen: SmallVec<[usize; 8]> = (0..pending.len())
            .filter(|index| {
                let lane = pending[*index].delivery.lane;
                // A read by itself is placed when its answer is seen; one in front of a write has to go first.
                let leads_somewhere = (*index..pending.len()).any(|behind| {
                    relevant[behind]
                        && pending[behind].delivery.lane == lane
                        && (!pending[behind].delivery.foot.is_reader()
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
        if hypothesis.out.iter().any(|item| item.taken == 0) || !self.visited.insert(hypothesis.fingerprint(place).0) {
            return None;
        }
        let mut brood = Brood::new();
        let mut taken = false;
        for index in 0..hypothesis.pending.len() {
            let delivery = &hypothesis.pending[index].delivery;
            let conn = if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
            if world.has_ended(conn, place)
                || hypothesis.pending[index].taken > 0
                || !world.is_deliverable(&hypothesis, index)
            {
                continue;
            }
            world.took.set(false);
            world.deliver(&hypothesis, index, place, &mut brood);
            taken |= world.took.get();
        }
        if world.has_internal {
            world.internal(&hypothesis, !self.whole, place, &mut brood);
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node { at, hypothesis }));
        if taken {
            return None;
        }
        Some(hypothesis)
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
    fn forget(&mut self) {
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
            for value in cell.past.iter().map(|(value, _)| value).chain([&cell.now]).flatten() {
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
