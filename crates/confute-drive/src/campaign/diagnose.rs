//! Diagnosis: turns a refuted case into a finding. The case is judged again, cut at the event that nothing
//! explains, and blamed.
//!
//! The second judgement is by the search that knows the whole trace. Only if that refutes the case too, there
//! is a finding.

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
use confute_record::Occurrence;

/// Time for a diagnosis after a stop was requested.
pub(super) const HURRY: Duration = Duration::from_secs(3);

/// Divisor of the time for blame that yields the time for the level where blame could not determine it: a
/// quarter. With all weaker rules relaxed, any number of times, a search either ends soon or not at all.
const WORTH: u32 = 4;

/// Limits of a diagnosis.
pub(crate) struct Budget<'a> {
    pub(crate) time: Duration,
    pub(crate) memory: usize,
    /// Set when it is time to stop.
    pub(crate) halt: &'a AtomicBool,
    /// Moment at which it has to be over, however late it began.
    pub(crate) end: Option<Instant>,
    /// Depth of blame: names only, or the level of the violation too.
    pub(crate) depth: Depth,
}

impl Budget<'_> {
    fn is_spent(&self, start: Instant) -> bool {
        let time = if self.halt.load(Ordering::Relaxed) { self.time.min(HURRY) } else { self.time };
        start.elapsed() > time || self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// Returns a finding without a number, or `None` if the second judgement does not refute the case.
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
    // The verdict gives the event at which nothing was explainable any more; the shortest refuted prefix ends
    // with the event to blame.
    let refutation: Refutation = model.explain(network, &events, &found, &options);
    let shorter = (refutation.event + 1).min(events.len());
    if model.judge(network, &events[..shorter], &options).is_refuted() {
        events.truncate(shorter);
        trace.truncate(shorter);
        micros.truncate(shorter);
    }
    let silent = matches!(trace.last(), Some(Event::Quiescent));
    // A third of the time at most, or none is left for blame.
    let less = reduce(protocol, &trace, &events, &options, &|| {
        start.elapsed() > budget.time / 3 || budget.is_spent(start)
    });
    // The smallest evidence comes first: most sets of rules fail on it already.
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
    // The number of deviations decides the order of the sets, and among equals the order of the model's
    // rules.
    let (plain, excused) = blamed.diagnoses.split_at_mut(plain);
    for sets in [plain, excused] {
        sets.sort_by_cached_key(|one| {
            (one.deviations, one.rules.iter().map(|name| place(name)).collect::<Vec<_>>())
        });
    }
    let (level, incomplete) = if silent {
        // Silence is known only from waiting.
        (Some(Level::Live), blamed.incomplete)
    } else if budget.depth == Depth::Level && (blamed.incomplete || blamed.diagnoses.is_empty()) {
        // A set that was not tried might explain the case at a weaker level. Each diagnosis explains the
        // case, so its level is no higher than theirs.
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
        occurrences: vec![Occurrence { run: None, case: None, seed }],
        proof: None,
        shrunk: None,
        experiment: None,
        excerpt: None,
    })
}

/// Inserts sets of rules in front that explain the trace without the excuse of a relaxed weak rule, if all
/// sets that blame names need one; returns their number. Once `store/stays` is relaxed, a PUT that was
/// performed against `If-None-Match` and answered 201 is explained by a breach of `If-Match: *` alone: the
/// resource had just vanished. The two rules that were really broken are listed first.
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
    let options = Options { watch: Some(&watch), ..options.clone() };
    let plainly = Options { relaxed: strong.clone(), ..options.clone() };
    // Where the events before the last one need the excuse, a weak rule was broken there: sets that do without
    // it would blame those events on rules that were not broken.
    let is_plain = |events: &[_]| {
        let before = events.split_last().map_or(&[][..], |(_, before)| before);
        model.judge(network, before, &plainly).is_unrefuted()
    };
    let (plain, whole): (Vec<_>, Vec<_>) = parts.iter().copied().partition(|events| is_plain(events));
    if plain.is_empty() {
        return 0;
    }
    let explains = |events: &[_], one: &Diagnosis, free: &[&'static str]| {
        let relaxed = free.iter().chain(&one.rules).copied().collect();
        let options = Options { relaxed, free: free.to_vec(), deviations: one.deviations, ..options.clone() };
        model.judge(network, events, &options).is_unrefuted()
    };
    let explains_plainly = |one: &Diagnosis| plain.iter().all(|events| explains(events, one, &strong));
    if blamed.diagnoses.iter().any(explains_plainly) {
        return 0;
    }
    let mut sets = model.blame_by_parts(network, &plain, &plainly, Depth::Names).diagnoses;
    sets.retain(|one| {
        !one.rules.iter().any(is_weak)
            && !blamed.diagnoses.iter().any(|other| other.rules == one.rules)
            && whole.iter().all(|events| explains(events, one, &options.relaxed))
    });
    sets.iter_mut().for_each(|one| one.level = promised(protocol, one));
    let count = sets.len();
    blamed.diagnoses.splice(0..0, sets);
    count
}

/// Returns the level of a diagnosis, with the levels that the rules have in this run.
fn promised(protocol: &dyn AnyProtocol, one: &Diagnosis) -> Level {
    let rules = protocol.model().rules().iter().filter(|rule| one.rules.contains(&rule.name));
    rules.map(|rule| protocol.level(rule)).max().unwrap_or(one.level)
}

/// The level of a violation, determined without blame.
struct Worth {
    /// The highest level for which it was proven that rules of this level or of higher ones were broken: with
    /// all weaker rules relaxed any number of times, the trace is still refuted.
    at_least: Level,
    /// `true` if the opposite was proven for the next level, or there is none.
    is_exact: bool,
}

/// Determines the level of a refuted trace, which is at most `at_most`. The other parts are less of the same
/// evidence: if nothing explains one of them, nothing explains the trace.
fn worth(
    protocol: &dyn AnyProtocol,
    parts: &[&[Event<SharedMessage>]],
    relaxed: &[&'static str],
    budget: &Budget<'_>,
    at_most: Level,
) -> Worth {
    let (model, network) = (protocol.model(), protocol.network());
    let start = Instant::now();
    // The likeliest level gets half of the time, or none is left to find out what else can be proven.
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
    // Usually it is exactly this level.
    if without_weaker(at_most).is_refuted() {
        return Worth { at_least: at_most, is_exact: true };
    }
    is_first.set(false);
    let mut at_least = Level::ALL[0];
    for this in Level::ALL.into_iter().skip(1).filter(|this| *this <= at_most) {
        // If no rule has a level in between, the same rules are relaxed as before.
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
