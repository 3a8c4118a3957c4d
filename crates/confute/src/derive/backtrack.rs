//! Backtracking (Fig 11): keeps one live explanation and the alternatives behind it, and goes back only when it
//! fails.
//!
//! A [`Part`] is a group of cells that no turn ties to others; it is searched by itself. Its stack holds the
//! alternatives that were not taken, each with the position in the trace where it was passed. When the live
//! explanation fails, the latest alternative is taken up and brought forward; when none is left, nothing explains the
//! observations.
//!
//! Four techniques make it exact and cheap at once:
//! - A message is delivered only when an observation needs it: its own response, or that of another that it could
//!   influence.
//! - A turn that only reads is placed when its response is observed, at any version of its cell since it was sent. If
//!   that teaches no new fact it changes nothing, so no alternative is kept; the earliest fitting version is taken,
//!   because it leaves most room for its successor on the connection.
//! - A hypothesis met before at the same position is not taken up again.
//! - Settling brings all alternatives to the present and merges equal ones; the past is then forgotten.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::book::Seen;
use super::compose::{Brood, Composed};
use super::dualize::{Entry, Task};
use super::foresight::{Fit, Foresight, Outlook};
use super::hypothesis::{Hypothesis, Outgoing, Pending, Stir};
use super::scenes::Scenes;
use super::stack::{Move, Node, Stack};
use super::unify::{Reach, Spot};
use crate::engine::{Meter, Pulse};
use crate::lang::Conn;

/// Length of a log at which it is settled.
pub(super) const FIRST_SETTLING: usize = 256;
/// Minimum length of a log that is settled early, where many alternatives are open and nothing is in flight. Once
/// settled, they need not all be gone through, with everything that could have happened since, when the next response
/// turns out to be wrong.
pub(super) const EARLY_SETTLING: usize = 32;
/// Number of open alternatives above which a part is settled early.
const CROWDED: usize = 12;

/// A group of cells that are searched together.
pub(crate) struct Part {
    pub(crate) cells: Vec<u32>,
    /// `true` if some turn here may touch anything.
    pub(crate) whole: bool,
    pub(super) origin: Origin,
    pub(crate) log: Vec<Entry>,
    pub(super) front: Front,
    pub(super) stack: Stack,
    pub(super) memory: Memory,
    pub(super) settling: Settling,
    /// `true` if every alternative is to be found, so that their order makes no difference.
    pub(super) thorough: bool,
}

/// The start of a part's log.
pub(super) struct Origin {
    /// Position in the trace from which the hypotheses hold: everything before is settled.
    pub(super) place: u64,
    /// All hypotheses at the start of the log.
    pub(super) hypotheses: Vec<Hypothesis>,
}

/// The progress of a search through the log.
pub(super) struct Front {
    /// Index up to which the log is to be explained for now.
    pub(super) horizon: usize,
    /// Hypotheses that explain the log up to the horizon.
    pub(super) live: Vec<Hypothesis>,
    /// Index of the furthest entry that any hypothesis reached.
    pub(super) furthest: usize,
    /// `true` if the furthest entry was a send that no hypothesis could take.
    pub(super) out_of_step: bool,
}

/// Results of the search that hold for every hypothesis.
#[derive(Default)]
pub(super) struct Memory {
    /// Fingerprints of the hypotheses met so far.
    pub(super) visited: HashSet<u128, BuildHasherDefault<Print>>,
    pub(super) foresight: Foresight,
    pub(super) scenes: Scenes,
}

/// The schedule by which a part forgets its past.
pub(super) struct Settling {
    /// Length of the explained log at which the part is settled.
    pub(super) next: usize,
    /// Length of the explained log at which the part is settled if many alternatives are open.
    pub(super) next_early: usize,
    /// Index in the log before which every delivery that will get a response at all has got it.
    pub(super) answered: usize,
    /// Number of turns run in this part since it was last settled.
    pub(super) runs: u64,
}

impl Front {
    /// Notes that a hypothesis has explained the log up to this index.
    fn reach(&mut self, at: usize) {
        if at > self.furthest {
            self.furthest = at;
            self.out_of_step = false;
        }
    }
}

impl Memory {
    /// Notes a hypothesis that is met at this position. Returns `false` if it was met there before.
    fn note(&mut self, hypothesis: &Hypothesis, place: u64, whole: bool) -> bool {
        self.visited.insert(hypothesis.fingerprint(place, whole).0)
    }
}

impl Settling {
    /// Returns the schedule for a log that is explained up to `horizon`.
    pub(super) fn after(horizon: usize) -> Self {
        Self { next: horizon + FIRST_SETTLING, next_early: horizon + EARLY_SETTLING, answered: 0, runs: 0 }
    }
}

/// Hasher of fingerprints, which are hashes already.
#[derive(Default)]
pub(super) struct Print(u64);

impl Hasher for Print {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64;
    }
}

/// The outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Some hypothesis explains everything so far.
    Explained,
    /// No hypothesis explains everything so far.
    Failed,
    /// The search was stopped before its end.
    Unfinished,
}

impl Part {
    pub(crate) fn new(cells: Vec<u32>, base: Vec<Hypothesis>, whole: bool) -> Self {
        Self {
            cells,
            whole,
            log: Vec::new(),
            front: Front { horizon: 0, live: base.clone(), furthest: 0, out_of_step: false },
            origin: Origin { place: 0, hypotheses: base },
            stack: Stack::default(),
            memory: Memory::default(),
            settling: Settling::after(0),
            thorough: false,
        }
    }

    /// Adds a cell that was in no part before.
    pub(crate) fn adopt(&mut self, world: &Composed<'_>, cell: u32) {
        if let Err(at) = self.cells.binary_search(&cell) {
            self.cells.insert(at, cell);
            for node in self.stack.nodes_mut() {
                world.ensure(Rc::make_mut(&mut node.hypothesis), cell);
            }
            for hypothesis in self.origin.hypotheses.iter_mut().chain(&mut self.front.live) {
                world.ensure(hypothesis, cell);
            }
        }
    }

    /// Returns `true` if no hypothesis has a delivery of this connection in flight, and none will have.
    pub(crate) fn is_clear_of(&self, wire: u32) -> bool {
        let given = |entry: &Entry| matches!(&entry.task, Task::Given(delivery) if delivery.wire == wire);
        let holds = |hypothesis: &Hypothesis| hypothesis.pending.iter().any(|it| it.delivery.wire == wire);
        let joins = |entry: &Entry| matches!(&entry.task, Task::Join(others) if others.iter().any(holds));
        !self.log.iter().any(|entry| given(entry) || joins(entry))
            && !self.stack.nodes().any(|node| holds(&node.hypothesis))
            && !self.front.live.iter().any(holds)
    }

    /// Returns `true` if the part holds nothing worth keeping but its cells.
    pub(crate) fn is_idle(&self) -> bool {
        (self.stack.len == 0)
            && self.front.horizon == self.log.len()
            && self
                .front
                .live
                .iter()
                .all(|it| it.pending.is_empty() && it.out.is_empty() && it.suspended.is_none())
    }

    /// Returns the hypotheses that explain the log, as far as they are found without undue effort, and `true` if
    /// alternatives are left.
    pub(crate) fn survey(&mut self, world: &Composed<'_>, most: usize) -> (Vec<Hypothesis>, bool) {
        let most_runs = world.tally.runs.get() + 64 * most as u64;
        while self.front.live.len() < most && world.tally.runs.get() < most_runs {
            let Some(node) = self.stack.pop_latest() else { break };
            self.forward(world, node);
        }
        let mut seen = FxHashSet::default();
        self.front.live.retain(|hypothesis| seen.insert(hypothesis.fingerprint(0, true).0));
        (self.front.live.clone(), self.stack.len > 0)
    }

    /// Returns the possible next messages to this connection, after at most a few deliveries, each with the
    /// hypothesis that sends it. Without a connection: to any that the server opened and the tester has not seen yet.
    pub(crate) fn prospects(
        &self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        conn: Option<Conn>,
        place: u64,
    ) -> Vec<(Hypothesis, Outgoing)> {
        let mut found = Vec::new();
        let mut todo = vec![(hypothesis.clone(), 0)];
        while let Some((hypothesis, depth)) = todo.pop() {
            let head = |conn: &Conn| hypothesis.out.iter().find(|item| item.conn == *conn).cloned();
            let unseen = hypothesis.links.iter().filter(|(_, wire)| conn.is_none() && wire.is_none());
            let names = conn.iter().chain(unseen.map(|(conn, _)| conn));
            let heads: Vec<_> = names.filter_map(head).collect();
            if !heads.is_empty() {
                found.extend(heads.into_iter().map(|head| (hypothesis.clone(), head)));
                continue;
            }
            let parent = Rc::new(hypothesis);
            for index in 0..parent.pending.len() {
                let own = conn.is_some_and(|conn| Some(parent.pending[index].delivery.wire) == conn.wire());
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
                todo.extend(
                    brood
                        .into_iter()
                        .map(|next| (Rc::unwrap_or_clone(next), if own { depth } else { depth + 1 })),
                );
            }
        }
        found
    }

    /// Searches again from the start of the log.
    pub(crate) fn restart(&mut self) {
        self.stack = Stack::default();
        self.front.live.clone_from(&self.origin.hypotheses);
        self.front.horizon = 0;
        self.memory.visited.clear();
    }

    /// Returns the number of log entries that are not explained yet.
    pub(crate) fn lag(&self) -> usize {
        self.log.len() - self.front.horizon
    }

    /// Returns the position in the trace of the furthest entry that any hypothesis reached; `None` at the end of the
    /// log.
    pub(crate) fn furthest_place(&self) -> Option<u64> {
        self.log.get(self.front.furthest).map(|entry| entry.place)
    }

    /// Returns `true` if the furthest entry was a send that no hypothesis could take.
    pub(crate) fn is_out_of_step(&self) -> bool {
        self.front.out_of_step
    }

    /// Returns the number of open alternatives.
    pub(crate) fn open(&self) -> usize {
        self.stack.len + self.front.live.len()
    }

    /// Estimates the number of bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let each = size_of::<Hypothesis>() + 64 + 96 * self.cells.len().min(64);
        (self.stack.len + self.front.live.len() + self.origin.hypotheses.len()) * each
            + self.memory.visited.capacity() * 17
            + self.log.capacity() * size_of::<Entry>()
    }

    pub(super) fn pulse(&self, world: &Composed<'_>) -> Pulse {
        let event = self
            .log
            .get(self.front.furthest.min(self.log.len().saturating_sub(1)))
            .map_or(0, |entry| entry.place);
        Pulse { event, turns: world.tally.runs.get(), open: self.open(), bytes: self.bytes() }
    }

    /// Merges two parts. They were independent, so every pair of their hypotheses is possible; their logs are gone
    /// through again as one.
    pub(crate) fn merge(self, other: Self) -> Self {
        let (mut early, mut late) =
            if self.origin.place <= other.origin.place { (self, other) } else { (other, self) };
        let mut base = early.origin.hypotheses;
        if early.origin.place == late.origin.place {
            base = base
                .iter()
                .flat_map(|one| late.origin.hypotheses.iter().map(|other| one.joined(other)))
                .collect();
        } else {
            // The start of the later part lies in the future of entries that the earlier one has still to go through.
            early.log.push(Entry { place: late.origin.place, task: Task::Join(late.origin.hypotheses) });
        }
        early.cells.append(&mut late.cells);
        early.cells.sort_unstable();
        early.log.append(&mut late.log);
        early.log.sort_by_key(|entry| (entry.place, !matches!(entry.task, Task::Join(_))));
        // If both came to rest at the same position, that is one rest, not two.
        early.log.dedup_by(|later, earlier| {
            later.place == earlier.place && matches!((&later.task, &earlier.task), (Task::Rest, Task::Rest))
        });
        let mut merged = Self::new(early.cells, base, early.whole || late.whole);
        merged.origin.place = early.origin.place;
        merged.settling.next = FIRST_SETTLING.max(early.log.len() + FIRST_SETTLING);
        merged.log = early.log;
        merged
    }

    /// Searches until the log is explained, no alternative is left, or the meter is spent.
    ///
    /// Works in stretches, each settled if it can be, so that the past does not accumulate.
    pub(crate) fn advance(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>, target: usize) -> Progress {
        let mut target = target.min(self.log.len());
        loop {
            match self.explore(world, meter) {
                Progress::Explained => {}
                other => return other,
            }
            if self.front.horizon >= self.settling.next || self.is_crowded(world) {
                let before = self.log.len();
                self.settle(world, meter);
                target -= before - self.log.len();
                if world.tally.stops_search() {
                    return Progress::Unfinished;
                }
                if self.front.live.is_empty() {
                    continue;
                }
            }
            if self.front.horizon >= target {
                return Progress::Explained;
            }
            let at = self.front.horizon;
            self.front.horizon = (self.front.horizon + FIRST_SETTLING).min(target);
            self.stack
                .extend(self.front.live.drain(..).rev().map(|hypothesis| Node::go(at, Rc::new(hypothesis))));
        }
    }

    /// Returns `true` if the part is better settled before the search continues.
    fn is_crowded(&mut self, world: &Composed<'_>) -> bool {
        let is_up_to_date =
            self.front.horizon == self.log.len() && self.front.horizon >= self.settling.next_early;
        is_up_to_date && !self.thorough && self.open() > CROWDED && {
            self.ripe(world);
            self.settling.answered == self.log.len()
        }
    }

    /// Takes up alternatives until one reaches the horizon.
    fn explore(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>) -> Progress {
        let mut stint = 64;
        let mut switch_at = world.tally.runs.get() + stint;
        let mut nearest = false;
        while self.front.live.is_empty() {
            if meter.is_spent(world.tally.runs.get(), || self.pulse(world)) {
                return Progress::Unfinished;
            }
            let before = world.tally.runs.get();
            if before >= switch_at {
                stint += stint / 2;
                switch_at = before + stint;
                nearest = !nearest;
            }
            let node = if nearest { self.stack.pop_nearest() } else { self.stack.pop_latest() };
            let Some(node) = node else { return Progress::Failed };
            self.forward(world, node);
            self.settling.runs += world.tally.runs.get() - before;
            if world.tally.stops_search() {
                return Progress::Unfinished;
            }
        }
        Progress::Explained
    }

    /// Brings one alternative forward as far as it goes without a choice; pushes the choices onto the stack.
    pub(super) fn forward(&mut self, world: &Composed<'_>, node: Node) {
        let (mut at, mut depth) = (node.at, node.depth);
        let Some(mut shared) = self.take_step(world, node) else { return };
        loop {
            self.front.reach(at);
            let hypothesis = Rc::make_mut(&mut shared);
            if hypothesis.stirred != Stir::Calm && !self.absorb(world, hypothesis, at) {
                return;
            }
            if at == self.front.horizon {
                self.front.live.push(Rc::unwrap_or_clone(shared));
                return;
            }
            let Entry { place, task } = &self.log[at];
            let place = *place;
            match task {
                Task::Given(delivery) => {
                    world.admit(hypothesis, delivery);
                    // Nothing arrives on a connection that the server has closed.
                    let arrives = |it: &Pending| Rc::ptr_eq(&it.delivery, delivery);
                    if world.transport.is_direct && hypothesis.pending.last().is_some_and(arrives) {
                        return self.hand_over(world, shared, at, place);
                    }
                }
                Task::Severed(spot) => world.sever(hypothesis, *spot),
                Task::Explain(spot, seen) => match world.see_head(hypothesis, *spot, seen) {
                    Some(true) => {
                        if !hypothesis.floors.is_empty() {
                            hypothesis.tidy();
                        }
                    }
                    head => match self.explain(world, shared, head.is_some(), (at, depth)) {
                        Some(explained) => shared = explained,
                        None => return,
                    },
                },
                Task::Join(others) => {
                    let joined = others.iter().rev().map(|other| Rc::new(hypothesis.joined(other)));
                    return self.stack.extend(joined.map(|it| Node::go(at + 1, it)));
                }
                Task::Rest => match self.rest(world, shared, at, place) {
                    Some(rested) => shared = rested,
                    None => return,
                },
            }
            at += 1;
            depth = 0;
        }
    }

    /// Takes the move of an alternative. Returns the first hypothesis that it leads to, if any, and pushes the others
    /// onto the stack.
    fn take_step(&mut self, world: &Composed<'_>, node: Node) -> Option<Rc<Hypothesis>> {
        let Node { at, hypothesis, next_move, depth, odd, .. } = node;
        if let Some(entry) = self.log.get(at)
            && !hypothesis.out.is_empty()
            && world.is_overtaken(&hypothesis, entry.place)
        {
            return None;
        }
        if let Move::Go = next_move {
            return Some(hypothesis);
        }
        let place = self.log[at].place;
        let mut brood = Brood::new();
        match next_move {
            Move::Go => {}
            Move::Deliver(index) => {
                if self.is_idle_write(world, &hypothesis, index, place) {
                    return None;
                }
                let delivery = Rc::clone(&hypothesis.pending[index].delivery);
                let unseen = hypothesis.unseen_until;
                world.deliver(hypothesis, index, place, &mut brood);
                brood.iter_mut().for_each(|next| {
                    self.note_write(world, (&delivery, unseen), Rc::make_mut(next));
                });
            }
            Move::Read(index, version) => {
                world.deliver_reader(hypothesis, index, version, place, &mut brood);
            }
            Move::Internal => world.internal(&hypothesis, !self.whole, place, &mut brood),
        }
        if let Some(odd) = odd {
            self.sift(world, at, odd, &mut brood);
        }
        let mut brood = brood.into_iter();
        let first = brood.next()?;
        self.stack.extend(brood.rev().map(|it| Node::new(at, it, Move::Go, depth)));
        Some(first)
    }

    /// Explains the observation at `at`, which the message at the head of its lane does not explain; `ruled_out` if
    /// no other can either ([`Composed::see_head`]). Returns the hypothesis if it explains the observation without a
    /// choice; pushes the choices onto the stack.
    fn explain(
        &mut self,
        world: &Composed<'_>,
        mut shared: Rc<Hypothesis>,
        ruled_out: bool,
        (at, depth): (usize, usize),
    ) -> Option<Rc<Hypothesis>> {
        let Entry { place, task: Task::Explain(spot, seen) } = &self.log[at] else { return None };
        let (place, spot) = (*place, *spot);
        let hypothesis = Rc::make_mut(&mut shared);
        let mut brood = Brood::new();
        let mut reach =
            if ruled_out { Reach::Closed } else { world.see(hypothesis, spot, (seen, place), &mut brood) };
        if matches!(seen, Seen::Closed) && world.network.breaks() {
            let mut broken = hypothesis.clone();
            world.sever(&mut broken, spot);
            brood.push(Rc::new(broken));
            reach = if brood.len() == 1 { Reach::Closed } else { reach };
        }
        if reach == Reach::Closed {
            self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
            return None;
        }
        // Turns that keep to themselves respond only on the connection of their request.
        let asked = match (self.whole, spot, seen) {
            (false, Spot::Client(conn), Seen::Message(seen)) => Some((conn, seen)),
            _ => None,
        };
        let reliable = asked.filter(|_| world.transport.is_reliable);
        if let Some((conn, seen)) = reliable
            && self.settle_read(world, hypothesis, conn, &**seen)
        {
            return Some(shared);
        }
        if !self.memory.note(hypothesis, place, self.whole) {
            return None;
        }
        let Some((conn, seen)) = asked.map(|(conn, seen)| (conn, Rc::clone(seen))) else {
            let seen = seen.clone();
            self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
            self.steps_of_all(world, shared, (spot, &seen), (at, depth));
            return None;
        };
        let mut outlook = None;
        if world.transport.is_reliable
            && let Some(index) =
                hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == conn.wire())
            && hypothesis.pending[index].delivery.alone
        {
            outlook = self.outlook(world, hypothesis, index);
            match outlook {
                Some(Outlook { quiet: false, loud: false }) => return None,
                Some(Outlook { quiet: true, loud: false })
                    if versions(hypothesis, index).into_iter().any(|version| {
                        world.passes_unnoticed(hypothesis, index, version, &*seen) == Fit::Now
                    }) =>
                {
                    return Some(shared);
                }
                _ => {}
            }
        }
        self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
        self.steps_towards(world, shared, conn, (&*seen, outlook), (at, depth), place);
        None
    }

    /// Hands a message to the server without a network: the server must take it now.
    fn hand_over(&mut self, world: &Composed<'_>, hypothesis: Rc<Hypothesis>, at: usize, place: u64) {
        if at == self.front.furthest {
            self.front.out_of_step = true;
        }
        if !hypothesis.out.is_empty() || !self.memory.note(&hypothesis, place, self.whole) {
            return;
        }
        let Some(last) = hypothesis.pending.len().checked_sub(1) else { return };
        if world.has_internal {
            let mut before = Hypothesis::clone(&hypothesis);
            before.pending.pop();
            self.stack.push(Node::new(at, Rc::new(before), Move::Internal, 1));
        }
        let mut brood = Brood::new();
        world.tally.took.set(false);
        world.deliver(hypothesis, last, place, &mut brood);
        if world.tally.took.get() && at >= self.front.furthest {
            // The server took it, though a later observation rules out the result.
            self.front.furthest = at + 1;
            self.front.out_of_step = false;
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at + 1, hypothesis)));
    }

    /// Brings the hypothesis to rest: nothing is in flight any more. Returns it if it is at rest already; otherwise
    /// pushes the deliveries that are left onto the stack.
    fn rest(
        &mut self,
        world: &Composed<'_>,
        hypothesis: Rc<Hypothesis>,
        at: usize,
        place: u64,
    ) -> Option<Rc<Hypothesis>> {
        if world.transport.loses_input && world.transport.loses_output {
            let mut shared = hypothesis;
            let rested = Rc::make_mut(&mut shared);
            rested.out.clear();
            rested.pending.iter_mut().for_each(|pending| pending.stale = true);
            return Some(shared);
        }
        if world.transport.loses_input || world.transport.loses_output {
            return Some(hypothesis);
        }
        if hypothesis.out.iter().any(|item| item.taken == 0)
            || !self.memory.note(&hypothesis, place, self.whole)
        {
            return None;
        }
        let mut brood = Brood::new();
        let mut taken = false;
        for index in 0..hypothesis.pending.len() {
            let delivery = &hypothesis.pending[index].delivery;
            let conn =
                if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
            if hypothesis.pending[index].taken > 0 || !world.is_deliverable(&hypothesis, index) {
                continue;
            }
            world.tally.took.set(false);
            world.deliver(Rc::clone(&hypothesis), index, place, &mut brood);
            // Deliveries left behind by an ended connection may arrive, but need not.
            taken |= world.tally.took.get() && !world.has_ended(conn, place);
        }
        if world.has_internal {
            world.internal(&hypothesis, !self.whole, place, &mut brood);
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at, hypothesis)));
        if taken {
            return None;
        }
        let mut shared = hypothesis;
        let rested = Rc::make_mut(&mut shared);
        // Spare copies are not in flight either.
        rested.pending.retain(|pending| pending.taken == 0);
        rested.out.retain(|item| item.taken == 0);
        Some(shared)
    }
}

/// Returns the versions of its cell that a delivery may have met, oldest first; `None` is the present one.
pub(super) fn versions(hypothesis: &Hypothesis, index: usize) -> SmallVec<[Option<usize>; 4]> {
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
