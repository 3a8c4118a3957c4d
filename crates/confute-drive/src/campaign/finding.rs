//! Findings: the violations of a server, each a case that nothing explains with the rules that must have been
//! broken.

use std::cmp::Ordering;

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use super::cause::{fold_known, merge, merge_races};
use super::sink::News;
use super::{Outcome, Plan};
use crate::erased::{AnyAsk, AnyMessage};
use crate::experiment::Experiment;
use crate::script::Step;
use crate::shrink::{Shrunk, Unshrunk};
use confute_record::{ByteRecord, Occurrence, add_occurrences};

/// Number of cases that suffice to decide which of several rules is to blame, if that can be decided.
const CLEAR: u64 = 3;

/// Proof that nothing explains a case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Indexes of the relevant events in the case that is shown: the smaller one, if there is one.
    pub matter: Vec<usize>,
    /// The proof in sentences.
    pub sentences: Vec<String>,
    /// Index of the sentence to show if there is room for one only.
    pub main: usize,
}

/// One distinct violation.
#[derive(Clone)]
pub struct Finding {
    /// Number of the violation, counted from one.
    pub number: usize,
    /// Sets of rules each of which explains the case if broken, those with the fewest deviations first. Empty
    /// if none was found.
    pub diagnoses: Vec<Diagnosis>,
    /// `true` if the time for blame ran out: other sets may explain the case too.
    pub incomplete: bool,
    /// Level of the violation, as far as it was proven. If blame is incomplete, it may be higher. `None` if
    /// nothing was proven.
    pub level: Option<Level>,
    /// The case in which it was found.
    pub counterexample: Counterexample,
    /// Number of that case.
    pub case: u64,
    /// Seed of the random choices of that case.
    pub seed: u64,
    /// Rules that were relaxed in that case.
    pub relaxed: Vec<&'static str>,
    /// `true` if the violation was expected: see [`Plan::known`](super::Plan::known).
    pub known: bool,
    /// Number of cases in which it was found.
    pub times: u64,
    /// These cases.
    pub occurrences: Vec<Occurrence>,
    /// Proof that nothing explains it; `None` if no proof was searched for, or none was found.
    pub proof: Option<Proof>,
    /// A smaller case that shows it too, or the reason why there is none; `None` if none was searched for.
    pub shrunk: Option<Result<Box<Shrunk>, Unshrunk>>,
    /// Explanations that experiments set aside, if any.
    pub experiment: Option<Experiment>,
    /// The case with the part of its trace that suffices by itself, if there is no smaller case and not all
    /// of the trace is needed.
    pub excerpt: Option<Box<Counterexample>>,
}

/// A case that nothing explains.
#[derive(Clone)]
pub struct Counterexample {
    /// Name of the case on the server.
    pub name: String,
    /// The steps that were performed.
    pub script: Vec<Step<AnyAsk>>,
    /// The events, up to the one that nothing explains.
    pub trace: Vec<Event<AnyMessage>>,
    /// Time of each event, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// The event that nothing explains, and the messages expected instead.
    pub refutation: Refutation,
    /// The latest bytes on the wire.
    pub raw: Vec<ByteRecord>,
}

impl Counterexample {
    /// Returns the case as it is shown, blamed on these sets of rules.
    fn shown<'a>(&'a self, diagnoses: &'a [Diagnosis], again: Option<(u32, u32)>) -> ShownCase<'a> {
        ShownCase {
            script: &self.script,
            trace: &self.trace,
            micros: &self.micros,
            refutation: &self.refutation,
            diagnoses,
            raw: &self.raw,
            name: &self.name,
            again,
        }
    }
}

/// A case of a finding, as it is shown.
pub struct ShownCase<'a> {
    /// The steps that were performed.
    pub script: &'a [Step<AnyAsk>],
    /// The events, up to the one that nothing explains.
    pub trace: &'a [Event<AnyMessage>],
    /// Time of each event, in microseconds since the case began.
    pub micros: &'a [u64],
    /// The event that nothing explains, and the messages expected instead.
    pub refutation: &'a Refutation,
    /// Sets of rules that the case can be blamed on by itself.
    pub diagnoses: &'a [Diagnosis],
    /// The latest bytes on the wire.
    pub raw: &'a [ByteRecord],
    /// Name of the case on the server.
    pub name: &'a str,
    /// Number of runs that reproduced it, and number of all runs; `None` if it was not run again.
    pub again: Option<(u32, u32)>,
}

impl Finding {
    /// Returns the case that is shown to people: the smaller one, if there is one, or else the excerpt.
    pub fn shown(&self) -> ShownCase<'_> {
        match (&self.shrunk, &self.excerpt) {
            (Some(Ok(small)), _) => small.counterexample.shown(&small.diagnoses, Some(small.again)),
            (_, Some(part)) => part.shown(&self.diagnoses, None),
            (_, None) => self.as_found(),
        }
    }

    /// Returns the sets of rules that the violation is named after: those that experiments left, or else all that
    /// explain it.
    pub fn named(&self) -> &[Diagnosis] {
        self.experiment.as_ref().map_or(&self.diagnoses, |experiment| &experiment.left)
    }

    /// Returns `true` if this set of rules is one of those that the violation is named after.
    pub(super) fn is_named_after(&self, set: &Diagnosis) -> bool {
        self.named().iter().any(|own| own.rules == set.rules)
    }

    /// Returns the number of requests of the case that is shown.
    pub(super) fn shown_requests(&self) -> usize {
        self.shown().trace.iter().filter(|event| matches!(event, Event::Sent(..))).count()
    }

    /// Returns the case as it was found.
    pub fn as_found(&self) -> ShownCase<'_> {
        self.counterexample.shown(&self.diagnoses, None)
    }

    /// Returns `true` if the violation proves the server wrong when rules count from this level on, and was
    /// not expected. A violation for which no rule was found in time proves nothing.
    pub fn refutes(&self, from: Level) -> bool {
        let is_blamed = !self.diagnoses.is_empty() || !self.incomplete;
        !self.known && is_blamed && self.level.is_some_and(|level| level >= from)
    }

    /// Returns `true` if the violation may prove the server wrong when rules count from this level on, but
    /// there was no time to find out.
    pub fn is_undecided(&self, from: Level) -> bool {
        let is_unclear = self.incomplete || self.level.is_none();
        !self.known && !self.refutes(from) && is_unclear && self.at_most() >= from
    }

    /// Returns the highest level that the violation can have: each diagnosis explains the case, and silence
    /// is known from waiting only.
    fn at_most(&self) -> Level {
        match self.counterexample.trace.last() {
            Some(Event::Quiescent) => Level::Live,
            _ => self.diagnoses.iter().map(|one| one.level).min().unwrap_or(Level::Must),
        }
    }

    /// Returns `true` if breaking any one of these sets of rules explains the violation.
    pub fn is_explained_by<S: AsRef<str>>(&self, sets: &[Vec<S>]) -> bool {
        let same =
            |one: &Diagnosis, set: &Vec<S>| one.rules.iter().copied().eq(set.iter().map(AsRef::as_ref));
        self.diagnoses.iter().any(|one| sets.iter().any(|set| same(one, set)))
    }

    /// Returns the number of requests of the case.
    pub fn requests(&self) -> usize {
        self.counterexample.trace.iter().filter(|event| matches!(event, Event::Sent(..))).count()
    }

    /// Returns the cases in which it or one of the others was found, and their number.
    pub(super) fn with_occurrences_of<'a>(
        &self,
        others: impl IntoIterator<Item = &'a Finding>,
    ) -> (Vec<Occurrence>, u64) {
        let (mut list, mut times) = (self.occurrences.clone(), self.times);
        for other in others {
            let known = other.occurrences.len() as u64 - add_occurrences(&mut list, &other.occurrences);
            times += other.times.saturating_sub(known);
        }
        (list, times)
    }

    /// Returns `true` if it is the same violation, and as certain: nothing explains it but the rules that the
    /// other is blamed on.
    pub(crate) fn is_as_sure_as(&self, other: &Self) -> bool {
        let is_empty = self.diagnoses.is_empty();
        let is_clear = !self.incomplete || covers(self, other);
        self.level >= other.level && is_empty == other.diagnoses.is_empty() && covers(other, self) && is_clear
    }

    /// Returns `true` if it may be the same violation: at least half of what the other is blamed on explains it, and
    /// perhaps something else too.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        match (self.diagnoses.is_empty(), other.diagnoses.is_empty()) {
            (true, true) => self.level == other.level,
            (true, false) | (false, true) => false,
            (false, false) => {
                let explains = |one: &&Diagnosis| self.diagnoses.iter().any(|mine| mine.rules == one.rules);
                2 * other.diagnoses.iter().filter(explains).count() >= other.diagnoses.len()
            }
        }
    }

    /// Returns the rules to relax in later cases, so that they show other violations. Of several weak rules, the one that
    /// explains the most of these violations is relaxed.
    pub(crate) fn remedy(&self, findings: &[Finding]) -> Remedy<'_> {
        let explained = |set: &Diagnosis| {
            let explains = |other: &&Finding| other.diagnoses.iter().any(|one| one.rules == set.rules);
            findings.iter().filter(explains).count()
        };
        let all = &self.diagnoses;
        match &all[..] {
            [] => return Remedy::Nothing,
            // Once the rule is relaxed, no later case can prove what this one could not. A warning needs no
            // proof.
            [only] if self.incomplete && self.times < CLEAR && only.level >= Level::Store => {
                return Remedy::Nothing;
            }
            [only] => return Remedy::Always(&only.rules),
            // Another case may decide between them.
            _ if self.times < CLEAR => return Remedy::Nothing,
            [..] => {}
        }
        let weakest = all.iter().map(|one| one.level).min();
        let weak = (0..all.len()).filter(|place| Some(all[*place].level) == weakest);
        // Of those that explain as many the first is taken: special rules stand before general ones.
        let weak = weak.rev().max_by_key(|place| explained(&all[*place])).unwrap_or(0);
        let is_plain = |(place, one): &(usize, &Diagnosis)| {
            Some(one.level) > weakest && (*place < weak || one.deviations > all[weak].deviations)
        };
        match all.iter().enumerate().find(is_plain) {
            Some((_, plain)) => Remedy::Either([&all[weak].rules, &plain.rules]),
            None => Remedy::Always(&all[weak].rules),
        }
    }

    /// Shows a smaller case from now on. Rules that explain only the larger case are dropped from the title,
    /// which names no rule that does not explain the case shown.
    pub fn adopt(&mut self, shrunk: Shrunk) {
        let explains = |one: &Diagnosis| shrunk.diagnoses.iter().any(|other| other.rules == one.rules);
        if !shrunk.incomplete && shrunk.level >= self.level && self.diagnoses.iter().any(explains) {
            let before = self.diagnoses.len();
            self.diagnoses.retain(explains);
            if self.diagnoses.len() < before {
                self.level = shrunk.level;
            }
        }
        self.shrunk = Some(Ok(Box::new(shrunk)));
    }
}

/// Rules to relax in later cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy<'a> {
    /// No rules yet.
    Nothing,
    /// These rules, in all cases.
    Always(&'a [&'static str]),
    /// Two sets by turns: in some cases a weak rule, in the others stronger ones that explain the violation
    /// as well. With the weak rule relaxed, a case shows what the weak rule does not explain; with the others
    /// relaxed, a case can name violations that the weak rule would explain away. A case that only one of the
    /// two explains decides between them.
    Either([&'a [&'static str]; 2]),
}

impl Outcome {
    /// Marks these findings, and no others, as expected after all: they do not refute.
    pub fn expect_those(&mut self, known: impl Fn(&Finding) -> bool, plan: &Plan) {
        for finding in &mut self.findings {
            finding.known = known(finding);
        }
        self.conclude_again(plan);
    }

    /// Merges findings that turned out to be the same violation after they were investigated, and numbers them anew.
    /// Concludes again from what is left.
    pub fn merge(&mut self, plan: &Plan) {
        merge(&mut self.findings);
        fold_known(&mut self.findings);
        merge_races(&mut self.findings);
        self.conclude_again(plan);
    }

    /// Numbers the findings and concludes from them again: they may have changed.
    pub fn conclude_again(&mut self, plan: &Plan) {
        number(&mut self.findings);
        self.conclusion = self.concluded(plan);
    }
}

/// All distinct violations, each once.
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    /// `true` to keep the case with the fewest requests, even if another one proves more.
    pub(super) smallest: bool,
}

impl Findings {
    /// Returns `true` if the finding is one of these violations.
    pub(super) fn knows(&self, found: &Finding) -> bool {
        self.list.iter().any(|known| is_same(known, found))
    }

    /// Adds a finding, new or known. Returns its index, and what is new about it.
    ///
    /// If a case can be blamed on A or B, and another on B alone, then B explains both, and A is not proven:
    /// the two are one finding. But "A or B" and "B or C" are two findings: that B would explain both does
    /// not prove that B was broken.
    ///
    /// A case whose blame is incomplete does not prove that A does not explain it, so it removes nothing from
    /// "A or B": the level of a finding rises only by a case that proves it.
    pub(super) fn take(&mut self, mut found: Finding) -> (usize, News) {
        let Some(place) = self.list.iter().position(|known| is_same(known, &found)) else {
            found.number = self.list.iter().map(|known| known.number).max().unwrap_or(0) + 1;
            self.list.push(found);
            return (self.absorb(self.list.len() - 1), News::New);
        };
        let known = &mut self.list[place];
        found.number = known.number;
        let occurrences = known.with_occurrences_of([&found]);
        let is_proof = !found.incomplete && found.level >= known.level;
        let completes = is_proof && known.incomplete;
        let says_more = found.diagnoses.len() < known.diagnoses.len() || found.level > known.level;
        let sharper = completes || (is_proof && says_more && covers(known, &found));
        // A shorter case that proves less is not better, and a case that a named rule does not explain is not
        // shown.
        let fits = covers(&found, known);
        let as_sharp = fits && covers(known, &found) && found.level >= known.level;
        let better = match found.requests().cmp(&known.requests()) {
            Ordering::Less if self.smallest => sharper || fits,
            Ordering::Greater if self.smallest && covers(known, &found) => false,
            _ => {
                let (new, old) = (found.counterexample.trace.len(), known.counterexample.trace.len());
                sharper || (as_sharp && new < old)
            }
        };
        (known.occurrences, known.times) = occurrences.clone();
        (found.occurrences, found.times) = occurrences;
        if sharper {
            known.diagnoses.clone_from(&found.diagnoses);
            (known.level, known.incomplete) = (found.level, found.incomplete);
        } else {
            found.diagnoses.clone_from(&known.diagnoses);
            (found.level, found.incomplete) = (known.level, known.incomplete);
        }
        if better {
            *known = found;
        }
        let place = if sharper { self.absorb(place) } else { place };
        (place, if better || sharper { News::Better } else { News::Again })
    }

    /// Merges other findings into the one at this index if it is proven of a single rule set that explains
    /// them too. Returns its index afterwards.
    fn absorb(&mut self, place: usize) -> usize {
        let one = self.list.remove(place);
        if one.diagnoses.len() != 1 {
            self.list.insert(place, one);
            return place;
        }
        let (same, mut others): (Vec<_>, Vec<_>) = self.list.drain(..).partition(|other| {
            !one.incomplete && other.level <= one.level && !other.diagnoses.is_empty() && covers(other, &one)
        });
        let (occurrences, times) = one.with_occurrences_of(&same);
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
        others.insert(at, Finding { times, occurrences, ..one });
        self.list = others;
        at
    }
}

/// Sorts the findings and numbers them: the strongest level first, and by rule among findings of the same level, so that
/// the numbers do not depend on the order in which a run came upon them.
pub(super) fn number(findings: &mut [Finding]) {
    findings.sort_by(|one, other| {
        let by_experiment = |one: &Finding| one.experiment.as_ref().map(|experiment| experiment.level);
        let levels = |one: &Finding| (one.level, by_experiment(one).or(one.level));
        let rules = |one: &Finding| one.named().iter().map(|one| one.rules.clone()).collect::<Vec<_>>();
        levels(other).cmp(&levels(one)).then_with(|| rules(one).cmp(&rules(other)))
    });
    for (place, finding) in findings.iter_mut().enumerate() {
        finding.number = place + 1;
    }
}

fn is_same(known: &Finding, found: &Finding) -> bool {
    if known.diagnoses.is_empty() || found.diagnoses.is_empty() {
        // Only their levels distinguish them, and whether blame was complete.
        return known.diagnoses.is_empty()
            && found.diagnoses.is_empty()
            && (known.level, known.incomplete) == (found.level, found.incomplete);
    }
    // A finding that proves more than the other, without all rules having been tried, must not get lost in
    // it.
    let proves_more = found.incomplete && found.level > known.level;
    let is_no_less = found.level <= known.level;
    !proves_more && (covers(known, found) || (covers(found, known) && (is_no_less || known.incomplete)))
}

/// Returns `true` if the first may be blamed on everything that the second may be blamed on.
fn covers(these: &Finding, those: &Finding) -> bool {
    those.diagnoses.iter().all(|one| these.diagnoses.iter().any(|other| one.rules == other.rules))
}

#[cfg(test)]
pub(crate) mod tests;
