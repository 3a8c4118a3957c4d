//! Schemas of OpenAPI as self-contained schemas of draft 2020-12.
//!
//! Schemas of 3.0 are a dialect of an early draft (`nullable`, truth values for exclusive bounds, references without
//! siblings). What a request may contain differs from what an answer contains: `readOnly` properties are no part of a
//! request, and `writeOnly` properties are not required in an answer.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Error;
use super::document::Document;
use super::text::escape;

/// The direction in which a value travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Request,
    Answer,
}

/// Maximum depth of nested schemas.
const MAX_DEPTH: usize = 100;
/// Maximum number of values of a schema whose definitions are written where they are used.
const MAX_INLINE: usize = 2000;
/// Keywords for people, and those of OpenAPI that demand nothing.
const SILENT: [&str; 11] = [
    "title",
    "description",
    "deprecated",
    "externalDocs",
    "xml",
    "discriminator",
    "nullable",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
];

/// Returns the schema at a place of the document.
pub(super) fn standalone(
    document: &Document,
    schema: &Value,
    pointer: &str,
    direction: Direction,
) -> Result<Value, Error> {
    let mut work = Work { document, direction, names: BTreeMap::new(), open: Vec::new() };
    let mut whole = work.schema(schema, pointer, 0)?;
    let mut definitions = Map::new();
    while let Some((name, pointer)) = work.open.pop() {
        let part = document.root().pointer(&pointer).unwrap_or(&Value::Null);
        let converted = work.schema(part, &pointer, 0)?;
        definitions.insert(name, converted);
    }
    let mut room = MAX_INLINE;
    if let Some(inlined) = inline(&whole, &definitions, &mut Vec::new(), &mut room) {
        return Ok(inlined);
    }
    if !definitions.is_empty() {
        let definitions = Value::Object(definitions);
        match &mut whole {
            Value::Object(whole) => {
                whole.insert("$defs".to_owned(), definitions);
            }
            other => whole = json!({"allOf": [other.clone()], "$defs": definitions}),
        }
    }
    Ok(whole)
}

/// Writes each definition where it is referred to, which people read more easily. Returns `None` if a definition contains
/// itself, or if the schema becomes too large.
fn inline(
    schema: &Value,
    definitions: &Map<String, Value>,
    within: &mut Vec<String>,
    room: &mut usize,
) -> Option<Value> {
    *room = room.checked_sub(1)?;
    match schema {
        Value::Object(parts) => {
            let mut made = Map::new();
            for (key, value) in parts.iter().filter(|(key, _)| *key != "$ref") {
                made.insert(key.clone(), inline(value, definitions, within, room)?);
            }
            // A property may be called `$ref` as well; then its value is a schema, not a text.
            let Some(reference) = parts.get("$ref") else { return Some(Value::Object(made)) };
            let Some(name) = reference.as_str().and_then(|reference| reference.strip_prefix("#/$defs/"))
            else {
                made.insert("$ref".to_owned(), inline(reference, definitions, within, room)?);
                return Some(Value::Object(made));
            };
            if within.iter().any(|outer| outer == name) {
                return None;
            }
            within.push(name.to_owned());
            let target = inline(definitions.get(name)?, definitions, within, room)?;
            within.pop();
            if made.is_empty() {
                return Some(target);
            }
            Some(json!({"allOf": [target, Value::Object(made)]}))
        }
        Value::Array(parts) => parts
            .iter()
            .map(|part| inline(part, definitions, within, room))
            .collect::<Option<_>>()
            .map(Value::Array),
        other => Some(other.clone()),
    }
}

/// A conversion under way.
struct Work<'a> {
    document: &'a Document,
    direction: Direction,
    /// Name in `$defs` by the pointer in the document.
    names: BTreeMap<String, String>,
    /// Definitions that are referred to and not converted yet.
    open: Vec<(String, String)>,
}

impl Work<'_> {
    fn schema(&mut self, schema: &Value, place: &str, depth: usize) -> Result<Value, Error> {
        let form =
            |reason: &str| Err(Error::Form { reason: reason.to_owned(), place: self.document.place(place) });
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(_) => return Ok(schema.clone()),
            _ => return form("a schema is neither an object nor a truth value"),
        };
        if depth > MAX_DEPTH {
            return form("schemas are nested too deeply");
        }
        let mut made = Map::new();
        if let Some(reference) = schema.get("$ref") {
            let Some(reference) = reference.as_str() else { return form("`$ref` is no text") };
            let name = self.name_of(reference, place)?;
            made.insert("$ref".to_owned(), json!(format!("#/$defs/{name}")));
            if self.document.is_30 {
                return Ok(Value::Object(made));
            }
        }
        for (key, value) in schema {
            let at = format!("{place}/{}", escape(key));
            match key.as_str() {
                "$ref" | "$id" | "$anchor" => {}
                silent if SILENT.contains(&silent) || silent.starts_with("x-") => {}
                "example" => {
                    made.entry("examples").or_insert_with(|| json!([value]));
                }
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                    let Value::Object(parts) = value else { return form(&format!("`{key}` is no object")) };
                    let mut map = Map::new();
                    for (name, part) in parts {
                        if key != "properties" || !self.is_foreign(part)? {
                            let part = self.schema(part, &format!("{at}/{}", escape(name)), depth + 1)?;
                            map.insert(name.clone(), part);
                        }
                    }
                    made.insert(key.clone(), Value::Object(map));
                }
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties" => {
                    let part = self.schema(value, &at, depth + 1)?;
                    made.insert(key.clone(), part);
                }
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    let Value::Array(parts) = value else { return form(&format!("`{key}` is no array")) };
                    let mut list = Vec::new();
                    for (index, part) in parts.iter().enumerate() {
                        list.push(self.schema(part, &format!("{at}/{index}"), depth + 1)?);
                    }
                    made.insert(key.clone(), Value::Array(list));
                }
                _ => {
                    made.insert(key.clone(), value.clone());
                }
            }
        }
        self.require(schema, &mut made)?;
        if self.document.is_30 {
            return Ok(modern(schema, made));
        }
        Ok(Value::Object(made))
    }

    /// Leaves out of `required` the properties that do not travel in this direction.
    fn require(&self, schema: &Map<String, Value>, made: &mut Map<String, Value>) -> Result<(), Error> {
        let Some(Value::Array(names)) = made.get_mut("required") else { return Ok(()) };
        let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
        let mut kept = Vec::new();
        for name in names.drain(..) {
            let part = name.as_str().and_then(|name| properties.get(name));
            let is_absent = match part {
                Some(part) => self.has(part, self.other_side())?,
                None => false,
            };
            if !is_absent {
                kept.push(name);
            }
        }
        if kept.is_empty() {
            made.remove("required");
        } else {
            *names = kept;
        }
        Ok(())
    }

    /// Returns the keyword that excludes a property from this direction.
    fn other_side(&self) -> &'static str {
        match self.direction {
            Direction::Request => "readOnly",
            Direction::Answer => "writeOnly",
        }
    }

    /// Returns `true` for a property that has no place in a request.
    fn is_foreign(&self, part: &Value) -> Result<bool, Error> {
        Ok(self.direction == Direction::Request && self.has(part, "readOnly")?)
    }

    fn has(&self, part: &Value, flag: &str) -> Result<bool, Error> {
        has_flag(self.document, part, flag)
    }

    /// Returns the name in `$defs` of the part that a reference leads to.
    fn name_of(&mut self, reference: &str, place: &str) -> Result<String, Error> {
        let pointer = self.document.pointer_of(reference, place)?;
        if self.document.root().pointer(&pointer).is_none() {
            return Err(self.document.lost(reference, place));
        }
        if let Some(name) = self.names.get(&pointer) {
            return Ok(name.clone());
        }
        let last = pointer.rsplit('/').next().unwrap_or_default().to_owned();
        // Names of other characters would need escapes, about which readers of references disagree.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let last: String = last.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let last = if last.is_empty() { "whole".to_owned() } else { last };
        let mut name = last.clone();
        let mut count = 1;
        while self.names.values().any(|other| *other == name) {
            count += 1;
            name = format!("{last}{count}");
        }
        self.names.insert(pointer.clone(), name.clone());
        self.open.push((name.clone(), pointer));
        Ok(name)
    }
}

/// Returns `true` if a schema, or one that it refers to, has a flag (`readOnly`, `writeOnly`).
pub(super) fn has_flag(document: &Document, schema: &Value, flag: &str) -> Result<bool, Error> {
    let mut now = schema;
    for _ in 0..8 {
        if now.get(flag) == Some(&Value::Bool(true)) {
            return Ok(true);
        }
        let part = match (now.get("$ref").and_then(Value::as_str), now.get("allOf").and_then(Value::as_array))
        {
            (Some(reference), _) => reference,
            // 3.0 has no siblings of references, so people write `allOf: [$ref], readOnly: true`.
            (None, Some(all)) if all.len() == 1 => {
                now = &all[0];
                continue;
            }
            _ => return Ok(false),
        };
        let pointer = document.pointer_of(part, "")?;
        match document.root().pointer(&pointer) {
            Some(next) => now = next,
            None => return Ok(false),
        }
    }
    Ok(false)
}

/// Rewrites what 3.0 says differently.
fn modern(old: &Map<String, Value>, mut made: Map<String, Value>) -> Value {
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        match made.remove(exclusive) {
            Some(Value::Bool(true)) => {
                if let Some(number) = made.remove(bound) {
                    made.insert(exclusive.to_owned(), number);
                }
            }
            Some(number @ Value::Number(_)) => {
                made.insert(exclusive.to_owned(), number);
            }
            _ => {}
        }
    }
    if old.get("nullable") != Some(&Value::Bool(true)) {
        return Value::Object(made);
    }
    if let Some(Value::Array(values)) = made.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let has_parts = ["allOf", "anyOf", "oneOf"].iter().any(|key| made.contains_key(*key));
    match made.get_mut("type") {
        Some(one @ Value::String(_)) => *one = json!([one.clone(), "null"]),
        None if has_parts => return json!({"anyOf": [Value::Object(made), {"type": "null"}]}),
        _ => {}
    }
    Value::Object(made)
}
