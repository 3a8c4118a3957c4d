//! Facts of one hypothesis about secrets: values that the server chose and has not revealed.
//!
//! The model names an entity tag or a timestamp with a [`Var`] and continues. [`Knowledge`] collects the
//! facts that observations imply about it: its bytes, bytes it differs from, an earlier value it does not
//! precede. Asserting a fact refines the knowledge or yields a [`Contradiction`], which ends this hypothesis
//! only.
//!
//! A contradiction states that no assignment satisfies every fact: a false one would refute a correct server.
//! Completeness is weaker, on purpose. Equality and difference of opaque values and of booleans are decided
//! exactly, and so are equalities, bounds and bounded differences of integers. A disequality of integers is
//! used only where it touches the end of a bound, and a conflict that requires counting (three different
//! variables with two values) goes unnoticed until values are known.
//!
//! Facts are stored in one canonical form regardless of the order in which they were asserted, so equal
//! knowledge has equal fingerprints. Start reading at `facts`, the canonical form; `solve` adds a fact to it,
//! `difference` is the part about integers, `forget` is the projection.

mod contradiction;
mod difference;
mod facts;
mod factset;
mod forget;
mod solve;
mod term;
mod witness;

use std::fmt;
use std::rc::Rc;

use crate::fingerprint::Fingerprint;

use facts::Facts;

pub use contradiction::{Contradiction, Reason};
pub use term::{Literal, Sort, Term, Value, Var};

/// A conjunction of facts about variables, satisfiable as far as the solver can decide.
///
/// Cloning shares the facts; the next fact asserted on either copy separates them.
///
/// ```
/// use confute::knowledge::{Knowledge, Literal, Sort, Term, Value, Var};
///
/// let [old, new] = [Var::numbered(1), Var::numbered(2)];
/// let tag = |text: &str| Term::Const(Value::Opaque(text.into()));
/// let mut knowledge = Knowledge::new();
/// knowledge.declare(old, Sort::Opaque);
/// knowledge.declare(new, Sort::Opaque);
/// knowledge.assert(&Literal::Ne(Term::Var(old), Term::Var(new)))?;
/// knowledge.assert(&Literal::Eq(Term::Var(old), tag("a")))?;
/// assert_eq!(knowledge.decide(&Literal::Eq(Term::Var(new), tag("a"))), Some(false));
/// assert!(knowledge.assert(&Literal::Eq(Term::Var(new), tag("a"))).is_err());
/// # Ok::<(), confute::knowledge::Contradiction>(())
/// ```
#[derive(Clone, Default)]
pub struct Knowledge {
    /// Facts; `None` while nothing was declared or asserted, as in most hypotheses of most models.
    facts: Option<Rc<Facts>>,
}

impl Knowledge {
    /// Returns knowledge without facts. Allocates nothing.
    pub const fn new() -> Self {
        Self { facts: None }
    }

    /// Returns `true` if there are no facts. Declarations of variables are not facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of facts in canonical form: bindings, equalities, disequalities, bounds,
    /// differences.
    pub fn len(&self) -> usize {
        self.facts.as_ref().map_or(0, |facts| facts.len())
    }

    /// Introduces a variable, before its first use. A variable that exists already stays unchanged; one that
    /// is never declared may be of any sort until a fact determines it.
    pub fn declare(&mut self, var: Var, sort: Sort) {
        if !self.mentions(var) {
            self.facts_mut().declare(var, sort);
        }
    }

    /// Adds a fact, or returns an error if no assignment satisfies all facts. After an error this knowledge
    /// must not be used any further.
    pub fn assert(&mut self, literal: &Literal) -> Result<(), Contradiction> {
        if self.facts.as_ref().is_some_and(|facts| facts.refuted) {
            return Err(Reason::Absorbed.into());
        }
        // A decided literal changes nothing, so it needs neither a copy nor an allocation.
        match self.decide(literal) {
            Some(true) => Ok(()),
            Some(false) => Err(self.read(|facts| facts.objection(literal)).into()),
            None => self.facts_mut().assert(literal),
        }
    }

    /// Returns `Some(true)` if every assignment satisfies the literal, `Some(false)` if none does, and `None`
    /// if both are possible as far as the solver can decide.
    pub fn decide(&self, literal: &Literal) -> Option<bool> {
        match literal {
            Literal::Eq(Term::Const(a), Term::Const(b)) => Some(a == b),
            Literal::Ne(Term::Const(a), Term::Const(b)) => Some(a != b),
            &Literal::AtMost {
                left: Term::Const(Value::Int(left)),
                right: Term::Const(Value::Int(right)),
                by,
            } => Some(i128::from(left) - i128::from(right) <= i128::from(by)),
            _ => self.read(|facts| facts.decide(literal)),
        }
    }

    /// Returns the value of the term, if the facts determine it.
    pub fn value(&self, term: &Term) -> Option<Value> {
        match term {
            Term::Const(value) => Some(value.clone()),
            Term::Var(var) => self.facts.as_ref()?.value(*var).cloned(),
        }
    }

    /// Returns a value that is consistent with all facts, as the choice of a simulated server. `pick` returns
    /// a random number below its argument.
    ///
    /// Asserting the equality afterwards never leads to a contradiction where the knowledge is exact (see the
    /// module); elsewhere the value has at least been tested here.
    pub fn witness(&self, var: Var, pick: &mut dyn FnMut(u64) -> u64) -> Value {
        witness::witness(self, var, pick)
    }

    /// Returns a fingerprint of the facts, independent of the order in which they were asserted. Variables
    /// that are only declared contribute nothing: a variable of one name is assumed to have one sort.
    pub fn fingerprint(&self) -> Fingerprint {
        self.facts.as_ref().map_or(Fingerprint::default(), |facts| facts.fingerprint())
    }

    /// Adds all facts of `other`. Cheap if the two share no variable, as parts of a split state do; if they
    /// do share one and conflict, the next assertion returns an error.
    pub fn absorb(&mut self, other: &Knowledge) {
        let Some(theirs) = &other.facts else { return };
        if self.facts.is_none() {
            self.facts = Some(Rc::clone(theirs));
        } else {
            self.facts_mut().absorb(theirs);
        }
    }

    /// Returns `true` if the variable was declared or occurs in a fact.
    pub(crate) fn mentions(&self, var: Var) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.contains(var))
    }

    /// Forgets every variable for which `live` is false, and keeps the facts implied among the live ones.
    ///
    /// No implied fact is lost. More than necessary may be kept: a dead variable that can run out of values
    /// (an integer between tight bounds that must also differ from others) still constrains the live ones,
    /// and stays.
    pub fn forget(&mut self, live: &dyn Fn(Var) -> bool) {
        let Some(facts) = &mut self.facts else { return };
        if facts.vars().all(live) {
            return;
        }
        let facts = Rc::make_mut(facts);
        facts.forget(live);
        if facts.vars().next().is_none() && !facts.refuted {
            self.facts = None;
        }
    }

    fn read<T>(&self, ask: impl FnOnce(&Facts) -> T) -> T {
        match &self.facts {
            Some(facts) => ask(facts),
            None => ask(&Facts::default()),
        }
    }

    fn facts_mut(&mut self) -> &mut Facts {
        Rc::make_mut(self.facts.get_or_insert_default())
    }
}

impl fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.facts {
            None => f.write_str("{}"),
            Some(facts) => facts.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
