//! Verdicts as JSON for programs: one object per line, with a version.
//!
//! Within a version fields are only added. Line numbers count from 1, event indices from 0. `turns` is a lower bound.

use std::io::{self, Write};

use confute::history::Format as Form;
use confute::lang::Rule;
use confute::{Blame, Refutation, Verdict};
use serde_json::{Value, json};

use crate::check::Judged;
use confute_record::Exit;

const VERSION: u32 = 1;

pub(crate) fn judged(judged: &Judged, exit: Exit, out: &mut dyn Write) -> io::Result<()> {
    let form = match judged.form {
        Form::Trace => "trace",
        Form::Edn => "edn",
        Form::Jepsen => "jepsen",
        Form::Json => "json",
        _ => "other",
    };
    let mut object = json!({
        "confute": "check",
        "version": VERSION,
        "file": judged.file,
        "exit": exit.code(),
        "model": judged.model.name(),
        "network": judged.network,
        "format": form,
        "events": judged.case.events(),
        "turns": judged.turns,
        "milliseconds": judged.elapsed.as_secs_f64() * 1e3,
        "allowed": judged.relaxed,
    });
    match &judged.verdict {
        Verdict::Unrefuted => object["verdict"] = json!("unrefuted"),
        Verdict::Inconclusive(reason) => {
            object["verdict"] = json!("inconclusive");
            object["reason"] = json!(reason.to_string());
        }
        Verdict::Refuted(found) => {
            object["verdict"] = json!("refuted");
            object["refutation"] = refutation(judged, found);
            object["blame"] = judged.blame.as_ref().map_or(Value::Null, blame);
        }
    }
    writeln!(out, "{object}")
}

pub(crate) fn broken(file: &str, problem: &str, out: &mut dyn Write) -> io::Result<()> {
    let object = json!({
        "confute": "check",
        "version": VERSION,
        "file": file,
        "exit": Exit::Broken.code(),
        "verdict": "broken",
        "error": problem,
    });
    writeln!(out, "{object}")
}

/// Returns the object that a writer writes.
pub(crate) fn object(write: &dyn Fn(&mut dyn Write) -> io::Result<()>) -> Value {
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = write(&mut text);
    serde_json::from_slice(&text).unwrap_or_default()
}

pub(crate) fn rule(model: &str, rule: &Rule, out: &mut dyn Write) -> io::Result<()> {
    let object = json!({
        "confute": "rule",
        "version": VERSION,
        "name": rule.name,
        "model": model,
        "level": rule.level.name(),
        "summary": rule.summary,
    });
    writeln!(out, "{object}")
}

fn refutation(judged: &Judged, refutation: &Refutation) -> Value {
    let event = judged.case.event(refutation.event);
    let expected = refutation
        .expected
        .iter()
        .map(|one| json!({ "message": one.message, "rules": one.rules, "hypotheses": one.hypotheses }));
    json!({
        "event": refutation.event,
        "line": judged.case.line(refutation.event),
        "connection": event.as_ref().and_then(|event| Some(event.conn()?.0)),
        "seen": if refutation.seen.is_empty() {
            event.map(|event| { let (head, message) = crate::snippet::said(&event); format!("{head}{message}") })
        } else {
            Some(refutation.seen.clone())
        },
        "expected": expected.collect::<Vec<_>>(),
        "more": refutation.more,
    })
}

fn blame(blame: &Blame) -> Value {
    let diagnoses = blame
        .diagnoses
        .iter()
        .map(|one| json!({ "rules": one.rules, "deviations": one.deviations, "level": one.level.name() }));
    json!({
        "level": blame.level().map(confute::lang::Level::name),
        "diagnoses": diagnoses.collect::<Vec<_>>(),
        "tried": blame.tried,
        "incomplete": blame.incomplete,
    })
}
