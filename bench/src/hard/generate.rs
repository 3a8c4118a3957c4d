//! Generator of histories: a linearizable object, and clients that use it at the same time.
//!
//! A client calls, at some later step the object performs the operation, and at some later step the client gets the
//! response. Which client acts next is drawn, so a history is linearizable by construction. An operation that stays
//! *unresolved* loses its client (which goes on under a new name); the object performs it at any later step, or never.
//! A history that is *wrong by one* is such a history in which one response was replaced by another: it may be
//! linearizable all the same, so the expected verdict is known only of what was left as it was.

use confute::random::Random;
use confute::trace::{Event, WireConn};

/// A data type: its requests, and an object that performs them.
pub(crate) trait Subject {
    /// Type of requests and responses.
    type Msg: Clone + PartialEq;
    /// State of the object.
    type State: Default;

    /// Draws a request.
    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg;

    /// Performs a request and returns the response.
    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg;

    /// Draws another response to this request; `None` if there is no other.
    fn spoil(plan: &Plan, draw: &mut Draw, ask: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg>;
}

/// Shape of a history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Number of clients.
    pub(crate) clients: usize,
    /// Number of calls.
    pub(crate) operations: usize,
    /// Number of different values; 0 if every value is written once.
    pub(crate) values: u64,
    /// Weights of the kinds of requests, in an order that each data type defines.
    pub(crate) mix: [u64; 3],
    /// Operations of a thousand that stay unresolved.
    pub(crate) unresolved: u64,
    /// Steps of a hundred in which an idle client calls when it is its turn: many requests compete if it is high.
    pub(crate) busy: u64,
    /// Number of keys, where the data type has keys.
    pub(crate) keys: u64,
    /// `true` if one response is replaced by another.
    pub(crate) wrong: bool,
}

/// Random choices of a history.
pub(crate) struct Draw {
    random: Random,
    /// Latest value written, if every value is written once.
    last: i64,
}

impl Draw {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Draws the index of a weight.
    pub(crate) fn kind(&mut self, weights: [u64; 3]) -> usize {
        let mut left = self.below(weights.iter().sum());
        weights
            .iter()
            .take_while(|weight| {
                left >= **weight && {
                    left -= **weight;
                    true
                }
            })
            .count()
    }

    /// Draws a value to write.
    pub(crate) fn value(&mut self, plan: &Plan) -> i64 {
        if plan.values > 0 {
            return self.random.below(plan.values).cast_signed();
        }
        self.last += 1;
        self.last
    }

    /// Draws a value that may have been written not long ago.
    pub(crate) fn known(&mut self, plan: &Plan) -> i64 {
        if plan.values > 0 {
            return self.random.below(plan.values).cast_signed();
        }
        (self.last - self.random.below(2 * plan.clients as u64).cast_signed()).max(1)
    }
}

/// State of a client.
enum Client<M> {
    Idle,
    Called(M, Fate),
    Performed(M),
}

/// Fate of a call: answered, or open for ever.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Answered,
    Lost,
}

/// Returns the history of this seed. Wrong ones have one response that differs from the right one of the same seed.
pub(crate) fn history<S: Subject>(plan: &Plan, seed: u64) -> Vec<Event<S::Msg>> {
    let mut draw = Draw { random: Random::new(seed), last: 0 };
    let mut events = correct::<S>(plan, &mut draw);
    if plan.wrong {
        spoil::<S>(plan, &mut draw, &mut events);
    }
    events
}

fn correct<S: Subject>(plan: &Plan, draw: &mut Draw) -> Vec<Event<S::Msg>> {
    let mut state = S::State::default();
    let mut clients: Vec<(WireConn, Client<S::Msg>)> =
        (0..plan.clients).map(|number| (conn(number), Client::Idle)).collect();
    let mut next = plan.clients;
    let mut lost: Vec<S::Msg> = Vec::new();
    let mut events = Vec::with_capacity(2 * plan.operations);
    let mut left = plan.operations;
    while left > 0 || clients.iter().any(|(_, client)| !matches!(client, Client::Idle)) {
        // What was lost takes effect at some step, or at none.
        if !lost.is_empty() && draw.below(24) == 0 {
            let ask = lost.swap_remove(draw.below(lost.len() as u64) as usize);
            if draw.below(4) > 0 {
                S::perform(&mut state, &ask);
            }
        }
        let (name, client) = &mut clients[draw.below(plan.clients as u64) as usize];
        *client = match std::mem::replace(client, Client::Idle) {
            Client::Idle if left > 0 && draw.below(100) < plan.busy => {
                left -= 1;
                let ask = S::ask(plan, draw);
                events.push(Event::Sent(*name, ask.clone()));
                let fate = if draw.below(1000) < plan.unresolved { Fate::Lost } else { Fate::Answered };
                Client::Called(ask, fate)
            }
            Client::Idle => Client::Idle,
            Client::Called(ask, Fate::Answered) => Client::Performed(S::perform(&mut state, &ask)),
            Client::Called(ask, Fate::Lost) => {
                events.push(Event::HungUp(*name));
                *name = conn(next);
                next += 1;
                lost.push(ask);
                Client::Idle
            }
            Client::Performed(answer) => {
                events.push(Event::Received(*name, answer));
                Client::Idle
            }
        };
    }
    events
}

/// Replaces one response in the last half of the history.
fn spoil<S: Subject>(plan: &Plan, draw: &mut Draw, events: &mut [Event<S::Msg>]) {
    let half = events.len() / 2;
    for _ in 0..1000 {
        let at = half + draw.below((events.len() - half) as u64) as usize;
        let Event::Received(name, answer) = &events[at] else { continue };
        let ask = events[..at].iter().rev().find_map(|event| match event {
            Event::Sent(by, ask) if by == name => Some(ask),
            _ => None,
        });
        if let Some(other) = ask.and_then(|ask| S::spoil(plan, draw, ask, answer)) {
            let name = *name;
            events[at] = Event::Received(name, other);
            return;
        }
    }
}

fn conn(number: usize) -> WireConn {
    WireConn(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::subjects::Register;
    use super::*;

    const PLAN: Plan = Plan {
        clients: 4,
        operations: 40,
        values: 5,
        mix: [1, 1, 1],
        unresolved: 200,
        busy: 50,
        keys: 1,
        wrong: false,
    };

    #[test]
    fn a_seed_is_a_history_and_wrong_ones_differ_by_one_response() {
        for seed in 0..20 {
            let right = history::<Register>(&PLAN, seed);
            assert_eq!(right, history::<Register>(&PLAN, seed));
            let calls = right.iter().filter(|event| matches!(event, Event::Sent(..))).count();
            assert_eq!(calls, PLAN.operations);
            let wrong = history::<Register>(&Plan { wrong: true, ..PLAN }, seed);
            let differ = right.iter().zip(&wrong).filter(|(one, other)| one != other).count();
            assert_eq!((right.len(), differ), (wrong.len(), 1));
        }
    }
}
