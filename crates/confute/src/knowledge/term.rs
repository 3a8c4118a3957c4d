//! Values, variables and the literals that relate them: the vocabulary of [`Knowledge`](super::Knowledge).
//!
//! They are untyped on purpose: models use [`Sym`](crate::lang::Sym) values of a sort, which are built from
//! these.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A secret, named after its cause: the delivery (or cell, or internal turn) that created it, and its
/// index among the values of that cause. Different orders of the same events therefore use the same names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub(crate) u64);

impl Var {
    /// Returns the variable with this number. Models never need this: they get variables from `fresh`.
    pub const fn numbered(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "?{:x}", self.0)
    }
}

/// A concrete value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A boolean, or one of two choices.
    Bool(bool),
    /// An integer or a time, with order and differences.
    Int(i64),
    /// An opaque value, with equality only.
    Opaque(Arc<str>),
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Opaque(value) => write!(f, "{value:?}"),
        }
    }
}

/// Set of values a variable can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// `Value::Opaque`: infinitely many values, with equality only.
    Opaque,
    /// `Value::Int`, with equality, order and bounded differences.
    Int,
    /// `Value::Bool`.
    Bool,
    /// `Value::Int` from 0 up to, but not including, this number: a finite choice.
    Choice(u32),
}

/// A value, known or secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// A known value.
    Const(Value),
    /// A secret.
    Var(Var),
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Const(value) => fmt::Display::fmt(value, f),
            Term::Var(var) => fmt::Display::fmt(var, f),
        }
    }
}

/// One fact, in the form the solver accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// The two terms are equal.
    Eq(Term, Term),
    /// The two terms differ.
    Ne(Term, Term),
    /// `left − right ≤ by`, for integers and times.
    AtMost {
        /// The smaller side.
        left: Term,
        /// The larger side.
        right: Term,
        /// The slack; `left < right` is a slack of −1.
        by: i64,
    },
}

impl Literal {
    /// Returns the literal that holds exactly when this one does not.
    #[must_use]
    pub fn negated(&self) -> Literal {
        match self {
            Literal::Eq(a, b) => Literal::Ne(a.clone(), b.clone()),
            Literal::Ne(a, b) => Literal::Eq(a.clone(), b.clone()),
            // a − b > c, that is b − a ≤ −c − 1
            Literal::AtMost { left, right, by } => {
                Literal::AtMost { left: right.clone(), right: left.clone(), by: (-1i64).saturating_sub(*by) }
            }
        }
    }
}
