//! What a server did wrong: a case that nothing explains, and the rules that must have been broken.

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use super::sink::News;
use crate::protocol::{Msg, Protocol};
use crate::raw::Chunk;
use crate::script::Step;

/// So many cases are enough to tell which of several rules is to blame, if it can be told.
const CLEAR: u64 = 3;

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
        let place = self.list.iter().position(|known| is_same(known, &found) && !is_beyond(known, &found));
        let Some(place) = place else {
            found.number = self.list.len() + 1;
            self.list.push(found);
            return (self.list.len() - 1, News::New);
        };
        let known = &mut self.list[place];
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
        if better {
            *known = found;
        }
        let place = if sharper { self.absorb(place) } else { place };
        (place, if better { News::Better } else { News::Again })
    }

    /// What is proven of a rule explains whatever else could be blamed on it. Where the finding is then.
    fn absorb(&mut self, place: usize) -> usize {
        let one = self.list.remove(place);
        if one.diagnoses.len() != 1 {
            self.list.insert(place, one);
            return place;
        }
        let (same, mut others): (Vec<_>, Vec<_>) = self.list.drain(..).partition(|other| {
            !other.diagnoses.is_empty() && is_same(other, &one) && !is_beyond(other, &one)
        });
        let times = same.iter().map(|other| other.times).sum::<u64>();
        let at = others.iter().filter(|other| other.number < one.number).count();
        others.insert(at, Finding { times: one.times + times, ..one });
        self.list = others;
        at
    }

    /// Numbers them anew, without gaps.
    pub(super) fn number(&mut self) {
        for (place, finding) in self.list.iter_mut().enumerate() {
            finding.number = place + 1;
        }
    }
}

/// Whether a case was refuted though the remedy for a known finding was applied: then it is about something else.
fn is_beyond<P: Protocol>(known: &Finding<P>, found: &Finding<P>) -> bool {
    let remedy = known.remedy();
    !remedy.is_empty() && remedy.iter().all(|rule| found.relaxed.contains(rule))
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
