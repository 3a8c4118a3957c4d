//! Drafts of smaller scripts: which steps can be left out, and which have to stay together.
//!
//! Nothing is run here. Every draft is a script that a generator could have made: barriers stay where they
//! were, so nothing is pipelined that was not, and extraordinary requests keep their connections and their
//! pieces.

use std::collections::BTreeSet;

use crate::erased::{AnyAsk, AnyProtocol};
use crate::script::{Peer, Step, Until};

const BARRIER: Until = Until::Outstanding(0);

pub(crate) type Steps = Vec<Step<AnyAsk>>;

/// Milliseconds from which on a wait is a pause.
const PAUSE: u64 = 500;

/// Steps in their new order, old ones with their old index.
type Plan<A> = Vec<(Option<usize>, Step<A>)>;

/// Returns the number of asks.
pub(crate) fn asks<A>(steps: &[Step<A>]) -> usize {
    steps.iter().filter(|step| matches!(step, Step::Ask { .. })).count()
}

/// Returns the steps up to the n-th ask, and a barrier.
pub(crate) fn until(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], requests: usize) -> Steps {
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

/// Returns the steps with a barrier at their end.
pub(crate) fn ended(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Steps {
    until(protocol, steps, usize::MAX)
}

/// Returns the steps without the dropped ones.
pub(crate) fn without(
    protocol: &dyn AnyProtocol,
    steps: &[Step<AnyAsk>],
    dropped: &BTreeSet<usize>,
) -> Steps {
    let kept = steps.iter().enumerate().filter(|(place, _)| !dropped.contains(place));
    renumber(protocol, steps.len(), kept.map(|(place, step)| (Some(place), step.clone())).collect())
}

/// Returns the steps without step `from`, with references to it replaced by references to step `to`. `None`
/// if there are no such references, or if `to` comes too late for one.
pub(crate) fn rerouted(
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

/// Returns `true` if an ask refers to this step.
pub(crate) fn is_referred_to(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], one: usize) -> bool {
    let elsewhere = |step| if step == one { usize::MAX } else { step };
    steps
        .iter()
        .any(|step| matches!(step, Step::Ask { ask, .. } if protocol.renumber(ask, &elsewhere) != *ask))
}

/// Returns the indexes of all asks.
pub(crate) fn asked<A>(steps: &[Step<A>]) -> Vec<usize> {
    let is_ask = |(_, step): &(usize, &Step<A>)| matches!(step, Step::Ask { .. });
    steps.iter().enumerate().filter(is_ask).map(|(place, _)| place).collect()
}

/// Returns the indexes of steps that can be left out one by one: all but waits for responses, which are left
/// out with the requests that they wait for.
pub(crate) fn loose<A>(steps: &[Step<A>]) -> Vec<usize> {
    let is_loose = |step: &Step<A>| !matches!(step, Step::Wait(Until::Outstanding(_) | Until::Answered(_)));
    steps.iter().enumerate().filter(|(_, step)| is_loose(step)).map(|(place, _)| place).collect()
}

/// Returns `true` if the step is a wait for a moment, long enough for a server to change something by itself.
pub(crate) fn is_pause<A>(step: &Step<A>) -> bool {
    matches!(step, Step::Wait(Until::Millis(millis)) if *millis >= PAUSE)
}

/// Returns the steps without the waits for a moment before the first request: nothing has happened yet.
pub(crate) fn prompt(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Steps {
    let first = asked(steps).first().copied().unwrap_or(0);
    let early = (0..first).filter(|place| is_pause(&steps[*place])).collect();
    without(protocol, steps, &early)
}

/// Returns the steps in sequence: every ordinary request is answered before the next, on a single connection
/// if `on_one`. Pauses stay if `with_pauses`.
pub(crate) fn in_turn(
    protocol: &dyn AnyProtocol,
    steps: &[Step<AnyAsk>],
    on_one: bool,
    with_pauses: bool,
) -> Steps {
    let odd = odd_peers(protocol, steps);
    let first = first_peer(steps, &odd);
    let mut plan = Plan::new();
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Ask { on, ask, .. } if !odd.contains(on) => {
                let on = first.filter(|_| on_one && matches!(on, Peer::Opened(_))).unwrap_or(*on);
                plan.push((Some(place), Step::Ask { on, ask: ask.clone(), cuts: Vec::new() }));
                // A request that is answered only after the tester's own response is not waited for.
                if !is_answered_next(&steps[place + 1..]) {
                    plan.push((None, Step::Wait(BARRIER)));
                }
            }
            Step::Gather => {}
            step if with_pauses && is_pause(step) => plan.push((Some(place), step.clone())),
            Step::Hold(on) | Step::Release(on) | Step::HangUp(on) | Step::Finish(on) if !odd.contains(on) => {
            }
            Step::Wait(Until::Answered(_) | Until::Millis(_) | Until::Something | Until::Soon(_))
                if odd.is_empty() => {}
            other => plan.push((Some(place), other.clone())),
        }
    }
    renumber(protocol, steps.len(), plan)
}

/// Returns the steps with a barrier after this ask, if there is none yet.
pub(crate) fn barrier_after(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], at: usize) -> Option<Steps> {
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

/// Returns the steps with another one before the ask at this index, and everything before each of them answered.
pub(crate) fn preceded(
    protocol: &dyn AnyProtocol,
    steps: &[Step<AnyAsk>],
    at: usize,
    by: Step<AnyAsk>,
) -> Steps {
    let old = |range: std::ops::Range<usize>| range.map(|place| (Some(place), steps[place].clone()));
    let new = [Step::Wait(BARRIER), by, Step::Wait(BARRIER)].map(|step| (None, step));
    renumber(protocol, steps.len(), old(0..at).chain(new).chain(old(at..steps.len())).collect())
}

/// Returns the steps with another ask at this index.
pub(crate) fn replaced<A: Clone>(steps: &[Step<A>], at: usize, by: A) -> Vec<Step<A>> {
    let mut steps = steps.to_vec();
    if let Some(Step::Ask { ask, .. }) = steps.get_mut(at) {
        *ask = by;
    }
    steps
}

/// Returns the steps with this request written in one piece, if it is cut and may be written so.
pub(crate) fn uncut(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>], at: usize) -> Option<Steps> {
    let mut steps = steps.to_vec();
    match steps.get_mut(at) {
        Some(Step::Ask { ask, cuts, .. }) if !cuts.is_empty() && protocol.is_plain(ask) => cuts.clear(),
        _ => return None,
    }
    Some(steps)
}

/// Returns the connections that the tester opens for ordinary requests, in order.
pub(crate) fn ordinary_peers(protocol: &dyn AnyProtocol, steps: &[Step<AnyAsk>]) -> Vec<Peer> {
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

/// Returns the steps with everything on one connection moved to another one.
pub(crate) fn moved<A: Clone>(steps: &[Step<A>], from: Peer, to: Peer) -> Vec<Step<A>> {
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

/// Returns the steps with all asks replaced, in order.
pub(crate) fn retold<A: Clone>(steps: &[Step<A>], asks: Vec<A>) -> Vec<Step<A>> {
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

/// Returns `true` if the next message is a response to a request of the server.
fn is_answered_next<A>(steps: &[Step<A>]) -> bool {
    let next = steps.iter().find_map(|step| if let Step::Ask { on, .. } = step { Some(on) } else { None });
    matches!(next, Some(Peer::Accepted(_)))
}

/// Returns the connections that carry an extraordinary request.
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

/// Returns the steps with references to their new indexes. Steps that refer to a removed one are removed too,
/// and so are barriers with nothing to wait for.
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

/// Returns `true` if a request is sent on a connection before the previous one was certainly answered.
pub(crate) fn is_pipelined<A>(steps: &[Step<A>]) -> bool {
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
