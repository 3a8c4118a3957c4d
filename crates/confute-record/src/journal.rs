//! The journal of a run: what was done, line by line, so that a run that was killed goes on where it was.
//!
//! The file is only appended to. A line counts if it is whole, so a process may die in the middle of a write: the rest of
//! the line is cut off when the run is resumed. A case is done when its line is there, and the line of a case that showed
//! a violation follows that of the violation. So nothing that was found is lost, and of the cases that ended, at most
//! those of the last [`PAUSE`] are run again. Violations are forced to the disk at once, other lines once a second.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Conclusion, Figures, Occurrence, Ranges, RunRecord, Standing, Tally, VERSION, Violation};

/// File name of a journal in a folder of reports.
pub const JOURNAL: &str = "progress.jsonl";
/// Version of journals.
const JOURNAL_VERSION: u32 = 1;
/// Time for which cases that ended are collected before a line is written about them.
pub const PAUSE: Duration = Duration::from_millis(50);
/// Time after which lines are forced to the disk.
const SYNC: Duration = Duration::from_secs(1);

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head<R> {
    confute: String,
    version: u32,
    /// The record of a run in which nothing has happened yet.
    record: R,
}

/// A line after the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// Cases that are done.
    Done(Box<DoneCases>),
    /// A violation that is new, or better known than before.
    Found(Box<Violation>),
    /// A violation that was observed again: its number, and all its occurrences.
    Again(usize, Vec<Occurrence>),
    /// The run was resumed.
    Resumed,
}

/// Cases that are done, and what they add to the figures of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DoneCases {
    /// Numbers of the cases.
    pub cases: Vec<u64>,
    /// Their results.
    pub tally: Tally,
    /// Their counts and durations; of the rules only those that no earlier line has.
    pub figures: Figures,
    /// The branches that were reached, and how often.
    pub branches: BTreeMap<String, u64>,
    /// Testing time of the run by then.
    pub elapsed: Duration,
}

/// Writer of a journal. While it is open, no other process can write to the same file.
pub struct Journal {
    file: File,
    waiting: DoneCases,
    rules: BTreeSet<String>,
    written: Instant,
    synced: Instant,
}

impl Journal {
    /// Begins a journal. The record has the parameters of the run, and no results.
    pub fn create(path: &Path, record: &RunRecord) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut journal = Self::of(file)?;
        journal.file.set_len(0)?;
        journal.line(&Head { confute: "journal".to_owned(), version: JOURNAL_VERSION, record })?;
        Ok(journal)
    }

    /// Continues a journal that was read. A line that is not whole is cut off.
    pub fn resume(path: &Path, progress: &Progress) -> io::Result<Self> {
        let mut journal = Self::of(OpenOptions::new().append(true).open(path)?)?;
        journal.file.set_len(progress.whole)?;
        journal.rules.clone_from(&progress.record.figures.rules);
        journal.line(&Line::Resumed)?;
        Ok(journal)
    }

    fn of(file: File) -> io::Result<Self> {
        file.try_lock().map_err(|_| io::Error::other("another process writes to this journal"))?;
        let now = Instant::now();
        Ok(Self { file, waiting: DoneCases::default(), rules: BTreeSet::new(), written: now, synced: now })
    }

    /// Adds a violation, and forces it to the disk.
    pub fn found(&mut self, violation: &Violation) -> io::Result<()> {
        self.line(&Line::Found(Box::new(violation.clone())))?;
        self.file.sync_data()
    }

    /// Adds occurrences of the violation of this number.
    pub fn again(&mut self, number: usize, occurrences: &[Occurrence]) -> io::Result<()> {
        self.line(&Line::Again(number, occurrences.to_vec()))
    }

    /// Adds a case that is done. `elapsed` is the testing time of the run.
    pub fn done(
        &mut self,
        number: u64,
        (tally, figures): (&Tally, &Figures),
        branches: Vec<(String, u64)>,
        elapsed: Duration,
    ) -> io::Result<()> {
        self.waiting.cases.push(number);
        self.waiting.tally.merge(tally);
        self.waiting.figures.merge(figures);
        branches
            .into_iter()
            .for_each(|(name, times)| *self.waiting.branches.entry(name).or_default() += times);
        self.waiting.elapsed = elapsed;
        self.tick()
    }

    /// Writes what waits, if it has waited for long enough.
    pub fn tick(&mut self) -> io::Result<()> {
        if self.written.elapsed() >= PAUSE { self.flush() } else { Ok(()) }
    }

    /// Writes what waits.
    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.cases.is_empty() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        let rules = std::mem::take(&mut waiting.figures.rules);
        waiting.figures.rules = rules.into_iter().filter(|rule| self.rules.insert(rule.clone())).collect();
        self.line(&Line::Done(Box::new(waiting)))?;
        self.written = Instant::now();
        if self.synced.elapsed() >= SYNC {
            self.synced = self.written;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Writes what waits, and forces it to the disk.
    pub fn close(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// Appends a line in one write.
    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.file.write_all(&text)
    }
}

/// The contents of a journal.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The run as far as it got. Its conclusion is inconclusive, unless a violation refutes the server.
    pub record: RunRecord,
    /// The cases that are done.
    pub done: Ranges,
    /// Size of the part of the file that consists of whole lines.
    pub whole: u64,
}

/// Reads a journal up to the first line that is not whole.
pub fn read(path: &Path) -> io::Result<Progress> {
    let mut file = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    let mut whole = 0;
    let mut next = |line: &mut Vec<u8>| -> io::Result<bool> {
        line.clear();
        file.read_until(b'\n', line)?;
        Ok(line.last() == Some(&b'\n'))
    };
    if !next(&mut line)? {
        let why = "the journal ends in its first line: nothing was done yet";
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
    }
    let head: Head<RunRecord> = serde_json::from_slice(&line)
        .map_err(|why| io::Error::other(format!("the first line is not that of a journal: {why}")))?;
    if head.confute != "journal" || (head.version, head.record.head.version) != (JOURNAL_VERSION, VERSION) {
        let version = head.version;
        return Err(io::Error::other(format!(
            "version {version} of journals is not known here, only {JOURNAL_VERSION}"
        )));
    }
    whole += line.len() as u64;
    let mut record = head.record;
    let mut branches: BTreeMap<String, u64> = record.branches.drain(..).collect();
    let (mut done, mut found) = (Ranges::default(), BTreeMap::new());
    while next(&mut line)? {
        let Ok(read) = serde_json::from_slice(&line) else { break };
        whole += line.len() as u64;
        match read {
            Line::Done(more) => {
                more.cases.iter().for_each(|number| done.insert(*number));
                record.tally.merge(&more.tally);
                record.figures.merge(&more.figures);
                record.elapsed = more.elapsed;
                more.branches
                    .into_iter()
                    .for_each(|(name, times)| *branches.entry(name).or_default() += times);
            }
            Line::Found(one) => take(&mut found, one.number, |known| known.insert(*one).occurrences.clone()),
            Line::Again(number, occurrences) => take(&mut found, number, |known| {
                if let Some(known) = known.as_mut() {
                    known.occurrences.clone_from(&occurrences);
                }
                occurrences
            }),
            Line::Resumed => {}
        }
    }
    record.branches = branches.into_iter().collect();
    record.violations = found.into_values().flatten().collect();
    for one in &mut record.violations {
        one.times = one.times.max(one.occurrences.len() as u64);
    }
    let is_refuted = record.standing(Standing::Refutes).next().is_some();
    record.conclusion = if is_refuted {
        Conclusion::Refuted
    } else {
        Conclusion::Inconclusive(format!("the run was interrupted after {} cases", done.count()))
    };
    record.notes.stopped = true;
    Ok(Progress { record, done, whole })
}

/// Changes the violation of this number. Occurrences that it has now no longer belong to others, which were recognised as
/// the same violation.
fn take(
    found: &mut BTreeMap<usize, Option<Violation>>,
    number: usize,
    change: impl FnOnce(&mut Option<Violation>) -> Vec<Occurrence>,
) {
    let occurrences = change(found.entry(number).or_default());
    found.retain(|other, known| {
        let Some(known) = known else { return true };
        let before = known.occurrences.len();
        if *other != number {
            known.occurrences.retain(|one| one.case.is_none() || !occurrences.contains(one));
        }
        before == 0 || !known.occurrences.is_empty()
    });
}
