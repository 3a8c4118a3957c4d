//! Comparison of the messages that models send with the messages observed.

use std::fmt::Debug;
use std::hash::Hash;

use crate::knowledge::{Contradiction, Knowledge, Value, Var};

/// Error: the observed message is not the one the model sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl From<Contradiction> for Mismatch {
    fn from(_: Contradiction) -> Self {
        Mismatch
    }
}

/// A message that may have unknown parts, which observing it reveals.
///
/// Every type is a pattern of itself, so models without secrets send plain messages. Otherwise the model's
/// outgoing type contains [`Sym`](super::Sym)s, and this trait relates it to the plain one.
pub trait Pattern<M>: Clone + Eq + Hash + Debug + 'static {
    /// Adds the facts that follow from observing `seen`, or fails if `seen` is not the message sent.
    fn unify(&self, seen: &M, facts: &mut Knowledge) -> Result<(), Mismatch>;

    /// Returns the plain message, with `value` assigning a value to each secret: for simulation.
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> M;

    /// Calls `visit` with every secret in the message.
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        let _ = visit;
    }
}

impl<M: Clone + Eq + Hash + Debug + 'static> Pattern<M> for M {
    fn unify(&self, seen: &M, _: &mut Knowledge) -> Result<(), Mismatch> {
        if self == seen { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> M {
        self.clone()
    }
}
