//! A solver that tries values.
//!
//! A conjunction is satisfiable iff some assignment from a finite set of candidates satisfies it. For opaque values:
//! every constant mentioned, and one new value per variable. For integers: a solution can be shifted, piece by piece,
//! until every variable is within the sum of all slacks (plus one per variable, to evade inequations) of a constant or
//! of zero. It shares nothing with `confute::knowledge` but the vocabulary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use confute::knowledge::{Literal, Sort, Term, Value, Var};

/// What is known: all of these hold.
pub type Facts = BTreeSet<Literal>;

/// What each variable is.
pub type Assignment = BTreeMap<Var, Value>;

/// An assignment under which all facts hold, if there is one.
pub fn solve(facts: &Facts, sorts: &dyn Fn(Var) -> Sort) -> Option<Assignment> {
    let mut vars = BTreeSet::new();
    for literal in facts {
        for term in sides(literal) {
            if let Term::Var(var) = term {
                vars.insert(*var);
            }
        }
    }
    let vars: Vec<Var> = vars.into_iter().collect();
    let candidates: Vec<Vec<Value>> = vars.iter().map(|var| candidates(*var, facts, vars.len(), sorts)).collect();
    // The most constrained first: it is only a matter of speed.
    let mut order: Vec<usize> = (0..vars.len()).collect();
    order.sort_by_key(|i| candidates[*i].len());
    let mut assignment = Assignment::new();
    let possible = facts.iter().all(|literal| holds(literal, &assignment) != Some(false));
    (possible && assign(facts, &vars, &candidates, &order, &mut assignment)).then_some(assignment)
}

fn assign(
    facts: &Facts,
    vars: &[Var],
    candidates: &[Vec<Value>],
    order: &[usize],
    assignment: &mut Assignment,
) -> bool {
    let Some((first, rest)) = order.split_first() else { return true };
    for value in &candidates[*first] {
        assignment.insert(vars[*first], value.clone());
        let possible = facts.iter().all(|literal| holds(literal, assignment) != Some(false));
        if possible && assign(facts, vars, candidates, rest, assignment) {
            return true;
        }
    }
    assignment.remove(&vars[*first]);
    false
}

/// Whether the literal holds, if both its sides are assigned.
pub fn holds(literal: &Literal, assignment: &Assignment) -> Option<bool> {
    let value = |term: &Term| match term {
        Term::Const(value) => Some(value.clone()),
        Term::Var(var) => assignment.get(var).cloned(),
    };
    let [a, b] = sides(literal);
    let (a, b) = (value(a)?, value(b)?);
    Some(match (literal, a, b) {
        (Literal::Eq(..), a, b) => a == b,
        (Literal::Ne(..), a, b) => a != b,
        (Literal::AtMost { by, .. }, Value::Int(a), Value::Int(b)) => a - b <= *by,
        (Literal::AtMost { .. }, a, b) => panic!("{a:?} and {b:?} have no order"),
    })
}

fn sides(literal: &Literal) -> [&Term; 2] {
    let (Literal::Eq(a, b) | Literal::Ne(a, b) | Literal::AtMost { left: a, right: b, .. }) = literal;
    [a, b]
}

fn candidates(var: Var, facts: &Facts, vars: usize, sorts: &dyn Fn(Var) -> Sort) -> Vec<Value> {
    // A variable that is said to be a constant can be nothing else.
    for literal in facts {
        if let Literal::Eq(Term::Var(v), Term::Const(c)) | Literal::Eq(Term::Const(c), Term::Var(v)) = literal
            && *v == var
        {
            return vec![c.clone()];
        }
    }
    let constants = || {
        facts.iter().flat_map(sides).filter_map(|term| if let Term::Const(value) = term { Some(value) } else { None })
    };
    match sorts(var) {
        Sort::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Sort::Choice(options) => (0..i64::from(options)).map(Value::Int).collect(),
        Sort::Opaque => {
            let known: BTreeSet<&Value> = constants().filter(|value| matches!(value, Value::Opaque(_))).collect();
            let new = Value::Opaque(Arc::from(format!("new{var:?}")));
            std::iter::once(new).chain(known.into_iter().cloned()).collect()
        }
        Sort::Int => {
            let slack = |literal: &Literal| if let Literal::AtMost { by, .. } = literal { by.abs() } else { 0 };
            let reach = vars as i64 + facts.iter().map(slack).sum::<i64>();
            let mut all = BTreeSet::new();
            let anchors = constants().filter_map(|value| if let Value::Int(n) = value { Some(*n) } else { None });
            for anchor in anchors.chain([0]) {
                all.extend(anchor - reach..=anchor + reach);
            }
            all.into_iter().map(Value::Int).collect()
        }
    }
}

#[test]
fn tries_values() {
    let [x, y, z] = [1, 2, 3].map(|n| Term::Var(Var::numbered(n)));
    let int = |n| Term::Const(Value::Int(n));
    let less = |a: &Term, b: &Term| Literal::AtMost { left: a.clone(), right: b.clone(), by: -1 };
    let ints = |facts: &[Literal]| solve(&facts.iter().cloned().collect(), &|_| Sort::Int).is_some();
    assert!(ints(&[less(&x, &y), less(&y, &z)]));
    assert!(!ints(&[less(&x, &y), less(&y, &x)]));
    assert!(!ints(&[less(&x, &y), less(&y, &z), less(&z, &int(7)), less(&int(4), &x)]));
    assert!(ints(&[less(&x, &y), less(&y, &z), less(&z, &int(8)), less(&int(4), &x)]));
    let bools = |facts: &[Literal]| solve(&facts.iter().cloned().collect(), &|_| Sort::Bool).is_some();
    let ne = |a: &Term, b: &Term| Literal::Ne(a.clone(), b.clone());
    assert!(!bools(&[ne(&x, &y), ne(&y, &z), ne(&x, &z)]));
    let opaque = |facts: &[Literal]| solve(&facts.iter().cloned().collect(), &|_| Sort::Opaque).is_some();
    assert!(opaque(&[ne(&x, &y), ne(&y, &z), ne(&x, &z)]));
}
