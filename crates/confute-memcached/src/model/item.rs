//! Items and the cells that hold them.

use std::fmt;

use confute::knowledge::Var;
use confute::lang::{HasVars, Number, Sym, Token};

use crate::data::Data;

/// Number of earlier tokens that a new one is compared with.
const REMEMBERED: usize = 2;

/// The data of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    /// Exactly these bytes.
    Exact(Data),
    /// A number that became shorter than the data before it: blanks may follow, up to this width.
    Padded {
        /// The number.
        number: u64,
        /// Maximum length of the data, in bytes.
        width: usize,
    },
}
confute::plain!(Content);

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Exact(data) => data.fmt(f),
            Content::Padded { number, .. } => write!(f, "{number}"),
        }
    }
}

impl Content {
    /// Returns `true` if the item's data may be these bytes.
    pub(crate) fn fits(&self, data: &Data) -> bool {
        match self {
            Content::Exact(exact) => exact == data,
            Content::Padded { number, width } => {
                let digits = number.to_string();
                let rest = data.bytes().strip_prefix(digits.as_bytes());
                data.len() <= *width && rest.is_some_and(|rest| rest.iter().all(|byte| *byte == b' '))
            }
        }
    }

    /// Returns the maximum length of the data, in bytes.
    pub(crate) fn width(&self) -> usize {
        match self {
            Content::Exact(data) => data.len(),
            Content::Padded { width, .. } => *width,
        }
    }
}

/// An item that the server stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    pub(crate) content: Content,
    pub(crate) flags: u32,
    /// The item's `cas unique`.
    pub(crate) token: Sym<Token>,
    /// Time at which the server loses the item unless a request changes it.
    pub(crate) gone: Sym<Number>,
    /// Time at which the item expires, if it does.
    pub(crate) dies: Option<Sym<Number>>,
}
confute::secrets!(Item { token, gone, dies });

/// The content of a cell: the item of a key and its history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) item: Option<Item>,
    /// Earlier tokens of this key, latest first.
    pub(crate) old: Vec<Sym<Token>>,
}

impl HasVars for Entry {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.item.vars(visit);
        self.old.vars(visit);
    }
}

impl Entry {
    /// Returns the entry after this item is removed: its token joins the earlier ones.
    pub(crate) fn followed(mut self, item: &Item) -> Self {
        self.old.insert(0, item.token.clone());
        self.old.truncate(REMEMBERED);
        Self { item: None, ..self }
    }
}
