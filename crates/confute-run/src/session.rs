//! A session from end to end: stored cases are tried first, then comes the campaign, then smaller cases,
//! which are stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use confute_drive::{
    CaseReport, Conclusion, Earlier, Limits, Outcome, Plan, Sink, Trouble, campaign_after, guarded,
};
use confute_record::journal::Progress;
use confute_record::{Compared, Door, Log, Shard, Tried};

use crate::baseline::Baseline;
use crate::budgets::Budgets;
use crate::shrink::{self, Desk, Investigated};
use crate::{RunError, Subject, keeper, panicked, proof, record, regressions};

/// A session to run.
pub struct Job<'a> {
    /// The server to test.
    pub subject: &'a Subject,
    /// The plan of the campaign.
    pub plan: &'a Plan,
    /// Time for smaller cases, if they are searched for.
    pub shrink_time: Option<Duration>,
    /// The folder of stored cases, which are tried first.
    pub regressions: Option<&'a Path>,
    /// The baseline of known violations, and the file to write the new one to, if wanted.
    pub baseline: Option<(&'a Baseline, Option<&'a Path>)>,
    /// The results of the run up to its interruption, if it is resumed.
    pub progress: Option<&'a Progress>,
}

/// The result of a session.
pub struct Done {
    /// Result of the campaign.
    pub outcome: Outcome,
    /// Results of everything else.
    pub beside: Beside,
    /// Error, if something could not be written.
    pub unwritten: Option<RunError>,
}

/// Results of a run besides its outcome.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Identity of the run, which stays the same when it is resumed.
    pub id: String,
    /// Number of cases that were done before the run was resumed, if it was.
    pub resumed: Option<u64>,
    /// `true` if the run was stopped while it still tested.
    pub stopped: bool,
    /// Results of the cases that were stored before.
    pub tried: Vec<Tried>,
    /// The files that were added to the folder.
    pub stored: Vec<PathBuf>,
    /// Comparison with the baseline, if there is one.
    pub baseline: Option<Compared>,
    /// Steps that ended in a defect, each with its message: their results are missing.
    pub missing: Vec<String>,
    /// Budgets of the run, and the time used.
    pub budgets: Option<Budgets>,
}

impl Beside {
    /// Performs a step that only adds to the findings. If it panics, the findings stay as they are by then.
    fn step(&mut self, what: &str, work: impl FnOnce()) {
        if let Err(why) = guarded(work) {
            self.missing.push(format!("{what}: {}", panicked(why)));
        }
    }
}

/// Receiver of the reports of a session.
pub trait RunObserver: Sink {
    /// Takes the current activity outside the campaign.
    fn doing(&mut self, what: &str) {
        let _ = what;
    }
}

/// Receiver that collects the data for the files of a run.
#[derive(Default)]
pub struct Recorder {
    /// The program that started the run.
    pub door: Door,
    /// Log of the cases and troubles.
    pub log: Log,
    /// Remarks of the survey about the server.
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
        self.log.keep(record::trouble_line(trouble, self.door));
    }
}

impl RunObserver for Recorder {}

/// Runs a session. It ends soon after `stop` is set, with the results so far.
pub fn run(job: &Job<'_>, watch: &mut dyn RunObserver, stop: &AtomicBool) -> Result<Done, RunError> {
    let Job { subject, plan, .. } = *job;
    // Investigations and the campaign open connections of the same server.
    let most_connections = plan.limits.most_connections.min(subject.most_connections);
    let plan = Plan { limits: Limits { most_connections, ..plan.limits.clone() }, ..plan.clone() };
    let plan = &plan.crewed();
    let protocol = &*subject.protocol;
    let began = Instant::now();
    let (found, tried) = match job.regressions {
        Some(folder) => {
            // StoredCase cases are a part of testing. The other half of its time is for new cases.
            let end = plan.max_time.map(|most| began + most / 2);
            let plan = &Plan { limits: Limits { end, ..plan.limits.clone() }, ..plan.clone() };
            regressions::try_all(subject, plan, folder, stop, &mut |what| watch.doing(what))?
        }
        None => (Vec::new(), Vec::new()),
    };
    let spent = began.elapsed();
    let before = job.progress.map_or(Duration::ZERO, |progress| progress.record.elapsed);
    let earlier = match job.progress {
        Some(progress) => keeper::earlier(subject, progress)?,
        None => Earlier::default(),
    };
    let found = [earlier.findings, found].concat();
    let earlier = Earlier { findings: found, ..earlier };
    let left =
        Plan { max_time: plan.max_time.map(|most| most.saturating_sub(spent + before)), ..plan.clone() };
    let desk = job.shrink_time.map(|time| Desk::new(protocol, plan, time, stop));
    let (mut outcome, budgets, defects, stopped) = thread::scope(|scope| {
        let _closing = desk.as_ref().map(Desk::closing);
        desk.iter().for_each(|desk| desk.staff(scope));
        let mut passing = Investigated { watch: &mut *watch, desk: desk.as_ref() };
        let traffic = |case| (subject.traffic)(case);
        let mut outcome = campaign_after(protocol, &left, earlier, &traffic, &mut passing, stop);
        let stopped = stop.load(Ordering::Relaxed);
        let budgets = Budgets::new(began, spent + outcome.elapsed, plan.max_time, job.shrink_time);
        let finish = |(desk, time): (&Desk<'_>, Duration)| {
            let end = Instant::now() + budgets.shrinking(time);
            desk.finish(&mut outcome.findings, end, &mut |what| watch.doing(what))
        };
        let defects = desk.as_ref().zip(job.shrink_time).map(finish).unwrap_or_default();
        (outcome, budgets, defects, stopped)
    });
    outcome.elapsed += before;
    let resumed = job.progress.map(|progress| progress.done.count());
    let mut beside = Beside { tried, budgets: Some(budgets), resumed, stopped, ..Beside::default() };
    beside.missing.extend(defects.iter().map(|why| format!("a smaller case: {why}")));
    outcome.merge(plan);
    let findings = &mut outcome.findings;
    if job.shrink_time.is_some() {
        beside.step("excerpts", || {
            let end = budgets.end_of_evidence();
            shrink::excerpts(protocol, findings, end, stop, &mut |what| watch.doing(what));
        });
    }
    beside.step("proofs", || {
        let end = budgets.end_of_proofs();
        proof::prove_all(protocol, &mut outcome.findings, end, stop, &mut |what| watch.doing(what));
    });
    outcome.findings.iter_mut().for_each(|finding| subject.secrets.clean_finding(finding));
    let refuting = outcome.findings.iter().filter(|finding| plan.refuted_by(finding)).count();
    let cut_short = stop.load(Ordering::Relaxed)
        || matches!(outcome.conclusion, Conclusion::Inconclusive(_))
        || refuting >= plan.max_failures;
    if let Some((known, _)) = job.baseline {
        beside.baseline = Some(known.compared(plan, &outcome, cut_short));
        outcome.expect_those(|finding| known.knows(finding), plan);
    }
    let kept = guarded(|| keep(job, &mut outcome, &mut beside));
    let unwritten = kept
        .unwrap_or_else(|why| {
            Err(RunError::Output(format!("cannot store the violations: internal error: {why}")))
        })
        .err();
    if let (Conclusion::Unrefuted, Some(owed)) =
        (&outcome.conclusion, beside.tried.iter().find_map(Tried::owed))
    {
        outcome.conclusion = Conclusion::Inconclusive(owed);
    }
    Ok(Done { outcome, beside, unwritten })
}

/// Writes the results that the next run needs.
fn keep(job: &Job<'_>, outcome: &mut Outcome, beside: &mut Beside) -> Result<(), RunError> {
    let Job { subject, plan, .. } = *job;
    // Shards share the folder and the baseline, and must not write over each other: merging does it for all of them.
    if let Some(folder) = job.regressions.filter(|_| plan.shard == Shard::WHOLE) {
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
