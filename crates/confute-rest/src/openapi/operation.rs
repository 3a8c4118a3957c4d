//! One operation: its body, its answers, and the parameters that every request needs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Error;
use super::convert::{Direction, standalone};
use super::document::{Document, Endpoint, Part};
use crate::plan::{BodyPlan, JSON, Operation};
use crate::schema::{self, Sampler};

/// Header fields that are no matter of a constant value.
const CONDITIONS: [&str; 9] = [
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "if-range",
    "accept",
    "content-type",
    "authorization",
    "range",
];

/// An operation, and what the document says about it beyond the plan.
#[derive(Clone, Debug)]
pub(super) struct Outline<'a> {
    pub(super) endpoint: Endpoint<'a>,
    pub(super) operation: Operation,
    /// Schema of a successful answer, self-contained.
    pub(super) success: Option<Value>,
    /// Names of the header fields of successful answers, in lower case.
    pub(super) headers: Vec<String>,
    /// Statuses that the document lists.
    pub(super) statuses: Vec<String>,
    /// `true` if the document says that a successful answer has no content.
    pub(super) is_silent: bool,
}

impl Outline<'_> {
    /// Returns `Some(true)` if a condition is a parameter and required, `Some(false)` if it is a parameter.
    pub(super) fn if_match(&self) -> Option<bool> {
        let found = self.endpoint.parameters.iter().find(|one| {
            one.text("in") == Some("header")
                && one.text("name").is_some_and(|name| name.eq_ignore_ascii_case("if-match"))
        });
        found.map(|one| one.is_true("required"))
    }

    pub(super) fn has_status(&self, status: &str) -> bool {
        self.statuses.iter().any(|one| one == status)
    }

    /// Returns the query parameters, by name.
    pub(super) fn query(&self) -> impl Iterator<Item = (&str, &Part<'_>)> {
        let all = self.endpoint.parameters.iter().filter(|one| one.text("in") == Some("query"));
        all.filter_map(|one| one.text("name").map(|name| (name, one)))
    }
}

/// Reads an operation. The inner error is the reason why it cannot be tested.
pub(super) fn outline<'a>(
    document: &'a Document,
    endpoint: &Endpoint<'a>,
    left_out: &mut Vec<String>,
) -> Result<Result<Outline<'a>, String>, Error> {
    let mut operation = Operation { method: endpoint.method.clone(), ..Operation::default() };
    if let Err(reason) = constants(document, endpoint, &mut operation)? {
        return Ok(Err(reason));
    }
    match body(document, endpoint)? {
        Ok(body) => operation.body = body,
        Err(reason) => return Ok(Err(reason)),
    }
    let answers = answers(document, endpoint, left_out)?;
    operation.success = answers
        .statuses
        .iter()
        .filter_map(|status| status.parse().ok())
        .filter(|status| is_success(*status))
        .collect();
    operation.schemas = answers.schemas;
    Ok(Ok(Outline {
        endpoint: endpoint.clone(),
        operation,
        success: answers.success,
        headers: answers.headers,
        statuses: answers.statuses,
        is_silent: answers.is_silent,
    }))
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Adds the parameters that every request needs.
fn constants(
    document: &Document,
    endpoint: &Endpoint<'_>,
    to: &mut Operation,
) -> Result<Result<(), String>, Error> {
    for parameter in &endpoint.parameters {
        let (Some(name), Some(place)) = (parameter.text("name"), parameter.text("in")) else {
            let reason = "a parameter has no `name` or no `in`".to_owned();
            return Err(Error::Form { reason, place: document.place(&parameter.pointer) });
        };
        if !parameter.is_true("required") || place == "path" {
            continue;
        }
        if place == "header" && CONDITIONS.contains(&name.to_ascii_lowercase().as_str()) {
            continue;
        }
        let Some(value) = constant(document, parameter)? else {
            return Ok(Err(format!("no value is known for the required parameter `{name}`")));
        };
        match place {
            "query" => to.query.insert(name.to_owned(), value),
            "header" => to.headers.insert(name.to_owned(), value),
            _ => return Ok(Err(format!("the required parameter `{name}` is in the {place}"))),
        };
    }
    Ok(Ok(()))
}

/// Returns a value of a parameter: the example of the document, or the simplest that its schema allows.
fn constant(document: &Document, parameter: &Part<'_>) -> Result<Option<String>, Error> {
    let examples = parameter.get("examples");
    let first = examples.iter().flat_map(Part::members).find_map(|(_, example)| example.value.get("value"));
    let schema = parameter_schema(document, parameter)?;
    let usual = schema.as_ref().and_then(|schema| schema.get("default"));
    let value = parameter.value.get("example").or(first).or(usual).cloned();
    let value = value.or_else(|| schema::sample(schema.as_ref()?, &mut |_| 0).ok());
    Ok(value.and_then(|value| match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }))
}

/// Returns the schema of a parameter, self-contained.
pub(super) fn parameter_schema(document: &Document, parameter: &Part<'_>) -> Result<Option<Value>, Error> {
    let Some(part) = parameter.get("schema") else { return Ok(None) };
    standalone(document, part.value, &part.pointer, Direction::Request).map(Some)
}

/// Reads the body of a request. The inner error is the reason why the operation cannot be tested.
fn body(document: &Document, endpoint: &Endpoint<'_>) -> Result<Result<Option<BodyPlan>, String>, Error> {
    let Some(part) = endpoint.part.get("requestBody") else { return Ok(Ok(None)) };
    let part = document.follow(part)?;
    let Some(content) = part.get("content") else { return Ok(Ok(None)) };
    let Some((media, entry)) = json_content(&content) else {
        let offered: Vec<&str> = content.members().map(|(media, _)| media).collect();
        return Ok(Err(format!("its body is no JSON ({})", offered.join(", "))));
    };
    let media = if media.contains('*') { JSON } else { media };
    let offers = content.members().any(|(media, _)| media.contains("json-patch+json"));
    let is_json_patch = media.contains("json-patch+json");
    let plan = |schema| BodyPlan {
        media: media.to_owned(),
        schema,
        at: String::new(),
        json_patch: offers && !is_json_patch && endpoint.method == "PATCH",
    };
    let Some(part) = entry.get("schema").filter(|_| !is_json_patch) else {
        // The changes of a JSON Patch are made by the schema of the item, which is known later.
        let schema = Value::Object(Map::from_iter([("type".to_owned(), Value::from("object"))]));
        return Ok(Ok(Some(plan(schema))));
    };
    let mut schema = standalone(document, part.value, &part.pointer, Direction::Request)?;
    lend_examples(&entry, &mut schema);
    satisfiable(document, endpoint, &part, &schema)?;
    Ok(Ok(Some(plan(schema))))
}

/// Adds the examples of the content to its schema, as a last resort of the sampler.
fn lend_examples(entry: &Part<'_>, schema: &mut Value) {
    let examples = entry.get("examples");
    let many = examples.iter().flat_map(Part::members).filter_map(|(_, example)| example.value.get("value"));
    let all: Vec<Value> = entry.value.get("example").into_iter().chain(many).cloned().collect();
    if let (Value::Object(schema), false) = (schema, all.is_empty()) {
        schema.entry("examples").or_insert(Value::Array(all));
    }
}

/// Makes a few bodies, so that a schema that nothing satisfies is reported before the first request.
fn satisfiable(
    document: &Document,
    endpoint: &Endpoint<'_>,
    part: &Part<'_>,
    schema: &Value,
) -> Result<(), Error> {
    let fail = |error: schema::Error| Error::Body {
        operation: endpoint.name(),
        reason: error.to_string(),
        place: document.place(&part.pointer),
    };
    let sampler = Sampler::new(schema).map_err(fail)?;
    sampler.sample(&mut |_| 0).map_err(fail)?;
    Ok(())
}

/// Returns the JSON of a content: `application/json` first, then other types of JSON, then any.
fn json_content<'a>(content: &Part<'a>) -> Option<(&'a str, Part<'a>)> {
    let rank = |media: &str| {
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match media.as_str() {
            "application/json" => Some(0),
            "application/merge-patch+json" => Some(1),
            "application/json-patch+json" => Some(4),
            other if other.ends_with("+json") => Some(2),
            "*/*" | "application/*" => Some(3),
            _ => None,
        }
    };
    content.members().filter(|(media, _)| rank(media).is_some()).min_by_key(|(media, _)| rank(media))
}

/// The answers of an operation.
#[derive(Default)]
struct Answers {
    schemas: BTreeMap<String, Value>,
    success: Option<Value>,
    headers: Vec<String>,
    statuses: Vec<String>,
    is_silent: bool,
}

fn answers(
    document: &Document,
    endpoint: &Endpoint<'_>,
    left_out: &mut Vec<String>,
) -> Result<Answers, Error> {
    let mut answers = Answers::default();
    let mut silent = (0, 0);
    let responses = endpoint.part.get("responses");
    for (status, response) in responses.iter().flat_map(Part::members) {
        if status.starts_with("x-") {
            continue;
        }
        let response = document.follow(response)?;
        let is_good = status.starts_with('2');
        answers.statuses.push(status.to_owned());
        if is_good {
            let headers = response.get("headers");
            answers
                .headers
                .extend(headers.iter().flat_map(Part::members).map(|(name, _)| name.to_ascii_lowercase()));
        }
        let entry = response.get("content").and_then(|content| json_content(&content));
        if is_good {
            silent.0 += 1;
            silent.1 += usize::from(response.get("content").is_none());
        }
        let Some(part) = entry.and_then(|(_, entry)| entry.get("schema")) else { continue };
        let schema = standalone(document, part.value, &part.pointer, Direction::Answer)?;
        match schema::Compiled::new(&schema) {
            Ok(_) => {
                if is_good && answers.success.is_none() {
                    answers.success = Some(schema.clone());
                }
                answers.schemas.insert(status.to_uppercase().replace("DEFAULT", "default"), schema);
            }
            Err(error) => left_out.push(format!(
                "The schema of the answer {status} of {} is not checked: {error} ({}).",
                endpoint.name(),
                document.place(&part.pointer)
            )),
        }
    }
    answers.is_silent =
        silent.0 > 0 && silent.0 == silent.1 && answers.statuses.iter().any(|status| status == "204");
    Ok(answers)
}
