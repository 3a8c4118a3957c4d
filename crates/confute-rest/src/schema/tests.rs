//! Values are made of every kind of schema, simple and random ones; contradictions are reported with their place.

use serde_json::{Value, json};

use super::*;

/// A generator of numbers for `pick`.
fn picks(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below.max(1)
    }
}

/// Makes many values. Each is checked by a validator of its own, which does not know how it was made.
fn many(schema: &Value) -> Vec<Value> {
    let sampler = Sampler::new(schema).unwrap();
    let compiled = Compiled::new(schema).unwrap();
    let made: Vec<Value> = (0..100)
        .map(|seed| sampler.sample(&mut picks(seed)).unwrap_or_else(|error| panic!("{schema}: {error}")))
        .collect();
    for value in &made {
        assert_eq!(compiled.check(value), None, "{schema} does not allow {value}");
    }
    made
}

#[test]
fn values_of_every_kind_of_schema_are_valid() {
    let schemas = [
        json!(true),
        json!({}),
        json!({"type": "string", "minLength": 5, "maxLength": 5}),
        json!({"type": "string", "maxLength": 1}),
        json!({"type": "string", "pattern": "^[A-Z]{2}-\\d{4}(x|y)?$"}),
        json!({"type": "string", "pattern": "^\\S+@\\S+\\.[a-z]{2,}$", "maxLength": 40}),
        json!({"type": "string", "pattern": "abc"}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "format": "ipv6"}),
        json!({"type": "string", "format": "of our own"}),
        json!({"type": "integer", "minimum": -3, "exclusiveMaximum": 1}),
        json!({"type": "integer", "minimum": 7, "multipleOf": 5}),
        json!({"type": "integer", "maximum": -100}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}),
        json!({"type": "number", "multipleOf": 0.25}),
        json!({"type": ["string", "null"]}),
        json!({"enum": [null, "a", 3]}),
        json!({"const": {"a": [1]}}),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true}),
        json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "items": false}),
        json!({"type": "array", "contains": {"const": 7}}),
        json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "c": {"type": "boolean"}}}),
        json!({"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}),
        json!({"properties": {"a": {"type": "integer"}}, "dependentRequired": {"a": ["b"]}}),
        json!({"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "integer", "minimum": 5}}}, {"properties": {"a": {"maximum": 6}}}]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 4}]}),
        json!({"oneOf": [{"properties": {"k": {"const": "a"}}, "required": ["k", "x"]}, {"properties": {"k": {"const": "b"}}, "required": ["k"]}]}),
        json!({"anyOf": [{"type": "null"}, {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}]}),
        json!({"type": "object", "required": ["k"], "properties": {"k": {"enum": ["a", "b"]}}, "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["x"]}}),
        json!({"type": "integer", "minimum": 0, "maximum": 3, "not": {"const": 0}}),
        json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}}}}}),
    ];
    for schema in &schemas {
        many(schema);
    }
}

#[test]
fn zeros_lead_to_the_required_parts_alone() {
    let schema = json!({"type": "object", "required": ["title"], "properties": {
        "title": {"type": "string"}, "done": {"type": "boolean"}, "rank": {"type": "integer"}}});
    assert_eq!(sample(&schema, &mut |_| 0).unwrap(), json!({"title": "aaa"}));
}

#[test]
fn random_values_use_every_part() {
    let schema = json!({"type": "object", "required": ["k"], "properties": {
        "k": {"enum": ["a", "b", "c"]}, "n": {"type": ["integer", "null"]}}});
    let made = many(&schema);
    for kind in ["a", "b", "c"] {
        assert!(made.iter().any(|value| value["k"] == kind), "never {kind}");
    }
    assert!(made.iter().any(|value| value.get("n").is_some()));
    assert!(made.iter().any(|value| value.get("n").is_none()));
    assert!(made.iter().all(|value| value.get("n") != Some(&Value::Null)), "null though a number is allowed");
}

#[test]
fn contradictions_are_reported_with_their_place() {
    let cases = [
        (json!(false), "allows no value"),
        (
            json!({"type": "string", "minLength": 3, "maxLength": 2}),
            "minLength is more than maxLength, at the whole",
        ),
        (
            json!({"properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}, "required": ["a"]}),
            "/a",
        ),
        (json!({"allOf": [{"type": "integer"}, {"type": "string"}]}), "exclude each other"),
        (json!({"required": ["a"], "additionalProperties": false}), "`a` is required and forbidden"),
        (json!({"enum": []}), "no value of `enum` is left"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}}}}}),
            "requires itself without end",
        ),
        (json!({"type": "string", "pattern": "^(?!a)b{3}$", "maxLength": 2}), "pattern"),
        (json!({"type": "string", "enum": ["a"], "not": {"const": "a"}}), "cannot be satisfied"),
    ];
    for (schema, part) in cases {
        let error = match Sampler::new(&schema).and_then(|sampler| sampler.sample(&mut picks(1))) {
            Ok(value) => panic!("{schema} cannot allow {value}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(part), "{schema}: {error}");
    }
}

#[test]
fn examples_help_with_patterns_beyond_the_sampler() {
    let schema = json!({"type": "string", "pattern": "^(?=.*7)[a-z7]{3}$", "examples": ["wrong", "ab7"]});
    assert_eq!(sample(&schema, &mut |_| 0).unwrap(), json!("ab7"));
}

#[test]
fn a_schema_that_is_none_is_reported() {
    let error = Compiled::new(&json!({"type": 5})).unwrap_err().to_string();
    assert!(error.contains("no valid JSON Schema"), "{error}");
}

#[test]
fn the_first_error_names_its_place() {
    let compiled = Compiled::new(&json!({"properties": {"a": {"type": "integer"}}})).unwrap();
    assert_eq!(compiled.check(&json!({"a": "x"})).unwrap(), "the value is not of type \"integer\", at /a");
    // Formats are annotations: services that write dates without a time zone are not accused.
    let formats = Compiled::new(&json!({"type": "string", "format": "date-time"})).unwrap();
    assert_eq!(formats.check(&json!("2024-01-01T00:00:00")), None);
}

#[test]
fn fields_that_services_may_rewrite_are_not_stable() {
    let cases = [
        (json!({"type": "string"}), true),
        (json!({"type": "array", "items": {"type": "string"}}), true),
        (json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}), false),
        (json!({"type": "string", "format": "date-time"}), false),
        (json!({"anyOf": [{"type": "string", "format": "time"}, {"type": "null"}]}), false),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}}), false),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}), true),
    ];
    for (schema, expected) in cases {
        assert_eq!(is_stable(&schema, &schema), expected, "{schema}");
    }
}
