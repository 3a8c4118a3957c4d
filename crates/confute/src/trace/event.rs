//! Events: actions and observations of the tester.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A connection as the tester sees it, numbered in the order of opening or accepting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireConn(pub u32);

/// One observation, in the tester's own total order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event<M> {
    /// The tester opened a connection to the server.
    Opened(WireConn),
    /// The tester accepted a connection that the server opened.
    Accepted(WireConn),
    /// The tester began to send this message: from here on the server may act on it.
    Sent(WireConn, M),
    /// The tester received this message in full.
    Received(WireConn, M),
    /// The server closed the connection: it sends nothing more.
    Closed(WireConn),
    /// The tester closed the connection: messages in flight may or may not arrive, and no response will be
    /// observed.
    HungUp(WireConn),
    /// Nothing is in flight any more: the tester holds nothing back and has waited long enough.
    Quiescent,
}

/// Prints the event in one line (`c0 sent      put "x" "new"`); the alternate form, `{:#}`, prints a short
/// message.
impl<M: fmt::Display> fmt::Display for Event<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (conn, what, message) = match self {
            Event::Sent(conn, message) => (conn, "sent      ", Some(message)),
            Event::Received(conn, message) => (conn, "received  ", Some(message)),
            Event::Opened(conn) => (conn, "opened", None),
            Event::Accepted(conn) => (conn, "accepted", None),
            Event::Closed(conn) => (conn, "closed", None),
            Event::HungUp(conn) => (conn, "ended", None),
            Event::Quiescent => return f.write_str("nothing more comes"),
        };
        write!(f, "c{} {what}", conn.0)?;
        message.map_or(Ok(()), |message| message.fmt(f))
    }
}

impl<M> Event<M> {
    /// Returns the event with its message changed.
    pub fn map<N>(self, change: impl FnOnce(M) -> N) -> Event<N> {
        let Ok(event) = self.try_map(|message| Ok::<_, std::convert::Infallible>(change(message)));
        event
    }

    /// Returns the event with its message changed, or the error of the change.
    pub fn try_map<N, E>(self, change: impl FnOnce(M) -> Result<N, E>) -> Result<Event<N>, E> {
        Ok(match self {
            Event::Opened(conn) => Event::Opened(conn),
            Event::Accepted(conn) => Event::Accepted(conn),
            Event::Sent(conn, message) => Event::Sent(conn, change(message)?),
            Event::Received(conn, message) => Event::Received(conn, change(message)?),
            Event::Closed(conn) => Event::Closed(conn),
            Event::HungUp(conn) => Event::HungUp(conn),
            Event::Quiescent => Event::Quiescent,
        })
    }

    /// Returns the event with a reference to its message.
    pub fn as_ref(&self) -> Event<&M> {
        match self {
            Event::Opened(conn) => Event::Opened(*conn),
            Event::Accepted(conn) => Event::Accepted(*conn),
            Event::Sent(conn, message) => Event::Sent(*conn, message),
            Event::Received(conn, message) => Event::Received(*conn, message),
            Event::Closed(conn) => Event::Closed(*conn),
            Event::HungUp(conn) => Event::HungUp(*conn),
            Event::Quiescent => Event::Quiescent,
        }
    }

    /// Returns the connection of the event, if it has one.
    pub fn conn(&self) -> Option<WireConn> {
        match self {
            Event::Opened(conn)
            | Event::Accepted(conn)
            | Event::Sent(conn, _)
            | Event::Received(conn, _)
            | Event::Closed(conn)
            | Event::HungUp(conn) => Some(*conn),
            Event::Quiescent => None,
        }
    }
}
