//! Where a campaign tells what happens. Terminal, files and tests listen in the same way.

use std::time::Duration;

use confute::Verdict;

use super::finding::Finding;
use crate::case::Ended;
use crate::trouble::Trouble;
use confute_record::Figures;

/// A case that has ended.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// Counted from zero, in the order of starting.
    pub number: u64,
    /// Its name on the server.
    pub name: String,
    /// What its choices came from.
    pub seed: u64,
    /// What the tester thinks.
    pub verdict: Verdict,
    /// Why it ended.
    pub ended: Ended,
    /// What went wrong.
    pub trouble: Option<Trouble>,
    /// In numbers.
    pub figures: Figures,
}

/// How a campaign is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Since the start.
    pub elapsed: Duration,
    /// Cases that have ended.
    pub cases: u64,
    /// Messages that came and were judged.
    pub answers: u64,
    /// How many in a second, lately.
    pub rate: f64,
    /// Answers outstanding now.
    pub outstanding: u64,
    /// Alternatives open now.
    pub alternatives: u64,
    /// Rules that were put to the test, and all there are.
    pub rules: (usize, usize),
    /// Distinct violations so far.
    pub findings: usize,
}

/// What has become of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// It was not known.
    New,
    /// It is known, but there is a better case or a sharper diagnosis now.
    Better,
    /// It is known.
    Again,
}

/// Listens to a campaign. All is told on the thread that called it.
pub trait Sink {
    /// What the server was found to be able to do.
    fn surveyed(&mut self, remarks: &[String]) {
        let _ = remarks;
    }

    /// A case begins.
    fn started(&mut self, number: u64, name: &str) {
        let _ = (number, name);
    }

    /// A case has ended.
    fn ended(&mut self, case: &CaseReport) {
        let _ = case;
    }

    /// A violation was found.
    fn found(&mut self, finding: &Finding, news: News) {
        let _ = (finding, news);
    }

    /// The conversation broke off.
    fn trouble(&mut self, trouble: &Trouble) {
        let _ = trouble;
    }

    /// Time has passed.
    fn tick(&mut self, live: &Live) {
        let _ = live;
    }
}

/// Does not listen.
impl Sink for () {}
