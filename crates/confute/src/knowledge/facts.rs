//! The canonical form of knowledge, and the queries it answers.
//!
//! - Each variable is bound to a value, equal to another variable (the smallest of its class), or the
//!   representative of its class.
//! - Disequalities, bounds and differences refer to representatives of classes, never to bound variables.
//! - No fact is stored that other stored facts imply, as far as the solver can decide.

use std::cmp::Ordering;
use std::fmt;

use crate::fingerprint::Fingerprint;

use super::contradiction::Reason;
use super::difference::{Differences, NONE, Node, ZERO};
use super::factset::{Fact, FactSet};
use super::term::{Literal, Sort, Term, Value, Var};

/// All facts of one hypothesis.
#[derive(Clone, Default)]
pub(super) struct Facts {
    pub(super) entries: FactSet<Entry, 6>,
    /// Pairs of classes that differ.
    pub(super) apart: FactSet<Apart, 2>,
    /// Values that a class does not have.
    pub(super) excluded: FactSet<Excluded, 2>,
    pub(super) differences: Differences,
    /// `true` if absorbed facts contradict the facts that were present.
    pub(super) refuted: bool,
}

/// A variable and its binding.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) var: Var,
    /// Sort of the variable; `None` if it was not declared and no fact implies the sort.
    pub(super) sort: Option<Sort>,
    pub(super) slot: Slot,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Slot {
    /// The variable is the representative of its class.
    Free,
    /// The variable equals this one, which is smaller and the representative of the class.
    Same(Var),
    /// The variable has this value.
    Bound(Value),
}

/// Two classes that differ, the smaller representative first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Apart(pub(super) Var, pub(super) Var);

/// A class and a value that it does not have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Excluded(pub(super) Var, pub(super) Value);

/// Kind of values; values of different kinds are never equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Opaque,
    Int,
    Bool,
}

/// Result of looking up a term.
pub(super) enum Place<'a> {
    Known(&'a Value),
    Class(Var, Option<Kind>),
}

impl Kind {
    pub(super) fn of_sort(sort: Sort) -> Self {
        match sort {
            Sort::Opaque => Kind::Opaque,
            Sort::Int | Sort::Choice(_) => Kind::Int,
            Sort::Bool => Kind::Bool,
        }
    }

    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Int,
            Value::Opaque(_) => Kind::Opaque,
        }
    }
}

/// Returns `true` if values of these kinds can be equal; a value of unknown kind can equal any value.
pub(super) fn compatible(a: Option<Kind>, b: Option<Kind>) -> bool {
    a.is_none() || b.is_none() || a == b
}

/// Returns the number of values of a sort of integers, if it is limited.
pub(super) fn choices(sort: Option<Sort>) -> Option<u32> {
    // A choice among no values is a mistake of the model, not of the server, so it must not become a
    // contradiction.
    if let Some(Sort::Choice(count)) = sort { Some(count.max(1)) } else { None }
}

impl Fact for Entry {
    fn order(&self, other: &Self) -> Ordering {
        self.var.cmp(&other.var)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        match &self.slot {
            Slot::Free => None,
            Slot::Same(other) => Some(Fingerprint::of(&(b's', self.var, other))),
            Slot::Bound(_) if choices(self.sort) == Some(1) => None,
            Slot::Bound(value) => Some(Fingerprint::of(&(b'b', self.var, value))),
        }
    }
}

impl Apart {
    pub(super) fn new(a: Var, b: Var) -> Self {
        Self(a.min(b), a.max(b))
    }

    /// Returns the other class of the pair, if `var` is one of the two.
    pub(super) fn partner(self, var: Var) -> Option<Var> {
        if self.0 == var {
            Some(self.1)
        } else if self.1 == var {
            Some(self.0)
        } else {
            None
        }
    }
}

impl Fact for Apart {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint::of(&(b'a', self.0, self.1)))
    }
}

impl Fact for Excluded {
    fn order(&self, other: &Self) -> Ordering {
        self.cmp(other)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint::of(&(b'x', self.0, &self.1)))
    }
}

impl Facts {
    pub(super) fn len(&self) -> usize {
        self.entries.telling() + self.apart.telling() + self.excluded.telling() + self.differences.len()
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        let facts = self
            .entries
            .fingerprint()
            .plus(self.apart.fingerprint())
            .plus(self.excluded.fingerprint())
            .plus(self.differences.fingerprint());
        if self.refuted { facts.plus(Fingerprint::of("refuted")) } else { facts }
    }

    pub(super) fn vars(&self) -> impl Iterator<Item = Var> {
        self.entries.iter().map(|entry| entry.var)
    }

    pub(super) fn contains(&self, var: Var) -> bool {
        self.entry(var).is_some()
    }

    pub(super) fn entry(&self, var: Var) -> Option<&Entry> {
        self.entries.get(|entry| entry.var.cmp(&var))
    }

    /// Introduces a variable that has no entry yet.
    pub(super) fn declare(&mut self, var: Var, sort: Sort) {
        let slot = match choices(Some(sort)) {
            Some(1) => Slot::Bound(Value::Int(0)),
            Some(count) => {
                self.differences.declare_choice(var, count);
                Slot::Free
            }
            None => Slot::Free,
        };
        self.entries.put(Entry { var, sort: Some(sort), slot });
    }

    pub(super) fn value(&self, var: Var) -> Option<&Value> {
        match &self.entry(var)?.slot {
            Slot::Bound(value) => Some(value),
            Slot::Free | Slot::Same(_) => None,
        }
    }

    pub(super) fn place<'a>(&'a self, term: &'a Term) -> Place<'a> {
        match term {
            Term::Const(value) => Place::Known(value),
            Term::Var(var) => self.place_of(*var),
        }
    }

    pub(super) fn place_of(&self, var: Var) -> Place<'_> {
        let Some(entry) = self.entry(var) else { return Place::Class(var, None) };
        let kind = entry.sort.map(Kind::of_sort);
        match &entry.slot {
            Slot::Bound(value) => Place::Known(value),
            Slot::Same(root) => Place::Class(*root, kind),
            Slot::Free => Place::Class(var, kind),
        }
    }

    pub(super) fn decide(&self, literal: &Literal) -> Option<bool> {
        match literal {
            Literal::Eq(a, b) => self.same(self.place(a), self.place(b)),
            Literal::Ne(a, b) => self.same(self.place(a), self.place(b)).map(|same| !same),
            Literal::AtMost { left, right, by } => {
                let (Ok((a, add)), Ok((b, subtract))) = (self.node(left), self.node(right)) else {
                    return Some(false);
                };
                let by = i128::from(*by) - add + subtract;
                if self.differences.distance(a, b) <= by {
                    Some(true)
                } else if self.differences.distance(b, a) < -by {
                    Some(false)
                } else {
                    None
                }
            }
        }
    }

    /// Returns the reason why a literal was decided to be false.
    pub(super) fn objection(&self, literal: &Literal) -> Reason {
        match literal {
            Literal::Eq(..) => Reason::Different,
            Literal::Ne(..) => Reason::Same,
            Literal::AtMost { left, right, .. } if self.node(left).is_ok() && self.node(right).is_ok() => {
                Reason::Order
            }
            Literal::AtMost { .. } => Reason::Unordered,
        }
    }

    fn same(&self, a: Place<'_>, b: Place<'_>) -> Option<bool> {
        match (a, b) {
            (Place::Known(a), Place::Known(b)) => Some(a == b),
            (Place::Class(var, kind), Place::Known(value))
            | (Place::Known(value), Place::Class(var, kind)) => {
                let possible = compatible(kind, Some(Kind::of_value(value)))
                    && !self.excludes(var, value)
                    && in_range(&self.differences, var, value);
                if possible { None } else { Some(false) }
            }
            (Place::Class(a, _), Place::Class(b, _)) if a == b => Some(true),
            (Place::Class(a, kind), Place::Class(b, other)) => {
                if !compatible(kind, other) || self.are_apart(a, b) {
                    return Some(false);
                }
                let (there, back) = self.both_ways(a, b);
                if there < 0 || back < 0 {
                    Some(false)
                } else if there == 0 && back == 0 {
                    Some(true)
                } else {
                    None
                }
            }
        }
    }

    pub(super) fn excludes(&self, var: Var, value: &Value) -> bool {
        self.excluded.get(|fact| (fact.0, &fact.1).cmp(&(var, value))).is_some()
    }

    pub(super) fn are_apart(&self, a: Var, b: Var) -> bool {
        let sought = Apart::new(a, b);
        self.apart.get(|fact| fact.cmp(&sought)).is_some()
    }

    pub(super) fn both_ways(&self, a: Var, b: Var) -> (i128, i128) {
        (self.differences.distance(Some(a), Some(b)), self.differences.distance(Some(b), Some(a)))
    }

    /// Returns the node of a term in the graph of differences and the constant to add to it, or an error if
    /// the term is not ordered.
    pub(super) fn node(&self, term: &Term) -> Result<(Node, i128), Reason> {
        match self.place(term) {
            Place::Known(Value::Int(value)) => Ok((ZERO, i128::from(*value))),
            Place::Class(var, None | Some(Kind::Int)) => Ok((Some(var), 0)),
            _ => Err(Reason::Unordered),
        }
    }
}

/// Returns `true` if the bounds of the variable allow this value.
fn in_range(differences: &Differences, var: Var, value: &Value) -> bool {
    let &Value::Int(value) = value else { return true };
    let range = differences.range(var);
    (range.low..=range.high).contains(&i128::from(value))
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for entry in self.entries.iter() {
            match &entry.slot {
                Slot::Free => {}
                Slot::Same(other) => {
                    set.entry(&format_args!("{:?} = {other:?}", entry.var));
                }
                Slot::Bound(value) => {
                    set.entry(&format_args!("{:?} = {value:?}", entry.var));
                }
            }
        }
        for Apart(a, b) in self.apart.iter() {
            set.entry(&format_args!("{a:?} ≠ {b:?}"));
        }
        for Excluded(var, value) in self.excluded.iter() {
            set.entry(&format_args!("{var:?} ≠ {value:?}"));
        }
        for range in self.differences.ranges().filter(|range| range.fingerprint().is_some()) {
            let var = range.var;
            match (range.low > -NONE, range.high < NONE) {
                (true, true) => set.entry(&format_args!("{} ≤ {var:?} ≤ {}", range.low, range.high)),
                (true, false) => set.entry(&format_args!("{} ≤ {var:?}", range.low)),
                _ => set.entry(&format_args!("{var:?} ≤ {}", range.high)),
            };
        }
        for pair in self.differences.pairs() {
            set.entry(&format_args!("{:?} − {:?} ≤ {}", pair.left, pair.right, pair.by));
        }
        set.finish()
    }
}
