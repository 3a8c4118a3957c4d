//! First candidates for a smaller script, taken from the end of the case and from the proof.
//!
//! The proof names requests whose exchanges contradict each other by themselves: the core. A script of the core
//! alone, with the steps that it refers to, often shows the violation at once, where general reduction would
//! have to run the whole script many times. If it does not, the requests that may have set up the state of the
//! core are added. A candidate proves nothing: it counts if its own run is refuted, like any smaller script.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

use confute::trace::Event;
use confute::{Options, Pulse};

use super::draft::{self, Steps};
use crate::campaign::{Counterexample, Finding, kept_events, writes_before};
use crate::erased::{AnyAsk, AnyProtocol, all_shared};
use crate::script::Step;

/// A candidate, and the number of times it is run before it is given up.
pub(super) struct Candidate {
    pub(super) steps: Steps,
    pub(super) runs: u32,
}

/// Maximum number of requests of a candidate with the writes before its requests.
const MOST_WITH_WRITES: usize = 8;
/// Maximum number of the last requests that are tried alone.
const TAIL: usize = 3;
/// Number of runs of a candidate that sends its requests one after the other.
const SEQUENTIAL: u32 = 2;
/// Number of runs of a candidate that keeps the overlap of its requests.
const OVERLAPPING: u32 = 6;

/// Returns the candidates that the proof of a finding suggests, the smallest first. None if there is no time for
/// the proof, or if the events cannot be assigned to steps.
pub(super) fn candidates(
    protocol: &dyn AnyProtocol,
    finding: &Finding,
    is_late: &dyn Fn() -> bool,
) -> Vec<Candidate> {
    let case = &finding.counterexample;
    let sent = |event: &Event<_>| matches!(event, Event::Sent(..));
    let sent: Vec<usize> = (0..case.trace.len()).filter(|at| sent(&case.trace[*at])).collect();
    let asked = draft::asked(&case.script);
    let Some(asked) = asked.get(..sent.len()) else { return Vec::new() };
    let step_of = |event: usize| sent.binary_search(&event).ok().map(|place| asked[place]);
    let watch = |_: &Pulse| is_late();
    let options = Options { watch: Some(&watch), relaxed: finding.relaxed.clone(), ..Options::default() };
    let events = all_shared(&case.trace);
    let kept = kept_events(protocol, &case.trace, &events, &options, is_late);
    let places: Vec<usize> = (0..events.len()).filter(|at| kept[*at]).collect();
    let fewer: Vec<_> = places.iter().map(|at| events[*at].clone()).collect();
    let core = protocol.model().core(protocol.network(), &fewer, &options).unwrap_or_default();
    let core: BTreeSet<usize> = core.into_iter().filter_map(|at| step_of(places[at])).collect();
    let with_state: BTreeSet<usize> = places.iter().filter_map(|at| step_of(*at)).collect();
    let mut candidates: Vec<Candidate> = Vec::new();
    for steps in [core, with_state] {
        if !steps.is_empty() && steps.len() < asked.len() {
            add(protocol, case, asked, steps, (SEQUENTIAL, &mut candidates));
        }
    }
    candidates
}

/// Returns the candidates that consist of the last requests of a finding and what they refer to. No proof is needed to
/// try them.
pub(super) fn tails(protocol: &dyn AnyProtocol, finding: &Finding) -> Vec<Candidate> {
    let case = &finding.counterexample;
    let asked = draft::asked(&case.script);
    let Some(asked) = asked.get(..finding.requests()) else { return Vec::new() };
    let before = writes_before(protocol, &case.trace);
    let mut candidates = Vec::new();
    for length in 1..=TAIL.min(asked.len().saturating_sub(1)) {
        let last = asked.len() - length..asked.len();
        add(protocol, case, asked, last.clone().map(|place| asked[place]).collect(), (1, &mut candidates));
        if let Some(steps) = with_writes(protocol, &case.script, asked, &before, last) {
            add(protocol, case, asked, steps, (1, &mut candidates));
        }
    }
    // Those that take long come last.
    candidates.sort_by_key(|candidate| candidate.steps.iter().any(draft::is_pause));
    candidates
}

/// Returns the steps of these requests, those that they refer to, and for each of them the latest request before it that
/// may have changed its subject. `None` if these are too many.
fn with_writes(
    protocol: &dyn AnyProtocol,
    script: &[Step<AnyAsk>],
    asked: &[usize],
    before: &[Option<usize>],
    requests: Range<usize>,
) -> Option<BTreeSet<usize>> {
    let mut steps: BTreeSet<usize> = requests.map(|request| asked[request]).collect();
    loop {
        let with_references = with_references(protocol, script, steps.clone());
        let write = |step: &usize| before.get(asked.binary_search(step).ok()?).copied().flatten();
        let writes: Vec<usize> =
            with_references.iter().filter_map(write).map(|request| asked[request]).collect();
        let more: BTreeSet<usize> = with_references.into_iter().chain(writes).collect();
        if more.len() > MOST_WITH_WRITES {
            return None;
        }
        if more == steps {
            return Some(steps);
        }
        steps = more;
    }
}

/// Adds the scripts of these steps, with those that they refer to: in sequence, and with the overlap that they have in the
/// case.
fn add(
    protocol: &dyn AnyProtocol,
    case: &Counterexample,
    asked: &[usize],
    steps: BTreeSet<usize>,
    (sequential, candidates): (u32, &mut Vec<Candidate>),
) {
    let Some(last) = asked.last() else { return };
    let wanted = with_references(protocol, &case.script, steps);
    let is_dropped = |place: &usize| place > last || !wanted.contains(place);
    let dropped: BTreeSet<usize> = draft::asked(&case.script).into_iter().filter(is_dropped).collect();
    let kept = draft::without(protocol, &case.script, &dropped);
    let overlapping = draft::ended(protocol, &draft::prompt(protocol, &kept));
    let mut add = |steps: Steps, runs: u32| {
        if candidates.iter().all(|other| other.steps != steps) {
            candidates.push(Candidate { steps, runs });
        }
    };
    let with_pauses = overlapping.iter().any(draft::is_pause);
    for on_one in [true, false] {
        add(draft::in_turn(protocol, &overlapping, on_one, false), sequential);
    }
    // What a server changes by itself after a while shows only after the pause that the case made.
    if with_pauses {
        add(draft::in_turn(protocol, &overlapping, true, true), 1);
    }
    add(overlapping, if with_pauses { 1 } else { OVERLAPPING });
}

/// Adds the steps that these refer to, directly or through others.
fn with_references(
    protocol: &dyn AnyProtocol,
    script: &[Step<AnyAsk>],
    steps: BTreeSet<usize>,
) -> BTreeSet<usize> {
    let wanted = RefCell::new(steps);
    // References point to earlier steps, so one pass from the end follows them all.
    for (place, step) in script.iter().enumerate().rev() {
        if let Step::Ask { ask, .. } = step
            && wanted.borrow().contains(&place)
        {
            protocol.renumber(ask, &|to| {
                wanted.borrow_mut().insert(to);
                to
            });
        }
    }
    wanted.into_inner()
}
