//! A set. *Teaches: a cell for each element, and turns that look at all of them.*
//!
//! Requests for different elements are independent, so each element has a cell of its own: a history of additions,
//! removals and membership tests is searched element by element. A read of the whole set depends on all of them and
//! says so ([`Io::whole`]): from then on everything is searched together.

use std::fmt;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Conn, Io, Level, Mismatch, Pattern, Rule, ServerModel, Table, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;
use crate::item::{Item, bracketed};

/// Rule that an addition is kept.
pub const ADD_LASTS: Rule = Rule {
    name: "set/add-lasts",
    level: Level::Store,
    summary: "An element of a confirmed `add` is in the set until it is removed.",
};
/// Rule that a removal is kept.
pub const REMOVE_LASTS: Rule = Rule {
    name: "set/remove-lasts",
    level: Level::Store,
    summary: "An element of a confirmed `remove` is not in the set until it is added again.",
};
/// Rule that a membership test, an addition and a removal report the present state.
pub const TELLS_MEMBERSHIP: Rule = Rule {
    name: "set/tells-membership",
    level: Level::Must,
    summary: "The response to `contains` is yes if the element is in the set; that to `add` and `remove`, if it reports \
              anything, is yes if the set changed.",
};
/// Rule that a read returns all elements.
pub const READ_COMPLETE: Rule = Rule {
    name: "set/read-complete",
    level: Level::Store,
    summary: "A `read` returns every element of the set.",
};

/// A message on a connection: four requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request to add an element.
    Add(Item),
    /// Request to remove an element.
    Remove(Item),
    /// Request to report whether an element is in the set.
    Contains(Item),
    /// Request for all elements.
    Read,
    /// Response to an addition or a removal that does not report whether the set changed.
    Done,
    /// Response to an addition or a removal: the set changed. Response to a membership test: it is in the set.
    Yes,
    /// The opposite of `Yes`.
    No,
    /// Response to a read: all elements, in ascending order.
    Elements(Vec<Item>),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Add(item) => write!(f, "add {item}"),
            Message::Remove(item) => write!(f, "remove {item}"),
            Message::Contains(item) => write!(f, "contains {item}"),
            Message::Read => f.write_str("read"),
            Message::Done => f.write_str("done"),
            Message::Yes => f.write_str("yes"),
            Message::No => f.write_str("no"),
            Message::Elements(items) if f.alternate() => write!(f, "{} elements", items.len()),
            Message::Elements(items) => f.write_str("elements ").and_then(|()| bracketed(f, items)),
        }
    }
}

/// A response of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The response to a membership test.
    Member(bool),
    /// The response to an addition or a removal, which may leave open whether the set changed.
    Changed(bool),
    /// All elements, in ascending order.
    Elements(Vec<Item>),
    /// Some of these elements: the response of a server that breaks [`READ_COMPLETE`].
    Some(Vec<Item>),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Member(yes) => answer(*yes).fmt(f),
            Reply::Changed(yes) => write!(f, "done or {}", answer(*yes)),
            Reply::Elements(items) => Message::Elements(items.clone()).fmt(f),
            Reply::Some(items) => write!(f, "some {} elements", items.len()),
        }
    }
}

fn answer(yes: bool) -> Message {
    if yes { Message::Yes } else { Message::No }
}

impl Pattern<Message> for Reply {
    fn unify(&self, seen: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        let fits = match (self, seen) {
            (Reply::Member(yes), _) => *seen == answer(*yes),
            (Reply::Changed(yes), _) => *seen == Message::Done || *seen == answer(*yes),
            (Reply::Elements(all), Message::Elements(seen)) => all == seen,
            // Both ascend, so an element that occurs twice is found missing.
            (Reply::Some(all), Message::Elements(seen)) => {
                let mut left = all.iter();
                seen.iter().all(|item| left.any(|other| other == item))
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Message {
        match self {
            Reply::Member(yes) | Reply::Changed(yes) => answer(*yes),
            Reply::Elements(items) => Message::Elements(items.clone()),
            Reply::Some(items) => Message::Elements(items.iter().skip(1).cloned().collect()),
        }
    }
}

const MEMBERS: Table<Item, ()> = Table::new("members");

/// Model of the set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Set;

impl ServerModel for Set {
    type Msg = Message;
    type Out = Reply;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Add(item) => Self::change(io, conn, item, true),
            Message::Remove(item) => Self::change(io, conn, item, false),
            Message::Contains(item) => {
                let member = MEMBERS.get(io, item)?.is_some();
                let lies = io.deviates(&TELLS_MEMBERSHIP)?;
                io.send(conn, Reply::Member(member != lies))
            }
            Message::Read => Self::read(io, conn),
            Message::Done | Message::Yes | Message::No | Message::Elements(_) => io.replies(0),
        }
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        match rule.name {
            name if name == TELLS_MEMBERSHIP.name => matches!(message, Message::Yes | Message::No),
            name if name == READ_COMPLETE.name => matches!(message, Message::Elements(_)),
            _ => true,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[ADD_LASTS, REMOVE_LASTS, TELLS_MEMBERSHIP, READ_COMPLETE]
    }
}

impl Set {
    /// Adds or removes an element.
    fn change(io: &mut Io<'_, Self>, conn: Conn, item: &Item, adds: bool) -> Turn {
        let cell = MEMBERS.edit(io, item)?;
        let changes = cell.get(io)?.is_some() != adds;
        let lasts = if adds { &ADD_LASTS } else { &REMOVE_LASTS };
        if changes && !io.deviates(lasts)? {
            if adds { cell.set(io, ()) } else { cell.clear(io) }?;
        }
        let lies = io.deviates(&TELLS_MEMBERSHIP)?;
        io.send(conn, Reply::Changed(changes != lies))
    }

    fn read(io: &mut Io<'_, Self>, conn: Conn) -> Turn {
        io.whole()?;
        let items = MEMBERS.entries(io)?.into_iter().map(|(item, ())| item).collect();
        let reply = if io.deviates(&READ_COMPLETE)? { Reply::Some(items) } else { Reply::Elements(items) };
        io.send(conn, reply)
    }
}

impl Workload for Set {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        let item = Item::Int(pick(10).cast_signed());
        match pick(40) {
            0..=15 => Message::Add(item),
            16..=23 => Message::Remove(item),
            24..=38 => Message::Contains(item),
            _ => Message::Read,
        }
    }
}
