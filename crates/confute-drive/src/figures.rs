//! What a case or a campaign has come to, in numbers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::spread::Spread;

/// Counts and distributions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Messages that the tester sent.
    pub requests: u64,
    /// Messages that came.
    pub answers: u64,
    /// Events told to the tester.
    pub events: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections accepted that carried something.
    pub accepted: u64,
    /// Connections that the server ended.
    pub ended: u64,
    /// Requests that were lost with their connections: no answer will come.
    pub lost: u64,
    /// Asks that were not sent because what they refer to was not there.
    pub skipped: u64,
    /// Barriers that were put in to help the tester think.
    pub barriers: u64,
    /// Outstanding answers at each send, its own included.
    pub outstanding: Spread,
    /// Open alternatives of the tester, sampled.
    pub alternatives: Spread,
    /// Rules that were put to the test, or at least considered.
    pub rules: BTreeSet<&'static str>,
    /// Turns of the model that were tried.
    pub turns: u64,
    /// How long the tester thought.
    pub thinking: Duration,
    /// How long it waited for the server.
    pub waiting: Duration,
    /// How long it all took.
    pub elapsed: Duration,
}

impl Figures {
    /// Adds another's.
    pub fn merge(&mut self, other: &Figures) {
        self.requests += other.requests;
        self.answers += other.answers;
        self.lost += other.lost;
        self.events += other.events;
        self.opened += other.opened;
        self.accepted += other.accepted;
        self.ended += other.ended;
        self.skipped += other.skipped;
        self.barriers += other.barriers;
        self.outstanding.merge(&other.outstanding);
        self.alternatives.merge(&other.alternatives);
        self.rules.extend(&other.rules);
        self.turns += other.turns;
        self.thinking += other.thinking;
        self.waiting += other.waiting;
        self.elapsed += other.elapsed;
    }
}

/// Where a running case shows how it is doing, for those who watch.
#[derive(Debug, Default)]
pub struct Gauge {
    /// Messages that came, over all cases.
    pub answers: AtomicU64,
    /// Answers outstanding now.
    pub outstanding: AtomicU64,
    /// Alternatives open now.
    pub alternatives: AtomicU64,
    /// How often each of the [branches](crate::Protocol::branches) was reached, over all cases.
    pub branches: Box<[AtomicU64]>,
}

impl Gauge {
    /// One that counts so many branches.
    pub fn new(branches: usize) -> Self {
        Self { branches: (0..branches).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    pub(crate) fn reach(&self, branch: Option<usize>) {
        if let Some(count) = branch.and_then(|branch| self.branches.get(branch)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn show(&self, answers: u64, outstanding: u64, alternatives: u64) {
        self.answers.fetch_add(answers, Ordering::Relaxed);
        self.outstanding.store(outstanding, Ordering::Relaxed);
        self.alternatives.store(alternatives, Ordering::Relaxed);
    }
}
