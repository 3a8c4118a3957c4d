//! Queries about a delivery that do not perform it: its footprint, its response at some content of its cell, its
//! effect.
//!
//! Nothing here changes a hypothesis. The search relies on these results when it leaves something out, so each of
//! them is "perhaps" where it is not certain.

use std::rc::Rc;

use super::book::Seen;
use super::compose::Composed;
use super::fault::{Fault, planted};
use super::hypothesis::{Delivery, Footprint, Hypothesis, Ids};
use super::turn::{Act, Path, Ran, Start, next_path};
use crate::erased::Message;
use crate::fingerprint::Fingerprint;
use crate::knowledge::Value;
use crate::lang::{Cause, Conn, Incoming, Stop, Val};

/// Result of comparing a delivery, at some content of its cell, with its observed response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The delivery gives that response, and does nothing else.
    Now,
    /// The delivery might give that response, but not without learning something, choosing or changing something.
    Perhaps,
    /// The delivery does not give that response.
    No,
    /// The delivery does not give that response, and will not once the content has grown either.
    Never,
}

/// The effect of a delivery on its cell.
#[derive(Clone)]
pub(crate) struct Effect {
    /// `true` if the response is the observed one, or none is known.
    pub(crate) matches: bool,
    /// `true` if the response is not the observed one, and will not be once the content has grown either.
    pub(crate) never: bool,
    /// `true` if the response is known.
    pub(crate) answered: bool,
    /// New content, if the delivery writes.
    pub(crate) after: Option<Option<Val>>,
}

/// The kind of internal turns that a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InternalKind {
    None,
    /// Internal turns begin by picking the cell at which they happen.
    Local,
    /// Internal turns may touch anything.
    Whole,
}

impl Composed<'_> {
    /// Determines by a dry run what the turn of this message can touch, in any state. If the turn creates or lists objects, it
    /// also needs their ids; without them the result tells only that it does.
    pub(crate) fn footprint(
        &self,
        conn: Conn,
        item: &Incoming<Message>,
        sent: u32,
        ids: Option<Rc<Ids>>,
    ) -> Footprint {
        let nothing = Hypothesis::default();
        let mut path = Path::new();
        let inbox = [(conn, item.clone())];
        let known = Footprint { ids: ids.clone(), ..Footprint::default() };
        let foot = ids.is_some().then_some(&known);
        let ran = self.run(
            &nothing,
            Start { dry: true, foot, ..Start::of(Cause::Delivery { sent, copy: 0 }, &inbox) },
            &mut path,
        );
        if let Err(Stop::Mistake(mistake)) = &ran.end {
            self.blunder(mistake.as_ref().clone());
        }
        let ignored = matches!(ran.end, Err(Stop::Refused)) && matches!(item, Incoming::Closed);
        let refused = matches!(ran.end, Err(Stop::Refused | Stop::Dead | Stop::Idle));
        // A turn that ends before its first look has shown everything it does.
        let replies = ran.replies.unwrap_or(1);
        let closes = ran.acts.iter().any(|act| matches!(act, Act::Close(_)));
        let blind = ran.end.is_ok() && !ran.writes.is_empty();
        let cells = ran.opened.iter().copied().collect();
        Footprint {
            whole: ran.whole || refused,
            cells,
            replies,
            closes,
            blind,
            fixed: blind && !ran.updated,
            ignored,
            creates: ran.creates,
            lists: ran.lists,
            ids,
            ..Footprint::default()
        }
        .complete()
    }

    /// Returns the smallest number of counted deviations with which the turn of a pending message can let it wait; `None` if it
    /// cannot.
    pub(crate) fn waits(&self, hypothesis: &Hypothesis, index: usize) -> Option<u32> {
        let pending = &hypothesis.pending[index];
        let delivery = &pending.delivery;
        let conn =
            if delivery.accepted { hypothesis.bound(delivery.wire)? } else { Conn::client(delivery.wire) };
        let whole = Footprint { whole: true, ..Footprint::default() };
        let message = (conn, delivery.item.clone());
        let (inbox, start, mut path) = match &hypothesis.suspended {
            None => (vec![message], None, Path::new()),
            Some(turn) => {
                let inbox = turn.inbox.iter().cloned().chain([message]).collect();
                (inbox, Some(turn), turn.path.clone())
            }
        };
        let (acted, fixed) = start.map_or((0, 0), |turn| (turn.acted, turn.path.len()));
        let cause =
            start.map_or(Cause::Delivery { sent: delivery.sent, copy: pending.taken }, |turn| turn.cause);
        let mut fewest = None;
        loop {
            let start = Start {
                foot: Some(if start.is_some() { &whole } else { &delivery.foot }),
                may_break: self.allowance.may_break(delivery.place),
                acted,
                fixed,
                ..Start::of(cause, &inbox)
            };
            let ran = self.run(hypothesis, start, &mut path);
            if ran.waits(inbox.len()) && self.allowance.may_deviate(&ran, delivery.place) {
                let counted = ran.deviations.iter().filter(|rule| self.allowance.counts(rule)).count() as u32;
                fewest = Some(fewest.map_or(counted, |fewest: u32| fewest.min(counted)));
            }
            if fewest == Some(0) || self.tally.mistake.borrow().is_some() || !next_path(&mut path, fixed) {
                return fewest;
            }
        }
    }

    /// Determines if the model has internal turns, and if they keep to the cell they pick.
    pub(crate) fn internal_kind(&self) -> InternalKind {
        let nothing = Hypothesis::default();
        let mut path = Path::new();
        let start = Start {
            dry: true,
            pickable: Some(&[]),
            ..Start::of(Cause::Internal { cell: u32::MAX, n: 0 }, &[])
        };
        match self.run(&nothing, start, &mut path) {
            Ran { end: Err(Stop::Idle), .. } => InternalKind::None,
            Ran { end: Err(Stop::Looked), whole: false, action, .. } if action != Fingerprint::default() => {
                InternalKind::Local
            }
            Ran { end: Err(Stop::Mistake(mistake)), .. } => {
                self.blunder(*mistake);
                InternalKind::Whole
            }
            _ => InternalKind::Whole,
        }
    }

    /// Checks if a delivery gives exactly this response, and does nothing else, at a version of its cell; or might
    /// later.
    pub(crate) fn fit(
        &self,
        hypothesis: &Hypothesis,
        delivery: &Delivery,
        copy: u8,
        version: Option<usize>,
        seen: &Message,
    ) -> Fit {
        let foot = &delivery.foot;
        let shown = version.and_then(|version| {
            let cell = hypothesis.cell(foot.cells.first()?.0)?;
            Some((cell.number, cell.past()[version].0.as_ref()))
        });
        self.fit_shown(hypothesis, delivery, copy, shown, seen)
    }

    fn fit_shown(
        &self,
        hypothesis: &Hypothesis,
        delivery: &Delivery,
        copy: u8,
        shown: Option<(u32, Option<&Val>)>,
        seen: &Message,
    ) -> Fit {
        let conn = Conn::client(delivery.wire);
        let inbox = [(conn, delivery.item.clone())];
        let mut path = Path::new();
        let start = Start {
            foot: Some(&delivery.foot),
            version: shown,
            ..Start::of(Cause::Delivery { sent: delivery.sent, copy }, &inbox)
        };
        let mut ran = self.run(hypothesis, start, &mut path);
        if let Err(Stop::Mistake(mistake)) = &ran.end {
            self.blunder(mistake.as_ref().clone());
        }
        // A choice would open alternatives, and a fact or a write would change the hypothesis.
        let plain = ran.end.is_ok() && path.iter().all(|answer| answer.options == 1);
        if ran.waits(inbox.len()) && path.is_empty() {
            return Fit::No;
        }
        let ([Act::Send(to, message)], true) = (ran.acts.as_slice(), plain) else { return Fit::Perhaps };
        if *to != conn {
            return Fit::Perhaps;
        }
        let fit = if message.unify(seen, &mut ran.facts).is_err() {
            let may_grow =
                self.model.may_grow_into(&**message, seen) && !planted(Fault::NeverThoughItMayGrow);
            if may_grow { Fit::No } else { Fit::Never }
        } else if ran.writes.is_empty() && ran.facts.fingerprint() == hypothesis.facts.fingerprint() {
            Fit::Now
        } else {
            Fit::Perhaps
        };
        self.reclaim(&mut ran);
        fit
    }

    /// Keeps the letter of a finished run for reuse.
    fn reclaim(&self, ran: &mut Ran) {
        if let Some(Act::Send(_, letter)) = ran.acts.pop() {
            self.spare.set(Some(letter));
        }
    }

    /// Returns `true` if the response observed to a read might come from the content that `writer`, which writes
    /// without a look, leaves behind.
    pub(crate) fn leads_to(&self, writer: &Delivery, reader: &Delivery, seen: &Message) -> bool {
        let [(cell, _)] = writer.foot.cells.as_slice() else { return true };
        match self.effect(writer, *cell, None) {
            Some(Effect { after: Some(value), .. }) => {
                let nothing = Hypothesis::default();
                self.fit_shown(&nothing, reader, 0, Some((*cell, value.as_ref())), seen) != Fit::Never
            }
            _ => true,
        }
    }

    /// Returns the response that a delivery gives if its only cell holds this value; `None` where it is not that simple.
    pub(crate) fn response_at(
        &self,
        delivery: &Delivery,
        cell: u32,
        value: Option<&Val>,
    ) -> Option<Rc<Message>> {
        let nothing = Hypothesis::default();
        let inbox = [(Conn::client(delivery.wire), delivery.item.clone())];
        let start = Start {
            foot: Some(&delivery.foot),
            version: Some((cell, value)),
            ..Start::of(Cause::Delivery { sent: delivery.sent, copy: 0 }, &inbox)
        };
        let mut path = Path::new();
        let ran = self.run(&nothing, start, &mut path);
        let is_plain = ran.end.is_ok() && path.is_empty() && ran.facts.is_empty();
        let ([Act::Send(_, message)], true) = (ran.acts.as_slice(), is_plain) else { return None };
        let mut is_known = true;
        message.vars(&mut |_| is_known = false);
        is_known.then(|| message.instantiate(&mut |_| Value::Int(0)))
    }

    /// Returns the effect of a delivery on its only cell if that held this value; `None` where it is not that simple.
    pub(crate) fn effect(&self, delivery: &Delivery, cell: u32, value: Option<&Val>) -> Option<Effect> {
        let conn = Conn::client(delivery.wire);
        let nothing = Hypothesis::default();
        let inbox = [(conn, delivery.item.clone())];
        let mut path = Path::new();
        let start = Start {
            foot: Some(&delivery.foot),
            version: Some((cell, value)),
            ..Start::of(Cause::Delivery { sent: delivery.sent, copy: 0 }, &inbox)
        };
        let mut ran = self.run(&nothing, start, &mut path);
        if ran.waits(inbox.len()) && path.is_empty() && ran.facts.is_empty() && delivery.alone {
            // The delivery is not taken at this content.
            let answered = self.answer(delivery).is_some();
            return Some(Effect { matches: false, never: false, answered, after: None });
        }
        let plain = ran.end.is_ok() && path.is_empty() && ran.facts.is_empty() && delivery.alone;
        let ([Act::Send(_, message)], true) = (ran.acts.as_slice(), plain) else { return None };
        let answered = self.answer(delivery);
        let matches = match answered {
            Some((_, Seen::Message(seen))) => message.unify(&**seen, &mut ran.facts).is_ok(),
            Some((_, Seen::Closed)) => self.network.breaks(),
            None => true,
        };
        let never = !matches
            && (planted(Fault::NeverThoughItMayGrow)
                || matches!(answered, Some((_, Seen::Message(seen))) if !self.model.may_grow_into(&**message, &**seen)));
        self.reclaim(&mut ran);
        if !ran.facts.is_empty() {
            return None;
        }
        Some(Effect {
            matches,
            never,
            answered: answered.is_some(),
            after: ran.writes.pop().map(|(_, value)| value),
        })
    }
}
