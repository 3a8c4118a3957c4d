//! What a server did wrong: a case that nothing explains, and the rules that must have been broken.

use std::cmp::Ordering;

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};

use super::sink::News;
use super::{Outcome, Plan};
use crate::erased::{AnyAsk, AnyMessage};
use crate::script::Step;
use crate::shrink::{Shrunk, Unshrunk};
use confute_record::Chunk;

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
pub struct Finding {
    /// Counted from one.
    pub number: usize,
    /// Which rules must have been broken: sets each of which explains the case, those with the fewest deviations first. Empty
    /// if none was found.
    pub diagnoses: Vec<Diagnosis>,
    /// Whether the time for blame ran out: other sets may explain the case too.
    pub incomplete: bool,
    /// The level of the accusation, as far as it was proven. If blame is incomplete, it may be higher. `None` if nothing was
    /// proven.
    pub level: Option<Level>,
    /// The case it was found in.
    pub counterexample: Counterexample,
    /// The number of that case.
    pub case: u64,
    /// What its choices came from.
    pub seed: u64,
    /// Rules that were not asked for in this case.
    pub relaxed: Vec<&'static str>,
    /// Whether it was to be expected: see [`Plan::known`](super::Plan::known).
    pub known: bool,
    /// In how many cases it was met.
    pub times: u64,
    /// Why nothing explains it; `None` while nobody looked for a proof, or none was found.
    pub proof: Option<Proof>,
    /// A smaller case that shows it too, or why there is none; `None` while nobody looked for one.
    pub shrunk: Option<Result<Box<Shrunk>, Unshrunk>>,
    /// Where there is none: the case with the part of its trace that is enough by itself, if not all of it is needed.
    pub excerpt: Option<Box<Counterexample>>,
}

/// A case that nothing explains.
#[derive(Clone)]
pub struct Counterexample {
    /// Its name on the server.
    pub name: String,
    /// What was done.
    pub script: Vec<Step<AnyAsk>>,
    /// What happened, up to the event that nothing explains.
    pub trace: Vec<Event<AnyMessage>>,
    /// When each event was noted, in microseconds since the case began.
    pub micros: Vec<u64>,
    /// What was seen, and what was expected instead.
    pub refutation: Refutation,
    /// The latest bytes on the wire.
    pub raw: Vec<Chunk>,
}

impl Counterexample {
    /// The case as it is shown, blamed on these sets of rules.
    fn shown<'a>(&'a self, diagnoses: &'a [Diagnosis], again: Option<(u32, u32)>) -> Shown<'a> {
        Shown {
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

/// A case of a finding.
pub struct Shown<'a> {
    /// What was done.
    pub script: &'a [Step<AnyAsk>],
    /// What happened, up to the event that nothing explains.
    pub trace: &'a [Event<AnyMessage>],
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

impl Finding {
    /// The case that is shown to people: the smaller one, if there is one, or else what is enough of it.
    pub fn shown(&self) -> Shown<'_> {
        match (&self.shrunk, &self.excerpt) {
            (Some(Ok(small)), _) => small.counterexample.shown(&small.diagnoses, Some(small.again)),
            (_, Some(part)) => part.shown(&self.diagnoses, None),
            (_, None) => self.as_found(),
        }
    }

    /// The case as it was met.
    pub fn as_found(&self) -> Shown<'_> {
        self.counterexample.shown(&self.diagnoses, None)
    }

    /// Whether it proves the server wrong when rules count from this level on, and it was not to be expected. That no rule was
    /// found in time proves nothing.
    pub fn refutes(&self, from: Level) -> bool {
        let is_blamed = !self.diagnoses.is_empty() || !self.incomplete;
        !self.known && is_blamed && self.level.is_some_and(|level| level >= from)
    }

    /// Whether it may prove the server wrong when rules count from this level on, but there was no time to find out.
    pub fn is_undecided(&self, from: Level) -> bool {
        let is_unclear = self.incomplete || self.level.is_none();
        !self.known && !self.refutes(from) && is_unclear && self.at_most() >= from
    }

    /// The highest level that the accusation can have: each diagnosis explains the case, and silence is known from waiting only.
    fn at_most(&self) -> Level {
        match self.counterexample.trace.last() {
            Some(Event::Quiescent) => Level::Live,
            _ => self.diagnoses.iter().map(|one| one.level).min().unwrap_or(Level::Must),
        }
    }

    /// Whether breaking one of these sets of rules, any of them, explains it.
    pub fn is_explained_by<S: AsRef<str>>(&self, sets: &[Vec<S>]) -> bool {
        let same =
            |one: &Diagnosis, set: &Vec<S>| one.rules.iter().copied().eq(set.iter().map(AsRef::as_ref));
        self.diagnoses.iter().any(|one| sets.iter().any(|set| same(one, set)))
    }

    /// How many requests it took.
    pub fn requests(&self) -> usize {
        self.counterexample.trace.iter().filter(|event| matches!(event, Event::Sent(..))).count()
    }

    /// Whether it is the same violation, and as sure: nothing but what the other is blamed on explains it.
    pub(crate) fn is_as_sure_as(&self, other: &Self) -> bool {
        let is_empty = self.diagnoses.is_empty();
        let is_clear = !self.incomplete || covers(self, other);
        self.level >= other.level && is_empty == other.diagnoses.is_empty() && covers(other, self) && is_clear
    }

    /// Whether it may be the same violation: everything that the other is blamed on explains it, and perhaps more.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        match (self.diagnoses.is_empty(), other.diagnoses.is_empty()) {
            (true, true) => self.level == other.level,
            (true, false) | (false, true) => false,
            (false, false) => covers(self, other),
        }
    }

    /// What to relax in later cases, to see what else is wrong.
    pub(crate) fn remedy(&self) -> Remedy<'_> {
        let all = &self.diagnoses;
        match &all[..] {
            [] => return Remedy::Nothing,
            // Once the rule is relaxed, no case can prove any more what this one could not. Of a warning there is nothing to prove.
            [only] if self.incomplete && self.times < CLEAR && only.level >= Level::Store => {
                return Remedy::Nothing;
            }
            [only] => return Remedy::Always(&only.rules),
            // Another case may tell which.
            _ if self.times < CLEAR => return Remedy::Nothing,
            [..] => {}
        }
        let weakest = all.iter().map(|one| one.level).min();
        let weak = all.iter().position(|one| Some(one.level) == weakest).unwrap_or(0);
        let is_plain = |(place, one): &(usize, &Diagnosis)| {
            Some(one.level) > weakest && (*place < weak || one.deviations > all[weak].deviations)
        };
        match all.iter().enumerate().find(is_plain) {
            Some((_, plain)) => Remedy::Either([&all[weak].rules, &plain.rules]),
            // Of rules of the same level the first: special rules stand before general ones.
            None => Remedy::Always(&all[0].rules),
        }
    }

    /// Shows a smaller case from now on. Rules that explain the larger case only are dropped from the title: it names none
    /// that does not explain what is shown.
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

/// What to relax in later cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy<'a> {
    /// Nothing yet.
    Nothing,
    /// These rules.
    Always(&'a [&'static str]),
    /// By turns: in some cases a weak rule, in the others stronger ones that explain the violation as well. With the weak
    /// rule relaxed a case shows what is beyond it; with the others relaxed it is not robbed of names by the weak rule. What
    /// only one of the two explains settles it.
    Either([&'a [&'static str]; 2]),
}

impl Outcome {
    /// These findings, and no others, were to be expected after all: they do not refute.
    pub fn expect_those(&mut self, known: impl Fn(&Finding) -> bool, plan: &Plan) {
        for finding in &mut self.findings {
            finding.known = known(finding);
        }
        self.conclusion = self.concluded(plan);
    }
}

/// All of them, each once.
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    /// Whether what has the fewest requests is kept, even if another one proves more.
    pub(super) smallest: bool,
}

impl Findings {
    /// Takes a finding in: a new one, or one that is known. Where it is now, and what is new about it.
    ///
    /// If a case can be blamed on A or B, and another on B alone, then B explains both, and A is not proven: the two
    /// are one finding. But A or B, and B or C, are two: that B would explain both does not make it the culprit.
    ///
    /// A case whose blame is incomplete does not say that A does not explain it, so it takes nothing away from A or B: the
    /// level of a finding rises only by a case that proves it.
    pub(super) fn take(&mut self, mut found: Finding) -> (usize, News) {
        let Some(place) = self.list.iter().position(|known| is_same(known, &found)) else {
            found.number = self.list.iter().map(|known| known.number).max().unwrap_or(0) + 1;
            self.list.push(found);
            return (self.absorb(self.list.len() - 1), News::New);
        };
        let known = &mut self.list[place];
        found.number = known.number;
        found.times += known.times;
        let is_proof = !found.incomplete && found.level >= known.level;
        let completes = is_proof && known.incomplete;
        let says_more = found.diagnoses.len() < known.diagnoses.len() || found.level > known.level;
        let sharper = completes || (is_proof && says_more && covers(known, &found));
        // A shorter case that proves less is not better, and one that a named rule does not explain is not shown.
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
        known.times = found.times;
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

    /// What is proven of a rule explains whatever else could be blamed on it. Where the finding is then.
    fn absorb(&mut self, place: usize) -> usize {
        let one = self.list.remove(place);
        if one.diagnoses.len() != 1 {
            self.list.insert(place, one);
            return place;
        }
        let (same, mut others): (Vec<_>, Vec<_>) = self.list.drain(..).partition(|other| {
            !one.incomplete && other.level <= one.level && !other.diagnoses.is_empty() && covers(other, &one)
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

fn is_same(known: &Finding, found: &Finding) -> bool {
    if known.diagnoses.is_empty() || found.diagnoses.is_empty() {
        // Nothing tells them apart but what they are worth, and whether that is all there is to say.
        return known.diagnoses.is_empty()
            && found.diagnoses.is_empty()
            && (known.level, known.incomplete) == (found.level, found.incomplete);
    }
    // What proves more than the other, without all rules having been tried, must not get lost in it.
    let proves_more = found.incomplete && found.level > known.level;
    let is_no_less = found.level <= known.level;
    !proves_more && (covers(known, found) || (covers(found, known) && (is_no_less || known.incomplete)))
}

/// Whether whatever the second may be blamed on, the first may be too.
fn covers(these: &Finding, those: &Finding) -> bool {
    those.diagnoses.iter().all(|one| these.diagnoses.iter().any(|other| one.rules == other.rules))
}

#[cfg(test)]
mod tests {
    use confute::trace::WireConn;

    use super::*;

    const MUST: &str = "m/chunks";
    const OTHER: &str = "m/own-answer";
    const STORE: &str = "s/stays";
    const STEADY: &str = "t/steady-tag";
    const LIVE: &str = "l/answered";

    fn level(rule: &str) -> Level {
        match &rule[..1] {
            "m" => Level::Must,
            "s" => Level::Store,
            "t" => Level::Steady,
            _ => Level::Live,
        }
    }

    fn diagnosis(rules: &[&'static str]) -> Diagnosis {
        let level = rules.iter().map(|rule| level(rule)).max().unwrap();
        Diagnosis { rules: rules.to_vec(), deviations: rules.len() as u32, level }
    }

    /// A case of so many requests that is explained by these sets of rules and no others.
    fn case(sets: &[&[&'static str]], requests: usize) -> Finding {
        let diagnoses: Vec<_> = sets.iter().map(|rules| diagnosis(rules)).collect();
        Finding {
            number: 0,
            level: diagnoses.iter().map(|one| one.level).min(),
            diagnoses,
            incomplete: false,
            counterexample: Counterexample {
                name: format!("{sets:?} {requests}"),
                script: Vec::new(),
                trace: vec![Event::Sent(WireConn(0), AnyMessage::new(0)); requests],
                micros: vec![0; requests],
                refutation: Refutation {
                    event: 0,
                    seen: String::new(),
                    expected: Vec::new(),
                    hypotheses: 0,
                    more: false,
                },
                raw: Vec::new(),
            },
            case: 0,
            seed: 0,
            relaxed: Vec::new(),
            known: false,
            times: 1,
            proof: None,
            shrunk: None,
            excerpt: None,
        }
    }

    /// The same, but there was no time to try all rules, and only this level was proven.
    fn incomplete(sets: &[&[&'static str]], proven: Level, requests: usize) -> Finding {
        Finding { incomplete: true, level: Some(proven), ..case(sets, requests) }
    }

    fn taken(cases: Vec<Finding>) -> Vec<Finding> {
        let mut findings = Findings { list: Vec::new(), smallest: false };
        for case in cases {
            findings.take(case);
        }
        findings.list
    }

    fn named(findings: &[Finding]) -> Vec<(String, Option<Level>)> {
        let title = |finding: &Finding| {
            finding.diagnoses.iter().map(|one| one.rules.join("+")).collect::<Vec<_>>().join("|")
        };
        findings.iter().map(|finding| (title(finding), finding.level)).collect()
    }

    /// Every rule of a title explains the case that is shown.
    fn fits(finding: &Finding) -> bool {
        let named = |one: &Diagnosis| finding.counterexample.name.contains(&format!("{:?}", one.rules));
        finding.diagnoses.iter().all(named)
    }

    #[test]
    fn incomplete_blame_raises_no_level() {
        let both: &[&[&str]] = &[&[MUST], &[LIVE]];
        let found = taken(vec![case(both, 9), incomplete(&[&[MUST]], Level::Live, 3)]);
        assert_eq!(named(&found), [(format!("{MUST}|{LIVE}"), Some(Level::Live))]);
        assert_eq!(found[0].times, 2);
        assert!(!found[0].refutes(Level::Store) && !found[0].is_undecided(Level::Store) && fits(&found[0]));
        // The other way round, the complete blame says what the matter is.
        let found = taken(vec![incomplete(&[&[MUST]], Level::Live, 3), case(both, 9)]);
        assert_eq!(named(&found), [(format!("{MUST}|{LIVE}"), Some(Level::Live))]);
        assert!(fits(&found[0]) && !found[0].incomplete);
    }

    #[test]
    fn complete_blame_does() {
        let found = taken(vec![case(&[&[MUST], &[LIVE]], 3), case(&[&[MUST]], 9)]);
        assert_eq!(named(&found), [(MUST.to_owned(), Some(Level::Must))]);
        assert!(found[0].refutes(Level::Must) && found[0].counterexample.trace.len() == 9);
        // In either order, and also if the rule is the same and the case proves more.
        let found = taken(vec![case(&[&[MUST]], 9), case(&[&[MUST], &[LIVE]], 3)]);
        assert_eq!(
            (named(&found), found[0].counterexample.trace.len()),
            (vec![(MUST.to_owned(), Some(Level::Must))], 9)
        );
        let silent = Finding { level: Some(Level::Live), ..case(&[&[MUST]], 3) };
        assert_eq!(named(&taken(vec![silent, case(&[&[MUST]], 9)])), [(MUST.to_owned(), Some(Level::Must))]);
    }

    #[test]
    fn what_is_proven_otherwise_is_not_lost() {
        // All weaker rules were relaxed, and it was still refuted: that is a proof, whatever blame left out.
        let found = taken(vec![case(&[&[MUST], &[LIVE]], 3), incomplete(&[&[MUST]], Level::Must, 9)]);
        assert_eq!(found.len(), 2);
        assert!(!found[0].refutes(Level::Store) && found[1].refutes(Level::Store));
        let silent = Finding { level: Some(Level::Live), ..case(&[&[STORE]], 3) };
        let found = taken(vec![silent, case(&[&[MUST], &[STORE]], 9)]);
        assert!(found.iter().any(|finding| finding.refutes(Level::Store)));
    }

    #[test]
    fn no_rule_found_in_time_does_not_refute() {
        let found = incomplete(&[], Level::Must, 3);
        assert!(!found.refutes(Level::Live) && found.is_undecided(Level::Must));
        // All sets were tried, and none explains it: that is another matter.
        let found = Finding { level: Some(Level::Must), ..case(&[], 3) };
        assert!(found.refutes(Level::Must) && !found.is_undecided(Level::Must));
        // What cannot be more than a warning is none that anybody has to decide.
        assert!(!incomplete(&[&[STEADY]], Level::Live, 3).is_undecided(Level::Store));
        assert!(incomplete(&[&[STEADY]], Level::Live, 3).is_undecided(Level::Steady));
        assert!(incomplete(&[&[MUST]], Level::Store, 3).refutes(Level::Store));
    }

    #[test]
    fn a_title_fits_the_case_that_is_shown() {
        let either: &[&[&str]] = &[&[MUST], &[OTHER]];
        for smallest in [false, true] {
            for (one, two) in [(3, 9), (9, 3)] {
                for cases in [
                    vec![case(either, one), case(&[&[MUST]], two)],
                    vec![case(&[&[MUST]], one), case(either, two)],
                    vec![case(either, one), incomplete(&[&[MUST]], Level::Must, two)],
                    vec![incomplete(&[&[MUST]], Level::Store, one), case(either, two)],
                ] {
                    let mut findings = Findings { list: Vec::new(), smallest };
                    for case in cases {
                        findings.take(case);
                    }
                    assert!(findings.list.iter().all(fits), "{:?}", named(&findings.list));
                }
            }
        }
        let mut found = case(either, 9);
        found.adopt(shrunk(&[&[MUST]]));
        assert_eq!(named(std::slice::from_ref(&found)), [(MUST.to_owned(), Some(Level::Must))]);
        assert_eq!(found.shown().diagnoses, found.diagnoses);
    }

    fn shrunk(sets: &[&[&'static str]]) -> Shrunk {
        let small = case(sets, 2);
        Shrunk {
            counterexample: small.counterexample,
            diagnoses: small.diagnoses,
            level: small.level,
            incomplete: small.incomplete,
            requests: (9, 2),
            runs: 1,
            again: (1, 1),
            unfinished: false,
        }
    }

    #[test]
    fn a_weak_rule_is_relaxed_for_good_only_if_nothing_else_explains_a_case() {
        let either: &[&[&str]] = &[&[STORE], &[MUST, OTHER]];
        let times =
            |times: usize, sets: &[&[&'static str]]| (0..times).map(|_| case(sets, 5)).collect::<Vec<_>>();
        assert_eq!(taken(times(2, either))[0].remedy(), Remedy::Nothing);
        let found = taken(times(3, either));
        assert_eq!(found[0].remedy(), Remedy::Either([&[STORE], &[MUST, OTHER]]));
        assert_eq!(found[0].level, Some(Level::Store));
        // A case that only the weak rule explains settles it, and so does one that it does not explain.
        let relaxed = |rules: &[&'static str], sets: &[&[&'static str]]| Finding {
            relaxed: rules.to_vec(),
            ..case(sets, 5)
        };
        let after_three = |sets, found| {
            let mut cases = times(3, sets);
            cases.push(found);
            taken(cases)
        };
        let found = after_three(either, relaxed(&[MUST, OTHER], &[&[STORE]]));
        assert_eq!(named(&found), [(STORE.to_owned(), Some(Level::Store))]);
        assert_eq!(found[0].remedy(), Remedy::Always(&[STORE]));
        let found = after_three(either, relaxed(&[STORE], &[&[MUST]]));
        assert_eq!(found.len(), 2);
        assert!(found[1].refutes(Level::Must));
        // Where a weak rule makes a warning of it, the same: with that rule relaxed the violation is proven.
        let either: &[&[&str]] = &[&[MUST], &[STEADY]];
        let found = taken(times(3, either));
        assert_eq!(found[0].remedy(), Remedy::Either([&[STEADY], &[MUST]]));
        let found = after_three(either, relaxed(&[STEADY], &[&[MUST]]));
        assert_eq!(named(&found), [(MUST.to_owned(), Some(Level::Must))]);
    }
}
