//! A key-value store with append. *Teaches: tables.*
//!
//! Each key has a cell of its own. Because a turn opens its cells before it reads any, the tester knows from
//! the message alone which cells are concerned, and searches every key separately. [`Text`] makes appending
//! cheap: it shares its earlier pieces, and two texts are equal if their content is equal, regardless of the
//! pieces.

use std::fmt;
use std::sync::Arc;

use confute::lang::{Io, Level, Rule, ServerModel, Table, Text, Turn};
use serde::{Deserialize, Serialize};

use crate::{Workload, mark};

/// Rule that a get returns the latest value.
pub const READ_SEES_LATEST: Rule = Rule {
    name: "kv/read-sees-latest",
    level: Level::Store,
    summary: "A `get` returns the latest value stored under the key.",
};
/// Rule that a put is kept.
pub const PUT_LASTS: Rule = Rule {
    name: "kv/put-lasts",
    level: Level::Store,
    summary: "A confirmed `put` replaces the value for all later requests.",
};
/// Rule that an append keeps the value before it.
pub const APPEND_KEEPS: Rule = Rule {
    name: "kv/append-keeps",
    level: Level::Store,
    summary: "An `append` keeps the value that was stored before.",
};

/// A message on a connection: three requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request for the value of a key.
    Get(Arc<str>),
    /// Request to set the value of a key.
    Put(Arc<str>, Text),
    /// Request to append to the value of a key.
    Append(Arc<str>, Text),
    /// Response with the value; the value of a key that was never written is empty.
    Value(Text),
    /// Response to a put or an append.
    Done,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Get(key) => write!(f, "get {key:?}"),
            Message::Put(key, value) => write!(f, "put {key:?} {value:?}"),
            Message::Append(key, value) => write!(f, "append {key:?} {value:?}"),
            Message::Value(value) => write!(f, "value {value:?}"),
            Message::Done => f.write_str("done"),
        }
    }
}

const VALUES: Table<Arc<str>, Text> = Table::new("values");

/// Model of the key-value store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kv;

impl ServerModel for Kv {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Get(key) => {
                let cell = VALUES.view(io, key)?;
                let forgets = io.deviates(&READ_SEES_LATEST)?;
                let value = if forgets { None } else { cell.get(io)? };
                io.send(conn, Message::Value(value.unwrap_or_default()))
            }
            Message::Put(key, value) => {
                let cell = VALUES.edit(io, key)?;
                if !io.deviates(&PUT_LASTS)? {
                    cell.set(io, value.clone())?;
                }
                io.send(conn, Message::Done)
            }
            Message::Append(key, value) => {
                let cell = VALUES.grow(io, key)?;
                if io.deviates(&APPEND_KEEPS)? {
                    cell.set(io, value.clone())?;
                } else {
                    cell.append(io, value)?;
                }
                io.send(conn, Message::Done)
            }
            Message::Value(_) | Message::Done => io.replies(0),
        }
    }

    fn may_grow_into(&self, sent: &Message, seen: &Message) -> bool {
        match (sent, seen) {
            (Message::Value(now), Message::Value(later)) => later.starts_with(now),
            _ => true,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[READ_SEES_LATEST, PUT_LASTS, APPEND_KEEPS]
    }
}

impl Workload for Kv {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        let key = format!("k{}", pick(5)).into();
        match pick(10) {
            0 => Message::Put(key, (mark(pick) + " ").into()),
            1..=4 => Message::Append(key, (mark(pick) + " ").into()),
            _ => Message::Get(key),
        }
    }
}
