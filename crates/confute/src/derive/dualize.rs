//! Dualization (Fig 9): the tester's side of the server's actions.
//!
//! If the server receives, the tester sends; if the server sends, the tester must observe exactly that. A trace
//! of the tester's events thus becomes a list of [`Task`]s for a hypothesis: a message it is given, or an observation
//! that one of its own sends has to explain.

use std::rc::Rc;

use super::book::Seen;
use super::hypothesis::{Delivery, Hypothesis};
use super::unify::Spot;

/// One event, as a task for a hypothesis.
pub(crate) enum Task {
    /// A message was sent to the server.
    Given(Rc<Delivery>),
    /// Something was observed: the hypothesis must have sent it.
    Explain(Spot, Seen),
    /// The tester hung up.
    Severed(Spot),
    /// Nothing is in flight any more.
    Rest,
    /// A part that was searched separately joins here; its state is one of these, and nothing else is known about it.
    Join(Vec<Hypothesis>),
}

/// A task with its position in the trace.
pub(crate) struct Entry {
    pub(crate) place: u64,
    pub(crate) task: Task,
}
