//! What a case or a campaign has come to, in numbers.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Requests that the server declined to serve.
    pub refusals: Refusals,
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
        self.refusals.merge(&other.refusals);
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

/// A reply by which a server declines to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the reply.
    pub status: u16,
    /// How long the server asked the client to wait before it tries again.
    pub retry_after: Option<Duration>,
}

/// How often a server declined to serve requests, and what the tester did about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// How many replies there were of each status.
    pub statuses: BTreeMap<u16, u64>,
    /// How many of them told when to try again.
    pub retry_after: u64,
    /// How often the tester sent nothing until then. All refusals during one pause are honoured by it.
    pub pauses: u64,
    /// How long these pauses were, all together.
    pub paused: Duration,
    /// How often the tester went on before the time it was told, because a pause has a limit.
    pub ignored: u64,
}

impl Refusals {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// How often each status came: `503 (12 times), 429 (once)`.
    pub fn told(&self) -> String {
        let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let each = self.statuses.iter().map(|(status, count)| format!("{status} ({})", times(*count)));
        each.collect::<Vec<_>>().join(", ")
    }

    /// Why a run says nothing in which the server refused more than it served.
    pub(crate) fn prevail(&self, answers: u64) -> Option<String> {
        let refused = self.count();
        (2 * refused > answers).then(|| {
            let told = self.told();
            format!(
                "the server refused more than it served: {refused} of {answers} answers were refusals: {told}"
            )
        })
    }

    fn merge(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.retry_after += other.retry_after;
        self.pauses += other.pauses;
        self.paused += other.paused;
        self.ignored += other.ignored;
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
