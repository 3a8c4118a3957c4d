//! The run as JSON Lines for programs: one JSON object per line, with a version. Within a version fields are
//! only added.
//!
//! The record keeps the first and the latest cases and troubles; a line between them has the number of those
//! omitted. All violations are listed, and the run with its counts comes last.

use std::io::{self, Write};

use confute::trace::Event;
use confute_record::{
    Conclusion, DiagnosisRecord, Exit, ExperimentKind, ExperimentRecord, MessageRecord, Refusals, RunRecord,
    Standing, Violation, guarded,
};
use serde_json::{Value, json};

use crate::{bound, merged};

const VERSION: u32 = 1;

/// JSON Schema of `summary.json`.
pub const SUMMARY_SCHEMA: &str = include_str!("../../../docs/summary.schema.json");

/// Writes the run as JSON Lines; the log of cases and troubles only with `all`.
pub fn write(run: &RunRecord, all: bool, out: &mut dyn Write) -> io::Result<()> {
    if all {
        writeln!(out, "{}", start(run))?;
        for line in &run.log.first {
            writeln!(out, "{line}")?;
        }
        let (cases, troubles) = (run.log.cut_cases, run.log.cut_troubles);
        if cases + troubles > 0 {
            let cut = json!({ "confute": "cut", "version": VERSION, "cases": cases, "troubles": troubles });
            writeln!(out, "{cut}")?;
        }
        for line in &run.log.latest {
            writeln!(out, "{line}")?;
        }
    }
    for one in &run.violations {
        let line = guarded(|| violation(one)).unwrap_or_else(
            |why| json!({ "confute": "missing", "version": VERSION, "violation": one.number, "why": why }),
        );
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", summary(run))
}

/// Returns the parameters of the run as JSON.
fn start(run: &RunRecord) -> Value {
    let plan = &run.plan;
    json!({
        "confute": "start",
        "version": VERSION,
        "server": run.server,
        "model": run.model,
        "seed": plan.seed,
        "level": plan.level.name(),
        "by_experiment": plan.by_experiment,
        "allowed": plan.allowed,
        "connections": plan.connections,
        "workers": plan.workers,
        "cases": plan.cases,
        "max_milliseconds": plan.max_time.map(|time| time.as_secs_f64() * 1e3),
    })
}

/// Returns a violation as JSON.
pub fn violation(finding: &Violation) -> Value {
    let found = &finding.found;
    let expected = found.refutation.expected.iter();
    let expected = expected
        .map(|one| json!({ "message": one.message, "rules": one.rules, "hypotheses": one.hypotheses }));
    json!({
        "confute": "violation",
        "version": VERSION,
        "number": finding.number,
        "refutes": finding.standing == Standing::Refutes,
        "known": finding.standing == Standing::Known,
        "level": finding.level.map(confute::lang::Level::name),
        "blame": diagnoses(&finding.diagnoses),
        "experiment": finding.experiment.as_ref().map(experiment),
        "incomplete": finding.incomplete,
        "times": finding.times,
        // A merged report may have a hundred thousand of them.
        "occurrences": finding.occurrences.iter().map(|one| json!([one.run, one.case, one.seed])).collect::<Vec<_>>(),
        "case": found.name,
        "case_seed": finding.seed,
        "seen": found.refutation.seen,
        "expected": expected.collect::<Vec<_>>(),
        "more": found.refutation.more,
        "events": found.trace.len(),
        "steps": found.steps,
        "relaxed": finding.relaxed,
        "bytes": found.raw.iter().rev().take(8).rev().map(|chunk| json!({
            "connection": chunk.conn.0,
            "sent": chunk.sent,
            "micros": chunk.micros,
            "text": String::from_utf8_lossy(&chunk.bytes[..chunk.bytes.len().min(4096)]),
        })).collect::<Vec<_>>(),
        "last": found.trace.last().map(event),
        "because": finding.proof.as_ref().map(|proof| &proof.sentences),
        "shrunk": finding.shrunk.as_ref().map(|shrunk| match shrunk {
            Ok(shrunk) => json!({
                "requests_before": shrunk.requests.0,
                "requests": shrunk.requests.1,
                "events": shrunk.case.trace.iter().map(event).collect::<Vec<_>>(),
                "seen": shrunk.case.refutation.seen,
                "runs": shrunk.runs,
                "shown_again": shrunk.again.0,
                "of_runs": shrunk.again.1,
                "unfinished": shrunk.unfinished,
            }),
            Err(why) => json!({ "error": why }),
        }),
        "command": finding.command,
    })
}

fn diagnoses(list: &[DiagnosisRecord]) -> Vec<Value> {
    let one = |one: &DiagnosisRecord| json!({ "rules": one.rules, "deviations": one.deviations, "level": one.level.name() });
    list.iter().map(one).collect()
}

fn experiment(experiment: &ExperimentRecord) -> Value {
    let set_aside = experiment.set_aside.iter().map(|one| {
        let (kind, runs) = match one.kind {
            ExperimentKind::Extension => ("extension", 1),
            ExperimentKind::Comparison(runs) => ("comparison", runs),
            ExperimentKind::Control(runs) => ("control", runs),
            ExperimentKind::OtherCases(cases) => ("other_cases", cases),
        };
        json!({
            "rules": one.rules,
            "kind": kind,
            "runs": runs,
            "exchange": one.exchange,
            "events": one.trace.iter().map(event).collect::<Vec<_>>(),
        })
    });
    json!({
        "left": diagnoses(&experiment.left),
        "level": experiment.level.name(),
        "set_aside": set_aside.collect::<Vec<_>>(),
    })
}

/// Returns an event as JSON: its kind, named as in traces, and its connection and message, if it has them.
fn event(event: &Event<MessageRecord>) -> Value {
    let (kind, message) = match event {
        Event::Opened(_) => ("opened", None),
        Event::Accepted(_) => ("accepted", None),
        Event::Sent(_, message) => ("sent", Some(message)),
        Event::Received(_, message) => ("received", Some(message)),
        Event::Closed(_) => ("closed", None),
        Event::HungUp(_) => ("hung_up", None),
        _ => ("quiescent", None),
    };
    let mut object = json!({ "kind": kind });
    if let Some(conn) = event.conn() {
        object["connection"] = json!(conn.0);
    }
    if let Some(message) = message {
        object["message"] = json!(message.text);
    }
    object
}

fn refusals(refusals: &Refusals) -> Value {
    let statuses = refusals.statuses.iter().map(|(status, count)| (status.to_string(), json!(count)));
    json!({
        "count": refusals.count(),
        "statuses": statuses.collect::<serde_json::Map<_, _>>(),
        "retry_after": refusals.retry_after,
        "pauses": refusals.pauses,
        "paused_milliseconds": refusals.paused.as_secs_f64() * 1e3,
        "ignored": refusals.ignored,
    })
}

/// Returns the whole run as JSON.
pub fn summary(run: &RunRecord) -> Value {
    let (figures, tally, plan) = (&run.figures, &run.tally, &run.plan);
    let never = run.rules.iter().map(|rule| &*rule.name).filter(|name| !figures.rules.contains(*name));
    let exit = Exit::from(&run.conclusion);
    let reason = match &run.conclusion {
        Conclusion::Inconclusive(why) => Some(why),
        Conclusion::Refuted | Conclusion::Unrefuted => None,
    };
    let trouble =
        run.troubles.iter().map(|one| json!({ "what": one.what, "next": one.next, "times": one.times }));
    let troubles: Vec<Value> = trouble.collect();
    let millis = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let budgets = run.notes.budgets.map(|budgets| {
        json!({
            "testing": {
                "milliseconds": millis(budgets.tested),
                "of_milliseconds": budgets.testing.map(millis),
            },
            "after": { "milliseconds": millis(budgets.took), "of_milliseconds": millis(budgets.after) },
        })
    });
    let mut line = json!({
        "confute": "run",
        "version": VERSION,
        "server": run.server,
        "model": run.model,
        "verdict": exit.name(),
        "reason": reason,
        "exit": exit.code(),
        "seed": plan.seed,
        "level": plan.level.name(),
        "by_experiment": plan.by_experiment,
        "allowed": plan.allowed,
        "relaxed": run.relaxed,
        "violations": run.standing(Standing::Refutes).count(),
        "known": run.standing(Standing::Known).count(),
        "undecided": run.standing(Standing::Undecided).count(),
        "warnings": run.standing(Standing::Warning).count(),
        "cases": {
            "all": tally.cases,
            "unrefuted": tally.unrefuted,
            "refuted": tally.refuted,
            "inconclusive": tally.inconclusive,
            "empty": tally.empty,
            "early": tally.early,
            "stopped": tally.stopped,
            "doubtful": tally.doubtful,
        },
        "rules": { "tested": figures.rules, "never": never.collect::<Vec<_>>() },
        "branches": run.branches.iter().map(|(name, times)| (name.clone(), json!(times)))
            .collect::<serde_json::Map<_, _>>(),
        "tried": run.notes.tried,
        "stored": run.notes.stored,
        "missing": run.notes.missing,
        "baseline": run.notes.baseline,
        "exhaustive": run.bound.map(|bound| bound::json(bound, run)),
        "requests": figures.requests,
        "answers": figures.answers,
        "events": figures.events,
        "connections": figures.opened,
        "accepted": figures.accepted,
        "ended": figures.ended,
        "refusals": refusals(&figures.refusals),
        "broken_off": { "count": figures.broken_off.count, "first": figures.broken_off.first },
        "barriers": figures.barriers,
        "outstanding": figures.outstanding.quantiles(),
        "alternatives": figures.alternatives.quantiles(),
        "turns": figures.turns,
        "thinking_milliseconds": figures.thinking.as_secs_f64() * 1e3,
        "waiting_milliseconds": figures.waiting.as_secs_f64() * 1e3,
        "milliseconds": run.elapsed.as_secs_f64() * 1e3,
        "budgets": budgets,
        "troubles": troubles,
    });
    // More members are too many for the macro.
    line["crowding"] = json!(figures.crowding);
    line["shard"] = json!(plan.shard);
    line["resumed"] = json!(run.notes.resumed);
    line["merged"] = json!(run.merged.as_ref().map(merged::json));
    line
}
