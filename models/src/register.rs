//! A register with compare-and-swap. *Teaches: several requests, and a rule for each guarantee.*
//!
//! Each rule covers one guarantee, so that a broken one can be distinguished from the others: a write that is
//! lost, a swap that does not compare, a read that returns nothing. A message that is not a request gets no
//! response, and the turn declares that first.

use std::fmt;

use confute::lang::{Conn, Io, Level, Register, Rule, ServerModel, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;

/// Rule that a read returns the value.
pub const READ_CURRENT: Rule = Rule {
    name: "register/read-current",
    level: Level::Store,
    summary: "A `read` returns the current value, not nil.",
};
/// Rule that a write is kept.
pub const WRITE_LASTS: Rule = Rule {
    name: "register/write-lasts",
    level: Level::Store,
    summary: "A confirmed `write` sets the value for all later requests.",
};
/// Rule that a swap happens only if the comparison succeeds.
pub const CAS_COMPARES: Rule = Rule {
    name: "register/cas-compares",
    level: Level::Must,
    summary: "A compare-and-swap replaces the value only if it is the expected one.",
};

/// A message on a connection: three requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request for the value.
    Read,
    /// Request to set the value.
    Write(i64),
    /// Request to set the value to `to` if it is `from`.
    Cas {
        /// The expected value.
        from: i64,
        /// The new value.
        to: i64,
    },
    /// Response with the value, nil before the first write.
    Value(Option<i64>),
    /// Response to a write.
    Written,
    /// Response to a compare-and-swap: `true` if the value was the expected one and was replaced.
    Swapped(bool),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Read => f.write_str("read"),
            Message::Write(value) => write!(f, "write {value}"),
            Message::Cas { from, to } => write!(f, "cas {from} to {to}"),
            Message::Value(Some(value)) => write!(f, "value {value}"),
            Message::Value(None) => f.write_str("value nil"),
            Message::Written => f.write_str("written"),
            Message::Swapped(true) => f.write_str("swapped"),
            Message::Swapped(false) => f.write_str("unchanged"),
        }
    }
}

const VALUE: Register<i64> = Register::new("value");

/// Model of the register.
#[derive(Clone, Copy, Debug, Default)]
pub struct CasRegister;

impl ServerModel for CasRegister {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match *request {
            Message::Read => Self::read(io, conn),
            Message::Write(value) => Self::write(io, conn, value),
            Message::Cas { from, to } => Self::cas(io, conn, from, to),
            Message::Value(_) | Message::Written | Message::Swapped(_) => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[READ_CURRENT, WRITE_LASTS, CAS_COMPARES]
    }
}

impl CasRegister {
    fn read(io: &mut Io<'_, Self>, conn: Conn) -> Turn {
        let value = VALUE.get(io)?;
        let value = if io.deviates(&READ_CURRENT)? { None } else { value };
        io.send(conn, Message::Value(value))
    }

    fn write(io: &mut Io<'_, Self>, conn: Conn, value: i64) -> Turn {
        let cell = VALUE.edit(io)?;
        if !io.deviates(&WRITE_LASTS)? {
            cell.set(io, value)?;
        }
        io.send(conn, Message::Written)
    }

    fn cas(io: &mut Io<'_, Self>, conn: Conn, from: i64, to: i64) -> Turn {
        let cell = VALUE.edit(io)?;
        let swaps = cell.get(io)? == Some(from) || io.deviates(&CAS_COMPARES)?;
        if swaps {
            cell.set(io, to)?;
        }
        io.send(conn, Message::Swapped(swaps))
    }
}

impl Workload for CasRegister {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        const VALUES: u64 = 5;
        match pick(3) {
            0 => Message::Read,
            1 => Message::Write(pick(VALUES).cast_signed()),
            _ => Message::Cas { from: pick(VALUES).cast_signed(), to: pick(VALUES).cast_signed() },
        }
    }
}
