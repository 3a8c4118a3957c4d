//! The two budgets of a run: one for testing, one for what comes after it.
//!
//! What comes after testing is the blame of what was found last, smaller cases, proofs and reports. Each of these looks at the
//! time that is left and does less when there is little: a violation is then shown as it was found, or without a proof.

use std::time::{Duration, Instant};

use confute_record::BudgetsRecord;

/// Time after testing besides that for smaller cases.
const AFTER: Duration = Duration::from_secs(6);
/// What of it is kept back from smaller cases: for what matters in those that did not shrink, proofs and reports;
const FOR_EVIDENCE: Duration = Duration::from_millis(2_500);
/// for proofs and reports;
const FOR_PROOFS: Duration = Duration::from_millis(1_800);
/// and for reports alone.
const FOR_REPORTS: Duration = Duration::from_secs(1);

/// The budgets of a run, and what it took of them.
#[derive(Clone, Copy, Debug)]
pub struct Budgets {
    /// How long testing took.
    tested: Duration,
    /// How long it was to take at most, if it was bounded.
    testing: Option<Duration>,
    /// When testing ended.
    since: Instant,
    /// How long everything after it may take.
    after: Duration,
}

impl Budgets {
    /// Testing began then, took so long and has ended; smaller cases may be looked for for so long, if at all.
    pub(crate) fn new(
        began: Instant,
        tested: Duration,
        testing: Option<Duration>,
        shrink_time: Option<Duration>,
    ) -> Self {
        Self { tested, testing, since: began + tested, after: shrink_time.unwrap_or_default() + AFTER }
    }

    /// How long everything after testing has taken so far.
    pub fn took(&self) -> Duration {
        self.since.elapsed()
    }

    /// How long everything after testing may take.
    pub fn after(&self) -> Duration {
        self.after
    }

    /// When everything is to be over.
    pub fn end(&self) -> Instant {
        self.since + self.after
    }

    /// The moment at which so much is left.
    fn until(&self, rest: Duration) -> Instant {
        self.since + self.after.saturating_sub(rest)
    }

    /// How long one of so many reports that are left may think.
    pub(crate) fn share(&self, count: usize) -> Duration {
        self.end().saturating_duration_since(Instant::now()) / (count.max(1) as u32)
    }

    /// How long smaller cases may be looked for.
    pub(crate) fn shrinking(&self, wanted: Duration) -> Duration {
        wanted.min(self.until(FOR_EVIDENCE).saturating_duration_since(Instant::now()))
    }

    /// Until when to look for what matters in cases that did not get smaller.
    pub(crate) fn end_of_evidence(&self) -> Instant {
        self.until(FOR_PROOFS)
    }

    /// Until when to look for proofs.
    pub(crate) fn end_of_proofs(&self) -> Instant {
        self.until(FOR_REPORTS)
    }

    /// The budgets as they are now.
    pub fn record(&self) -> BudgetsRecord {
        let Self { tested, testing, after, .. } = *self;
        BudgetsRecord { tested, testing, took: self.took(), after }
    }
}
