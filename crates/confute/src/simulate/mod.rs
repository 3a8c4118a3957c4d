//! Simulation: runs any model as a server, behind any network, in this process, to test testers.
//!
//! A [`Simulation`] makes one random move at a time, all determined by its seed: a packet reaches the server,
//! which runs a turn; the server runs an internal turn; a packet reaches the tester. Choices that a model
//! leaves open are made at random; a secret gets a value when it is first sent. A rule may be broken now and
//! then ([`Simulation::deviating`]). [`exchange`] provides a simulation with traffic.
//!
//! A simulation uses no clock, no threads and no sockets, and it judges nothing: the tests of the search
//! check that its traces are explained by its model. Connections never break by themselves here, and where
//! packets keep no order a close is not announced: datagrams have no end.

mod attempt;
mod exchange;
mod habits;
mod lanes;
mod machine;
mod peers;
mod store;

use std::collections::VecDeque;
use std::rc::Rc;

pub use exchange::{ExchangePlan, MakeRequest, MakeResponse, Statistics, exchange};

use crate::lang::{Cause, Conn, Incoming, Mistake, ServerModel};
use crate::network::{Direction, Lane, Network};
use crate::random::Random;
use crate::trace::{Event, WireConn};
use lanes::Lanes;
use machine::{Deviant, Machine, Made, Posted};

/// One packet in this number is lost, and one in this number is duplicated, where the network allows it.
const RARE: u64 = 10;

/// One move in this number is an internal turn of the server.
const UNPROMPTED: u64 = 16;

/// A packet on its way to the server.
struct Inbound<M> {
    conn: Conn,
    incoming: Incoming<M>,
    sent: u32,
    copy: u8,
}

/// A packet on its way to the tester; without a message it announces a close.
struct Outbound<M> {
    conn: Conn,
    message: Option<M>,
    copy: u8,
}

/// A model run as a server behind a network.
pub struct Simulation<'m, S: ServerModel, N: Network + ?Sized> {
    network: &'m N,
    random: Random,
    machine: Machine<'m, S>,
    inbound: Lanes<Inbound<S::Msg>>,
    outbound: Lanes<Outbound<S::Msg>>,
    /// Events that the tester has not observed yet.
    news: VecDeque<Event<S::Msg>>,
    sent: u32,
}

impl<'m, S: ServerModel<Msg: Clone>, N: Network + ?Sized> Simulation<'m, S, N> {
    /// Returns a server that has just started. Equal seeds and equal calls produce equal events.
    pub fn new(model: &'m S, network: &'m N, seed: u64) -> Self {
        Self {
            network,
            random: Random::new(seed),
            machine: Machine::new(model),
            inbound: Lanes::default(),
            outbound: Lanes::default(),
            news: VecDeque::new(),
            sent: 0,
        }
    }

    /// Makes the server break each of the named rules once in `one_in` opportunities on average.
    #[must_use]
    pub fn deviating(mut self, rules: &[&str], one_in: u64) -> Self {
        self.machine.deviant = Deviant::new(rules, one_in);
        self
    }

    /// Returns the number of deviations so far.
    pub fn deviations(&self) -> u64 {
        self.machine.deviations
    }

    /// Opens a connection of the tester.
    pub fn open(&mut self) -> WireConn {
        self.machine.peers.open()
    }

    /// Sends a message of the tester. Without a network the server handles it at once, so call this only when
    /// [`Simulation::is_ready`]. On a connection that does not exist, or that the tester closed, nothing is
    /// sent.
    pub fn send(&mut self, wire: WireConn, message: S::Msg) -> Result<(), Mistake> {
        if self.machine.peers.is_hung_up(wire) {
            return Ok(());
        }
        let ready = self.is_ready();
        self.post(wire, Incoming::Message(Rc::new(message)));
        if self.network.is_direct() && ready {
            self.deliver(0)?;
        }
        Ok(())
    }

    /// Closes a connection of the tester: it observes nothing more of it, and messages it has sent may still
    /// arrive.
    pub fn hang_up(&mut self, wire: WireConn) {
        if self.machine.peers.is_hung_up(wire) {
            return;
        }
        self.machine.peers.hang_up(wire);
        let conn = self.machine.peers.conn(wire);
        let lane = conn.map(|conn| self.network.lane(conn, Direction::ToServer));
        if let Some(Lane::Ordered(_)) = lane {
            self.post(wire, Incoming::Closed);
        }
    }

    /// Returns `true` if the tester may send now. This is always the case, unless there is no network: then
    /// every message of the server must be observed first.
    pub fn is_ready(&self) -> bool {
        !self.network.is_direct() || self.is_idle()
    }

    /// Returns `true` if nothing is in flight, in either direction.
    pub fn is_idle(&self) -> bool {
        self.news.is_empty() && self.inbound.is_empty() && self.outbound.is_empty()
    }

    /// Makes one random move, and returns the tester's observation of it, if any.
    pub fn step(&mut self) -> Result<Option<Event<S::Msg>>, Mistake> {
        if let Some(event) = self.news.pop_front() {
            return Ok(Some(event));
        }
        let (coming, going) = (self.inbound.heads(), self.outbound.heads());
        if self.random.chance(1, UNPROMPTED) && !self.machine.is_suspended() && self.is_ready() {
            self.act()?;
            return Ok(None);
        }
        let direct_answer = self.network.is_direct() && going > 0;
        let place = if direct_answer { coming } else { self.random.below((coming + going) as u64) as usize };
        if place < coming {
            self.deliver(place)?;
            return Ok(None);
        }
        Ok(self.emit(place - coming))
    }

    fn post(&mut self, wire: WireConn, incoming: Incoming<S::Msg>) {
        let Some(conn) = self.machine.peers.conn(wire) else { return };
        let lane = self.network.lane(conn, Direction::ToServer);
        self.inbound.push(lane, Inbound { conn, incoming, sent: self.sent, copy: 0 });
        self.sent += 1;
    }

    /// Runs an internal turn of the server.
    fn act(&mut self) -> Result<(), Mistake> {
        if let Made::Happened(posted) = self.machine.internal(&mut self.random)? {
            self.absorb(posted);
        }
        Ok(())
    }

    /// Delivers a packet to the server, or loses it.
    fn deliver(&mut self, place: usize) -> Result<(), Mistake> {
        let Some(packet) = self.inbound.head(place) else { return Ok(()) };
        let (conn, incoming) = (packet.conn, packet.incoming.clone());
        let cause = Cause::Delivery { sent: packet.sent, copy: packet.copy };
        if self.machine.peers.is_closed(conn) || self.is_lost(Direction::ToServer) {
            self.inbound.take(place);
            return Ok(());
        }
        let closes = matches!(incoming, Incoming::Closed);
        let waiting = self.machine.is_suspended();
        match self.machine.deliver(conn, incoming, cause, &mut self.random)? {
            Made::Happened(posted) => {
                let comes_again = !closes && self.comes_again(Direction::ToServer, copy_of(cause));
                match self.inbound.head(place) {
                    Some(packet) if comes_again => packet.copy += 1,
                    _ => drop(self.inbound.take(place)),
                }
                self.absorb(posted);
            }
            // A model that does not handle a close at the start of a turn never will.
            Made::Refused if closes && !waiting => drop(self.inbound.take(place)),
            Made::Refused | Made::Nothing => {}
        }
        Ok(())
    }

    /// Passes the output of the server to the network.
    fn absorb(&mut self, posted: Vec<Posted<S::Msg>>) {
        for item in posted {
            let (conn, message) = match item {
                Posted::Message(conn, message) => (conn, Some(message)),
                Posted::Close(conn) => (conn, None),
            };
            let lane = self.network.lane(conn, Direction::ToTester);
            // A connection that neither side opened has no peer.
            let leads_somewhere = self.machine.peers.is_known(conn);
            if leads_somewhere && (message.is_some() || lane != Lane::Unordered) {
                self.outbound.push(lane, Outbound { conn, message, copy: 0 });
            }
        }
    }

    /// Delivers a packet to the tester, or loses it.
    fn emit(&mut self, place: usize) -> Option<Event<S::Msg>> {
        let packet = self.outbound.head(place)?;
        let (conn, copy, closes) = (packet.conn, packet.copy, packet.message.is_none());
        if !closes && self.is_lost(Direction::ToTester) {
            self.outbound.take(place);
            return None;
        }
        let message = if !closes && self.comes_again(Direction::ToTester, copy) {
            let packet = self.outbound.head(place)?;
            packet.copy += 1;
            packet.message.clone()
        } else {
            self.outbound.take(place)?.message
        };
        let peers = &mut self.machine.peers;
        match (peers.wire(conn), message) {
            (Some(wire), _) if peers.is_hung_up(wire) => None,
            (Some(wire), Some(message)) => Some(Event::Received(wire, message)),
            (Some(wire), None) => Some(Event::Closed(wire)),
            (None, Some(message)) => {
                let wire = peers.bind(conn);
                self.news.push_back(Event::Received(wire, message));
                Some(Event::Accepted(wire))
            }
            // The tester never observed this connection, so it does not observe its close.
            (None, None) => None,
        }
    }

    fn is_lost(&mut self, direction: Direction) -> bool {
        self.network.loses(direction) && self.random.chance(1, RARE)
    }

    fn comes_again(&mut self, direction: Direction, copy: u8) -> bool {
        self.network.copies(direction) > copy.saturating_add(1) && self.random.chance(1, RARE)
    }
}

fn copy_of(cause: Cause) -> u8 {
    if let Cause::Delivery { copy, .. } = cause { copy } else { 0 }
}

#[cfg(test)]
mod tests;
