//! Text of a document: JSON or YAML 1.2 to one JSON value, with the line of each of its parts.
//!
//! Keys of YAML that are numbers or truth values (`200:`) become strings, as OpenAPI requires. Aliases are copied up to a
//! bound, so that a small text cannot become an enormous document.

use std::collections::{BTreeMap, HashMap};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use super::Error;

/// Maximum number of values that a document may consist of, copies of aliases included.
const MAX_VALUES: usize = 2_000_000;
/// Maximum depth of nested values.
const MAX_DEPTH: usize = 120;

/// A document: its value, and the places of its parts.
#[derive(Debug)]
pub(super) struct Text {
    /// The whole document.
    pub(super) value: Value,
    /// Line of each object, array and scalar by its JSON pointer, counted from 1. Empty if the text is JSON on one line.
    lines: BTreeMap<String, usize>,
}

impl Text {
    /// Reads JSON if the text opens with a brace, otherwise YAML.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return Err(Error::Empty);
        }
        if text.trim_start().starts_with(['{', '[']) {
            match serde_json::from_str(text) {
                // The lines come from the same parser as those of YAML, of which nearly all JSON is a part.
                Ok(value) => {
                    let lines = Yaml::load(text).map(|text| text.lines).unwrap_or_default();
                    return Ok(Self { value, lines });
                }
                // A flow mapping of YAML opens with a brace too; if it is neither, the message about JSON is clearer.
                Err(error) => {
                    return Yaml::load(text).map_err(|_| Error::Syntax {
                        format: "JSON",
                        line: error.line(),
                        column: error.column(),
                        reason: reason_of(&error),
                    });
                }
            }
        }
        Yaml::load(text)
    }

    /// Returns the place of a part, for messages: its pointer, and its line if the text has several.
    pub(super) fn place(&self, pointer: &str) -> String {
        let several =
            self.lines.values().next_back().is_some_and(|_| self.lines.values().any(|line| *line > 1));
        let mut known = pointer;
        loop {
            match self.lines.get(known) {
                Some(line) if several => return format!("line {line} (#{pointer})"),
                Some(_) => return format!("#{pointer}"),
                None => match known.rfind('/') {
                    Some(cut) => known = &known[..cut],
                    None => return format!("#{pointer}"),
                },
            }
        }
    }
}

/// Returns the message of an error without its place, which is stated apart.
fn reason_of(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

/// Escapes a key for a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A collection that is not complete yet.
enum Open {
    Sequence {
        anchor: usize,
        pointer: String,
        items: Vec<Value>,
    },
    /// `merged` are the values of merge keys, which fill in what the mapping does not have by itself.
    Mapping {
        anchor: usize,
        pointer: String,
        items: Map<String, Value>,
        key: Option<String>,
        merged: Vec<Value>,
    },
}

/// The loader of YAML: a stack of open collections.
#[derive(Default)]
struct Yaml {
    stack: Vec<Open>,
    anchors: HashMap<usize, Value>,
    lines: BTreeMap<String, usize>,
    values: usize,
    root: Option<Value>,
}

impl Yaml {
    fn load(text: &str) -> Result<Text, Error> {
        let mut parser = Parser::new_from_str(text);
        let mut loader = Self::default();
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| Error::Syntax {
                format: "YAML",
                line: error.marker().line(),
                column: error.marker().col() + 1,
                reason: error.info().to_owned(),
            })?;
            if loader.take(event, span).map_err(|reason| Error::Syntax {
                format: "YAML",
                line: span.start.line(),
                column: span.start.col() + 1,
                reason,
            })? {
                break;
            }
        }
        let value = loader.root.ok_or(Error::Empty)?;
        Ok(Text { value, lines: loader.lines })
    }

    /// Takes an event. Returns `true` at the end of the first document.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<bool, String> {
        match event {
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or("this alias names no anchor")?;
                self.count(size(&value))?;
                self.add(value, 0, span)?;
            }
            Event::Scalar(text, style, anchor, _) => {
                self.count(1)?;
                if let Some(Open::Mapping { key: key @ None, items, .. }) = self.stack.last_mut() {
                    if items.contains_key(text.as_ref()) {
                        return Err(format!("the key `{text}` occurs twice"));
                    }
                    *key = Some(text.into_owned());
                } else {
                    self.add(scalar(&text, style), anchor, span)?;
                }
            }
            Event::SequenceStart(anchor, _) => {
                let pointer = self.open(span)?;
                self.stack.push(Open::Sequence { anchor, pointer, items: Vec::new() });
            }
            Event::MappingStart(anchor, _) => {
                let pointer = self.open(span)?;
                self.stack.push(Open::Mapping {
                    anchor,
                    pointer,
                    items: Map::new(),
                    key: None,
                    merged: Vec::new(),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let (value, anchor) = match self.stack.pop() {
                    Some(Open::Sequence { anchor, items, .. }) => (Value::Array(items), anchor),
                    Some(Open::Mapping { anchor, mut items, merged, .. }) => {
                        merged.into_iter().try_for_each(|other| merge(&mut items, other))?;
                        (Value::Object(items), anchor)
                    }
                    None => return Err("a collection ends that never began".to_owned()),
                };
                self.add(value, anchor, span)?;
            }
            Event::DocumentEnd => return Ok(true),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) => {}
        }
        Ok(false)
    }

    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            return Err(format!("the document has more than {MAX_VALUES} values"));
        }
        Ok(())
    }

    /// Begins a collection. Returns its pointer.
    fn open(&mut self, span: Span) -> Result<String, String> {
        self.count(1)?;
        if self.stack.len() >= MAX_DEPTH {
            return Err(format!("the values are nested more than {MAX_DEPTH} deep"));
        }
        if matches!(self.stack.last(), Some(Open::Mapping { key: None, .. })) {
            return Err("a key of a mapping is a collection".to_owned());
        }
        let pointer = self.next_pointer();
        self.lines.insert(pointer.clone(), span.start.line());
        Ok(pointer)
    }

    fn next_pointer(&self) -> String {
        match self.stack.last() {
            None => String::new(),
            Some(Open::Sequence { pointer, items, .. }) => format!("{pointer}/{}", items.len()),
            Some(Open::Mapping { pointer, key, .. }) => {
                format!("{pointer}/{}", escape(key.as_deref().unwrap_or_default()))
            }
        }
    }

    /// Adds a complete value to the innermost open collection.
    fn add(&mut self, value: Value, anchor: usize, span: Span) -> Result<(), String> {
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let is_scalar = !value.is_object() && !value.is_array();
        if is_scalar {
            let pointer = self.next_pointer();
            self.lines.insert(pointer, span.start.line());
        }
        match self.stack.last_mut() {
            None => self.root = Some(value),
            Some(Open::Sequence { items, .. }) => items.push(value),
            Some(Open::Mapping { items, key, merged, .. }) => match key.take() {
                Some(key) if key == "<<" => merged.push(value),
                Some(key) => {
                    items.insert(key, value);
                }
                None => return Err("a key of a mapping is no text".to_owned()),
            },
        }
        Ok(())
    }
}

/// Merges the mappings of a merge key (`<<`) into one: keys that are there already stay.
fn merge(items: &mut Map<String, Value>, value: Value) -> Result<(), String> {
    match value {
        Value::Object(other) => {
            for (key, value) in other {
                items.entry(key).or_insert(value);
            }
            Ok(())
        }
        Value::Array(others) => others.into_iter().try_for_each(|other| merge(items, other)),
        _ => Err("`<<` must name a mapping".to_owned()),
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(items) => 1 + items.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Returns the value of a scalar in the core schema of YAML 1.2.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole && let Ok(number) = unsigned.parse::<i64>() {
            return Value::Number(number.into());
        }
        let is_float = digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        if is_float && let Some(number) = unsigned.parse().ok().and_then(Number::from_f64) {
            return Value::Number(number);
        }
    }
    Value::String(text.to_owned())
}
