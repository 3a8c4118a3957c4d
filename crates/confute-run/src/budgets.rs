//! The two budgets of a run: one for testing, one for everything after it.
//!
//! After testing come the blame of the last violations, smaller cases, proofs and reports. Each of these
//! checks the time that is left and does less when there is little: a violation is then shown as it was
//! found, or without a proof.

use std::time::{Duration, Instant};

use confute_record::BudgetsRecord;

/// Time after testing, besides that for smaller cases.
const AFTER: Duration = Duration::from_secs(6);
/// Part of that time that is kept back from smaller cases, for excerpts of cases that did not shrink, proofs
/// and reports.
const FOR_EVIDENCE: Duration = Duration::from_millis(2_500);
/// Part of that time that is kept back for proofs and reports.
const FOR_PROOFS: Duration = Duration::from_millis(1_800);
/// Part of that time that is kept back for reports alone.
const FOR_REPORTS: Duration = Duration::from_secs(1);

/// The budgets of a run, and the time used.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    /// Duration of testing.
    tested: Duration,
    /// Maximum duration of testing, if it was bounded.
    testing: Option<Duration>,
    /// Time when testing ended.
    since: Instant,
    /// Maximum duration of everything after testing.
    after: Duration,
}

impl Budgets {
    /// Creates the budgets of a run whose testing began at `began` and took `tested`, with this time for
    /// smaller cases, if they are searched for.
    pub(crate) fn new(
        began: Instant,
        tested: Duration,
        testing: Option<Duration>,
        shrink_time: Option<Duration>,
    ) -> Self {
        Self { tested, testing, since: began + tested, after: shrink_time.unwrap_or_default() + AFTER }
    }

    /// Returns the time used after testing so far.
    pub fn took(&self) -> Duration {
        self.since.elapsed()
    }

    /// Returns the maximum duration of everything after testing.
    pub fn after(&self) -> Duration {
        self.after
    }

    /// Returns the moment at which everything has to be over.
    pub fn end(&self) -> Instant {
        self.since + self.after
    }

    /// Returns the moment at which this much time is left.
    fn until(&self, rest: Duration) -> Instant {
        self.since + self.after.saturating_sub(rest)
    }

    /// Returns the time for each of the reports that are left.
    pub(crate) fn share(&self, count: usize) -> Duration {
        self.end().saturating_duration_since(Instant::now()) / (count.max(1) as u32)
    }

    /// Returns the time for smaller cases.
    pub(crate) fn shrinking(&self, wanted: Duration) -> Duration {
        wanted.min(self.until(FOR_EVIDENCE).saturating_duration_since(Instant::now()))
    }

    /// Returns the moment until which excerpts of cases that did not shrink are searched for.
    pub(crate) fn end_of_evidence(&self) -> Instant {
        self.until(FOR_PROOFS)
    }

    /// Returns the moment until which proofs are searched for.
    pub(crate) fn end_of_proofs(&self) -> Instant {
        self.until(FOR_REPORTS)
    }

    /// Returns the budgets as they are now.
    pub fn record(&self) -> BudgetsRecord {
        let Self { tested, testing, after, .. } = *self;
        BudgetsRecord { tested, testing, took: self.took(), after }
    }
}
