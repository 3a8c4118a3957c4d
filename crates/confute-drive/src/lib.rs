//! Talks to real servers.
//!
//! A [`Protocol`] says how a model's messages look on the wire and what can be asked. What the tester does in one case is a
//! script of [`Step`]s: what to ask on which connection, in which pieces, what to hold back and what to wait for. Nothing
//! here knows a protocol.

mod protocol;
mod script;

pub use protocol::{Exchange, Generator, Msg, Past, Protocol, Reader, Side, View};
pub use script::{Peer, Step, Until};
