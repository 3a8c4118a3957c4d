//! A script for Python 3, of the standard library only, that tries to reproduce a counterexample.
//!
//! The script sends the requests in the recorded order on as many connections, with a mark of its own, and with the ids and entity tags
//! that the service gives now. It needs no model to decide: if every response is the recorded one up to these names, the trace is the
//! recorded one up to them, and nothing explains it either. A request begins after the responses that were there before it, so requests
//! are at the same time where they were before.

use std::fmt::Write as _;
use std::sync::Arc;

use confute::trace::Event;
use confute_drive::Kept;
use serde_json::{Value, json};

use crate::message::{Message, Op, Request, Response};
use crate::plan::Validator;
use crate::protocol::Rest;
use crate::wire;

/// Python code that executes the steps.
const ENGINE: &str = include_str!("reproduce.py");
/// Number of runs for a violation that is not reproduced in every run.
const OFTEN: u32 = 100;

/// Returns the environment variable for the value of this field, which is not exported because it may be a secret.
pub(super) fn variable(field: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("CONFUTE_{}", field.chars().map(fits).collect::<String>())
}

/// The names that differ in each run: those told so far, by the number of the request that they were told to.
#[derive(Default)]
struct Names {
    items: Vec<(Arc<str>, usize)>,
    tags: Vec<(Arc<str>, usize)>,
}

impl Names {
    /// Returns the number of the request whose response told a name first.
    fn of(known: &[(Arc<str>, usize)], name: &str) -> Option<usize> {
        known.iter().find(|(other, _)| **other == *name).map(|(_, number)| *number)
    }

    /// Returns the path with a placeholder for an item whose id the service has made.
    fn path(&self, path: &str) -> String {
        let is_its = |item: &str| {
            path.strip_prefix(item).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
        };
        let longest = self.items.iter().filter(|(item, _)| is_its(item)).max_by_key(|(item, _)| item.len());
        match longest {
            Some((item, number)) => format!("{{item:{number}}}{}", &path[item.len()..]),
            None => path.to_owned(),
        }
    }

    /// Returns a condition with a placeholder for the tag.
    fn tag(&self, tag: &str) -> String {
        Self::of(&self.tags, tag).map_or_else(|| tag.to_owned(), |number| format!("{{tag:{number}}}"))
    }
}

/// Returns the script, or the reason why there is none.
pub(super) fn script(rest: &Rest, kept: &Kept<'_, Rest>) -> Result<String, &'static str> {
    let mut names = Names::default();
    let mut steps: Vec<Value> = Vec::new();
    // Requests by connection that have no response yet.
    let mut open: Vec<(u32, usize, &Request)> = Vec::new();
    let mut count = 0;
    for event in kept.trace {
        match event {
            Event::Sent(on, Message::Request(request)) => {
                if open.iter().any(|(conn, ..)| *conn == on.0) {
                    return Err("a request was sent before the response to another on its connection");
                }
                count += 1;
                steps.push(ask(rest, &names, (on.0, count), request)?);
                open.push((on.0, count, request));
            }
            Event::Received(on, Message::Response(response)) => {
                let Some(place) = open.iter().position(|(conn, ..)| *conn == on.0) else {
                    return Err("a response arrived that belongs to no request");
                };
                let (_, number, request) = open.remove(place);
                let is_walk = request.query.is_some() && request.filter.is_none();
                if is_walk && response.items.is_some() && !response.is_partial {
                    return Err("several pages are one list, and the script compares each by itself");
                }
                steps.push(answer(rest, &mut names, number, request, response));
            }
            Event::HungUp(conn) | Event::Closed(conn) => steps.push(json!(["end", conn.0])),
            Event::Opened(_) => {}
            _ => return Err("the case ends with silence"),
        }
    }
    let is_flawed = kept.trace.iter().any(|event| {
        matches!(event, Event::Received(_, Message::Response(response)) if !response.flaws.is_empty())
    });
    let undecided =
        is_flawed.then_some("a response is judged by its schema, which this script does not know");
    let mut out = String::from("#!/usr/bin/env python3\n");
    for line in kept.about {
        let _ = writeln!(out, "# {}", line.replace(char::is_control, " "));
    }
    let secrets: Vec<Value> =
        rest.access.fields.iter().map(|(name, _)| json!([name, variable(name)])).collect();
    let is_concurrent = steps.windows(2).any(|two| two[0][0] == "ask" && two[1][0] == "ask");
    let is_steady = kept.again.is_some_and(|(shown, runs)| runs > 0 && shown == runs) && !is_concurrent;
    let literal = |value: &Value| serde_json::to_string(&value.to_string()).unwrap_or_default();
    let _ = write!(
        out,
        "# Exit code: 1 if every response is as recorded, up to ids, tags and marks; 0 if not, 3 if undecided.\n\nimport json\n\n\
         URL = {}\nBASE = {}\nCASE = {}\nRUNS = {}\nSECRETS = json.loads({})\nUNDECIDED = json.loads({})\nSTEPS = [\n",
        json!(origin(kept.url)),
        json!(rest.access.base),
        json!(kept.name),
        if is_steady { 1 } else { OFTEN },
        literal(&Value::from(secrets)),
        literal(&json!(undecided)),
    );
    for step in &steps {
        let _ = writeln!(out, "    json.loads({}),", literal(step));
    }
    out.push_str("]\n");
    out.push_str(ENGINE);
    Ok(out)
}

/// Returns the scheme and the host of a URL.
fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at + 3);
    &url[..url[from..].find('/').map_or(url.len(), |at| from + at)]
}

/// Returns the step that sends a request.
fn ask(
    rest: &Rest,
    names: &Names,
    (on, number): (u32, usize),
    request: &Request,
) -> Result<Value, &'static str> {
    let ready = rest.outline.named(&request.resource).ok_or("a request is about no resource of the model")?;
    if !ready.is_server_made() && ready.resource.id.schema["type"] == "integer" {
        return Err("the client makes numbers as ids, and those of the case are taken");
    }
    let has_version = matches!(ready.resource.validator, Some(Validator::Version { .. }));
    if has_version && request.if_match.is_some() {
        return Err("a body repeats a version, which the script does not know");
    }
    let target = names.path(&wire::target(request, ready, ""));
    let opened = Request {
        if_match: request.if_match.as_ref().map(|tag| names.tag(tag).into()),
        if_none_match: request.if_none_match.as_ref().map(|tag| names.tag(tag).into()),
        ..request.clone()
    };
    let fields = wire::fields(&opened, ready);
    Ok(json!(["ask", number, on, request.method, target, fields, request.body]))
}

/// Returns the step that waits for a response and compares it.
fn answer(rest: &Rest, names: &mut Names, number: usize, request: &Request, response: &Response) -> Value {
    let ready = rest.outline.named(&request.resource);
    let pointer = ready.and_then(|ready| match request.op {
        Op::List => ready.list().map(|list| list.items.clone()),
        op => ready.operation(op)?.answer.clone(),
    });
    let mut told = json!({ "number": number, "status": response.status });
    if let Some(fields) = &response.fields {
        told["at"] = json!(pointer);
        told["fields"] = json!(fields);
        told["own"] = json!(ready.map(|ready| ready.own.clone()));
    }
    let note = |known: &mut Vec<(Arc<str>, usize)>, name: &Arc<str>| {
        let first = Names::of(known, name);
        if first.is_none() {
            known.push((Arc::clone(name), number));
        }
        first
    };
    if let Some(tag) = &response.tag {
        told["tag"] = json!([note(&mut names.tags, tag)]);
        if let Some(Validator::Version { field }) = ready.and_then(|ready| ready.resource.validator.as_ref())
        {
            told["version"] = json!(field);
        }
    }
    if let (Op::Create, Some(item), Some(ready)) = (request.op, &response.item, ready) {
        told["collection"] = json!(request.path);
        told["id"] = json!(ready.resource.id.field);
        told["at"] = json!(pointer);
        if request.item.is_none() {
            told["item"] = json!([note(&mut names.items, item)]);
        }
    }
    if let (Some(items), Some(list), Some(ready)) =
        (&response.items, ready.and_then(|ready| ready.list()), ready)
    {
        let listed: Vec<Value> = items.iter().map(|one| json!([names.path(&one.item), one.fields])).collect();
        told["list"] = json!({ "items": listed, "at": list.items, "each": list.each, "id": ready.resource.id.field,
            "own": ready.own, "mark": ready.resource.mark, "collection": request.path, "whole": !response.is_partial });
    }
    json!(["answer", told])
}
