//! A server that issues numbers, each greater than the last. *Teaches: ordered secrets.*
//!
//! The next number is the server's secret; the model only requires that it is greater than the one before
//! ([`Io::assume`]). From the observed numbers the tester infers the order in which the requests reached the
//! server, and refutes a server whose numbers fit no such order.

use std::fmt;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Io, Level, Mismatch, Number, Pattern, Register, Rule, ServerModel, Sym, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;

/// Rule that numbers increase.
pub const INCREASING: Rule = Rule {
    name: "ticket/increasing",
    level: Level::Must,
    summary: "A number is greater than every number issued before.",
};

/// A message on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request for a number.
    Take,
    /// Response with a number.
    Ticket(i64),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Take => f.write_str("take"),
            Message::Ticket(number) => write!(f, "ticket {number}"),
        }
    }
}

/// A ticket of the model, with a number that may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(Sym<Number>);

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ticket {}", self.0)
    }
}

impl Pattern<Message> for Ticket {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match seen {
            Message::Ticket(number) => self.0.unify(number, facts),
            Message::Take => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        Message::Ticket(self.0.instantiate(value))
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.0.vars(visit);
    }
}

const LAST: Register<Sym<Number>> = Register::new("last");

/// Model of the ticket server.
#[derive(Clone, Copy, Debug, Default)]
pub struct TicketOffice;

impl ServerModel for TicketOffice {
    type Msg = Message;
    type Out = Ticket;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let Message::Take = *request else { return io.replies(0) };
        let cell = LAST.edit(io)?;
        let number = io.fresh::<Number>()?;
        if let Some(last) = cell.get(io)? {
            let repeats = io.deviates(&INCREASING)?;
            let bound = if repeats { number.at_most(&last, 0) } else { last.less_than(&number) };
            io.assume(bound)?;
        }
        cell.set(io, number.clone())?;
        io.send(conn, Ticket(number))
    }

    fn rules(&self) -> &'static [Rule] {
        &[INCREASING]
    }
}

impl Workload for TicketOffice {
    fn request(&self, _: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        Message::Take
    }
}
