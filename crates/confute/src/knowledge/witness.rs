//! Choice of a value for a variable, as a simulated server makes it.
//!
//! This is not a model finder: each candidate is checked against the facts, and the knowledge is exact only
//! for some of them.

use super::Knowledge;
use super::difference::{NONE, Range};
use super::facts::{Kind, Place, Slot};
use super::term::{Literal, Term, Value, Var};

/// Number of integers tried in each direction before the starting value is taken unchecked.
const TRIES: i128 = 256;

/// Number of possible new opaque values: enough to be new, and short to read.
const FRESH: u64 = 1 << 24;

pub(super) fn witness(knowledge: &Knowledge, var: Var, pick: &mut dyn FnMut(u64) -> u64) -> Value {
    let Some(facts) = &knowledge.facts else { return fresh(knowledge, pick) };
    match facts.place_of(var) {
        Place::Known(value) => value.clone(),
        Place::Class(_, None | Some(Kind::Opaque)) => opaque(knowledge, var, pick),
        Place::Class(_, Some(Kind::Bool)) => {
            let value = Value::Bool(pick(2) == 1);
            if possible(knowledge, var, &value) { value } else { Value::Bool(value == Value::Bool(false)) }
        }
        Place::Class(root, Some(Kind::Int)) => {
            let range = facts.differences.range(root);
            integer(range, pick, |value| possible(knowledge, var, &Value::Int(value)))
        }
    }
}

/// Returns mostly a new value, and now and then, if the facts allow it, a value that another variable has.
fn opaque(knowledge: &Knowledge, var: Var, pick: &mut dyn FnMut(u64) -> u64) -> Value {
    if pick(8) == 0 {
        let used: Vec<&Value> = known(knowledge).filter(|value| possible(knowledge, var, value)).collect();
        if !used.is_empty() {
            return used[pick(used.len() as u64) as usize].clone();
        }
    }
    fresh(knowledge, pick)
}

fn fresh(knowledge: &Knowledge, pick: &mut dyn FnMut(u64) -> u64) -> Value {
    let mut number = pick(FRESH);
    loop {
        let value = Value::Opaque(format!("{number:06x}").into());
        if known(knowledge).all(|other| *other != value) {
            return value;
        }
        number += 1;
    }
}

/// Returns every opaque value that occurs in the facts.
fn known(knowledge: &Knowledge) -> impl Iterator<Item = &Value> {
    let facts = knowledge.facts.as_deref();
    let bound =
        facts.into_iter().flat_map(|facts| facts.entries.iter()).filter_map(|entry| match &entry.slot {
            Slot::Bound(value) => Some(value),
            _ => None,
        });
    let excluded = facts.into_iter().flat_map(|facts| facts.excluded.iter()).map(|fact| &fact.1);
    bound.chain(excluded).filter(|value| matches!(value, Value::Opaque(_)))
}

/// Returns the first possible integer near the lower bound, or near a random one if there are few.
fn integer(range: Range, pick: &mut dyn FnMut(u64) -> u64, possible: impl Fn(i64) -> bool) -> Value {
    let low = range.low.max(i64::MIN.into());
    let high = range.high.min(i64::MAX.into());
    let width = u64::try_from(high - low).unwrap_or(0).saturating_add(1);
    let start = if range.low > -NONE {
        let step = if width <= 16 { pick(width) } else { pick(3) };
        low + i128::from(step)
    } else if range.high < NONE {
        high - i128::from(pick(3))
    } else {
        i128::from(pick(100))
    };
    // First upwards to the upper bound, then downwards from the start.
    let up = (0..TRIES).map(|step| start + step).filter(|value| *value <= high);
    let down = (1..TRIES).map(|step| start - step).filter(|value| *value >= low);
    let narrow = |value: i128| i64::try_from(value).ok();
    let found = up.chain(down).filter_map(narrow).find(|value| possible(*value));
    Value::Int(found.or(narrow(start)).unwrap_or_default())
}

fn possible(knowledge: &Knowledge, var: Var, value: &Value) -> bool {
    let literal = Literal::Eq(Term::Var(var), Term::Const(value.clone()));
    match knowledge.decide(&literal) {
        Some(answer) => answer,
        None => knowledge.clone().assert(&literal).is_ok(),
    }
}
