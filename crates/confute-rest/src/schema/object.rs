//! Objects and arrays.

use serde_json::{Map, Value};

use super::Error;
use super::merge;
use super::sample::Walk;

/// Number of elements that an array has beyond its minimum, at most.
const MORE: u64 = 3;
/// Attempts to find another element for an array without repetitions.
const ATTEMPTS: usize = 20;

/// Makes an object: all required properties, and some of the others.
pub(super) fn object(walk: &mut Walk<'_>, schema: &Map<String, Value>) -> Result<Value, Error> {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let mut made = Map::new();
    for name in strings(schema.get("required")) {
        require(walk, schema, properties, &mut made, &name)?;
    }
    let maximum = count(schema, "maxProperties").unwrap_or(u64::MAX);
    for (name, property) in properties {
        let is_wanted = !walk.is_deep() && !made.contains_key(name) && (walk.pick)(2) == 1;
        if is_wanted && (made.len() as u64) < maximum {
            // An optional part without a value is left out.
            if let Ok(value) = walk.part(name, property) {
                made.insert(name.clone(), value);
            }
        }
    }
    if let Some(dependent) = schema.get("dependentRequired").and_then(Value::as_object) {
        for (name, others) in dependent {
            if made.contains_key(name) {
                for other in strings(Some(others)) {
                    require(walk, schema, properties, &mut made, &other)?;
                }
            }
        }
    }
    let minimum = count(schema, "minProperties").unwrap_or(0);
    for (name, property) in properties {
        if (made.len() as u64) < minimum && !made.contains_key(name) {
            made.insert(name.clone(), walk.part(name, property)?);
        }
    }
    let mut number = 0;
    while (made.len() as u64) < minimum && number < minimum {
        let name = format!("extra{number}");
        require(walk, schema, properties, &mut made, &name)?;
        number += 1;
    }
    Ok(Value::Object(made))
}

/// Adds a property that must be there.
fn require(
    walk: &mut Walk<'_>,
    schema: &Map<String, Value>,
    properties: &Map<String, Value>,
    made: &mut Map<String, Value>,
    name: &str,
) -> Result<(), Error> {
    if made.contains_key(name) {
        return Ok(());
    }
    let other = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
    let property = properties.get(name).unwrap_or(other);
    if *property == Value::Bool(false) {
        return walk.fail(format!("`{name}` is required and forbidden"));
    }
    let value = walk.part(name, property)?;
    made.insert(name.to_owned(), value);
    Ok(())
}

/// Makes an array.
pub(super) fn array(walk: &mut Walk<'_>, schema: &Map<String, Value>) -> Result<Value, Error> {
    let minimum = count(schema, "minItems").unwrap_or(0);
    let maximum = count(schema, "maxItems").unwrap_or(u64::MAX);
    if minimum > maximum {
        return walk.fail("minItems is more than maxItems");
    }
    let prefix = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let items = schema.get("items").unwrap_or(&Value::Bool(true));
    let mut wanted = minimum;
    if *items != Value::Bool(false) && !walk.is_deep() {
        wanted += (walk.pick)(MORE.min(maximum - minimum) + 1);
    }
    if wanted > 10_000 {
        return walk.fail("it needs more than 10,000 elements");
    }
    let is_set = schema.get("uniqueItems") == Some(&Value::Bool(true));
    let contains = schema.get("contains");
    let mut made: Vec<Value> = Vec::new();
    if contains.is_some() && wanted == 0 && count(schema, "minContains") != Some(0) {
        wanted = 1;
    }
    let mut attempts = 0;
    while (made.len() as u64) < wanted {
        let index = made.len();
        let at = prefix.get(index).unwrap_or(items);
        let both;
        let at = match contains {
            Some(contained) if index == 0 => {
                both = serde_json::json!({"allOf": [at, contained]});
                &both
            }
            _ => at,
        };
        let value = walk.part(&index.to_string(), at)?;
        if is_set && made.contains(&value) {
            attempts += 1;
            if attempts > ATTEMPTS {
                if made.len() as u64 >= minimum {
                    break;
                }
                return walk.fail("it has too few different elements");
            }
            continue;
        }
        made.push(value);
    }
    Ok(Value::Array(made))
}

/// Returns the words of an array.
pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Returns a keyword that counts something.
pub(super) fn count(schema: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = schema.get(key)?;
    // `2.0` is an integer of JSON Schema.
    value.as_u64().or_else(|| crate::json::text(value).parse().ok())
}

/// Returns `true` if a service can store values of this schema only as they were sent: a value of it has no optional parts
/// that a service may fill in, no order that it may change, and no second way to write the same.
pub(crate) fn is_stable(root: &Value, schema: &Value) -> bool {
    is_stable_within(root, schema, 0)
}

fn is_stable_within(root: &Value, schema: &Value, depth: usize) -> bool {
    const TOO_DEEP: usize = 12;
    let Some(plain) = merge::flat(root, schema) else { return false };
    if depth > TOO_DEEP {
        return false;
    }
    let inner = |part: &Value| is_stable_within(root, part, depth + 1);
    for key in ["oneOf", "anyOf"] {
        if let Some(branches) = plain.get(key).and_then(Value::as_array)
            && !branches.iter().all(inner)
        {
            return false;
        }
    }
    let loose =
        ["date-time", "time", "duration", "password", "binary", "decimal", "html", "markdown", "byte"];
    if plain.get("format").and_then(Value::as_str).is_some_and(|format| loose.contains(&format)) {
        return false;
    }
    if plain.get("uniqueItems") == Some(&Value::Bool(true)) || plain.contains_key("if") {
        return false;
    }
    let parts = ["items", "additionalProperties"].into_iter().filter_map(|key| plain.get(key));
    if !parts.into_iter().all(inner)
        || !plain.get("prefixItems").and_then(Value::as_array).is_none_or(|all| all.iter().all(inner))
    {
        return false;
    }
    let required = strings(plain.get("required"));
    let properties = plain.get("properties").and_then(Value::as_object);
    properties.is_none_or(|all| all.iter().all(|(name, part)| required.contains(name) && inner(part)))
}
