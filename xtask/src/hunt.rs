//! One run of a tester against a server that is expected to be wrong: time to refutation, and the rules blamed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use anyhow::{Context as _, Result};
use confute::Verdict;
use confute::lang::Level;
use confute::trace::{Event, WireConn};
use confute_drive::{
    AnyMessage, AnyProtocol, CaseReport, Conclusion, Ended, Factory, Finding, News, Outcome, Plan, SetAside,
    Shrinker, Sink, campaign,
};

/// Maximum time of shrinking, and of experiments.
const SHRINKING: Duration = Duration::from_secs(6);

/// Result of one run.
#[derive(Default)]
pub(crate) struct Run {
    /// Time and number of messages until a case was refuted.
    pub(crate) refuted: Option<(Duration, u64)>,
    /// Sets of rules, any of which explains the violation.
    pub(crate) blamed: Vec<String>,
    /// Number of all messages.
    pub(crate) messages: u64,
    /// Duration of the run, blame included.
    pub(crate) total: Duration,
    /// Warnings and undecided violations: the sets of rules, and the level.
    pub(crate) warned: BTreeSet<String>,
    /// Reason why there is no verdict, if there is none.
    pub(crate) inconclusive: Option<String>,
    /// Reasons why cases were not judged, with the number of cases; those that the end of the run interrupted are left out.
    pub(crate) undecided: BTreeMap<String, u64>,
    /// Result of shrinking and experiments, if they were asked for.
    pub(crate) investigation: Option<Investigation>,
    /// Trace up to the first violation, one event per line: first as text, then as JSON.
    pub(crate) trace: String,
}

/// Stores the trace of an unexpected result for inspection.
pub(crate) fn keep(trace: &str, folder: &Path, name: &str) -> Result<()> {
    if trace.is_empty() {
        return Ok(());
    }
    let path = folder.join(format!("{name}.txt"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, trace))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Runs a campaign until the first violation, or until `most` messages, and investigates that violation.
pub(crate) fn hunt(protocol: &dyn AnyProtocol, plan: &Plan, make: Factory<'_>, most: Option<u64>) -> Run {
    let (mut run, mut outcome) = follow(protocol, plan, make, most, &mut |_, _, _| true);
    let first = outcome.findings.iter_mut().find(|finding| finding.refutes(plan.level));
    if let Some(first) = first {
        run.investigation = Some(investigate(protocol, plan, first));
    }
    run
}

/// Result of shrinking and experiments.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Investigation {
    /// Sets of rules that the violation is named after at the end.
    pub(crate) named: Vec<String>,
    /// Proven level.
    pub(crate) level: Option<Level>,
    /// Level by experiment, if there was one.
    pub(crate) by_experiment: Option<Level>,
    /// Number of requests of the smallest case.
    pub(crate) requests: Option<usize>,
    /// Number of runs in which the smallest case showed the violation, and number of all runs.
    #[serde(default)]
    pub(crate) again: (u32, u32),
    /// Reason why there is no smaller case.
    #[serde(default)]
    pub(crate) unshrunk: Option<String>,
    /// Sets of rules that experiments set aside, with the kind of the experiment.
    #[serde(default)]
    pub(crate) set_aside: Vec<String>,
    /// The smallest case, one event per line.
    #[serde(skip)]
    pub(crate) shown: String,
    /// `true` if the smallest case does not show the violation each time, or if its requests overlap.
    pub(crate) is_race: bool,
}

/// Returns `true` if a request was sent while another one on another connection was outstanding.
fn overlap(trace: &[Event<AnyMessage>]) -> bool {
    let mut open: BTreeSet<WireConn> = BTreeSet::new();
    trace.iter().any(|event| match event {
        Event::Sent(conn, _) => {
            open.insert(*conn);
            open.len() > 1
        }
        Event::Received(conn, _) | Event::Closed(conn) | Event::HungUp(conn) => {
            open.remove(conn);
            false
        }
        _ => false,
    })
}

fn set_aside(one: &SetAside) -> String {
    format!("{} ({:?}: {})", one.rules.join(" + "), one.kind, one.exchange)
}

/// Shrinks a violation and experiments with it.
pub(crate) fn investigate(protocol: &dyn AnyProtocol, plan: &Plan, finding: &mut Finding) -> Investigation {
    let shrinker = Shrinker {
        protocol,
        target: plan.target,
        limits: &plan.limits,
        time: SHRINKING,
        blame_time: plan.blame_time,
        prefix: &plan.prefix,
        stop: &AtomicBool::new(false),
    };
    shrinker.investigate(finding, &mut |_| {});
    let shrunk = finding.shrunk.as_ref().and_then(|shrunk| shrunk.as_ref().ok());
    Investigation {
        named: finding.named().iter().map(|one| one.rules.join(" + ")).collect(),
        level: finding.level,
        by_experiment: finding.experiment.as_ref().map(|experiment| experiment.level),
        requests: shrunk.map(|shrunk| shrunk.requests.1),
        again: shrunk.map(|shrunk| shrunk.again).unwrap_or_default(),
        unshrunk: finding.shrunk.as_ref().and_then(|shrunk| shrunk.as_ref().err()).map(ToString::to_string),
        set_aside: finding
            .experiment
            .iter()
            .flat_map(|experiment| &experiment.set_aside)
            .map(set_aside)
            .collect(),
        shown: finding
            .shown()
            .trace
            .iter()
            .map(|event| format!("      {event}"))
            .collect::<Vec<_>>()
            .join("\n"),
        is_race: shrunk.is_none_or(|shrunk| shrunk.again.0 < shrunk.again.1)
            || overlap(finding.shown().trace),
    }
}

/// Runs a campaign and calls `enough` with every violation, its time and number of messages, until it returns `true`.
pub(crate) fn follow(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    make: Factory<'_>,
    most: Option<u64>,
    enough: &mut dyn FnMut(&Finding, Duration, u64) -> bool,
) -> (Run, Outcome) {
    let stop = AtomicBool::new(false);
    let mut ear = Ear {
        start: Instant::now(),
        most,
        run: Run::default(),
        level: plan.level,
        latest: (Duration::ZERO, 0),
        stop: &stop,
        enough,
    };
    let outcome = campaign(protocol, plan, make, &mut ear, &stop);
    let mut run = ear.run;
    run.total = ear.start.elapsed();
    if let Conclusion::Inconclusive(why) = &outcome.conclusion {
        run.inconclusive = Some(why.clone());
    }
    (run, outcome)
}

/// Sink that records refutations and the rules blamed.
struct Ear<'a> {
    start: Instant,
    most: Option<u64>,
    run: Run,
    /// Minimum level of a violation that counts.
    level: Level,
    /// Time and number of messages at the latest refuted case.
    latest: (Duration, u64),
    stop: &'a AtomicBool,
    enough: &'a mut dyn FnMut(&Finding, Duration, u64) -> bool,
}

impl Sink for Ear<'_> {
    fn ended(&mut self, case: &CaseReport) {
        self.run.messages += case.figures.requests + case.figures.answers;
        if case.verdict.is_refuted() {
            self.latest = (self.start.elapsed(), self.run.messages);
        }
        if case.ended != Ended::Stopped {
            let why = match &case.verdict {
                Verdict::Inconclusive(why) => Some(why.to_string()),
                Verdict::Unrefuted if case.figures.answers == 0 => Some("no response".to_owned()),
                _ => None,
            };
            if let Some(why) = why {
                *self.run.undecided.entry(why).or_default() += 1;
            }
        }
        if self.most.is_some_and(|most| self.run.messages >= most) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn found(&mut self, finding: &Finding, _: News) {
        if !finding.refutes(self.level) {
            let level = finding.level.map_or("unknown", Level::name);
            self.run.warned.insert(format!("{} ({level})", blamed(finding)));
            return;
        }
        let (time, messages) = self.latest;
        if self.run.refuted.is_none() {
            self.run.refuted = Some(self.latest);
            self.run.trace = listing(finding);
            self.run.blamed = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
        }
        if (self.enough)(finding, time, messages) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Returns the sets of rules that explain a violation, in one line.
pub(crate) fn blamed(finding: &Finding) -> String {
    let sets: Vec<_> = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    if sets.is_empty() { "no rule found within the time budget".to_owned() } else { sets.join(" or ") }
}

/// Formats a violation with its trace, one event per line: first as text, then as JSON.
pub(crate) fn listing(finding: &Finding) -> String {
    let mut text = format!("level {:?}, incomplete: {}\n", finding.level, finding.incomplete);
    for one in &finding.diagnoses {
        let _ = writeln!(text, "{} ({} deviations)", one.rules.join(" + "), one.deviations);
    }
    for (at, (event, micros)) in
        finding.counterexample.trace.iter().zip(&finding.counterexample.micros).enumerate()
    {
        let _ = writeln!(text, "{at} {micros} {event}");
    }
    for event in finding.counterexample.trace.iter().filter_map(|event| serde_json::to_string(event).ok()) {
        let _ = writeln!(text, "{event}");
    }
    text
}
