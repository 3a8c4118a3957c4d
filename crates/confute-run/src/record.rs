//! The plain record of a run, made from the results of the driver.

use std::time::{Duration, Instant};

use confute::lang::Rule;
use confute::trace::Event;
use confute::{Diagnosis, Verdict};
use confute_drive::{
    AnyMessage, AnyProtocol, CaseReport, Conclusion, Counterexample, Ended, Figures, Finding, Outcome, Plan,
    SetAside, Tally, Trouble, Workers, alternatives_of, guarded,
};
use confute_record::{
    CaseRecord, DiagnosisRecord, Door, ExcerptRecord, ExperimentKind, ExperimentRecord, FileRecord, Log,
    MessageRecord, PlanRecord, ProofRecord, RecordHead, RuleRecord, RunNotes, RunRecord, SetAsideRecord,
    Shard, ShrunkRecord, Standing, TroubleRecord, Violation, name_of,
};
use serde_json::{Value, json};

use crate::session::Beside;
use crate::stored::{File, Form, StoredCase};
use crate::{Subject, advice, exports, panicked, rust_test};

/// Version of the lines of a log.
const LINES: u32 = 1;
/// Name of the file with the smallest case of a violation.
pub const CASE: &str = "violation.case";
/// Name of the file with the case in which a violation was found.
pub const FOUND: &str = "as-found.case";
/// Name of the file with a Rust test that repeats the case.
pub const TEST: &str = "regression.rs";
/// Time for a search that counts the alternatives which were open.
const THOUGHT: Duration = Duration::from_secs(1);
/// Memory of that search, in bytes.
const MEMORY: usize = 256 << 20;

/// Returns the record of a run that is over. `log` and `remarks` were collected during the run.
pub fn of(
    subject: &Subject,
    plan: &Plan,
    outcome: &Outcome,
    beside: &Beside,
    log: &Log,
    remarks: &[String],
) -> RunRecord {
    let mut missing = beside.missing.clone();
    let names = |list: &[&'static str]| list.iter().map(ToString::to_string).collect();
    let rules = rules(subject, &mut missing);
    let left = outcome.findings.len();
    let mut violations = Vec::new();
    for (place, finding) in outcome.findings.iter().enumerate() {
        let time = beside.budgets.map(|budgets| budgets.share(left - place));
        violations.push(violation(subject, plan, finding, time, &mut missing));
    }
    let trouble = |(trouble, times): &(Trouble, u64)| TroubleRecord {
        what: trouble.to_string(),
        next: advice::next(trouble, subject.door),
        times: *times,
    };
    let mistake =
        outcome.troubles.iter().map(|(trouble, _)| trouble).find(|one| matches!(one, Trouble::Mistake(_)));
    RunRecord {
        head: RecordHead::new(beside.id.clone(), subject.door),
        model: subject.model.clone(),
        server: subject.shown.clone(),
        settings: subject.settings.clone(),
        premise: subject.premise.clone(),
        rules,
        plan: PlanRecord {
            seed: plan.seed,
            level: plan.level,
            by_experiment: plan.by_experiment,
            allowed: names(&plan.allow),
            connections: plan.limits.connections,
            workers: match plan.workers {
                Workers::Fixed(workers) => workers,
                Workers::Auto => outcome.figures.crowding.cases.max(1) as usize,
            },
            cases: plan.cases,
            max_time: plan.max_time,
            shard: (plan.shard != Shard::WHOLE).then_some(plan.shard),
        },
        conclusion: outcome.conclusion.clone(),
        violations,
        troubles: outcome.troubles.iter().map(trouble).collect(),
        tally: outcome.tally,
        figures: outcome.figures.clone(),
        elapsed: outcome.elapsed,
        relaxed: names(&outcome.relaxed),
        branches: outcome.branches.clone(),
        remarks: remarks.to_vec(),
        bound: subject.bound.map(|bound| bound.in_shard(plan.shard)),
        notes: RunNotes {
            tried: beside.tried.clone(),
            stored: beside.stored.clone(),
            baseline: beside.baseline.clone(),
            missing,
            budgets: beside.budgets.map(|budgets| budgets.record()),
            resumed: beside.resumed,
            stopped: beside.stopped,
            mistake: mistake.map(ToString::to_string),
        },
        log: log.clone(),
        merged: None,
    }
}

/// Returns the record of a run in which nothing has happened yet.
pub fn blank(subject: &Subject, plan: &Plan, id: &str) -> RunRecord {
    let outcome = Outcome {
        conclusion: Conclusion::Inconclusive("the run has just begun".to_owned()),
        findings: Vec::new(),
        troubles: Vec::new(),
        tally: Tally::default(),
        figures: Figures::default(),
        elapsed: Duration::ZERO,
        relaxed: plan.allow.clone(),
        branches: Vec::new(),
    };
    let beside = Beside { id: id.to_owned(), ..Beside::default() };
    of(subject, plan, &outcome, &beside, &Log::default(), &[])
}

/// Returns the rules of a subject. A defect in a kit's text costs that text only, and is named in `missing`.
pub fn rules(subject: &Subject, missing: &mut Vec<String>) -> Vec<RuleRecord> {
    let mut record = |rule: &'static Rule| {
        let clause = guarded(|| (subject.clause)(rule.name)).unwrap_or_else(|why| {
            missing.push(format!("the clause of {}: internal error: {why}", rule.name));
            None
        });
        RuleRecord {
            name: rule.name.to_owned(),
            level: rule.level,
            summary: rule.summary.to_owned(),
            clause: clause.map(str::to_owned),
            more: subject.is_shipped.then(|| format!("confute explain {}", rule.name)),
        }
    };
    subject.rules().iter().map(&mut record).collect()
}

/// Returns the record of a violation with its files, made within this time. Files that cannot be made are
/// named in `missing`.
pub fn violation(
    subject: &Subject,
    plan: &Plan,
    finding: &Finding,
    time: Option<Duration>,
    missing: &mut Vec<String>,
) -> Violation {
    let end = time.map(|time| Instant::now() + time);
    let mut violation = plain(&*subject.protocol, plan, finding);
    let mut attempt = |what: &str, make: &mut dyn FnMut(&mut Violation) -> Result<(), String>| {
        let failed = match guarded(|| make(&mut violation)) {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(why) => panicked(why),
        };
        missing.push(format!("violation {}, {what}: {failed}", finding.number));
    };
    let file = |name: &str, content: String| FileRecord { name: name.to_owned(), content, executable: false };
    attempt(CASE, &mut |violation| {
        let text =
            StoredCase::new(subject, plan, finding, Form::Shrunk).text().map_err(|why| why.to_string())?;
        let stored = File::parse(CASE.to_owned(), text.clone()).map_err(|why| why.to_string())?;
        violation.files.push(file(CASE, text));
        violation.files.push(file(TEST, rust_test(&stored)));
        Ok(())
    });
    if let Some(Ok(_)) = &finding.shrunk {
        attempt(FOUND, &mut |violation| {
            let stored = StoredCase::new(subject, plan, finding, Form::Found);
            violation.files.push(file(FOUND, stored.text().map_err(|why| why.to_string())?));
            Ok(())
        });
    }
    let left = || end.map(|end| end.saturating_duration_since(Instant::now()));
    attempt("exports", &mut |violation| {
        let exports = exports::of(subject, finding, left());
        violation.remarks = exports.remarks;
        violation.command = exports.command.map(|command| subject.secrets.clean(&command));
        violation.files.extend(exports.files.into_iter().map(|one| FileRecord {
            name: one.name.to_owned(),
            content: subject.secrets.clean(&one.content),
            executable: one.executable,
        }));
        Ok(())
    });
    attempt("open alternatives", &mut |violation| {
        let time = left().map_or(THOUGHT, |left| left.min(THOUGHT));
        let (trace, relaxed) = (finding.shown().trace, &finding.relaxed);
        violation.open = alternatives_of(&*subject.protocol, trace, relaxed, (time, MEMORY));
        Ok(())
    });
    violation
}

/// Returns the record of a violation without files.
pub fn plain(protocol: &dyn AnyProtocol, plan: &Plan, finding: &Finding) -> Violation {
    let standing = if plan.refuted_by(finding) {
        Standing::Refutes
    } else if finding.known {
        Standing::Known
    } else if finding.is_undecided(plan.level) {
        Standing::Undecided
    } else {
        Standing::Warning
    };
    let events = |trace: &[Event<AnyMessage>]| {
        trace.iter().map(|event| event.as_ref().map(|message| message_record(protocol, message))).collect()
    };
    let set_aside = |one: &SetAside| SetAsideRecord {
        rules: one.rules.iter().map(ToString::to_string).collect(),
        kind: one.kind,
        exchange: one.exchange.clone(),
        trace: events(&one.trace),
    };
    let case = |case: &Counterexample, blamed: &[Diagnosis]| CaseRecord {
        name: case.name.clone(),
        steps: case.script.len(),
        trace: events(&case.trace),
        micros: case.micros.clone(),
        refutation: (&case.refutation).into(),
        diagnoses: diagnoses(blamed),
        raw: case.raw.clone(),
    };
    Violation {
        number: finding.number,
        standing,
        diagnoses: diagnoses(&finding.diagnoses),
        incomplete: finding.incomplete,
        level: finding.level,
        times: finding.times,
        occurrences: finding.occurrences.clone(),
        seed: finding.seed,
        relaxed: finding.relaxed.iter().map(ToString::to_string).collect(),
        found: case(&finding.counterexample, &finding.diagnoses),
        shrunk: finding.shrunk.as_ref().map(|shrunk| match shrunk {
            Ok(small) => Ok(ShrunkRecord {
                case: case(&small.counterexample, &small.diagnoses),
                requests: small.requests,
                runs: small.runs,
                again: small.again,
                unfinished: small.unfinished,
            }),
            Err(why) => Err(why.to_string()),
        }),
        excerpt: finding.excerpt.as_ref().map(|part| ExcerptRecord {
            trace: events(&part.trace),
            micros: part.micros.clone(),
            refutation: (&part.refutation).into(),
        }),
        experiment: finding.experiment.as_ref().map(|experiment| ExperimentRecord {
            set_aside: experiment.set_aside.iter().map(set_aside).collect(),
            left: diagnoses(&experiment.left),
            level: experiment.level,
        }),
        proof: finding.proof.as_ref().map(|proof| ProofRecord {
            matter: proof.matter.clone(),
            sentences: proof.sentences.clone(),
            main: proof.main,
        }),
        open: Vec::new(),
        command: None,
        files: Vec::new(),
        remarks: Vec::new(),
    }
}

fn message_record(protocol: &dyn AnyProtocol, message: &AnyMessage) -> MessageRecord {
    MessageRecord {
        text: message.to_string(),
        brief: format!("{message:#}"),
        json: serde_json::to_value(message).unwrap_or_default(),
        answers: protocol.answers(message),
        completes: protocol.completes(message),
    }
}

fn diagnoses(diagnoses: &[Diagnosis]) -> Vec<DiagnosisRecord> {
    diagnoses.iter().map(DiagnosisRecord::from).collect()
}

/// Returns the name of a finding: the sets of rules that it is named after, and the level.
pub fn name(finding: &Finding) -> String {
    let by_experiment = finding.experiment.as_ref().map(|experiment| {
        (experiment.level, ExperimentKind::means(experiment.set_aside.iter().map(|one| one.kind)))
    });
    name_of(&diagnoses(finding.named()), finding.level, by_experiment, finding.incomplete)
}

/// Returns the line of a log about a case that has ended.
pub fn case_line(case: &CaseReport) -> Value {
    let verdict = match &case.verdict {
        Verdict::Unrefuted => "unrefuted",
        Verdict::Refuted(_) => "refuted",
        Verdict::Inconclusive(_) => "inconclusive",
    };
    let ended = match case.ended {
        Ended::Done => "done",
        Ended::Judged => "judged",
        Ended::Limit => "limit",
        Ended::Crowded => "crowded",
        Ended::Stopped => "stopped",
        _ => "trouble",
    };
    json!({
        "confute": "case",
        "version": LINES,
        "number": case.number,
        "name": case.name,
        "seed": case.seed,
        "verdict": verdict,
        "ended": ended,
        "trouble": case.trouble.as_ref().map(ToString::to_string),
        "requests": case.figures.requests,
        "answers": case.figures.answers,
        "milliseconds": case.figures.elapsed.as_secs_f64() * 1e3,
    })
}

/// Returns the line of a log about a trouble.
pub fn trouble_line(trouble: &Trouble, door: Door) -> Value {
    json!({
        "confute": "trouble",
        "version": LINES,
        "what": trouble.to_string(),
        "next": advice::next(trouble, door),
    })
}
