//! Typed secrets and the formulas over them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use super::handler::Stop;
use super::message::Mismatch;
use crate::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};

/// A kind of secret: what it is in plain Rust and which facts can be known of it.
pub trait Secret: 'static {
    /// The plain value.
    type Plain: Clone + 'static;
    /// What the solver makes of it.
    const SORT: Sort;
    /// To the solver's form.
    fn encode(plain: &Self::Plain) -> Value;
    /// From the solver's form.
    fn decode(value: &Value) -> Option<Self::Plain>;
}

/// An opaque secret: a tag, a token, an id. Only equality is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Token;

impl Secret for Token {
    type Plain = Arc<str>;
    const SORT: Sort = Sort::Opaque;
    fn encode(plain: &Arc<str>) -> Value {
        Value::Opaque(Arc::clone(plain))
    }
    fn decode(value: &Value) -> Option<Arc<str>> {
        if let Value::Opaque(text) = value { Some(Arc::clone(text)) } else { None }
    }
}

/// An integer or a time: equality, order, differences.
#[derive(Clone, Copy, Debug)]
pub struct Number;

impl Secret for Number {
    type Plain = i64;
    const SORT: Sort = Sort::Int;
    fn encode(plain: &i64) -> Value {
        Value::Int(*plain)
    }
    fn decode(value: &Value) -> Option<i64> {
        if let Value::Int(number) = value { Some(*number) } else { None }
    }
}

/// A yes or no.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Secret for Flag {
    type Plain = bool;
    const SORT: Sort = Sort::Bool;
    fn encode(plain: &bool) -> Value {
        Value::Bool(*plain)
    }
    fn decode(value: &Value) -> Option<bool> {
        if let Value::Bool(flag) = value { Some(*flag) } else { None }
    }
}

/// A value of kind `T`, known or secret.
pub struct Sym<T: Secret> {
    term: Term,
    kind: PhantomData<fn() -> T>,
}

impl<T: Secret> Sym<T> {
    /// A known value.
    pub fn known(plain: &T::Plain) -> Self {
        Self { term: Term::Const(T::encode(plain)), kind: PhantomData }
    }

    pub(crate) fn var(var: Var) -> Self {
        Self { term: Term::Var(var), kind: PhantomData }
    }

    /// The untyped term.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Both are the same.
    pub fn equals(&self, other: &Self) -> Formula {
        Formula::Literal(Literal::Eq(self.term.clone(), other.term.clone()))
    }

    /// It is this value.
    pub fn is(&self, plain: &T::Plain) -> Formula {
        self.equals(&Self::known(plain))
    }

    /// Learns that it is this value, inside [`Pattern::unify`](super::Pattern::unify).
    pub fn unify(&self, plain: &T::Plain, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let known = Term::Const(T::encode(plain));
        if let Term::Const(_) = self.term {
            return if self.term == known { Ok(()) } else { Err(Mismatch) };
        }
        Ok(facts.assert(&Literal::Eq(self.term.clone(), known))?)
    }

    /// The plain value under an assignment, inside [`Pattern::instantiate`](super::Pattern::instantiate).
    ///
    /// # Panics
    /// If the assignment gives a value of another sort.
    pub fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> T::Plain {
        let value = match &self.term {
            Term::Const(value) => value.clone(),
            Term::Var(var) => value(*var),
        };
        T::decode(&value).expect("an assignment keeps to the sort of its variable")
    }

    /// The plain value, if these facts fix it.
    pub fn value(&self, facts: &Knowledge) -> Option<T::Plain> {
        facts.value(&self.term).and_then(|value| T::decode(&value))
    }

    /// Names the variable, if it is one.
    pub fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Term::Var(var) = self.term {
            visit(var);
        }
    }
}

impl Sym<Number> {
    /// `self < other`.
    pub fn less_than(&self, other: &Self) -> Formula {
        self.at_most(other, -1)
    }

    /// `self − other ≤ by`.
    pub fn at_most(&self, other: &Self, by: i64) -> Formula {
        Formula::Literal(Literal::AtMost { left: self.term.clone(), right: other.term.clone(), by })
    }
}

impl Sym<Flag> {
    /// It is true.
    pub fn holds(&self) -> Formula {
        self.is(&true)
    }
}

impl<T: Secret> Clone for Sym<T> {
    fn clone(&self) -> Self {
        Self { term: self.term.clone(), kind: PhantomData }
    }
}

impl<T: Secret> PartialEq for Sym<T> {
    fn eq(&self, other: &Self) -> bool {
        self.term == other.term
    }
}

impl<T: Secret> Eq for Sym<T> {}

impl<T: Secret> Hash for Sym<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.term.hash(state);
    }
}

impl<T: Secret> fmt::Debug for Sym<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.term, f)
    }
}

/// Shows a known value, text in quotes, and otherwise a name of the secret that begins with `?`. In expectations the engine
/// replaces that name by the value, where the facts fix it, or by a short number.
impl<T: Secret> fmt::Display for Sym<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.term, f)
    }
}

/// A condition over secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// Known to hold, or not to.
    Known(bool),
    /// One fact.
    Literal(Literal),
    /// All of these.
    And(Vec<Formula>),
    /// Any of these.
    Or(Vec<Formula>),
    /// Not this.
    Not(Box<Formula>),
}

impl From<bool> for Formula {
    fn from(known: bool) -> Self {
        Formula::Known(known)
    }
}

impl Formula {
    /// Both.
    #[must_use]
    pub fn and(self, other: impl Into<Formula>) -> Formula {
        Formula::And(vec![self, other.into()])
    }

    /// At least one.
    #[must_use]
    pub fn or(self, other: impl Into<Formula>) -> Formula {
        Formula::Or(vec![self, other.into()])
    }

    /// The contrary.
    #[must_use]
    pub fn negate(self) -> Formula {
        Formula::Not(Box::new(self))
    }

    /// Evaluates from left to right, asking only for the literals that still matter. A disjunction thus becomes
    /// branches that exclude each other.
    pub fn evaluate(&self, decide: &mut dyn FnMut(&Literal) -> Result<bool, Stop>) -> Result<bool, Stop> {
        match self {
            Formula::Known(known) => Ok(*known),
            Formula::Literal(literal) => decide(literal),
            Formula::Not(inner) => Ok(!inner.evaluate(decide)?),
            Formula::And(parts) => {
                for part in parts {
                    if !part.evaluate(decide)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Formula::Or(parts) => {
                for part in parts {
                    if part.evaluate(decide)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}
