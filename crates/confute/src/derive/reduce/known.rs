//! Known reads: a read whose response is known is taken at the first content that gives it.
//!
//! *Leaves out*: all later places for such a read, and, as long as no content has given its response, all attempts to take
//! it. Until then it is *watched*, and keeps no versions alive.
//!
//! *Why no verdict changes*: at such a content the read writes nothing, teaches nothing and makes no choice, so the state
//! after it is the state before it without the pending read. Whatever explains the rest with the read taken later
//! explains it with the read taken now: nothing else sees the difference. A watched read is compared with each new
//! content as it is written, so none is missed.
//!
//! *Premises*:
//! - *Alone on its connection when it was sent*: then the next observation there is its response. If another request was
//!   in flight, it may be the response to that one.
//! - *It teaches nothing and chooses nothing.* A read that might fit by learning something is not watched, because the
//!   present content is one of its versions to come back to; and if something is behind it on its connection it is
//!   placed no later than the first version that might fit.
//! - *One response, and no write*; or a turn that may write, if every content that the cell can ever have is known
//!   ([`contents`](super::contents)), and at none of them it writes and gives its observed response.
//! - *The time of a read makes no difference*: there are no internal turns, and no turn that may touch anything.
//!
//! *Place in the order*: first after a content changed or a read was sent, because every read that is gone makes the
//! questions of the others smaller.

use std::rc::Rc;

use smallvec::SmallVec;

use super::Reduction;
use super::late::versions;
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Hypothesis, Outgoing, Parcel, UNORDERED};
use crate::derive::inquire::Fit;
use crate::derive::search::Part;
use crate::erased::Message;
use crate::lang::Conn;

/// Result of trying to take one known read.
enum Tried {
    Taken,
    /// It stays pending; `true` if it cannot see the present content, nor what that grows into.
    Stays(bool),
    /// Its response can no longer come.
    Lost,
}

impl Part {
    /// Takes the pending reads whose known responses the present content gives. Returns `None` if some response can no
    /// longer come; otherwise `true` if nothing in flight sees the present content, nor what it grows into.
    pub(super) fn take_known_reads(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        (at, written, grows): (usize, bool, bool),
    ) -> Option<bool> {
        if !world.reduces(Reduction::KnownReads) {
            return Some(false);
        }
        let mut unseen = true;
        let mut index = 0;
        while index < hypothesis.pending.len() {
            let pending = &hypothesis.pending[index];
            let foot = &pending.delivery.foot;
            unseen &= pending.watched || foot.mute;
            let is_alone = pending.delivery.alone || planted(Fault::EarlyReadBesideOthers);
            if !is_alone || foot.replies != 1 || (pending.watched && !written) || foot.mute {
                index += 1;
                continue;
            }
            let Some((_, seen)) = world.answer(&pending.delivery) else {
                index += 1;
                continue;
            };
            let (delivery, seen) = (Rc::clone(&pending.delivery), seen.clone());
            let Seen::Message(seen) = seen else {
                unseen = false;
                index += 1;
                continue;
            };
            match self.try_known_read(world, hypothesis, index, (&delivery, &*seen), (at, grows)) {
                Tried::Taken => {
                    world.left_out(Reduction::KnownReads);
                    continue;
                }
                Tried::Lost => {
                    world.left_out(Reduction::GrowingTexts);
                    return None;
                }
                Tried::Stays(is_unseen) => unseen &= is_unseen,
            }
            index += 1;
        }
        Some(unseen)
    }

    /// Tries to take the pending read at `index`, whose response `seen` is known: at the present content of its cell, or at an earlier
    /// version that it may have met. A read that was tried before (`watched`) is tried at the present content only.
    fn try_known_read(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        index: usize,
        (delivery, seen): (&Rc<Delivery>, &Message),
        (at, grows): (usize, bool),
    ) -> Tried {
        let watched = hypothesis.pending[index].watched;
        if !world.is_deliverable(hypothesis, index)
            || (!delivery.foot.is_reader() && !watched && self.may_change(world, delivery))
        {
            return Tried::Stays(false);
        }
        let mut fit = Fit::No;
        let mut perhaps = false;
        let tried = if watched { SmallVec::from_elem(None, 1) } else { versions(hypothesis, index) };
        for version in tried {
            fit = world.passes_unnoticed(hypothesis, index, version, seen);
            perhaps |= fit == Fit::Perhaps;
            // Deliveries behind it on its connection are not taken before it, so it must not be placed later than
            // the first version that might fit.
            if fit == Fit::Now || (perhaps && delivery.followed.get()) {
                break;
            }
        }
        if fit == Fit::Now {
            world.answer_now(hypothesis, delivery.wire);
            return Tried::Taken;
        }
        if grows && fit == Fit::Never && !self.has_origin(world, hypothesis, delivery, at) {
            return Tried::Lost;
        }
        // If it might fit, the present content is one of its versions to come back to.
        hypothesis.pending[index].watched = !perhaps || planted(Fault::WatchedThoughItMightFit);
        Tried::Stays(fit == Fit::Never && !perhaps)
    }
}

impl Composed<'_> {
    /// Sends the response of a read that is known to match already.
    fn answer_now(&self, hypothesis: &mut Hypothesis, wire: u32) {
        let conn = Conn::client(wire);
        // It has a lane of its own, so that it delays no other message.
        let lane = UNORDERED | u64::from(wire);
        hypothesis.out.push(Outgoing { lane, conn, parcel: Parcel::Verified, taken: 0, due: 0 });
    }
}
