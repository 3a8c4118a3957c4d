//! A run from end to end: what was stored before is tried first, then the campaign, then smaller cases, which are stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute_drive::{CaseReport, Conclusion, Limits, Outcome, Plan, Sink, Trouble, campaign_after, guarded};
use confute_record::{Compared, Log, Tried};

use crate::baseline::Baseline;
use crate::budgets::Budgets;
use crate::{RunError, Subject, proof, record, regressions, shrink};

/// A session to run.
pub struct Job<'a> {
    /// The server to test.
    pub subject: &'a Subject,
    /// The plan of the campaign.
    pub plan: &'a Plan,
    /// How long to look for smaller cases, if at all.
    pub shrink_time: Option<Duration>,
    /// The folder of stored cases, which are tried first.
    pub regressions: Option<&'a Path>,
    /// The baseline of known violations, and the file to write the new one to, if so wanted.
    pub baseline: Option<(&'a Baseline, Option<&'a Path>)>,
}

/// What came of it.
pub struct Done {
    /// Of the campaign.
    pub outcome: Outcome,
    /// Of everything else.
    pub beside: Beside,
    /// What could not be written, if something could not.
    pub unwritten: Option<RunError>,
}

/// What came of a run beside its outcome.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Of what was stored before.
    pub tried: Vec<Tried>,
    /// The files that were added to the folder.
    pub stored: Vec<PathBuf>,
    /// What it says about what was known, if that was asked for.
    pub baseline: Option<Compared>,
    /// Steps that ended in a defect, each with what it said: what they would have added is missing.
    pub missing: Vec<String>,
    /// How long it took, and was to take.
    pub budgets: Option<Budgets>,
}

impl Beside {
    /// Does a step that only adds to what was found. If it panics, the findings stay as they are by then.
    fn step(&mut self, what: &str, work: impl FnOnce()) {
        if let Err(why) = guarded(work) {
            self.missing.push(format!("{what}: a defect: {why}"));
        }
    }
}

/// Who watches.
pub trait Watch: Sink {
    /// What is being done, beside the campaign.
    fn doing(&mut self, what: &str) {
        let _ = what;
    }
}

/// Takes down what the files of a run need to know.
#[derive(Default)]
pub struct Recorder {
    /// What happened on the way.
    pub log: Log,
    /// What the server was found to be able to do.
    pub remarks: Vec<String>,
}

impl Sink for Recorder {
    fn surveyed(&mut self, remarks: &[String]) {
        self.remarks = remarks.to_vec();
    }

    fn ended(&mut self, case: &CaseReport) {
        self.log.keep(record::case_line(case));
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.log.keep(record::trouble_line(trouble));
    }
}

impl Watch for Recorder {}

/// Does it. Ends soon after `stop` is set, with what is known by then.
pub fn run(job: &Job<'_>, watch: &mut dyn Watch, stop: &AtomicBool) -> Result<Done, RunError> {
    let Job { subject, plan, .. } = *job;
    let protocol = &*subject.protocol;
    let began = Instant::now();
    let (found, tried) = match job.regressions {
        Some(folder) => {
            // They are a part of testing. The other half of its time is for what is new.
            let end = plan.max_time.map(|most| began + most / 2);
            let plan = &Plan { limits: Limits { end, ..plan.limits.clone() }, ..plan.clone() };
            regressions::try_all(subject, plan, folder, stop, &mut |what| watch.doing(what))?
        }
        None => (Vec::new(), Vec::new()),
    };
    let spent = began.elapsed();
    let left = Plan { max_time: plan.max_time.map(|most| most.saturating_sub(spent)), ..plan.clone() };
    let mut outcome = campaign_after(protocol, &left, found, &|case| (subject.traffic)(case), watch, stop);
    let budgets = Budgets::new(began, spent + outcome.elapsed, plan.max_time, job.shrink_time);
    let mut beside = Beside { tried, budgets: Some(budgets), ..Beside::default() };
    let findings = &mut outcome.findings;
    if let Some(time) = job.shrink_time {
        let within = (budgets.shrinking(time), budgets.end_of_evidence());
        beside.step("smaller cases", || {
            shrink::all_until(protocol, plan, within, findings, stop, &mut |what| watch.doing(what));
        });
    }
    beside.step("proofs", || {
        let end = budgets.end_of_proofs();
        proof::prove_all(protocol, findings, end, stop, &mut |what| watch.doing(what));
    });
    outcome.findings.iter_mut().for_each(|finding| subject.secrets.clean_finding(finding));
    let refuting = outcome.findings.iter().filter(|finding| finding.refutes(plan.level)).count();
    let cut_short = stop.load(Ordering::Relaxed)
        || matches!(outcome.conclusion, Conclusion::Inconclusive(_))
        || refuting >= plan.max_failures;
    if let Some((known, _)) = job.baseline {
        beside.baseline = Some(known.compared(plan, &outcome, cut_short));
        outcome.expect_those(|finding| known.knows(finding), plan);
    }
    let kept = guarded(|| keep(job, &mut outcome, &mut beside));
    let unwritten = kept
        .unwrap_or_else(|why| Err(RunError::Output(format!("cannot store what was found: a defect: {why}"))))
        .err();
    if let (Conclusion::Unrefuted, Some(owed)) =
        (&outcome.conclusion, beside.tried.iter().find_map(Tried::owed))
    {
        outcome.conclusion = Conclusion::Inconclusive(owed);
    }
    Ok(Done { outcome, beside, unwritten })
}

/// Writes down what the next run is to know.
fn keep(job: &Job<'_>, outcome: &mut Outcome, beside: &mut Beside) -> Result<(), RunError> {
    let Job { subject, plan, .. } = *job;
    if let Some(folder) = job.regressions {
        beside.stored = regressions::store(subject, plan, &outcome.findings, &beside.tried, folder)?;
    }
    if let (Some((known, Some(path))), Some(compared)) = (job.baseline, &mut beside.baseline) {
        let updated = known.updated(plan, outcome, compared);
        updated.write(path)?;
        compared.written = Some(path.to_owned());
        outcome.expect_those(|finding| updated.knows(finding), plan);
    }
    Ok(())
}
