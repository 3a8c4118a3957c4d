//! Replay of a stored violation: it is judged again, or run again on a server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use confute::lang::Level;
use confute_drive::{Finding, Limits, Net, PastRun, Plan, Rerun, judge_again};
use confute_record::{Rate, RuleRecord, Violation};

use crate::kit::{self, Kit, Reach};
use crate::record::{name, plain, rules};
use crate::regressions::runner;
use crate::stored::{About, File, StoredCase};
use crate::{RunError, Subject, guard, proof};

/// Settings of a replay.
#[derive(Clone, Debug)]
pub struct ReplayJob {
    /// The server to run it on: a URL, or `HOST:PORT`, as its kit takes it. Without one, the stored trace is
    /// judged again.
    pub target: Option<String>,
    /// Number of runs.
    pub runs: u32,
    /// Time to wait for a response.
    pub patience: Duration,
    /// Time to judge the stored trace.
    pub max_time: Duration,
    /// Rules to relax.
    pub allow: Vec<String>,
    /// Access to the server.
    pub reach: Reach,
    /// `true` if the server may be on another machine.
    pub remote: bool,
}

impl Default for ReplayJob {
    fn default() -> Self {
        Self {
            target: None,
            runs: 10,
            patience: Duration::from_secs(5),
            max_time: Duration::from_secs(30),
            allow: Vec::new(),
            reach: Reach::default(),
            remote: false,
        }
    }
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Model that the case was judged by.
    pub model: String,
    /// Rules that it was blamed on when it was stored.
    pub then: String,
    /// Number of runs in which it showed; `None` without a server.
    pub rate: Option<Rate>,
    /// Number of runs that were refuted for another reason.
    pub otherwise: u32,
    /// The violation now, if there is one.
    pub now: Option<Now>,
    /// Reason why the last run that could not be judged could not.
    pub unknown: Option<String>,
}

impl Replayed {
    /// Returns the result in a sentence.
    pub fn told(&self) -> String {
        let Replayed { model, then, rate, otherwise, now, unknown } = self;
        match (now, unknown, rate) {
            (Some(_), _, Some(rate)) if rate.shown > 0 => {
                let more = match otherwise {
                    0 => String::new(),
                    more => format!("; {more} more runs were refuted for another reason"),
                };
                format!("still fails in {rate}: {then}{more}")
            }
            (Some(now), _, Some(rate)) => format!("not reproduced ({then}: {rate}), but {}", now.name),
            (Some(now), _, None) if now.as_then => format!("same verdict as recorded: {}", now.name),
            (Some(now), _, None) => format!("recorded as {then}, now judged as {}", now.name),
            (None, Some(why), Some(rate)) if rate.of > 0 => format!("{why}; not reproduced in {rate}"),
            (None, Some(why), _) => format!("{why}; nothing was judged"),
            (None, None, Some(rate)) => format!("no longer fails: {rate}; recorded as {then}"),
            (None, None, None) => format!("explained by the current model {model}; recorded as {then}"),
        }
    }
}

/// A violation that showed again.
#[derive(Clone, Debug)]
pub struct Now {
    /// Name of the violation: the rules that it is blamed on.
    pub name: String,
    /// `true` if it may be the stored violation.
    pub as_then: bool,
    /// The violation.
    pub violation: Violation,
    /// The rules of the model.
    pub rules: Vec<RuleRecord>,
}

/// Number of runs in a row that could not be judged, after which no more are tried.
const FUTILE: u32 = 3;

impl ReplayJob {
    /// Repeats the case, with the kit that knows its model. An error is a mistake in the file or in the
    /// arguments.
    pub fn go(&self, kits: &[&dyn Kit], file: File, stop: &AtomicBool) -> Result<Replayed, RunError> {
        let about = file.about.clone();
        let stored = kit::StoredSettings {
            model: &about.model,
            settings: &about.settings,
            server: &about.server,
            target: self.target.as_deref(),
            reach: &self.reach,
            patience: self.patience,
        };
        let subject = kits.iter().find_map(|kit| kit.reopen(&stored)).ok_or_else(|| {
            RunError::Input(format!("the model {} has no tester for live servers", about.model))
        })??;
        let case = StoredCase::read(&*subject.protocol, file)?;
        if self.target.is_some() {
            guard(subject.target.address, self.remote, "--remote")?;
        }
        let mut came = Replayed {
            model: about.model.clone(),
            then: about.blamed_on(),
            rate: self.target.as_ref().map(|_| Rate::default()),
            otherwise: 0,
            now: None,
            unknown: None,
        };
        let mut relaxed = match case.relaxed(&*subject.protocol) {
            Ok(relaxed) => relaxed,
            Err(why) => return Ok(Replayed { unknown: Some(why), ..came }),
        };
        for name in &self.allow {
            let Some(rule) = subject.rules().iter().find(|rule| rule.name == name) else {
                let why = format!("--allow {name}: no such rule; `confute rules` lists them");
                return Err(RunError::Usage(why));
            };
            relaxed.push(rule.name);
        }
        let plan = Plan {
            limits: Limits { patience: self.patience, ..Limits::default() },
            // A violation of any level was worth storing.
            level: Level::Live,
            ..Plan::new(subject.target)
        };
        let (name, seed) = (&*about.name, about.seed);
        let past = PastRun { script: &case.script, name, seed, relaxed: &relaxed };
        if self.target.is_some() {
            self.run(&subject, &plan, &case, &past, stop, &mut came)?;
            return Ok(came);
        }
        let budget = (self.max_time, plan.limits.memory);
        match judge_again(&*subject.protocol, &past, &case.trace, budget, stop) {
            Rerun::Refuted(found) => came.now = Some(shown(&subject, &about, &plan, *found)),
            Rerun::Explained => {}
            Rerun::Unknown(why) => came.unknown = Some(why),
        }
        Ok(came)
    }

    /// Runs the case on a server until it was judged often enough.
    fn run(
        &self,
        subject: &Subject,
        plan: &Plan,
        case: &StoredCase,
        past: &PastRun<'_>,
        stop: &AtomicBool,
        came: &mut Replayed,
    ) -> Result<(), RunError> {
        let again = runner(&*subject.protocol, plan, &case.about, stop);
        // A server that cannot be tested is not refuted by a case that it cannot take part in.
        if let Err(trouble) = again.survey(&case.about.name) {
            came.unknown = Some(trouble.to_string());
            return Ok(());
        }
        let mut net = Net::new(plan.target.listen)?;
        let (mut rate, mut futile) = (Rate::default(), 0);
        let mut found: Option<(Finding, bool)> = None;
        while rate.of < self.runs && futile < FUTILE && !stop.load(Ordering::Relaxed) {
            match again.once(&mut net, past) {
                Ok(Rerun::Refuted(now)) => {
                    (rate.of, futile) = (rate.of + 1, 0);
                    let same = case.about.is_about(&now);
                    rate.shown += u32::from(same);
                    came.otherwise += u32::from(!same);
                    if found.as_ref().is_none_or(|(_, was_same)| same && !was_same) {
                        found = Some((*now, same));
                    }
                }
                Ok(Rerun::Explained) => (rate.of, futile) = (rate.of + 1, 0),
                Ok(Rerun::Unknown(why)) => {
                    futile += 1;
                    came.unknown = Some(why);
                }
                Err(trouble) => {
                    came.unknown = Some(trouble.to_string());
                    break;
                }
            }
        }
        came.rate = Some(rate);
        came.now = found.map(|(found, _)| shown(subject, &case.about, plan, found));
        Ok(())
    }
}

/// Returns the violation that a replay shows, with its proof and without secrets.
fn shown(subject: &Subject, about: &About, plan: &Plan, mut finding: Finding) -> Now {
    finding.number = 1;
    proof::prove(&*subject.protocol, &mut finding);
    subject.secrets.clean_finding(&mut finding);
    Now {
        name: name(&finding),
        as_then: about.is_about(&finding),
        violation: plain(&*subject.protocol, plan, &finding),
        rules: rules(subject, &mut Vec::new()),
    }
}
