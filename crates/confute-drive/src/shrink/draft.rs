//! A script on its way to a smaller one: what can be left out, and what must stay together.
//!
//! Nothing here runs anything. What is made is always a script that a generator could have made: barriers stay where they
//! were, so nothing is pipelined that was not, and what is out of the ordinary keeps its connection and its pieces.

use std::collections::BTreeSet;

use crate::erased::{AnyAsk, AnyProtocol};
use crate::script::{Peer, Step, Until};

const BARRIER: Until = Until::Outstanding(0);

pub(super) type Steps = Vec<Step<AnyAsk>>;

/// Steps, old ones by their number, in the order in which they are to be done now.
type Plan<A> = Vec<(Option<usize>, Step<A>)>;

/// How many requests it makes.
pub(super) fn asks<A>(steps: &[Step<A>]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Ask { .. })).count()
}

/// What is done up to the n-th request, and the wait for what comes of it.
pub(super) fn until(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], requests: usize) -> Steps {
    let mut left = requests;
    let mut plan = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        if left == 0 {
            break;
        }
        left -= usize::from(matches!(step, Step::Ask { .. }));
        plan.push((Some(place), step.clone()));
    }
    plan.push((None, Step::Wait(BARRIER)));
    renumber(protocol, steps.len(), plan)
}

/// The same without some.
pub(super) fn without(
    protocol: &dyn AnyProtocol,
    steps: &[Step<AnyAsk>],
    dropped: &BTreeSet<usize>,
) -> Steps {
    let kept = steps.iter().enumerate().filter(|(place, _)| !dropped.contains(place));
    renumber(protocol, steps.len(), kept.map(|(place, step)| (Some(place), step.clone())).collect())
}

/// The same without this step, where what referred to it refers to another one. Nothing if nothing did, or if that one comes too
/// late.
pub(super) fn rerouted(
    protocol: &dyn AnyProtocol,
    steps: &[Step<AnyAsk>],
    from: usize,
    to: usize,
) -> Option<Steps> {
    let mut other = steps.to_vec();
    let mut changed = false;
    for (place, step) in other.iter_mut().enumerate() {
        let Step::Ask { ask, .. } = step else { continue };
        let now = protocol.renumber(ask, &|step| if step == from { to } else { step });
        if now != *ask {
            if place <= to {
                return None;
            }
            (*ask, changed) = (now, true);
        }
    }
    changed.then(|| without(protocol, &other, &BTreeSet::from([from])))
}

/// Whether a request refers to this one.
pub(super) fn is_referred_to(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], one: usize) -> bool {
    let elsewhere = |step| if step == one { usize::MAX } else { step };
    steps
        .iter()
        .any(|step| matches!(step, Step::Ask { ask, .. } if protocol.renumber(ask, &elsewhere) != *ask))
}

/// The places of all requests.
pub(super) fn asked<A>(steps: &[Step<A>]) -> Vec<usize> {
    let is_ask = |(_, step): &(usize, &Step<A>)| matches!(step, Step::Ask { .. });
    steps.iter().enumerate().filter(is_ask).map(|(place, _)| place).collect()
}

/// Which steps can be left out one by one: all but waits for answers, which go with what they wait for.
pub(super) fn loose<A>(steps: &[Step<A>]) -> Vec<usize> {
    let is_loose = |step: &Step<A>| !matches!(step, Step::Wait(Until::Outstanding(_) | Until::Answered(_)));
    steps.iter().enumerate().filter(|(_, step)| is_loose(step)).map(|(place, _)| place).collect()
}

/// One after the other: every ordinary request is answered before the next. On one connection, if so wanted.
pub(super) fn in_turn(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], on_one: bool) -> Steps {
    let odd = odd_peers(protocol, steps);
    let first = first_peer(steps, &odd);
    let mut plan = Plan::new();
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Ask { on, ask, .. } if !odd.contains(on) => {
                let on = first.filter(|_| on_one && matches!(on, Peer::Opened(_))).unwrap_or(*on);
                plan.push((Some(place), Step::Ask { on, ask: ask.clone(), cuts: Vec::new() }));
                // What the tester has to answer first is not waited for.
                if !is_answered_next(&steps[place + 1..]) {
                    plan.push((None, Step::Wait(BARRIER)));
                }
            }
            Step::Gather => {}
            Step::Hold(on) | Step::Release(on) | Step::HangUp(on) | Step::Finish(on) if !odd.contains(on) => {
            }
            Step::Wait(Until::Answered(_) | Until::Millis(_) | Until::Something | Until::Soon(_))
                if odd.is_empty() => {}
            other => plan.push((Some(place), other.clone())),
        }
    }
    renumber(protocol, steps.len(), plan)
}

/// The same, with this one answered before the next, if it is not already.
pub(super) fn barrier_after(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], at: usize) -> Option<Steps> {
    let is_ask = matches!(steps.get(at), Some(Step::Ask { .. }));
    let is_done = matches!(steps.get(at + 1), None | Some(Step::Wait(BARRIER)));
    if !is_ask || is_done || is_answered_next(&steps[at + 1..]) {
        return None;
    }
    let mut plan: Plan<AnyAsk> =
        steps.iter().cloned().enumerate().map(|(place, step)| (Some(place), step)).collect();
    plan.insert(at + 1, (None, Step::Wait(BARRIER)));
    Some(renumber(protocol, steps.len(), plan))
}

/// The same with another ask in this place.
pub(super) fn replaced<A: Clone>(steps: &[Step<A>], at: usize, by: A) -> Vec<Step<A>> {
    let mut steps = steps.to_vec();
    if let Some(Step::Ask { ask, .. }) = steps.get_mut(at) {
        *ask = by;
    }
    steps
}

/// The same with this request written in one piece, if that changes anything and may be.
pub(super) fn uncut(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], at: usize) -> Option<Steps> {
    let mut steps = steps.to_vec();
    match steps.get_mut(at) {
        Some(Step::Ask { ask, cuts, .. }) if !cuts.is_empty() && protocol.is_plain(ask) => cuts.clear(),
        _ => return None,
    }
    Some(steps)
}

/// The connections that the tester opens for ordinary requests, in order.
pub(super) fn ordinary_peers(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Vec<Peer> {
    let odd = odd_peers(protocol, steps);
    let mut peers: Vec<Peer> = Vec::new();
    for step in steps {
        if let Step::Ask { on: on @ Peer::Opened(_), .. } = step
            && !odd.contains(on)
            && !peers.contains(on)
        {
            peers.push(*on);
        }
    }
    peers
}

/// The same with everything on this connection done on another one.
pub(super) fn moved<A: Clone>(steps: &[Step<A>], from: Peer, to: Peer) -> Vec<Step<A>> {
    let mut steps = steps.to_vec();
    for step in &mut steps {
        match step {
            Step::Ask { on, .. }
            | Step::Hold(on)
            | Step::Release(on)
            | Step::HangUp(on)
            | Step::Finish(on)
                if *on == from =>
            {
                *on = to;
            }
            _ => {}
        }
    }
    steps
}

/// The same with other asks in place of all of them, in order.
pub(super) fn retold<A: Clone>(steps: &[Step<A>], asks: Vec<A>) -> Vec<Step<A>> {
    let mut steps = steps.to_vec();
    let mut asks = asks.into_iter();
    for step in &mut steps {
        if let Step::Ask { ask, .. } = step
            && let Some(other) = asks.next()
        {
            *ask = other;
        }
    }
    steps
}

/// Whether the next that is sent is an answer to what the server asks.
fn is_answered_next<A>(steps: &[Step<A>]) -> bool {
    let next = steps.iter().find_map(|step| if let Step::Ask { on, .. } = step { Some(on) } else { None });
    matches!(next, Some(Peer::Accepted(_)))
}

/// Connections that carry something out of the ordinary.
fn odd_peers(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> BTreeSet<Peer> {
    let odd = steps.iter().filter_map(|step| match step {
        Step::Ask { on, ask, .. } if !protocol.is_plain(ask) => Some(*on),
        _ => None,
    });
    odd.collect()
}

fn first_peer<A>(steps: &[Step<A>], odd: &BTreeSet<Peer>) -> Option<Peer> {
    steps.iter().find_map(|step| match step {
        Step::Ask { on: on @ Peer::Opened(_), .. } if !odd.contains(on) => Some(*on),
        _ => None,
    })
}

/// Steps with the numbers that they have now. What refers to something that is gone is gone too, and so are barriers with
/// nothing to wait for.
fn renumber(protocol: &dyn AnyProtocol, before: usize, plan: Plan<AnyAsk>) -> Steps {
    let mut now: Vec<Option<usize>> = vec![None; before];
    let mut steps = Steps::new();
    for (old, step) in plan {
        let step = match step {
            Step::Ask { on, ask, cuts } => {
                let lost = std::cell::Cell::new(false);
                let ask = protocol.renumber(&ask, &|step| {
                    now.get(step).copied().flatten().unwrap_or_else(|| {
                        lost.set(true);
                        usize::MAX
                    })
                });
                if lost.get() {
                    continue;
                }
                Step::Ask { on, ask, cuts }
            }
            Step::Wait(Until::Answered(step)) => match now.get(step).copied().flatten() {
                Some(step) => Step::Wait(Until::Answered(step)),
                None => continue,
            },
            Step::Wait(BARRIER) if matches!(steps.last(), None | Some(Step::Wait(BARRIER))) => continue,
            Step::Wait(Until::Millis(0)) => continue,
            other => other,
        };
        if let Some(old) = old {
            now[old] = Some(steps.len());
        }
        steps.push(step);
    }
    steps
}

/// Whether a request is sent on a connection before the one before it was surely answered.
pub(super) fn is_pipelined<A>(steps: &[Step<A>]) -> bool {
    let mut open: Vec<(Peer, usize)> = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Ask { on, .. } => {
                if open.iter().any(|(peer, _)| peer == on) {
                    return true;
                }
                open.push((*on, place));
            }
            Step::Wait(BARRIER) => open.clear(),
            Step::Wait(Until::Answered(step)) => open.retain(|(_, asked)| asked != step),
            Step::HangUp(peer) => open.retain(|(on, _)| on != peer),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Peer = Peer::Opened(1);
    const TWO: Peer = Peer::Opened(2);

    fn ask(on: Peer) -> Step<u8> {
        Step::Ask { on, ask: 0, cuts: Vec::new() }
    }

    #[test]
    fn pipelining_is_noticed() {
        let barrier = || Step::Wait(BARRIER);
        assert!(is_pipelined(&[ask(ONE), ask(ONE)]));
        assert!(is_pipelined(&[ask(ONE), Step::Wait(Until::Outstanding(1)), ask(ONE)]));
        assert!(is_pipelined(&[ask(ONE), ask(TWO), Step::Wait(Until::Answered(1)), ask(ONE)]));
        assert!(!is_pipelined(&[ask(ONE), ask(TWO), Step::Wait(Until::Answered(0)), ask(ONE)]));
        assert!(!is_pipelined(&[ask(ONE), ask(TWO), barrier(), ask(ONE), Step::HangUp(ONE), ask(ONE)]));
    }

    #[test]
    fn answers_come_next_or_not() {
        let answer = || ask(Peer::Accepted(0));
        assert!(is_answered_next(&[Step::Wait(Until::Something), answer(), ask(ONE)]));
        assert!(!is_answered_next(&[ask(ONE), answer()]));
        assert!(!is_answered_next::<u8>(&[Step::Wait(BARRIER)]));
    }

    #[test]
    fn connections_are_merged() {
        let steps = [ask(ONE), Step::Hold(TWO), ask(TWO), Step::Release(TWO), ask(ONE)];
        let merged = moved(&steps, TWO, ONE);
        assert_eq!(merged, [ask(ONE), Step::Hold(ONE), ask(ONE), Step::Release(ONE), ask(ONE)]);
        assert!(
            !is_pipelined(&[ask(ONE), ask(TWO)]) && is_pipelined(&moved(&[ask(ONE), ask(TWO)], TWO, ONE))
        );
    }

    #[test]
    fn waits_are_not_loose() {
        let steps =
            [ask(ONE), Step::Wait(Until::Answered(0)), Step::Hold(ONE), Step::Wait(BARRIER), ask(TWO)];
        assert_eq!(loose(&steps), [0, 2, 4]);
        assert_eq!(asks(&steps), 2);
    }
}
