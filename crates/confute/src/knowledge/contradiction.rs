//! Why a fact could not be added. Small and without allocation: in a search most hypotheses end in one.

/// No assignment satisfies every fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("contradiction: {reason}")]
pub struct Contradiction {
    /// What kind of facts clashed.
    pub reason: Reason,
}

/// What kind of facts clashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// Two values known to differ would have to be the same.
    #[error("different values would have to be equal")]
    Different,
    /// Two values known to be the same would have to differ.
    #[error("equal values would have to differ")]
    Same,
    /// Bounds or differences of integers exclude each other.
    #[error("the order of integers leaves no value")]
    Order,
    /// Order was asked of values that have none.
    #[error("only integers are ordered")]
    Unordered,
    /// Facts taken over from elsewhere do not agree with those already here.
    #[error("absorbed facts disagree")]
    Absorbed,
}

impl From<Reason> for Contradiction {
    fn from(reason: Reason) -> Self {
        Self { reason }
    }
}
