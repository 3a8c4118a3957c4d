//! Results of all runs, stored in a file, so that an interrupted evaluation can be resumed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::mutant::Texts;
use super::workshop::fingerprint;
use crate::hunt::Investigation;
use crate::root;

/// Result of one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Name of the server or mutant.
    pub(crate) subject: String,
    pub(crate) seed: u64,
    /// Fingerprint of the tester and name of the program: a run of another tester or program is a different run.
    pub(crate) of: String,
    /// Time until the refutation, in seconds.
    pub(crate) seconds: Option<f64>,
    /// Number of messages until the refutation.
    pub(crate) messages: Option<u64>,
    /// Sets of rules, any of which explains the first violation.
    pub(crate) blamed: Vec<String>,
    /// Number of requests of the shrunk case, if the run was shrunk.
    pub(crate) shrunk: Option<usize>,
    /// Result of shrinking and experiments, if the run was shrunk.
    #[serde(default)]
    pub(crate) investigation: Option<Investigation>,
    /// Number of all messages.
    pub(crate) all_messages: u64,
    /// Duration of the run in seconds, blame included.
    pub(crate) all_seconds: f64,
    /// Distinct violations, if the run continued after the first.
    pub(crate) findings: Vec<Sighting>,
    /// Reason why there is no verdict.
    pub(crate) inconclusive: Option<String>,
    /// Trace up to the first violation; empty if the record was read from the file.
    #[serde(skip)]
    pub(crate) trace: String,
}

/// A violation among several of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sighting {
    pub(crate) rules: Vec<String>,
    /// `true` if there was no time to try all rules.
    #[serde(default)]
    pub(crate) incomplete: bool,
    pub(crate) level: String,
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
}

/// Record of all runs so far.
pub(crate) struct Book {
    path: PathBuf,
    known: BTreeMap<(String, u64, String), Record>,
    /// Fingerprint of the tester's sources.
    tester: u64,
}

impl Book {
    /// Opens the file. An incomplete line is an interrupted run.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let text = fs::read_to_string(path).unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            OpenOptions::new().append(true).open(path)?.write_all(b"\n")?;
        }
        let records = text.lines().filter_map(|line| serde_json::from_str::<Record>(line).ok());
        let known = records.map(|record| ((record.subject.clone(), record.seed, record.of.clone()), record));
        Ok(Self { path: path.to_owned(), known: known.collect(), tester: tester()? })
    }

    /// Returns the recorded run of this program at this seed, or runs and records it, and `true` if it is new.
    pub(crate) fn run(
        &mut self,
        (subject, seed, program): (&str, u64, &str),
        run: impl FnOnce() -> Result<Record>,
    ) -> Result<(Record, bool)> {
        let of = format!("{:012x} {program}", self.tester & 0xffff_ffff_ffff);
        let key = (subject.to_owned(), seed, of.clone());
        if let Some(record) = self.known.get(&key) {
            return Ok((record.clone(), false));
        }
        let record = Record { subject: subject.to_owned(), seed, of, ..run()? };
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&record)?)?;
        self.known.insert(key, record.clone());
        Ok((record, true))
    }

    /// Deletes all records.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.known.clear();
        File::create(&self.path).with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(())
    }
}

/// Returns a fingerprint of the sources of the tester and of the test bed.
fn tester() -> Result<u64> {
    let crates = root()?.join("crates");
    let mut folders: Vec<PathBuf> = ["confute", "confute-drive", "confute-http", "testbed"]
        .map(|name| crates.join(name).join("src"))
        .into();
    let mut texts = Texts::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.insert(path.strip_prefix(&crates)?.to_owned(), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(fingerprint(&texts))
}

/// Five-number summary of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Quartiles {
    pub(crate) least: f64,
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
    pub(crate) most: f64,
}

impl Quartiles {
    /// Returns the summary of these numbers, if there are any. The quartiles are elements of the sample.
    pub(crate) fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |part: usize| sorted[(last * part + 2) / 4];
        Some(Self { least: sorted[0], lower: at(1), median: at(2), upper: at(3), most: sorted[last] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles() {
        let of = |count: u32| Quartiles::of((0..count).rev().map(f64::from));
        assert_eq!(of(0), None);
        assert_eq!(of(25), Some(Quartiles { least: 0.0, lower: 6.0, median: 12.0, upper: 18.0, most: 24.0 }));
        assert_eq!(of(1).map(|it| it.median), Some(0.0));
    }
}
