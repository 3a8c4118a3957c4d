//! Histories of the models: how each operation of a history is translated into messages.

mod lists;
mod sequences;
mod stores;

use confute::history::{Edn, Entry, Misfit};

use crate::item::Item;
pub use lists::LIST_APPEND;
pub use sequences::{QUEUE, STACK};
pub use stores::{COUNTER, KV, REGISTER, SET};

/// Returns an element of a collection. Values that are neither integers nor texts are compared by their EDN text.
fn item(entry: &Entry, value: &Edn) -> Result<Item, Misfit> {
    match value {
        Edn::Int(number) => Ok(Item::Int(*number)),
        Edn::Str(text) => Ok(Item::Text(text.clone())),
        Edn::Nil => Err(entry.misfit(&format!("{:?} needs a value that is not nil", &*entry.f))),
        other => Ok(Item::Text(other.to_string().into())),
    }
}

/// Returns the elements of a list, a vector or a set.
fn items(entry: &Entry, value: &Edn) -> Result<Vec<Item>, Misfit> {
    match value {
        Edn::Vector(values) | Edn::List(values) => values.iter().map(|value| item(entry, value)).collect(),
        Edn::Set(values) => values.iter().map(|value| item(entry, value)).collect(),
        other => Err(entry.misfit(&format!("{other} is not a list of elements"))),
    }
}

/// Returns an integer.
fn number(model: &str, entry: &Entry, value: &Edn) -> Result<i64, Misfit> {
    match value {
        Edn::Int(number) => Ok(*number),
        other => Err(entry.misfit(&format!("{other} is not a value of the {model} model (integers only)"))),
    }
}
