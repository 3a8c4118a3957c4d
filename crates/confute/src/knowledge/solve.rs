//! Solver: adds a fact to the canonical form.
//!
//! One step adds one fact and puts its consequences on an agenda: a bound variable excludes its value from
//! those that differ from it, merged classes unite their disequalities, a bound that touches an excluded
//! value moves by one. Facts only become stronger, and each step uses up a disequality or reduces the number
//! of classes, so the process terminates. Its result does not depend on the order of the steps.

use smallvec::SmallVec;

use super::contradiction::{Contradiction, Reason};
use super::difference::{NONE, Node, ZERO};
use super::facts::{Apart, Entry, Excluded, Facts, Kind, Place, Slot, compatible};
use super::term::{Literal, Sort, Term, Value, Var};

/// Facts still to be added.
#[derive(Default)]
struct Agenda {
    tasks: SmallVec<[Task; 4]>,
    /// `true` if bounds have changed since they were last compared with the disequalities.
    tightened: bool,
}

enum Task {
    Same(Term, Term),
    Differ(Term, Term),
    Within(Term, Term, i128),
}

const NIL: Term = Term::Const(Value::Int(0));

impl Facts {
    /// Adds a fact. After an error the facts are inconsistent and must not be used.
    pub(super) fn assert(&mut self, literal: &Literal) -> Result<(), Contradiction> {
        let mut agenda = Agenda::default();
        match literal {
            Literal::Eq(a, b) => self.same_as(a, b, &mut agenda)?,
            Literal::Ne(a, b) => self.differ(a, b, &mut agenda)?,
            Literal::AtMost { left, right, by } => self.within(left, right, (*by).into(), &mut agenda)?,
        }
        self.finish(agenda)
    }

    /// Adds the facts of `other`.
    pub(super) fn absorb(&mut self, other: &Facts) {
        self.refuted |= other.refuted;
        if other.vars().any(|var| self.contains(var)) {
            self.refuted |= self.absorb_related(other).is_err();
            return;
        }
        for entry in other.entries.iter() {
            self.entries.put(entry.clone());
        }
        for fact in other.apart.iter() {
            self.apart.put(*fact);
        }
        for fact in other.excluded.iter() {
            self.excluded.put(fact.clone());
        }
        self.differences.absorb(&other.differences);
    }

    fn absorb_related(&mut self, other: &Facts) -> Result<(), Contradiction> {
        for entry in other.entries.iter() {
            if let (Some(sort), false) = (entry.sort, self.contains(entry.var)) {
                self.declare(entry.var, sort);
            }
        }
        let mut agenda = Agenda::default();
        for entry in other.entries.iter() {
            match &entry.slot {
                Slot::Free => {}
                Slot::Same(root) => agenda.same(Term::Var(entry.var), Term::Var(*root)),
                Slot::Bound(value) => agenda.same(Term::Var(entry.var), Term::Const(value.clone())),
            }
        }
        for &Apart(a, b) in other.apart.iter() {
            agenda.differ(Term::Var(a), Term::Var(b));
        }
        for Excluded(var, value) in other.excluded.iter() {
            agenda.differ(Term::Var(*var), Term::Const(value.clone()));
        }
        for range in other.differences.ranges() {
            if range.high < NONE {
                agenda.within(Some(range.var), ZERO, range.high);
            }
            if range.low > -NONE {
                agenda.within(ZERO, Some(range.var), -range.low);
            }
        }
        for pair in other.differences.pairs() {
            agenda.within(Some(pair.left), Some(pair.right), pair.by);
        }
        self.finish(agenda)
    }

    fn finish(&mut self, mut agenda: Agenda) -> Result<(), Contradiction> {
        loop {
            match agenda.tasks.pop() {
                Some(Task::Same(a, b)) => self.same_as(&a, &b, &mut agenda)?,
                Some(Task::Differ(a, b)) => self.differ(&a, &b, &mut agenda)?,
                Some(Task::Within(a, b, by)) => self.within(&a, &b, by, &mut agenda)?,
                None if agenda.tightened => {
                    agenda.tightened = false;
                    self.follow_bounds(&mut agenda);
                }
                None => return Ok(()),
            }
        }
    }

    fn same_as(&mut self, a: &Term, b: &Term, agenda: &mut Agenda) -> Result<(), Contradiction> {
        match (self.place(a), self.place(b)) {
            (Place::Known(a), Place::Known(b)) if a == b => Ok(()),
            (Place::Known(_), Place::Known(_)) => Err(Reason::Different.into()),
            (Place::Class(var, kind), Place::Known(value))
            | (Place::Known(value), Place::Class(var, kind)) => {
                let value = value.clone();
                self.bind(var, kind, &value, agenda)
            }
            (Place::Class(a, _), Place::Class(b, _)) if a == b => Ok(()),
            (Place::Class(a, kind), Place::Class(b, other)) => {
                self.merge((a.min(b), a.max(b)), (kind, other), agenda)?;
                match (kind, other) {
                    (None, Some(kind)) | (Some(kind), None) => self.refine(a.min(b), kind, agenda),
                    _ => {}
                }
                Ok(())
            }
        }
    }

    fn differ(&mut self, a: &Term, b: &Term, agenda: &mut Agenda) -> Result<(), Contradiction> {
        match (self.place(a), self.place(b)) {
            (Place::Known(a), Place::Known(b)) if a != b => Ok(()),
            (Place::Known(_), Place::Known(_)) => Err(Reason::Same.into()),
            (Place::Class(var, kind), Place::Known(value))
            | (Place::Known(value), Place::Class(var, kind)) => {
                let value = value.clone();
                self.exclude(var, kind, value, agenda);
                Ok(())
            }
            (Place::Class(a, _), Place::Class(b, _)) if a == b => Err(Reason::Same.into()),
            (Place::Class(a, kind), Place::Class(b, other)) => {
                self.part((a, b), (kind, other), agenda);
                Ok(())
            }
        }
    }

    fn within(&mut self, a: &Term, b: &Term, by: i128, agenda: &mut Agenda) -> Result<(), Contradiction> {
        for term in [a, b] {
            if let Place::Class(var, None) = self.place(term) {
                self.meet(var);
                self.refine(var, Kind::Int, agenda);
            }
        }
        let (a, add) = self.node(a)?;
        let (b, subtract) = self.node(b)?;
        let by = by - add + subtract;
        if a == b {
            return if by >= 0 { Ok(()) } else { Err(Reason::Order.into()) };
        }
        agenda.tightened |= self.differences.tighten(a, b, by)?;
        Ok(())
    }

    /// Binds a class to a value.
    fn bind(
        &mut self,
        root: Var,
        kind: Option<Kind>,
        value: &Value,
        agenda: &mut Agenda,
    ) -> Result<(), Contradiction> {
        if !compatible(kind, Some(Kind::of_value(value))) || self.excludes(root, value) {
            return Err(Reason::Different.into());
        }
        if let (Some(Kind::Int), &Value::Int(value)) = (kind, value) {
            let value = i128::from(value);
            agenda.tightened |= self.differences.tighten(Some(root), ZERO, value)?;
            agenda.tightened |= self.differences.tighten(ZERO, Some(root), -value)?;
            self.differences.remove(root);
        }
        self.meet(root);
        self.excluded.drop_if(|fact| fact.0 == root);
        self.apart.extract(
            |fact| fact.partner(root).is_some(),
            |fact| {
                let partner = fact.partner(root).expect("just asked for");
                agenda.differ(Term::Var(partner), Term::Const(value.clone()));
            },
        );
        self.entries.update(
            |entry| entry.var == root || entry.slot == Slot::Same(root),
            |entry| entry.slot = Slot::Bound(value.clone()),
        );
        Ok(())
    }

    /// Merges two classes; the smaller variable becomes the representative.
    fn merge(
        &mut self,
        (root, gone): (Var, Var),
        kinds: (Option<Kind>, Option<Kind>),
        agenda: &mut Agenda,
    ) -> Result<(), Contradiction> {
        if !compatible(kinds.0, kinds.1) {
            return Err(Reason::Different.into());
        }
        if kinds.0 == Some(Kind::Int) || kinds.1 == Some(Kind::Int) {
            agenda.tightened |= self.differences.tighten(Some(root), Some(gone), 0)?;
            agenda.tightened |= self.differences.tighten(Some(gone), Some(root), 0)?;
            self.differences.remove(gone);
        }
        self.meet(root);
        self.meet(gone);
        self.apart.extract(
            |fact| fact.partner(gone).is_some(),
            |fact| {
                let partner = fact.partner(gone).expect("just asked for");
                agenda.differ(Term::Var(root), Term::Var(partner));
            },
        );
        self.excluded.extract(
            |fact| fact.0 == gone,
            |Excluded(_, value)| agenda.differ(Term::Var(root), Term::Const(value)),
        );
        self.entries.update(
            |entry| entry.var == gone || entry.slot == Slot::Same(gone),
            |entry| entry.slot = Slot::Same(root),
        );
        Ok(())
    }

    fn exclude(&mut self, root: Var, kind: Option<Kind>, value: Value, agenda: &mut Agenda) {
        match (kind, &value) {
            (Some(Kind::Bool), Value::Bool(value)) => {
                agenda.same(Term::Var(root), Term::Const(Value::Bool(!value)));
            }
            (Some(Kind::Int), &Value::Int(value)) => {
                let range = self.differences.range(root);
                let wide = i128::from(value);
                if range.low == wide {
                    agenda.within(ZERO, Some(root), -(wide + 1));
                } else if range.high == wide {
                    agenda.within(Some(root), ZERO, wide - 1);
                } else if range.low < wide && wide < range.high {
                    self.excluded.put(Excluded(root, Value::Int(value)));
                }
            }
            _ if compatible(kind, Some(Kind::of_value(&value))) => {
                self.meet(root);
                self.excluded.put(Excluded(root, value));
            }
            _ => {}
        }
    }

    fn part(&mut self, (a, b): (Var, Var), kinds: (Option<Kind>, Option<Kind>), agenda: &mut Agenda) {
        match kinds {
            (Some(Kind::Bool), Some(Kind::Bool)) => {
                // There are only two booleans, so two classes that differ from the same class are equal.
                if let Some(like_b) = self.opposite(a) {
                    agenda.same(Term::Var(like_b), Term::Var(b));
                } else if let Some(like_a) = self.opposite(b) {
                    agenda.same(Term::Var(like_a), Term::Var(a));
                } else {
                    self.apart.put(Apart::new(a, b));
                }
            }
            (Some(Kind::Int), Some(Kind::Int)) => {
                let (there, back) = self.both_ways(a, b);
                if there == 0 {
                    agenda.within(Some(a), Some(b), -1);
                } else if back == 0 {
                    agenda.within(Some(b), Some(a), -1);
                } else if there > 0 && back > 0 {
                    self.apart.put(Apart::new(a, b));
                }
            }
            (kind, other) if compatible(kind, other) => {
                self.meet(a);
                self.meet(b);
                self.apart.put(Apart::new(a, b));
            }
            _ => {}
        }
    }

    /// Returns a class of booleans that differs from this one.
    fn opposite(&self, root: Var) -> Option<Var> {
        let is_bool = |var: &Var| matches!(self.place_of(*var), Place::Class(_, Some(Kind::Bool)));
        self.apart.iter().filter_map(|fact| fact.partner(root)).find(is_bool)
    }

    /// Creates an entry for a variable that was not declared.
    fn meet(&mut self, var: Var) {
        if !self.contains(var) {
            self.entries.put(Entry { var, sort: None, slot: Slot::Free });
        }
    }

    /// Sets the kind of a class of unknown kind, and processes its disequalities again.
    fn refine(&mut self, root: Var, kind: Kind, agenda: &mut Agenda) {
        let sort = match kind {
            Kind::Opaque => Sort::Opaque,
            Kind::Int => Sort::Int,
            Kind::Bool => Sort::Bool,
        };
        self.entries.update(
            |entry| entry.sort.is_none() && (entry.var == root || entry.slot == Slot::Same(root)),
            |entry| entry.sort = Some(sort),
        );
        self.apart.extract(
            |fact| fact.partner(root).is_some(),
            |fact| agenda.differ(Term::Var(fact.0), Term::Var(fact.1)),
        );
        self.excluded.extract(
            |fact| fact.0 == root,
            |Excluded(_, value)| agenda.differ(Term::Var(root), Term::Const(value)),
        );
    }

    /// Derives the consequences of changed bounds for equalities and disequalities.
    fn follow_bounds(&mut self, agenda: &mut Agenda) {
        let differences = &self.differences;
        for range in differences.ranges() {
            if let Some(value) = range.fixed() {
                agenda.same(Term::Var(range.var), Term::Const(Value::Int(value)));
            }
        }
        for pair in differences.pairs().filter(|pair| pair.by == 0 && pair.left < pair.right) {
            if differences.distance(Some(pair.right), Some(pair.left)) == 0 {
                agenda.same(Term::Var(pair.left), Term::Var(pair.right));
            }
        }
        // Disequalities that a bound touches are removed and processed again by `exclude` and `part`, which
        // turn them into bounds.
        self.excluded.extract(
            |fact| {
                let Value::Int(value) = fact.1 else { return false };
                let (range, value) = (differences.range(fact.0), i128::from(value));
                value <= range.low || range.high <= value
            },
            |Excluded(root, value)| agenda.differ(Term::Var(root), Term::Const(value)),
        );
        self.apart.extract(
            |&Apart(a, b)| {
                differences.distance(Some(a), Some(b)) <= 0 || differences.distance(Some(b), Some(a)) <= 0
            },
            |Apart(a, b)| agenda.differ(Term::Var(a), Term::Var(b)),
        );
    }
}

impl Agenda {
    fn same(&mut self, a: Term, b: Term) {
        self.tasks.push(Task::Same(a, b));
    }

    fn differ(&mut self, a: Term, b: Term) {
        self.tasks.push(Task::Differ(a, b));
    }

    fn within(&mut self, a: Node, b: Node, by: i128) {
        self.tasks.push(Task::Within(a.map_or(NIL, Term::Var), b.map_or(NIL, Term::Var), by));
    }
}
