//! The error of asserting a fact. It is small and needs no allocation: most hypotheses of a search end in
//! one.

/// Error: no assignment satisfies every fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("contradiction: {reason}")]
pub struct Contradiction {
    /// Kind of the facts that conflict.
    pub reason: Reason,
}

/// Kind of the facts that conflict in a [`Contradiction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// Two values known to differ would have to be equal.
    #[error("different values would have to be equal")]
    Different,
    /// Two values known to be equal would have to differ.
    #[error("equal values would have to differ")]
    Same,
    /// Bounds or differences of integers exclude each other.
    #[error("the order of integers leaves no value")]
    Order,
    /// An order was asserted between values that are not ordered.
    #[error("only integers are ordered")]
    Unordered,
    /// Absorbed facts conflict with the facts already present.
    #[error("absorbed facts disagree")]
    Absorbed,
}

impl From<Reason> for Contradiction {
    fn from(reason: Reason) -> Self {
        Self { reason }
    }
}
