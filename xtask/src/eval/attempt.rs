//! One run against a server of its own, and what is kept of it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::Level;
use confute_drive::{AnyProtocol, Factory, Finding, Limits, Plan, Shrinker, Target};

use super::record::{Record, Sighting};
use crate::hunt::follow;

/// For how long a smaller case is looked for.
const SHRINKING: Duration = Duration::from_secs(5);

/// When a run ends, and what is done then.
pub(crate) struct Goal {
    /// How long it may take.
    pub(crate) time: Duration,
    /// How many messages are enough.
    pub(crate) most: Option<u64>,
    /// Whether the first violation is enough.
    pub(crate) first_only: bool,
    /// Whether a smaller case is looked for.
    pub(crate) shrinks: bool,
    /// How long an answer may take.
    pub(crate) patience: Duration,
}

pub(crate) fn attempt(
    protocol: &dyn AnyProtocol,
    target: Target,
    seed: u64,
    goal: &Goal,
    make: Factory<'_>,
) -> Record {
    let limits = Limits { patience: goal.patience, ..Limits::default() };
    // Some mutants show only as requests that are refused, or as tags that change.
    let plan = Plan { limits, seed, max_time: Some(goal.time), level: Level::Steady, ..Plan::new(target) };
    let plan = Plan { max_failures: if goal.first_only { 1 } else { plan.max_failures }, ..plan };
    let mut findings: Vec<Sighting> = Vec::new();
    let (run, outcome) = follow(protocol, &plan, make, goal.most, &mut |finding, time, messages| {
        let rules: Vec<String> = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
        if !findings.iter().any(|known| known.rules == rules) {
            let level = finding.level.map_or_else(|| "unknown".to_owned(), |level| level.name().to_owned());
            let (seconds, incomplete) = (time.as_secs_f64(), finding.incomplete);
            findings.push(Sighting { rules, incomplete, level, seconds, messages });
        }
        goal.first_only
    });
    let first = outcome.findings.iter().find(|finding| finding.refutes(plan.level));
    Record {
        subject: String::new(),
        seed,
        of: String::new(),
        seconds: run.refuted.map(|(time, _)| time.as_secs_f64()),
        messages: run.refuted.map(|(_, count)| count),
        blamed: run.blamed,
        shrunk: first.filter(|_| goal.shrinks).and_then(|finding| shrink(protocol, &plan, finding)),
        all_messages: run.messages,
        all_seconds: run.total.as_secs_f64(),
        findings,
        inconclusive: run.inconclusive,
        trace: run.trace,
    }
}

fn shrink(protocol: &dyn AnyProtocol, plan: &Plan, finding: &Finding) -> Option<usize> {
    let shrinker = Shrinker {
        protocol,
        target: plan.target,
        limits: &plan.limits,
        time: SHRINKING,
        blame_time: plan.blame_time,
        prefix: &plan.prefix,
        stop: &AtomicBool::new(false),
    };
    shrinker.shrink(finding, &mut |_| {}).ok().map(|shrunk| shrunk.requests.1)
}
