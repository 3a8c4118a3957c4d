//! Why nothing explains a trace, as a proof: what matters, and what rules out each way to explain it.
//!
//! Everything here is found by *counterfactuals*: the trace is changed, and the engine judges it again. What could not be
//! judged within the budget is not claimed.

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

/// How many turns one judgement may take, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;
/// How often a changed trace may be judged.
const MOST_JUDGED: u32 = 1_000;
/// How many grounds are given.
const MOST_GROUNDS: usize = 6;
/// So many other answers must not do in the place of one that would.
const MOST_OTHERS: usize = 4;

/// Why nothing explains a trace. Events are told by their place in it, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasons {
    /// The events that matter: the rest could have been anything, and still nothing would explain these. None of their
    /// exchanges can be spared, unless `incomplete`.
    pub matter: Vec<usize>,
    /// Whether there are others.
    pub spared: bool,
    /// What rules out each class of hypotheses, the most telling first.
    pub grounds: Vec<Ground>,
    /// How many more grounds there are.
    pub left_out: usize,
    /// What must have happened instead, for each diagnosis.
    pub deviations: Vec<Deviation>,
    /// Whether the budget ran out before everything was looked at.
    pub incomplete: bool,
}

/// What rules out a class of hypotheses about the events that matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ground {
    /// They would fit if each first request had been handled after its second; but that cannot be.
    Order {
        /// The requests, without what follows from the rest.
        swapped: Vec<(usize, usize)>,
        /// The whole order in which they would fit.
        order: Vec<usize>,
        /// Why not.
        bar: Bar,
    },
    /// If these requests were handled in this order, the last of them had to be answered otherwise.
    Case {
        /// The requests.
        order: Vec<usize>,
        /// Those among them whose place was open, and the last.
        open: Vec<usize>,
        /// Others that could have been handled before the last, but were not in this case.
        later: Vec<usize>,
        /// The answer that was seen.
        answer: usize,
        /// What was expected instead.
        expected: Vec<Expectation>,
        /// Whether that leaves some out.
        more: bool,
    },
    /// The whole trace would fit if these two answers were the other way round.
    Crossed {
        /// The answers.
        answers: (usize, usize),
    },
    /// The whole trace would fit if the last answer were the answer to this request, which had none.
    Astray {
        /// The answer.
        answer: usize,
        /// The request.
        sent: usize,
    },
    /// They would fit if each of these requests had a connection of its own.
    Together {
        /// The requests that shared one.
        sent: Vec<usize>,
        /// Which.
        conn: WireConn,
    },
    /// This can never be the answer to that.
    Never {
        /// The request.
        sent: usize,
        /// The answer.
        answer: usize,
    },
    /// They would fit without this request and its answers.
    Premise {
        /// The request.
        sent: usize,
        /// The last of its answers, if it got one.
        answer: Option<usize>,
    },
}

/// Why a request cannot have been handled after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// It was answered before the other was sent.
    Answered {
        /// The request.
        sent: usize,
        /// Its answer.
        answer: usize,
        /// The other request.
        before: usize,
    },
    /// It was sent before the other on the same connection.
    Queued {
        /// The request.
        sent: usize,
        /// The other request.
        before: usize,
        /// The connection.
        conn: WireConn,
    },
}

/// A way for a server to do what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The rules that it must have broken.
    pub rules: Vec<&'static str>,
    /// How often at least.
    pub times: u32,
    /// The requests, among those that matter, in handling any of which it may have: if one alone is enough.
    pub at: Vec<usize>,
}

/// Judges changed traces, as long as the budget lasts.
pub(super) struct Bench<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) network: &'a dyn Network,
    pub(super) options: Options<'a>,
    left: Cell<u32>,
    /// Whether something was left unjudged.
    pub(super) short: Cell<bool>,
}

impl Bench<'_> {
    /// `None` if nobody knows.
    pub(super) fn refuted(&self, events: &[Event<Rc<Message>>]) -> Option<bool> {
        self.judge(events, &self.options)
    }

    fn judge(&self, events: &[Event<Rc<Message>>], options: &Options<'_>) -> Option<bool> {
        // A judgement that is soon done does not look at the watch.
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

    /// Whether nothing explains it even if these rules were broken so often: anywhere, or in handling the message that was
    /// sent there.
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

    /// How often the rules must be broken to explain all of it; nothing if that does not do, or nobody knows. What a
    /// diagnosis rests on may have been less than this trace.
    fn times(&self, events: &[Event<Rc<Message>>], broken: &Diagnosis) -> Option<u32> {
        let mut times = broken.deviations.min(OFTEN)..=OFTEN;
        let enough = times.find_map(|times| match self.refuted_by(events, &broken.rules, times, None) {
            Some(true) => None,
            known => Some(known.map(|_| times)),
        });
        enough.flatten()
    }

    /// Whether nothing more is judged. Then there is no use in making traces to judge either.
    fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    pub(super) fn fits(&self, events: &[Event<Rc<Message>>]) -> bool {
        self.refuted(events) == Some(false)
    }
}

/// Why nothing explains these events, of which the last is the one that makes them unexplainable. `None` if that cannot be
/// shown within the budget. `diagnoses` are what [`blame`](crate::blame) made of them.
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
    // Where answers get lost, doubled or overtaken, it is not known which request of a connection they belong to.
    let is_known = network.is_reliable() || parts.is_single;
    let fates = if is_known { conflict(&bench, &parts) } else { vec![Fate::Kept; parts.all.len()] };
    let kept: Vec<usize> = (0..fates.len()).filter(|one| fates[*one] == Fate::Kept).collect();
    let matters = |event: &usize| match parts.owner(*event) {
        Some(one) => fates[one] == Fate::Kept,
        None => !matches!(events[*event], Event::Opened(_) | Event::HungUp(_)),
    };
    let mut grounds = if is_known { grounds(&bench, &parts, &fates, &kept) } else { Vec::new() };
    let left_out = grounds.len().saturating_sub(MOST_GROUNDS);
    grounds.truncate(MOST_GROUNDS);
    // What the server does on connections of its own, it may do for any request.
    let is_suspect = |one: &usize| parts.accepts || fates[*one] == Fate::Kept;
    let suspects: Vec<usize> = (0..fates.len()).filter(is_suspect).map(|one| parts.all[one].sent).collect();
    let deviations = ways
        .into_iter()
        .map(|(Diagnosis { rules, .. }, times)| {
            let is_enough = |at: &usize| bench.refuted_by(events, rules, times, Some(*at)) == Some(false);
            let at = suspects.iter().copied().filter(is_enough).collect();
            Deviation { rules: rules.clone(), times, at }
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

/// Which exchanges nothing explains, whatever the others came to: as few as possible.
fn conflict(bench: &Bench<'_>, parts: &Exchanges<'_>) -> Vec<Fate> {
    let mut fates = vec![Fate::Kept; parts.all.len()];
    let last = parts.owner(parts.events.len() - 1);
    // The latest first: what is established early is easier to follow than what is seen of it later.
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

/// What rules out each class of hypotheses.
fn grounds(bench: &Bench<'_>, parts: &Exchanges<'_>, fates: &[Fate], kept: &[usize]) -> Vec<Ground> {
    let mut grounds = Vec::new();
    if !parts.accepts {
        grounds.extend(shared(bench, parts, fates, kept));
        grounds.extend(crossed(bench, parts));
        grounds.extend(astray(bench, parts));
        // Of requests that are handled in any order, or twice, the times say little.
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
    // Without the answer it must fit: then it is the answer that does not.
    if let (&[one], []) = (kept, &grounds[..])
        && !parts.accepts
        && last == Some(one)
        && parts.with(fates).split_last().is_some_and(|(_, before)| bench.fits(before))
    {
        grounds.push(Ground::Never { sent: parts.all[one].sent, answer: parts.events.len() - 1 });
    }
    grounds
}

/// Whether it matters that requests shared a connection, and which.
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

/// Whether the last answer was mixed up with that to a request that was under way at the same time. What the others came to
/// counts: it may be what speaks against it.
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

/// Whether the last event would do as the answer to another request, which had none. Here too all others count.
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
    // Where anything would do, it says nothing that this does.
    let is_choosy = |one: &usize| {
        let others: Vec<usize> = (0..answer).filter(|at| messages(at).is_some()).collect();
        let mut latest = others.iter().rev().take(MOST_OTHERS).filter_map(messages);
        !others.is_empty() && latest.all(|other| !fits(*one, other))
    };
    let one = open.filter(|one| fits(*one, seen)).find(is_choosy)?;
    Some(Ground::Astray { answer, sent: parts.all[one].sent })
}

impl Ground {
    /// The requests that it speaks of.
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
