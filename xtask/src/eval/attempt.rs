//! One run against a fresh server, and its record.

use std::time::Duration;

use confute::lang::Level;
use confute_drive::{AnyProtocol, Factory, Limits, Plan, Target};

use super::record::{Record, Sighting};
use crate::hunt::{follow, investigate};

/// End condition of a run, and options.
pub(crate) struct Goal {
    /// Maximum time of the run.
    pub(crate) time: Duration,
    /// Number of messages after which the run ends.
    pub(crate) most: Option<u64>,
    /// `true` if the run ends at the first violation.
    pub(crate) first_only: bool,
    /// `true` if the violation is shrunk.
    pub(crate) shrinks: bool,
    /// Response timeout.
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
    // Some mutants show only as refused requests, or as tags that change.
    let plan = Plan { limits, seed, max_time: Some(goal.time), level: Level::Steady, ..Plan::new(target) };
    let plan = Plan { max_failures: if goal.first_only { 1 } else { plan.max_failures }, ..plan };
    let mut findings: Vec<Sighting> = Vec::new();
    let (run, mut outcome) = follow(protocol, &plan, make, goal.most, &mut |finding, time, messages| {
        let rules: Vec<String> = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
        if !findings.iter().any(|known| known.rules == rules) {
            let level = finding.level.map_or_else(|| "unknown".to_owned(), |level| level.name().to_owned());
            let (seconds, incomplete) = (time.as_secs_f64(), finding.incomplete);
            findings.push(Sighting { rules, incomplete, level, seconds, messages });
        }
        goal.first_only
    });
    let first = outcome.findings.iter_mut().find(|finding| finding.refutes(plan.level));
    let investigation = first.filter(|_| goal.shrinks).map(|finding| investigate(protocol, &plan, finding));
    Record {
        subject: String::new(),
        seed,
        of: String::new(),
        seconds: run.refuted.map(|(time, _)| time.as_secs_f64()),
        messages: run.refuted.map(|(_, count)| count),
        blamed: run.blamed,
        shrunk: investigation.as_ref().and_then(|investigation| investigation.requests),
        investigation,
        all_messages: run.messages,
        all_seconds: run.total.as_secs_f64(),
        findings,
        inconclusive: run.inconclusive,
        trace: run.trace,
    }
}
