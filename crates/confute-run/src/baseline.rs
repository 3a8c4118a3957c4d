//! Baseline: a file of known violations. They do not fail a run, new ones do, and those that are gone are
//! reported.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use confute_drive::{Finding, Outcome, Plan};
use confute_record::put::put;
use confute_record::{Compared, Conclusion, RunRecord, Standing, Violation};
use serde::{Deserialize, Serialize};

use crate::RunError;
use crate::error::While as _;

const VERSION: u64 = 1;

/// The known violations of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    confute: String,
    version: u64,
    /// Model that the violations were judged by.
    model: String,
    /// The known violations, each as the sets of rules that explain it if broken; one of them was.
    violations: Vec<Vec<Vec<String>>>,
}

impl Baseline {
    /// Creates the baseline of a server without known violations.
    pub fn new(model: &str) -> Self {
        let (confute, model) = ("baseline".to_owned(), model.to_owned());
        Self { confute, version: VERSION, model, violations: Vec::new() }
    }

    /// Reads a baseline. A file that does not exist yet is an empty baseline if it is to be written.
    pub fn read(path: &Path, model: &str, is_to_be_written: bool) -> Result<Self, RunError> {
        let shown = path.display();
        if is_to_be_written && !path.exists() {
            // The file is written at the end of the run, which is too late to report a missing folder.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                return Err(RunError::Usage(format!(
                    "--baseline {shown}: there is no folder {}",
                    folder.display()
                )));
            }
            return Ok(Self::new(model));
        }
        let text = fs::read_to_string(path)
            .reading(format!("--baseline {shown}: cannot be read; --baseline-update writes it"))?;
        let read: Self = serde_json::from_str(&text)
            .reading(format!("--baseline {shown}: not a baseline; --baseline-update writes one"))?;
        if read.confute != "baseline" || read.version != VERSION {
            return Err(RunError::Usage(format!("--baseline {shown}: not a baseline of version {VERSION}")));
        }
        if read.model != model {
            return Err(RunError::Usage(format!(
                "--baseline {shown}: it is about servers of model {}, not {model}",
                read.model
            )));
        }
        Ok(read)
    }

    /// Returns the sets of rules that the server is certain to break, for a [`Plan`]: the run itself does not
    /// need the other violations.
    pub fn sure(&self) -> Vec<Vec<String>> {
        self.violations.iter().filter(|one| one.len() == 1).flatten().cloned().collect()
    }

    /// Returns `true` if a violation is not new: every set of rules of a known violation explains it. A known
    /// "A or B" does not excuse a violation that only A explains.
    pub fn knows(&self, finding: &Finding) -> bool {
        let explains = |one: &Vec<Vec<String>>| {
            !one.is_empty() && one.iter().all(|rules| finding.is_explained_by(std::slice::from_ref(rules)))
        };
        self.violations.iter().any(explains)
    }

    /// Compares the baseline with the violations of a run. If the run was cut short, a known violation that
    /// it did not meet is not gone, but open.
    pub fn compared(&self, plan: &Plan, outcome: &Outcome, cut_short: bool) -> Compared {
        let (cases, answers) = (outcome.tally.cases, outcome.figures.answers);
        let met = outcome.findings.iter().filter(|finding| self.knows(finding)).count();
        let mut compared = Compared { met, cases, answers, ..Compared::default() };
        let is_asked = |rule: &String| {
            let left_out = plan.allow.iter().chain(&outcome.relaxed).any(|name| name == rule);
            !left_out && outcome.figures.rules.contains(&**rule)
        };
        for one in &self.violations {
            if outcome.findings.iter().any(|finding| finding.is_explained_by(one)) {
                continue;
            }
            let is_gone = !cut_short && one.iter().flatten().all(is_asked);
            let list = if is_gone { &mut compared.gone } else { &mut compared.open };
            list.push(told(one));
        }
        compared
    }

    /// Returns `true` if a violation in a record is not new: see [`knows`](Self::knows).
    pub fn knows_record(&self, violation: &Violation) -> bool {
        let explains = |one: &Vec<Vec<String>>| {
            !one.is_empty() && one.iter().all(|rules| is_explained(violation, rules))
        };
        self.violations.iter().any(explains)
    }

    /// Compares the baseline with a merged record: see [`compared`](Self::compared).
    pub fn compared_record(&self, record: &RunRecord) -> Compared {
        let (cases, answers) = (record.tally.cases, record.figures.answers);
        let met = record.violations.iter().filter(|one| self.knows_record(one)).count();
        let mut compared = Compared { met, cases, answers, ..Compared::default() };
        let cut_short = matches!(record.conclusion, Conclusion::Inconclusive(_))
            || record.merged.as_ref().is_some_and(|merged| merged.incomplete.is_some());
        let is_asked = |rule: &String| !record.relaxed.contains(rule) && record.figures.rules.contains(rule);
        for one in &self.violations {
            if one.iter().any(|rules| record.violations.iter().any(|own| is_explained(own, rules))) {
                continue;
            }
            let is_gone = !cut_short && one.iter().flatten().all(is_asked);
            let list = if is_gone { &mut compared.gone } else { &mut compared.open };
            list.push(told(one));
        }
        compared
    }

    /// Returns the baseline after a merge: see [`updated`](Self::updated).
    #[must_use]
    pub fn updated_by_record(&self, record: &RunRecord, compared: &Compared) -> Self {
        let counts = |one: &&Violation| {
            matches!(one.standing, Standing::Refutes | Standing::Known) && !one.diagnoses.is_empty()
        };
        let news = record.violations.iter().filter(counts);
        let news = news.map(|one| one.diagnoses.iter().map(|set| set.rules.clone()).collect());
        self.with(news.collect(), compared)
    }

    /// Returns the baseline after a run: without the violations that are gone, and with the new ones. A
    /// violation that no rule explains cannot be distinguished from others like it, so it stays new.
    #[must_use]
    pub fn updated(&self, plan: &Plan, outcome: &Outcome, compared: &Compared) -> Self {
        let is_new = |finding: &&Finding| finding.refutes(plan.level) && !finding.diagnoses.is_empty();
        let news = outcome.findings.iter().filter(is_new).map(|finding| {
            let sets = finding.diagnoses.iter();
            sets.map(|one| one.rules.iter().map(ToString::to_string).collect()).collect()
        });
        self.with(news.collect(), compared)
    }

    /// Returns the baseline with new violations, and without those that are gone.
    fn with(&self, news: Vec<Vec<Vec<String>>>, compared: &Compared) -> Self {
        let is_sharper = |one: &[Vec<String>]| news.iter().any(|new| new.iter().all(|set| one.contains(set)));
        let old =
            self.violations.iter().filter(|one| !compared.gone.contains(&told(one)) && !is_sharper(one));
        let mut violations: Vec<_> = old.cloned().chain(news.iter().cloned()).collect();
        violations.sort();
        violations.dedup();
        Self { violations, ..self.clone() }
    }

    /// Writes the baseline to a file.
    pub fn write(&self, path: &Path) -> Result<(), RunError> {
        let cannot = format!("cannot write {}", path.display());
        let text = serde_json::to_string_pretty(self).writing(&cannot)?;
        put(path, |file| writeln!(file, "{text}")).writing(&cannot)
    }
}

/// Returns `true` if breaking these rules explains a violation.
fn is_explained(violation: &Violation, rules: &[String]) -> bool {
    violation.diagnoses.iter().any(|one| one.rules == rules)
}

fn told(one: &[Vec<String>]) -> String {
    one.iter().map(|rules| rules.join(" and ")).collect::<Vec<_>>().join(", or ")
}
