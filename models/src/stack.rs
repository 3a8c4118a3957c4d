//! A stack. *Teaches: two models that differ in one rule.*
//!
//! It is the [`queue`](crate::queue) with the other end: a pop returns the item that was pushed last. Histories that
//! look alike have different verdicts: after `push 1`, `push 2`, one at a time, a queue returns 1 and a stack 2.

use std::fmt;

use confute::lang::{About, Conn, Io, Level, Register, Rule, ServerModel, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;
use crate::item::Item;
use crate::sequences::Lifo;

/// Rule that an pushed item is kept.
pub const PUSH_LASTS: Rule = Rule {
    name: "stack/push-lasts",
    level: Level::Store,
    summary: "An item of a confirmed `push` stays in the stack until it is popped.",
};
/// Rule that a pop removes its item.
pub const POP_REMOVES: Rule =
    Rule::must("stack/pop-removes", "A `pop` removes the item that it returns: no item is returned twice.");
/// Rule that the latest item leaves first.
pub const LATEST_FIRST: Rule =
    Rule::must("stack/latest-first", "A `pop` returns the item that was pushed last.");
/// Rule that only an empty stack is called empty.
pub const EMPTY_IF_EMPTY: Rule = Rule {
    name: "stack/empty-if-empty",
    level: Level::Store,
    summary: "A `pop` finds nothing only if no item is in the stack.",
};

/// A message on a connection: two requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request to put an item on top.
    Push(Item),
    /// Request for the item on top.
    Pop,
    /// Response to an push.
    Pushed,
    /// Response to a pop: the item that was removed.
    Popped(Item),
    /// Response to a pop of an empty stack.
    Empty,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Push(item) => write!(f, "push {item}"),
            Message::Pop => f.write_str("pop"),
            Message::Pushed => f.write_str("pushed"),
            Message::Popped(item) => write!(f, "popped {item}"),
            Message::Empty => f.write_str("empty"),
        }
    }
}

const ITEMS: Register<Lifo> = Register::new("items");

/// Model of the stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack;

impl ServerModel for Stack {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Push(item) => Self::push(io, conn, item),
            Message::Pop => Self::pop(io, conn),
            Message::Pushed | Message::Popped(_) | Message::Empty => io.replies(0),
        }
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        // Only an `empty` can show that the rule was broken.
        *rule != EMPTY_IF_EMPTY || *message == Message::Empty
    }

    fn about(&self, request: &Message, response: Option<&Message>) -> About {
        match (request, response) {
            (Message::Push(item), _) | (Message::Pop, Some(Message::Popped(item))) => About::value(item),
            (Message::Pop, Some(Message::Empty)) => About::Nothing,
            _ => About::Anything,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[PUSH_LASTS, POP_REMOVES, LATEST_FIRST, EMPTY_IF_EMPTY]
    }
}

impl Stack {
    fn push(io: &mut Io<'_, Self>, conn: Conn, item: &Item) -> Turn {
        let items = ITEMS.edit(io)?;
        if !io.deviates(&PUSH_LASTS)? {
            items.update(io, |before| Some(before.unwrap_or_default().push(item.clone())))?;
        }
        io.send(conn, Message::Pushed)
    }

    fn pop(io: &mut Io<'_, Self>, conn: Conn) -> Turn {
        let cell = ITEMS.edit(io)?;
        let items = cell.get(io)?.unwrap_or_default();
        if items.is_empty() || io.deviates(&EMPTY_IF_EMPTY)? {
            return io.send(conn, Message::Empty);
        }
        let others = items.len() - 1;
        let place = if others > 0 && io.deviates(&LATEST_FIRST)? { 1 + io.choose(others)? } else { 0 };
        let Some((item, rest)) = items.take(place) else { return io.send(conn, Message::Empty) };
        if !io.deviates(&POP_REMOVES)? {
            // An empty stack is an empty cell, whatever was in it before.
            if rest.is_empty() { cell.clear(io) } else { cell.set(io, rest) }?;
        }
        io.send(conn, Message::Popped(item))
    }
}

impl Workload for Stack {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        // More pops than pushes keep the stack low, so that the order of its items shows soon.
        match pick(3) {
            0 => Message::Push(Item::Int(pick(1 << 40).cast_signed())),
            _ => Message::Pop,
        }
    }
}
