//! Requests of a script, with references to earlier responses.

use confute_drive::Past;
use serde::{Deserialize, Serialize};

use crate::message::{Command, Key, Message, ResponseLine, Store, Unique};
use crate::protocol::Memcached;

/// A request that may refer to earlier responses. Keys are numbers, because their names differ from case to case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// `get` or `gets`.
    Get {
        /// The keys to read.
        keys: Vec<u32>,
        /// `true` for `gets`, which also returns each item's `cas unique`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unique: bool,
    },
    /// A storage command.
    Store {
        /// The kind of storage command; a cas takes its `cas unique` from `token`.
        how: StoreKind,
        /// The key to store under.
        key: u32,
        /// The flags stored with the data.
        #[serde(default)]
        flags: u32,
        /// Expiration time in seconds, as sent in the request.
        #[serde(default)]
        exptime: i64,
        /// The data to store.
        data: String,
        /// The `cas unique` to send; only for a cas.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<TokenRef>,
        /// `true` if the server must not respond.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `delete`.
    Delete {
        /// The key to delete.
        key: u32,
        /// `true` if the server must not respond.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `incr` or `decr`.
    Count {
        /// The key whose number changes.
        key: u32,
        /// `true` for `incr`, `false` for `decr`.
        up: bool,
        /// The amount to add or subtract.
        by: u64,
        /// `true` if the server must not respond.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
    /// `touch`.
    Touch {
        /// The key to touch.
        key: u32,
        /// Expiration time in seconds, as sent in the request.
        exptime: i64,
        /// `true` if the server must not respond.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        noreply: bool,
    },
}

/// The storage commands, without arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// Stores unconditionally.
    Set,
    /// Stores only if the key holds no item.
    Add,
    /// Stores only if the key holds an item.
    Replace,
    /// Adds the data after that of the existing item.
    Append,
    /// Adds the data before that of the existing item.
    Prepend,
    /// Stores only if the item's `cas unique` is the one given.
    Cas,
}

/// Reference to the `cas unique` that a cas sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenRef {
    /// The `cas unique` that the response to this step carried for this key. It may be current or stale, and
    /// the key may differ from the one of the cas.
    Seen {
        /// The step of the script.
        step: usize,
        /// The key that the response was about.
        key: u32,
    },
    /// A number that no response supplied.
    Guess(u64),
}

impl Ask {
    /// Returns `true` if the request has `noreply`, so that the server sends no response.
    pub fn is_quiet(&self) -> bool {
        match self {
            Ask::Get { .. } => false,
            Ask::Store { noreply, .. }
            | Ask::Delete { noreply, .. }
            | Ask::Count { noreply, .. }
            | Ask::Touch { noreply, .. } => *noreply,
        }
    }

    /// Returns this request with the step that it refers to renumbered by `now`.
    pub(crate) fn renumber(&self, now: &dyn Fn(usize) -> usize) -> Ask {
        let mut ask = self.clone();
        if let Ask::Store { token: Some(TokenRef::Seen { step, .. }), .. } = &mut ask {
            *step = now(*step);
        }
        ask
    }

    /// Returns simpler variants of this request, for shrinking.
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
        // Half of the data may equal that of another request; a candidate counts only if it fails again.
        add(&|_, _, data| *data = data.chars().take((data.chars().count() / 2).max(1)).collect());
        simpler
    }

    /// Returns the message to send, or `None` if the request refers to a token that was never received.
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
                ResponseLine::Value { key: seen, unique: Some(unique), .. } if *seen == key => {
                    Some(unique.clone())
                }
                _ => None,
            },
            Message::Ask(_) => None,
        })
    }
}

/// Returns the name of a key in this case.
fn named(case: &str, key: u32) -> Key {
    format!("{case}-k{key}").into()
}
