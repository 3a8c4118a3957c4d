//! The connections of a case: how they are opened, accepted and ended.

use std::io::ErrorKind;
use std::time::Instant;

use confute::trace::{Event, WireConn};
use mio::net::TcpStream;
use mio::{Interest, Token};

use super::Case;
use crate::connection::Connection;
use crate::protocol::Side;
use crate::script::Peer;
use crate::stream::Stream;
use crate::trouble::Trouble;

/// First connection number that is not opened: no sensible script has so many connections.
const MOST_OPENED: u32 = 1 << 16;

impl Case<'_> {
    /// Reports an accepted connection to the engine, now that it carries a message.
    pub(super) fn introduce(&mut self, token: usize, connection: &mut Connection) -> WireConn {
        let wire = self.connections.next_wire();
        connection.wire = Some(wire);
        connection.peer = Peer::Accepted(self.connections.accepted.len() as u32);
        self.connections.accepted.push(Some(token));
        self.record.figures.accepted += 1;
        self.record.tell(Event::Accepted(wire), self.outstanding.total);
        wire
    }

    /// Records that the server has ended a connection.
    pub(super) fn ended(&mut self, connection: &Connection, orderly: bool) {
        self.clock.note_news(Instant::now());
        let is_dropped = self.health.downfall.note(connection, self.connections.wires, self.clock.polled);
        if let (true, false, Some(shift)) = (is_dropped, connection.socket.finished, &self.net.shift) {
            shift.dropped();
        }
        self.record.figures.ended += 1;
        if self.is_apart(connection) {
            self.part_apart(connection);
        } else if let Some(wire) = connection.wire {
            // After the tester ended its side, or after a break, the end does not show that the server chose
            // to close.
            let free = self.setup.protocol.close_is_free() || !orderly || connection.socket.finished;
            let event = if free { Event::HungUp(wire) } else { Event::Closed(wire) };
            self.record.tell(event, self.outstanding.total);
        }
        if let (Peer::Opened(_), false) = (connection.peer, connection.owed.is_empty()) {
            self.outstanding.lost += connection.owed.len();
            self.health.fruitless += 1;
            if self.health.fruitless > self.setup.limits.fruitless {
                self.fail(Trouble::Fruitless { connections: self.health.fruitless });
            }
        }
    }

    /// Removes a connection that has ended.
    pub(super) fn retire(&mut self, token: usize, mut connection: Connection) {
        self.forgo(token, &mut connection);
        self.connections.vacate(token);
        self.health.downfall.look(self.connections.iter());
        match connection.peer {
            Peer::Opened(number) => {
                let lost: u32 = connection.owed.iter().map(|owed| owed.answers).sum();
                self.outstanding.settle(number, lost);
                if let Some(slot) =
                    self.connections.opened.get_mut(number as usize).filter(|slot| **slot == Some(token))
                {
                    *slot = None;
                }
            }
            Peer::Accepted(number) => {
                if let Some(slot) =
                    self.connections.accepted.get_mut(number as usize).filter(|slot| **slot == Some(token))
                {
                    *slot = None;
                    self.questions.open.retain(|(peer, _)| *peer != connection.peer);
                }
            }
        }
    }

    /// Ends a connection.
    pub(super) fn hang_up(&mut self, token: usize) {
        let Some(connection) = self.connections.slots[token].take() else { return };
        self.part(&connection);
        self.retire(token, *connection);
    }

    /// Records that the tester ends a connection.
    pub(super) fn part(&mut self, connection: &Connection) {
        if matches!(connection.peer, Peer::Accepted(_)) {
            self.net.ended = Some(Instant::now());
        }
        if self.is_apart(connection) {
            self.part_apart(connection);
        } else if let Some(wire) = connection.wire {
            self.record.tell(Event::HungUp(wire), self.outstanding.total);
        }
    }

    /// Opens `Peer::Opened(number)`.
    pub(super) fn open(&mut self, number: u32) -> Option<usize> {
        if number >= MOST_OPENED {
            return None;
        }
        let stream = match TcpStream::connect(self.setup.target.address) {
            Ok(stream) => stream,
            Err(error) => {
                self.unconnected(&error);
                return None;
            }
        };
        let stream = match Stream::new(stream, self.setup.target.tls) {
            Ok(stream) => stream,
            Err(why) => {
                self.fail(Trouble::Local { what: "cannot begin with TLS", why });
                return None;
            }
        };
        let wire = self.connections.next_wire();
        let token = self.add(stream, Peer::Opened(number), Some(wire))?;
        if let Some(connection) = &mut self.connections.slots[token] {
            let protocol = self.setup.protocol;
            connection.outbox.push(&[], |bytes| protocol.greet(bytes), |shown| shown.fill(b'*'));
        }
        let place = number as usize;
        if self.connections.opened.len() <= place {
            self.connections.opened.resize(place + 1, None);
        }
        if self.outstanding.by_connection.len() <= place {
            self.outstanding.by_connection.resize(place + 1, 0);
        }
        self.connections.opened[place] = Some(token);
        self.record.figures.opened += 1;
        self.record.tell(Event::Opened(wire), self.outstanding.total);
        Some(token)
    }

    fn add(&mut self, stream: Stream, peer: Peer, wire: Option<WireConn>) -> Option<usize> {
        let side = if wire.is_some() { Side::Opened } else { Side::Accepted };
        let reader = self.setup.protocol.reader(side);
        let crew = self.setup.limits.crew.clone();
        let mut connection = Box::new(Connection::new(stream, peer, wire, reader, crew));
        let token = self.connections.vacant();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.net.poll.registry().register(connection.stream(), Token(token), interest) {
            self.fail(Trouble::Local { what: "cannot wait for a socket", why: error.to_string() });
            self.connections.vacate(token);
            return None;
        }
        self.connections.slots[token] = Some(connection);
        Some(token)
    }

    pub(super) fn accept(&mut self) {
        loop {
            let Some(listener) = &self.net.listener else { return };
            match listener.accept() {
                Ok((stream, _)) => {
                    // It gets its number when the first message arrives.
                    if self.add(Stream::Plain(stream), Peer::Accepted(u32::MAX), None).is_none() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) => {
                    self.fail(Trouble::Local { what: "cannot accept a connection", why: error.to_string() });
                    return;
                }
            }
        }
    }

    /// Reports trouble because a connection could not be established.
    pub(super) fn unconnected(&mut self, error: &std::io::Error) {
        let (address, why) = (self.setup.target.address, error.to_string());
        let server = matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionReset
                | ErrorKind::ConnectionAborted
                | ErrorKind::TimedOut
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
        );
        self.fail(match (server, self.health.connected) {
            (false, _) => Trouble::Local { what: "cannot open a connection", why },
            (true, false) => Trouble::Refused { address, why },
            (true, true) => Trouble::Gone { address, why },
        });
    }

    /// Records trouble. The first one counts: others follow from it.
    pub(super) fn fail(&mut self, trouble: Trouble) {
        self.health.trouble.get_or_insert(trouble);
    }
}
