//! JSON values in one form, so that equal values have equal texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Number, Value};

/// Fields of a representation, each in its one form.
pub(crate) type Fields = BTreeMap<Arc<str>, Arc<str>>;

/// Largest integer up to which every integer is a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the text of a value. Equal values have equal texts: `1.0` is `1`, and the order of fields is that of their names.
pub(crate) fn text(value: &Value) -> Arc<str> {
    normal(value).to_string().into()
}

fn normal(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(double) if number.is_f64() && double.fract() == 0.0 && double.abs() <= EXACT => {
                Value::Number(Number::from(double as i64))
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, Value> =
                fields.iter().map(|(name, value)| (name, normal(value))).collect();
            sorted.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        _ => value.clone(),
    }
}

/// Returns the value at a JSON pointer, to be changed. Objects on the way are made if they are missing.
pub(crate) fn place<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    let mut at = value;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        if at.is_null() {
            *at = Value::Object(serde_json::Map::new());
        }
        at = at.as_object_mut()?.entry(name).or_insert(Value::Null);
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_texts() {
        let parsed = |text: &str| super::text(&serde_json::from_str(text).unwrap());
        assert_eq!(parsed(r#"{"b": 1.0, "a": [-0.0, 1e2]}"#), parsed(r#"{"a": [0, 100], "b": 1}"#));
        assert_ne!(parsed("1.5"), parsed("1"));
        assert_ne!(parsed("\"1\""), parsed("1"));
    }

    #[test]
    fn places() {
        let mut value = Value::Null;
        *place(&mut value, "/data/a~1b").unwrap() = 1.into();
        assert_eq!(value, serde_json::json!({"data": {"a/b": 1}}));
        assert!(place(&mut serde_json::json!([]), "/data").is_none());
    }
}
