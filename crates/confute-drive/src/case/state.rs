//! The state of a case, by subject.

use std::time::Instant;

use confute::trace::WireConn;

use super::downfall::Downfall;
use crate::connection::Connection;
use crate::erased::AnyMessage;
use crate::script::Peer;
use crate::trouble::Trouble;

/// The connections of a case. A token is the index of a connection in the table, and identifies it in the
/// poll.
#[derive(Default)]
pub(super) struct Connections {
    /// Connections, by token.
    pub(super) slots: Vec<Option<Box<Connection>>>,
    /// Tokens that can be used again.
    free: Vec<usize>,
    /// Token that `Peer::Opened(n)` has at present.
    pub(super) opened: Vec<Option<usize>>,
    /// Token of `Peer::Accepted(n)`, while it lasts.
    pub(super) accepted: Vec<Option<usize>>,
    /// Number of connections that were reported to the engine.
    pub(super) wires: u32,
    /// Tokens of connections to attend to.
    pub(super) ready: Vec<usize>,
    /// Tokens of connections with gathered requests, while requests are gathered.
    pub(super) gathered: Option<Vec<usize>>,
}

impl Connections {
    /// Iterates over all connections.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().flatten().map(|connection| &**connection)
    }

    /// Returns the token of a connection, if it exists.
    pub(super) fn token(&self, peer: Peer) -> Option<usize> {
        match peer {
            Peer::Opened(number) => *self.opened.get(number as usize)?,
            Peer::Accepted(number) => *self.accepted.get(number as usize)?,
        }
    }

    /// Returns an unused token.
    pub(super) fn vacant(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    /// Returns a token to the unused ones.
    pub(super) fn vacate(&mut self, token: usize) {
        self.free.push(token);
    }

    /// Returns the next number under which a connection is reported to the engine.
    pub(super) fn next_wire(&mut self) -> WireConn {
        self.wires += 1;
        WireConn(self.wires - 1)
    }
}

/// Responses that the server owes, and those that it sent.
pub(super) struct Outstanding {
    /// Number of outstanding responses, by opened connection.
    pub(super) by_connection: Vec<u32>,
    /// Number of outstanding responses, over all connections.
    pub(super) total: usize,
    /// Number of outstanding responses at which nothing more is read for now.
    pub(super) enough: Option<usize>,
    /// The last answered ask of each connection since answers were last noted in the script.
    pub(super) answered: Vec<(Peer, usize)>,
    /// Number of complete responses.
    pub(super) completed: u64,
    /// Number of requests that were left unanswered by connections that ended.
    pub(super) lost: usize,
}

impl Outstanding {
    /// Creates the state of this many connections, with nothing outstanding.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            by_connection: vec![0; connections],
            total: 0,
            enough: None,
            answered: Vec::new(),
            completed: 0,
            lost: 0,
        }
    }

    /// Notes that responses are due on an opened connection.
    pub(super) fn owe(&mut self, number: u32, answers: u32) {
        self.total += answers as usize;
        if let Some(count) = self.by_connection.get_mut(number as usize) {
            *count += answers;
        }
    }

    /// Notes that responses on an opened connection have arrived, or never will.
    pub(super) fn settle(&mut self, number: u32, answers: u32) {
        self.total -= answers as usize;
        if let Some(count) = self.by_connection.get_mut(number as usize) {
            *count -= answers;
        }
    }

    /// Notes that the ask of this step was answered, the last one on its connection so far.
    pub(super) fn note_answer(&mut self, on: Peer, step: usize) {
        self.answered.retain(|(peer, _)| *peer != on);
        self.answered.push((on, step));
    }
}

/// Requests of the server that wait for the tester's response.
#[derive(Default)]
pub(super) struct Questions {
    /// Requests that are not answered yet.
    pub(super) open: Vec<(Peer, AnyMessage)>,
    /// Requests, by token, that arrived before the previous one on the same connection was answered.
    pub(super) backlog: Vec<(usize, AnyMessage)>,
}

/// The times of a case.
pub(super) struct Clock {
    pub(super) start: Instant,
    pub(super) deadline: Instant,
    /// Time of the last poll.
    pub(super) polled: Instant,
    /// Last time that the tester held something back.
    pub(super) freed: Instant,
    /// Number of messages and ends of connections received.
    pub(super) happened: u64,
    /// Time of the last of them.
    pub(super) news: Instant,
    /// Time from which on the server is ready again, if it refused a request and reported that time.
    pub(super) retry_at: Option<Instant>,
}

impl Clock {
    /// Creates the clock of a case that begins at `start`.
    pub(super) fn new(start: Instant, deadline: Instant) -> Self {
        Self { start, deadline, polled: start, freed: start, happened: 0, news: start, retry_at: None }
    }

    /// Returns the microseconds since the case began.
    pub(super) fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_micros() as u64
    }

    /// Notes that a message or an end was received.
    pub(super) fn note_news(&mut self, now: Instant) {
        self.happened += 1;
        self.news = now;
    }
}

/// The server's condition, as its connections show it.
#[derive(Default)]
pub(super) struct Health {
    /// The first trouble: others follow from it.
    pub(super) trouble: Option<Trouble>,
    /// `true` if a response did not arrive in time.
    pub(super) silent: bool,
    /// `true` if the server accepted some connection.
    pub(super) connected: bool,
    /// Number of connections in a row that ended without a response.
    pub(super) fruitless: u32,
    /// Number of connections in a row that had a message too long to be read.
    pub(super) overlong: u32,
    pub(super) downfall: Downfall,
    /// `true` if the server has lost what was stored before the case.
    pub(super) has_lost_data: bool,
}
