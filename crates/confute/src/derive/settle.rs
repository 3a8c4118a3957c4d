//! Settling: replaces the past by the hypotheses that it has led to, so that the log can be forgotten.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::backtrack::{EARLY_SETTLING, FIRST_SETTLING, Part, Settling};
use super::compose::Composed;
use super::dualize::{Entry, Task};
use super::hypothesis::Hypothesis;
use super::stack::Node;
use crate::engine::Meter;

/// Maximum number of alternatives that settling may leave; with more it gives up for now.
const MOST_SETTLED: usize = 512;
/// Approximate number of log entries between two indices at which to settle.
const STRETCH: usize = 48;

impl Part {
    /// Goes through the log again, with all alternatives, up to the index before which every request has got its
    /// response; keeps the resulting hypotheses and forgets the log before. If there are too many it stops for now,
    /// at the last index that it settled.
    ///
    /// Later responses have ruled out most alternatives, so few are left there, while at the present there may be any
    /// number. The search goes from one index where few requests were in flight to the next: there most alternatives
    /// become equal.
    pub(super) fn settle(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>) {
        self.ripe(world);
        let end = self.settling.answered.min(self.front.horizon);
        self.settling.next = self.front.horizon + self.front.horizon / 2;
        self.settling.next_early = self.front.horizon + EARLY_SETTLING.max(self.front.horizon / 2);
        if end < self.front.horizon / 4 {
            return;
        }
        let most_runs = world.tally.runs.get() + 4 * self.settling.runs + 4 * MOST_SETTLED as u64;
        let mut trial = Self::new(self.cells.clone(), self.origin.hypotheses.clone(), self.whole);
        trial.thorough = true;
        let waists = self.waists(world, end);
        std::mem::swap(&mut trial.log, &mut self.log);
        let mut settled = None;
        let mut from = 0;
        for cut in waists {
            trial.memory.visited.clear();
            trial.front.horizon = cut;
            trial.stack.extend(trial.front.live.drain(..).rev().map(|it| Node::go(from, Rc::new(it))));
            if !trial.bring_up(world, meter, most_runs) {
                break;
            }
            from = cut;
            if trial.front.live.len() <= MOST_SETTLED {
                settled = Some((cut, trial.front.live.clone()));
            }
        }
        std::mem::swap(&mut trial.log, &mut self.log);
        let Some((cut, base)) = settled else { return };
        let start = self.log[cut - 1].place + 1;
        self.log.drain(..cut);
        self.log.shrink_to(2 * FIRST_SETTLING);
        let mut next = Self::new(std::mem::take(&mut self.cells), base, self.whole);
        std::mem::swap(&mut next.log, &mut self.log);
        next.origin.place = start;
        next.front.horizon = self.front.horizon - cut;
        next.settling = Settling::after(next.front.horizon);
        next.settling.answered = self.settling.answered - cut;
        next.stack.extend(next.front.live.drain(..).rev().map(|it| Node::go(0, Rc::new(it))));
        next.memory.foresight.inherit(&self.memory.foresight);
        *self = next;
    }

    /// Brings all alternatives up to the horizon, and merges equal ones. Returns `false` if that is too much, or
    /// leaves none.
    fn bring_up(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>, most_runs: u64) -> bool {
        while let Some(node) = self.stack.pop_latest() {
            let too_many = self.front.live.len() > 8 * MOST_SETTLED || world.tally.runs.get() > most_runs;
            if too_many || meter.is_spent(world.tally.runs.get(), || self.pulse(world)) {
                return false;
            }
            self.forward(world, node);
            if world.tally.stops_search() {
                return false;
            }
        }
        let mut seen = FxHashSet::default();
        self.front.live.retain_mut(|hypothesis| {
            hypothesis.tidy();
            hypothesis.forget();
            seen.insert(hypothesis.fingerprint(0, true).0)
        });
        !self.front.live.is_empty()
    }

    /// Returns the indices at which to settle on the way to `end`: in each stretch the one with the fewest requests
    /// in flight.
    fn waists(&self, world: &Composed<'_>, end: usize) -> Vec<usize> {
        let mut change = vec![0_i32; end + 1];
        for (index, entry) in self.log[..end].iter().enumerate() {
            if let Task::Given(delivery) = &entry.task
                && let Some((answered, _)) = world.answer(delivery)
            {
                change[index] += 1;
                change[self.log[..end].partition_point(|entry| entry.place < *answered)] -= 1;
            }
        }
        let mut waists = Vec::new();
        let (mut under_way, mut fewest, mut latest) = (0, i32::MAX, 0);
        for cut in 1..=end {
            under_way += change[cut - 1];
            // Entries at the same position are not separated.
            let whole = self.log.get(cut).is_none_or(|entry| entry.place != self.log[cut - 1].place);
            if whole && under_way <= fewest {
                (fewest, latest) = (under_way, cut);
            }
            if latest > 0 && cut >= waists.last().unwrap_or(&0) + STRETCH {
                waists.push(latest);
                (fewest, latest) = (i32::MAX, 0);
            }
        }
        waists.extend(Some(latest).filter(|cut| *cut > 0));
        waists
    }

    /// Returns the index up to which the log can be explained without guessing responses that are yet to come. A
    /// request that waits too long for its response does not hold up the rest for ever.
    pub(crate) fn ripe(&mut self, world: &Composed<'_>) -> usize {
        let waits = |entry: &Entry| match &entry.task {
            Task::Given(delivery) => {
                !delivery.foot.whole
                    && delivery.foot.replies > 0
                    && !world.is_answered(delivery)
                    && !world.has_ended_at_all(delivery)
            }
            _ => false,
        };
        while self.settling.answered < self.log.len() && !waits(&self.log[self.settling.answered]) {
            self.settling.answered += 1;
        }
        if !world.transport.is_reliable && !world.transport.is_direct {
            // Where messages get lost no request is sure to get a response, but the network may come to rest.
            let rested = self.log.iter().rposition(|entry| matches!(entry.task, Task::Rest));
            self.settling.answered = rested.map_or(0, |rested| rested + 1);
        }
        if world.transport.is_direct || self.log.len() - self.settling.answered > FIRST_SETTLING {
            return self.log.len();
        }
        self.settling.answered.max(self.front.horizon)
    }
}

impl Hypothesis {
    /// Combines hypotheses about two independent parts of the state.
    pub(super) fn joined(&self, other: &Self) -> Self {
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
        // `dead_until` is about the only cell of a part.
        both.dead_until = 0;
        both.turns = self.turns.max(other.turns);
        both.internals = self.internals.max(other.internals);
        both.deviations += other.deviations;
        both
    }

    /// Forgets facts about secrets that are no longer mentioned.
    pub(crate) fn forget(&mut self) {
        use super::hypothesis::Parcel;
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
