//! The effects of a turn on a hypothesis: writes, messages, connections.

use std::rc::Rc;

use smallvec::SmallVec;

use super::book::Seen;
use super::compose::Composed;
use super::fault::{Fault, planted};
use super::hypothesis::{CellState, Hypothesis, Outgoing, Packed, Parcel, Stir};
use super::reduce::late::touches;
use super::turn::{Act, Ran};
use crate::erased::Letter;
use crate::lang::{Access, Conn, Mistake, Rule, Val};

impl Composed<'_> {
    /// Applies the effects of a run to the hypothesis. Returns `None` if they are impossible.
    pub(super) fn apply(
        &self,
        next: &mut Hypothesis,
        ran: Ran,
        started: u32,
        by_message: bool,
        place: u64,
    ) -> Option<()> {
        next.deviations += ran.deviations.iter().filter(|rule| self.allowance.counts(rule)).count() as u32;
        if next.deviations > self.allowance.most {
            return None;
        }
        if by_message && !next.fired.is_empty() {
            next.allow_again(&ran);
        }
        next.facts = ran.facts;
        next.unseen_until = 0;
        if self.has_internal {
            // Internal turns pick among the cells that were ever opened.
            for (cell, _) in &ran.opened {
                self.ensure(next, *cell);
            }
        }
        let overwrites =
            !ran.writes.is_empty() && ran.opened.iter().any(|(_, access)| *access == Access::Write);
        if overwrites && !planted(Fault::DeadAfterOverwriting) {
            next.dead_until = 0;
        }
        let mut overwritten = false;
        for (cell, value) in ran.writes {
            overwritten |= self.write(next, cell, value, started);
        }
        for act in ran.acts {
            match act {
                Act::Connect(conn) => next.links.push((conn, None)),
                Act::Close(conn) => self.close(next, conn, place)?,
                Act::Send(conn, message) => self.emit(next, conn, message, &ran.kept, place)?,
            }
        }
        if overwritten && !next.facts.is_empty() {
            // Otherwise states that differ only in what nothing can ever see again would not be found equal.
            next.forget();
        }
        Some(())
    }

    /// Writes a cell. Returns `true` if that may have removed the last mention of some secret.
    fn write(&self, next: &mut Hypothesis, cell: u32, value: Option<Val>, started: u32) -> bool {
        let index = self.ensure(next, cell);
        let print = |value: &Option<Val>| value.as_ref().map(|value| value.fingerprint);
        if print(&next.cells[index].now) == print(&value) {
            return false;
        }
        let old = std::mem::replace(&mut next.cells[index].now, value);
        next.stirred = Stir::Written;
        if self.late() && next.pending.iter().any(|pending| touches(pending, cell) && pending.since < started)
        {
            Rc::make_mut(next.cells[index].past.get_or_insert_default()).push((old, started));
            return false;
        }
        if next.cells[index].now.is_none()
            && next.cells[index].past.is_none()
            && next.cells.len() > 8
            && !self.has_internal
            && !self.late()
            && self.book.borrow().cells[cell as usize].initial.is_none()
        {
            // The cell is empty again, as it was before it was first opened.
            next.cells.remove(index);
        }
        let mut secret = false;
        if let Some(old) = old {
            old.data.secrets(&mut |_| secret = true);
        }
        secret
    }

    /// Returns the index of this cell in the hypothesis; adds the cell with its initial content if it is missing.
    pub(crate) fn ensure(&self, next: &mut Hypothesis, cell: u32) -> usize {
        match next.cells.binary_search_by_key(&cell, |state| state.number) {
            Ok(index) => index,
            Err(index) => {
                let book = self.book.borrow();
                let info = &book.cells[cell as usize];
                for (var, sort) in &info.secrets {
                    next.facts.declare(*var, *sort);
                }
                next.cells.insert(index, CellState { number: cell, now: info.initial.clone(), past: None });
                index
            }
        }
    }

    fn close(&self, next: &mut Hypothesis, conn: Conn, place: u64) -> Option<()> {
        if self.is_lost(next, conn, place) || next.is_closed(conn) {
            return Some(());
        }
        let wire =
            conn.wire().or_else(|| next.links.iter().find(|link| link.0 == conn).and_then(|link| link.1));
        next.pending.retain(|pending| Some(pending.delivery.wire) != wire);
        if let Some((_, seen)) = self.foreseen(next, conn, place)
            && matches!(seen, Seen::Message(_))
        {
            return None;
        }
        let lane = self.lane_out(conn);
        next.out.push(Outgoing { lane, conn, parcel: Parcel::Close, taken: 0, due: 0 });
        Some(())
    }

    fn emit(
        &self,
        next: &mut Hypothesis,
        conn: Conn,
        message: Box<dyn Letter>,
        by: &[&'static Rule],
        place: u64,
    ) -> Option<()> {
        if self.is_lost(next, conn, place) {
            // Where connections do not break, only the model itself can have closed it.
            if !self.network.breaks() && self.ended.get(&conn).is_some_and(|end| end.by_server) {
                self.blunder(Mistake::SendOnClosed { conn: conn.to_string() });
                return None;
            }
            return Some(());
        }
        if next.is_closed(conn) {
            self.blunder(Mistake::SendOnClosed { conn: conn.to_string() });
            return None;
        }
        match self.foreseen(next, conn, place) {
            Some((_, Seen::Message(seen))) => {
                let fits = message.unify(&**seen, &mut next.facts);
                self.spare.set(Some(message));
                fits.ok()?;
                let lane = self.lane_out(conn);
                next.out.push(Outgoing { lane, conn, parcel: Parcel::Verified, taken: 0, due: 0 });
                return Some(());
            }
            Some((_, Seen::Closed)) if !self.network.breaks() || planted(Fault::BreakCountedAsAnswer) => {
                return None;
            }
            _ => {}
        }
        let parcel = Parcel::Message(Packed::new(message, by.into()));
        let lane = self.lane_out(conn);
        next.out.push(Outgoing { lane, conn, parcel, taken: 0, due: 0 });
        Some(())
    }

    /// Returns `true` if nothing that is sent on this connection will be observed any more.
    fn is_lost(&self, next: &Hypothesis, conn: Conn, place: u64) -> bool {
        if !conn.is_opened_by_server() {
            return self.has_ended(conn, place);
        }
        match next.links.iter().find(|(known, _)| *known == conn) {
            None => true,
            Some((_, None)) => false,
            Some((_, Some(wire))) => self.has_ended(Conn::accepted(*wire), place),
        }
    }
}

impl Hypothesis {
    /// Returns `true` if the model closed this connection and the tester has not observed it yet.
    pub(crate) fn is_closed(&self, conn: Conn) -> bool {
        self.out.iter().any(|item| item.conn == conn && matches!(item.parcel, Parcel::Close))
    }

    /// Lets internal actions happen again whose cells a message touched.
    fn allow_again(&mut self, ran: &Ran) {
        if ran.whole {
            self.fired.clear();
            return;
        }
        let touched: SmallVec<[_; 4]> = self
            .fired
            .iter()
            .filter(|(_, cell)| {
                *cell == u32::MAX
                    || ran.opened.iter().any(|(open, _)| open == cell)
                    || planted(Fault::InternalAgainAfterAny)
            })
            .map(|(action, _)| *action)
            .collect();
        if !planted(Fault::InternalNeverAgain) {
            self.fired.retain(|(action, _)| !touched.contains(action));
        }
    }
}
