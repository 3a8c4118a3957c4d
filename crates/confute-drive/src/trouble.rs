//! Why a conversation could not go on. Trouble is no violation: it says what happened, not that it was wrong.

use std::net::SocketAddr;
use std::time::Duration;

use confute::lang::Mistake;

/// What ended a case early. What was judged before stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// Nobody listens, and nobody ever did.
    #[error("cannot connect to {address}: {why}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        why: String,
    },
    /// Nobody listens any more.
    #[error("the server at {address} is gone: it answered before, now {why}")]
    Gone {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        why: String,
    },
    /// Everything broke off at once, and what came after does not go with what was before.
    #[error(
        "{} broke off at once, and what came after does not go with what was before: \
         the server seems to have been restarted",
        if *connections == 1 { "the only connection".to_owned() } else { format!("{connections} connections") }
    )]
    Restarted {
        /// How many connections.
        connections: usize,
    },
    /// No connection within the patience.
    #[error("the server at {address} took no connection within {} ms", waited.as_millis())]
    Unresponsive {
        /// Where.
        address: SocketAddr,
        /// How long was waited.
        waited: Duration,
    },
    /// An answer did not come.
    #[error(
        "no answer to {request} within {} ms ({outstanding} outstanding); {}",
        waited.as_millis(),
        if *alive { "other connections are still answered" } else { "nor on a fresh connection: the server hangs" }
    )]
    Silent {
        /// To what: the oldest request that waits.
        request: String,
        /// How many answers were outstanding.
        outstanding: usize,
        /// How long was waited.
        waited: Duration,
        /// Whether a fresh connection was answered after that.
        alive: bool,
    },
    /// Connections end before anything is answered.
    #[error("the server ended {connections} connections in a row without an answer")]
    Fruitless {
        /// How many.
        connections: u32,
    },
    /// More than anybody asked for.
    #[error("a flood: {bytes} bytes on one connection {}", if *unfinished { "and no end of the message" } else { "that nobody asked for" })]
    Flood {
        /// How many bytes had come.
        bytes: usize,
        /// Of one message, rather than of several.
        unfinished: bool,
    },
    /// TLS failed.
    #[error("no TLS with {address}: {why}")]
    Unsecured {
        /// Where.
        address: SocketAddr,
        /// Why.
        why: String,
    },
    /// The tester's own side: no more sockets, no such address.
    #[error("{what}: {why}")]
    Local {
        /// What failed.
        what: &'static str,
        /// What the system says.
        why: String,
    },
    /// The model is wrong: nothing that it says of a server counts.
    #[error("mistake in the model: {0}")]
    Mistake(#[from] Mistake),
    /// The tester itself is wrong: it panicked.
    #[error("a defect of the tester: {0}")]
    Defect(String),
    /// A case could not be prepared.
    #[error("{0}")]
    Unprepared(String),
}

impl Trouble {
    /// Whether the server may be starting again, so that it is worth waiting for.
    pub fn is_absence(&self) -> bool {
        matches!(self, Trouble::Refused { .. } | Trouble::Gone { .. } | Trouble::Unresponsive { .. })
    }
}
