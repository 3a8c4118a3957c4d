//! The data types whose histories are generated.
//!
//! Each has its own small implementation here, apart from the models and from the specifications of the peers, so that
//! a history that is right by construction does not rest on what is measured.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use confute_models::item::Item;
use confute_models::{kv, queue, register, set, stack};

use super::generate::{Draw, Plan, Subject};

/// A register: reads, writes and compare-and-swaps, with these weights.
pub(crate) struct Register;

impl Subject for Register {
    type Msg = register::Message;
    type State = Option<i64>;

    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg {
        use register::Message;
        match draw.kind(plan.mix) {
            0 => Message::Read,
            1 => Message::Write(draw.value(plan)),
            _ => {
                let from = draw.known(plan);
                Message::Cas { from, to: draw.value(plan) }
            }
        }
    }

    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg {
        use register::Message;
        match *ask {
            Message::Write(value) => {
                *state = Some(value);
                Message::Written
            }
            Message::Cas { from, to } => {
                let swaps = *state == Some(from);
                if swaps {
                    *state = Some(to);
                }
                Message::Swapped(swaps)
            }
            _ => Message::Value(*state),
        }
    }

    fn spoil(plan: &Plan, draw: &mut Draw, _: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg> {
        use register::Message;
        match answer {
            // Where values are written once each, an older value read is wrong for certain.
            Message::Swapped(swapped) if plan.values > 0 => Some(Message::Swapped(!swapped)),
            Message::Value(value) => {
                let older =
                    |draw: &mut Draw| value.map_or(1, |value| value - 1 - draw.below(200).cast_signed());
                let other = if plan.values > 0 { draw.known(plan) } else { older(draw).max(1) };
                (Some(other) != *value).then_some(Message::Value(Some(other)))
            }
            _ => None,
        }
    }
}

/// A key-value store: gets, puts and appends, with these weights.
pub(crate) struct Store;

impl Store {
    fn text(number: i64) -> String {
        format!("{number} ")
    }
}

impl Subject for Store {
    type Msg = kv::Message;
    type State = BTreeMap<String, String>;

    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg {
        use kv::Message;
        let key = format!("k{}", draw.below(plan.keys)).into();
        match draw.kind(plan.mix) {
            0 => Message::Get(key),
            1 => Message::Put(key, Self::text(draw.value(plan)).into()),
            _ => Message::Append(key, Self::text(draw.value(plan)).into()),
        }
    }

    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg {
        use kv::Message;
        match ask {
            Message::Get(key) => Message::Value(state.get(&**key).cloned().unwrap_or_default().into()),
            Message::Put(key, text) => {
                state.insert(key.to_string(), text.to_string());
                Message::Done
            }
            Message::Append(key, text) => {
                state.entry(key.to_string()).or_default().push_str(&text.to_string());
                Message::Done
            }
            other => other.clone(),
        }
    }

    fn spoil(plan: &Plan, draw: &mut Draw, _: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg> {
        use kv::Message;
        let Message::Value(text) = answer else { return None };
        let mut text = text.to_string();
        // The last addition is missing, or replaced by another one.
        let cut = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
        text.truncate(cut);
        if draw.below(2) == 0 {
            text.push_str(&Self::text(draw.known(plan)));
        }
        let other = Message::Value(text.into());
        (other != *answer).then_some(other)
    }
}

/// A queue: enqueues and dequeues, with these weights.
pub(crate) struct Queue;

impl Subject for Queue {
    type Msg = queue::Message;
    type State = VecDeque<Item>;

    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg {
        use queue::Message;
        match draw.kind(plan.mix) {
            0 => Message::Enqueue(Item::Int(draw.value(plan))),
            _ => Message::Dequeue,
        }
    }

    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg {
        use queue::Message;
        match ask {
            Message::Enqueue(item) => {
                state.push_back(item.clone());
                Message::Enqueued
            }
            _ => state.pop_front().map_or(Message::Empty, Message::Dequeued),
        }
    }

    fn spoil(plan: &Plan, draw: &mut Draw, ask: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg> {
        use queue::Message;
        let other = match ask {
            Message::Dequeue => Message::Dequeued(Item::Int(draw.known(plan))),
            _ => return None,
        };
        (other != *answer).then_some(other)
    }
}

/// A stack: pushes and pops, with these weights.
pub(crate) struct Stack;

impl Subject for Stack {
    type Msg = stack::Message;
    type State = Vec<Item>;

    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg {
        use stack::Message;
        match draw.kind(plan.mix) {
            0 => Message::Push(Item::Int(draw.value(plan))),
            _ => Message::Pop,
        }
    }

    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg {
        use stack::Message;
        match ask {
            Message::Push(item) => {
                state.push(item.clone());
                Message::Pushed
            }
            _ => state.pop().map_or(Message::Empty, Message::Popped),
        }
    }

    fn spoil(plan: &Plan, draw: &mut Draw, ask: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg> {
        use stack::Message;
        let other = match ask {
            Message::Pop => Message::Popped(Item::Int(draw.known(plan))),
            _ => return None,
        };
        (other != *answer).then_some(other)
    }
}

/// A set: additions, removals and membership tests, with these weights.
pub(crate) struct Set;

impl Subject for Set {
    type Msg = set::Message;
    type State = BTreeSet<Item>;

    fn ask(plan: &Plan, draw: &mut Draw) -> Self::Msg {
        use set::Message;
        match draw.kind(plan.mix) {
            0 => Message::Add(Item::Int(draw.value(plan))),
            1 => Message::Remove(Item::Int(draw.known(plan))),
            _ => Message::Contains(Item::Int(draw.known(plan))),
        }
    }

    fn perform(state: &mut Self::State, ask: &Self::Msg) -> Self::Msg {
        use set::Message;
        let yes = match ask {
            Message::Add(item) => state.insert(item.clone()),
            Message::Remove(item) => state.remove(item),
            Message::Contains(item) => state.contains(item),
            _ => return Message::Elements(state.iter().cloned().collect()),
        };
        if yes { Message::Yes } else { Message::No }
    }

    fn spoil(_: &Plan, _: &mut Draw, _: &Self::Msg, answer: &Self::Msg) -> Option<Self::Msg> {
        use set::Message;
        match answer {
            Message::Yes => Some(Message::No),
            Message::No => Some(Message::Yes),
            _ => None,
        }
    }
}
