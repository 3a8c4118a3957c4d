//! One run of a tester against a server that is thought to be wrong: how soon it is refuted, and what is blamed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use confute::lang::Level;
use confute_drive::{
    AnyProtocol, CaseReport, Conclusion, Factory, Finding, News, Outcome, Plan, Sink, campaign,
};

/// What became of one run.
#[derive(Default)]
pub(crate) struct Run {
    /// When a case was refuted, and after how many messages.
    pub(crate) refuted: Option<(Duration, u64)>,
    /// The sets of rules any of which explains it.
    pub(crate) blamed: Vec<String>,
    /// How many messages there were in all.
    pub(crate) messages: u64,
    /// How long all of it took, blame included.
    pub(crate) total: Duration,
    /// Warnings and undecided findings: the sets of rules, and the level.
    pub(crate) warned: BTreeSet<String>,
    /// Why there is no verdict, if there is none.
    pub(crate) inconclusive: Option<String>,
    /// What was seen up to the first violation, an event in each line: for people first, and then as JSON.
    pub(crate) trace: String,
}

/// Keeps what was seen, where the blame is a surprise, for people to look into.
pub(crate) fn keep(trace: &str, folder: &Path, name: &str) -> Result<()> {
    if trace.is_empty() {
        return Ok(());
    }
    let path = folder.join(format!("{name}.txt"));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, trace))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Runs until the first violation, or until there were so many messages.
pub(crate) fn hunt(protocol: &dyn AnyProtocol, plan: &Plan, make: Factory<'_>, most: Option<u64>) -> Run {
    follow(protocol, plan, make, most, &mut |_, _, _| true).0
}

/// Runs and tells of every violation, when it was found and after how many messages, until `enough` says so.
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

/// Listens for refutations and what is blamed for them.
struct Ear<'a> {
    start: Instant,
    most: Option<u64>,
    run: Run,
    /// From which level on it counts.
    level: Level,
    /// When the latest refuted case was, and how many messages there had been.
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

/// The sets of rules that explain a finding, in one line.
pub(crate) fn blamed(finding: &Finding) -> String {
    let sets: Vec<_> = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    if sets.is_empty() { "no rule found in time".to_owned() } else { sets.join(" or ") }
}

/// A finding in full: an event in each line, for people first, and then as JSON.
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
