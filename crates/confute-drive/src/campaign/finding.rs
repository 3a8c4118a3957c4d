//! What a server did wrong: a case that nothing explains, and the rules that must have been broken.

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use super::sink::News;
use crate::protocol::{Msg, Protocol};
use crate::raw::Chunk;
use crate::script::Step;

/// So many cases are enough to tell which of several rules is to blame, if it can be told.
const CLEAR: u64 = 2;

/// One distinct violation.
pub struct Finding<P: Protocol> {
    /// Counted from one.
    pub number: usize,
    /// Which rules must have been broken: the smallest sets, weakest first. Empty if none was found.
    pub diagnoses: Vec<Diagnosis>,
    /// Whether the time for blame ran out.
    pub incomplete: bool,
    /// What the accusation is worth; `None` if that could not be found out in time.
    pub level: Option<Level>,
    /// What was seen, and what was expected instead.
    pub refutation: Refutation,
    /// The case it was found in.
    pub case: u64,
    /// Its name on the server.
    pub name: String,
    /// What its choices came from.
    pub seed: u64,
    /// What was done.
    pub script: Vec<Step<P::Ask>>,
    /// What happened, up to the event that nothing explains.
    pub trace: Vec<Event<Msg<P>>>,
    /// Rules that were not asked for in this case.
    pub relaxed: Vec<&'static str>,
    /// The latest bytes on the wire.
    pub raw: Vec<Chunk>,
    /// In how many cases it was met.
    pub times: u64,
}

impl<P: Protocol> Finding<P> {
    /// Whether it proves the server wrong when rules count from this level on.
    pub fn refutes(&self, from: Level) -> bool {
        self.level.is_some_and(|level| level >= from)
    }

    /// What to relax to see what else is wrong: of several rules that could be to blame the one that the model names
    /// first, because special rules stand before general ones. Nothing yet, while another case may tell which.
    pub(crate) fn remedy(&self) -> &[&'static str] {
        match &self.diagnoses[..] {
            [_, _, ..] if self.times < CLEAR => &[],
            [first, ..] => &first.rules,
            [] => &[],
        }
    }
}

/// All of them, each once.
pub(super) struct Findings<P: Protocol> {
    pub(super) list: Vec<Finding<P>>,
}

impl<P: Protocol> Findings<P> {
    /// Takes a finding in: a new one, or one that is known. Where it is now, and what is new about it.
    ///
    /// If a case can be blamed on A or B, and another on B alone, then B explains both, and A is not proven: the two
    /// are one finding. But A or B, and B or C, are two: that B would explain both does not make it the culprit.
    pub(super) fn take(&mut self, mut found: Finding<P>) -> (usize, News) {
        let known = self.list.iter_mut().find(|known| is_same(known, &found));
        let Some(known) = known else {
            found.number = self.list.len() + 1;
            self.list.push(found);
            return (self.list.len() - 1, News::New);
        };
        found.number = known.number;
        found.times += known.times;
        let before = known.diagnoses.len();
        known.diagnoses.retain(|one| found.diagnoses.iter().any(|other| other.rules == one.rules));
        let sharper = known.diagnoses.len() < before;
        let better = sharper || found.trace.len() < known.trace.len();
        found.diagnoses.clone_from(&known.diagnoses);
        known.times = found.times;
        if sharper {
            found.level = found.diagnoses.iter().map(|one| one.level).min();
        } else {
            found.level = known.level;
        }
        let place = known.number - 1;
        if better {
            *known = found;
        }
        (place, if better { News::Better } else { News::Again })
    }
}

fn is_same<P: Protocol>(known: &Finding<P>, found: &Finding<P>) -> bool {
    if known.diagnoses.is_empty() || found.diagnoses.is_empty() {
        // Nothing tells them apart but what they are worth.
        return known.diagnoses.is_empty() && found.diagnoses.is_empty() && known.level == found.level;
    }
    let covers = |these: &Finding<P>, those: &Finding<P>| {
        those.diagnoses.iter().all(|one| these.diagnoses.iter().any(|other| one.rules == other.rules))
    };
    covers(known, found) || covers(found, known)
}
