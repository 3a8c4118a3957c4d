//! A run from end to end: what was stored before is tried first, then the campaign, then smaller cases, which are stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use confute_drive::{CaseReport, Factory, Outcome, Plan, Protocol, Sink, Trouble, campaign_after};

use crate::lines::Lines;
use crate::regressions::{self, Tried};
use crate::{Subject, because, shrink};

/// What to do.
pub struct Job<'a, 'm, P: Protocol> {
    /// What is spoken.
    pub protocol: &'a P,
    /// With whom.
    pub subject: &'a Subject<'a>,
    /// For how long, and under which rules.
    pub plan: &'a Plan,
    /// What is asked.
    pub make: Factory<'m, P>,
    /// How long to look for smaller cases, if at all.
    pub shrink_time: Option<Duration>,
    /// The folder of what was met before.
    pub regressions: Option<&'a Path>,
}

/// What came of it.
pub struct Done<P: Protocol> {
    /// Of the campaign.
    pub outcome: Outcome<P>,
    /// Of what was stored before.
    pub tried: Vec<Tried>,
    /// The files that were added to the folder, or why none could be.
    pub stored: Result<Vec<PathBuf>>,
}

impl<P: Protocol> Done<P> {
    /// What there is to say beside the outcome: a label, and lines beside it.
    pub fn notes(&self) -> Vec<(&'static str, Vec<String>)> {
        let stored = match &self.stored {
            Ok(paths) => paths.iter().map(|path| path.display().to_string()).collect(),
            Err(why) => vec![format!("{why:#}")],
        };
        vec![("tried", self.tried.iter().map(Tried::told).collect()), ("stored", stored)]
    }
}

/// Who watches.
pub trait Watch<P: Protocol>: Sink<P> {
    /// What is being done, beside the campaign.
    fn doing(&mut self, what: &str) {
        let _ = what;
    }
}

/// Takes down what the files of a run need to know.
#[derive(Default)]
pub struct Recorder {
    /// What happened on the way.
    pub lines: Lines,
    /// What the server was found to be able to do.
    pub remarks: Vec<String>,
}

impl<P: Protocol> Sink<P> for Recorder {
    fn surveyed(&mut self, remarks: &[String]) {
        self.remarks = remarks.to_vec();
    }

    fn ended(&mut self, case: &CaseReport) {
        self.lines.case(case);
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.lines.trouble(trouble);
    }
}

impl<P: Protocol> Watch<P> for Recorder {}

/// Does it. Ends soon after `stop` is set, with what is known by then.
pub fn run<P: Protocol>(
    job: &Job<'_, '_, P>,
    watch: &mut dyn Watch<P>,
    stop: &AtomicBool,
) -> Result<Done<P>> {
    let Job { protocol, subject, plan, make, .. } = *job;
    let (found, tried) = match job.regressions {
        Some(folder) => {
            regressions::try_all(protocol, subject, plan, folder, stop, &mut |what| watch.doing(what))?
        }
        None => (Vec::new(), Vec::new()),
    };
    let mut outcome = campaign_after(protocol, plan, found, make, watch, stop);
    if let Some(time) = job.shrink_time {
        shrink::all(protocol, plan, time, &mut outcome.findings, stop, &mut |what| watch.doing(what));
    }
    outcome.findings.iter_mut().for_each(|finding| because::prove(protocol, finding));
    outcome.findings.iter_mut().for_each(|finding| subject.secrets.clean_finding(finding));
    let stored = match job.regressions {
        Some(folder) => regressions::store(subject, plan, &outcome.findings, folder),
        None => Ok(Vec::new()),
    };
    Ok(Done { outcome, tried, stored })
}
