//! The server under test, and the limits of a case.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::crew::{Crew, MOST_CONNECTIONS};
use crate::tls::Tls;

/// The server under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Address on which the server listens.
    pub address: SocketAddr,
    /// Address on which the tester listens, if the server opens connections too (a proxy).
    pub listen: Option<SocketAddr>,
    /// TLS configuration, if the server speaks TLS. It lives as long as the program.
    pub tls: Option<&'static Tls>,
}

impl Target {
    /// Creates a target that opens no connections and speaks no TLS.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, listen: None, tls: None }
    }
}

/// Limits of a case. Whatever a server does, a case ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of connections that the tester has open at once.
    pub connections: u32,
    /// Number of connections that all cases together may have open, if their number is not fixed.
    pub most_connections: u32,
    /// Number of connections that compete for the same resource at once.
    pub rivals: u32,
    /// Time to wait for a response.
    pub patience: Duration,
    /// Duration of a case, after which outstanding responses are drained and the case ends.
    pub time: Duration,
    /// Number of steps of a case.
    pub steps: usize,
    /// Number of outstanding responses at which a send waits until there are fewer.
    pub outstanding: usize,
    /// Size in bytes above which an unfinished message is a flood.
    pub message: usize,
    /// Number of bytes on a connection since its last complete response above which they are a flood.
    pub unasked: usize,
    /// Time that the search may take for one event.
    pub thought: Duration,
    /// Approximate memory of the search, in bytes.
    pub memory: usize,
    /// `true` to run every turn of the model twice, instead of a sample: see
    /// [`confute::Options::repeat_all`].
    pub repeat_all: bool,
    /// Number of open alternatives above which the case waits until every request is answered. If far more
    /// are open even then, the case ends.
    pub alternatives: usize,
    /// Number of requests that may be left unanswered by connections that ended. Each of them may take effect
    /// at any later time, so with more of them the case ends.
    pub lost: usize,
    /// Number of the latest bytes that are kept for reports, both directions together.
    pub raw: usize,
    /// Number of connections in a row that the server may end without a response.
    pub fruitless: u32,
    /// Moment at which everything has to be over, whatever is under way: from then on no response is waited
    /// for, and cases that are not judged yet stay inconclusive. `None` for no such moment.
    pub end: Option<Instant>,
    /// `true` if the end of a case waits for what the model still expects. Without it, what never comes is not noticed.
    pub rests: bool,
    /// The crew that the case belongs to. `None` if it runs whatever else runs.
    pub crew: Option<Arc<Crew>>,
}

impl Limits {
    /// Returns the moment after this wait, or the [end](Self::end) if that is sooner.
    pub(crate) fn in_time(&self, wait: Duration) -> Instant {
        let then = Instant::now() + wait;
        self.end.map_or(then, |end| then.min(end))
    }

    /// Returns `true` if the [end](Self::end) has come.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 8,
            most_connections: MOST_CONNECTIONS,
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
            rests: true,
            crew: None,
        }
    }
}
