//! The record of a run: plain data that can be stored, read again and merged.
//!
//! A [`RunRecord`] holds everything that a report says about a run. The crates that run testers make it; the crate that writes reports
//! reads nothing else. So every report can be made again from a stored record, and nothing here knows a protocol, a server or a
//! format for people.

mod exit;
mod figures;
mod guard;
mod notes;
pub mod put;
mod spread;
mod violation;

use std::collections::VecDeque;
use std::time::Duration;

use confute::lang::Level;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use exit::Exit;
pub use figures::{Conclusion, Figures, NEEDED, Refusals, Tally};
pub use guard::guarded;
pub use notes::{BoundRecord, BudgetsRecord, Compared, Rate, Tried};
pub use spread::{Quantiles, Spread};
pub use violation::{
    CaseRecord, Chunk, DiagnosisRecord, ExcerptRecord, ExpectationRecord, FileRecord, MessageRecord,
    ProofRecord, RefutationRecord, Shown, ShrunkRecord, Standing, Violation, name_of, numbered,
    with_messages,
};

/// The version of records that this crate writes and reads.
pub const VERSION: u32 = 1;

/// Everything that reports say about a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always `record`.
    pub confute: String,
    /// The version of the form.
    pub version: u32,
    /// The name of the model.
    pub model: String,
    /// The server, as the user named it.
    pub server: String,
    /// The premise that the verdict rests on, and that cannot be seen.
    pub premise: String,
    /// The rules of the model, in its order.
    pub rules: Vec<RuleRecord>,
    /// The plan of the run.
    pub plan: PlanRecord,
    /// The verdict.
    pub conclusion: Conclusion,
    /// Every distinct violation and warning.
    pub violations: Vec<Violation>,
    /// Troubles, each with how often it was met.
    pub troubles: Vec<TroubleRecord>,
    /// The number of cases by how they ended.
    pub tally: Tally,
    /// Counts and distributions over all cases.
    pub figures: Figures,
    /// The time that testing took.
    pub elapsed: Duration,
    /// Rules that were no longer required at the end.
    pub relaxed: Vec<String>,
    /// The branches that there were to reach, and how often each was.
    pub branches: Vec<(String, u64)>,
    /// Remarks about what the server can do.
    pub remarks: Vec<String>,
    /// The claim of an exhaustive run.
    pub bound: Option<BoundRecord>,
    /// What there is to say beside the violations.
    pub notes: RunNotes,
    /// Cases and troubles in order, one JSON object each.
    pub log: Log,
}

impl RunRecord {
    /// The rule of this name.
    pub fn rule(&self, name: &str) -> Option<&RuleRecord> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// `true` if the binary `confute` has the model, so that its `explain` knows the rules and its `replay` the cases.
    pub fn is_shipped(&self) -> bool {
        self.rules.iter().any(|rule| rule.more.is_some())
    }

    /// The violations that stand like this.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |one| one.standing == standing)
    }
}

/// What a run has to say beside its violations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunNotes {
    /// The stored cases that were tried first.
    pub tried: Vec<Tried>,
    /// The files that were added to the folder of regressions.
    pub stored: Vec<std::path::PathBuf>,
    /// The comparison with the baseline.
    pub baseline: Option<Compared>,
    /// Steps that ended in a defect, each with what it said: what they would have added is missing.
    pub missing: Vec<String>,
    /// The time that the run took, and was to take.
    pub budgets: Option<BudgetsRecord>,
}

/// A rule of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// The name, for reports and for `--allow`.
    pub name: String,
    /// The level.
    pub level: Level,
    /// The requirement, in one sentence.
    pub summary: String,
    /// The clause of the standard that has the requirement.
    pub clause: Option<String>,
    /// Where to read more about it: a command that works for whoever reads the report.
    pub more: Option<String>,
}

/// The plan of a run, as far as reports tell it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The seed of all choices.
    pub seed: u64,
    /// The level from which on a violation refutes.
    pub level: Level,
    /// Rules that were not required.
    pub allowed: Vec<String>,
    /// The number of connections of a case.
    pub connections: u32,
    /// The number of cases at once.
    pub workers: usize,
    /// The most cases.
    pub cases: Option<u64>,
    /// The most time.
    pub max_time: Option<Duration>,
}

/// A trouble: something that kept the run from going on, and is no violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TroubleRecord {
    /// What happened.
    pub what: String,
    /// The next step; empty where nobody knows one.
    pub next: String,
    /// The number of times.
    pub times: u64,
}

/// The most lines at the beginning of a log, and as many at its end.
const HALF: usize = 5_000;

/// Cases and troubles in the order in which they happened, bounded however long the run is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// The first lines.
    pub first: Vec<Value>,
    /// The latest lines.
    pub latest: VecDeque<Value>,
    /// The number of cases between them that are not kept.
    pub cut_cases: u64,
    /// The number of troubles between them that are not kept.
    pub cut_troubles: u64,
}

impl Log {
    /// Adds a line.
    pub fn keep(&mut self, line: Value) {
        if self.first.len() < HALF {
            self.first.push(line);
            return;
        }
        self.latest.push_back(line);
        if self.latest.len() > HALF
            && let Some(line) = self.latest.pop_front()
        {
            let count = if line["confute"] == "case" { &mut self.cut_cases } else { &mut self.cut_troubles };
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_log_is_cut_in_the_middle() {
        let mut log = Log::default();
        for number in 0..2 * HALF as u64 + 7 {
            log.keep(
                json!({ "confute": if number % 2 == 0 { "case" } else { "trouble" }, "number": number }),
            );
        }
        assert_eq!((log.first.len(), log.latest.len()), (HALF, HALF));
        assert_eq!((log.cut_cases, log.cut_troubles), (4, 3));
        assert_eq!(log.latest[0]["number"], HALF as u64 + 7);
    }
}
