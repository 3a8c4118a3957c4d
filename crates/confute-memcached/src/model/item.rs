//! What a server keeps under a key.

use std::fmt;

use confute::knowledge::Var;
use confute::lang::{HasVars, Number, Sym, Token};

use crate::data::Data;

/// How many tokens of the past a new one is compared with.
const REMEMBERED: usize = 2;

/// The data of an item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    /// These bytes.
    Exact(Data),
    /// A number that got shorter: blanks may follow, up to this width.
    Padded {
        /// The number.
        number: u64,
        /// How long the data may be.
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
    /// Whether these bytes are it.
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

    /// How long it can be at most.
    pub(crate) fn width(&self) -> usize {
        match self {
            Content::Exact(data) => data.len(),
            Content::Padded { width, .. } => *width,
        }
    }
}

/// An item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    pub(crate) content: Content,
    pub(crate) flags: u32,
    /// Its `cas unique`.
    pub(crate) token: Sym<Token>,
    /// When it is lost, if nobody changes it.
    pub(crate) gone: Sym<Number>,
    /// When it expires, if it does.
    pub(crate) dies: Option<Sym<Number>>,
}
confute::secrets!(Item { token, gone, dies });

/// What lies in a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) item: Option<Item>,
    /// The tokens before, latest first.
    pub(crate) old: Vec<Sym<Token>>,
}

impl HasVars for Entry {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.item.vars(visit);
        self.old.vars(visit);
    }
}

impl Entry {
    /// The entry after this item, with nothing in it yet.
    pub(crate) fn followed(mut self, item: &Item) -> Self {
        self.old.insert(0, item.token.clone());
        self.old.truncate(REMEMBERED);
        Self { item: None, ..self }
    }
}
