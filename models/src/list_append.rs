//! Lists under keys, changed by transactions. *Teaches: requests of several steps.*
//!
//! A transaction concerns one key and takes effect as a whole, at one moment between its request and its response: its
//! steps are appends to the list and reads of it, in order, and a read sees the appends of its own transaction that
//! stand before it. This is Jepsen's `list-append`, with one key for each transaction, under strict serializability.
//! Transactions of several keys are not modelled.
//!
//! A list is a [`Text`] in which a space ends every element: a transaction that only appends grows the text without
//! reading it, and a later read shows in which order the appends took effect.

use std::fmt;

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{Io, Level, Mismatch, Pattern, Rule, ServerModel, Slot, Stop, Table, Text, Turn};
use serde::{Deserialize, Serialize};

use crate::Workload;
use crate::item::Item;

/// Rule that an append is kept.
pub const APPEND_LASTS: Rule = Rule {
    name: "list-append/append-lasts",
    level: Level::Store,
    summary: "The elements of a confirmed transaction stay in the list.",
};
/// Rule that an append happens once.
pub const APPEND_ONCE: Rule =
    Rule::must("list-append/append-once", "An element is appended once for each `append`.");
/// Rule that a transaction takes effect as a whole.
pub const AS_A_WHOLE: Rule = Rule::must(
    "list-append/as-a-whole",
    "A transaction takes effect as a whole: all of its appends, or none.",
);
/// Rule that a read returns the present list.
pub const READ_CURRENT: Rule = Rule {
    name: "list-append/read-current",
    level: Level::Store,
    summary: "A read returns the whole list at this moment, not an earlier state of it.",
};

/// A step of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Appends an element to the list.
    Append(Item),
    /// Reads the list.
    Read,
}

/// A message on a connection: a transaction or its response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request to perform a transaction.
    Txn {
        /// The key whose list is meant.
        key: Item,
        /// Steps, in order.
        steps: Vec<Step>,
    },
    /// Response: for each read of the transaction the list that it returned. Each element is followed by a space.
    Done(Vec<Text>),
}

/// Returns the list of these elements as it stands in messages.
pub fn list<'a>(items: impl IntoIterator<Item = &'a Item>) -> Text {
    items.into_iter().fold(Text::new(), |list, item| list.append_str(&format!("{item} ")))
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Txn { key, steps } => {
                write!(f, "txn {key}:")?;
                for (place, step) in steps.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    match step {
                        Step::Append(item) => write!(f, "{comma} append {item}")?,
                        Step::Read => write!(f, "{comma} read")?,
                    }
                }
                Ok(())
            }
            Message::Done(lists) => {
                f.write_str("done")?;
                lists.iter().try_for_each(|list| write!(f, " [{}]", list.to_string().trim_end()))
            }
        }
    }
}

/// The response of the model to a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reply(Vec<Read>);

/// The list that a read returns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Read {
    /// This list.
    All(Text),
    /// A beginning of this list: the response of a server that breaks [`READ_CURRENT`].
    Beginning(Text),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("done")?;
        self.0.iter().try_for_each(|read| match read {
            Read::All(list) => write!(f, " [{}]", list.to_string().trim_end()),
            Read::Beginning(list) => write!(f, " (a beginning of [{}])", list.to_string().trim_end()),
        })
    }
}

impl Pattern<Message> for Reply {
    fn unify(&self, seen: &Message, _: &mut Knowledge) -> Result<(), Mismatch> {
        let Message::Done(lists) = seen else { return Err(Mismatch) };
        let fits = |(read, seen): (&Read, &Text)| match read {
            Read::All(list) => list == seen,
            Read::Beginning(list) => list.starts_with(seen),
        };
        let same = self.0.len() == lists.len() && self.0.iter().zip(lists).all(fits);
        if same { Ok(()) } else { Err(Mismatch) }
    }

    fn instantiate(&self, _: &mut dyn FnMut(Var) -> Value) -> Message {
        let list = |read: &Read| match read {
            Read::All(list) => list.clone(),
            Read::Beginning(_) => Text::new(),
        };
        Message::Done(self.0.iter().map(list).collect())
    }
}

const LISTS: Table<Item, Text> = Table::new("lists");

/// Model of the lists.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListAppend;

impl ServerModel for ListAppend {
    type Msg = Message;
    type Out = Reply;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        let Message::Txn { key, steps } = &*request else { return io.replies(0) };
        let appends: Vec<&Item> = steps.iter().filter_map(Step::appended).collect();
        // A transaction without appends leaves the list alone.
        let cell = if appends.is_empty() { LISTS.view(io, key)? } else { LISTS.grow(io, key)? };
        let lists = if steps.contains(&Step::Read) { Self::read(io, &cell, steps)? } else { Vec::new() };
        Self::append(io, &cell, &appends)?;
        io.send(conn, Reply(lists))
    }

    fn may_grow_into(&self, sent: &Reply, seen: &Message) -> bool {
        match (&sent.0[..], seen) {
            ([Read::All(now)], Message::Done(lists)) if lists.len() == 1 => lists[0].starts_with(now),
            _ => true,
        }
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        match message {
            Message::Txn { steps, .. } if rule.name == AS_A_WHOLE.name => {
                steps.iter().filter_map(Step::appended).count() > 1
            }
            Message::Txn { .. } => rule.name != READ_CURRENT.name,
            Message::Done(lists) => rule.name == READ_CURRENT.name && !lists.is_empty(),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[APPEND_LASTS, APPEND_ONCE, AS_A_WHOLE, READ_CURRENT]
    }
}

impl Step {
    fn appended(&self) -> Option<&Item> {
        match self {
            Step::Append(item) => Some(item),
            Step::Read => None,
        }
    }
}

impl ListAppend {
    /// Performs the appends of a transaction.
    fn append(io: &mut Io<'_, Self>, cell: &Slot<Text>, items: &[&Item]) -> Turn {
        let kept = if items.is_empty() || io.deviates(&APPEND_LASTS)? {
            0
        } else if items.len() > 1 && io.deviates(&AS_A_WHOLE)? {
            1 + io.choose(items.len() - 1)?
        } else {
            items.len()
        };
        if kept == 0 {
            return Ok(());
        }
        let mut more = list(items[..kept].iter().copied());
        if io.deviates(&APPEND_ONCE)? {
            more = more.append(&more);
        }
        cell.append(io, &more)
    }

    /// Returns the lists that the reads of a transaction return.
    fn read(io: &mut Io<'_, Self>, cell: &Slot<Text>, steps: &[Step]) -> Result<Vec<Read>, Stop> {
        let mut now = cell.get(io)?.unwrap_or_default();
        let mut lists = Vec::new();
        for step in steps {
            match step {
                Step::Append(item) => now = now.append(&list([item])),
                Step::Read if io.deviates(&READ_CURRENT)? => lists.push(Read::Beginning(now.clone())),
                Step::Read => lists.push(Read::All(now.clone())),
            }
        }
        Ok(lists)
    }
}

impl Workload for ListAppend {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        let step = |pick: &mut dyn FnMut(u64) -> u64| match pick(2) {
            0 => Step::Read,
            _ => Step::Append(Item::Int(pick(1 << 40).cast_signed())),
        };
        let key = Item::Int(pick(5).cast_signed());
        let steps = (0..=pick(3)).map(|_| step(pick)).collect();
        Message::Txn { key, steps }
    }
}
