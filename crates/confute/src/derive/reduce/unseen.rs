//! Unseen writes: a write that is overwritten before anything reads it leaves no trace, so its place is not tried.
//!
//! *Leaves out*: delivering a write that only overwrites one which nothing has read. Instead, the overwriting message is
//! delivered alone; the other, still pending, is then *covered*: when its response is due it may be taken without effect.
//!
//! *Why no verdict changes*: let W be a write whose turn looks at nothing, and X one that leaves the same content in every
//! state. W directly before X and X alone lead to the same content. In the former hypothesis W is taken; in the latter it
//! is pending and covered, and gives the same response when that is due, because its turn depends on nothing. So every
//! explanation with W before X has one with W covered.
//!
//! *Premises*:
//! - *W looks at nothing and sends one response* (`mute`), *X also makes no content from the old one* (`fixed`): an
//!   addition on top of W shows W.
//! - *W was still unanswered when it was overwritten*: if its response is observed in between, it has to be taken there.
//! - *Nothing has read W, and no pending read may have*: such a read tells W before X from X alone.
//! - *Each was alone on its connection, and nothing is behind W there*: what is behind W is taken after it, but since when
//!   W has been covered is unknown, so its place matters.
//! - *A delivery that never gets a response* need not have been taken at all; it is not covered.
//! - *One cell on a reliable network, whose reads have no time* (no internal turns, no turn that may touch anything).
//!
//! *Place in the order*: before the move is made (that is all it saves), and where moves are listed, to add the covered
//! case: at last where texts grow, because the next read shows at once if the write took effect, and first elsewhere.

use std::rc::Rc;

use super::Reduction;
use super::late::touches;
use crate::derive::book::Seen;
use crate::derive::compose::{Brood, Composed};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Hypothesis};
use crate::derive::search::stack::{Move, Node};
use crate::derive::search::{Part, Position};
use crate::derive::turn::{Act, Path, Start};
use crate::derive::unify::Spot;
use crate::erased::Message;
use crate::lang::{Cause, Conn, Stop};

impl Part {
    /// Returns `true` if the move would overwrite a write that nothing has read. It can then be left out: the same state
    /// is found by delivering the overwriting message alone, and the other write, still pending, is covered by it.
    pub(super) fn is_idle_write(&self, world: &Composed<'_>, node: &Node, place: u64) -> bool {
        let (hypothesis, Move::Deliver(index)) = (&node.hypothesis, node.next_move) else { return false };
        let delivery = &hypothesis.pending[index].delivery;
        let is_unanswered = hypothesis.unseen_until > place
            || (planted(Fault::IdleWriteThoughAnswered) && hypothesis.unseen_until > 0);
        // A delivery whose response is not known yet may have read it.
        let is_seen = || hypothesis.pending.iter().any(|it| touches(it, delivery.foot.cells[0].0));
        let is_idle = is_unanswered
            && delivery.alone
            && delivery.foot.mute
            && delivery.foot.fixed
            && self.is_plain(world)
            && (!is_seen() || planted(Fault::IdleWriteThoughLookedAt));
        if is_idle {
            world.left_out(Reduction::UnseenWrites);
        }
        is_idle
    }

    /// Notes the consequences of a delivery for those that are still pending.
    pub(in crate::derive) fn note_write(
        &self,
        world: &Composed<'_>,
        (delivery, unseen): (&Delivery, u64),
        brood: &mut Brood,
    ) {
        if !delivery.foot.mute
            || !delivery.alone
            || !self.is_plain(world)
            || !world.reduces(Reduction::UnseenWrites)
        {
            return;
        }
        let answer = world.answer(delivery);
        // Deliveries behind it on its connection cannot be taken before it: the time of its write then makes a
        // difference.
        let followed = delivery.followed.get()
            || (answer.is_none() && !world.foresees && !world.has_ended_at_all(delivery));
        let until = if followed { 0 } else { answer.map_or(u64::MAX, |(place, _)| *place) };
        for next in brood {
            let next = Rc::make_mut(next);
            next.unseen_until = if delivery.foot.fixed { until } else { until.max(unseen) };
            if delivery.foot.fixed || planted(Fault::CoveredByAnAddition) {
                for pending in &mut next.pending {
                    let delivery = &pending.delivery;
                    // A delivery that never gets a response need not have been taken at all.
                    let answered = !world.has_ended_at_all(delivery) || world.answer(delivery).is_some();
                    pending.covered |= delivery.foot.mute && delivery.alone && answered;
                }
            }
        }
    }

    /// Returns the hypothesis in which the own delivery of an observation was overwritten before anything read it.
    pub(super) fn covered(
        &self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        index: usize,
        seen: &Message,
    ) -> Option<Rc<Hypothesis>> {
        if !hypothesis.pending[index].covered {
            return None;
        }
        let mut passed = Hypothesis::clone(hypothesis);
        world.passes_covered(&mut passed, index, seen).then(|| Rc::new(passed))
    }

    /// Pushes the case that the own write was overwritten before anything read it.
    pub(super) fn push_covered(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        (spot, seen): (Spot, &Seen),
        at: Position,
    ) {
        let own = hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == spot.wire());
        if let (Seen::Message(seen), Some(index)) = (seen, own)
            && let Some(passed) = self.covered(world, hypothesis, index, &**seen)
        {
            self.stack.push(Node::go(at.at + 1, passed));
        }
    }
}

impl Composed<'_> {
    /// Takes a delivery that came just before its cell was overwritten, so that nothing shows its write, if it gives
    /// the response `seen`. Returns `true` if it was taken.
    fn passes_covered(&self, hypothesis: &mut Hypothesis, index: usize, seen: &Message) -> bool {
        let pending = &hypothesis.pending[index];
        let delivery = &pending.delivery;
        if delivery.followed.get() && !planted(Fault::CoveredThoughFollowed) {
            // Deliveries behind it were taken after it, but since when it has been covered is unknown.
            return false;
        }
        let (conn, copy) = (Conn::client(delivery.wire), pending.taken);
        let inbox = [(conn, delivery.item.clone())];
        let mut path = Path::new();
        let start = Start {
            foot: Some(&delivery.foot),
            ..Start::of(Cause::Delivery { sent: delivery.sent, copy }, &inbox)
        };
        let mut ran = self.run(hypothesis, start, &mut path);
        if let Err(Stop::Mistake(mistake)) = &ran.end {
            self.blunder(mistake.as_ref().clone());
        }
        let ([Act::Send(to, message)], Ok(())) = (ran.acts.as_slice(), &ran.end) else { return false };
        if *to != conn || !path.is_empty() || message.unify(seen, &mut ran.facts).is_err() {
            return false;
        }
        if ran.facts.fingerprint() != hypothesis.facts.fingerprint() {
            // Facts about the overwritten content are of no use, unless they constrain the rest.
            let mut then = hypothesis.clone();
            then.facts = ran.facts;
            then.forget();
            let mut before = hypothesis.clone();
            before.forget();
            if then.facts.fingerprint() != before.facts.fingerprint() {
                return false;
            }
        }
        self.take(hypothesis, index);
        true
    }
}
