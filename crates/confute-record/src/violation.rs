//! One violation: the case that shows it, the rules that explain it, and the files about it.

use confute::lang::Level;
use confute::trace::{Event, WireConn};
use confute::{Diagnosis, Refutation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a violation means for the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It proves the server wrong, at a level that counts.
    Refutes,
    /// It was to be expected: see the baseline.
    Known,
    /// It may prove the server wrong, but there was no time to find out.
    Undecided,
    /// It is weaker than the level that counts.
    Warning,
}

impl Standing {
    /// The name that reports give a violation that stands like this.
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
    /// The number, counted from one.
    pub number: usize,
    /// What it means for the verdict.
    pub standing: Standing,
    /// Sets of rules each of which explains the case by being broken, those with the fewest deviations first. Empty if none was found.
    pub diagnoses: Vec<DiagnosisRecord>,
    /// `true` if the time for blame ran out: other sets may explain the case too.
    pub incomplete: bool,
    /// The level of the accusation, as far as it was proven; `None` if nothing was proven.
    pub level: Option<Level>,
    /// The number of cases in which it was met.
    pub times: u64,
    /// The seed of the case it was found in.
    pub seed: u64,
    /// Rules that were not required in that case.
    pub relaxed: Vec<String>,
    /// The case it was found in.
    pub found: CaseRecord,
    /// A smaller case that shows it too, or why there is none; `None` while nobody looked for one.
    pub shrunk: Option<Result<ShrunkRecord, String>>,
    /// Where there is no smaller case: the part of the trace that is enough by itself, if not all of it is needed.
    pub excerpt: Option<ExcerptRecord>,
    /// The proof that nothing explains the case that is shown.
    pub proof: Option<ProofRecord>,
    /// The number of alternatives that the tester had open after each event of the case that is shown, as far as it was counted.
    pub open: Vec<usize>,
    /// The files about it.
    pub files: Vec<FileRecord>,
    /// Remarks about files that are missing, and about what a file cannot do.
    pub remarks: Vec<String>,
}

/// A set of rules that explains a case by being broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiagnosisRecord {
    /// The rules.
    pub rules: Vec<String>,
    /// The number of deviations that are needed at least.
    pub deviations: u32,
    /// The strongest level of the rules.
    pub level: Level,
}

impl From<&Diagnosis> for DiagnosisRecord {
    fn from(diagnosis: &Diagnosis) -> Self {
        let rules = diagnosis.rules.iter().map(ToString::to_string).collect();
        Self { rules, deviations: diagnosis.deviations, level: diagnosis.level }
    }
}

/// A case: what happened, up to the event that nothing explains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The name on the server.
    pub name: String,
    /// The number of steps of its script.
    pub steps: usize,
    /// The events.
    pub trace: Vec<Event<MessageRecord>>,
    /// The time of each event, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// What was seen, and what was expected instead.
    pub refutation: RefutationRecord,
    /// Sets of rules that explain this case by itself.
    pub diagnoses: Vec<DiagnosisRecord>,
    /// The latest bytes on the wire.
    pub raw: Vec<Chunk>,
}

/// A smaller case, and how it was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShrunkRecord {
    /// The case.
    pub case: CaseRecord,
    /// The number of requests before and after.
    pub requests: (usize, usize),
    /// The number of scripts that were run.
    pub runs: u64,
    /// The number of runs in which it showed again, and of all that were counted.
    pub again: (u32, u32),
    /// `true` if the time was up before nothing more could be left out.
    pub unfinished: bool,
}

/// A part of a trace that nothing explains.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExcerptRecord {
    /// The events.
    pub trace: Vec<Event<MessageRecord>>,
    /// The time of each event.
    pub micros: Vec<u64>,
    /// What was seen, and what was expected instead.
    pub refutation: RefutationRecord,
}

/// A message as reports show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The message in one line.
    pub text: String,
    /// The message in short, for sentences.
    pub brief: String,
    /// The message as data.
    pub json: Value,
    /// The number of answers that it gets.
    pub answers: u32,
    /// `true` if it completes an answer.
    pub completes: bool,
}

/// What was seen, and what was expected instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefutationRecord {
    /// The place of the event that nothing explains, counted from 0.
    pub event: usize,
    /// What was seen there.
    pub seen: String,
    /// What would have been right instead, by class of hypothesis.
    pub expected: Vec<ExpectationRecord>,
    /// The number of hypotheses before that event, as far as they were counted.
    pub hypotheses: usize,
    /// `true` if `expected` leaves some out.
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

/// What a class of hypotheses expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectationRecord {
    /// The message; `None` if nothing at all was to come.
    pub message: Option<String>,
    /// The rules by which.
    pub rules: Vec<String>,
    /// The number of hypotheses that expected it.
    pub hypotheses: usize,
}

/// A proof that nothing explains a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRecord {
    /// The places of the events that matter.
    pub matter: Vec<usize>,
    /// The proof in words.
    pub sentences: Vec<String>,
}

/// Bytes as they were written or read in one go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The connection.
    pub conn: WireConn,
    /// `true` if the tester wrote them.
    pub sent: bool,
    /// The time, in microseconds since the case began.
    pub micros: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A file about a violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The name, without a folder.
    pub name: String,
    /// The content.
    pub content: String,
    /// `true` if it is a program.
    pub executable: bool,
}

/// The case of a violation that is shown to people.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The events.
    pub trace: &'a [Event<MessageRecord>],
    /// The time of each event.
    pub micros: &'a [u64],
    /// What was seen, and what was expected instead.
    pub refutation: &'a RefutationRecord,
    /// Sets of rules that explain this case by itself.
    pub diagnoses: &'a [DiagnosisRecord],
    /// The latest bytes on the wire.
    pub raw: &'a [Chunk],
}

impl Violation {
    /// The case that is shown to people: the smaller one, if there is one, or else what is enough of it.
    pub fn shown(&self) -> Shown<'_> {
        let found = match &self.shrunk {
            Some(Ok(shrunk)) => &shrunk.case,
            _ => &self.found,
        };
        let CaseRecord { trace, micros, refutation, diagnoses, raw, .. } = found;
        let shown = Shown { trace, micros, refutation, diagnoses, raw };
        match (&self.shrunk, &self.excerpt) {
            (Some(Ok(_)), _) | (_, None) => shown,
            (_, Some(part)) => {
                Shown { trace: &part.trace, micros: &part.micros, refutation: &part.refutation, ..shown }
            }
        }
    }

    /// The rules that explain it, and the level: "a, or b and c (level must)".
    pub fn name(&self) -> String {
        let sets: Vec<String> = self.diagnoses.iter().map(|one| one.rules.join(" and ")).collect();
        name_of(&sets, self.level, self.incomplete)
    }

    /// `true` if a rule is among those that may have been broken.
    pub fn is_blamed_on(&self, rule: &str) -> bool {
        self.diagnoses.iter().any(|one| one.rules.iter().any(|name| name == rule))
    }
}

/// The name of a violation: the sets of rules that explain it, and the level as far as it was proven.
pub fn name_of(sets: &[String], level: Option<Level>, incomplete: bool) -> String {
    // What was not tried might explain it too, so only so much was proven.
    let at_least = if incomplete { " at least" } else { "" };
    let level =
        level.map_or("of unknown level".to_owned(), |level| format!("level {}{at_least}", level.name()));
    match sets {
        [] if incomplete => format!("no rule found in time ({level})"),
        [] => format!("no rule of the model explains it by being broken ({level})"),
        sets if incomplete => format!("{} ({level}: not every rule could be tried)", sets.join(", or ")),
        sets => format!("{} ({level})", sets.join(", or ")),
    }
}

/// Places of the events that reports number, in order: not that a connection was opened, and nothing of connections that have no
/// message. Idle connections explain nothing, and a case may have many of them.
pub fn numbered<M>(trace: &[Event<M>]) -> Vec<usize> {
    let conns = with_messages(trace);
    let is_numbered = |event: &Event<M>| {
        !matches!(event, Event::Opened(_))
            && event.conn().is_none_or(|conn| conns.binary_search(&conn).is_ok())
    };
    (0..trace.len()).filter(|place| is_numbered(&trace[*place])).collect()
}

/// The connections that have messages, in order. A server that closes says something too: it may be what nothing explains.
pub fn with_messages<M>(trace: &[Event<M>]) -> Vec<WireConn> {
    let has_message =
        |event: &&Event<M>| matches!(event, Event::Sent(..) | Event::Received(..) | Event::Closed(_));
    let mut conns: Vec<WireConn> = trace.iter().filter(has_message).filter_map(Event::conn).collect();
    conns.sort_unstable();
    conns.dedup();
    conns
}
