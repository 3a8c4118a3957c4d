//! Scripts near the smallest one, which experiments run.

use confute::trace::Event;

use crate::case::CaseRun;
use crate::erased::{AnyAsk, AnyMessage, AnyProtocol};
use crate::script::{Peer, Step, Until};
use crate::shrink::draft::{self, Steps};

/// Number of requests, from the end of the case, that are varied.
const VARIED: usize = 2;
/// Maximum number of different scripts.
const MOST: usize = 40;
/// Maximum number of variants that are tried after a pause too, each of which takes as long as the pause at least.
const MOST_PAUSED: usize = 4;
/// Pause, in milliseconds, after which a server has finished what it changes by itself. Dates count seconds, and some
/// servers make a tag strong only when a second has passed since the last change.
const PAUSE: u64 = 1_500;

/// The relation of a script to the smallest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It begins with the whole case.
    Extension,
    /// A request of the case differs, or is preceded by another.
    Variant,
}

/// A script near the smallest one.
pub(super) struct Trial {
    pub(super) steps: Steps,
    /// Number of asks before the one that differs.
    pub(super) asked: usize,
    pub(super) kind: Kind,
}

/// Returns the scripts to try: a look before the last request, variants of the last requests, extensions, and a look
/// both before and after the last request.
pub(super) fn all(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Vec<Trial> {
    let places = draft::asked(steps);
    let asks: Vec<(usize, &AnyAsk)> = places
        .iter()
        .filter_map(
            |place| if let Step::Ask { ask, .. } = &steps[*place] { Some((*place, ask)) } else { None },
        )
        .collect();
    let (mut trials, mut preceded) = (Vec::new(), None);
    if let Some((place, ask)) = asks.last()
        && asks.len() > 1
        && let Some(look) = protocol.look(ask)
        && let Step::Ask { on, .. } = &steps[*place]
    {
        let look = Step::Ask { on: *on, ask: look, cuts: Vec::new() };
        let steps = draft::preceded(protocol, steps, *place, look);
        trials.push(Trial { steps, asked: asks.len() - 1, kind: Kind::Variant });
        preceded = trials.last().zip(protocol.look(ask)).map(|(trial, look)| extended(&trial.steps, look));
    }
    for (asked, (place, ask)) in asks.iter().enumerate().rev().take(VARIED) {
        let variants = protocol.variants(ask).into_iter().chain(protocol.look(ask));
        trials.extend(variants.map(|ask| Trial {
            steps: draft::replaced(steps, *place, ask),
            asked,
            kind: Kind::Variant,
        }));
    }
    trials.extend(protocol.follow_ups(&asks).into_iter().map(|ask| extended(steps, ask)));
    trials.extend(preceded);
    trials.truncate(MOST);
    trials
}

/// Returns scripts with a pause before the last request but one: variants of the last request, and the request as it is.
/// A change that a server makes by itself after a write is over when the last requests are sent.
pub(super) fn paused(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Vec<Trial> {
    let places = draft::asked(steps);
    let [_, .., before, _] = places[..] else { return Vec::new() };
    let steps = draft::preceded(protocol, steps, before, Step::Wait(Until::Millis(PAUSE)));
    let asked = places.len() - 1;
    let last = draft::asked(&steps).last().copied();
    let Some((last, Step::Ask { ask, .. })) = last.map(|last| (last, &steps[last])) else {
        return Vec::new();
    };
    let variants = protocol.variants(ask).into_iter().map(|ask| draft::replaced(&steps, last, ask));
    let scripts = variants.take(MOST_PAUSED).chain([steps.clone()]);
    scripts.map(|steps| Trial { steps, asked, kind: Kind::Variant }).collect()
}

/// Returns the script with another request after its end, on a connection of its own.
fn extended(steps: &[Step<AnyAsk>], ask: AnyAsk) -> Trial {
    let mut extended = steps.to_vec();
    extended.extend([
        Step::Wait(Until::Outstanding(0)),
        Step::Ask { on: Peer::Opened(fresh_peer(steps)), ask, cuts: Vec::new() },
        Step::Wait(Until::Outstanding(0)),
    ]);
    Trial { steps: extended, asked: draft::asks(steps), kind: Kind::Extension }
}

/// Returns the number of a connection that no step uses.
fn fresh_peer(steps: &[Step<AnyAsk>]) -> u32 {
    let number = |step: &Step<AnyAsk>| match step {
        Step::Ask { on: Peer::Opened(number), .. } => Some(*number + 1),
        _ => None,
    };
    steps.iter().filter_map(number).max().unwrap_or(0)
}

/// Returns `true` if a request was sent while another one was outstanding.
pub(super) fn is_race(trace: &[Event<AnyMessage>]) -> bool {
    let mut outstanding = 0u32;
    trace.iter().any(|event| {
        match event {
            Event::Sent(..) => outstanding += 1,
            Event::Received(..) => outstanding = outstanding.saturating_sub(1),
            _ => {}
        }
        outstanding > 1
    })
}

/// Returns the index of the event that is the n-th request.
pub(super) fn sent(trace: &[Event<AnyMessage>], asked: usize) -> Option<usize> {
    let mut sent = (0..trace.len()).filter(|at| matches!(trace[*at], Event::Sent(..)));
    sent.nth(asked)
}

/// Returns the text of the exchange that begins with the n-th request.
pub(super) fn exchange(run: &CaseRun, asked: usize) -> String {
    let Some(at) = sent(&run.trace, asked) else { return String::new() };
    let Event::Sent(conn, request) = &run.trace[at] else { return String::new() };
    let response = run.trace[at..].iter().find_map(|event| match event {
        Event::Received(on, message) if on == conn => Some(message),
        _ => None,
    });
    let response = response.map_or("no response".to_owned(), crate::brief);
    format!("{} → {response}", crate::brief(request))
}
