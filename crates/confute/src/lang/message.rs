//! What models send, against what is seen.

use std::fmt::Debug;
use std::hash::Hash;

use crate::knowledge::{Contradiction, Knowledge, Value, Var};

/// What was seen is not what the model sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

impl From<Contradiction> for Mismatch {
    fn from(_: Contradiction) -> Self {
        Mismatch
    }
}

/// A message that may have unknown parts, which seeing it makes known.
///
/// Every type is a pattern of itself, so models without secrets write their plain messages. Otherwise the model's
/// outgoing type holds [`Sym`](super::Sym)s, and this trait relates it to the plain one.
pub trait Pattern<M>: Clone + Eq + Hash + Debug + 'static {
    /// Learns from seeing `seen`, or says that this was not what was sent.
    fn unify(&self, seen: &M, facts: &mut Knowledge) -> Result<(), Mismatch>;

    /// The plain message, with `value` telling what each secret is: for simulation.
    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> M;

    /// The secrets in it.
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
