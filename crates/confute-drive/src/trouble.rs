//! Reasons why a case could not go on. Trouble is not a violation: it reports what happened, not that it was
//! wrong.

use std::net::SocketAddr;
use std::time::Duration;

use confute::lang::Mistake;

/// Reason why a case ended early. The verdict on the events before stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// The server accepts no connections, and never did.
    #[error("cannot connect to {address}: {why}")]
    Refused {
        /// Address of the server.
        address: SocketAddr,
        /// Error text of the system.
        why: String,
    },
    /// The server accepts no connections any more.
    #[error("the server at {address} is gone: it answered before, now {why}")]
    Gone {
        /// Address of the server.
        address: SocketAddr,
        /// Error text of the system.
        why: String,
    },
    /// Several connections ended at once, and later responses contradict earlier ones: a restart is likely.
    #[error(
        "{} ended at the same time, and later responses contradict earlier ones: \
         the server seems to have been restarted",
        if *connections == 1 { "the only connection".to_owned() } else { format!("{connections} connections") }
    )]
    Restarted {
        /// Number of connections that ended.
        connections: usize,
    },
    /// The server accepted no connection within the patience.
    #[error("the server at {address} took no connection within {} ms", waited.as_millis())]
    Unresponsive {
        /// Address of the server.
        address: SocketAddr,
        /// Time that was waited.
        waited: Duration,
    },
    /// A response did not arrive, or not to its end.
    #[error(
        "{} within {} ms ({outstanding} outstanding); {}",
        if *came == 0 {
            format!("no response to {request}")
        } else {
            format!("{came} bytes of the response to {request}, and nothing more")
        },
        waited.as_millis(),
        if *alive { "other connections still get responses" } else { "nor on a new connection: the server hangs" }
    )]
    Silent {
        /// The oldest request without a response.
        request: String,
        /// Number of outstanding responses.
        outstanding: usize,
        /// Time that was waited.
        waited: Duration,
        /// Number of bytes of the unfinished response.
        came: usize,
        /// `true` if a fresh connection was answered after that.
        alive: bool,
    },
    /// A response was still arriving when the time for it was over.
    #[error("the response to {request} is unfinished after {} ms: {bytes} bytes came, the last just now", waited.as_millis())]
    Slow {
        /// The request.
        request: String,
        /// Number of bytes received.
        bytes: usize,
        /// Time since the request.
        waited: Duration,
    },
    /// Connections in a row ended before their requests were answered.
    #[error("the server ended {connections} connections in a row without a response")]
    Fruitless {
        /// Number of these connections.
        connections: u32,
    },
    /// The server sent more than was requested.
    #[error("a flood: {bytes} bytes on one connection {}", if *unfinished { "and no end of the message" } else { "without a request" })]
    Flood {
        /// Number of bytes received.
        bytes: usize,
        /// `true` if they belong to one unfinished message, `false` if to several messages.
        unfinished: bool,
    },
    /// The TLS handshake failed.
    #[error("no TLS with {address}: {why}")]
    Unsecured {
        /// Address of the server.
        address: SocketAddr,
        /// Reason of the failure.
        why: String,
    },
    /// The server dropped connections while several cases ran at the same time. It may just have a limit.
    #[error("with {connections} connections open at the same time, {why}")]
    Crowded {
        /// Number of connections of all cases.
        connections: u32,
        /// The observation.
        why: Box<Trouble>,
    },
    /// The server left the first request on a connection unanswered while several cases ran.
    #[error("a new connection was left without a response for {} ms", waited.as_millis())]
    Starved {
        /// Time that was waited.
        waited: Duration,
    },
    /// The tester's own machine failed: no more sockets, no such address.
    #[error("{what}: {why}")]
    Local {
        /// Operation that failed.
        what: &'static str,
        /// Error text of the system.
        why: String,
    },
    /// The model has a mistake, so none of its verdicts on a server counts.
    #[error("mistake in the model: {0}")]
    Mistake(#[from] Mistake),
    /// The tester has a defect: it panicked.
    #[error("internal error of the tester: {0}")]
    Defect(String),
    /// A case could not be prepared.
    #[error("{0}")]
    Unprepared(String),
}

impl Trouble {
    /// Returns `true` if later responses may contradict earlier ones because the server has lost its data.
    pub fn is_restart(&self) -> bool {
        match self {
            Trouble::Restarted { .. } => true,
            Trouble::Crowded { why, .. } => why.is_restart(),
            _ => false,
        }
    }

    /// Returns `true` if the reason may be that more connections are open than the server takes.
    pub(crate) fn may_be_crowding(&self) -> bool {
        match self {
            Trouble::Restarted { .. } | Trouble::Fruitless { .. } | Trouble::Starved { .. } => true,
            // Large responses to several cases fill the memory of the tester. To a case alone, it is the server that floods.
            Trouble::Flood { .. } => true,
            Trouble::Silent { alive, .. } => !alive,
            other => other.is_absence(),
        }
    }

    /// Returns `true` if the server may be starting again, so that it is worth waiting for.
    pub fn is_absence(&self) -> bool {
        matches!(self, Trouble::Refused { .. } | Trouble::Gone { .. } | Trouble::Unresponsive { .. })
    }
}
