//! Elements of collections: what a client puts into a queue, a stack, a set or a list.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An element: an integer or a text.
///
/// A text is printed in quotes, with escapes, so that `1` and `"1"` differ, and a sequence of printed elements can be
/// read in one way only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Item {
    /// An integer.
    Int(i64),
    /// A text.
    Text(Arc<str>),
}
confute::plain!(Item);

impl From<i64> for Item {
    fn from(number: i64) -> Self {
        Item::Int(number)
    }
}

impl From<&str> for Item {
    fn from(text: &str) -> Self {
        Item::Text(text.into())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Int(number) => number.fmt(f),
            Item::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// Writes elements in brackets, with a space between two.
pub(crate) fn bracketed<'a>(
    f: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = &'a Item>,
) -> fmt::Result {
    f.write_str("[")?;
    for (place, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if place == 0 { "" } else { " " })?;
    }
    f.write_str("]")
}
