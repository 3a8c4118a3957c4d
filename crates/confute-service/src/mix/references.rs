//! References of a script to values that the server chose: which one a request carries, and what it is when it is sent.

use confute_drive::Exchange;

use crate::chosen::{Choice, Reference};
use crate::field::{Part, PartMut};
use crate::message::{Message, Role, change_parts, kind_of, names};

/// Number of the latest exchanges in which a reference is looked for.
const RECENT: usize = 200;

/// Returns a value of a script by its reference: replaces it by the value in the response. Returns `false` if there is none.
fn resolve<M: Message>(choice: &mut dyn Choice, past: &[Exchange<M, M>]) -> bool {
    match choice.reference() {
        None => true,
        Some(Reference::Any) => {
            choice.refer(Reference::MadeUp(0));
            choice.make_up();
            true
        }
        Some(Reference::MadeUp(_)) => {
            choice.make_up();
            true
        }
        Some(Reference::Seen { step, place }) => {
            let at = past.binary_search_by_key(&step, |exchange| exchange.step);
            let reply = at.ok().and_then(|at| past[at].replies.first());
            let value = reply.and_then(|reply| {
                let (mut count, mut found) = (0, None);
                reply.each(&mut |field| {
                    field.parts(&mut |part| {
                        if let Part::Choice(choice) = part {
                            if count == place {
                                found = choice.known();
                            }
                            count += 1;
                        }
                    });
                });
                found
            });
            value.is_some_and(|value| choice.become_known(&value))
        }
    }
}

/// Returns the message of a request of a script, with the names of this case. `None` if it refers to something that was never seen.
pub(crate) fn resolved<M: Message>(ask: &M, case: &str, past: &[Exchange<M, M>]) -> Option<M> {
    let mut message = ask.clone();
    let mut found = true;
    change_parts(&mut message, &mut |part| match part {
        PartMut::Name(name) => name.resolve(case),
        PartMut::Choice(choice) => found &= resolve(choice, past),
    });
    found.then_some(message)
}

/// Replaces the number of the step that a value refers to.
pub(crate) fn renumber(choice: &mut dyn Choice, now: &dyn Fn(usize) -> usize) {
    if let Some(Reference::Seen { step, place }) = choice.reference() {
        choice.refer(Reference::Seen { step: now(step), place });
    }
}

/// Frequencies of the kinds of values that requests carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weights {
    pub(crate) fresh: u32,
    pub(crate) stale: u32,
    pub(crate) foreign: u32,
    pub(crate) made_up: u32,
}

/// Decides on the values in a request that the traffic has to choose. Returns `false` if no response has told one yet.
pub(crate) fn choose<M: Message>(
    ask: &mut M,
    weights: Weights,
    past: &[Exchange<M, M>],
    pick: &mut dyn FnMut(u64) -> u64,
) -> bool {
    let own = names(ask);
    let labels = labels(ask);
    let (mut at, mut found) = (0, true);
    change_parts(ask, &mut |part| {
        let PartMut::Choice(choice) = part else { return };
        let label = labels[at];
        at += 1;
        if choice.reference() != Some(Reference::Any) {
            return;
        }
        let all = [weights.fresh, weights.stale, weights.foreign, weights.made_up].map(u64::from);
        let mut number = pick(all.iter().sum::<u64>().max(1));
        let class = all.iter().position(|weight| {
            let here = number < *weight;
            number = number.saturating_sub(*weight);
            here
        });
        let known = Known { label, own: &own, past };
        let reference = match class {
            Some(0) => known.nth(true, 0, choice),
            Some(1) => known.nth(true, 1 + pick(3) as usize, choice),
            Some(2) => known.nth(false, pick(3) as usize, choice),
            _ => Some(Reference::MadeUp(pick(3) as u32)),
        };
        let reference = reference.or_else(|| known.nth(true, 0, choice));
        found &= reference.is_some();
        choice.refer(reference.unwrap_or(Reference::MadeUp(0)));
    });
    found
}

/// Returns the name of the field that holds each chosen value of a message.
fn labels<M: Message>(message: &M) -> Vec<&'static str> {
    let mut names = kind_of(message).fields.iter();
    let mut labels = Vec::new();
    message.each(&mut |field| {
        let name = names.next().copied().unwrap_or_default();
        field.parts(&mut |part| {
            if let Part::Choice(_) = part {
                labels.push(name);
            }
        });
    });
    labels
}

/// Values that responses have told.
struct Known<'a, M> {
    label: &'static str,
    /// The names in the request that is to carry a value.
    own: &'a [crate::Name],
    past: &'a [Exchange<M, M>],
}

impl<M: Message> Known<'_, M> {
    /// Returns the `back`-th latest value, or the oldest one of the recent ones: of an exchange about the same names, or about others.
    fn nth(&self, related: bool, back: usize, wanted: &dyn Choice) -> Option<Reference> {
        // A field of the same name says more than the type alone, if any response has one.
        let by_name = self.label.parse::<usize>().is_err()
            && M::KINDS.iter().any(|kind| kind.role == Role::Response && kind.fields.contains(&self.label));
        let mut latest = None;
        let mut left = back;
        for exchange in self.past.iter().rev().take(RECENT) {
            let asked = names(&exchange.ask);
            let shares = self.own.is_empty() || asked.iter().any(|name| self.own.contains(name));
            if shares != related {
                continue;
            }
            let Some(reply) = exchange.replies.first() else { continue };
            let labels = labels(reply);
            let mut place = 0;
            let mut here = None;
            reply.each(&mut |field| {
                field.parts(&mut |part| {
                    if let Part::Choice(choice) = part {
                        let fits =
                            choice.sort() == wanted.sort() && (!by_name || labels[place] == self.label);
                        if fits && here.is_none() {
                            here = Some(Reference::Seen { step: exchange.step, place });
                        }
                        place += 1;
                    }
                });
            });
            if here.is_some() {
                latest = here;
                if left == 0 {
                    break;
                }
                left -= 1;
            }
        }
        latest
    }
}
