//! The keeper of a journal: writes down what a run does, and restores it.
//!
//! A finding is written as the record of its violation together with the case in which it was found. A kit can read both
//! again; a merge reads the record alone. What was shrunk is not written: it is shrunk again, from the same case.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use confute::{Diagnosis, Expectation, Refutation};
use confute_drive::{AnyProtocol, Counterexample, Earlier, Finding, News, Plan, SettledCase};
use confute_record::journal::{Journal, Progress};
use confute_record::{DiagnosisRecord, FileRecord, RefutationRecord, RunRecord, Violation};

use crate::record::{self, FOUND};
use crate::stored::{File, Form, StoredCase};
use crate::{RunError, Subject};

/// Writer of the journal of a run.
pub struct Keeper<'a> {
    subject: &'a Subject,
    plan: &'a Plan,
    /// The journal, until writing fails.
    journal: Option<Journal>,
    /// The first error.
    failed: Option<io::Error>,
    began: Instant,
    /// Testing time before the run was resumed.
    before: Duration,
}

impl<'a> Keeper<'a> {
    /// Begins the journal of a run, or continues it. `blank` is the record of the run before it begins.
    pub fn open(
        subject: &'a Subject,
        plan: &'a Plan,
        path: &Path,
        (blank, progress): (&RunRecord, Option<&Progress>),
    ) -> io::Result<Self> {
        let journal = match progress {
            Some(progress) => Journal::resume(path, progress)?,
            None => Journal::create(path, blank)?,
        };
        let before = progress.map_or(Duration::ZERO, |progress| progress.record.elapsed);
        Ok(Self { subject, plan, journal: Some(journal), failed: None, began: Instant::now(), before })
    }

    fn write(&mut self, write: impl FnOnce(&mut Journal) -> io::Result<()>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            // A journal with a gap would claim that cases are not done whose violations it has; without one the run is
            // merely not resumed.
            self.journal = None;
            self.failed = Some(error);
        }
    }

    /// Writes down a violation.
    pub fn found(&mut self, finding: &Finding, news: News) {
        if self.journal.is_none() {
            return;
        }
        if news == News::Again {
            return self.write(|journal| journal.again(finding.number, &finding.occurrences));
        }
        let mut finding = finding.clone();
        self.subject.secrets.clean_finding(&mut finding);
        let mut violation = record::plain(&*self.subject.protocol, self.plan, &finding);
        match StoredCase::new(self.subject, self.plan, &finding, Form::Found).text() {
            Ok(content) => {
                violation.files.push(FileRecord { name: FOUND.to_owned(), content, executable: false });
                self.write(|journal| journal.found(&violation));
            }
            Err(error) => self.write(|_| Err(io::Error::other(error))),
        }
    }

    /// Writes down a case that is done.
    pub fn settled(&mut self, case: SettledCase) {
        let elapsed = self.before + self.began.elapsed();
        self.write(|journal| journal.done(case.number, (&case.tally, &case.figures), case.branches, elapsed));
    }

    /// Writes down what waits, at regular intervals.
    pub fn tick(&mut self) {
        self.write(Journal::tick);
    }

    /// Closes the journal. Returns the first error of writing it.
    pub fn close(self) -> io::Result<()> {
        match (self.failed, self.journal) {
            (Some(error), _) => Err(error),
            (None, Some(journal)) => journal.close(),
            (None, None) => Ok(()),
        }
    }
}

/// Restores the results of an interrupted run.
pub fn earlier(subject: &Subject, progress: &Progress) -> Result<Earlier, RunError> {
    let record = &progress.record;
    // Violations of stored cases and of the survey are met again: both are repeated.
    let numbered = |one: &&Violation| one.occurrences.iter().any(|one| one.case.is_some());
    let findings = record.violations.iter().filter(numbered).map(|one| restored(subject, one));
    Ok(Earlier {
        findings: findings.collect::<Result<_, _>>()?,
        done: progress.done.clone(),
        tally: record.tally,
        figures: record.figures.clone(),
        branches: record.branches.clone(),
    })
}

/// Restores a finding.
fn restored(subject: &Subject, violation: &Violation) -> Result<Finding, RunError> {
    let protocol = &*subject.protocol;
    let name = format!("the journal, violation {}", violation.number);
    let missing = || RunError::Input(format!("{name}: it has no file {FOUND}"));
    let file = violation.files.iter().find(|file| file.name == FOUND).ok_or_else(missing)?;
    let stored = StoredCase::read(protocol, File::parse(name.clone(), file.content.clone())?)?;
    let relaxed = stored.relaxed(protocol).map_err(|why| RunError::Input(format!("{name}: {why}")))?;
    let diagnosis = |one: &DiagnosisRecord| {
        let rules = one.rules.iter().map(|rule| known(protocol, rule)).collect::<Option<_>>()?;
        Some(Diagnosis { rules, deviations: one.deviations, level: one.level })
    };
    let unknown = || RunError::Input(format!("{name}: the model no longer has one of its rules"));
    let diagnoses = violation.diagnoses.iter().map(diagnosis).collect::<Option<_>>().ok_or_else(unknown)?;
    let mut occurrences = violation.occurrences.clone();
    occurrences.retain(|one| one.case.is_some());
    let first = occurrences.first().and_then(|one| one.case).unwrap_or_default();
    Ok(Finding {
        number: violation.number,
        diagnoses,
        incomplete: violation.incomplete,
        level: violation.level,
        counterexample: Counterexample {
            name: violation.found.name.clone(),
            script: stored.script,
            trace: stored.trace,
            micros: violation.found.micros.clone(),
            refutation: refutation(protocol, &violation.found.refutation),
            raw: violation.found.raw.clone(),
        },
        case: first,
        seed: violation.seed,
        relaxed,
        known: false,
        times: occurrences.len() as u64,
        occurrences,
        proof: None,
        shrunk: None,
        experiment: None,
        excerpt: None,
    })
}

/// Returns the name of a rule as the model has it.
fn known(protocol: &dyn AnyProtocol, name: &str) -> Option<&'static str> {
    protocol.model().rules().iter().map(|rule| rule.name).find(|rule| *rule == name)
}

fn refutation(protocol: &dyn AnyProtocol, record: &RefutationRecord) -> Refutation {
    let expected = record.expected.iter().map(|one| Expectation {
        message: one.message.clone(),
        rules: one.rules.iter().filter_map(|rule| known(protocol, rule)).collect(),
        hypotheses: one.hypotheses,
    });
    let RefutationRecord { event, hypotheses, more, .. } = *record;
    Refutation { event, seen: record.seen.clone(), expected: expected.collect(), hypotheses, more }
}
