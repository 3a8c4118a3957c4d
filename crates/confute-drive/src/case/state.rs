//! The state of a case, by subject.

use std::time::Instant;

use confute::trace::WireConn;

use super::downfall::Downfall;
use crate::erased::AnyMessage;
use crate::line::Line;
use crate::script::Peer;
use crate::trouble::Trouble;

/// The connections of a case. A token is the place of a connection in the table, and its name for the system.
#[derive(Default)]
pub(super) struct Connections {
    /// Connections, by token.
    pub(super) lines: Vec<Option<Box<Line>>>,
    /// Tokens that can be used again.
    free: Vec<usize>,
    /// The token that `Peer::Opened(n)` has at present.
    pub(super) opened: Vec<Option<usize>>,
    /// The token of `Peer::Accepted(n)`, while it lasts.
    pub(super) accepted: Vec<Option<usize>>,
    /// The number of connections that the tester was told of.
    pub(super) wires: u32,
    /// Connections to attend to.
    pub(super) ready: Vec<usize>,
    /// Connections with something to be sent all at once, while that is gathered.
    pub(super) gathered: Option<Vec<usize>>,
}

impl Connections {
    /// All connections that there are.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().flatten().map(|line| &**line)
    }

    /// The token of the connection of this name, if there is one.
    pub(super) fn token(&self, peer: Peer) -> Option<usize> {
        match peer {
            Peer::Opened(number) => *self.opened.get(number as usize)?,
            Peer::Accepted(number) => *self.accepted.get(number as usize)?,
        }
    }

    /// A token that no connection has.
    pub(super) fn vacant(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.lines.push(None);
            self.lines.len() - 1
        })
    }

    /// Gives back a token.
    pub(super) fn vacate(&mut self, token: usize) {
        self.free.push(token);
    }

    /// The next number by which the tester is told of a connection.
    pub(super) fn next_wire(&mut self) -> WireConn {
        self.wires += 1;
        WireConn(self.wires - 1)
    }
}

/// Answers that the server owes, and those that it gave.
pub(super) struct Outstanding {
    /// Answers outstanding, by opened connection.
    pub(super) by_connection: Vec<u32>,
    /// Answers outstanding, over all connections.
    pub(super) total: usize,
    /// The number of outstanding answers with which nothing more is read for now.
    pub(super) enough: Option<usize>,
    /// The last ask on each connection that was answered since the script last said so.
    pub(super) answered: Vec<(Peer, usize)>,
    /// Answers that were complete.
    pub(super) completed: u64,
    /// Requests that were left without an answer by connections that ended.
    pub(super) lost: usize,
}

impl Outstanding {
    /// Nothing is outstanding on this many connections.
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

    /// Notes that answers are owed on an opened connection.
    pub(super) fn owe(&mut self, number: u32, answers: u32) {
        self.total += answers as usize;
        if let Some(count) = self.by_connection.get_mut(number as usize) {
            *count += answers;
        }
    }

    /// Notes that answers on an opened connection have come, or never will.
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

/// Messages of the server that wait for the tester's answer.
#[derive(Default)]
pub(super) struct Questions {
    /// What the server asked and nobody answered yet.
    pub(super) open: Vec<(Peer, AnyMessage)>,
    /// What it asked, by token, before it had the answer to what it asked before on the same connection.
    pub(super) backlog: Vec<(usize, AnyMessage)>,
}

/// The moments that count in a case.
pub(super) struct Clock {
    pub(super) start: Instant,
    pub(super) deadline: Instant,
    /// When the system was last asked for news.
    pub(super) polled: Instant,
    /// When the tester last held something back.
    pub(super) freed: Instant,
    /// The number of answers, ends and connections that have come.
    pub(super) happened: u64,
    /// When the last of them came.
    pub(super) news: Instant,
    /// When the server is ready again, if it refused a request and said so.
    pub(super) retry_at: Option<Instant>,
}

impl Clock {
    /// The clock of a case that begins at `start`.
    pub(super) fn new(start: Instant, deadline: Instant) -> Self {
        Self { start, deadline, polled: start, freed: start, happened: 0, news: start, retry_at: None }
    }

    /// Microseconds since the case began.
    pub(super) fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_micros() as u64
    }

    /// Notes that something came.
    pub(super) fn note_news(&mut self, now: Instant) {
        self.happened += 1;
        self.news = now;
    }
}

/// The server's condition, as far as its connections show it.
#[derive(Default)]
pub(super) struct Health {
    /// The first trouble: others follow from it.
    pub(super) trouble: Option<Trouble>,
    /// An answer did not come.
    pub(super) silent: bool,
    /// The server took some connection.
    pub(super) connected: bool,
    /// Connections in a row that ended without an answer.
    pub(super) fruitless: u32,
    /// Connections in a row that had a message too long to be read.
    pub(super) overlong: u32,
    pub(super) downfall: Downfall,
}
