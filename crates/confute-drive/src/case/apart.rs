//! Connections that the server opens, where every question on them is an exchange of its own.
//!
//! Each question is told as a connection of its own, when its turn has come: while the one before is unanswered it waits,
//! as if it had been read later. An exchange that has its answer is over; what becomes of the connection after that
//! says nothing.

use std::time::Instant;

use confute::trace::Event;

use super::Case;
use crate::line::Line;
use crate::protocol::{Msg, Protocol};
use crate::script::Peer;

impl<P: Protocol> Case<'_, P> {
    /// What the server asks on a connection that it opened: what of it concerns this case now. `None` if the connection
    /// is to be ended.
    pub(super) fn sort_out(
        &mut self,
        token: usize,
        line: &mut Line<P::Reader>,
        message: Msg<P>,
    ) -> Option<Option<Msg<P>>> {
        let protocol = self.setup.protocol;
        if line.asking {
            self.backlog.push((token, message));
            return Some(None);
        }
        if protocol.belongs(&message, self.setup.name) {
            if protocol.exchanges_apart() {
                line.asking = true;
                line.wire = None;
                if let Peer::Accepted(number) = line.peer
                    && let Some(slot) = self.accepted.get_mut(number as usize)
                {
                    *slot = None;
                }
            }
            return Some(Some(message));
        }
        let answer = protocol.courtesy(&message)?;
        line.outbox.push(&[], |bytes| protocol.encode(&answer, bytes), |bytes| protocol.conceal(bytes));
        self.ready.push(token);
        Some(None)
    }

    /// The server has its answer: what it asked meanwhile has its turn.
    pub(super) fn answered(&mut self, token: usize) {
        let Some(mut line) = self.lines.get_mut(token).and_then(Option::take) else { return };
        line.asking = false;
        while !line.asking
            && let Some(place) = self.backlog.iter().position(|(on, _)| *on == token)
        {
            let (_, message) = self.backlog.remove(place);
            if !self.received(token, &mut line, message) {
                return self.retire(token, *line);
            }
        }
        self.lines[token] = Some(line);
    }

    /// The end of such a connection: of interest only to who waits for an answer there.
    pub(super) fn part_apart(&mut self, line: &Line<P::Reader>) {
        let Some(wire) = line.wire.filter(|_| line.asking) else { return };
        let event = match self.setup.protocol.unanswered() {
            Some(mut message) => {
                self.setup.protocol.stamp(&mut message, self.micros(Instant::now()));
                Event::Sent(wire, message)
            }
            None => Event::HungUp(wire),
        };
        self.record.tell(event, self.owed);
    }

    /// Whether exchanges on this connection are told apart.
    pub(super) fn is_apart(&self, line: &Line<P::Reader>) -> bool {
        matches!(line.peer, Peer::Accepted(_)) && self.setup.protocol.exchanges_apart()
    }

    /// While a case ends, nobody decides what to answer any more.
    pub(super) fn be_courteous(&mut self) {
        let mut left = Vec::new();
        // An answer may be followed by the next question.
        while let Some((peer, message)) = self.asked.pop() {
            match (self.current(peer), self.setup.protocol.courtesy(&message)) {
                (Some(token), Some(answer)) => {
                    self.send(token, answer, &[], None);
                    self.attend(token);
                    self.answered(token);
                }
                _ => left.push((peer, message)),
            }
        }
        self.asked.extend(left);
    }
}
