//! Refusals, and the gauge that a running case shows how it is doing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A reply by which a server declines to serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status of the reply.
    pub status: u16,
    /// How long the server asked the client to wait before it tries again.
    pub retry_after: Option<Duration>,
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
