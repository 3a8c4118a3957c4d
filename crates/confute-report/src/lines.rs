//! The run for programs: one JSON object a line, with a version. Fields are only ever added within a version.
//!
//! A run may last for days. So of cases and troubles the first 5,000 are kept and the latest 5,000; a line between them says
//! how many are missing. Violations are all told, the run with its counts comes last.

use std::collections::VecDeque;
use std::io::{self, Write};

use confute_drive::{CaseReport, Conclusion, Ended, Finding, Outcome, Plan, Refusals, Trouble, guarded};
use serde_json::{Value, json};

use crate::session::Beside;
use crate::{Exit, Subject, advice, said};

const VERSION: u32 = 1;

/// What `summary.json` looks like, as a JSON Schema.
pub const SUMMARY_SCHEMA: &str = include_str!("../../../docs/summary.schema.json");

/// So many of the first cases and troubles are kept, and as many of the latest.
const HALF: usize = 5_000;

/// What happens in a run, to be told at the end: in order, and bounded however long it is.
#[derive(Default)]
pub struct Lines {
    first: Vec<Value>,
    latest: VecDeque<Value>,
    /// How many lines between them are not kept.
    cut: Cut,
}

/// What is left out.
#[derive(Default)]
struct Cut {
    cases: u64,
    troubles: u64,
}

impl Lines {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A case has ended.
    pub fn case(&mut self, case: &CaseReport) {
        let verdict = match &case.verdict {
            confute::Verdict::Unrefuted => "unrefuted",
            confute::Verdict::Refuted(_) => "refuted",
            confute::Verdict::Inconclusive(_) => "inconclusive",
        };
        let ended = match case.ended {
            Ended::Done => "done",
            Ended::Judged => "judged",
            Ended::Limit => "limit",
            Ended::Crowded => "crowded",
            Ended::Stopped => "stopped",
            _ => "trouble",
        };
        self.keep(json!({
            "confute": "case",
            "version": VERSION,
            "number": case.number,
            "name": case.name,
            "seed": case.seed,
            "verdict": verdict,
            "ended": ended,
            "trouble": case.trouble.as_ref().map(ToString::to_string),
            "requests": case.figures.requests,
            "answers": case.figures.answers,
            "milliseconds": case.figures.elapsed.as_secs_f64() * 1e3,
        }));
    }

    /// The conversation broke off.
    pub fn trouble(&mut self, trouble: &Trouble) {
        self.keep(json!({
            "confute": "trouble",
            "version": VERSION,
            "what": trouble.to_string(),
            "next": advice::next(trouble),
        }));
    }

    fn keep(&mut self, line: Value) {
        if self.first.len() < HALF {
            self.first.push(line);
            return;
        }
        self.latest.push_back(line);
        if self.latest.len() > HALF
            && let Some(line) = self.latest.pop_front()
        {
            let count = if line["confute"] == "case" { &mut self.cut.cases } else { &mut self.cut.troubles };
            *count += 1;
        }
    }

    /// The run has ended: writes it, with what happened on the way or without.
    pub fn end(
        &self,
        subject: &Subject<'_>,
        plan: &Plan,
        outcome: &Outcome,
        beside: &Beside,
        all: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if all {
            writeln!(out, "{}", start(subject, plan))?;
            for line in &self.first {
                writeln!(out, "{line}")?;
            }
            let Cut { cases, troubles } = self.cut;
            if cases + troubles > 0 {
                let cut =
                    json!({ "confute": "cut", "version": VERSION, "cases": cases, "troubles": troubles });
                writeln!(out, "{cut}")?;
            }
            for line in &self.latest {
                writeln!(out, "{line}")?;
            }
        }
        for one in &outcome.findings {
            let line = guarded(|| finding(one, plan)).unwrap_or_else(|why| {
                json!({ "confute": "missing", "version": VERSION, "violation": one.number, "why": why })
            });
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", summary(subject, plan, outcome, beside))
    }
}

/// What was to be done.
fn start(subject: &Subject<'_>, plan: &Plan) -> Value {
    json!({
        "confute": "start",
        "version": VERSION,
        "server": subject.shown,
        "model": subject.model,
        "seed": plan.seed,
        "level": plan.level.name(),
        "allowed": plan.allow,
        "connections": plan.limits.connections,
        "workers": plan.workers,
        "cases": plan.cases,
        "max_milliseconds": plan.max_time.map(|time| time.as_secs_f64() * 1e3),
    })
}

/// One violation.
pub fn finding(finding: &Finding, plan: &Plan) -> Value {
    let diagnoses = finding
        .diagnoses
        .iter()
        .map(|one| json!({ "rules": one.rules, "deviations": one.deviations, "level": one.level.name() }));
    let expected = finding.refutation.expected.iter();
    let expected = expected
        .map(|one| json!({ "message": one.message, "rules": one.rules, "hypotheses": one.hypotheses }));
    json!({
        "confute": "violation",
        "version": VERSION,
        "number": finding.number,
        "refutes": finding.refutes(plan.level),
        "known": finding.known,
        "level": finding.level.map(confute::lang::Level::name),
        "blame": diagnoses.collect::<Vec<_>>(),
        "incomplete": finding.incomplete,
        "times": finding.times,
        "case": finding.name,
        "case_seed": finding.seed,
        "seen": finding.refutation.seen,
        "expected": expected.collect::<Vec<_>>(),
        "more": finding.refutation.more,
        "events": finding.trace.len(),
        "steps": finding.script.len(),
        "relaxed": finding.relaxed,
        "bytes": finding.raw.iter().rev().take(8).rev().map(|chunk| json!({
            "connection": chunk.conn.0,
            "sent": chunk.sent,
            "micros": chunk.micros,
            "text": String::from_utf8_lossy(&chunk.bytes[..chunk.bytes.len().min(4096)]),
        })).collect::<Vec<_>>(),
        "last": finding.trace.last().map(said),
        "because": finding.proof.as_ref().map(|proof| &proof.sentences),
        "shrunk": finding.shrunk.as_ref().map(|shrunk| match shrunk {
            Ok(shrunk) => json!({
                "requests_before": shrunk.requests.0,
                "requests": shrunk.requests.1,
                "events": shrunk.trace.iter().map(said).collect::<Vec<_>>(),
                "seen": shrunk.refutation.seen,
                "runs": shrunk.runs,
                "shown_again": shrunk.again.0,
                "of_runs": shrunk.again.1,
                "unfinished": shrunk.unfinished,
            }),
            Err(why) => json!({ "error": why.to_string() }),
        }),
    })
}

/// Whether a finding is told and does not count.
fn is_warning(finding: &Finding, plan: &Plan) -> bool {
    !finding.refutes(plan.level) && !finding.known && !finding.is_undecided(plan.level)
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

/// The whole run.
pub fn summary(subject: &Subject<'_>, plan: &Plan, outcome: &Outcome, beside: &Beside) -> Value {
    let (figures, tally) = (&outcome.figures, &outcome.tally);
    let never = subject.rules.iter().map(|rule| rule.name).filter(|name| !figures.rules.contains(name));
    let exit = Exit::from(&outcome.conclusion);
    let reason = match &outcome.conclusion {
        Conclusion::Inconclusive(why) => Some(why),
        Conclusion::Refuted | Conclusion::Unrefuted => None,
    };
    let trouble = |(trouble, times): &(Trouble, u64)| json!({ "what": trouble.to_string(), "next": advice::next(trouble), "times": times });
    let troubles: Vec<Value> = outcome.troubles.iter().map(trouble).collect();
    json!({
        "confute": "run",
        "version": VERSION,
        "server": subject.shown,
        "model": subject.model,
        "verdict": exit.name(),
        "reason": reason,
        "exit": exit.code(),
        "seed": plan.seed,
        "level": plan.level.name(),
        "allowed": plan.allow,
        "relaxed": outcome.relaxed,
        "violations": outcome.findings.iter().filter(|finding| finding.refutes(plan.level)).count(),
        "known": outcome.findings.iter().filter(|finding| finding.known).count(),
        "undecided": outcome.findings.iter().filter(|finding| finding.is_undecided(plan.level)).count(),
        "warnings": outcome.findings.iter().filter(|finding| is_warning(finding, plan)).count(),
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
        "branches": outcome.branches.iter().map(|(name, times)| (name.clone(), json!(times)))
            .collect::<serde_json::Map<_, _>>(),
        "tried": beside.tried,
        "stored": beside.stored,
        "missing": beside.missing,
        "baseline": beside.baseline,
        "exhaustive": subject.bound.map(|bound| bound.json(outcome)),
        "requests": figures.requests,
        "answers": figures.answers,
        "events": figures.events,
        "connections": figures.opened,
        "accepted": figures.accepted,
        "ended": figures.ended,
        "refusals": refusals(&figures.refusals),
        "barriers": figures.barriers,
        "outstanding": figures.outstanding.quantiles(),
        "alternatives": figures.alternatives.quantiles(),
        "turns": figures.turns,
        "thinking_milliseconds": figures.thinking.as_secs_f64() * 1e3,
        "waiting_milliseconds": figures.waiting.as_secs_f64() * 1e3,
        "milliseconds": outcome.elapsed.as_secs_f64() * 1e3,
        "budgets": beside.budgets.map(|budgets| budgets.json()),
        "troubles": troubles,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_cut_in_the_middle() {
        let mut lines = Lines::new();
        for number in 0..2 * HALF as u64 + 7 {
            lines.keep(
                json!({ "confute": if number % 2 == 0 { "case" } else { "trouble" }, "number": number }),
            );
        }
        assert_eq!((lines.first.len(), lines.latest.len()), (HALF, HALF));
        assert_eq!((lines.cut.cases, lines.cut.troubles), (4, 3));
        assert_eq!(lines.latest[0]["number"], HALF as u64 + 7);
    }
}
