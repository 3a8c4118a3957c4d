//! Typed secrets and the formulas over them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use super::handler::Stop;
use super::message::Mismatch;
use crate::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};

/// A kind of secret: its plain Rust type and its sort in the solver.
pub trait Secret: 'static {
    /// Type of the plain value.
    type Plain: Clone + 'static;
    /// Sort of the value in the solver.
    const SORT: Sort;
    /// Converts a plain value to the solver's form.
    fn encode(plain: &Self::Plain) -> Value;
    /// Converts a value from the solver's form; `None` if it has another sort.
    fn decode(value: &Value) -> Option<Self::Plain>;
}

/// An opaque secret, such as a tag, a token or an id, with equality only.
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

/// An integer or a time, with equality, order and differences.
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

/// A boolean.
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
    /// Returns a known value.
    pub fn known(plain: &T::Plain) -> Self {
        Self { term: Term::Const(T::encode(plain)), kind: PhantomData }
    }

    pub(crate) fn var(var: Var) -> Self {
        Self { term: Term::Var(var), kind: PhantomData }
    }

    pub(super) fn of(term: Term) -> Self {
        Self { term, kind: PhantomData }
    }

    /// Returns the untyped term.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Returns the formula that both values are equal.
    pub fn equals(&self, other: &Self) -> Formula {
        Formula::Literal(Literal::Eq(self.term.clone(), other.term.clone()))
    }

    /// Returns the formula that the value is `plain`.
    pub fn is(&self, plain: &T::Plain) -> Formula {
        self.equals(&Self::known(plain))
    }

    /// Adds the fact that the value is `plain`, inside [`Pattern::unify`](super::Pattern::unify).
    pub fn unify(&self, plain: &T::Plain, facts: &mut Knowledge) -> Result<(), Mismatch> {
        let known = Term::Const(T::encode(plain));
        if let Term::Const(_) = self.term {
            return if self.term == known { Ok(()) } else { Err(Mismatch) };
        }
        Ok(facts.assert(&Literal::Eq(self.term.clone(), known))?)
    }

    /// Returns the plain value under an assignment, inside
    /// [`Pattern::instantiate`](super::Pattern::instantiate).
    ///
    /// # Panics
    /// If the assignment returns a value of another sort.
    pub fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> T::Plain {
        let value = match &self.term {
            Term::Const(value) => value.clone(),
            Term::Var(var) => value(*var),
        };
        T::decode(&value).expect("an assignment keeps to the sort of its variable")
    }

    /// Returns the plain value, if these facts determine it.
    pub fn value(&self, facts: &Knowledge) -> Option<T::Plain> {
        facts.value(&self.term).and_then(|value| T::decode(&value))
    }

    /// Calls `visit` with the variable, if the value is a secret.
    pub fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Term::Var(var) = self.term {
            visit(var);
        }
    }
}

impl Sym<Number> {
    /// Returns the formula `self < other`.
    pub fn less_than(&self, other: &Self) -> Formula {
        self.at_most(other, -1)
    }

    /// Returns the formula `self − other ≤ by`.
    pub fn at_most(&self, other: &Self, by: i64) -> Formula {
        Formula::Literal(Literal::AtMost { left: self.term.clone(), right: other.term.clone(), by })
    }
}

impl Sym<Flag> {
    /// Returns the formula that the flag is true.
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

/// Prints a known value, text in quotes, and otherwise a name of the secret that begins with `?`. In
/// expectations the engine replaces that name by the value, where the facts determine it, or by a short
/// number.
impl<T: Secret> fmt::Display for Sym<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.term, f)
    }
}

/// A condition over secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// A formula known to be true or false.
    Known(bool),
    /// A single literal.
    Literal(Literal),
    /// The conjunction of these formulas.
    And(Vec<Formula>),
    /// The disjunction of these formulas.
    Or(Vec<Formula>),
    /// The negation of this formula.
    Not(Box<Formula>),
}

impl From<bool> for Formula {
    fn from(known: bool) -> Self {
        Formula::Known(known)
    }
}

impl Formula {
    /// Returns the conjunction of the two formulas.
    #[must_use]
    pub fn and(self, other: impl Into<Formula>) -> Formula {
        Formula::And(vec![self, other.into()])
    }

    /// Returns the disjunction of the two formulas.
    #[must_use]
    pub fn or(self, other: impl Into<Formula>) -> Formula {
        Formula::Or(vec![self, other.into()])
    }

    /// Returns the negation.
    #[must_use]
    pub fn negate(self) -> Formula {
        Formula::Not(Box::new(self))
    }

    /// Evaluates from left to right, deciding only the literals that can still change the result. A
    /// disjunction thus becomes branches that exclude each other.
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
