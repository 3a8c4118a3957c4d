//! Entries as JSON objects, for histories of any origin.
//!
//! ```json
//! {"process": 3, "type": "invoke", "f": "enqueue", "value": 17}
//! {"process": 3, "type": "ok", "f": "enqueue"}
//! ```
//!
//! The fields are those of Jepsen: `process` (a number, or `"nemesis"`), `type` (`invoke`, `ok`, `fail` or `info`), `f`
//! (the name of the operation), and optionally `key`, `value` and `error`. Other fields are ignored. A value is
//! translated to the EDN value of the same shape, so that models read one notation only.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::edn::Edn;
use super::form::{Fault, Said};
use super::{Entry, Phase};

/// Parses one object.
pub(super) fn entry(text: &str, line: usize) -> Result<Said, Fault> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
        // An element of an array may span several lines; then the place is that of the element.
        let at = if error.line() <= 1 { error.column().saturating_sub(1).min(text.len()) } else { 0 };
        let said = error.to_string();
        let what = said.rsplit_once(" at line ").map_or(&*said, |(what, _)| what).to_owned();
        Fault { at, what, at_end: error.is_eof() }
    })?;
    let fault = |what: &str| Fault { at: 0, what: what.to_owned(), at_end: false };
    let (mut process, mut phase, mut f, mut key, mut content, mut failure) =
        (None, None, None, None, Edn::Nil, None);
    for (name, value) in object {
        match (&*name, value) {
            ("process", Value::String(name)) if name == "nemesis" => return Ok(Said::Nemesis),
            ("process", Value::Number(number)) => process = number.as_u64(),
            ("type", Value::String(name)) => phase = Phase::from_name(&name),
            ("f", Value::String(name)) => f = Some(Arc::from(name)),
            ("key" | "error", Value::Null) => {}
            ("key", value) => key = Some(edn(value)?),
            ("value", value) => content = edn(value)?,
            ("error", value) => failure = Some(edn(value)?),
            _ => {}
        }
    }
    let process =
        process.ok_or_else(|| fault("the object has no `process` that is a number or \"nemesis\""))?;
    let phase = phase.ok_or_else(|| fault("the object has no `type` that is invoke, ok, fail or info"))?;
    let f = f.ok_or_else(|| fault("the object has no `f` that names the operation"))?;
    Ok(Said::Entry(Entry { line, process, phase, f, key, value: content, error: failure }))
}

fn edn(value: Value) -> Result<Edn, Fault> {
    Ok(match value {
        Value::Null => Edn::Nil,
        Value::Bool(value) => Edn::Bool(value),
        Value::String(text) => Edn::Str(text.into()),
        Value::Array(values) => Edn::Vector(values.into_iter().map(edn).collect::<Result<_, _>>()?),
        Value::Object(fields) => {
            let field = |(name, value): (String, Value)| Ok((Edn::Str(name.into()), edn(value)?));
            Edn::Map(fields.into_iter().map(field).collect::<Result<_, Fault>>()?)
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Edn::Int(number),
            // A float cannot hold every larger integer: two different ones might become equal.
            (None, Some(float)) if float.fract() == 0.0 && float.abs() > 9e15 && !number.is_u64() => {
                let what = "an integer of more than 64 bits; write it as a string".to_owned();
                return Err(Fault { at: 0, what, at_end: false });
            }
            _ => Edn::Number(number.to_string().into()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Entry {
        match entry(text, 1) {
            Ok(Said::Entry(entry)) => entry,
            _ => panic!("no entry: {text}"),
        }
    }

    #[test]
    fn objects() {
        let entry =
            read(r#"{"process":3,"type":"ok","f":"txn","value":[["r",1,[2,"x"]]],"time":5,"key":null}"#);
        assert_eq!((entry.process, entry.phase, &*entry.f), (3, Phase::Ok, "txn"));
        assert_eq!(entry.value, Edn::parse(r#"[["r" 1 [2 "x"]]]"#).unwrap());
        assert_eq!((entry.key, entry.error), (None, None));
        let failed =
            read(r#"{"process":0,"type":"fail","f":"cas","key":"a","value":[1,2],"error":"refused"}"#);
        assert_eq!(
            (failed.key, failed.error),
            (Some(Edn::Str("a".into())), Some(Edn::Str("refused".into())))
        );
        let nemesis = super::entry(r#"{"process":"nemesis","type":"info","f":"kill"}"#, 1);
        assert!(matches!(nemesis, Ok(Said::Nemesis)));
        assert_eq!(
            read(r#"{"process":0,"type":"ok","f":"read","value":18446744073709551615}"#).value,
            Edn::Number("18446744073709551615".into())
        );
    }

    #[test]
    fn each_fault_is_named() {
        for (text, part) in [
            (r#"{"process":-1,"type":"ok","f":"read"}"#, "`process`"),
            (r#"{"process":1,"type":"done","f":"read"}"#, "`type`"),
            (r#"{"process":1,"type":"ok"}"#, "`f`"),
            (r#"{"process":1,"type":"ok","f":"read","value":123456789012345678901}"#, "64 bits"),
            ("[1]", "expected a map"),
        ] {
            let Err(fault) = entry(text, 1) else { panic!("{text}") };
            assert!(fault.what.contains(part), "{text}: {}", fault.what);
        }
        let Err(fault) = entry(r#"{"process":1,"#, 1) else { panic!() };
        assert!(fault.at_end);
    }
}
