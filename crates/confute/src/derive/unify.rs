//! Unification (Fig 10): messages that a hypothesis sent against observed ones.
//!
//! An observed message refines the hypothesis (facts about secrets, the name of a connection that the server opened)
//! or ends it. Observed messages are always concrete; only messages of the model have unknown parts.

use std::ops::Range;

use super::book::Seen;
use super::compose::{Brood, Composed};
use super::hypothesis::{Hypothesis, Outgoing, Parcel, UNORDERED};
use crate::lang::Conn;

/// The connection on which the tester observed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A connection that the tester opened.
    Client(Conn),
    /// A connection that the tester accepted.
    Accepted(u32),
}

/// The range of explanations that an observation may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only messages in flight: the one at the head of its lane must be the match.
    Closed,
    /// Messages in flight, or a turn that has not happened yet.
    Open,
}

impl Spot {
    /// Returns the tester's number of the connection, if it has one.
    pub(crate) fn wire(self) -> Option<u32> {
        match self {
            Spot::Client(conn) => conn.wire(),
            Spot::Accepted(wire) => Some(wire),
        }
    }
}

impl Composed<'_> {
    /// Handles the common case, in place: on a reliable network the message at the head of its lane must match.
    /// Returns `Some(true)` if it does; `None` if no message for this connection is in flight, or this is not the
    /// common case.
    pub(crate) fn see_head(&self, hypothesis: &mut Hypothesis, spot: Spot, seen: &Seen) -> Option<bool> {
        let Spot::Client(conn) = spot else { return None };
        if !self.transport.is_reliable {
            return None;
        }
        let first = hypothesis.out.iter().position(|item| item.conn == conn)?;
        let lane = hypothesis.out[first].lane;
        let head = hypothesis.out.iter().position(|item| item.lane == lane) == Some(first);
        let fits = head && self.fits(&hypothesis.out[first], seen) && self.unify(hypothesis, first, seen);
        if fits {
            self.remove_seen(hypothesis, first, true);
        }
        Some(fits)
    }

    /// Returns, on a network that loses messages, the hypothesis in which its latest message will be observed at the
    /// next position where that is possible. `Err` contains `true` if something else will be observed on its
    /// connection.
    pub(crate) fn anticipate(
        &self,
        hypothesis: &Hypothesis,
        places: &Range<u64>,
    ) -> Result<Hypothesis, bool> {
        let Some(item) = hypothesis.out.last() else { return Err(false) };
        let Parcel::Message(sent) = &item.parcel else { return Err(false) };
        let mut else_seen = false;
        for nth in 0..8 {
            let Some((at, seen)) = self.sightings.nth_since(item.conn, places.start, nth) else { break };
            if !places.contains(at) {
                break;
            }
            if hypothesis.out.iter().any(|other| other.due == *at && other.conn == item.conn) {
                continue;
            }
            else_seen = true;
            let mut facts = hypothesis.facts.clone();
            if let Seen::Message(seen) = seen
                && sent.message.unify(&**seen, &mut facts).is_ok()
            {
                let mut next = hypothesis.clone();
                next.facts = facts;
                if let Some(last) = next.out.last_mut() {
                    last.due = *at;
                }
                return Ok(next);
            }
        }
        Err(else_seen)
    }

    /// Explains an observation by messages that are already in flight.
    pub(crate) fn see(
        &self,
        hypothesis: &Hypothesis,
        spot: Spot,
        (seen, place): (&Seen, u64),
        brood: &mut Brood,
    ) -> Reach {
        match spot {
            Spot::Client(conn) => self.see_on(hypothesis, conn, (seen, place), brood),
            Spot::Accepted(wire) => {
                if let Some(conn) = hypothesis.bound(wire) {
                    self.see_on(hypothesis, conn, (seen, place), brood)
                } else {
                    // Fig 10, lines 18 to 28: any connection opened by the server that has no name yet may be this
                    // one.
                    for at in 0..hypothesis.links.len() {
                        if hypothesis.links[at].1.is_none() {
                            let mut bound = hypothesis.clone();
                            bound.links[at].1 = Some(wire);
                            let conn = bound.links[at].0;
                            self.see_on(&bound, conn, (seen, place), brood);
                        }
                    }
                    Reach::Open
                }
            }
        }
    }

    fn see_on(
        &self,
        hypothesis: &Hypothesis,
        conn: Conn,
        (seen, place): (&Seen, u64),
        brood: &mut Brood,
    ) -> Reach {
        let due = hypothesis.out.iter().any(|item| item.due == place && item.conn == conn && place > 0);
        let Some(first) = hypothesis.out.iter().position(|item| item.conn == conn) else {
            return Reach::Open;
        };
        let lane = hypothesis.out[first].lane;
        let may_skip = |item: &Outgoing| self.transport.loses_output || item.taken > 0;
        let ordered = lane & UNORDERED == 0;
        let mut reach = if self.transport.is_reliable && ordered { Reach::Closed } else { Reach::Open };
        for (index, item) in hypothesis.out.iter().enumerate() {
            if item.lane != lane {
                continue;
            }
            let now = if due { item.due == place } else { item.due == 0 };
            if item.conn == conn && now && self.fits(item, seen) {
                let mut next = hypothesis.clone();
                if self.unify(&mut next, index, seen) {
                    self.remove_seen(&mut next, index, ordered);
                    brood.push(std::rc::Rc::new(next));
                }
            }
            if ordered && !may_skip(item) {
                reach = Reach::Closed;
                break;
            }
        }
        if due { Reach::Closed } else { reach }
    }

    fn fits(&self, item: &Outgoing, seen: &Seen) -> bool {
        let _ = self;
        matches!(
            (&item.parcel, seen),
            (Parcel::Close, Seen::Closed) | (Parcel::Message(_) | Parcel::Verified, Seen::Message(_))
        )
    }

    fn unify(&self, next: &mut Hypothesis, index: usize, seen: &Seen) -> bool {
        let _ = self;
        match (next.out[index].parcel.clone(), seen) {
            (Parcel::Message(sent), Seen::Message(seen)) => {
                sent.message.unify(&**seen, &mut next.facts).is_ok()
            }
            _ => true,
        }
    }

    /// Removes an observed message; those before it in its lane were lost.
    fn remove_seen(&self, next: &mut Hypothesis, index: usize, ordered: bool) {
        let (lane, conn) = (next.out[index].lane, next.out[index].conn);
        let closes = matches!(next.out[index].parcel, Parcel::Close);
        next.out[index].taken += 1;
        next.out[index].due = 0;
        if next.out[index].taken >= self.transport.output_copies || closes {
            next.out.remove(index);
        }
        if ordered {
            let mut position = 0;
            next.out.retain(|item| {
                let overtaken = position < index && item.lane == lane;
                position += 1;
                !overtaken
            });
        }
        if closes {
            next.out.retain(|item| item.conn != conn);
            next.links.retain(|link| link.0 != conn);
        }
    }

    /// Ends a connection: messages in flight from the server are lost, and messages in flight to it may be.
    pub(crate) fn sever(&self, next: &mut Hypothesis, spot: Spot) {
        let (conn, wire) = match spot {
            Spot::Client(conn) => (Some(conn), conn.wire()),
            Spot::Accepted(wire) => (next.bound(wire), Some(wire)),
        };
        if let Some(conn) = conn {
            next.out.retain(|item| item.conn != conn);
        }
        for pending in next.pending.iter_mut().filter(|pending| Some(pending.delivery.wire) == wire) {
            pending.loose = true;
        }
        // A read whose response will not be observed makes no difference any more, except to internal turns, or to a
        // turn that is waiting for any message; with either of them `late` is off.
        if self.late() {
            next.pending
                .retain(|pending| Some(pending.delivery.wire) != wire || !pending.delivery.foot.is_reader());
        }
    }
}
