//! Histories of Jepsen's `list-append`: transactions of one key.

use confute::history::{Edn, Entry, Misfit, Reading, Translated};
use confute::lang::Text;

use super::{item, items};
use crate::item::Item;
use crate::list_append::{Message, Step, list};

/// Histories of transactions, `[[:append k v] [:r k nil]]`, and of single appends and reads with a `:key`.
pub static LIST_APPEND: Reading<Message> = Reading {
    model: "list-append",
    has_keys: true,
    operations: "txn, append and read",
    messages: |entry, end| match &*entry.f {
        "txn" => {
            let steps = micro(entry)?;
            let Some(key) = steps.first().map(|step| step.key.clone()) else {
                return Err(entry.misfit("the transaction has no steps; remove it"));
            };
            if let Some(other) = steps.iter().find(|step| step.key != key) {
                let what = format!(
                    "the transaction has keys {key} and {}; the list-append model judges transactions of one key",
                    other.key
                );
                return Err(entry.misfit(&what));
            }
            let steps: Vec<Step> = steps.into_iter().map(|step| step.step).collect();
            Translated::simple(Message::Txn { key, steps: steps.clone() }, end, |end| reads(end, &steps))
        }
        "append" | "read" | "r" => {
            let Some(key) = &entry.key else {
                return Err(entry.misfit("an operation that is not a txn needs a :key"));
            };
            let key = item(entry, key)?;
            let reads = &*entry.f != "append";
            let step = if reads { Step::Read } else { Step::Append(item(entry, &entry.value)?) };
            Translated::simple(Message::Txn { key, steps: vec![step] }, end, |end| {
                Ok(Message::Done(if reads { vec![read(end, &end.value)?] } else { Vec::new() }))
            })
        }
        _ => Err(LIST_APPEND.unknown(entry)),
    },
};

/// A step of a transaction, as written in the history.
struct Micro {
    key: Item,
    step: Step,
    /// The value: the element, or the list that was read.
    value: Edn,
}

fn micro(entry: &Entry) -> Result<Vec<Micro>, Misfit> {
    let (Edn::Vector(steps) | Edn::List(steps)) = &entry.value else {
        return Err(entry.misfit("a txn needs its steps: [[:append key value] [:r key nil]]"));
    };
    let one = |step: &Edn| {
        let (Edn::Vector(parts) | Edn::List(parts)) = step else { return Err(odd(entry, step)) };
        let [name, key, value] = &parts[..] else { return Err(odd(entry, step)) };
        let (Edn::Keyword(name) | Edn::Str(name) | Edn::Symbol(name)) = name else {
            return Err(odd(entry, step));
        };
        let kind = match &**name {
            "append" => Step::Append(item(entry, value)?),
            "r" | "read" => Step::Read,
            _ => return Err(odd(entry, step)),
        };
        Ok(Micro { key: item(entry, key)?, step: kind, value: value.clone() })
    };
    steps.iter().map(one).collect()
}

fn odd(entry: &Entry, step: &Edn) -> Misfit {
    entry.misfit(&format!("{step} is no step of a transaction: [:append key value] or [:r key nil]"))
}

/// Returns the response to a transaction with these steps.
fn reads(end: &Entry, steps: &[Step]) -> Result<Message, Misfit> {
    let done = micro(end)?;
    if !done.iter().map(|one| &one.step).eq(steps) {
        return Err(end.misfit("the steps of the completion are not those that were invoked"));
    }
    let reads = done.iter().filter(|one| one.step == Step::Read);
    Ok(Message::Done(reads.map(|one| read(end, &one.value)).collect::<Result<_, _>>()?))
}

/// Returns the list that was read. That of a key without a list is nil.
fn read(end: &Entry, value: &Edn) -> Result<Text, Misfit> {
    if *value == Edn::Nil { Ok(Text::new()) } else { Ok(list(&items(end, value)?)) }
}
