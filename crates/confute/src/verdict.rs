//! Verdicts: the results of a judgement. There are three, never two.

use crate::lang::{Level, Mistake};

/// The result of judging a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Some behaviour of the model explains all observations.
    Unrefuted,
    /// No behaviour of the model explains all observations.
    Refuted(Refutation),
    /// The result is unknown, for this reason.
    Inconclusive(Inconclusive),
}

impl Verdict {
    /// Returns `true` if the server was proven wrong.
    pub fn is_refuted(&self) -> bool {
        matches!(self, Verdict::Refuted(_))
    }

    /// Returns `true` if everything was explained.
    pub fn is_unrefuted(&self) -> bool {
        matches!(self, Verdict::Unrefuted)
    }
}

/// Proof that a server is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// Index of the event that nothing explains, counted from 0.
    pub event: usize,
    /// Description of that event.
    pub seen: String,
    /// Messages that would have been right instead, by class of hypothesis.
    pub expected: Vec<Expectation>,
    /// Number of hypotheses that were alive before that event, as far as they were counted.
    pub hypotheses: usize,
    /// `true` if `expected` leaves some out, because there were too many.
    pub more: bool,
}

/// The expectation of a class of hypotheses instead of the observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    /// The message, as the model would have sent it; `None` if nothing was expected.
    pub message: Option<String>,
    /// Rules that the message follows from.
    pub rules: Vec<&'static str>,
    /// Number of hypotheses with this expectation.
    pub hypotheses: usize,
}

/// The reason why nothing was proven.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconclusive {
    /// A budget ran out.
    #[error(
        "the {what} budget ran out at event {event}: {turns} turns of the model tried, {open} alternatives open (about {bytes} bytes); give it more, or judge a shorter trace"
    )]
    Budget {
        /// Name of the budget.
        what: &'static str,
        /// Index of the furthest event that the part being searched reached.
        event: usize,
        /// Number of turns tried.
        turns: u64,
        /// Number of alternatives left.
        open: usize,
        /// Approximate number of bytes that they took.
        bytes: usize,
    },
    /// The model has a mistake.
    #[error("mistake in the model: {0}")]
    Mistake(#[from] Mistake),
    /// The tester sent although, without a network between them, the server was not waiting for a message.
    #[error(
        "out of step at event {event}: the tester sent while the server was not ready to receive; without a network, read every response first"
    )]
    OutOfStep {
        /// Index of the event.
        event: usize,
    },
    /// An id became known after a request was judged that may have created its object.
    #[error(
        "nothing explains event {event}, but a request that may create an object was judged without its response, and an id became known since; judge the trace as a whole, or ask for the verdict when every response is there"
    )]
    LateId {
        /// Index of the event.
        event: usize,
    },
}

/// Rules that, relaxed, would make a refuted trace explainable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The smallest sets, all of them; larger ones that need fewer deviations; perhaps one of weaker rules, broken
    /// any number of times; and where all are weak perhaps one of two stronger rules, each broken once. Empty if no
    /// set of the sizes tried explains the trace.
    pub diagnoses: Vec<Diagnosis>,
    /// Maximum size of the sets that were tried.
    pub tried: usize,
    /// `true` if some set could not be judged within the budget.
    pub incomplete: bool,
}

impl Blame {
    /// Returns the weakest level among the diagnoses: the level of the violation.
    pub fn level(&self) -> Option<Level> {
        self.diagnoses.iter().map(|diagnosis| diagnosis.level).min()
    }
}

/// One way to explain a refuted trace: the server broke these rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Rules that the server broke.
    pub rules: Vec<&'static str>,
    /// Minimum number of deviations needed.
    pub deviations: u32,
    /// The strongest level of the rules: without that rule the others do not explain the trace.
    pub level: Level,
}
