//! A counter. *Teaches: changes that commute, and a deviation that sends any value.*
//!
//! An addition changes the value without reading it, so the order of two additions shows nowhere. A server that breaks
//! [`READ_CURRENT`] may return any value: the model sends a [`Reply`] that every observed value fits, where a choice
//! among all values would be endless.

use std::fmt;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Conn, Io, Level, Mismatch, Pattern, Register, Rule, ServerModel, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;

/// Rule that an addition counts.
pub const ADD_LASTS: Rule = Rule {
    name: "counter/add-lasts",
    level: Level::Store,
    summary: "A confirmed `add` changes the value for all later reads.",
};
/// Rule that an addition counts once.
pub const ADD_ONCE: Rule = Rule::must("counter/add-once", "An `add` is applied once.");
/// Rule that a read returns the value.
pub const READ_CURRENT: Rule = Rule {
    name: "counter/read-current",
    level: Level::Store,
    summary: "A `read` returns the sum of everything that was added before.",
};

/// A message on a connection: two requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request to add a number, which may be negative.
    Add(i64),
    /// Request for the value.
    Read,
    /// Response to an addition.
    Added,
    /// Response with the value; 0 before the first addition.
    Value(i64),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Add(number) => write!(f, "add {number}"),
            Message::Read => f.write_str("read"),
            Message::Added => f.write_str("added"),
            Message::Value(value) => write!(f, "value {value}"),
        }
    }
}

/// A response of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// Exactly this message.
    Plain(Message),
    /// The response to a read of a server that breaks [`READ_CURRENT`]: any value.
    AnyValue {
        /// The value that a correct server would return.
        instead_of: i64,
    },
}

impl From<Message> for Reply {
    fn from(message: Message) -> Self {
        Reply::Plain(message)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Plain(message) => message.fmt(f),
            Reply::AnyValue { .. } => f.write_str("any value"),
        }
    }
}

impl Pattern<Message> for Reply {
    fn unify(&self, seen: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        let fits = match self {
            Reply::Plain(message) => message == seen,
            Reply::AnyValue { .. } => matches!(seen, Message::Value(_)),
        };
        if fits { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Message {
        match self {
            Reply::Plain(message) => message.clone(),
            Reply::AnyValue { instead_of } => Message::Value(instead_of.wrapping_sub(1)),
        }
    }
}

const VALUE: Register<i64> = Register::new("value");

/// Model of the counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl ServerModel for Counter {
    type Msg = Message;
    type Out = Reply;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match *request {
            Message::Add(number) => Self::add(io, conn, number),
            Message::Read => Self::read(io, conn),
            Message::Added | Message::Value(_) => io.replies(0),
        }
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        // The response to an addition tells nothing.
        let _ = rule;
        matches!(message, Message::Value(_))
    }

    fn rules(&self) -> &'static [Rule] {
        &[ADD_LASTS, ADD_ONCE, READ_CURRENT]
    }
}

impl Counter {
    fn add(io: &mut Io<'_, Self>, conn: Conn, number: i64) -> Turn {
        let value = VALUE.edit(io)?;
        let times = if io.deviates(&ADD_LASTS)? {
            0
        } else if io.deviates(&ADD_ONCE)? {
            2
        } else {
            1
        };
        if times > 0 {
            let number = number.wrapping_mul(times);
            value.update(io, |before| Some(before.unwrap_or_default().wrapping_add(number)))?;
        }
        io.send(conn, Message::Added)
    }

    fn read(io: &mut Io<'_, Self>, conn: Conn) -> Turn {
        let value = VALUE.get(io)?.unwrap_or_default();
        let reply = if io.deviates(&READ_CURRENT)? {
            Reply::AnyValue { instead_of: value }
        } else {
            Message::Value(value).into()
        };
        io.send(conn, reply)
    }
}

impl Workload for Counter {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        match pick(3) {
            0 => Message::Read,
            // Powers of two show which additions a value contains.
            _ => Message::Add(1 << pick(20)),
        }
    }
}
