//! Messages of the protocol: requests and responses, each with the time at which the tester sent or received it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::Data;

/// The key of an item.
pub type Key = Arc<str>;

/// A `cas unique`, as it appears on the wire. It is only compared, never interpreted.
pub type Unique = Arc<str>;

/// A message on a connection, in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A request from the tester.
    Ask(Request),
    /// A response from the server.
    Answer(Answer),
}

/// A request with the time at which it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Time at which the first byte was sent, in microseconds.
    #[serde(default)]
    pub sent_at: u64,
    /// `true` if the server must not respond.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub noreply: bool,
    /// The command with its arguments.
    pub command: Command,
}

/// The commands of the text protocol that Confute sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// `get` or `gets`.
    Get {
        /// The first key.
        key: Key,
        /// Further keys. The server may read each key at a different moment, so the model receives one
        /// message per key: see [`Message::parts`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        more: Vec<Key>,
        /// `true` for `gets`, which also returns each item's `cas unique`.
        unique: bool,
    },
    /// A storage command.
    Store {
        /// The kind of storage command.
        how: Store,
        /// The key to store under.
        key: Key,
        /// Opaque flags, stored with the data.
        flags: u32,
        /// Expiration time in seconds from now: 0 never expires, a negative value expires at once.
        exptime: i64,
        /// The data to store.
        data: Data,
    },
    /// `delete`.
    Delete {
        /// The key to delete.
        key: Key,
    },
    /// `incr` or `decr`.
    Count {
        /// The key whose number changes.
        key: Key,
        /// `true` for `incr`, `false` for `decr`.
        up: bool,
        /// The amount to add or subtract.
        by: u64,
    },
    /// `touch`.
    Touch {
        /// The key to touch.
        key: Key,
        /// The new expiration time in seconds from now.
        exptime: i64,
    },
}

/// The storage commands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Stores unconditionally.
    Set,
    /// Stores only if the key holds no item.
    Add,
    /// Stores only if the key holds an item.
    Replace,
    /// Adds the data after that of the existing item.
    Append,
    /// Adds the data before that of the existing item.
    Prepend,
    /// Stores only if the item's `cas unique` is still this one.
    Cas(Unique),
}

impl Store {
    /// Returns the name of the command on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Store::Set => "set",
            Store::Add => "add",
            Store::Replace => "replace",
            Store::Append => "append",
            Store::Prepend => "prepend",
            Store::Cas(_) => "cas",
        }
    }
}

/// A response with the time at which it was received.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Answer {
    /// Time at which the last byte was received, in microseconds.
    #[serde(default)]
    pub received_at: u64,
    /// The parsed response.
    pub line: ResponseLine,
}

/// A parsed response. A response to a get is split into one `ResponseLine` per key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseLine {
    /// `VALUE`: an item, in response to one key of a `get`.
    Value {
        /// The key of the item.
        key: Key,
        /// The flags of the item.
        flags: u32,
        /// The data of the item.
        data: Data,
        /// The `cas unique` of the item, if the response has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unique: Option<Unique>,
    },
    /// `END` without a `VALUE` for this key.
    Miss,
    /// `STORED`.
    Stored,
    /// `NOT_STORED`.
    NotStored,
    /// `EXISTS`.
    Exists,
    /// `NOT_FOUND`.
    NotFound,
    /// `DELETED`.
    Deleted,
    /// `TOUCHED`.
    Touched,
    /// `OK`.
    Ok,
    /// A line of digits, perhaps followed by blanks.
    Number(Arc<str>),
    /// `ERROR`.
    Error,
    /// `CLIENT_ERROR`, with the rest of the line.
    ClientError(Data),
    /// `SERVER_ERROR`, with the rest of the line.
    ServerError(Data),
    /// Bytes that are no valid response to the request. Long input is truncated.
    Garbage(Data),
}

impl Message {
    /// Splits a message into those that the model receives: a `get` becomes one message per key, all others
    /// are unchanged.
    pub fn parts(&self) -> Vec<Message> {
        match self {
            Message::Ask(Request { sent_at, noreply, command: Command::Get { key, more, unique } }) => {
                let part = |key: &Key| {
                    let command = Command::Get { key: key.clone(), more: Vec::new(), unique: *unique };
                    Message::Ask(Request { sent_at: *sent_at, noreply: *noreply, command })
                };
                std::iter::once(key).chain(more).map(part).collect()
            }
            other => vec![other.clone()],
        }
    }
}

impl Command {
    /// Returns the key that the command is about; of several keys, the first.
    pub fn key(&self) -> &Key {
        match self {
            Command::Get { key, .. }
            | Command::Store { key, .. }
            | Command::Delete { key }
            | Command::Count { key, .. }
            | Command::Touch { key, .. } => key,
        }
    }

    /// Returns `true` if `line` has the form of a response to this command.
    pub fn may_get(&self, line: &ResponseLine) -> bool {
        if matches!(line, ResponseLine::Error | ResponseLine::ClientError(_) | ResponseLine::ServerError(_)) {
            return true;
        }
        match self {
            Command::Get { key: asked, unique: wanted, .. } => match line {
                ResponseLine::Value { key, unique, .. } => key == asked && (!wanted || unique.is_some()),
                line => *line == ResponseLine::Miss,
            },
            Command::Store { how: Store::Cas(_), .. } => {
                matches!(line, ResponseLine::Stored | ResponseLine::Exists | ResponseLine::NotFound)
            }
            Command::Store { .. } => matches!(line, ResponseLine::Stored | ResponseLine::NotStored),
            Command::Delete { .. } => matches!(line, ResponseLine::Deleted | ResponseLine::NotFound),
            Command::Touch { .. } => matches!(line, ResponseLine::Touched | ResponseLine::NotFound),
            Command::Count { .. } => match line {
                ResponseLine::Number(text) => text.trim_end_matches(' ').parse::<u64>().is_ok(),
                line => *line == ResponseLine::NotFound,
            },
        }
    }

    /// Returns this command as a request that expects a response.
    pub fn asked(self) -> Message {
        Message::Ask(Request { sent_at: 0, noreply: false, command: self })
    }

    /// Returns this command as a request with `noreply`.
    pub fn hushed(self) -> Message {
        Message::Ask(Request { sent_at: 0, noreply: true, command: self })
    }
}

impl From<ResponseLine> for Message {
    fn from(line: ResponseLine) -> Self {
        Message::Answer(Answer { received_at: 0, line })
    }
}
