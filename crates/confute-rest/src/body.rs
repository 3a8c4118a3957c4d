//! Bodies of requests: valid by their schema, with the mark of the case and values that occur once.

use serde_json::{Map, Value};

use crate::ask::MARK;
use crate::message::Op;
use crate::outline::Ready;

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

/// Returns a body for an operation, whose mark is the `number`-th of the case. `None` if the operation has no body.
pub(crate) fn body(ready: &Ready, op: Op, number: u64, pick: &mut Pick<'_>) -> Option<Value> {
    let mut body = ready.sample(op, pick)?;
    mark(ready, op, number, &mut body);
    Some(body)
}

/// Puts the mark into a body.
fn mark(ready: &Ready, op: Op, number: u64, body: &mut Value) {
    let (Some(plan), Some(name)) = (ready.body(op), &ready.resource.mark) else { return };
    let unmarked = body.clone();
    if let Some(shown) = body.pointer_mut(&plan.at).and_then(Value::as_object_mut)
        && (op != Op::Patch || shown.contains_key(name))
    {
        shown.insert(name.clone(), format!("{MARK}t{number}").into());
    }
    if ready.misfit(op, body).is_some() {
        *body = unmarked;
    }
}

/// Returns a body that changes one field, the `place`-th of those that the client owns, as far as the schema allows it.
pub(crate) fn patch(ready: &Ready, place: usize, number: u64, pick: &mut Pick<'_>) -> Option<Value> {
    let plan = ready.body(Op::Patch)?;
    let mut last = None;
    for _ in 0..8 {
        let mut body = ready.sample(Op::Patch, pick)?;
        let whole = body.clone();
        let Some(chosen) = ready.own.get(place % ready.own.len().max(1)) else { return Some(body) };
        let fields = body.pointer_mut(&plan.at).and_then(Value::as_object_mut)?;
        let own = |name: &String| ready.own.iter().any(|own| **own == **name);
        let chosen = if fields.contains_key(&**chosen) {
            chosen.to_string()
        } else {
            fields.keys().find(|name| own(name)).cloned().unwrap_or_default()
        };
        let only: Map<String, Value> = fields
            .iter()
            .filter(|(name, _)| **name == chosen)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !only.is_empty() {
            *fields = only;
            mark(ready, Op::Patch, number, &mut body);
            if ready.misfit(Op::Patch, &body).is_none() {
                return Some(body);
            }
        }
        // Other fields are required too. Without the mark, the item would count as somebody else's.
        let mut body = whole;
        mark(ready, Op::Patch, number, &mut body);
        last = Some(body);
    }
    last
}
