//! Histories of queues and stacks.

use confute::history::{Edn, Entry, Misfit, Phase, Reading, Translated};

use super::{item, items};
use crate::{queue, stack};

/// Histories of enqueues and dequeues, and of Jepsen's drains.
pub static QUEUE: Reading<queue::Message> = Reading {
    model: "queue",
    has_keys: false,
    operations: "enqueue, dequeue and drain",
    messages: |entry, end| {
        use queue::Message;
        match &*entry.f {
            "enqueue" => Translated::simple(Message::Enqueue(item(entry, &entry.value)?), end, |_| {
                Ok(Message::Enqueued)
            }),
            "dequeue" => Translated::simple(Message::Dequeue, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Empty),
                value => Ok(Message::Dequeued(item(end, value)?)),
            }),
            "drain" => drain(entry, end),
            _ => Err(QUEUE.unknown(entry)),
        }
    },
};

/// Histories of pushes and pops.
pub static STACK: Reading<stack::Message> = Reading {
    model: "stack",
    has_keys: false,
    operations: "push and pop",
    messages: |entry, end| {
        use stack::Message;
        match &*entry.f {
            "push" => {
                Translated::simple(Message::Push(item(entry, &entry.value)?), end, |_| Ok(Message::Pushed))
            }
            "pop" => Translated::simple(Message::Pop, end, |end| match &end.value {
                Edn::Nil => Ok(Message::Empty),
                value => Ok(Message::Popped(item(end, value)?)),
            }),
            _ => Err(STACK.unknown(entry)),
        }
    },
};

/// Translates a drain: several dequeues of one client, one after the other. Others may dequeue in between, so nothing
/// is concluded from its end.
fn drain(entry: &Entry, end: Option<&Entry>) -> Result<Translated<queue::Message>, Misfit> {
    if end.is_some_and(|end| end.phase == Phase::Fail) {
        return Ok(Translated::none());
    }
    let Some(end) = end.filter(|end| end.phase == Phase::Ok) else {
        let what =
            "a drain without a known end may have dequeued any number of items; end the history before it";
        return Err(entry.misfit(what));
    };
    let drained = items(end, &end.value)?;
    Ok(Translated {
        requests: vec![queue::Message::Dequeue; drained.len()],
        responses: Some(drained.into_iter().map(queue::Message::Dequeued).collect()),
    })
}
