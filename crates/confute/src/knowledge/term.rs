//! Values, variables and the literals that relate them: the vocabulary of [`Knowledge`](super::Knowledge).
//!
//! Untyped on purpose: models speak of [`Sym`](crate::lang::Sym) values of a sort, which are made of these.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A value chosen in secret, named after its cause: which delivery (or cell, or internal turn) made it, and its place
/// among what that cause made. Different orders of the same events therefore use the same names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub(crate) u64);

impl Var {
    /// A variable by its number. Models never need this: they get variables from `fresh`.
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
    /// True or false, or one of two choices.
    Bool(bool),
    /// An integer or a time: ordered, with differences.
    Int(i64),
    /// An opaque value: only equality is known of it.
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

/// What values a variable can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// `Value::Opaque`: infinitely many, under equality only.
    Opaque,
    /// `Value::Int`: under equality, order and bounded difference.
    Int,
    /// `Value::Bool`.
    Bool,
    /// `Value::Int` from 0 up to, not including, this number: a finite choice.
    Choice(u32),
}

/// A value, known or not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// Known.
    Const(Value),
    /// Chosen in secret.
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

/// One fact, as the solver takes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// Both are the same value.
    Eq(Term, Term),
    /// They are different values.
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
    /// The literal that holds exactly when this one does not.
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
