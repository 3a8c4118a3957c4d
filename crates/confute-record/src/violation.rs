//! One violation: the case that shows it, the rules that explain it, and the files about it.

use confute::lang::Level;
use confute::trace::{Event, WireConn};
use confute::{Diagnosis, Refutation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Occurrence;

/// Effect of a violation on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The violation refutes the server: its level is high enough.
    Refutes,
    /// The violation is listed in the baseline.
    Known,
    /// The violation may refute the server, but blame ran out of time.
    Undecided,
    /// The violation is below the level that refutes the server.
    Warning,
}

impl Standing {
    /// Returns the title of such a violation in reports.
    pub fn title(self) -> &'static str {
        match self {
            Standing::Refutes => "violation",
            Standing::Known => "known violation",
            Standing::Undecided => "undecided violation",
            Standing::Warning => "warning",
        }
    }
}

/// A distinct violation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Violation {
    /// Number of the violation, counted from 1.
    pub number: usize,
    /// Effect on the verdict.
    pub standing: Standing,
    /// Sets of rules each of which explains the case by being broken, those with the fewest deviations first.
    /// Empty if none was found.
    pub diagnoses: Vec<DiagnosisRecord>,
    /// `true` if the time for blame ran out: other sets may explain the case too.
    pub incomplete: bool,
    /// Level of the violation, as far as it was proven; `None` if nothing was proven.
    pub level: Option<Level>,
    /// Number of cases in which it was observed.
    pub times: u64,
    /// The cases in which it was observed, as far as they are known.
    #[serde(default)]
    pub occurrences: Vec<Occurrence>,
    /// Seed of the case in which it was found.
    pub seed: u64,
    /// Rules that were relaxed in that case.
    pub relaxed: Vec<String>,
    /// The case in which it was found.
    pub found: CaseRecord,
    /// A smaller case that also shows it, or the reason why there is none; `None` if shrinking was not attempted.
    pub shrunk: Option<Result<ShrunkRecord, String>>,
    /// If there is no smaller case: the part of the trace that suffices as a counterexample, unless all of it
    /// is needed.
    pub excerpt: Option<ExcerptRecord>,
    /// Experiments that set explanations aside, if there were any. They are evidence beside the proven level.
    #[serde(default)]
    pub experiment: Option<ExperimentRecord>,
    /// Proof that no hypothesis explains the displayed case.
    pub proof: Option<ProofRecord>,
    /// Number of open alternatives after each event of the displayed case, as far as it was counted.
    pub open: Vec<usize>,
    /// A command of one line that shows the violation without Confute; `None` if it takes several requests.
    #[serde(default)]
    pub command: Option<String>,
    /// Files about the violation.
    pub files: Vec<FileRecord>,
    /// Remarks about files that are missing, and about limitations of a file.
    pub remarks: Vec<String>,
}

/// A set of rules that explains a case by being broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosisRecord {
    /// The rules.
    pub rules: Vec<String>,
    /// Minimum number of deviations.
    pub deviations: u32,
    /// Strongest level of the rules.
    pub level: Level,
}

impl From<&Diagnosis> for DiagnosisRecord {
    fn from(diagnosis: &Diagnosis) -> Self {
        let rules = diagnosis.rules.iter().map(ToString::to_string).collect();
        Self { rules, deviations: diagnosis.deviations, level: diagnosis.level }
    }
}

/// A case up to the event that no hypothesis explains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseRecord {
    /// Name of the case on the server.
    pub name: String,
    /// Number of steps of its script.
    pub steps: usize,
    /// Events of the case.
    pub trace: Vec<Event<MessageRecord>>,
    /// Time of each event, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// The observation that no hypothesis explains, and the expected alternatives.
    pub refutation: RefutationRecord,
    /// Sets of rules that explain this case by itself.
    pub diagnoses: Vec<DiagnosisRecord>,
    /// The last bytes on the wire.
    pub raw: Vec<ByteRecord>,
}

/// A smaller case found by shrinking.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShrunkRecord {
    /// The case.
    pub case: CaseRecord,
    /// Numbers of requests before and after shrinking.
    pub requests: (usize, usize),
    /// Number of scripts that were run.
    pub runs: u64,
    /// Number of runs in which the violation reproduced, and of all runs that were counted.
    pub again: (u32, u32),
    /// `true` if time ran out before shrinking was complete.
    pub unfinished: bool,
}

/// Explanations of a violation that further runs on the server set aside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExperimentRecord {
    /// The sets of rules that were set aside.
    pub set_aside: Vec<SetAsideRecord>,
    /// The sets of rules that are left.
    pub left: Vec<DiagnosisRecord>,
    /// Level of the violation if one of these is to blame.
    pub level: Level,
}

/// A set of rules that an experiment set aside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetAsideRecord {
    /// The rules.
    pub rules: Vec<String>,
    /// The kind of the experiment, with its counts.
    pub kind: ExperimentKind,
    /// The exchange that decided: request and response in short form.
    pub exchange: String,
    /// Trace of the last run of the experiment.
    pub trace: Vec<Event<MessageRecord>>,
}

/// The kind of an experiment, with its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentKind {
    /// The case was extended by another exchange. With the same number of deviations, the rules explain the case but
    /// not its extension.
    Extension,
    /// A server that breaks the rules whenever it can would have responded differently, in each of these runs.
    Comparison(u32),
    /// The case showed the violation in each of these runs, and the control showed no change in as many.
    Control(u32),
    /// This number of other cases with the same cause are not explained by the rules. The exchange is what one of them showed.
    OtherCases(u32),
}

impl ExperimentKind {
    /// Returns what narrowed the explanations of a violation, in words: experiments, or other cases alone.
    pub fn means(all: impl IntoIterator<Item = Self>) -> &'static str {
        let is_other = |kind| matches!(kind, ExperimentKind::OtherCases(_));
        if all.into_iter().all(is_other) { "other cases" } else { "experiment" }
    }
}

/// A part of a trace that no hypothesis explains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExcerptRecord {
    /// Events of the excerpt.
    pub trace: Vec<Event<MessageRecord>>,
    /// Time of each event, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// The observation that no hypothesis explains, and the expected alternatives.
    pub refutation: RefutationRecord,
}

/// A message in the forms that reports need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The message in one line.
    pub text: String,
    /// The message in short form, for use in sentences.
    pub brief: String,
    /// The message as data.
    pub json: Value,
    /// Number of responses that the message expects.
    pub answers: u32,
    /// `true` if the message completes a response.
    pub completes: bool,
}

/// An observation that no hypothesis explains, and the expected alternatives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefutationRecord {
    /// Index of the event that no hypothesis explains, counted from 0.
    pub event: usize,
    /// Description of that event.
    pub seen: String,
    /// Expected alternatives, by class of hypothesis.
    pub expected: Vec<ExpectationRecord>,
    /// Number of hypotheses before that event, as far as they were counted.
    pub hypotheses: usize,
    /// `true` if `expected` is truncated.
    pub more: bool,
}

impl From<&Refutation> for RefutationRecord {
    fn from(refutation: &Refutation) -> Self {
        let expected = refutation.expected.iter().map(|one| ExpectationRecord {
            message: one.message.clone(),
            rules: one.rules.iter().map(ToString::to_string).collect(),
            hypotheses: one.hypotheses,
        });
        let Refutation { event, hypotheses, more, .. } = *refutation;
        Self { event, seen: refutation.seen.clone(), expected: expected.collect(), hypotheses, more }
    }
}

/// The expectation of a class of hypotheses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectationRecord {
    /// The expected message; `None` if no message was expected.
    pub message: Option<String>,
    /// Rules on which the expectation rests.
    pub rules: Vec<String>,
    /// Number of hypotheses with this expectation.
    pub hypotheses: usize,
}

/// Proof that no hypothesis explains a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// Indices of the events that the proof uses.
    pub matter: Vec<usize>,
    /// The proof, in sentences.
    pub sentences: Vec<String>,
    /// Index of the sentence to show if there is room for one only.
    #[serde(default)]
    pub main: usize,
}

/// Bytes of one read or write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRecord {
    /// The connection.
    pub conn: WireConn,
    /// `true` if the tester wrote them.
    pub sent: bool,
    /// Time in microseconds since the case began.
    pub micros: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A file about a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Name without a folder.
    pub name: String,
    /// Content of the file.
    pub content: String,
    /// `true` if the file is executable.
    pub executable: bool,
}

/// The displayed case of a violation.
#[derive(Clone, Copy)]
pub struct ShownViolation<'a> {
    /// Events of the case.
    pub trace: &'a [Event<MessageRecord>],
    /// Time of each event, in microseconds since the case began.
    pub micros: &'a [u64],
    /// The observation that no hypothesis explains, and the expected alternatives.
    pub refutation: &'a RefutationRecord,
    /// Sets of rules that explain this case by itself.
    pub diagnoses: &'a [DiagnosisRecord],
    /// The last bytes on the wire.
    pub raw: &'a [ByteRecord],
}

impl Violation {
    /// Returns the case to display: the smaller one if there is one, otherwise the excerpt, otherwise the full case.
    pub fn shown(&self) -> ShownViolation<'_> {
        let found = match &self.shrunk {
            Some(Ok(shrunk)) => &shrunk.case,
            _ => &self.found,
        };
        let CaseRecord { trace, micros, refutation, diagnoses, raw, .. } = found;
        let shown = ShownViolation { trace, micros, refutation, diagnoses, raw };
        match (&self.shrunk, &self.excerpt) {
            (Some(Ok(_)), _) | (_, None) => shown,
            (_, Some(part)) => ShownViolation {
                trace: &part.trace,
                micros: &part.micros,
                refutation: &part.refutation,
                ..shown
            },
        }
    }

    /// Returns the sets of rules that the violation is named after: those that experiments left, or else all that
    /// explain it.
    pub fn named(&self) -> &[DiagnosisRecord] {
        self.experiment.as_ref().map_or(&self.diagnoses, |experiment| &experiment.left)
    }

    /// Returns the rules that the violation is named after, each once.
    pub fn named_rules(&self) -> Vec<&str> {
        rules_of(self.named())
    }

    /// Returns the rules of all sets that explain it, each once.
    pub fn blamed_rules(&self) -> Vec<&str> {
        rules_of(&self.diagnoses)
    }

    /// Returns the rules that the violation is named after, and its level: "a, or b and c (level must)".
    pub fn name(&self) -> String {
        let by_experiment = self.experiment.as_ref().map(|experiment| {
            (experiment.level, ExperimentKind::means(experiment.set_aside.iter().map(|one| one.kind)))
        });
        name_of(self.named(), self.level, by_experiment, self.incomplete)
    }

    /// Returns `true` if the rule is in one of the diagnoses.
    pub fn is_blamed_on(&self, rule: &str) -> bool {
        self.diagnoses.iter().any(|one| one.rules.iter().any(|name| name == rule))
    }

    /// Returns `true` if the rule is in one of the sets that the violation is named after.
    pub fn is_named_after(&self, rule: &str) -> bool {
        self.named().iter().any(|one| one.rules.iter().any(|name| name == rule))
    }

    /// Returns the number of requests of the displayed case.
    pub fn requests(&self) -> usize {
        match &self.shrunk {
            Some(Ok(shrunk)) => shrunk.requests.1,
            _ => self.found.trace.iter().filter(|event| matches!(event, Event::Sent(..))).count(),
        }
    }
}

/// Returns the names of the rules in these sets, each once.
fn rules_of(sets: &[DiagnosisRecord]) -> Vec<&str> {
    let mut rules = Vec::new();
    for rule in sets.iter().flat_map(|one| &one.rules) {
        if !rules.contains(&rule.as_str()) {
            rules.push(rule);
        }
    }
    rules
}

/// Returns the name of a violation: the sets of rules that it is named after, and its level as far as it was proven. The
/// level by experiment is a statement of its own.
pub fn name_of(
    sets: &[DiagnosisRecord],
    level: Option<Level>,
    by_experiment: Option<(Level, &str)>,
    incomplete: bool,
) -> String {
    // Rule sets that were not tried might explain it too, so the proven level is a lower bound.
    let at_least = if incomplete { " at least" } else { "" };
    // The level was found with all weaker rules relaxed, without a set of them to name. Silence is always *live*.
    let is_weaker = by_experiment.is_none()
        && level.is_some_and(|level| level > Level::Live && sets.iter().all(|one| one.level > level));
    let proven =
        level.map_or("of unknown level".to_owned(), |level| format!("level {}{at_least}", level.name()));
    let level = match by_experiment {
        None => proven,
        Some((other, means)) if Some(other) == level => format!("{proven}, narrowed by {means}"),
        Some((other, means)) => format!("{proven}, {} by {means}", other.name()),
    };
    let sets: Vec<String> = sets.iter().map(|one| one.rules.join(" and ")).collect();
    match &sets[..] {
        [] if incomplete => format!("no rule found within the time budget ({level})"),
        [] => format!("breaking any rule of the model does not explain it ({level})"),
        sets if incomplete => format!("{} ({level}: not every rule was tried)", sets.join(", or ")),
        sets if is_weaker => {
            format!("{} ({level}: rules of that level, broken often, explain it too)", sets.join(", or "))
        }
        sets => format!("{} ({level})", sets.join(", or ")),
    }
}

/// Returns the indices of the events that reports number, in order. Opened connections and all events of
/// connections without messages are left out: idle connections explain nothing, and a case may have many of them.
pub fn numbered<M>(trace: &[Event<M>]) -> Vec<usize> {
    let conns = with_messages(trace);
    let is_numbered = |event: &Event<M>| {
        !matches!(event, Event::Opened(_))
            && event.conn().is_none_or(|conn| conns.binary_search(&conn).is_ok())
    };
    (0..trace.len()).filter(|place| is_numbered(&trace[*place])).collect()
}

/// Returns the connections that have messages, in order. A close by the server counts as a message: it may be
/// the event that no hypothesis explains.
pub fn with_messages<M>(trace: &[Event<M>]) -> Vec<WireConn> {
    let has_message =
        |event: &&Event<M>| matches!(event, Event::Sent(..) | Event::Received(..) | Event::Closed(_));
    let mut conns: Vec<WireConn> = trace.iter().filter(has_message).filter_map(Event::conn).collect();
    conns.sort_unstable();
    conns.dedup();
    conns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_below_that_of_the_named_rules_has_a_reason() {
        let must =
            |rule: &str| DiagnosisRecord { rules: vec![rule.into()], deviations: 1, level: Level::Must };
        let store = DiagnosisRecord { level: Level::Store, ..must("c") };
        let name = |diagnoses: &[_], level| name_of(diagnoses, Some(level), None, false);
        assert_eq!(name(&[must("a"), must("b")], Level::Must), "a, or b (level must)");
        assert_eq!(name(&[must("a"), store], Level::Store), "a, or c (level store)");
        assert_eq!(
            name(&[must("a")], Level::Store),
            "a (level store: rules of that level, broken often, explain it too)"
        );
        // No response: the rule is of level must, and its violation shows only by waiting.
        assert_eq!(name(&[must("a")], Level::Live), "a (level live)");
    }

    #[test]
    fn a_rule_in_several_sets_is_listed_once() {
        let set = |rules: &[&str]| DiagnosisRecord {
            rules: rules.iter().map(ToString::to_string).collect(),
            deviations: 2,
            level: Level::Must,
        };
        assert_eq!(rules_of(&[set(&["a", "b"]), set(&["a", "c"]), set(&["b"])]), ["a", "b", "c"]);
    }
}
