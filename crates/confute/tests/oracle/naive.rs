//! A solver that tries values.
//!
//! A conjunction is satisfiable iff some assignment from a finite set of candidates satisfies it. For opaque
//! values: every constant mentioned, and one new value per variable. For integers: a solution can be shifted,
//! piece by piece, until every variable is within the sum of all slacks (plus one per variable, to evade
//! inequations) of a constant or of zero, so all numbers from the lowest of these to the highest are tried.
//! Variables that no fact connects are solved separately, and numbers outside the bounds implied by the
//! assigned ones are skipped: otherwise the solver would not finish. It shares nothing with
//! `confute::knowledge` but the vocabulary.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use confute::knowledge::{Literal, Sort, Term, Value, Var};

/// A conjunction of literals.
pub type Facts = BTreeSet<Literal>;

/// Value of each variable.
pub type Assignment = BTreeMap<Var, Value>;

/// Returns an assignment that satisfies all facts, if there is one.
pub fn solve(facts: &Facts, sorts: &dyn Fn(Var) -> Sort) -> Option<Assignment> {
    let mut assignment = Assignment::new();
    if facts.iter().any(|literal| holds(literal, &assignment) == Some(false)) {
        return None;
    }
    let mut left: BTreeSet<Var> = facts.iter().flat_map(vars).collect();
    while let Some(first) = left.pop_first() {
        // The group of all variables connected to `first`.
        let mut group = vec![first];
        let mut at = 0;
        while at < group.len() {
            let member = group[at];
            for var in facts.iter().filter(|literal| vars(literal).contains(&member)).flat_map(vars) {
                if left.remove(&var) {
                    group.push(var);
                }
            }
            at += 1;
        }
        let own: Vec<&Literal> =
            facts.iter().filter(|literal| vars(literal).iter().any(|var| group.contains(var))).collect();
        let candidates = group.iter().map(|var| (*var, candidates(*var, &own, group.len(), sorts))).collect();
        if !assign(&own, &candidates, &mut assignment) {
            return None;
        }
    }
    Some(assignment)
}

/// Assigns values to the variables that have none yet. Returns `true` on success.
fn assign(facts: &[&Literal], candidates: &BTreeMap<Var, Vec<Value>>, assignment: &mut Assignment) -> bool {
    let Some(bounds) = bounds(facts, candidates, assignment) else { return false };
    let possible = |var: Var| -> Vec<&Value> {
        let fits = |value: &&Value| match (value, bounds.get(&var)) {
            (Value::Int(n), Some((low, high))) => low <= n && n <= high,
            _ => true,
        };
        candidates[&var].iter().filter(fits).collect()
    };
    let open = candidates.keys().copied().filter(|var| !assignment.contains_key(var));
    let Some(var) = open.min_by_key(|var| possible(*var).len()) else { return true };
    for value in possible(var) {
        assignment.insert(var, value.clone());
        if facts.iter().all(|literal| holds(literal, assignment) != Some(false))
            && assign(facts, candidates, assignment)
        {
            return true;
        }
    }
    assignment.remove(&var);
    false
}

/// Returns the bounds of each integer variable; `None` if they exclude each other.
fn bounds(
    facts: &[&Literal],
    candidates: &BTreeMap<Var, Vec<Value>>,
    assignment: &Assignment,
) -> Option<BTreeMap<Var, (i64, i64)>> {
    let mut bounds = BTreeMap::new();
    for (var, values) in candidates {
        if let (Some(Value::Int(low)), Some(Value::Int(high))) = (values.first(), values.last()) {
            let own = if let Some(Value::Int(n)) = assignment.get(var) { (*n, *n) } else { (*low, *high) };
            bounds.insert(*var, own);
        }
    }
    loop {
        let before = bounds.clone();
        for literal in facts {
            let [a, b] = sides(literal);
            match literal {
                Literal::AtMost { by, .. } => narrow(&mut bounds, a, b, *by),
                Literal::Eq(..) => {
                    narrow(&mut bounds, a, b, 0);
                    narrow(&mut bounds, b, a, 0);
                }
                Literal::Ne(..) => {}
            }
        }
        if bounds.values().any(|(low, high)| low > high) {
            return None;
        }
        if bounds == before {
            return Some(bounds);
        }
    }
}

/// Narrows the bounds by `left − right ≤ by`.
fn narrow(bounds: &mut BTreeMap<Var, (i64, i64)>, left: &Term, right: &Term, by: i64) {
    let of = |term: &Term| match term {
        Term::Const(Value::Int(n)) => Some((*n, *n)),
        Term::Const(_) => None,
        Term::Var(var) => bounds.get(var).copied(),
    };
    let (Some((low, _)), Some((_, high))) = (of(left), of(right)) else { return };
    if let Term::Var(var) = left {
        let own = bounds.get_mut(var).unwrap();
        own.1 = own.1.min(high + by);
    }
    if let Term::Var(var) = right {
        let own = bounds.get_mut(var).unwrap();
        own.0 = own.0.max(low - by);
    }
}

fn vars(literal: &Literal) -> Vec<Var> {
    sides(literal)
        .into_iter()
        .filter_map(|term| if let Term::Var(var) = term { Some(*var) } else { None })
        .collect()
}

/// Returns `true` if the literal holds; `None` unless both its sides are assigned.
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

fn candidates(var: Var, facts: &[&Literal], vars: usize, sorts: &dyn Fn(Var) -> Sort) -> Vec<Value> {
    // A variable that a fact equates with a constant has no other candidate.
    for literal in facts {
        if let Literal::Eq(Term::Var(v), Term::Const(c)) | Literal::Eq(Term::Const(c), Term::Var(v)) = literal
            && *v == var
        {
            return vec![c.clone()];
        }
    }
    let constants = || {
        facts
            .iter()
            .flat_map(|literal| sides(literal))
            .filter_map(|term| if let Term::Const(value) = term { Some(value) } else { None })
    };
    match sorts(var) {
        Sort::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Sort::Choice(options) => (0..i64::from(options)).map(Value::Int).collect(),
        Sort::Opaque => {
            let known: BTreeSet<&Value> =
                constants().filter(|value| matches!(value, Value::Opaque(_))).collect();
            let new = Value::Opaque(Arc::from(format!("new{var:?}")));
            std::iter::once(new).chain(known.into_iter().cloned()).collect()
        }
        Sort::Int => {
            let slack =
                |literal: &&Literal| if let Literal::AtMost { by, .. } = literal { by.abs() } else { 0 };
            let reach = vars as i64 + facts.iter().map(slack).sum::<i64>();
            let anchors =
                || constants().filter_map(|value| if let Value::Int(n) = value { Some(*n) } else { None });
            let low = anchors().chain([0]).min().unwrap() - reach;
            let high = anchors().chain([0]).max().unwrap() + reach;
            (low..=high).map(Value::Int).collect()
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

/// Checks that the bounds, the only clever part of this solver, do not change its result.
#[test]
fn misses_nothing() {
    let mut random = confute::random::Random::new(7);
    let mut below = |bound: u64| random.below(bound) as i64;
    for _ in 0..400 {
        let mut term = |constants: bool| match below(if constants { 5 } else { 3 }) {
            n @ 0..3 => Term::Var(Var::numbered(n.cast_unsigned())),
            _ => Term::Const(Value::Int(below(4))),
        };
        let pairs: Vec<(Term, Term)> = (0..6).map(|_| (term(false), term(true))).collect();
        let facts: Facts = pairs
            .into_iter()
            .take(1 + below(6).cast_unsigned() as usize)
            .map(|(a, b)| match below(5) {
                0 => Literal::Eq(a, b),
                1 => Literal::Ne(a, b),
                2 => Literal::AtMost { left: b, right: a, by: below(3) - 2 },
                _ => Literal::AtMost { left: a, right: b, by: below(3) - 2 },
            })
            .collect();
        let reach = -16..=19;
        let some = reach.clone().any(|x| {
            reach.clone().any(|y| {
                reach.clone().any(|z| {
                    let assignment = (0..).map(Var::numbered).zip([x, y, z].map(Value::Int)).collect();
                    facts.iter().all(|literal| holds(literal, &assignment) == Some(true))
                })
            })
        });
        assert_eq!(solve(&facts, &|_| Sort::Int).is_some(), some, "{facts:?}");
    }
}
