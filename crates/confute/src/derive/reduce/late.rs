//! Late reads: a turn that only reads one cell is placed when its response is observed.
//!
//! *Leaves out*: every order in which such a read could be taken before its response is observed, and, where one version
//! of the cell explains the response without teaching a fact, all other versions.
//!
//! *Premises, and why no verdict changes*: a read writes nothing, so the contents of all cells are the same with it and
//! without it, and it can be added to an order of the other deliveries afterwards, wherever the content was the one it
//! saw. Hence a write keeps the content that it replaces ([`CellState::past`](super::super::hypothesis::CellState)) as
//! long as a pending read may have seen it. Of the versions that give the response the earliest is taken: what is behind
//! the read on its connection may be placed wherever the read may, or later, so an earlier read leaves it more room.
//! - *Not before it was sent* (`since`), *nor before its predecessor* on the connection (`floor`), unless the model calls
//!   the predecessor parallel. Counterexample: a read sent after a write was confirmed would find the content before it.
//! - *No fact, no choice, no deviation.* A read that learns that a secret is 5 excludes that it is 6 elsewhere, so
//!   another version, which teaches nothing, or something else, has to stay an alternative.
//! - *If something is behind it on its connection, the search for a version that teaches nothing ends at the first that
//!   might fit by teaching something*: that one leaves more room to the successor.
//! - *One cell.* A read of two cells needs a moment at which both contents were there together; it takes place now, and
//!   its successor no earlier. If it fits now but something is behind it, nothing tells since when both contents have been
//!   there, so it is not settled in passing.
//! - *No internal turns*: a read lets those of its cell happen again, so its time matters. *No turn that may touch
//!   anything*: it may wait for any message, so a read that was taken cannot be received by it any more.
//!
//! Turns that *may* write are placed at earlier versions too, if they turn out to write nothing there; orders in which
//! they are taken at their own time remain alternatives, so nothing rests on it.
//!
//! *Place in the order*: first of all at an observation, because it needs no memory and leaves no alternative.

use std::rc::Rc;

use smallvec::SmallVec;

use super::Reduction;
use crate::derive::compose::{Brood, Composed};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{CellState, Hypothesis, Pending};
use crate::derive::inquire::Fit;
use crate::derive::search::stack::{Move, Node};
use crate::derive::search::{Part, Position};
use crate::derive::turn::{Path, Start, next_path};
use crate::derive::unify::Spot;
use crate::erased::Message;
use crate::lang::{Cause, Conn, Stop};

/// Returns `true` if this pending delivery may turn out to have read an earlier version of the cell.
pub(crate) fn touches(pending: &Pending, cell: u32) -> bool {
    let foot = &pending.delivery.foot;
    matches!(foot.cells.as_slice(), [(only, _)] if *only == cell) && foot.is_reader() && !pending.watched
}

/// Returns the versions of its cell that a delivery may have met, oldest first; `None` is the present one.
pub(crate) fn versions(hypothesis: &Hypothesis, index: usize) -> SmallVec<[Option<usize>; 4]> {
    let pending = &hypothesis.pending[index];
    let (mut since, mut floor) = (pending.since, hypothesis.floor(pending.delivery.lane));
    if planted(Fault::ReadBeforePredecessor) {
        floor = 0;
    }
    if planted(Fault::ReadBeforeSent) {
        since = 0;
    }
    let mut versions = SmallVec::new();
    if let [(cell, _)] = pending.delivery.foot.cells.as_slice()
        && let Some(cell) = hypothesis.cell(*cell)
    {
        let past = cell.past();
        versions.extend((0..past.len()).filter(|version| past[*version].1 > since.max(floor)).map(Some));
    }
    versions.push(None);
    versions
}

/// Returns the turn since which a cell had this version.
fn version_start(hypothesis: &Hypothesis, cell: Option<u32>, version: Option<usize>) -> u32 {
    let past = cell.and_then(|cell| hypothesis.cell(cell)).map_or(&[][..], CellState::past);
    // Versions are kept from before the delivery was sent, so one without a predecessor here began before that.
    version.map_or(past.len(), |version| version).checked_sub(1).map_or(0, |before| past[before].1)
}

impl Part {
    /// Takes the observation's own delivery if it only reads, and one version of its cell explains the observation
    /// without teaching anything. Returns `true` if so: no alternative is needed then.
    pub(super) fn takes_late(
        &self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        conn: Conn,
        seen: &Message,
    ) -> bool {
        let wire = conn.wire();
        // On a reliable network only the first may be taken.
        let Some(index) = hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == wire) else {
            return false;
        };
        let delivery = Rc::clone(&hypothesis.pending[index].delivery);
        let foot = &delivery.foot;
        if !world.late() || !foot.is_reader() || foot.replies != 1 || !world.is_deliverable(hypothesis, index)
        {
            return false;
        }
        let mut versions = versions(hypothesis, index);
        if planted(Fault::ReadAtLatestVersion) {
            versions.reverse();
        }
        let passes = versions.into_iter().find_map(|version| {
            match world.passes_unnoticed(hypothesis, index, version, seen) {
                Fit::Now => Some(true),
                // Deliveries behind it on its connection are not taken before it, so it must not be placed later than
                // this.
                Fit::Perhaps if delivery.followed.get() && !planted(Fault::ReadTooLateForTheNext) => {
                    Some(false)
                }
                _ => None,
            }
        });
        if passes == Some(true) {
            world.left_out(Reduction::LateReads);
        }
        passes.unwrap_or(false)
    }

    /// Pushes the earlier versions at which pending reads may have been taken: they are left from the time when reads
    /// could be placed late.
    pub(super) fn push_versions(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Rc<Hypothesis>,
        spot: Spot,
        Position { at, depth, .. }: Position,
    ) {
        if hypothesis.suspended.is_some() || planted(Fault::LateReadsLostByWholeTurns) {
            return;
        }
        for (index, pending) in hypothesis.pending.iter().enumerate() {
            if pending.delivery.foot.is_reader() && world.is_deliverable(hypothesis, index) {
                let depth = depth + usize::from(Some(pending.delivery.wire) != spot.wire());
                for version in versions(hypothesis, index).into_iter().flatten() {
                    let read = Move::Read(index, Some(version));
                    self.stack.push(Node::new(at, Rc::clone(hypothesis), read, depth));
                }
            }
        }
    }
}

impl Composed<'_> {
    /// Handles a delivery that only reads: now, or (`version`) when its cell held an earlier content. No cell is
    /// written. Returns `true` if the server can take it at all.
    pub(crate) fn deliver_reader(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        version: Option<usize>,
        place: u64,
        brood: &mut Brood,
    ) -> bool {
        let pending = &hypothesis.pending[index];
        let foot = &pending.delivery.foot;
        let cell = foot.cells.first().map(|(cell, _)| *cell);
        let shown = version.and_then(|version| {
            let cell = hypothesis.cell(cell?)?;
            Some((cell.number, cell.past()[version].0.as_ref()))
        });
        let from = if foot.cells.len() > 1 && !planted(Fault::TwoCellsReadEarly) {
            hypothesis.turns
        } else {
            version_start(&hypothesis, cell, version)
        };
        let inbox = [(Conn::client(pending.delivery.wire), pending.delivery.item.clone())];
        let mut path = Path::new();
        let mut took = false;
        loop {
            let start = Start {
                foot: Some(foot),
                version: shown,
                may_break: self.allowance.may_break(pending.delivery.place),
                ..Start::of(Cause::Delivery { sent: pending.delivery.sent, copy: pending.taken }, &inbox)
            };
            let ran = self.run(&hypothesis, start, &mut path);
            took |= ran.took(1);
            match &ran.end {
                Ok(()) if !self.allowance.may_deviate(&ran, pending.delivery.place) => {}
                Ok(()) => {
                    let mut next = Hypothesis::clone(&hypothesis);
                    let heard = if next.pending[index].stale { next.out.len() } else { usize::MAX };
                    self.take_back_then(&mut next, index, from);
                    if self.apply(&mut next, ran, 0, true, place).is_some() {
                        next.out.truncate(heard);
                        brood.push(Rc::new(next));
                    }
                }
                Err(Stop::Mistake(mistake)) => self.blunder(mistake.as_ref().clone()),
                Err(_) => {}
            }
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, 0) {
                return took;
            }
        }
    }

    /// Takes a delivery that was handled in the past: no earlier than turn `from`, when the version that it read
    /// began. The next delivery on its lane was handled no earlier, unless this one was evaluated in parallel with
    /// it. Then the floor stays where the last delivery that was not parallel left it.
    pub(crate) fn take_back_then(&self, next: &mut Hypothesis, index: usize, from: u32) {
        let pending = &next.pending[index];
        let (lane, since, parallel) = (pending.delivery.lane, pending.since, pending.delivery.parallel);
        self.take(next, index);
        if !parallel && next.pending.iter().any(|pending| pending.delivery.lane == lane) {
            let floor = since.max(from).max(next.floor(lane));
            next.floors.retain(|(number, _)| *number != lane);
            next.floors.push((lane, floor));
        }
    }

    /// Checks if a pending delivery may have been handled at a version of its cell without a write and without a new
    /// fact, with exactly `seen` as its only response. If so ([`Fit::Now`]), takes it, in place.
    pub(crate) fn passes_unnoticed(
        &self,
        hypothesis: &mut Hypothesis,
        index: usize,
        version: Option<usize>,
        seen: &Message,
    ) -> Fit {
        let pending = &hypothesis.pending[index];
        let is_bound =
            !pending.watched && pending.delivery.foot.cells.len() > 1 && pending.delivery.followed.get();
        if is_bound && !planted(Fault::TwoCellsSettledEarly) {
            // Deliveries behind it were taken after it, but since when all its cells have been as they are is
            // unknown.
            return Fit::Perhaps;
        }
        let fit = self.fit(hypothesis, &pending.delivery, pending.taken, version, seen);
        if fit == Fit::Now {
            let cell = pending.delivery.foot.cells.first().map(|(cell, _)| *cell);
            // A watched delivery fits what was written just now, or it would have fitted before.
            let from =
                if pending.watched { hypothesis.turns } else { version_start(hypothesis, cell, version) };
            hypothesis.must_write = None;
            // The cell has been read.
            if !planted(Fault::IdleWriteAfterRead) {
                hypothesis.unseen_until = 0;
            }
            self.take_back_then(hypothesis, index, from);
        }
        fit
    }
}
