//! The run for programs: one JSON object a line, with a version. Fields are only ever added within a version.

use std::io::{self, Write};

use confute_drive::{CaseReport, Ended, Finding, Outcome, Plan, Protocol};
use serde_json::{Value, json};

use super::{Subject, advice, exit, said};

const VERSION: u32 = 1;

/// What is told at the end, in order.
pub(super) struct Lines {
    /// Whether cases are told too.
    all: bool,
    cases: Vec<Value>,
}

impl Lines {
    pub(super) fn new(all: bool) -> Self {
        Self { all, cases: Vec::new() }
    }

    pub(super) fn case(&mut self, case: &CaseReport) {
        if !self.all {
            return;
        }
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
        self.cases.push(json!({
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

    pub(super) fn end<P: Protocol>(
        self,
        subject: &Subject<'_>,
        plan: &Plan,
        outcome: &Outcome<P>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for case in &self.cases {
            writeln!(out, "{case}")?;
        }
        for one in &outcome.findings {
            writeln!(out, "{}", finding(one, plan))?;
        }
        writeln!(out, "{}", summary(subject, plan, outcome))
    }
}

pub(super) fn finding<P: Protocol>(finding: &Finding<P>, plan: &Plan) -> Value {
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

pub(super) fn summary<P: Protocol>(subject: &Subject<'_>, plan: &Plan, outcome: &Outcome<P>) -> Value {
    let (figures, tally) = (&outcome.figures, &outcome.tally);
    let never = subject.rules.iter().map(|rule| rule.name).filter(|name| !figures.rules.contains(name));
    let (verdict, reason) = match &outcome.conclusion {
        confute_drive::Conclusion::Refuted => ("refuted", None),
        confute_drive::Conclusion::Unrefuted => ("unrefuted", None),
        confute_drive::Conclusion::Inconclusive(why) => ("inconclusive", Some(why)),
    };
    json!({
        "confute": "run",
        "version": VERSION,
        "server": subject.shown,
        "model": subject.model,
        "verdict": verdict,
        "reason": reason,
        "exit": exit(&outcome.conclusion).code(),
        "seed": plan.seed,
        "level": plan.level.name(),
        "allowed": plan.allow,
        "relaxed": outcome.relaxed,
        "violations": outcome.findings.iter().filter(|finding| finding.refutes(plan.level)).count(),
        "warnings": outcome.findings.iter().filter(|finding| !finding.refutes(plan.level)).count(),
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
        "exhaustive": subject.bound.map(|bound| bound.json(outcome)),
        "requests": figures.requests,
        "answers": figures.answers,
        "events": figures.events,
        "connections": figures.opened,
        "accepted": figures.accepted,
        "ended": figures.ended,
        "barriers": figures.barriers,
        "outstanding": figures.outstanding.quantiles(),
        "alternatives": figures.alternatives.quantiles(),
        "turns": figures.turns,
        "thinking_milliseconds": figures.thinking.as_secs_f64() * 1e3,
        "waiting_milliseconds": figures.waiting.as_secs_f64() * 1e3,
        "milliseconds": outcome.elapsed.as_secs_f64() * 1e3,
        "troubles": outcome.troubles.iter().map(|(trouble, times)| json!({
            "what": trouble.to_string(),
            "next": advice::next(trouble),
            "times": times,
        })).collect::<Vec<_>>(),
    })
}
