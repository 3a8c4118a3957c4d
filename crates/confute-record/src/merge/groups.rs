//! The causes of a campaign in groups, one for each violation of the record.
//!
//! Two things make one violation of several causes. A cause that names a single set of rules, and is proven, explains those that
//! name it among others. And a shard does not know which rules other shards found broken: what it names may be explained by
//! them, as a single run would have noticed, because it no longer requires rules that it found broken. The merge asks for
//! that afterwards.
//!
//! Both are computed from the union, never stored as its result, so merging stays associative, commutative and idempotent. The
//! [judge](Judge) must therefore give the same answer each time: its budget is in turns of the model, not in time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Merge;
use super::campaign::Campaign;
use super::cause::{Cause, CauseKey, weight};
use super::evidence::Evidence;
use crate::{DiagnosisRecord, Occurrence, Violation};

/// A question to the judge of a merge: whether the evidence for a cause is explained if the server also breaks these rules, any
/// number of times, and is not explained otherwise.
pub struct Question<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Settings of the kit.
    pub settings: &'a serde_json::Value,
    /// The server, as the user of one of the runs named it.
    pub server: &'a str,
    /// The evidence of one run.
    pub evidence: &'a Evidence,
    /// The rules.
    pub broken: &'a BTreeSet<&'a str>,
}

/// A judge of stored evidence. It answers `false` if it does not know.
pub type Judge<'a> = &'a dyn Fn(&Question<'_>) -> bool;

/// A cause with its key.
pub(super) type Keyed<'a> = (&'a CauseKey, &'a Cause);

/// A violation of the record: the cause that it is named after, and those that it explains as well.
pub(super) struct Group<'a> {
    pub(super) named: Keyed<'a>,
    pub(super) absorbed: Vec<Keyed<'a>>,
    /// Violations that some run named after other rules, and that are explained by rules which others prove broken, in words.
    pub(super) explained: Vec<String>,
}

impl<'a> Group<'a> {
    fn new(named: Keyed<'a>, absorbed: Vec<Keyed<'a>>) -> Self {
        Self { named, absorbed, explained: Vec::new() }
    }

    pub(super) fn causes(&self) -> impl Iterator<Item = Keyed<'a>> {
        std::iter::once(self.named).chain(self.absorbed.iter().copied())
    }

    fn violation(&self) -> &'a Violation {
        &self.named.1.smallest
    }

    /// Returns the rules that were broken for sure, if the violation proves it of some: those of the only set that it is
    /// named after.
    fn proven(&self) -> Option<&'a [String]> {
        match &self.named.0.named[..] {
            [only] if !self.violation().incomplete => Some(only),
            _ => None,
        }
    }

    /// Returns the number of runs that showed it, and of its cases.
    fn frequency(&self) -> (usize, u64) {
        let seen = || self.causes().flat_map(|(_, cause)| cause.shapes.values().flatten());
        let runs: BTreeSet<&Arc<str>> = seen().map(|(run, _)| run).collect();
        (runs.len(), seen().map(|(_, seen)| seen.times).sum())
    }

    /// Returns its occurrences, each with the run.
    pub(super) fn occurrences(&self, places: &BTreeMap<String, usize>) -> Vec<Occurrence> {
        let mut all = BTreeSet::new();
        for (run, seen) in self.causes().flat_map(|(_, cause)| cause.shapes.values().flatten()) {
            let run = places.get(&**run).copied();
            all.extend(seen.cases.iter().map(|(case, seed)| Occurrence { run, case: *case, seed: *seed }));
        }
        all.into_iter().collect()
    }
}

impl Merge {
    /// Returns the violations of a campaign, those of the strongest level first.
    pub(super) fn groups(&self, key: &Arc<str>, campaign: &Campaign, judge: Judge<'_>) -> Vec<Group<'_>> {
        let causes = self.causes.iter().filter(|(own, _)| own.campaign == *key).collect();
        let mut groups = grouped(causes);
        groups.sort_by(|one, other| {
            let levels = |group: &Group<'_>| {
                let Violation { level, experiment, .. } = group.violation();
                (*level, experiment.as_ref().map(|one| one.level).or(*level))
            };
            levels(other).cmp(&levels(one)).then_with(|| one.named.0.cmp(other.named.0))
        });
        let servers = self.parts.values().filter(|part| part.campaign == *key).map(|part| &*part.own.server);
        let question = |evidence: &Evidence, broken: &BTreeSet<&str>| {
            let server = servers.clone().min().unwrap_or_default();
            judge(&Question {
                model: &campaign.model,
                settings: &campaign.settings,
                server,
                evidence,
                broken,
            })
        };
        fold(groups, &question)
    }
}

/// Groups causes: each absorbs those that everything it is named after explains as well, and that prove no more. That anything else
/// was broken is not proven.
fn grouped(mut causes: Vec<Keyed<'_>>) -> Vec<Group<'_>> {
    // What names fewer rules is absorbed by nothing that comes later.
    causes.sort_by_key(|(key, _)| (key.named.len(), *key));
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut gone = BTreeSet::new();
    for one in &causes {
        if gone.insert(one.0) {
            let free = causes.iter().filter(|other| !gone.contains(other.0));
            let absorbed: Vec<Keyed<'_>> = free.filter(|other| explains(*one, **other)).copied().collect();
            gone.extend(absorbed.iter().map(|other| other.0));
            groups.push(Group::new(*one, absorbed));
        }
    }
    groups
}

/// Returns `true` if the rules that the first violation is named after explain the second too, and the second proves no more.
/// Experiments are no proof. Where they decided what the first is named after, a rule that is stronger than what they left
/// would not be named at all, unless the second is explained by everything that explains the first.
fn explains((key, one): Keyed<'_>, (other_key, other): Keyed<'_>) -> bool {
    let (one, other) = (&one.smallest, &other.smallest);
    let is_named = !key.named.is_empty() && key.named.iter().all(|set| other_key.named.contains(set));
    let level = one.named().iter().map(|set| set.level).max();
    let names_stronger = other.named().iter().any(|set| Some(set.level) > level);
    let explains = |set: &DiagnosisRecord| other.diagnoses.iter().any(|known| known.rules == set.rules);
    let is_as_proven = one.diagnoses.iter().all(explains);
    let proves_no_more = other.level <= one.level && !other.incomplete && !one.incomplete;
    // A violation that is known must not hide one that refutes.
    let counts_as_much = weight(one.standing) <= weight(other.standing);
    is_named && proves_no_more && counts_as_much && (is_as_proven || !names_stronger)
}

/// Folds each group into another one if rules that others prove broken explain it: that anything else was broken is not
/// proven.
///
/// Of two violations that explain each other one must stay. Therefore a group that proves rules to be broken is explained
/// only by groups that prove fewer rules to be broken, or as many and were shown by more runs or in more cases, and that stay
/// themselves; any other group by all that stay.
fn fold<'a>(
    mut groups: Vec<Group<'a>>,
    judge: &dyn Fn(&Evidence, &BTreeSet<&str>) -> bool,
) -> Vec<Group<'a>> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|place| {
        let group = &groups[*place];
        (group.proven().map_or(usize::MAX, <[_]>::len), Reverse(group.frequency()), group.named.0)
    });
    let (mut staying, mut gone): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for place in order {
        let candidates: Vec<&Group<'a>> = staying.iter().map(|other| &groups[*other]).collect();
        let Some((into, rules)) = explained_by(&groups[place], &candidates, judge) else {
            if groups[place].proven().is_some() {
                staying.push(place);
            }
            continue;
        };
        let into = staying[into];
        let causes: Vec<Keyed<'a>> = groups[place].causes().collect();
        let names = rules.iter().copied().collect::<Vec<_>>().join(" and ");
        let told = format!(
            "{}: explained by {names}, which other cases show to be broken",
            groups[place].violation().name()
        );
        groups[into].absorbed.extend(causes);
        groups[into].explained.push(told);
        gone.push(place);
    }
    let mut place = 0;
    groups.retain(|_| {
        place += 1;
        !gone.contains(&(place - 1))
    });
    groups
}

/// Returns the first of these violations whose rules are needed to explain the group, and the rules that suffice. None of them may
/// prove less than the group, or count for less. What experiments left of several alternatives explains only what has alternatives
/// itself: the others may be what was broken, and may not explain a violation of one rule.
fn explained_by<'a>(
    group: &Group<'a>,
    candidates: &[&Group<'a>],
    judge: &dyn Fn(&Evidence, &BTreeSet<&str>) -> bool,
) -> Option<(usize, BTreeSet<&'a str>)> {
    let is_able = |other: &Group<'_>| {
        let (one, known) = (group.violation(), other.violation());
        let is_as_sure = group.proven().is_none() || known.diagnoses.len() == 1;
        known.level >= one.level && weight(known.standing) <= weight(one.standing) && is_as_sure
    };
    let mut able: Vec<usize> = (0..candidates.len()).filter(|place| is_able(candidates[*place])).collect();
    let rules = |places: &[usize]| -> BTreeSet<&'a str> {
        places
            .iter()
            .flat_map(|place| candidates[*place].proven().unwrap_or_default())
            .map(|rule| &**rule)
            .collect()
    };
    let explain = |places: &[usize]| {
        let broken = rules(places);
        group.causes().all(|cause| is_explained(cause, &broken, judge))
    };
    if able.is_empty() || !explain(&able) {
        return None;
    }
    // The fewest: rules of the violations that fewer runs showed are left out first.
    for place in (0..able.len()).rev() {
        let mut fewer = able.clone();
        fewer.remove(place);
        if !fewer.is_empty() && explain(&fewer) {
            able = fewer;
        }
    }
    Some((*able.first()?, rules(&able)))
}

/// Returns `true` if breaking these rules explains everything that shows a cause: they are all rules of a set that it is named
/// after, or the evidence of every run is judged to be explained.
fn is_explained(
    (key, cause): Keyed<'_>,
    broken: &BTreeSet<&str>,
    judge: &dyn Fn(&Evidence, &BTreeSet<&str>) -> bool,
) -> bool {
    let is_broken = |set: &Vec<String>| !set.is_empty() && set.iter().all(|rule| broken.contains(&**rule));
    key.named.iter().any(is_broken)
        || cause.evidence.all().is_some_and(|mut all| all.all(|evidence| judge(evidence, broken)))
}
