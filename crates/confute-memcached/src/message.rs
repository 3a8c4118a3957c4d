//! What travels: requests one way, answers the other, each with the moment at which the tester met it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::data::Data;

/// The name of an item.
pub type Key = Arc<str>;

/// A `cas unique` as it was written. Compared, never understood.
pub type Unique = Arc<str>;

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// From the tester.
    Ask(Request),
    /// From the server.
    Answer(Answer),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// When its first byte was sent, in microseconds.
    #[serde(default)]
    pub sent_at: u64,
    /// Whether the server is told not to answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub noreply: bool,
    /// What the server is to do.
    pub command: Command,
}

/// What a server can be told to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// `get` or `gets`.
    Get {
        /// Which item.
        key: Key,
        /// More items. Each key is read at a moment of its own, so the model is told of each by itself: see
        /// [`Message::parts`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        more: Vec<Key>,
        /// Whether the `cas unique` is wanted: `gets`.
        unique: bool,
    },
    /// A storage command.
    Store {
        /// Which.
        how: Store,
        /// Which item.
        key: Key,
        /// Kept with the data.
        flags: u32,
        /// In how many seconds it expires: 0 is never, less is at once.
        exptime: i64,
        /// The data.
        data: Data,
    },
    /// `delete`.
    Delete {
        /// Which item.
        key: Key,
    },
    /// `incr` or `decr`.
    Count {
        /// Which item.
        key: Key,
        /// Whether to add.
        up: bool,
        /// How much.
        by: u64,
    },
    /// `touch`.
    Touch {
        /// Which item.
        key: Key,
        /// In how many seconds it expires.
        exptime: i64,
    },
}

/// The storage commands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Store {
    /// Store this.
    Set,
    /// Only if there is nothing.
    Add,
    /// Only if there is something.
    Replace,
    /// After what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// Only if nobody has changed it since it had this `cas unique`.
    Cas(Unique),
}

impl Store {
    /// What it is called.
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

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Answer {
    /// When its last byte was received, in microseconds.
    #[serde(default)]
    pub received_at: u64,
    /// What it says.
    pub line: Line,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// `VALUE`: an item, in answer to one key of a `get`.
    Value {
        /// Its key.
        key: Key,
        /// Its flags.
        flags: u32,
        /// Its data.
        data: Data,
        /// Its `cas unique`, if sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unique: Option<Unique>,
    },
    /// `END` came, and this key had no `VALUE`.
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
    /// A line that begins with a digit: a number, perhaps with blanks after it.
    Number(Arc<str>),
    /// `ERROR`.
    Error,
    /// `CLIENT_ERROR`, with what comes after it.
    ClientError(Data),
    /// `SERVER_ERROR`, with what comes after it.
    ServerError(Data),
    /// Bytes that are no answer to what was asked. Of a flood only the beginning is kept.
    Garbage(Data),
}

impl Message {
    /// What the model is told of: of a `get` every key by itself, everything else as it is.
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
    /// The item that it is about; of several, the first.
    pub fn key(&self) -> &Key {
        match self {
            Command::Get { key, .. }
            | Command::Store { key, .. }
            | Command::Delete { key }
            | Command::Count { key, .. }
            | Command::Touch { key, .. } => key,
        }
    }

    /// Whether an answer has the form of one to this command.
    pub fn may_get(&self, line: &Line) -> bool {
        if matches!(line, Line::Error | Line::ClientError(_) | Line::ServerError(_)) {
            return true;
        }
        match self {
            Command::Get { key: asked, unique: wanted, .. } => match line {
                Line::Value { key, unique, .. } => key == asked && (!wanted || unique.is_some()),
                line => *line == Line::Miss,
            },
            Command::Store { how: Store::Cas(_), .. } => {
                matches!(line, Line::Stored | Line::Exists | Line::NotFound)
            }
            Command::Store { .. } => matches!(line, Line::Stored | Line::NotStored),
            Command::Delete { .. } => matches!(line, Line::Deleted | Line::NotFound),
            Command::Touch { .. } => matches!(line, Line::Touched | Line::NotFound),
            Command::Count { .. } => match line {
                Line::Number(text) => text.trim_end_matches(' ').parse::<u64>().is_ok(),
                line => *line == Line::NotFound,
            },
        }
    }

    /// As a message that is answered.
    pub fn asked(self) -> Message {
        Message::Ask(Request { sent_at: 0, noreply: false, command: self })
    }

    /// As a message that is not answered.
    pub fn hushed(self) -> Message {
        Message::Ask(Request { sent_at: 0, noreply: true, command: self })
    }
}

impl From<Line> for Message {
    fn from(line: Line) -> Self {
        Message::Answer(Answer { received_at: 0, line })
    }
}
