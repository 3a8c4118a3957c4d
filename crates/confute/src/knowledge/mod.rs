//! What one hypothesis knows about values the server chose in secret.
//!
//! The model names an entity tag or a timestamp with a [`Var`] and moves on. [`Knowledge`] collects what observations
//! imply: that it is these bytes, is none of those, comes no earlier than another. Asserting a fact refines the
//! knowledge or yields a [`Contradiction`], which ends this hypothesis only.
//!
//! A contradiction means that no assignment satisfies every fact: a false one would condemn a correct server.
//! Completeness is weaker, on purpose. Equality and difference of opaque values and of booleans are decided exactly,
//! and so are equalities, bounds and bounded differences of integers. A disequality of integers is used where it
//! touches the end of a bound, and what takes counting (three choices among two values) goes unnoticed until values
//! are known.
//!
//! Facts are kept in one canonical form whatever the order they came in, so equal knowledge has equal fingerprints.
//! Where to start reading: `facts` is the canonical form, `solve` brings a new fact into it, `difference` is the part
//! about integers, `forget` projects.

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

/// A conjunction of facts about variables, always satisfiable as far as it can tell.
///
/// Cloning shares the facts; the next fact asserted on either copy parts them.
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
    /// Absent while nothing was declared or asserted: most hypotheses of most models never need it.
    facts: Option<Rc<Facts>>,
}

impl Knowledge {
    /// Knows nothing. Allocates nothing.
    pub const fn new() -> Self {
        Self { facts: None }
    }

    /// Whether there are no facts at all. Declared variables are no facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many facts are retained, in canonical form: bindings, equalities, disequalities, bounds, differences.
    pub fn len(&self) -> usize {
        self.facts.as_ref().map_or(0, |facts| facts.len())
    }

    /// Introduces a variable, before its first use. A variable that is known already stays as it is; one that is never
    /// declared may be of any sort until a fact says more.
    pub fn declare(&mut self, var: Var, sort: Sort) {
        if !self.mentions(var) {
            self.facts_mut().declare(var, sort);
        }
    }

    /// Adds a fact, or says that no assignment satisfies all facts. After an error this knowledge must not be used
    /// any further.
    pub fn assert(&mut self, literal: &Literal) -> Result<(), Contradiction> {
        if self.facts.as_ref().is_some_and(|facts| facts.refuted) {
            return Err(Reason::Absorbed.into());
        }
        // What is decided changes nothing: neither a copy nor an allocation is needed to say so.
        match self.decide(literal) {
            Some(true) => Ok(()),
            Some(false) => Err(self.read(|facts| facts.objection(literal)).into()),
            None => self.facts_mut().assert(literal),
        }
    }

    /// `Some(true)` if every assignment makes it true, `Some(false)` if none does, `None` if both are possible as far
    /// as it can tell.
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

    /// The value, if the facts fix it.
    pub fn value(&self, term: &Term) -> Option<Value> {
        match term {
            Term::Const(value) => Some(value.clone()),
            Term::Var(var) => self.facts.as_ref()?.value(*var).cloned(),
        }
    }

    /// A value that this variable can take together with all facts: the choice a simulated server makes. `pick` gives
    /// a random number below its argument.
    ///
    /// Asserting the equality afterwards never contradicts where the knowledge is exact (see the module); elsewhere
    /// the value has at least passed that test here.
    pub fn witness(&self, var: Var, pick: &mut dyn FnMut(u64) -> u64) -> Value {
        witness::witness(self, var, pick)
    }

    /// Depends on the facts, not on the order in which they were asserted. Variables that are merely declared
    /// contribute nothing: a variable of one name is taken to have one sort.
    pub fn fingerprint(&self) -> Fingerprint {
        self.facts.as_ref().map_or(Fingerprint::default(), |facts| facts.fingerprint())
    }

    /// Takes over all facts of the other. Cheap when the two share no variables, as parts of a split state do;
    /// if they do and disagree, the next assertion says so.
    pub fn absorb(&mut self, other: &Knowledge) {
        let Some(theirs) = &other.facts else { return };
        if self.facts.is_none() {
            self.facts = Some(Rc::clone(theirs));
        } else {
            self.facts_mut().absorb(theirs);
        }
    }

    /// Whether anything was said of this variable, were it only that there is one.
    pub(crate) fn mentions(&self, var: Var) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.contains(var))
    }

    /// Forgets every variable for which `live` is false, and keeps what the facts imply among the live ones.
    ///
    /// No implied fact is lost. Too much may be kept: a dead variable that can run out of values (an integer between
    /// tight bounds that must also differ from others) still constrains the living, and stays.
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
