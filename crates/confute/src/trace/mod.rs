//! Traces: what happened, as a sequence of [`Event`]s.

mod event;

pub use event::{Event, WireConn};
