//! What a judgement ends in. Three verdicts, never two.

use crate::lang::{Level, Mistake};

/// The result of judging a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Some behaviour of the model explains everything that was seen.
    Unrefuted,
    /// No behaviour of the model does.
    Refuted(Refutation),
    /// It is not known, for this reason.
    Inconclusive(Inconclusive),
}

impl Verdict {
    /// Whether the server was proven wrong.
    pub fn is_refuted(&self) -> bool {
        matches!(self, Verdict::Refuted(_))
    }

    /// Whether everything was explained.
    pub fn is_unrefuted(&self) -> bool {
        matches!(self, Verdict::Unrefuted)
    }
}

/// Proof that a server is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// The place of the event that nothing explains, counted from 0.
    pub event: usize,
    /// What was seen there.
    pub seen: String,
    /// What would have been right instead, by class of hypothesis.
    pub expected: Vec<Expectation>,
    /// How many hypotheses were alive before that event (as far as they were counted).
    pub hypotheses: usize,
    /// Whether `expected` leaves some out, because there were too many.
    pub more: bool,
}

/// What a class of hypotheses expected instead of what was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    /// The message, as the model would have sent it; `None` if nothing at all was to come.
    pub message: Option<String>,
    /// The rules by which.
    pub rules: Vec<&'static str>,
    /// How many hypotheses say so.
    pub hypotheses: usize,
}

/// Why nothing was proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconclusive {
    /// A budget ran out.
    #[error(
        "the {what} budget ran out at event {event}: {turns} turns of the model tried, {open} alternatives open (about {bytes} bytes); give it more, or judge a shorter trace"
    )]
    Budget {
        /// Which one.
        what: &'static str,
        /// How far every part of the trace was explained.
        event: usize,
        /// How many turns were tried.
        turns: u64,
        /// How many alternatives were left.
        open: usize,
        /// About how much memory they took.
        bytes: usize,
    },
    /// The model is wrong.
    #[error("mistake in the model: {0}")]
    Mistake(#[from] Mistake),
    /// The tester sent although, without a network between them, the server was not waiting for a message.
    #[error(
        "out of step at event {event}: the tester sent while the server was not ready to receive; without a network, read every answer first"
    )]
    OutOfStep {
        /// The place of the event.
        event: usize,
    },
}

/// Which rules, relaxed, would make a refuted trace explainable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The smallest sets, all of them, larger ones that need fewer deviations, perhaps one of
    /// weaker rules, broken any number of times, and where all are weak perhaps one of two stronger rules, each broken once.
    /// Empty if no set of the size tried explains the trace.
    pub diagnoses: Vec<Diagnosis>,
    /// Up to which size sets were tried.
    pub tried: usize,
    /// Whether some set could not be judged within the budget.
    pub incomplete: bool,
}

impl Blame {
    /// The weakest level among the diagnoses: what the accusation is worth.
    pub fn level(&self) -> Option<Level> {
        self.diagnoses.iter().map(|diagnosis| diagnosis.level).min()
    }
}

/// One way to explain a refuted trace: the server broke these rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The rules.
    pub rules: Vec<&'static str>,
    /// How many deviations are needed at least.
    pub deviations: u32,
    /// The strongest level of the rules: without that one the others do not explain it.
    pub level: Level,
}
