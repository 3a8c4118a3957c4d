//! Refusals, and the gauge of running cases.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A response by which a server declines to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Status of the response.
    pub status: u16,
    /// Time that the server asked the client to wait before a retry.
    pub retry_after: Option<Duration>,
}

/// Live counters of the cases of one thread, for progress displays.
#[derive(Debug, Default)]
pub struct Gauge {
    /// Messages received, over all cases.
    pub answers: AtomicU64,
    /// Responses outstanding now.
    pub outstanding: AtomicU64,
    /// Alternatives open now.
    pub alternatives: AtomicU64,
    /// Number of times that each of the [branches](crate::Evidence::branches) was reached, over all cases.
    pub branches: Box<[AtomicU64]>,
}

impl Gauge {
    /// Creates a gauge for this number of branches.
    pub fn new(branches: usize) -> Self {
        Self { branches: (0..branches).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// Returns how often a branch was reached.
    pub(crate) fn reached(&self, branch: usize) -> u64 {
        self.branches.get(branch).map_or(0, |count| count.load(Ordering::Relaxed))
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
