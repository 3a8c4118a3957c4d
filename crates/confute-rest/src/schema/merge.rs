//! Schemas made plain: references followed, and `allOf` merged into one object.
//!
//! Merging is not exact (the intersection of two patterns is no pattern); where it is not, it keeps one of the two demands,
//! and the validator sorts out the values that break the other.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Maximum number of references that are followed for one schema.
const MAX_STEPS: usize = 64;

/// Returns the part of `root` that a local reference names.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
}

/// Returns a schema without `$ref` and `allOf` at its top. `None` stands for a schema that nothing satisfies.
pub(crate) fn flat(root: &Value, schema: &Value) -> Option<Map<String, Value>> {
    let mut steps = 0;
    flat_within(root, schema, &mut steps)
}

fn flat_within(root: &Value, schema: &Value, steps: &mut usize) -> Option<Map<String, Value>> {
    *steps += 1;
    if *steps > MAX_STEPS {
        return None;
    }
    let Value::Object(schema) = schema else {
        return (*schema != Value::Bool(false)).then(Map::new);
    };
    let mut plain = schema.clone();
    let reference = plain.remove("$ref");
    let all = plain.remove("allOf");
    if let Some(Value::String(reference)) = reference {
        plain = merge(flat_within(root, resolve(root, &reference)?, steps)?, plain);
    }
    if let Some(Value::Array(all)) = all {
        for one in &all {
            plain = merge(plain, flat_within(root, one, steps)?);
        }
    }
    Some(plain)
}

/// Merges the demands of two schemas.
pub(crate) fn merge(mut left: Map<String, Value>, right: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in right {
        let merged = match left.remove(&key) {
            None => value,
            Some(old) => merge_demand(&key, old, value),
        };
        left.insert(key, merged);
    }
    left
}

fn merge_demand(key: &str, old: Value, new: Value) -> Value {
    match (key, old, new) {
        ("required", Value::Array(mut names), Value::Array(more)) => {
            for name in more {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Value::Array(names)
        }
        ("properties" | "patternProperties", Value::Object(mut old), Value::Object(new)) => {
            for (name, schema) in new {
                let merged = match old.remove(&name) {
                    None => schema,
                    Some(first) if first == schema => first,
                    Some(first) => serde_json::json!({"allOf": [first, schema]}),
                };
                old.insert(name, merged);
            }
            Value::Object(old)
        }
        ("items" | "additionalProperties", old @ Value::Object(_), new @ Value::Object(_)) if old != new => {
            serde_json::json!({"allOf": [old, new]})
        }
        ("items" | "additionalProperties", Value::Bool(true), new) => new,
        ("items" | "additionalProperties", old, Value::Bool(true)) => old,
        ("enum", Value::Array(old), Value::Array(new)) => {
            Value::Array(old.into_iter().filter(|one| new.contains(one)).collect())
        }
        ("type", old, new) => merge_types(&old, &new),
        ("minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties", old, new) => {
            if less(&old, &new) { new } else { old }
        }
        ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties", old, new) => {
            if less(&new, &old) { new } else { old }
        }
        ("anyOf" | "oneOf", Value::Array(old), Value::Array(new)) if old != new => {
            // Both lists hold: each alternative of the first is combined with each of the second, up to a bound.
            let pairs = old
                .iter()
                .flat_map(|left| new.iter().map(move |right| serde_json::json!({"allOf": [left, right]})));
            Value::Array(pairs.take(MAX_STEPS).collect())
        }
        (_, _, new) => new,
    }
}

fn merge_types(old: &Value, new: &Value) -> Value {
    let list = |value: &Value| match value {
        Value::Array(types) => types.clone(),
        other => vec![other.clone()],
    };
    let new = list(new);
    let both = list(old).into_iter().filter_map(|one| {
        if new.contains(&one) {
            Some(one)
        } else if one == "number" && new.iter().any(|other| other == "integer") {
            Some(Value::from("integer"))
        } else if one == "integer" && new.iter().any(|other| other == "number") {
            Some(one)
        } else {
            None
        }
    });
    Value::Array(both.collect())
}

fn less(left: &Value, right: &Value) -> bool {
    let numbers = left.as_f64().zip(right.as_f64());
    numbers.and_then(|(left, right)| left.partial_cmp(&right)) == Some(Ordering::Less)
}

/// Returns the types that a plain schema allows, the null type last; guessed from its other keywords if it names none.
pub(crate) fn types(schema: &Map<String, Value>) -> Vec<String> {
    let mut types: Vec<String> = match schema.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => guessed(schema).into_iter().map(str::to_owned).collect(),
    };
    types.sort_by_key(|one| one == "null");
    types
}

fn guessed(schema: &Map<String, Value>) -> Option<&'static str> {
    let has = |names: &[&str]| names.iter().any(|name| schema.contains_key(*name));
    if has(&["properties", "required", "additionalProperties", "minProperties", "patternProperties"]) {
        Some("object")
    } else if has(&["items", "minItems", "maxItems", "prefixItems", "uniqueItems", "contains"]) {
        Some("array")
    } else if has(&["pattern", "format", "minLength", "maxLength"]) {
        Some("string")
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Some("number")
    } else {
        None
    }
}
