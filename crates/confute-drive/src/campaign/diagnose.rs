//! From a refuted case to a finding: judged again, cut at the event that nothing explains, and blamed.
//!
//! The case is judged anew, by the search that knows the whole trace. Only if that refutes it too, there is a finding.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::erased::SharedMessage;
use confute::lang::{Level, Rule};
use confute::trace::Event;
use confute::{Blame, Depth, Diagnosis, Options, Pulse, Refutation, Verdict};

use super::finding::{Counterexample, Finding};
use super::reduce::reduce;
use crate::case::CaseRun;
use crate::erased::{AnyProtocol, all_shared};

/// How long it may take when it is time to stop.
pub(super) const HURRY: Duration = Duration::from_secs(3);

/// The part of the time for blame that the level may take where blame could not tell it: a quarter. With all weaker rules relaxed,
/// any number of times, a search either ends soon or not at all.
const WORTH: u32 = 4;

/// How long it may take, and with how much memory.
pub(crate) struct Budget<'a> {
    pub(crate) time: Duration,
    pub(crate) memory: usize,
    /// Set when it is time to stop.
    pub(crate) halt: &'a AtomicBool,
    /// When it has to be over, however late it began.
    pub(crate) end: Option<Instant>,
    /// Names only, or the level of the accusation too.
    pub(crate) depth: Depth,
}

impl Budget<'_> {
    fn is_spent(&self, start: Instant) -> bool {
        let time = if self.halt.load(Ordering::Relaxed) { self.time.min(HURRY) } else { self.time };
        start.elapsed() > time || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// A finding without a number, unless the second judge does not agree.
pub(crate) fn diagnose(
    protocol: &dyn AnyProtocol,
    run: CaseRun,
    (case, seed): (u64, u64),
    relaxed: &[&'static str],
    budget: &Budget<'_>,
) -> Option<Finding> {
    let (model, network) = (protocol.model(), protocol.network());
    let start = Instant::now();
    let watch = |_: &Pulse| budget.is_spent(start);
    let options = Options {
        watch: Some(&watch),
        memory: budget.memory,
        relaxed: relaxed.to_vec(),
        ..Options::default()
    };
    let (mut trace, mut micros) = (run.trace, run.micros);
    protocol.annotate(&mut trace);
    let mut events = all_shared(&trace);
    let Verdict::Refuted(found) = model.judge(network, &events, &options) else { return None };
    // It says where nothing was explainable any more; the shortest refuted beginning says which event is to blame.
    let refutation: Refutation = model.explain(network, &events, &found, &options);
    let shorter = (refutation.event + 1).min(events.len());
    if model.judge(network, &events[..shorter], &options).is_refuted() {
        events.truncate(shorter);
        trace.truncate(shorter);
        micros.truncate(shorter);
    }
    let silent = matches!(trace.last(), Some(Event::Quiescent));
    // A third of the time at most, or blame has none left.
    let less = reduce(protocol, &trace, &events, &options, &|| {
        start.elapsed() > budget.time / 3 || budget.is_spent(start)
    });
    // The least evidence first: most sets of rules fail on it already.
    let is_evidence = |events: &Vec<_>| model.judge(network, events, &options).is_refuted();
    let alone = protocol.alone(&trace).map(|alone| all_shared(&alone)).filter(is_evidence);
    let mut parts: Vec<&[_]> = alone.iter().map(Vec::as_slice).collect();
    if less.len() < events.len() {
        parts.push(&less);
    }
    parts.push(&events);
    let parts = &parts[..];
    let mut blamed = model.blame_by_parts(network, parts, &options, budget.depth);
    let place = |name: &str| model.rules().iter().position(|rule| rule.name == name);
    for one in &mut blamed.diagnoses {
        one.level = promised(protocol, one);
    }
    let plain = if budget.depth == Depth::Level {
        unexcused(protocol, parts, budget, &options, &mut blamed)
    } else {
        0
    };
    // Weights decide which names come first, and among equals the model does.
    let (plain, excused) = blamed.diagnoses.split_at_mut(plain);
    for sets in [plain, excused] {
        sets.sort_by_cached_key(|one| {
            (one.deviations, one.rules.iter().map(|name| place(name)).collect::<Vec<_>>())
        });
    }
    let (level, incomplete) = if silent {
        // That nothing comes is known only from waiting.
        (Some(Level::Live), blamed.incomplete)
    } else if budget.depth == Depth::Level && (blamed.incomplete || blamed.diagnoses.is_empty()) {
        // What was not tried might explain it at a weaker level. Each diagnosis explains it, so it is worth no more than these.
        let worth = worth(protocol, parts, relaxed, budget, blamed.level().unwrap_or(Level::Must));
        (Some(worth.at_least), blamed.incomplete || !worth.is_exact)
    } else {
        (blamed.level(), false)
    };
    Some(Finding {
        number: 0,
        incomplete,
        diagnoses: blamed.diagnoses,
        level,
        counterexample: Counterexample {
            name: run.name,
            script: run.script,
            trace,
            micros,
            refutation,
            raw: run.raw,
        },
        case,
        seed,
        relaxed: relaxed.to_vec(),
        known: false,
        times: 1,
        proof: None,
        shrunk: None,
        excerpt: None,
    })
}

/// Puts sets of rules in front that explain the trace without the excuse of a weak rule, where all that blame names need one;
/// says how many. Once `store/stays` is relaxed, a PUT that was performed against `If-None-Match` and answered 201 is explained
/// by a breach of `If-Match: *` alone: the resource had just vanished. The two rules that were broken are told first.
fn unexcused(
    protocol: &dyn AnyProtocol,
    parts: &[&[Event<SharedMessage>]],
    budget: &Budget<'_>,
    options: &Options<'_>,
    blamed: &mut Blame,
) -> usize {
    let (model, network) = (protocol.model(), protocol.network());
    let Some(level) = blamed.level() else { return 0 };
    let is_weak = |name: &&'static str| {
        model.rules().iter().any(|rule| rule.name == *name && protocol.level(rule) < level)
    };
    let strong: Vec<_> = options.relaxed.iter().copied().filter(|name| !is_weak(name)).collect();
    if strong.len() == options.relaxed.len() {
        return 0;
    }
    let start = Instant::now();
    let watch = |_: &Pulse| budget.is_spent(start) || start.elapsed() > budget.time / WORTH;
    let options = Options { watch: Some(&watch), relaxed: strong.clone(), ..options.clone() };
    let explains = |one: &Diagnosis| {
        let relaxed = strong.iter().chain(&one.rules).copied().collect();
        let options =
            Options { relaxed, free: strong.clone(), deviations: one.deviations, ..options.clone() };
        parts.iter().all(|events| model.judge(network, events, &options).is_unrefuted())
    };
    if blamed.diagnoses.iter().any(explains) {
        return 0;
    }
    let plain = model.blame_by_parts(network, parts, &options, Depth::Names).diagnoses;
    let mut plain: Vec<_> = plain.into_iter().filter(|one| !one.rules.iter().any(is_weak)).collect();
    plain.iter_mut().for_each(|one| one.level = promised(protocol, one));
    plain.retain(|one| !blamed.diagnoses.iter().any(|other| other.rules == one.rules));
    let count = plain.len();
    blamed.diagnoses.splice(0..0, plain);
    count
}

/// The level of a diagnosis, with the levels that the rules have in this run.
fn promised(protocol: &dyn AnyProtocol, one: &Diagnosis) -> Level {
    let rules = protocol.model().rules().iter().filter(|rule| one.rules.contains(&rule.name));
    rules.map(|rule| protocol.level(rule)).max().unwrap_or(one.level)
}

/// The level of an accusation that does not rest on blame.
struct Worth {
    /// The strongest level for which it was proven that rules of this level or of higher ones were broken: without all
    /// weaker rules, each relaxed any number of times, the trace is still refuted.
    at_least: Level,
    /// For the next level the opposite was proven, or there is none.
    is_exact: bool,
}

/// The level of a refuted trace, which is no higher than this. The other parts are less of the same evidence: what nothing
/// explains there, nothing explains at all.
fn worth(
    protocol: &dyn AnyProtocol,
    parts: &[&[Event<SharedMessage>]],
    relaxed: &[&'static str],
    budget: &Budget<'_>,
    at_most: Level,
) -> Worth {
    let (model, network) = (protocol.model(), protocol.network());
    let start = Instant::now();
    // Half of the time for the likeliest level, or there is none left to find out what else can be proven.
    let is_first = Cell::new(true);
    let time = budget.time / WORTH;
    let watch = |_: &Pulse| {
        let most = if is_first.get() { time / 2 } else { time };
        budget.is_spent(start) || start.elapsed() > most
    };
    let level = |rule: &Rule| protocol.level(rule);
    let without_weaker = |this: Level| {
        let weaker = model.rules().iter().filter(|rule| level(rule) < this).map(|rule| rule.name);
        let options = Options {
            watch: Some(&watch),
            memory: budget.memory,
            relaxed: relaxed.iter().copied().chain(weaker).collect(),
            ..Options::default()
        };
        let mut verdicts = parts.iter().map(|trace| model.judge(network, trace, &options));
        let mut verdict = Verdict::Unrefuted;
        while !verdict.is_refuted()
            && let Some(next) = verdicts.next()
        {
            verdict = next;
        }
        verdict
    };
    // As a rule it is just that.
    if without_weaker(at_most).is_refuted() {
        return Worth { at_least: at_most, is_exact: true };
    }
    is_first.set(false);
    let mut at_least = Level::ALL[0];
    for this in Level::ALL.into_iter().skip(1).filter(|this| *this <= at_most) {
        // Where there are no rules of the level below, the same ones are relaxed as before.
        if model.rules().iter().any(|rule| (at_least..this).contains(&level(rule))) {
            match without_weaker(this) {
                Verdict::Refuted(_) => {}
                Verdict::Unrefuted => return Worth { at_least, is_exact: true },
                Verdict::Inconclusive(_) => return Worth { at_least, is_exact: false },
            }
        }
        at_least = this;
    }
    Worth { at_least, is_exact: true }
}
