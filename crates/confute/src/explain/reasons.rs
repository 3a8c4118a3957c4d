//! Proof that nothing explains a trace: the relevant events, and what rules out each way to explain them.
//!
//! Everything here is found by *counterfactuals*: the trace is changed, and the engine judges it again. Nothing is
//! claimed that could not be judged within the budget.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::blame::{OFTEN, most};
use super::exchange::{Exchanges, Fate};
use super::orders;
use crate::engine::{Options, Pulse, judge};
use crate::erased::{self, Message, Model};
use crate::lang::ServerModel;
use crate::network::Network;
use crate::trace::{Event, WireConn};
use crate::verdict::{Diagnosis, Expectation, Inconclusive, Verdict};

/// Maximum number of turns for one judgement, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;
/// Maximum number of judgements of changed traces.
const MOST_JUDGED: u32 = 1_000;
/// Maximum number of grounds that are reported.
const MOST_GROUNDS: usize = 6;
/// Number of other responses that must not fit in the place of one that does.
const MOST_OTHERS: usize = 4;

/// Proof that nothing explains a trace. Events are identified by their index in it, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons {
    /// Indices of the relevant events: the rest could have been anything, and still nothing would explain these. None
    /// of their exchanges can be left out, unless `incomplete`.
    pub matter: Vec<usize>,
    /// `true` if some exchanges are not relevant.
    pub spared: bool,
    /// Grounds that rule out each class of hypotheses, the most informative first.
    pub grounds: Vec<Ground>,
    /// Number of further grounds that are not listed.
    pub left_out: usize,
    /// Deviations that explain the trace, for each diagnosis.
    pub deviations: Vec<Counterfactual>,
    /// `true` if the budget ran out before everything was tried.
    pub incomplete: bool,
}

/// A ground that rules out a class of hypotheses about the relevant events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// The events would fit if the first request of each pair had been handled after the second; but that is
    /// impossible.
    Order {
        /// Pairs of requests, without those that follow from the others.
        swapped: Vec<(usize, usize)>,
        /// The whole order in which the events would fit.
        order: Vec<usize>,
        /// Reason why this order is impossible.
        bar: Bar,
    },
    /// If these requests had been handled in this order, the last of them would have required a different response.
    Case {
        /// The requests, in this order.
        order: Vec<usize>,
        /// Requests among them whose place was open, and the last.
        open: Vec<usize>,
        /// Other requests that could have been handled before the last, but were not in this case.
        later: Vec<usize>,
        /// The response that was observed.
        answer: usize,
        /// Messages that were expected instead.
        expected: Vec<Expectation>,
        /// `true` if `expected` leaves some out.
        more: bool,
    },
    /// The whole trace would fit if these two responses were swapped.
    Crossed {
        /// The responses.
        answers: (usize, usize),
    },
    /// The whole trace would fit if the last response were the one to this request, which had none.
    Astray {
        /// The response.
        answer: usize,
        /// The request.
        sent: usize,
    },
    /// The events would fit if each of these requests had a connection of its own.
    Together {
        /// The requests that shared a connection.
        sent: Vec<usize>,
        /// The shared connection.
        conn: WireConn,
    },
    /// The response can never be one to the request.
    Never {
        /// The request.
        sent: usize,
        /// The response.
        answer: usize,
    },
    /// The events would fit without this request and its responses.
    Premise {
        /// The request.
        sent: usize,
        /// The last of its responses, if it got one.
        answer: Option<usize>,
    },
}

/// The reason why a request cannot have been handled after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// The request got its response before the other was sent.
    Answered {
        /// The request.
        sent: usize,
        /// Its response.
        answer: usize,
        /// The other request.
        before: usize,
    },
    /// The request was sent before the other on the same connection.
    Queued {
        /// The request.
        sent: usize,
        /// The other request.
        before: usize,
        /// The connection.
        conn: WireConn,
    },
}

/// A set of deviations by which a server can have caused the observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterfactual {
    /// Rules that the server must have broken.
    pub rules: Vec<&'static str>,
    /// Minimum number of deviations.
    pub times: u32,
    /// Requests for which deviations in handling that request alone explain the trace. Only relevant requests are
    /// tried, unless the server opened connections.
    pub at: Vec<usize>,
}

/// Judge of changed traces, as long as the budget lasts.
pub(super) struct Bench<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) network: &'a dyn Network,
    pub(super) options: Options<'a>,
    left: Cell<u32>,
    /// `true` if something was left unjudged.
    pub(super) short: Cell<bool>,
}

impl Bench<'_> {
    /// Returns `true` if nothing explains the events; `None` if that is unknown.
    pub(super) fn refuted(&self, events: &[Event<Rc<Message>>]) -> Option<bool> {
        self.judge(events, &self.options)
    }

    fn judge(&self, events: &[Event<Rc<Message>>], options: &Options<'_>) -> Option<bool> {
        // A judgement that is soon done does not call the watch.
        let pulse = Pulse { event: 0, turns: 0, open: 0, bytes: 0 };
        if options.watch.is_some_and(|watch| watch(&pulse)) {
            self.left.set(0);
        }
        if self.left.get() == 0 {
            self.short.set(true);
            return None;
        }
        self.left.set(self.left.get() - 1);
        match judge(self.model, self.network, events, options) {
            Verdict::Refuted(_) => Some(true),
            Verdict::Unrefuted => Some(false),
            Verdict::Inconclusive(reason) => {
                self.short.set(true);
                if matches!(reason, Inconclusive::Budget { what: "time", .. }) {
                    self.left.set(0);
                }
                None
            }
        }
    }

    /// Returns `true` if nothing explains the events even with this many deviations from these rules: anywhere, or in
    /// handling the message that was sent at `at`.
    fn refuted_by(
        &self,
        events: &[Event<Rc<Message>>],
        rules: &[&'static str],
        times: u32,
        at: Option<usize>,
    ) -> Option<bool> {
        let free = self.options.relaxed.clone();
        let relaxed = [&free[..], rules].concat();
        let options = Options { relaxed, free, deviations: most(times), at, ..self.options.clone() };
        self.judge(events, &options)
    }

    /// Returns the number of deviations from the diagnosed rules that is needed to explain all of the events; `None`
    /// if no number suffices, or if it is unknown. The diagnosis may rest on less than this trace.
    fn times(&self, events: &[Event<Rc<Message>>], broken: &Diagnosis) -> Option<u32> {
        let mut times = broken.deviations.min(OFTEN)..=OFTEN;
        let enough = times.find_map(|times| match self.refuted_by(events, &broken.rules, times, None) {
            Some(true) => None,
            known => Some(known.map(|_| times)),
        });
        enough.flatten()
    }

    /// Returns `true` if nothing more is judged. Then there is no use in making traces to judge either.
    fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn fits(&self, events: &[Event<Rc<Message>>]) -> bool {
        self.refuted(events) == Some(false)
    }
}

/// Proves that nothing explains these events, of which the last is the one that makes them unexplainable. Returns
/// `None` if that cannot be shown within the budget. `diagnoses` are the result of [`blame`](crate::blame) for these
/// events.
pub fn reasons<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    diagnoses: &[Diagnosis],
    options: &Options<'_>,
) -> Option<Reasons>
where
    S::Msg: Clone,
{
    reasons_of(model, network, &erased::events(events), diagnoses, options)
}

/// Returns the indices of messages sent by the tester whose exchanges contradict each other by themselves, whatever the
/// results of the others; `None` if the events are not refuted within the budget.
pub(crate) fn core_of(
    model: &dyn Model,
    network: &dyn Network,
    events: &[Event<Rc<Message>>],
    options: &Options<'_>,
) -> Option<Vec<usize>> {
    let turns = options.turns.min(MOST_TURNS + 200 * events.len() as u64);
    let options = Options { turns, ..options.clone() };
    let bench = Bench { model, network, options, left: Cell::new(MOST_JUDGED), short: Cell::new(false) };
    let parts = Exchanges::new(events);
    let is_known = bench.options.matched && (network.is_reliable() || parts.is_single);
    if bench.refuted(events) != Some(true) || !is_known {
        return None;
    }
    let fates = conflict(&bench, &parts);
    let kept = parts.all.iter().zip(fates).filter(|(_, fate)| *fate == Fate::Kept);
    Some(kept.map(|(exchange, _)| exchange.sent).collect())
}

pub(crate) fn reasons_of(
    model: &dyn Model,
    network: &dyn Network,
    events: &[Event<Rc<Message>>],
    diagnoses: &[Diagnosis],
    options: &Options<'_>,
) -> Option<Reasons> {
    let turns = options.turns.min(MOST_TURNS + 200 * events.len() as u64);
    let options = Options { turns, ..options.clone() };
    let bench = Bench { model, network, options, left: Cell::new(MOST_JUDGED), short: Cell::new(false) };
    let parts = Exchanges::new(events);
    if bench.refuted(events) != Some(true) {
        return None;
    }
    let ways: Vec<(&Diagnosis, u32)> =
        diagnoses.iter().filter_map(|one| Some((one, bench.times(events, one)?))).collect();
    // If responses get lost, duplicated or reordered, it is not known to which request of a connection they belong.
    let is_known = bench.options.matched && (network.is_reliable() || parts.is_single);
    let fates = if is_known { conflict(&bench, &parts) } else { vec![Fate::Kept; parts.all.len()] };
    let kept: Vec<usize> = (0..fates.len()).filter(|one| fates[*one] == Fate::Kept).collect();
    let matters = |event: &usize| match parts.owner(*event) {
        Some(one) => fates[one] == Fate::Kept,
        None => !matches!(events[*event], Event::Opened(_) | Event::HungUp(_)),
    };
    let mut grounds = if is_known { grounds(&bench, &parts, &fates, &kept) } else { Vec::new() };
    let left_out = grounds.len().saturating_sub(MOST_GROUNDS);
    grounds.truncate(MOST_GROUNDS);
    // Actions of the server on connections that it opened may serve any request.
    let is_suspect = |one: &usize| parts.accepts || fates[*one] == Fate::Kept;
    let suspects: Vec<usize> = (0..fates.len()).filter(is_suspect).map(|one| parts.all[one].sent).collect();
    let deviations = ways
        .into_iter()
        .map(|(Diagnosis { rules, .. }, times)| {
            let is_enough = |at: &usize| bench.refuted_by(events, rules, times, Some(*at)) == Some(false);
            let at = suspects.iter().copied().filter(is_enough).collect();
            Counterfactual { rules: rules.clone(), times, at }
        })
        .collect();
    Some(Reasons {
        matter: (0..events.len()).filter(matters).collect(),
        spared: fates.contains(&Fate::Loose),
        grounds,
        left_out,
        deviations,
        incomplete: bench.short.get(),
    })
}

/// Finds as few exchanges as possible that nothing explains, whatever the results of the others.
fn conflict(bench: &Bench<'_>, parts: &Exchanges<'_>) -> Vec<Fate> {
    let mut fates = vec![Fate::Kept; parts.all.len()];
    let last = parts.owner(parts.events.len() - 1);
    // The latest are spared first: a state established early is easier to follow than later observations of it.
    let others: Vec<usize> = (0..fates.len()).rev().filter(|one| Some(*one) != last).collect();
    let mut size = others.len();
    while size > 0 {
        for these in others.chunks(size) {
            if bench.is_over() {
                return fates;
            }
            let mut fewer = fates.clone();
            these.iter().for_each(|one| fewer[*one] = Fate::Loose);
            if fewer != fates && bench.refuted(&parts.with(&fewer)) == Some(true) {
                fates = fewer;
            }
        }
        size /= 2;
    }
    fates
}

/// Returns the grounds that rule out each class of hypotheses.
fn grounds(bench: &Bench<'_>, parts: &Exchanges<'_>, fates: &[Fate], kept: &[usize]) -> Vec<Ground> {
    let mut grounds = Vec::new();
    if !parts.accepts {
        grounds.extend(shared(bench, parts, fates, kept));
        grounds.extend(crossed(bench, parts));
        grounds.extend(astray(bench, parts));
        // If requests are handled in any order, or twice, the times say little.
        if bench.network.is_reliable() {
            grounds.extend(orders::grounds(bench, parts, fates, kept));
        }
    }
    let told: Vec<usize> = grounds.iter().flat_map(Ground::requests).collect();
    let last = parts.owner(parts.events.len() - 1);
    for one in kept.iter().filter(|one| Some(**one) != last && !told.contains(&parts.all[**one].sent)) {
        if bench.is_over() {
            break;
        }
        let mut without = fates.to_vec();
        without[*one] = Fate::Gone;
        if bench.fits(&parts.with(&without)) {
            let exchange = &parts.all[*one];
            grounds.push(Ground::Premise { sent: exchange.sent, answer: exchange.answer() });
        }
    }
    // Without the response the trace must fit: then it is the response that does not.
    if let (&[one], []) = (kept, &grounds[..])
        && !parts.accepts
        && last == Some(one)
        && parts.with(fates).split_last().is_some_and(|(_, before)| bench.fits(before))
    {
        grounds.push(Ground::Never { sent: parts.all[one].sent, answer: parts.events.len() - 1 });
    }
    grounds
}

/// Checks if it makes a difference that requests shared a connection, and returns these.
fn shared(bench: &Bench<'_>, parts: &Exchanges<'_>, fates: &[Fate], kept: &[usize]) -> Option<Ground> {
    let mut lines: BTreeMap<WireConn, Vec<usize>> = BTreeMap::new();
    for one in kept.iter().map(|one| &parts.all[*one]) {
        lines.entry(one.conn).or_default().push(one.sent);
    }
    lines
        .into_iter()
        .find(|(conn, sent)| sent.len() > 1 && bench.fits(&parts.apart(fates, *conn)))
        .map(|(conn, sent)| Ground::Together { sent, conn })
}

/// Checks if the last response was swapped with that to a request in flight at the same time. The results of all
/// other requests are kept: they may be what contradicts the swap.
fn crossed(bench: &Bench<'_>, parts: &Exchanges<'_>) -> Option<Ground> {
    let right = parts.events.len() - 1;
    let last = parts.owner(right)?;
    let fates = vec![Fate::Kept; parts.all.len()];
    for (one, other) in parts.all.iter().enumerate() {
        let Some(left) = other.answer().filter(|left| one != last && *left > parts.all[last].sent) else {
            continue;
        };
        if bench.is_over() {
            return None;
        }
        if parts.crossed(&fates, one, last).is_some_and(|trace| bench.fits(&trace)) {
            return Some(Ground::Crossed { answers: (left, right) });
        }
    }
    None
}

/// Checks if the last event would fit as the response to another request, which had none. All other results are kept
/// here too.
fn astray(bench: &Bench<'_>, parts: &Exchanges<'_>) -> Option<Ground> {
    let answer = parts.events.len() - 1;
    parts.owner(answer)?;
    let fates = vec![Fate::Kept; parts.all.len()];
    let fits = |one: usize, message: &Rc<Message>| {
        !bench.is_over() && bench.fits(&parts.redirected(&fates, one, message))
    };
    let messages = |at: &usize| match &parts.events[*at] {
        Event::Received(_, message) if *at != answer => Some(message),
        _ => None,
    };
    let Event::Received(_, seen) = &parts.events[answer] else { return None };
    let open = (0..fates.len()).filter(|one| parts.all[*one].answers.is_empty());
    // If any response would fit, it is not informative that this one does.
    let is_choosy = |one: &usize| {
        let others: Vec<usize> = (0..answer).filter(|at| messages(at).is_some()).collect();
        let mut latest = others.iter().rev().take(MOST_OTHERS).filter_map(messages);
        !others.is_empty() && latest.all(|other| !fits(*one, other))
    };
    let one = open.filter(|one| fits(*one, seen)).find(is_choosy)?;
    Some(Ground::Astray { answer, sent: parts.all[one].sent })
}

impl Ground {
    /// Returns the requests that the ground concerns.
    fn requests(&self) -> Vec<usize> {
        match self {
            Ground::Order { swapped, .. } => swapped.iter().flat_map(|(one, other)| [*one, *other]).collect(),
            Ground::Case { order, .. } => order.clone(),
            Ground::Crossed { .. } | Ground::Astray { .. } => Vec::new(),
            Ground::Together { sent, .. } => sent.clone(),
            Ground::Premise { sent, .. } | Ground::Never { sent, .. } => vec![*sent],
        }
    }
}
