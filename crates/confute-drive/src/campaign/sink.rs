//! Reports of a running campaign. Terminal, files and tests receive them in the same way.

use std::time::Duration;

use confute::Verdict;

use super::finding::Finding;
use crate::case::Ended;
use crate::trouble::Trouble;
use confute_record::{Figures, Tally};

/// A case that has ended.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// Number of the case, counted from zero in the order of starting.
    pub number: u64,
    /// Name of the case on the server.
    pub name: String,
    /// Seed of its random choices.
    pub seed: u64,
    /// Verdict of the engine.
    pub verdict: Verdict,
    /// Reason why it ended.
    pub ended: Ended,
    /// The trouble, if there was any.
    pub trouble: Option<Trouble>,
    /// Counts and durations.
    pub figures: Figures,
}

/// A case that is done: its violation, if it showed one, has been reported.
#[derive(Clone, Debug)]
pub struct SettledCase {
    /// Number of the case.
    pub number: u64,
    /// Its result, as numbers to add.
    pub tally: Tally,
    /// Its counts and durations.
    pub figures: Figures,
    /// The branches that were reached since the case before it was settled, and how often.
    pub branches: Vec<(String, u64)>,
}

/// The progress of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Live {
    /// Time since the start.
    pub elapsed: Duration,
    /// Number of cases that have ended.
    pub cases: u64,
    /// Number of messages that were received and judged.
    pub answers: u64,
    /// Number of these messages per second, lately.
    pub rate: f64,
    /// Number of outstanding responses now.
    pub outstanding: u64,
    /// Number of open alternatives now.
    pub alternatives: u64,
    /// Number of rules that were tested, and number of all rules.
    pub rules: (usize, usize),
    /// Number of distinct violations so far.
    pub findings: usize,
}

/// Novelty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The violation was not known.
    New,
    /// The violation is known, but there is a better case or a sharper diagnosis now.
    Better,
    /// The violation is known.
    Again,
}

/// Receiver of the reports of a campaign. All methods are called on the thread that started it.
pub trait Sink {
    /// Takes the remarks of the survey about the server.
    fn surveyed(&mut self, remarks: &[String]) {
        let _ = remarks;
    }

    /// Takes the beginning of a case.
    fn started(&mut self, number: u64, name: &str) {
        let _ = (number, name);
    }

    /// Takes the result of a case.
    fn ended(&mut self, case: &CaseReport) {
        let _ = case;
    }

    /// Takes a case that is done. It follows the violation that the case showed.
    fn settled(&mut self, case: SettledCase) {
        let _ = case;
    }

    /// Takes a violation.
    fn found(&mut self, finding: &Finding, news: News) {
        let _ = (finding, news);
    }

    /// Takes trouble of a case or of the campaign.
    fn trouble(&mut self, trouble: &Trouble) {
        let _ = trouble;
    }

    /// Takes the progress, at regular intervals.
    fn tick(&mut self, live: &Live) {
        let _ = live;
    }
}

/// Ignores all reports.
impl Sink for () {}
