//! The record of a run: plain data that can be stored, read again and merged.
//!
//! A [`RunRecord`] holds all data of every report about a run. The crates that run testers create it; the
//! crate that writes reports reads nothing else. Every report can therefore be regenerated from a stored
//! record, and this crate depends on no protocol, server or output format.

mod door;
mod exit;
mod figures;
mod guard;
pub mod journal;
pub mod merge;
mod notes;
mod occurrence;
pub mod put;
mod ranges;
mod shard;
mod spread;
mod violation;

use std::collections::VecDeque;
use std::time::Duration;

use confute::lang::Level;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use door::Door;
pub use exit::Exit;
pub use figures::{BrokenOff, Conclusion, Crowding, Figures, NEEDED, Refusals, Tally};
pub use guard::guarded;
pub use notes::{BoundRecord, BudgetsRecord, Compared, Rate, Tried};
pub use occurrence::{Occurrence, add_occurrences};
pub use ranges::Ranges;
pub use shard::{MOST_SHARDS, Shard};
pub use spread::{Quantiles, Spread};
pub use violation::{
    ByteRecord, CaseRecord, DiagnosisRecord, ExcerptRecord, ExpectationRecord, ExperimentKind,
    ExperimentRecord, FileRecord, MessageRecord, ProofRecord, RefutationRecord, SetAsideRecord,
    ShownViolation, ShrunkRecord, Standing, Violation, name_of, numbered, with_messages,
};

/// The version of records that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The kind, the format and the origin of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordHead {
    /// Always `record`.
    pub confute: String,
    /// The version of the format.
    pub version: u32,
    /// Identity of the run, which stays the same when it is resumed; empty in records that have none.
    #[serde(default)]
    pub id: String,
    /// The program that started the run.
    #[serde(default)]
    pub door: Door,
}

impl RecordHead {
    /// Creates the head of the record of a run.
    pub fn new(id: String, door: Door) -> Self {
        Self { confute: "record".to_owned(), version: VERSION, id, door }
    }
}

/// All data of the reports about a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The kind, the format and the origin of the record.
    #[serde(flatten)]
    pub head: RecordHead,
    /// Name of the model.
    pub model: String,
    /// The server, as the user named it.
    pub server: String,
    /// Settings of the kit without secrets.
    #[serde(default)]
    pub settings: Value,
    /// The premise that the verdict rests on and that the tester cannot observe.
    pub premise: String,
    /// Rules of the model, in its order.
    pub rules: Vec<RuleRecord>,
    /// Parameters of the run.
    pub plan: PlanRecord,
    /// The verdict on the server.
    pub conclusion: Conclusion,
    /// All distinct violations and warnings.
    pub violations: Vec<Violation>,
    /// Troubles, each with its number of occurrences.
    pub troubles: Vec<TroubleRecord>,
    /// Numbers of cases by result.
    pub tally: Tally,
    /// Counts and distributions over all cases.
    pub figures: Figures,
    /// Time that testing took.
    pub elapsed: Duration,
    /// Names of the rules that were relaxed at the end.
    pub relaxed: Vec<String>,
    /// The coverage goals, each with the number of times it was reached.
    pub branches: Vec<(String, u64)>,
    /// Remarks about the capabilities of the server.
    pub remarks: Vec<String>,
    /// The claim of an exhaustive run.
    pub bound: Option<BoundRecord>,
    /// Notes beside the violations.
    pub notes: RunNotes,
    /// Cases and troubles in order, one JSON object each.
    pub log: Log,
    /// The runs that the record was merged from, with everything that a further merge needs. `None` for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<merge::MergedRecord>,
}

impl RunRecord {
    /// Returns the rule of this name.
    pub fn rule(&self, name: &str) -> Option<&RuleRecord> {
        self.rules.iter().find(|rule| rule.name == name)
    }

    /// Returns `true` if the binary `confute` includes the model, so that `confute explain` knows its rules
    /// and `confute replay` its cases.
    pub fn is_shipped(&self) -> bool {
        self.rules.iter().any(|rule| rule.more.is_some())
    }

    /// Returns the violations with this standing.
    pub fn standing(&self, standing: Standing) -> impl Iterator<Item = &Violation> {
        self.violations.iter().filter(move |one| one.standing == standing)
    }
}

/// Notes of a run beside its violations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunNotes {
    /// Stored cases that were run first.
    pub tried: Vec<Tried>,
    /// Files that were added to the folder of regressions.
    pub stored: Vec<std::path::PathBuf>,
    /// Comparison with the baseline.
    pub baseline: Option<Compared>,
    /// Steps that failed because of a defect in Confute, each with its message: their results are missing.
    pub missing: Vec<String>,
    /// Time limits of the run, and the time that it took.
    pub budgets: Option<BudgetsRecord>,
    /// Number of cases that were done before the run was resumed, if it was.
    #[serde(default)]
    pub resumed: Option<u64>,
    /// `true` if the run was stopped before it reached a limit of its own.
    #[serde(default)]
    pub stopped: bool,
    /// The mistake of the model that ended the run: then nothing was found out about the server.
    #[serde(default)]
    pub mistake: Option<String>,
}

/// A rule of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Name of the rule, for reports and for `--allow`.
    pub name: String,
    /// Level of the rule.
    pub level: Level,
    /// The requirement, in one sentence.
    pub summary: String,
    /// The clause of the standard that states the requirement.
    pub clause: Option<String>,
    /// A command that explains the rule, if there is one that works for the reader of the report.
    pub more: Option<String>,
}

impl RuleRecord {
    /// Returns the document and the section that the name refers to, or else the group. A name is `GROUP/NAME`, and
    /// the group of a rule that a standard states is `rfcNUMBER-SECTION`.
    pub fn place(&self) -> (String, Option<&str>) {
        let (group, _) = self.name.split_once('/').unwrap_or((&self.name, ""));
        match group.strip_prefix("rfc").and_then(|place| place.split_once('-')) {
            Some((number, section)) => (format!("RFC {number}"), Some(section)),
            None => (group.to_owned(), None),
        }
    }
}

/// Parameters of a run that appear in reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Seed of all random choices.
    pub seed: u64,
    /// Lowest level at which a violation refutes the server.
    pub level: Level,
    /// `true` if a violation also refutes the server whose level is high enough only by experiment.
    #[serde(default)]
    pub by_experiment: bool,
    /// Names of the rules that were not required.
    pub allowed: Vec<String>,
    /// Number of connections in a case.
    pub connections: u32,
    /// Number of cases that run at the same time.
    pub workers: usize,
    /// Maximum number of cases.
    pub cases: Option<u64>,
    /// Maximum testing time.
    pub max_time: Option<Duration>,
    /// The part of the campaign that was run; `None` if all of it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// A condition that prevented the run from continuing and is not a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TroubleRecord {
    /// Description of the condition.
    pub what: String,
    /// Suggested next step; empty if there is none.
    pub next: String,
    /// Number of occurrences.
    pub times: u64,
}

/// Maximum number of lines at the beginning of a log, and also at its end.
const HALF: usize = 5_000;

/// Cases and troubles in the order in which they happened, bounded regardless of the length of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// The first lines.
    pub first: Vec<Value>,
    /// The latest lines.
    pub latest: VecDeque<Value>,
    /// Number of cases between them that were dropped.
    pub cut_cases: u64,
    /// Number of troubles between them that were dropped.
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
