//! Dualization (Fig 9): the tester's side of what the server does.
//!
//! Where the server receives, the tester sends; where the server sends, the tester must see just that. So a trace of
//! the tester's events becomes a list of [`Task`]s for a hypothesis: a message it is given, or a sight that one of its
//! own sends has to explain.

use std::rc::Rc;

use super::book::Seen;
use super::hypothesis::{Delivery, Hypothesis};
use super::unify::Spot;

/// One event, as a hypothesis has to cope with it.
pub(crate) enum Task {
    /// A message was sent to the server.
    Given(Rc<Delivery>),
    /// Something was seen: the hypothesis must have sent it.
    Explain(Spot, Seen),
    /// The tester hung up.
    Severed(Spot),
    /// Nothing is under way any more.
    Rest,
    /// Another part of the state, of which only this is known: from here on it is one of these.
    Join(Vec<Hypothesis>),
}

/// A task and its place in the trace.
pub(crate) struct Entry {
    pub(crate) place: u64,
    pub(crate) task: Task,
}
