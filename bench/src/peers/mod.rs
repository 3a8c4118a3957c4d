//! The peers, with the operations and sequential specifications that both need.
//!
//! The specifications are those of porcupine-rs's own tests, with the same types for the state: a string for one key
//! if the history is partitioned by key, otherwise a map of all keys. Operations without a response may take effect
//! at any later time or never; of those, reads are omitted, which reduces the peers' work.

pub(crate) mod porcupine;
pub(crate) mod stateright;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

use confute::trace::{Event, WireConn};
use confute_models::item::Item;
use confute_models::{kv, queue, register, set, stack};

/// A sequential specification; the value of the type is the state.
pub(crate) trait Spec: Clone + Debug + Default + Hash + Eq + Send + Sync + 'static {
    /// Type of requests.
    type Ask: Clone + Debug + Send + Sync;
    /// Type of responses.
    type Answer: Clone + Debug + PartialEq + Send + Sync;

    /// Performs a request. Returns `true` if it yields this response, or if none is known. After `false` the state is
    /// unspecified.
    fn step(&mut self, ask: &Self::Ask, answer: Option<&Self::Answer>) -> bool;

    /// Returns `true` if the request does not change the state.
    fn is_read(ask: &Self::Ask) -> bool;

    /// Returns the partition that the request belongs to, if histories may be partitioned.
    fn part(_: &Self::Ask) -> Option<&str> {
        None
    }
}

/// An operation of a history. Times are indices of events in the history.
#[derive(Clone, Debug)]
pub(crate) struct Operation<S: Spec> {
    pub(crate) thread: u32,
    pub(crate) call: usize,
    pub(crate) ask: S::Ask,
    pub(crate) end: Option<(usize, S::Answer)>,
}

/// Returns the operations of a recorded history, in the order of their calls.
pub(crate) fn operations<S: Spec, M>(
    events: &[Event<M>],
    ask: impl Fn(&M) -> Option<S::Ask>,
    answer: impl Fn(&M) -> Option<S::Answer>,
) -> Vec<Operation<S>> {
    let mut operations = Vec::<Operation<S>>::new();
    let mut open = BTreeMap::<WireConn, usize>::new();
    for (place, event) in events.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                if let Some(ask) = ask(message) {
                    open.insert(*conn, operations.len());
                    operations.push(Operation { thread: conn.0, call: place, ask, end: None });
                }
            }
            Event::Received(conn, message) => {
                if let (Some(at), Some(answer)) = (open.remove(conn), answer(message)) {
                    operations[at].end = Some((place, answer));
                }
            }
            _ => {}
        }
    }
    operations.retain(|operation| operation.end.is_some() || !S::is_read(&operation.ask));
    operations
}

/// A request to a key-value store.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    key: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Get,
    Put(String),
    Append(String),
}

/// State of a key-value store with one key.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct OneKey(String);

impl Spec for OneKey {
    type Ask = Request;
    /// The value returned by a get.
    type Answer = Option<String>;

    fn step(&mut self, ask: &Request, answer: Option<&Self::Answer>) -> bool {
        step(&mut self.0, ask, answer)
    }

    fn is_read(ask: &Request) -> bool {
        matches!(ask.what, What::Get)
    }

    fn part(ask: &Request) -> Option<&str> {
        Some(&ask.key)
    }
}

/// State of a key-value store.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Store(BTreeMap<String, String>);

impl Spec for Store {
    type Ask = Request;
    type Answer = Option<String>;

    fn step(&mut self, ask: &Request, answer: Option<&Self::Answer>) -> bool {
        match self.0.get_mut(&ask.key) {
            Some(value) => step(value, ask, answer),
            None if Self::is_read(ask) => step(&mut String::new(), ask, answer),
            None => step(self.0.entry(ask.key.clone()).or_default(), ask, answer),
        }
    }

    fn is_read(ask: &Request) -> bool {
        OneKey::is_read(ask)
    }
}

fn step(value: &mut String, ask: &Request, answer: Option<&Option<String>>) -> bool {
    match &ask.what {
        What::Get => return answer.is_none_or(|answer| answer.as_ref() == Some(value)),
        What::Put(new) => value.clone_from(new),
        What::Append(more) => value.push_str(more),
    }
    true
}

/// Returns the operations of a recorded history of a key-value store.
pub(crate) fn kv<S: Spec<Ask = Request, Answer = Option<String>>>(
    events: &[Event<kv::Message>],
) -> Vec<Operation<S>> {
    use kv::Message;
    let request = |key: &str, what| Some(Request { key: key.to_owned(), what });
    operations(
        events,
        |message| match message {
            Message::Get(key) => request(key, What::Get),
            Message::Put(key, text) => request(key, What::Put(text.to_string())),
            Message::Append(key, text) => request(key, What::Append(text.to_string())),
            Message::Value(_) | Message::Done => None,
        },
        |message| match message {
            Message::Value(text) => Some(Some(text.to_string())),
            _ => Some(None),
        },
    )
}

/// State of a register with compare-and-swap, initially nil.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Register(Option<i64>);

impl Spec for Register {
    type Ask = register::Message;
    type Answer = register::Message;

    fn step(&mut self, ask: &Self::Ask, answer: Option<&Self::Answer>) -> bool {
        use register::Message;
        let right = match *ask {
            Message::Write(value) => {
                self.0 = Some(value);
                Message::Written
            }
            Message::Cas { from, to } => {
                let swaps = self.0 == Some(from);
                if swaps {
                    self.0 = Some(to);
                }
                Message::Swapped(swaps)
            }
            _ => Message::Value(self.0),
        };
        answer.is_none_or(|answer| *answer == right)
    }

    fn is_read(ask: &Self::Ask) -> bool {
        matches!(ask, register::Message::Read)
    }
}

/// Returns the operations of a recorded history of a register.
pub(crate) fn register(events: &[Event<register::Message>]) -> Vec<Operation<Register>> {
    operations(events, |message| Some(message.clone()), |message| Some(message.clone()))
}

/// State of a queue.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Queue(VecDeque<Item>);

impl Spec for Queue {
    type Ask = queue::Message;
    type Answer = queue::Message;

    fn step(&mut self, ask: &Self::Ask, answer: Option<&Self::Answer>) -> bool {
        use queue::Message;
        let right = match ask {
            Message::Enqueue(item) => {
                self.0.push_back(item.clone());
                Message::Enqueued
            }
            _ => self.0.pop_front().map_or(Message::Empty, Message::Dequeued),
        };
        answer.is_none_or(|answer| *answer == right)
    }

    fn is_read(_: &Self::Ask) -> bool {
        false
    }
}

/// Returns the operations of a recorded history of a queue.
pub(crate) fn queue(events: &[Event<queue::Message>]) -> Vec<Operation<Queue>> {
    operations(events, |message| Some(message.clone()), |message| Some(message.clone()))
}

/// State of a stack.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Stack(Vec<Item>);

impl Spec for Stack {
    type Ask = stack::Message;
    type Answer = stack::Message;

    fn step(&mut self, ask: &Self::Ask, answer: Option<&Self::Answer>) -> bool {
        use stack::Message;
        let right = match ask {
            Message::Push(item) => {
                self.0.push(item.clone());
                Message::Pushed
            }
            _ => self.0.pop().map_or(Message::Empty, Message::Popped),
        };
        answer.is_none_or(|answer| *answer == right)
    }

    fn is_read(_: &Self::Ask) -> bool {
        false
    }
}

/// Returns the operations of a recorded history of a stack.
pub(crate) fn stack(events: &[Event<stack::Message>]) -> Vec<Operation<Stack>> {
    operations(events, |message| Some(message.clone()), |message| Some(message.clone()))
}

/// A request to a set, with the name of its element.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    name: String,
    ask: set::Message,
}

/// State of a set with one element.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct OneItem(bool);

impl Spec for OneItem {
    type Ask = Element;
    type Answer = set::Message;

    fn step(&mut self, ask: &Element, answer: Option<&Self::Answer>) -> bool {
        use set::Message;
        let before = self.0;
        let yes = match ask.ask {
            Message::Add(_) => {
                self.0 = true;
                !before
            }
            Message::Remove(_) => {
                self.0 = false;
                before
            }
            _ => before,
        };
        answer.is_none_or(|answer| *answer == if yes { Message::Yes } else { Message::No })
    }

    fn is_read(ask: &Element) -> bool {
        matches!(ask.ask, set::Message::Contains(_))
    }

    fn part(ask: &Element) -> Option<&str> {
        Some(&ask.name)
    }
}

/// State of a set.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Items(BTreeSet<String>);

impl Spec for Items {
    type Ask = Element;
    type Answer = set::Message;

    fn step(&mut self, ask: &Element, answer: Option<&Self::Answer>) -> bool {
        let mut one = OneItem(self.0.contains(&ask.name));
        let right = one.step(ask, answer);
        if one.0 {
            self.0.insert(ask.name.clone())
        } else {
            self.0.remove(&ask.name)
        };
        right
    }

    fn is_read(ask: &Element) -> bool {
        OneItem::is_read(ask)
    }
}

/// Returns the operations of a recorded history of a set whose elements are not listed.
pub(crate) fn set<S: Spec<Ask = Element, Answer = set::Message>>(
    events: &[Event<set::Message>],
) -> Vec<Operation<S>> {
    use set::Message;
    operations(
        events,
        |message| match message {
            Message::Add(item) | Message::Remove(item) | Message::Contains(item) => {
                Some(Element { name: item.to_string(), ask: message.clone() })
            }
            _ => None,
        },
        |message| Some(message.clone()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kv::Message::{Append, Done, Get, Put, Value};

    /// Returns the verdicts of the peers: porcupine-rs by key, porcupine-rs without partitions, stateright.
    fn said(events: &[Event<kv::Message>]) -> [bool; 3] {
        [
            porcupine::check(&porcupine::prepare(kv::<OneKey>(events))),
            porcupine::check(&porcupine::prepare(kv::<Store>(events))),
            stateright::check(&stateright::prepare(kv::<Store>(events))).unwrap(),
        ]
    }

    fn sent(conn: u32, message: kv::Message) -> Event<kv::Message> {
        Event::Sent(WireConn(conn), message)
    }

    fn got(conn: u32, message: kv::Message) -> Event<kv::Message> {
        Event::Received(WireConn(conn), message)
    }

    #[test]
    fn a_stale_read_is_wrong_and_a_concurrent_one_is_not() {
        let put = Put("a".into(), "1".into());
        let (ask, nothing) = (Get("a".into()), Value("".into()));
        let stale = [sent(0, put.clone()), got(0, Done), sent(1, ask.clone()), got(1, nothing.clone())];
        let at_once = [sent(0, put), sent(1, ask), got(0, Done), got(1, nothing)];
        assert_eq!(said(&stale), [false; 3]);
        assert_eq!(said(&at_once), [true; 3]);
    }

    #[test]
    fn what_was_never_answered_may_happen_late_or_never() {
        for (value, right) in [("", true), ("1", true), ("11", false)] {
            let events = [
                sent(0, Append("a".into(), "1".into())),
                Event::HungUp(WireConn(0)),
                sent(1, Get("b".into())),
                got(1, Value("".into())),
                sent(2, Get("a".into())),
                got(2, Value(value.into())),
            ];
            assert_eq!(said(&events), [right; 3], "{value:?}");
        }
    }
}
