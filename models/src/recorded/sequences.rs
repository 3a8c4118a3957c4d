//! Histories of queues and stacks.

use confute::history::{Edn, Entry};

use super::{Exchange, Misfit, Reading, has_failed, is_done, item, items, misfit, simple, unknown};
use crate::{queue, stack};

/// Histories of enqueues and dequeues, and of Jepsen's drains.
pub static QUEUE: Reading<queue::Message> = Reading {
    model: "queue",
    has_keys: false,
    operations: "enqueue, dequeue and drain",
    exchange: |entry, end| {
        use queue::Message;
        match &*entry.f {
            "enqueue" => simple(Message::Enqueue(item(entry, &entry.value)?), end, |_| Ok(Message::Enqueued)),
            "dequeue" => simple(Message::Dequeue, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Empty),
                value => Ok(Message::Dequeued(item(end, value)?)),
            }),
            "drain" => drain(entry, end),
            _ => Err(unknown(&QUEUE, entry)),
        }
    },
};

/// Histories of pushes and pops.
pub static STACK: Reading<stack::Message> = Reading {
    model: "stack",
    has_keys: false,
    operations: "push and pop",
    exchange: |entry, end| {
        use stack::Message;
        match &*entry.f {
            "push" => simple(Message::Push(item(entry, &entry.value)?), end, |_| Ok(Message::Pushed)),
            "pop" => simple(Message::Pop, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Empty),
                value => Ok(Message::Popped(item(end, value)?)),
            }),
            _ => Err(unknown(&STACK, entry)),
        }
    },
};

/// Translates a drain: several dequeues of one client, one after the other. Others may dequeue in between, so nothing
/// is concluded from its end.
fn drain(entry: &Entry, end: Option<&Entry>) -> Result<Exchange<queue::Message>, Misfit> {
    if has_failed(end) {
        return Ok(Exchange::none());
    }
    let Some(end) = end.filter(|end| is_done(Some(end))) else {
        let what =
            "a drain without a known end may have dequeued any number of items; end the history before it";
        return Err(misfit(entry, what));
    };
    let drained = items(end, &end.value)?;
    Ok(Exchange {
        requests: vec![queue::Message::Dequeue; drained.len()],
        responses: Some(drained.into_iter().map(queue::Message::Dequeued).collect()),
    })
}
