//! The evidence for a cause: the cases by which runs showed it, as far as they are needed to judge them again.
//!
//! Shards do not know which rules other shards found broken. A merge does, and asks of each cause whether such rules explain all of
//! its evidence ([`fold`](super::fold)). The evidence of few runs is kept, because a cause that many runs showed is listed in any
//! case.

use std::collections::BTreeSet;

use confute::trace::Event;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CaseRecord, Violation};

/// Number of runs whose evidence is kept for a cause, so that memory is bounded. If as many are kept, there may have been more.
const MOST: usize = 9;

/// The cases by which a run showed a cause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Evidence {
    /// Number of events of the case in which it was found.
    pub events: usize,
    /// Name of that case.
    pub name: String,
    /// Rules that were relaxed in that case.
    pub relaxed: Vec<String>,
    /// The trace of that case and, if there is one, that of the smaller case: each a list of events as JSON.
    pub traces: Vec<String>,
}

impl Evidence {
    pub(super) fn of(violation: &Violation) -> Self {
        let trace = |case: &CaseRecord| {
            let events: Vec<Event<&Value>> =
                case.trace.iter().map(|event| event.as_ref().map(|message| &message.json)).collect();
            serde_json::to_string(&events).unwrap_or_default()
        };
        let smaller = violation.shrunk.iter().flatten().map(|shrunk| trace(&shrunk.case));
        Self {
            events: violation.found.trace.len(),
            name: violation.found.name.clone(),
            relaxed: violation.relaxed.clone(),
            traces: std::iter::once(trace(&violation.found)).chain(smaller).collect(),
        }
    }

    /// Returns the traces with their messages as data. Fails if the evidence was stored by another version.
    pub fn read(&self) -> Result<Vec<Vec<Event<Value>>>, serde_json::Error> {
        self.traces.iter().map(|trace| serde_json::from_str(trace)).collect()
    }
}

/// The smallest pieces of evidence for a cause. The smallest of a union are the same in whatever order it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidences(BTreeSet<Evidence>);

impl Evidences {
    pub(super) fn of(violation: &Violation) -> Self {
        Self(BTreeSet::from([Evidence::of(violation)]))
    }

    /// Adds the evidence of a violation, unless larger evidence than that was dropped already.
    pub(super) fn offer(&mut self, violation: &Violation) {
        let size = (violation.found.trace.len(), &violation.found.name);
        let is_larger = |last: &Evidence| size > (last.events, &last.name);
        if self.0.len() < MOST || !self.0.last().is_some_and(is_larger) {
            self.join([Evidence::of(violation)]);
        }
    }

    pub(super) fn join(&mut self, others: impl IntoIterator<Item = Evidence>) {
        self.0.extend(others);
        while self.0.len() > MOST {
            self.0.pop_last();
        }
    }

    /// Returns the evidence of all runs that showed the cause; `None` if it is not known of all.
    pub(super) fn all(&self) -> Option<impl Iterator<Item = &Evidence>> {
        (self.0.len() < MOST && !self.0.is_empty()).then(|| self.0.iter())
    }

    /// Returns all that is kept.
    pub(super) fn kept(&self) -> Vec<Evidence> {
        self.0.iter().cloned().collect()
    }
}

impl IntoIterator for Evidences {
    type Item = Evidence;
    type IntoIter = std::collections::btree_set::IntoIter<Evidence>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
