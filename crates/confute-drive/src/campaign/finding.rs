//! What a server did wrong: a case that nothing explains, and the rules that must have been broken.

use std::cmp::Ordering;

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use super::sink::News;
use super::{Outcome, Plan};
use crate::protocol::{Msg, Protocol};
use crate::raw::Chunk;
use crate::script::Step;
use crate::shrink::{Shrunk, Unshrunk};

/// So many cases are enough to tell which of several rules is to blame, if it can be told.
const CLEAR: u64 = 3;

/// Why nothing explains a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The events that matter, by their places in the case that is shown: the smaller one, if there is one.
    pub matter: Vec<usize>,
    /// In words.
    pub sentences: Vec<String>,
}

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
    /// When each event was noted, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// Rules that were not asked for in this case.
    pub relaxed: Vec<&'static str>,
    /// The latest bytes on the wire.
    pub raw: Vec<Chunk>,
    /// Whether it was to be expected: see [`Plan::known`](super::Plan::known).
    pub known: bool,
    /// In how many cases it was met.
    pub times: u64,
    /// Why nothing explains it; `None` while nobody looked for a proof, or none was found.
    pub proof: Option<Proof>,
    /// A smaller case that shows it too, or why there is none; `None` while nobody looked for one.
    pub shrunk: Option<Result<Box<Shrunk<P>>, Unshrunk>>,
    /// Where there is none: what of the trace is enough by itself, if not all of it is needed.
    pub evidence: Option<Box<Evidence<P>>>,
}

/// A part of a trace that nothing explains.
pub struct Evidence<P: Protocol> {
    /// What happened, up to the event that nothing explains.
    pub trace: Vec<Event<Msg<P>>>,
    /// When each event was noted, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// What was seen, and what was expected instead.
    pub refutation: Refutation,
}

/// A case of a finding.
pub struct Shown<'a, P: Protocol> {
    /// What was done.
    pub script: &'a [Step<P::Ask>],
    /// What happened, up to the event that nothing explains.
    pub trace: &'a [Event<Msg<P>>],
    /// When each event was noted, in microseconds since the case began.
    pub micros: &'a [u64],
    /// What was seen, and what was expected instead.
    pub refutation: &'a Refutation,
    /// Which rules it can be blamed on by itself.
    pub diagnoses: &'a [Diagnosis],
    /// The latest bytes on the wire.
    pub raw: &'a [Chunk],
    /// Its name on the server.
    pub name: &'a str,
    /// In how many runs of how many it showed again; `None` if nobody looked.
    pub again: Option<(u32, u32)>,
}

impl<P: Protocol> Finding<P> {
    /// The case that is shown to people: the smaller one, if there is one, or else what is enough of it.
    pub fn shown(&self) -> Shown<'_, P> {
        match &self.shrunk {
            Some(Ok(small)) => Shown {
                script: &small.script,
                trace: &small.trace,
                micros: &small.micros,
                refutation: &small.refutation,
                diagnoses: &small.diagnoses,
                raw: &small.raw,
                name: &small.name,
                again: Some(small.again),
            },
            _ => match &self.evidence {
                Some(part) => Shown {
                    trace: &part.trace,
                    micros: &part.micros,
                    refutation: &part.refutation,
                    ..self.as_found()
                },
                None => self.as_found(),
            },
        }
    }

    /// The case as it was met.
    pub fn as_found(&self) -> Shown<'_, P> {
        Shown {
            script: &self.script,
            trace: &self.trace,
            micros: &self.micros,
            refutation: &self.refutation,
            diagnoses: &self.diagnoses,
            raw: &self.raw,
            name: &self.name,
            again: None,
        }
    }

    /// Whether it proves the server wrong when rules count from this level on, and it was not to be expected.
    pub fn refutes(&self, from: Level) -> bool {
        !self.known && self.level.is_some_and(|level| level >= from)
    }

    /// Whether breaking one of these sets of rules, any of them, explains it.
    pub fn is_explained_by<S: AsRef<str>>(&self, sets: &[Vec<S>]) -> bool {
        let same =
            |one: &Diagnosis, set: &Vec<S>| one.rules.iter().copied().eq(set.iter().map(AsRef::as_ref));
        self.diagnoses.iter().any(|one| sets.iter().any(|set| same(one, set)))
    }

    /// How many requests it took.
    pub fn requests(&self) -> usize {
        self.trace.iter().filter(|event| matches!(event, Event::Sent(..))).count()
    }

    /// Whether it is the same violation, and as sure: nothing but what the other is blamed on explains it.
    pub(crate) fn is_as_sure_as(&self, other: &Self) -> bool {
        self.level >= other.level && self.is_about(other) && covers(other, self)
    }

    /// Whether it may be the same violation: something that the other is blamed on explains it.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        let shared = |one: &Diagnosis| other.diagnoses.iter().any(|known| known.rules == one.rules);
        match (self.diagnoses.is_empty(), other.diagnoses.is_empty()) {
            (true, true) => self.level == other.level,
            _ => self.diagnoses.iter().any(shared),
        }
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

impl<P: Protocol> Outcome<P> {
    /// These findings, and no others, were to be expected after all: they do not refute.
    pub fn expect_those(&mut self, known: impl Fn(&Finding<P>) -> bool, plan: &Plan) {
        for finding in &mut self.findings {
            finding.known = known(finding);
        }
        self.conclusion = self.concluded(plan);
    }
}

/// All of them, each once.
pub(super) struct Findings<P: Protocol> {
    pub(super) list: Vec<Finding<P>>,
    /// Whether what has the fewest requests is kept, even if another one proves more.
    pub(super) smallest: bool,
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
        // A shorter case that proves less is not better.
        let as_sharp = covers(known, &found);
        let before = known.diagnoses.len();
        known.diagnoses.retain(|one| found.diagnoses.iter().any(|other| other.rules == one.rules));
        let sharper = known.diagnoses.len() < before;
        let better = sharper || (as_sharp && found.trace.len() < known.trace.len());
        let better = match found.requests().cmp(&known.requests()) {
            Ordering::Less if self.smallest => true,
            Ordering::Greater if self.smallest => false,
            _ => better,
        };
        found.diagnoses.clone_from(&known.diagnoses);
        known.times = found.times;
        if sharper {
            known.level = known.diagnoses.iter().map(|one| one.level).min();
        }
        found.level = known.level;
        if better {
            *known = found;
        } else if sharper {
            known.incomplete = found.incomplete;
        }
        let place = if sharper { self.absorb(place) } else { place };
        (place, if better || sharper { News::Better } else { News::Again })
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
        let times = one.times + same.iter().map(|other| other.times).sum::<u64>();
        let at = others.iter().filter(|other| other.number < one.number).count();
        let smaller = same.into_iter().filter(|other| self.smallest && other.requests() < one.requests());
        let one = match smaller.min_by_key(Finding::requests) {
            Some(smaller) => Finding {
                number: one.number,
                diagnoses: one.diagnoses,
                incomplete: one.incomplete,
                level: one.level,
                ..smaller
            },
            None => one,
        };
        others.insert(at, Finding { times, ..one });
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
    covers(known, found) || covers(found, known)
}

/// Whether whatever the second may be blamed on, the first may be too.
fn covers<P: Protocol>(these: &Finding<P>, those: &Finding<P>) -> bool {
    those.diagnoses.iter().all(|one| these.diagnoses.iter().any(|other| one.rules == other.rules))
}
