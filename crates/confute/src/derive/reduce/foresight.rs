//! Foresight: a delivery whose response differs from the one observed later is dropped at once.
//!
//! *Leaves out*: hypotheses in which a message is on its way to the tester that the tester did not receive.
//!
//! *Why no verdict changes*: on a network that neither loses, doubles nor reorders the messages of a connection, the
//! messages that are sent on it are observed in the order in which they were sent. So the n-th message in flight on a
//! connection is the n-th observation there from here on, if there are so many, and a hypothesis in which the two differ
//! fails when it comes there. When the search goes back, or judges a recorded trace, these observations are known.
//!
//! *Premises*:
//! - *A reliable network.* With loss, the second message may be the one that is observed.
//! - *Not without a network*: there a message is taken the moment it is sent, and a hypothesis must not depend on later
//!   observations, because the tester may be out of step before.
//! - *The observation that is due to it*, not the first on its connection: two responses in flight on one connection
//!   would both be compared with the first.
//! - *Not connections that the server opens*: each hypothesis has its own name for them.
//! - *Where connections break, an end is no contradiction*: what was on its way then is lost.
//!
//! *Place in the order*: the first check of all, while a move takes effect: it costs one comparison, and it ends most
//! wrong moves before their hypothesis is finished.

use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Hypothesis, Parcel};
use crate::derive::reduce::Reduction;
use crate::lang::Conn;

impl Composed<'_> {
    /// Returns the first observation on a delivery's connection after the delivery was sent, with its position in the trace.
    /// `None` if there is none, or if it is not known yet.
    pub(crate) fn answer<'d>(&self, delivery: &'d Delivery) -> Option<&'d (u64, Seen)> {
        if let Some(answer) = delivery.answer.get() {
            return answer.as_ref();
        }
        let seen = self.sightings.nth_since(Conn::client(delivery.wire), delivery.place, 0);
        if seen.is_none() && !self.foresees && !self.has_ended_at_all(delivery) {
            return None;
        }
        delivery.answer.get_or_init(|| seen.map(|(place, seen)| (*place, seen.clone()))).as_ref()
    }

    /// Returns `true` if the connection of a delivery has ended: a response that has not come by then never will.
    pub(crate) fn has_ended_at_all(&self, delivery: &Delivery) -> bool {
        let conn =
            if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
        self.ended.contains_key(&conn)
    }

    /// Returns `true` if the response to a delivery is known.
    pub(crate) fn is_answered(&self, delivery: &Delivery) -> bool {
        self.answer(delivery).is_some()
    }

    /// Returns the later observation that the next message on this connection has to match, if known already.
    pub(in crate::derive) fn foreseen(
        &self,
        next: &Hypothesis,
        conn: Conn,
        place: u64,
    ) -> Option<&(u64, Seen)> {
        // Without a network a message must not depend on later observations: the tester may be out of step.
        if !self.reduces(Reduction::Foresight)
            || !self.transport.is_reliable
            || self.transport.is_direct
            || conn.is_opened_by_server()
        {
            return None;
        }
        let ahead = next.out.iter().filter(|item| item.conn == conn).count();
        self.sightings.nth_since(conn, place, ahead)
    }

    /// Returns `true` if a later observation shows that a message in flight is wrong.
    pub(crate) fn is_overtaken(&self, hypothesis: &Hypothesis, place: u64) -> bool {
        if !self.reduces(Reduction::Foresight) || !self.transport.is_reliable || self.transport.is_direct {
            return false;
        }
        hypothesis.out.iter().enumerate().any(|(index, item)| {
            let Parcel::Message(sent) = &item.parcel else { return false };
            if item.conn.is_opened_by_server() {
                return false;
            }
            let mut ahead = hypothesis.out[..index].iter().filter(|other| other.conn == item.conn).count();
            if planted(Fault::OvertakenByTheFirstAnswer) {
                ahead = 0;
            }
            match self.sightings.nth_since(item.conn, place, ahead) {
                Some((_, Seen::Message(seen))) => {
                    sent.message.unify(&**seen, &mut hypothesis.facts.clone()).is_err()
                }
                _ => false,
            }
        })
    }
}
