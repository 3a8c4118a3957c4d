//! Removes from a refuted trace what its refutation does not need, so that blame has less to try.
//!
//! Only exchanges that changed nothing, or have another subject, are removed; one that the server forwarded,
//! with everything that it forwarded for it. Whatever explains a trace explains it without these, so a
//! refutation of the rest refutes the same server: it is not a smaller test, but less of the same evidence.
//! More rules may explain less evidence, so the whole trace decides about them in the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::erased::SharedMessage;
use confute::trace::{Event, WireConn};
use confute::{Options, Pulse};

use super::finding::{Counterexample, Finding};
use crate::erased::{AnyMessage, AnyProtocol, all_shared};

/// Number of turns that one judgement may take, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;

/// A request with its response, if it got one, and the facts that decide whether it can be removed.
struct Pair {
    sent: usize,
    received: Option<usize>,
    /// Events on connections that the server opened for it.
    passed: Vec<usize>,
    idle: bool,
    subjects: Vec<String>,
    /// Its response depends on requests with any subject.
    spans: bool,
    /// Number of the group of subjects that its own belong to, connected by requests that have several.
    group: Option<usize>,
}

impl Pair {
    fn events(&self) -> impl Iterator<Item = usize> {
        [self.sent].into_iter().chain(self.received).chain(self.passed.iter().copied())
    }

    /// Returns the subject, if there is one only.
    fn subject(&self) -> Option<&String> {
        self.subjects.first().filter(|_| self.subjects.len() == 1)
    }
}

/// Returns less of a trace, still refuted. Once `is_late` returns `true`, the result so far is returned.
pub(super) fn reduce(
    protocol: &dyn AnyProtocol,
    trace: &[Event<AnyMessage>],
    events: &[Event<SharedMessage>],
    options: &Options<'_>,
    is_late: &dyn Fn() -> bool,
) -> Vec<Event<SharedMessage>> {
    chosen(events, &kept(protocol, trace, events, options, is_late))
}

/// Returns the case of a finding with the part of its trace that suffices by itself, for people who cannot be
/// shown a smaller case. `None` if all of it is needed.
pub fn excerpt(
    protocol: &dyn AnyProtocol,
    finding: &Finding,
    time: Duration,
    stop: &AtomicBool,
) -> Option<Counterexample> {
    let start = Instant::now();
    let is_late = || start.elapsed() > time || stop.load(Ordering::Relaxed);
    let watch = |_: &Pulse| is_late();
    let options = Options { watch: Some(&watch), relaxed: finding.relaxed.clone(), ..Options::default() };
    let found = &finding.counterexample;
    let events = all_shared(&found.trace);
    let kept = kept(protocol, &found.trace, &events, &options, &is_late);
    if kept.iter().all(|kept| *kept) {
        return None;
    }
    let (mut trace, events) = (chosen(&found.trace, &kept), chosen(&events, &kept));
    let (model, network) = (protocol.model(), protocol.network());
    let refutation = model.explain(network, &events, &found.refutation, &options);
    trace.truncate(refutation.event + 1);
    if !model.judge(network, &events[..trace.len()], &options).is_refuted() {
        return None;
    }
    let micros = found.micros.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(micros, _)| *micros);
    let micros = micros.take(trace.len()).collect();
    let (name, script, raw) = (found.name.clone(), found.script.clone(), found.raw.clone());
    Some(Counterexample { name, script, trace, micros, refutation, raw })
}

/// Returns `true` for each event that is kept.
pub(crate) fn kept(
    protocol: &dyn AnyProtocol,
    trace: &[Event<AnyMessage>],
    events: &[Event<SharedMessage>],
    options: &Options<'_>,
    is_late: &dyn Fn() -> bool,
) -> Vec<bool> {
    let pairs = pairs(protocol, trace);
    let options = Options { turns: MOST_TURNS + 200 * trace.len() as u64, ..options.clone() };
    let mut kept = vec![true; trace.len()];
    let without = |these: &[&Pair], kept: &[bool]| {
        let mut kept = kept.to_vec();
        these.iter().flat_map(|pair| pair.events()).for_each(|event| kept[event] = false);
        let fewer = chosen(events, &kept);
        protocol.model().judge(protocol.network(), &fewer, &options).is_refuted().then_some(kept)
    };
    // First everything with another subject than the last event, or than the requests that were never
    // answered. A list says nothing without the items: it goes with them.
    let is_silent = matches!(trace.last(), Some(Event::Quiescent));
    let is_last = |pair: &&Pair| {
        if is_silent { pair.received.is_none() } else { pair.events().any(|event| event + 1 == trace.len()) }
    };
    let groups = pairs.iter().filter(is_last).filter_map(|pair| pair.group);
    for group in groups.filter(|_| !spans_for_good(protocol, trace, &pairs)) {
        let is_other = |pair: &&Pair| pair.spans || pair.group.is_some_and(|other| other != group);
        let others: Vec<&Pair> = pairs.iter().filter(is_other).collect();
        if let Some(fewer) = without(&others, &kept) {
            kept = fewer;
            break;
        }
        if is_late() {
            return kept;
        }
    }
    let is_idle = |pair: &&Pair| (pair.idle || !pair.passed.is_empty()) && kept[pair.sent];
    let idle: Vec<&Pair> = pairs.iter().filter(is_idle).collect();
    let mut size = idle.len();
    while size > 0 {
        for these in idle.chunks(size) {
            if is_late() {
                return kept;
            }
            if these.iter().any(|pair| kept[pair.sent])
                && let Some(fewer) = without(these, &kept)
            {
                kept = fewer;
            }
        }
        size /= 2;
    }
    kept
}

/// Returns for each request of the tester the latest one before it with the same subject that may have changed
/// something. Requests are counted in the order of sending.
pub(crate) fn writes_before(protocol: &dyn AnyProtocol, trace: &[Event<AnyMessage>]) -> Vec<Option<usize>> {
    let sent = (0..trace.len()).filter(|at| matches!(trace[*at], Event::Sent(..)));
    let pairs: BTreeMap<usize, Pair> =
        pairs(protocol, trace).into_iter().map(|pair| (pair.sent, pair)).collect();
    let mut latest: BTreeMap<&String, usize> = BTreeMap::new();
    let mut before = Vec::new();
    for (request, at) in sent.enumerate() {
        let pair = pairs.get(&at);
        let subject = pair.and_then(Pair::subject);
        before.push(subject.and_then(|subject| latest.get(subject)).copied());
        if let (Some(pair), Some(subject)) = (pair, subject)
            && !pair.idle
        {
            latest.insert(subject, request);
        }
    }
    before
}

fn chosen<M: Clone>(trace: &[Event<M>], kept: &[bool]) -> Vec<Event<M>> {
    trace.iter().zip(kept).filter(|(_, kept)| **kept).map(|(event, _)| event.clone()).collect()
}

/// Returns requests with their responses, on connections where each request has one.
fn pairs(protocol: &dyn AnyProtocol, trace: &[Event<AnyMessage>]) -> Vec<Pair> {
    let mut lines: BTreeMap<WireConn, Option<Vec<Pair>>> = BTreeMap::new();
    let mut opened: BTreeMap<WireConn, Errand> = BTreeMap::new();
    let mut is_asked = true;
    for (at, event) in trace.iter().enumerate() {
        if let Event::Accepted(conn) = event {
            opened.insert(*conn, Errand::default());
        }
        if let Some(errand) = event.conn().and_then(|conn| opened.get_mut(&conn)) {
            errand.events.push(at);
            if let (Event::Received(_, message), None) = (event, &errand.subject) {
                errand.subject = protocol.subject(message);
            }
            continue;
        }
        match event {
            Event::Sent(conn, message) => {
                let line = lines.entry(*conn).or_insert_with(|| Some(Vec::new()));
                match line {
                    Some(pairs) if protocol.answers(message) == 1 => pairs.push(Pair {
                        sent: at,
                        received: None,
                        passed: Vec::new(),
                        idle: protocol.is_idle(message, None),
                        subjects: protocol.subjects(message, None),
                        spans: protocol.spans(message, None),
                        group: None,
                    }),
                    _ => *line = None,
                }
            }
            Event::Received(_, message) if protocol.is_unasked(message) => is_asked = false,
            Event::Received(conn, reply) => {
                let Some(line) = lines.get_mut(conn) else { continue };
                let asked =
                    line.as_mut().and_then(|pairs| pairs.iter_mut().find(|pair| pair.received.is_none()));
                match asked {
                    Some(pair) if protocol.completes(reply) => {
                        pair.received = Some(at);
                        if let Event::Sent(_, request) = &trace[pair.sent] {
                            pair.idle = protocol.is_idle(request, Some(reply));
                            pair.subjects = protocol.subjects(request, Some(reply));
                            pair.spans = protocol.spans(request, Some(reply));
                        }
                    }
                    // It is unknown which response belongs to which request.
                    _ => *line = None,
                }
            }
            _ => {}
        }
    }
    let mut pairs: Vec<Pair> = lines.into_values().flatten().flatten().collect();
    // A message that nobody asked for is part of no pair, so a subject cannot be removed with all that it caused.
    if is_asked {
        group(protocol, trace, &mut pairs);
    }
    if protocol.has_single_exchanges() {
        for errand in opened.into_values().filter(|errand| errand.subject.is_some()) {
            if let Some(pair) = pairs.iter_mut().find(|pair| pair.subject() == errand.subject.as_ref()) {
                pair.passed.extend(errand.events);
            }
        }
    }
    pairs
}

/// Finds the groups of subjects: those of one request belong together. Requests count also where it is unknown which response is theirs.
fn group(protocol: &dyn AnyProtocol, trace: &[Event<AnyMessage>], pairs: &mut [Pair]) {
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let known: BTreeMap<usize, &[String]> =
        pairs.iter().map(|pair| (pair.sent, pair.subjects.as_slice())).collect();
    for (at, event) in trace.iter().enumerate() {
        let Event::Sent(_, message) = event else { continue };
        let subjects =
            known.get(&at).map_or_else(|| protocol.subjects(message, None), |known| known.to_vec());
        let joined: Vec<usize> = subjects.iter().filter_map(|subject| groups.get(subject).copied()).collect();
        let group = joined.first().copied().unwrap_or(at);
        groups.values_mut().filter(|other| joined.contains(other)).for_each(|other| *other = group);
        groups.extend(subjects.into_iter().map(|subject| (subject, group)));
    }
    for pair in pairs {
        pair.group = pair.subjects.first().and_then(|subject| groups.get(subject)).copied();
    }
}

/// Returns `true` if a request whose response depends on all subjects cannot be removed. Then the others cannot be either: a list
/// would contradict a trace without its items.
fn spans_for_good(protocol: &dyn AnyProtocol, trace: &[Event<AnyMessage>], pairs: &[Pair]) -> bool {
    trace.iter().enumerate().any(|(at, event)| {
        let Event::Sent(_, message) = event else { return false };
        match pairs.iter().find(|pair| pair.sent == at) {
            Some(pair) => pair.spans && !pair.idle,
            None => protocol.spans(message, None),
        }
    })
}

/// The events on a connection that the server opened, and the subject of its request.
#[derive(Default)]
struct Errand {
    subject: Option<String>,
    events: Vec<usize>,
}
