//! From a refuted case to a finding: judged again, cut at the event that nothing explains, and blamed.
//!
//! The case is judged anew, by the search that knows the whole trace. Only if that refutes it too, there is a finding.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::lang::{Level, Rule, ServerModel as _};
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, Pulse, Refutation, Verdict, blame_by_parts, explain, judge};

use super::finding::Finding;
use super::reduce::reduce;
use crate::case::CaseRun;
use crate::coverage::{Coverage, Watched};
use crate::protocol::{Msg, Protocol};

/// How long it may take when it is time to stop.
const HURRY: Duration = Duration::from_secs(3);

/// How long it may take, and with how much memory.
pub(crate) struct Budget<'a> {
    pub(crate) time: Duration,
    pub(crate) memory: usize,
    /// Set when it is time to stop.
    pub(crate) halt: &'a AtomicBool,
}

impl Budget<'_> {
    fn is_spent(&self, start: Instant) -> bool {
        let time = if self.halt.load(Ordering::Relaxed) { self.time.min(HURRY) } else { self.time };
        start.elapsed() > time
    }
}

/// A finding without a number, unless the second judge does not agree.
pub(crate) fn diagnose<P: Protocol>(
    protocol: &P,
    run: CaseRun<P>,
    (case, seed): (u64, u64),
    relaxed: &[&'static str],
    budget: &Budget<'_>,
) -> Option<Finding<P>> {
    // What is watched already need not be compiled for a second kind of model.
    let coverage = Coverage::default();
    let (model, network) = (&Watched(protocol.model(), &coverage), Tcp::default());
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
    let Verdict::Refuted(found) = judge(model, &network, &trace, &options) else { return None };
    // It says where nothing was explainable any more; the shortest refuted beginning says which event is to blame.
    let refutation: Refutation = explain(model, &network, &trace, &found, &options);
    let shorter = &trace[..(refutation.event + 1).min(trace.len())];
    if judge(model, &network, shorter, &options).is_refuted() {
        trace.truncate(shorter.len());
        micros.truncate(trace.len());
    }
    let silent = matches!(trace.last(), Some(Event::Quiescent));
    // A third of the time at most, or blame has none left.
    let less =
        reduce(protocol, &trace, &options, &|| start.elapsed() > budget.time / 3 || budget.is_spent(start));
    let parts: &[&[_]] = if less.len() < trace.len() { &[&less, &trace] } else { &[&trace] };
    let mut blamed = blame_by_parts(model, &network, parts, &options);
    let place = |name: &str| model.rules().iter().position(|rule| rule.name == name);
    blamed.diagnoses.sort_by_cached_key(|one| one.rules.iter().map(|name| place(name)).collect::<Vec<_>>());
    let level = if silent {
        // That nothing comes is known only from waiting.
        Some(Level::Live)
    } else {
        // What was not tried might explain it at a weaker level; if that cannot be found out either, no more is claimed than what
        // a store does.
        let known = blamed.level().filter(|_| !blamed.incomplete);
        let worth = || worth::<P>(protocol, &trace, relaxed, budget);
        known.or_else(worth).or_else(|| blamed.level().map(|level| level.min(Level::Store)))
    };
    Some(Finding {
        number: 0,
        incomplete: blamed.incomplete,
        diagnoses: blamed.diagnoses,
        level,
        refutation,
        case,
        name: run.name,
        seed,
        script: run.script,
        trace,
        micros,
        relaxed: relaxed.to_vec(),
        raw: run.raw,
        known: false,
        times: 1,
        proof: None,
        shrunk: None,
        evidence: None,
    })
}

/// What an accusation is worth that no rule was found for: some rule of this level, or of a higher one, was broken, for
/// without all weaker rules it is still one. `None` if there was no time to see whether it is more than a warning.
fn worth<P: Protocol>(
    protocol: &P,
    trace: &[Event<Msg<P>>],
    relaxed: &[&'static str],
    budget: &Budget<'_>,
) -> Option<Level> {
    let coverage = Coverage::default();
    let (model, network) = (&Watched(protocol.model(), &coverage), Tcp::default());
    let start = Instant::now();
    let watch = |_: &Pulse| budget.is_spent(start);
    let without_weaker = |level: Level| {
        let weaker = |rule: &&Rule| rule.level < level;
        let mut without = relaxed.to_vec();
        without.extend(model.rules().iter().filter(weaker).map(|rule| rule.name));
        let options =
            Options { watch: Some(&watch), memory: budget.memory, relaxed: without, ..Options::default() };
        judge(model, &network, trace, &options)
    };
    match without_weaker(Level::Store) {
        Verdict::Inconclusive(_) => None,
        Verdict::Refuted(_) if without_weaker(Level::Must).is_refuted() => Some(Level::Must),
        Verdict::Refuted(_) => Some(Level::Store),
        Verdict::Unrefuted if without_weaker(Level::Should).is_refuted() => Some(Level::Should),
        Verdict::Unrefuted => Some(Level::Live),
    }
}
