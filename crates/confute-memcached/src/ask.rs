//! What can be asked, with references to what was seen.

use confute_drive::Past;
use serde::{Deserialize, Serialize};

use crate::message::{Command, Key, Line, Message, Store, Unique};
use crate::protocol::Memcached;

/// A request that may refer to earlier answers. Keys are numbers: what they are called differs from case to case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// `get` or `gets`.
    Get {
        /// Which items.
        keys: Vec<u32>,
        /// Whether their `cas unique` is wanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unique: bool,
    },
    /// A storage command.
    Store {
        /// Which; the `cas unique` of a cas is looked up in `token`.
        how: StoreKind,
        /// Which item.
        key: u32,
        /// Its flags.
        #[serde(default)]
        flags: u32,
        /// When it expires.
        #[serde(default)]
        exptime: i64,
        /// The data.
        data: String,
        /// For a cas.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<TokenRef>,
        /// Whether an answer is unwanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `delete`.
    Delete {
        /// Which item.
        key: u32,
        /// Whether an answer is unwanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `incr` or `decr`.
    Count {
        /// Which item.
        key: u32,
        /// Whether to add.
        up: bool,
        /// How much.
        by: u64,
        /// Whether an answer is unwanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `touch`.
    Touch {
        /// Which item.
        key: u32,
        /// When it expires.
        exptime: i64,
        /// Whether an answer is unwanted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
}

/// The storage commands, without what they refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// Store this.
    Set,
    /// Only if there is nothing.
    Add,
    /// Only if there is something.
    Replace,
    /// After what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// Only if the `cas unique` is right.
    Cas,
}

/// A `cas unique` to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRef {
    /// The one that the answer to this step gave for this key, current or stale, of the key it is sent for or another.
    Seen {
        /// The step of the script.
        step: usize,
        /// The key.
        key: u32,
    },
    /// A guess.
    Guess(u64),
}

impl Ask {
    /// Whether it gets no answer.
    pub fn is_quiet(&self) -> bool {
        match self {
            Ask::Get { .. } => false,
            Ask::Store { noreply, .. }
            | Ask::Delete { noreply, .. }
            | Ask::Count { noreply, .. }
            | Ask::Touch { noreply, .. } => *noreply,
        }
    }

    /// The same with another number for the step that it refers to.
    pub(crate) fn renumber(&self, now: &dyn Fn(usize) -> usize) -> Ask {
        let mut ask = self.clone();
        if let Ask::Store { token: Some(TokenRef::Seen { step, .. }), .. } = &mut ask {
            *step = now(*step);
        }
        ask
    }

    /// Asks that want less.
    pub(crate) fn simpler(&self) -> Vec<Ask> {
        let mut simpler = Vec::new();
        let mut add = |change: &dyn Fn(&mut u32, &mut i64, &mut String)| {
            let mut ask = self.clone();
            if let Ask::Store { flags, exptime, data, .. } = &mut ask {
                change(flags, exptime, data);
            }
            if ask != *self {
                simpler.push(ask);
            }
        };
        add(&|flags, _, _| *flags = 0);
        add(&|_, exptime, _| *exptime = 0);
        // The first characters tell it from others as well as all of them.
        add(&|_, _, data| *data = data.chars().take((data.chars().count() / 2).max(1)).collect());
        simpler
    }

    /// The message that it stands for. None if what it refers to was never seen.
    pub fn message(&self, case: &str, past: &Past<Memcached>) -> Option<Message> {
        let name = |key: &u32| named(case, *key);
        let wrap = |command: Command, noreply: bool| if noreply { command.hushed() } else { command.asked() };
        Some(match self {
            Ask::Get { keys, unique } => {
                let (first, more) = keys.split_first()?;
                let more = more.iter().map(name).collect();
                Command::Get { key: name(first), more, unique: *unique }.asked()
            }
            Ask::Store { how, key, flags, exptime, data, token, noreply } => {
                let how = match how {
                    StoreKind::Set => Store::Set,
                    StoreKind::Add => Store::Add,
                    StoreKind::Replace => Store::Replace,
                    StoreKind::Append => Store::Append,
                    StoreKind::Prepend => Store::Prepend,
                    StoreKind::Cas => Store::Cas(token.as_ref()?.look_up(case, past)?),
                };
                let data = data.as_str().into();
                wrap(Command::Store { how, key: name(key), flags: *flags, exptime: *exptime, data }, *noreply)
            }
            Ask::Delete { key, noreply } => wrap(Command::Delete { key: name(key) }, *noreply),
            Ask::Count { key, up, by, noreply } => {
                wrap(Command::Count { key: name(key), up: *up, by: *by }, *noreply)
            }
            Ask::Touch { key, exptime, noreply } => {
                wrap(Command::Touch { key: name(key), exptime: *exptime }, *noreply)
            }
        })
    }
}

impl TokenRef {
    fn look_up(&self, case: &str, past: &Past<Memcached>) -> Option<Unique> {
        let (step, key) = match *self {
            TokenRef::Guess(number) => return Some(number.to_string().into()),
            TokenRef::Seen { step, key } => (step, named(case, key)),
        };
        let replies = past.exchanges.iter().filter(|exchange| exchange.step == step);
        replies.flat_map(|exchange| &exchange.replies).find_map(|reply| match reply {
            Message::Answer(answer) => match &answer.line {
                Line::Value { key: seen, unique: Some(unique), .. } if *seen == key => Some(unique.clone()),
                _ => None,
            },
            Message::Ask(_) => None,
        })
    }
}

/// What a key is called in a case.
fn named(case: &str, key: u32) -> Key {
    format!("{case}-k{key}").into()
}
