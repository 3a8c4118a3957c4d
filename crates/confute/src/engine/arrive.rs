//! Arrival of events: an event waits here until everything that its footprint depends on is known.
//!
//! The footprint of most messages follows from the message alone, so nothing waits. A request that creates an object touches
//! the cell of an id that the server chooses, which its response tells. A request that lists objects touches the cells of all objects
//! that may exist by then. Such a request is routed as if its response had been foreseen, which offline it was: the event waits, and
//! the events behind it with it, so that every part still sees its events in their order.
//!
//! *Why no verdict changes*: an event that waits is explained later, and no explanation depends on the moment when it is looked for. The
//! response of a request whose turn creates an object is a message that contains its id (a turn that does otherwise is reported,
//! [`Mistake::Untold`](crate::lang::Mistake::Untold)), so the object of every explanation has one of these ids.
//!
//! *Premises*:
//! - *The response belongs to the request*: on a reliable network, if the number of responses to each request before it on its
//!   connection is fixed. Otherwise the object may have any id.
//! - *A list is routed after every request that can have created an object before the list was complete*, so that the cell of each object
//!   that it may contain is known.
//! - *Without a response an object may have any id, mentioned or not*. Its cell is any of those known, or one of its own, whose
//!   id differs from all of them. An id that is mentioned later, which happens only online, could be that one: from then on a refutation
//!   is not certain, and the verdict is [`Inconclusive::LateId`].
//! - *The search sees nothing of what waits here.* It may know an observation in advance only together with all that is sent
//!   before it: a response that only a request behind an event that waits makes possible would refute the hypothesis. So
//!   observations are kept apart until they are routed.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Engine;
use crate::derive::book::{Seen, Sightings};
use crate::derive::hypothesis::{Footprint, Ids};
use crate::derive::unify::Spot;
use crate::erased::Message;
use crate::lang::{Conn, Incoming};
use crate::trace::{Event, WireConn};
use crate::verdict::{Inconclusive, Verdict};

/// An event with what was determined when it arrived.
pub(super) struct Arrived {
    pub(super) place: u64,
    pub(super) event: Event<Rc<Message>>,
    /// Footprint of the message that was sent.
    foot: Option<Footprint>,
    /// Number of the message that was sent.
    pub(super) sent: u32,
    /// Number of responses on its connection before the one to this message; `None` if that is not certain.
    ahead: Option<u64>,
}

/// Events that are not routed yet, in their order.
#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) queue: VecDeque<Arrived>,
    /// Online, the observations since the first event of the queue.
    sightings: Sightings,
}

/// Knowledge about the response to a request.
enum Response {
    Is(Rc<Message>),
    /// It may still come.
    Awaited,
    /// It will not come, or cannot be told from others.
    None,
}

impl Engine<'_> {
    /// Takes the next event of the trace.
    pub(super) fn arrive(&mut self, event: Event<Rc<Message>>) {
        let place = self.events;
        self.events += 1;
        let mut arrived = Arrived { place, event, foot: None, sent: 0, ahead: None };
        match arrived.event.clone() {
            Event::Opened(_) | Event::Quiescent => {}
            Event::Accepted(conn) => self.connections.entry(conn.0).or_default().accepted = true,
            Event::Sent(conn, message) => {
                self.mention(&*message);
                self.send(conn, &Incoming::Message(message), &mut arrived);
            }
            Event::HungUp(conn) => {
                self.send(conn, &Incoming::Closed, &mut arrived);
                self.connections.entry(conn.0).or_default().is_severed = true;
            }
            Event::Received(conn, message) => {
                self.mention(&*message);
                self.sight(conn, Seen::Message(message), place);
            }
            Event::Closed(conn) => self.sight(conn, Seen::Closed, place),
        }
        self.arrivals.queue.push_back(arrived);
    }

    /// Opens the cells of the ids in a message.
    fn mention(&self, message: &Message) {
        self.world.model.told(message, &mut |value| self.world.book.borrow_mut().mention(&value));
    }

    fn sight(&mut self, conn: WireConn, seen: Seen, place: u64) {
        let connection = self.connections.entry(conn.0).or_default();
        connection.coming = connection.coming.saturating_sub(1);
        if let Spot::Client(name) = self.spot(conn)
            && !self.world.foresees
        {
            self.arrivals.sightings.push(name, place, seen);
        }
    }

    /// Shows the search an observation that is routed now.
    fn show(&mut self, arrived: &Arrived) {
        let (conn, seen) = match &arrived.event {
            Event::Received(conn, message) => (*conn, Seen::Message(Rc::clone(message))),
            Event::Closed(conn) => (*conn, Seen::Closed),
            _ => return,
        };
        if let Spot::Client(name) = self.spot(conn)
            && !self.world.foresees
        {
            self.world.sightings.push(name, arrived.place, seen);
        }
    }

    /// Determines the footprint of a message as far as it follows from the message alone.
    fn send(&mut self, conn: WireConn, item: &Incoming<Message>, arrived: &mut Arrived) {
        let (name, accepted) = match self.spot(conn) {
            Spot::Client(name) => (name, false),
            Spot::Accepted(wire) => (Conn::accepted(wire), true),
        };
        let foot = self.world.footprint(name, item, self.sent, None);
        if self.has_mistake() || foot.ignored {
            return;
        }
        arrived.sent = self.sent;
        self.sent += 1;
        let connection = self.connections.entry(conn.0).or_default();
        let is_certain = !accepted && !connection.is_vague && self.world.transport.is_reliable;
        arrived.ahead = is_certain.then_some(connection.coming);
        connection.coming += u64::from(foot.replies) + u64::from(foot.closes);
        connection.is_vague |= foot.whole || foot.closes;
        arrived.foot = Some(foot);
    }

    /// Moves a mistake of the model to the verdict.
    fn has_mistake(&mut self) -> bool {
        let mistake = self.world.tally.mistake.borrow_mut().take();
        let is_wrong = mistake.is_some();
        if let Some(mistake) = mistake {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
        }
        is_wrong
    }

    /// Returns the next event that can be routed; with `force` the next one, even if something is not known.
    pub(super) fn next_arrived(&mut self, force: bool) -> Option<Arrived> {
        let first = self.arrivals.queue.front()?;
        if !force && !self.is_ready(first) {
            return None;
        }
        let arrived = self.arrivals.queue.pop_front()?;
        self.arrivals.sightings.forget_before(arrived.place);
        self.show(&arrived);
        Some(arrived)
    }

    /// Routes all events, even if something is not known.
    pub(super) fn enter_all(&mut self) {
        while self.verdict.is_unrefuted()
            && let Some(arrived) = self.next_arrived(true)
        {
            if let Some(part) = self.enter(arrived)
                && !self.lagging.contains(&part)
            {
                self.lagging.push(part);
            }
        }
    }

    fn is_ready(&self, arrived: &Arrived) -> bool {
        let Some(foot) = &arrived.foot else { return true };
        if !foot.lists && foot.creates.is_empty() {
            return true;
        }
        match self.response(arrived).1 {
            Response::Awaited => false,
            Response::None => true,
            Response::Is(_) if !foot.lists => true,
            Response::Is(_) => self
                .creators(self.response(arrived).0)
                .all(|creator| !matches!(self.response(creator).1, Response::Awaited)),
        }
    }

    /// Returns the requests behind the first one that may create an object before this place.
    fn creators(&self, until: u64) -> impl Iterator<Item = &Arrived> {
        let creates = |arrived: &&Arrived| arrived.foot.as_ref().is_some_and(|foot| !foot.creates.is_empty());
        self.arrivals.queue.iter().take_while(move |arrived| arrived.place < until).filter(creates)
    }

    /// Returns the response to a message, with its place.
    fn response(&self, arrived: &Arrived) -> (u64, Response) {
        let (Some(conn), Some(ahead)) = (arrived.event.conn(), arrived.ahead) else {
            return (u64::MAX, Response::None);
        };
        let name = Conn::client(conn.0);
        let sightings = if self.world.foresees { &self.world.sightings } else { &self.arrivals.sightings };
        match sightings.nth_since(name, arrived.place, ahead as usize) {
            Some((place, Seen::Message(message))) => (*place, Response::Is(Rc::clone(message))),
            Some((_, Seen::Closed)) => (u64::MAX, Response::None),
            None if self.world.foresees => (u64::MAX, Response::None),
            None if self.connections.get(&conn.0).is_some_and(|connection| connection.is_severed) => {
                (u64::MAX, Response::None)
            }
            None => (u64::MAX, Response::Awaited),
        }
    }

    /// Returns the footprint of a message that is routed now; `None` if no turn takes it.
    pub(super) fn footprint_of(
        &mut self,
        name: Conn,
        item: &Incoming<Message>,
        arrived: &Arrived,
    ) -> Option<Footprint> {
        let foot = arrived.foot.clone()?;
        if !foot.lists && foot.creates.is_empty() {
            return Some(foot);
        }
        let ids = self.ids(&foot, arrived);
        let is_whole = ids.is_none();
        let known = self.world.footprint(name, item, arrived.sent, ids.map(Rc::new));
        if self.has_mistake() {
            return None;
        }
        let whole = known.whole || is_whole;
        Some(Footprint { whole, creates: foot.creates, lists: foot.lists, ..known }.complete())
    }

    /// Returns the ids that the objects of a turn can have. `None` if that is not known before it runs: it may touch anything.
    fn ids(&self, foot: &Footprint, arrived: &Arrived) -> Option<Ids> {
        let (place, response) = self.response(arrived);
        let response = if let Response::Is(response) = response { Some(response) } else { None };
        // Online objects that do not exist yet matter to a list whose response is still to come, and to a turn that writes what it
        // found in a list. Without either nobody sees the list.
        let is_severed = arrived
            .event
            .conn()
            .and_then(|conn| self.connections.get(&conn.0))
            .is_some_and(|connection| connection.is_severed);
        let is_seen = !is_severed || !foot.reads_only;
        let is_late = response.is_none() && !self.world.foresees && foot.lists && is_seen;
        let mut book = self.world.book.borrow_mut();
        let mut loosen = |creates: &[(&'static str, u32)]| {
            creates.iter().for_each(|(table, cell)| book.loosen(table, *cell));
        };
        if response.is_none() {
            loosen(&foot.creates);
        }
        if foot.lists {
            for creator in self.creators(place) {
                if !matches!(self.response(creator).1, Response::Is(_)) {
                    loosen(creator.foot.as_ref().map_or(&[][..], |foot| &foot.creates));
                }
            }
        }
        if is_late || !self.world.transport.is_reliable {
            return None;
        }
        let mut told = Vec::new();
        if let Some(response) = &response {
            self.world.model.told(&**response, &mut |value| told.push(value));
        }
        Some(Ids { response, told, limit: book.cells.len() as u32, loose: book.loose })
    }
}
