//! Settling: replaces the past by the hypotheses that it has led to, so that the log can be forgotten.
//!
//! *Leaves out*: the log before a place where everything was answered, and all that differs only in how it came there.
//!
//! *Why no verdict changes*: the log is gone through again, from all hypotheses at its start, and every alternative is
//! brought up to that place. Whatever explains the whole trace explains this beginning, so it passes through one of the
//! hypotheses that are found, and equal ones ([`fingerprint`](crate::derive::fingerprint)) have the same futures.
//!
//! *Premises*:
//! - *Every alternative*: the search does not stop at the first, and the order plays no part (`thorough`). If there are
//!   too many, or it takes too long, nothing is settled.
//! - *Versions that a pending read can still see are kept*, and *facts are forgotten only about secrets that neither a
//!   cell, nor an earlier version, nor a message in flight mentions*: a tag that a later read returns must still differ
//!   from the one before.
//! - *Positions are not divided*: entries at one position of the trace stay together.
//!
//! *Early settling* does so sooner where many alternatives are open and nothing is in flight: once settled, they need not
//! all be gone through, with everything that could have happened since, when the next response turns out to be wrong.
//!
//! *Place in the order*: between two stretches of a log, when a live explanation has been found: only then it is certain
//! that something is left to settle on.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::derive::compose::Composed;
use crate::derive::dualize::Task;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Hypothesis, Parcel};
use crate::derive::reduce::Reduction;
use crate::derive::reduce::remember::Remembered;
use crate::derive::search::stack::Node;
use crate::derive::search::{Part, STRETCH};
use crate::engine::Meter;

/// Minimum length of a log that is settled early.
const EARLY_SETTLING: usize = 32;
/// Number of open alternatives above which a part is settled early.
const CROWDED: usize = 12;
/// Maximum number of alternatives that settling may leave; with more it gives up for now.
const MOST_SETTLED: usize = 512;
/// Approximate number of log entries between two indices at which to settle.
const BETWEEN_WAISTS: usize = 48;

/// The schedule by which a part forgets its past.
pub(in crate::derive) struct Settling {
    /// Length of the explained log at which the part is settled.
    pub(in crate::derive) next: usize,
    /// Length of the explained log at which the part is settled if many alternatives are open.
    pub(in crate::derive) next_early: usize,
    /// Index in the log before which every delivery that will get a response at all has got it.
    pub(in crate::derive) answered: usize,
    /// Number of turns run in this part since it was last settled.
    pub(in crate::derive) runs: u64,
}

impl Settling {
    /// Returns the schedule for a log that is explained up to `horizon`.
    pub(in crate::derive) fn after(horizon: usize) -> Self {
        Self { next: horizon + STRETCH, next_early: horizon + EARLY_SETTLING, answered: 0, runs: 0 }
    }
}

impl Part {
    /// Returns `true` if the part is to be settled before the next event is explained: its log has grown enough, or too many
    /// hypotheses are open.
    pub(in crate::derive) fn is_due_to_settle(&mut self, world: &Composed<'_>) -> bool {
        let is_long = self.front.horizon >= self.settling.next && world.reduces(Reduction::Settling);
        is_long || (world.reduces(Reduction::EarlySettling) && self.is_crowded(world))
    }

    /// Returns `true` if more than [`CROWDED`] hypotheses are open although every request of the part has its response: settling
    /// early then removes most of them.
    fn is_crowded(&mut self, world: &Composed<'_>) -> bool {
        let is_up_to_date =
            self.front.horizon == self.log.len() && self.front.horizon >= self.settling.next_early;
        is_up_to_date && !self.thorough && self.open() > CROWDED && {
            self.ripe(world);
            self.settling.answered == self.log.len()
        }
    }

    /// Goes through the log again, with all alternatives, up to the index before which every request has got its
    /// response; keeps the resulting hypotheses and forgets the log before. If there are too many it stops for now,
    /// at the last index that it settled.
    ///
    /// Later responses have ruled out most alternatives, so few are left there, while at the present there may be any
    /// number. The search goes from one index where few requests were in flight to the next: there most alternatives
    /// become equal.
    pub(in crate::derive) fn settle(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>) {
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
            trial.memory.remembered = Remembered::default();
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
        self.escaped |= trial.escaped;
        let Some((cut, base)) = settled else { return };
        let start = self.log[cut - 1].place + 1;
        self.log.drain(..cut);
        self.log.shrink_to(2 * STRETCH);
        let mut next = Self::new(std::mem::take(&mut self.cells), base, self.whole);
        std::mem::swap(&mut next.log, &mut self.log);
        next.origin.place = start;
        next.front.horizon = self.front.horizon - cut;
        next.settling = Settling::after(next.front.horizon);
        next.settling.answered = self.settling.answered - cut;
        next.stack.extend(next.front.live.drain(..).rev().map(|it| Node::go(0, Rc::new(it))));
        next.memory.contents.inherit(&self.memory.contents);
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
            if self.stops(world) {
                return false;
            }
        }
        let mut seen = FxHashSet::default();
        self.front.live.retain_mut(|hypothesis| {
            if planted(Fault::VersionsLostAtSettling) {
                hypothesis.cells.iter_mut().for_each(|cell| cell.past = None);
            }
            hypothesis.tidy();
            hypothesis.forget();
            let is_wanted = !planted(Fault::SettledWithTheFirst) || seen.is_empty();
            is_wanted && seen.insert(hypothesis.fingerprint(0, true).0)
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
            if latest > 0 && cut >= waists.last().unwrap_or(&0) + BETWEEN_WAISTS {
                waists.push(latest);
                (fewest, latest) = (i32::MAX, 0);
            }
        }
        waists.extend(Some(latest).filter(|cut| *cut > 0));
        waists
    }
}

impl Hypothesis {
    /// Forgets facts about secrets that are no longer mentioned.
    pub(crate) fn forget(&mut self) {
        if self.facts.is_empty() || self.suspended.is_some() {
            return;
        }
        let mut mentioned = FxHashSet::default();
        let mut visit = |var| {
            mentioned.insert(var);
        };
        for cell in &self.cells {
            for value in cell.past().iter().map(|(value, _)| value).chain([&cell.now]).flatten() {
                if !planted(Fault::FactsLostAtSettling) {
                    value.data.secrets(&mut visit);
                }
            }
        }
        for item in &self.out {
            if let Parcel::Message(message) = &item.parcel
                && !planted(Fault::FactsOfMessagesLost)
            {
                message.message.vars(&mut visit);
            }
        }
        self.facts.forget(&|var| mentioned.contains(&var));
    }
}
