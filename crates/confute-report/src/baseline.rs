//! A file of violations that are known: they do not fail a run, new ones do, and those that are gone are announced.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use confute_drive::{Finding, Outcome, Plan, Protocol};
use serde::{Deserialize, Serialize};

const VERSION: u64 = 1;

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    confute: String,
    version: u64,
    /// The model that it was judged by.
    model: String,
    /// Each violation: the sets of rules that explain it by being broken, one of which is.
    violations: Vec<Vec<Vec<String>>>,
}

/// What a run says about what is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Met again.
    pub known: usize,
    /// Put to the test, and not met.
    pub gone: Vec<String>,
    /// Not put to the test.
    pub untested: Vec<String>,
}

impl Baseline {
    /// Of a server of which nothing is known.
    pub fn new(model: &str) -> Self {
        let (confute, model) = ("baseline".to_owned(), model.to_owned());
        Self { confute, version: VERSION, model, violations: Vec::new() }
    }

    /// Reads it. One that is not there yet is empty if it is to be written.
    pub fn read(path: &Path, model: &str, is_to_be_written: bool) -> Result<Self> {
        let shown = path.display();
        if is_to_be_written && !path.exists() {
            return Ok(Self::new(model));
        }
        let text = fs::read_to_string(path)
            .with_context(|| format!("--baseline {shown}: cannot be read; --baseline-update writes it"))?;
        let read: Self = serde_json::from_str(&text)
            .with_context(|| format!("--baseline {shown}: not a baseline; --baseline-update writes one"))?;
        if read.confute != "baseline" || read.version != VERSION {
            bail!("--baseline {shown}: not a baseline of version {VERSION}");
        }
        if read.model != model {
            bail!("--baseline {shown}: it is about servers of model {}, not {model}", read.model);
        }
        Ok(read)
    }

    /// Sets of rules that the server is known to break, for a [`Plan`].
    pub fn known(&self) -> Vec<Vec<String>> {
        self.violations.iter().flatten().cloned().collect()
    }

    /// What a run has shown.
    pub fn compared<P: Protocol>(&self, outcome: &Outcome<P>) -> Compared {
        let mut compared = Compared::default();
        for one in &self.violations {
            let met = outcome.findings.iter().any(|finding| finding.is_explained_by(one));
            let tested = one.iter().flatten().any(|rule| outcome.figures.rules.contains(&**rule));
            match (met, tested) {
                (true, _) => compared.known += 1,
                (false, true) => compared.gone.push(told(one)),
                (false, false) => compared.untested.push(told(one)),
            }
        }
        compared
    }

    /// What is known after a run: what it met, and what it did not put to the test. What no rule explains cannot be told
    /// from anything else like it, so that stays new.
    #[must_use]
    pub fn updated<P: Protocol>(&self, plan: &Plan, outcome: &Outcome<P>) -> Self {
        let Compared { untested, .. } = self.compared(outcome);
        let mut violations: Vec<_> =
            self.violations.iter().filter(|one| untested.contains(&told(one))).cloned().collect();
        let counts = |finding: &&Finding<P>| finding.known || finding.refutes(plan.level);
        for finding in outcome.findings.iter().filter(counts).filter(|one| !one.diagnoses.is_empty()) {
            let sets =
                finding.diagnoses.iter().map(|one| one.rules.iter().map(ToString::to_string).collect());
            violations.push(sets.collect());
        }
        violations.sort();
        violations.dedup();
        Self { violations, ..self.clone() }
    }

    /// Writes it.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }
}

fn told(one: &[Vec<String>]) -> String {
    one.iter().map(|rules| rules.join(" and ")).collect::<Vec<_>>().join(", or ")
}
