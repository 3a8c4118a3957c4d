//! Whom to talk to, and how much to put up with.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::tls::Tls;

/// The server under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where the tester listens, if the server opens connections too (a proxy).
    pub listen: Option<SocketAddr>,
    /// How to speak TLS with it, if at all. It outlives all tests, as the program's.
    pub tls: Option<&'static Tls>,
}

impl Target {
    /// A server that opens no connections.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, listen: None, tls: None }
    }
}

/// What a case may cost. Whatever a server does, a case ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many connections the tester has open at once.
    pub connections: u32,
    /// How many of them ask for the same thing at once.
    pub rivals: u32,
    /// How long to wait for an answer.
    pub patience: Duration,
    /// How long a case may take. Then it is drained and ends.
    pub time: Duration,
    /// How many steps a case may have.
    pub steps: usize,
    /// How many answers may be outstanding; a send waits until there are fewer.
    pub outstanding: usize,
    /// How many bytes of an unfinished message are taken.
    pub message: usize,
    /// How many bytes are taken on a connection since it last answered something.
    pub unasked: usize,
    /// How long the tester may think about one event.
    pub thought: Duration,
    /// About how many bytes the search may hold.
    pub memory: usize,
    /// Runs every turn of the model twice, instead of a sample: see [`confute::Options::repeat_all`].
    pub repeat_all: bool,
    /// How many alternatives may be open: above, the case waits until everything is answered. If there are far more even
    /// then, it ends.
    pub alternatives: usize,
    /// How many requests may be left unanswered by connections that ended: each may take effect at any time after, so
    /// with more of them the case ends.
    pub lost: usize,
    /// How many of the latest bytes are kept for reports, both directions together.
    pub raw: usize,
    /// How many connections in a row the server may end without an answer.
    pub fruitless: u32,
    /// When everything has to be over, whatever is under way: from then on no answer is waited for, and what is not judged
    /// yet stays inconclusive. `None` for no such moment.
    pub end: Option<Instant>,
}

impl Limits {
    /// The moment so long from now, or the [end](Self::end) if that is sooner.
    pub(crate) fn in_time(&self, wait: Duration) -> Instant {
        let then = Instant::now() + wait;
        self.end.map_or(then, |end| then.min(end))
    }

    /// Whether the [end](Self::end) has come.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8,
            rivals: u32::MAX,
            patience: Duration::from_secs(5),
            time: Duration::from_secs(30),
            steps: 1_000_000,
            outstanding: 4096,
            message: 16 << 20,
            unasked: 64 << 20,
            thought: Duration::from_secs(5),
            memory: 512 << 20,
            repeat_all: false,
            alternatives: 300,
            lost: 12,
            raw: 1 << 20,
            fruitless: 16,
            end: None,
        }
    }
}
