//! Composition of server and network: the possible next steps inside one hypothesis (Fig 13, with the networks of Fig
//! 5).
//!
//! In a step the network selects a delivery and the server runs a turn of the model. Neither acts by itself: the
//! search requests the steps it needs, so the network is stepped as lazily as the paper's. A step makes new
//! hypotheses from one and never changes the one it starts from; it returns if the server took the delivery.

use std::rc::Rc;

use smallvec::SmallVec;

use super::fault::{Fault, planted};
use super::hypothesis::{Delivery, Footprint, Hypothesis, Pending, Stir, Suspended, UNORDERED};
use super::turn::{Path, Ran, Start, has_more, next_path};
pub(crate) use super::world::{Allowance, Composed, End};
use crate::erased::Message;
use crate::lang::{Cause, Conn, Incoming, Mistake, Stop};

/// Hypotheses that result from a step.
pub(crate) type Brood = SmallVec<[Rc<Hypothesis>; 2]>;

/// A message that is given to a turn, with everything that the turn had before.
struct Handed<'a> {
    /// Index of the message among the pending ones.
    index: usize,
    inbox: &'a [(Conn, Incoming<Message>)],
    cause: Cause,
    /// Number of acts that had taken effect when the turn was suspended.
    acted: usize,
    place: u64,
}

impl Composed<'_> {
    /// Puts a message into the network.
    pub(crate) fn admit(&self, hypothesis: &mut Hypothesis, delivery: &Rc<Delivery>) {
        let conn = if delivery.accepted {
            hypothesis.bound(delivery.wire)
        } else {
            Some(Conn::client(delivery.wire))
        };
        // A message that arrives after the server closed the connection is lost.
        if conn.is_some_and(|conn| hypothesis.is_closed(conn)) {
            return;
        }
        let since = hypothesis.turns;
        if delivery.foot.is_reader() && delivery.alone {
            hypothesis.stirred = hypothesis.stirred.max(Stir::Admitted);
        }
        hypothesis.pending.push(Pending {
            delivery: Rc::clone(delivery),
            since,
            taken: 0,
            loose: false,
            watched: false,
            covered: false,
            stale: false,
        });
    }

    /// Returns `true` if the network may deliver this pending message next.
    pub(crate) fn is_deliverable(&self, hypothesis: &Hypothesis, index: usize) -> bool {
        let lane = hypothesis.pending[index].delivery.lane;
        hypothesis.pending[..index].iter().all(|earlier| {
            earlier.delivery.lane != lane
                || self.transport.loses_input
                || (earlier.loose && !planted(Fault::LoosePacketsInTheWay))
                || earlier.taken > 0
        })
    }

    /// Delivers a pending message, which the server handles now. Adds every possible result to `brood`. Returns `true`
    /// if the server took the message, whatever the result.
    pub(crate) fn deliver(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        place: u64,
        brood: &mut Brood,
    ) -> bool {
        let delivery = &hypothesis.pending[index].delivery;
        if !delivery.accepted {
            let conn = Conn::client(delivery.wire);
            self.deliver_as(hypothesis, index, conn, place, brood)
        } else if let Some(conn) = hypothesis.bound(delivery.wire) {
            self.deliver_as(hypothesis, index, conn, place, brood)
        } else {
            let mut took = false;
            for at in 0..hypothesis.links.len() {
                if hypothesis.links[at].1.is_none() {
                    let mut bound = Hypothesis::clone(&hypothesis);
                    bound.links[at].1 = Some(delivery.wire);
                    let conn = bound.links[at].0;
                    took |= self.deliver_as(Rc::new(bound), index, conn, place, brood);
                }
            }
            took
        }
    }

    fn deliver_as(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        conn: Conn,
        place: u64,
        brood: &mut Brood,
    ) -> bool {
        let pending = &hypothesis.pending[index];
        let message = (conn, pending.delivery.item.clone());
        if hypothesis.suspended.is_some() {
            return self.resume(&hypothesis, index, message, place, brood);
        }
        if pending.delivery.foot.is_reader() {
            return self.deliver_reader(hypothesis, index, None, place, brood);
        }
        let copy = if planted(Fault::OneNameForTwoCopies) { 0 } else { pending.taken };
        let cause = Cause::Delivery { sent: pending.delivery.sent, copy };
        let inbox = [message];
        if !hypothesis.pending[index].delivery.foot.creates.is_empty() {
            self.check_telling(&hypothesis, index, cause, &inbox);
        }
        let mut path = Path::new();
        let mut parent = hypothesis;
        let mut took = false;
        loop {
            let delivery = &parent.pending[index].delivery;
            let start = Start {
                foot: Some(&delivery.foot),
                may_break: self.allowance.may_break(delivery.place),
                ..Start::of(cause, &inbox)
            };
            let ran = self.run(&parent, start, &mut path);
            took |= ran.took(inbox.len());
            let is_last = !has_more(&path, 0) || self.tally.mistake.borrow().is_some();
            // The last run may change its parent in place.
            let kept = (!is_last).then(|| Rc::clone(&parent));
            let handed = Handed { index, inbox: &inbox, cause, acted: 0, place };
            brood.extend(self.after_message(parent, ran, &path, &handed));
            match kept {
                Some(kept) => parent = kept,
                None => return took,
            }
            next_path(&mut path, 0);
        }
    }

    /// Checks that a turn which creates an object tells its id: the search has looked for the id in the response.
    fn check_telling(
        &self,
        hypothesis: &Hypothesis,
        index: usize,
        cause: Cause,
        inbox: &[(Conn, Incoming<Message>)],
    ) {
        let foot = &hypothesis.pending[index].delivery.foot;
        if foot.ids.as_ref().is_none_or(|ids| ids.response.is_none()) {
            return;
        }
        let mut path = Path::new();
        loop {
            let start = Start { foot: Some(foot), untold: true, ..Start::of(cause, inbox) };
            let ran = self.run(hypothesis, start, &mut path);
            if let Some(table) = ran.untold(foot) {
                self.blunder(Mistake::Untold { table });
            }
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, 0) {
                return;
            }
        }
    }

    /// Continues a suspended turn with one more message. The choices that the turn made before it was suspended stay as
    /// they are; the loop tries all those after it.
    fn resume(
        &self,
        hypothesis: &Rc<Hypothesis>,
        index: usize,
        message: (Conn, Incoming<Message>),
        place: u64,
        brood: &mut Brood,
    ) -> bool {
        let Some(suspended) = &hypothesis.suspended else { return false };
        let mut inbox = suspended.inbox.clone();
        inbox.push(message);
        let mut path = suspended.path.clone();
        let mut took = false;
        // No dry run has found the footprint of the rest: it may touch any cell.
        let foot = Footprint { whole: true, ..Footprint::default() };
        let handed = Handed { index, inbox: &inbox, cause: suspended.cause, acted: suspended.acted, place };
        loop {
            let start = Start {
                acted: suspended.acted,
                fixed: suspended.path.len(),
                foot: Some(&foot),
                ..Start::of(suspended.cause, &inbox)
            };
            let ran = self.run(hypothesis, start, &mut path);
            took |= ran.took(inbox.len());
            brood.extend(self.after_message(Rc::clone(hypothesis), ran, &path, &handed));
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, suspended.path.len()) {
                return took;
            }
        }
    }

    /// Returns the hypothesis after a run for a message, if it is possible.
    fn after_message(
        &self,
        hypothesis: Rc<Hypothesis>,
        ran: Ran,
        path: &Path,
        handed: &Handed<'_>,
    ) -> Option<Rc<Hypothesis>> {
        if let Err(Stop::Mistake(mistake)) = &ran.end {
            self.blunder(mistake.as_ref().clone());
            return None;
        }
        let blocked = matches!(ran.end, Err(Stop::Blocked));
        let (index, place) = (handed.index, handed.place);
        let pending = &hypothesis.pending[index];
        let sent = pending.delivery.sent;
        if !ran.took(handed.inbox.len())
            || !(ran.end.is_ok() || blocked)
            || !self.allowance.may_deviate(&ran, pending.delivery.place)
            || (hypothesis.must_write == Some(sent) && ran.changes_nothing(&hypothesis))
        {
            return None;
        }
        let mut shared = hypothesis;
        let next = Rc::make_mut(&mut shared);
        let heard = if next.pending[index].stale { next.out.len() } else { usize::MAX };
        next.must_write = next.must_write.filter(|must| *must != sent);
        // Deliveries behind it on its lane are taken after this turn.
        let turn = next.turns + 1;
        self.take_back_then(next, index, turn);
        let started = if let Some(suspended) = &next.suspended {
            suspended.started
        } else {
            next.turns += 1;
            next.turns
        };
        if blocked {
            self.suspend(next, ran, path, (handed, sent, started))?;
            next.out.truncate(heard);
            return Some(shared);
        }
        next.suspended = None;
        self.apply(next, ran, started, true, place)?;
        if heard != usize::MAX {
            // It was handled before the rest: messages sent since then cannot have seen the state before it.
            let turns = next.turns;
            let since = |since: u32| if planted(Fault::RestSeenThrough) { since.min(turns) } else { turns };
            next.pending
                .iter_mut()
                .filter(|pending| !pending.stale)
                .for_each(|pending| pending.since = since(pending.since));
        }
        next.out.truncate(heard);
        Some(shared)
    }

    /// Suspends a turn that waits for another message.
    fn suspend(
        &self,
        next: &mut Hypothesis,
        ran: Ran,
        path: &Path,
        (handed, sent, started): (&Handed<'_>, u32, u32),
    ) -> Option<()> {
        let mut numbers = next.suspended.as_ref().map_or_else(Vec::new, |suspended| suspended.sent.clone());
        numbers.push(sent);
        next.suspended = Some(Rc::new(Suspended {
            cause: handed.cause,
            inbox: handed.inbox.to_vec(),
            sent: numbers,
            path: path.clone(),
            acted: handed.acted + ran.acts.len(),
            started,
        }));
        self.apply(next, Ran { writes: SmallVec::new(), ..ran }, started, false, handed.place)
    }

    /// Removes a delivery from the network, with those that it overtook.
    pub(super) fn take(&self, next: &mut Hypothesis, index: usize) {
        let stale = next.pending[index].stale;
        self.take_one(next, index);
        // A stale delivery, which was in flight at the last rest, was not taken after one that was sent since.
        if !stale && self.transport.loses_input && !planted(Fault::StaleAfterFresh) {
            next.pending.retain(|pending| !pending.stale);
        }
    }

    fn take_one(&self, next: &mut Hypothesis, index: usize) {
        let lane = next.pending[index].delivery.lane;
        let loose = next.pending[index].loose;
        next.pending[index].taken += 1;
        if next.pending[index].taken >= self.transport.input_copies {
            next.pending.remove(index);
        }
        if lane & UNORDERED == 0 && (loose || self.transport.loses_input || self.transport.input_copies > 1) {
            let mut position = 0;
            next.pending.retain(|pending| {
                let overtaken = position < index && pending.delivery.lane == lane;
                position += 1;
                !overtaken
            });
        }
    }

    /// Runs an internal turn. Adds every possible result to `brood`. Returns `true` if some run touched more than a
    /// part whose turns keep to themselves (`local`).
    pub(crate) fn internal(
        &self,
        hypothesis: &Hypothesis,
        local: bool,
        place: u64,
        brood: &mut Brood,
    ) -> bool {
        let pickable: SmallVec<[u32; 8]> = hypothesis.cells.iter().map(|cell| cell.number).collect();
        if hypothesis.suspended.is_some() {
            return false;
        }
        let mut path = Path::new();
        let mut escaped = false;
        loop {
            let start = Start {
                pickable: Some(&pickable),
                ..Start::of(Cause::Internal { cell: u32::MAX, n: hypothesis.internals }, &[])
            };
            let ran = self.run(hypothesis, start, &mut path);
            match &ran.end {
                Ok(()) => {
                    let strays = ran.opened.iter().any(|(cell, _)| hypothesis.cell(*cell).is_none());
                    if local && (ran.whole || strays || !ran.acts.is_empty()) {
                        escaped = true;
                    } else if !hypothesis.fired.iter().any(|(fired, _)| *fired == ran.action) {
                        self.after_internal(hypothesis, ran, place, brood);
                    }
                }
                Err(Stop::Mistake(mistake)) => self.blunder(mistake.as_ref().clone()),
                Err(_) => {}
            }
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, 0) {
                return escaped;
            }
        }
    }

    /// Adds the hypotheses after an internal turn.
    fn after_internal(&self, hypothesis: &Hypothesis, ran: Ran, place: u64, brood: &mut Brood) {
        let mut next = hypothesis.clone();
        next.turns += 1;
        next.internals += 1;
        let started = next.turns;
        // An action that may touch anything may happen again after any message.
        if ran.opened.is_empty() || ran.whole {
            next.fired.push((ran.action, u32::MAX));
        }
        next.fired.extend(ran.opened.iter().map(|(cell, _)| (ran.action, *cell)));
        let heard = next.out.len();
        if self.apply(&mut next, ran, started, false, place).is_none() {
            return;
        }
        if next.pending.iter().any(|pending| pending.stale) {
            // The internal turn came before the rest, and none of its messages is in flight any more; or it came
            // after, and then the deliveries that were in flight before the rest are gone.
            let mut before = next.clone();
            before.out.truncate(heard);
            brood.push(Rc::new(before));
            if !planted(Fault::StaleAfterInternal) {
                next.pending.retain(|pending| !pending.stale);
            }
        }
        brood.push(Rc::new(next));
    }
}
