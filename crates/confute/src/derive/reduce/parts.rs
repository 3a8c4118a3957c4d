//! Parts: cells that no message connects are searched separately.
//!
//! *Leaves out*: the combinations of hypotheses about cells that have nothing to do with each other.
//!
//! *Why no verdict changes*: if no turn touches cells of two groups, turns on one group commute with turns on the other,
//! so a trace is explained as a whole if and only if each group explains the events that concern it. The footprint of a
//! message, which a dry run finds, is the same in every state, so it says which groups a turn can touch at all.
//!
//! *Premises*:
//! - *A message that touches two parts makes them one* (a copy from one cell to another carries a conjecture over).
//! - *Requests in flight on one connection tie the parts of their cells*: their turns happen in the order of the
//!   connection. A request without a response ties its connection until it is known to have arrived.
//! - *A turn that may touch anything ties all parts*, and so do internal turns that do not pick a cell, connections that
//!   the server opened, and networks that lose, double or reorder messages, where a late copy can follow anything.
//! - *What was settled is joined where it was settled* ([`Task::Join`]): a hypothesis about the later part that holds from
//!   position 300 says nothing of what the earlier part still has to go through before it. Every pair of hypotheses is
//!   kept, and one rest at one position stays one.
//! - *What was met while apart does not count as met once the parts are one.*
//!
//! *Place in the order*: before everything else, when an event comes ([`route`](crate::engine)): the later reductions ask
//! about one cell, which is what most parts consist of.

use crate::derive::dualize::{Entry, Task};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::search::{Part, STRETCH};

impl Part {
    /// Merges two parts. They were independent, so every pair of their hypotheses is possible; their logs are gone
    /// through again as one.
    pub(crate) fn merge(self, other: Self) -> Self {
        let (mut early, mut late) =
            if self.origin.place <= other.origin.place { (self, other) } else { (other, self) };
        let mut base = early.origin.hypotheses;
        let is_late = planted(Fault::JoinedOutOfTime) && late.origin.place > 0;
        if early.origin.place == late.origin.place || is_late {
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
            later.place == earlier.place
                && matches!((&later.task, &earlier.task), (Task::Rest, Task::Rest))
                && !planted(Fault::RestCountedTwice)
        });
        let mut merged = Self::new(early.cells, base, early.whole || late.whole);
        merged.origin.place = early.origin.place;
        merged.settling.next = early.log.len() + STRETCH;
        merged.log = early.log;
        merged
    }
}

impl Hypothesis {
    /// Combines hypotheses about two independent parts of the state.
    pub(in crate::derive) fn joined(&self, other: &Self) -> Self {
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
}
