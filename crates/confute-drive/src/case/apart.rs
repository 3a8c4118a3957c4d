//! Connections that the server opens, for protocols in which every request on them is an exchange of its own.
//!
//! Each request is recorded as a connection of its own, when its turn has come: while the previous one is
//! unanswered it waits, as if it had been read later. An exchange with its response is over, and the later
//! end of the connection is not recorded. A request that will never be answered is recorded too, with the end
//! of its connection.
//!
//! A server may end its side and still wait for responses (RFC 9112, 9.6). That cannot be distinguished from
//! an end of both sides, so the connection is kept until everything on it is answered, and the responses are
//! marked as possibly in vain.

use std::time::Instant;

use confute::trace::Event;

use super::Case;
use crate::connection::Connection;
use crate::erased::AnyMessage;
use crate::script::Peer;

impl Case<'_> {
    /// Classifies a message on a connection that the server opened. Returns the message if it is to be
    /// recorded now, `Some(None)` if it waits or gets a courtesy, and `None` if the connection is to be
    /// ended.
    pub(super) fn classify(
        &mut self,
        token: usize,
        connection: &mut Connection,
        message: AnyMessage,
    ) -> Option<Option<AnyMessage>> {
        let protocol = self.setup.protocol;
        connection.prompted = false;
        // A response that is not written yet may never be.
        if connection.asking || (protocol.has_single_exchanges() && !connection.outbox.is_empty()) {
            self.questions.backlog.push((token, message));
            return Some(None);
        }
        if protocol.belongs(&message, self.setup.name) {
            if protocol.has_single_exchanges() {
                connection.asking = true;
                connection.wire = None;
                if let Peer::Accepted(number) = connection.peer
                    && let Some(slot) = self.connections.accepted.get_mut(number as usize)
                {
                    *slot = None;
                }
            }
            return Some(Some(message));
        }
        let answer = protocol.courtesy(&message)?;
        connection.outbox.push(&[], |bytes| protocol.encode(&answer, bytes), |bytes| protocol.conceal(bytes));
        self.connections.ready.push(token);
        Some(None)
    }

    /// Takes the requests that arrived before the previous one was answered, or sends the prompt. Returns
    /// `false` if the connection has ended.
    pub(super) fn go_on(&mut self, token: usize, connection: &mut Connection) -> bool {
        while !connection.asking
            && connection.outbox.is_empty()
            && let Some(place) = self.questions.backlog.iter().position(|(on, _)| *on == token)
        {
            let (_, message) = self.questions.backlog.remove(place);
            if !self.received(token, connection, message) {
                return false;
            }
        }
        if connection.asking || self.questions.backlog.iter().any(|(on, _)| *on == token) {
            return true;
        }
        if connection.half_closed && connection.is_open() {
            connection.finish();
            self.connections.ready.push(token);
        }
        if let Some(prompt) =
            connection.reader.prompt().filter(|_| connection.is_open() && !connection.prompted)
        {
            connection.prompted = true;
            connection.outbox.push(&[], |bytes| bytes.extend_from_slice(prompt), |_| {});
            self.connections.ready.push(token);
        }
        true
    }

    /// Returns `true` if responses are due on a connection that the server has ended on its side, or are not
    /// written yet. The server may still read them, although the tester is about to end the connection too.
    pub(super) fn is_awaited(&self, token: usize, connection: &Connection) -> bool {
        let asks = connection.asking || self.questions.backlog.iter().any(|(on, _)| *on == token);
        self.is_apart(connection) && ((asks && connection.is_open()) || !connection.outbox.is_empty())
    }

    /// Records the requests on an ended connection that will never be answered.
    pub(super) fn forgo(&mut self, token: usize, connection: &mut Connection) {
        let protocol = self.setup.protocol;
        while let Some(place) = self.questions.backlog.iter().position(|(on, _)| *on == token) {
            let (_, mut message) = self.questions.backlog.remove(place);
            if !protocol.has_single_exchanges() || !protocol.belongs(&message, self.setup.name) {
                continue;
            }
            protocol.dropped(&mut message);
            let wire = self.introduce(token, connection);
            connection.asking = true;
            self.record.tell(Event::Received(wire, message.clone()), self.outstanding.total);
            self.past.was_asked(connection.peer, &message);
            self.part_apart(connection);
            if let Some(slot) = self.connections.accepted.last_mut() {
                *slot = None;
            }
        }
    }

    /// Records the end of a connection if a request on it is unanswered; otherwise the end proves nothing.
    pub(super) fn part_apart(&mut self, connection: &Connection) {
        let Some(wire) = connection.wire.filter(|_| connection.asking) else { return };
        let event = match self.setup.protocol.unanswered() {
            Some(mut message) => {
                self.setup.protocol.stamp(&mut message, self.clock.micros(Instant::now()));
                Event::Sent(wire, message)
            }
            None => Event::HungUp(wire),
        };
        self.record.tell(event, self.outstanding.total);
    }

    /// Returns `true` if every request on this connection is an exchange of its own.
    pub(super) fn is_apart(&self, connection: &Connection) -> bool {
        matches!(connection.peer, Peer::Accepted(_)) && self.setup.protocol.has_single_exchanges()
    }

    /// Answers open requests with courtesies: while a case ends, no script answers them.
    pub(super) fn be_courteous(&mut self) {
        let mut left = Vec::new();
        // A response may be followed by the next request.
        while let Some((peer, message)) = self.questions.open.pop() {
            match (self.connections.token(peer), self.setup.protocol.courtesy(&message)) {
                (Some(token), Some(answer)) => {
                    self.send(token, answer, &[], None);
                    self.attend(token);
                }
                _ => left.push((peer, message)),
            }
        }
        self.questions.open.extend(left);
    }
}
