//! The causes of a merge: violations by the rules that they are named after, with the shapes of their smallest cases.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use confute::lang::Level;

use super::evidence::Evidences;
use super::shape::shape;
use crate::{Standing, Violation};

/// Identity of a cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CauseKey {
    pub(super) campaign: Arc<str>,
    /// The sets of rules that the violation is named after, sorted.
    pub(super) named: Vec<Vec<String>>,
    /// Of a violation that no rule explains: its level, and whether blame was incomplete. Nothing else tells it from others.
    pub(super) unexplained: Option<(Option<Level>, bool)>,
}

impl CauseKey {
    pub(super) fn of(violation: &Violation, campaign: &Arc<str>) -> Self {
        let mut named: Vec<Vec<String>> = violation.named().iter().map(|one| one.rules.clone()).collect();
        named.sort();
        named.dedup();
        let unexplained = named.is_empty().then_some((violation.level, violation.incomplete));
        Self { campaign: Arc::clone(campaign), named, unexplained }
    }
}

/// The occurrences of a cause in one run, with cases of one shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) times: u64,
    /// Numbers and seeds of the cases, as far as they are known, sorted. Most runs have one: a vector is a fraction of a set.
    pub(super) cases: Vec<(Option<u64>, u64)>,
}

/// A cause.
#[derive(Clone, Debug)]
pub(super) struct Cause {
    /// The violation with the smallest case, without number and occurrences.
    pub(super) smallest: Box<Violation>,
    /// The occurrences by shape and by run.
    pub(super) shapes: BTreeMap<String, BTreeMap<Arc<str>, Seen>>,
    /// The cases to judge again, of a few runs.
    pub(super) evidence: Evidences,
}

impl Cause {
    /// Creates a cause from the violation of one run.
    pub(super) fn of(violation: Violation, run: &Arc<str>) -> Self {
        let evidence = Evidences::of(&violation);
        Self { evidence, ..Self::without_evidence(violation, run) }
    }

    /// Adds the violation of another run, or of the same run in another state.
    pub(super) fn add(&mut self, violation: Violation, run: &Arc<str>) {
        self.evidence.offer(&violation);
        self.join(Self::without_evidence(violation, run));
    }

    fn without_evidence(mut violation: Violation, run: &Arc<str>) -> Self {
        let occurrences = std::mem::take(&mut violation.occurrences);
        let mut cases: Vec<_> = occurrences.iter().map(|one| (one.case, one.seed)).collect();
        if cases.is_empty() {
            cases.push((None, violation.seed));
        }
        cases.sort_unstable();
        cases.dedup();
        let seen = Seen { times: violation.times, cases };
        (violation.number, violation.times) = (0, 0);
        let shapes = BTreeMap::from([(shape(&violation), BTreeMap::from([(Arc::clone(run), seen)]))]);
        Self { smallest: Box::new(violation), shapes, evidence: Evidences::default() }
    }

    /// Adds the occurrences of another run, or of the same run in another state.
    pub(super) fn join(&mut self, other: Self) {
        self.offer(other.smallest);
        self.evidence.join(other.evidence);
        for (shape, runs) in other.shapes {
            let known = self.shapes.entry(shape).or_default();
            for (run, seen) in runs {
                let mine = known.entry(run).or_default();
                mine.times = mine.times.max(seen.times);
                mine.cases.extend(seen.cases);
                mine.cases.sort_unstable();
                mine.cases.dedup();
            }
        }
    }

    /// Keeps the violation if it is to be preferred. The order is total, so that the result does not depend on which came
    /// first.
    fn offer(&mut self, other: Box<Violation>) {
        match rank(&other).cmp(&rank(&self.smallest)) {
            std::cmp::Ordering::Less => self.smallest = other,
            std::cmp::Ordering::Equal if text(&other) < text(&self.smallest) => self.smallest = other,
            _ => {}
        }
    }

    /// Returns the occurrences of a run, over all shapes.
    pub(super) fn seen_by<'a>(&'a self, run: &'a str) -> impl Iterator<Item = &'a Seen> {
        self.shapes.values().filter_map(move |runs| runs.get(run))
    }
}

/// Returns the order of standings: what refutes comes first.
pub(super) fn weight(standing: Standing) -> u8 {
    match standing {
        Standing::Refutes => 0,
        Standing::Undecided => 1,
        Standing::Warning => 2,
        Standing::Known => 3,
    }
}

/// Returns the order of violations of one cause: what refutes comes first, then what is proven more firmly, then the
/// smaller case.
fn rank(violation: &Violation) -> (u8, bool, Reverse<Option<Level>>, bool, usize, usize, &str) {
    let is_unshrunk = !matches!(violation.shrunk, Some(Ok(_)));
    let (requests, events) = (violation.requests(), violation.shown().trace.len());
    let Violation { incomplete, level, .. } = *violation;
    (
        weight(violation.standing),
        incomplete,
        Reverse(level),
        is_unshrunk,
        requests,
        events,
        &violation.found.name,
    )
}

fn text(violation: &Violation) -> String {
    serde_json::to_string(violation).unwrap_or_default()
}
