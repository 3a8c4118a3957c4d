//! A queue. *Teaches: contents of any size.*
//!
//! The whole queue is one cell, because a dequeue depends on all that happened before. A [`Fifo`] is cheap to copy,
//! compare and hash, and an enqueue changes it without reading it (`Slot::update`): what an enqueue does cannot depend
//! on the content, so the search need not try it at every place.

use std::fmt;

use confute::lang::{About, Conn, Io, Level, Register, Rule, ServerModel, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;
use crate::item::Item;
use crate::sequences::Fifo;

/// Rule that an enqueued item is kept.
pub const ENQUEUE_LASTS: Rule = Rule {
    name: "queue/enqueue-lasts",
    level: Level::Store,
    summary: "An item of a confirmed `enqueue` stays in the queue until it is dequeued.",
};
/// Rule that a dequeue removes its item.
pub const DEQUEUE_REMOVES: Rule = Rule::must(
    "queue/dequeue-removes",
    "A `dequeue` removes the item that it returns: no item is returned twice.",
);
/// Rule that items leave in the order in which they came.
pub const IN_ORDER: Rule =
    Rule::must("queue/in-order", "A `dequeue` returns the item that was enqueued first.");
/// Rule that only an empty queue is called empty.
pub const EMPTY_IF_EMPTY: Rule = Rule {
    name: "queue/empty-if-empty",
    level: Level::Store,
    summary: "A `dequeue` finds nothing only if no item is in the queue.",
};

/// A message on a connection: two requests and their responses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request to add an item at the end.
    Enqueue(Item),
    /// Request for the first item.
    Dequeue,
    /// Response to an enqueue.
    Enqueued,
    /// Response to a dequeue: the item that was removed.
    Dequeued(Item),
    /// Response to a dequeue of an empty queue.
    Empty,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Enqueue(item) => write!(f, "enqueue {item}"),
            Message::Dequeue => f.write_str("dequeue"),
            Message::Enqueued => f.write_str("enqueued"),
            Message::Dequeued(item) => write!(f, "dequeued {item}"),
            Message::Empty => f.write_str("empty"),
        }
    }
}

const ITEMS: Register<Fifo> = Register::new("items");

/// Model of the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue;

impl ServerModel for Queue {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Enqueue(item) => Self::enqueue(io, conn, item),
            Message::Dequeue => Self::dequeue(io, conn),
            Message::Enqueued | Message::Dequeued(_) | Message::Empty => io.replies(0),
        }
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        // Only an `empty` can show that the rule was broken.
        *rule != EMPTY_IF_EMPTY || *message == Message::Empty
    }

    fn about(&self, request: &Message, response: Option<&Message>) -> About {
        match (request, response) {
            (Message::Enqueue(item), _) | (Message::Dequeue, Some(Message::Dequeued(item))) => {
                About::value(item)
            }
            (Message::Dequeue, Some(Message::Empty)) => About::Nothing,
            _ => About::Anything,
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[ENQUEUE_LASTS, DEQUEUE_REMOVES, IN_ORDER, EMPTY_IF_EMPTY]
    }
}

impl Queue {
    fn enqueue(io: &mut Io<'_, Self>, conn: Conn, item: &Item) -> Turn {
        let items = ITEMS.edit(io)?;
        if !io.deviates(&ENQUEUE_LASTS)? {
            items.update(io, |before| Some(before.unwrap_or_default().push(item.clone())))?;
        }
        io.send(conn, Message::Enqueued)
    }

    fn dequeue(io: &mut Io<'_, Self>, conn: Conn) -> Turn {
        let cell = ITEMS.edit(io)?;
        let items = cell.get(io)?.unwrap_or_default();
        if items.is_empty() || io.deviates(&EMPTY_IF_EMPTY)? {
            return io.send(conn, Message::Empty);
        }
        let others = items.len() - 1;
        let place = if others > 0 && io.deviates(&IN_ORDER)? { 1 + io.choose(others)? } else { 0 };
        let Some((item, rest)) = items.take(place) else { return io.send(conn, Message::Empty) };
        if !io.deviates(&DEQUEUE_REMOVES)? {
            // An empty queue is an empty cell, whatever was in it before.
            if rest.is_empty() { cell.clear(io) } else { cell.set(io, rest) }?;
        }
        io.send(conn, Message::Dequeued(item))
    }
}

impl Workload for Queue {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        // More dequeues than enqueues keep the queue short, so that the order of its items shows soon.
        match pick(3) {
            0 => Message::Enqueue(Item::Int(pick(1 << 40).cast_signed())),
            _ => Message::Dequeue,
        }
    }
}
