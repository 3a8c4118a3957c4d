//! The report of a refuted case of calls.

use std::fmt::{self, Display, Formatter};

use confute::trace::Event;
use confute::{Blame, Refutation};
use confute_service::Message;

/// A refuted case: the calls that nothing explains, as far as they could be reduced.
#[derive(Clone, Debug)]
pub struct Refuted<M> {
    /// Number of calls until the first refutation.
    pub calls: u64,
    /// Number of threads of the test.
    pub threads: usize,
    /// The calls of the smallest case with their return values, up to the one that nothing explains.
    pub events: Vec<Event<M>>,
    /// The event that nothing explains, and the expected responses.
    pub refutation: Refutation,
    /// The broken rules.
    pub blame: Blame,
    /// Number of runs of the smallest case that were refuted, and number of runs.
    pub rate: (u32, u32),
    /// Seed of the test.
    pub seed: u64,
}

impl<M> Refuted<M> {
    /// Returns the number of calls in the smallest case.
    pub fn size(&self) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Sent(..))).count()
    }

    /// Returns the rules that were broken, if relaxing one rule alone explains the case.
    pub fn rules(&self) -> Vec<&'static str> {
        let alone = self.blame.diagnoses.iter().filter(|diagnosis| diagnosis.rules.len() == 1);
        alone.flat_map(|diagnosis| diagnosis.rules.iter().copied()).collect()
    }
}

impl<M: Message> Display for Refuted<M> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sets: Vec<String> =
            self.blame.diagnoses.iter().map(|diagnosis| diagnosis.rules.join(" and ")).collect();
        let broken = if sets.is_empty() { "no rule explains it".to_owned() } else { sets.join(", or ") };
        writeln!(f, "refuted: {broken}")?;
        writeln!(f, "  found after {} calls on {} threads", self.calls, self.threads)?;
        let (refuted, of) = self.rate;
        let often = if refuted == of {
            ""
        } else {
            " (the order of threads is not repeated, so a race does not show in every run)"
        };
        writeln!(f, "  smallest case: {} calls, refuted in {refuted} of {of} runs{often}", self.size())?;
        for (number, event) in self.events.iter().enumerate() {
            let mark = if number == self.refutation.event { "  ← nothing explains this" } else { "" };
            match event {
                Event::Sent(thread, request) => {
                    writeln!(f, "    thread {} calls    {request}{mark}", thread.0)?;
                }
                Event::Received(thread, response) => {
                    writeln!(f, "    thread {} returns  {response}{mark}", thread.0)?;
                }
                other => writeln!(f, "    {other}{mark}")?,
            }
        }
        for expected in &self.refutation.expected {
            if let Some(message) = &expected.message {
                writeln!(f, "  expected: {message}")?;
            }
        }
        write!(f, "To repeat these calls: .seed({})", self.seed)
    }
}
