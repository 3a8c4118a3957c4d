//! Connections that the server opens, where every question on them is an exchange of its own.
//!
//! Each question is told as a connection of its own, when its turn has come: while the one before is unanswered it waits,
//! as if it had been read later. An exchange that has its answer is over; what becomes of the connection after that
//! says nothing. A question that will never be answered is told too, with the end of its connection.
//!
//! A server may end its side and still wait for answers (RFC 9112, 9.6). That cannot be told from an end of both, so the
//! connection is kept until everything on it is answered, and the answers say that they may be in vain.

use std::time::Instant;

use confute::trace::Event;

use super::Case;
use crate::erased::AnyMessage;
use crate::line::Line;
use crate::script::Peer;

impl Case<'_> {
    /// What the server asks on a connection that it opened: what of it concerns this case now. `None` if the connection
    /// is to be ended.
    pub(super) fn sort_out(
        &mut self,
        token: usize,
        line: &mut Line,
        message: AnyMessage,
    ) -> Option<Option<AnyMessage>> {
        let protocol = self.setup.protocol;
        line.prompted = false;
        // An answer that is not out yet may never be.
        if line.asking || (protocol.has_single_exchanges() && !line.outbox.is_empty()) {
            self.questions.backlog.push((token, message));
            return Some(None);
        }
        if protocol.belongs(&message, self.setup.name) {
            if protocol.has_single_exchanges() {
                line.asking = true;
                line.wire = None;
                if let Peer::Accepted(number) = line.peer
                    && let Some(slot) = self.connections.accepted.get_mut(number as usize)
                {
                    *slot = None;
                }
            }
            return Some(Some(message));
        }
        let answer = protocol.courtesy(&message)?;
        line.outbox.push(&[], |bytes| protocol.encode(&answer, bytes), |bytes| protocol.conceal(bytes));
        self.connections.ready.push(token);
        Some(None)
    }

    /// Takes up what the server asked before it had its answer, or prompts it; whether the connection goes on.
    pub(super) fn go_on(&mut self, token: usize, line: &mut Line) -> bool {
        while !line.asking
            && line.outbox.is_empty()
            && let Some(place) = self.questions.backlog.iter().position(|(on, _)| *on == token)
        {
            let (_, message) = self.questions.backlog.remove(place);
            if !self.received(token, line, message) {
                return false;
            }
        }
        if line.asking || self.questions.backlog.iter().any(|(on, _)| *on == token) {
            return true;
        }
        if line.half_closed && line.is_open() {
            line.finish();
            self.connections.ready.push(token);
        }
        if let Some(prompt) = line.reader.prompt().filter(|_| line.is_open() && !line.prompted) {
            line.prompted = true;
            line.outbox.push(&[], |bytes| bytes.extend_from_slice(prompt), |_| {});
            self.connections.ready.push(token);
        }
        true
    }

    /// Whether answers are due on a connection that the server has ended on its side, or were given and not yet written: then the
    /// server may still read them, though the tester is about to end the connection too.
    pub(super) fn is_awaited(&self, token: usize, line: &Line) -> bool {
        let asks = line.asking || self.questions.backlog.iter().any(|(on, _)| *on == token);
        self.is_apart(line) && ((asks && line.is_open()) || !line.outbox.is_empty())
    }

    /// Tells what the server asked on a connection that has ended, and nobody will answer.
    pub(super) fn forgo(&mut self, token: usize, line: &mut Line) {
        let protocol = self.setup.protocol;
        while let Some(place) = self.questions.backlog.iter().position(|(on, _)| *on == token) {
            let (_, mut message) = self.questions.backlog.remove(place);
            if !protocol.has_single_exchanges() || !protocol.belongs(&message, self.setup.name) {
                continue;
            }
            protocol.dropped(&mut message);
            let wire = self.introduce(token, line);
            line.asking = true;
            self.record.tell(Event::Received(wire, message.clone()), self.outstanding.total);
            self.past.was_asked(line.peer, &message);
            self.part_apart(line);
            if let Some(slot) = self.connections.accepted.last_mut() {
                *slot = None;
            }
        }
    }

    /// The end of such a connection: of interest only to who waits for an answer there.
    pub(super) fn part_apart(&mut self, line: &Line) {
        let Some(wire) = line.wire.filter(|_| line.asking) else { return };
        let event = match self.setup.protocol.unanswered() {
            Some(mut message) => {
                self.setup.protocol.stamp(&mut message, self.clock.micros(Instant::now()));
                Event::Sent(wire, message)
            }
            None => Event::HungUp(wire),
        };
        self.record.tell(event, self.outstanding.total);
    }

    /// Whether exchanges on this connection are told apart.
    pub(super) fn is_apart(&self, line: &Line) -> bool {
        matches!(line.peer, Peer::Accepted(_)) && self.setup.protocol.has_single_exchanges()
    }

    /// While a case ends, nobody decides what to answer any more.
    pub(super) fn be_courteous(&mut self) {
        let mut left = Vec::new();
        // An answer may be followed by the next question.
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
