//! The content of a key.

use confute::knowledge::Var;
use confute::lang::{Conn, HasVars, Number, Sym};

/// Seconds from which a time to live is longer than any case.
const LONG: u32 = 1_000;

/// The content of a key, and the connections that would notice if it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// The value; none if the key does not exist.
    pub(crate) value: Option<Value>,
    /// The last change was an INCR.
    pub(crate) is_counted: bool,
    /// The time to live, in seconds.
    pub(crate) life: Option<u32>,
    /// The time by which the key is gone, if it is known.
    pub(crate) dies: Option<Death>,
    /// Connections that watch the key and for which it is unchanged, in order.
    pub(crate) watchers: Vec<Conn>,
}

/// The time by which a key is gone: so many milliseconds after the server's clock showed a secret time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Death {
    pub(crate) from: Sym<Number>,
    pub(crate) after: i64,
}

impl HasVars for Entry {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        if let Some(death) = &self.dies {
            death.from.vars(visit);
        }
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// A string.
    Text(String),
    /// A list, never empty, the head first.
    List(Vec<String>),
}

impl Entry {
    /// Replaces the value. The key lives for ever again.
    pub(crate) fn store(&mut self, text: &str) {
        *self = Self { value: Some(Value::Text(text.to_owned())), ..Self::default() };
    }

    /// Changes the value, and keeps the time to live.
    pub(crate) fn change(&mut self, value: Value) {
        self.value = match value {
            Value::List(list) if list.is_empty() => None,
            value => Some(value),
        };
        if self.value.is_none() {
            (self.life, self.dies) = (None, None);
        }
        self.is_counted = false;
        self.watchers.clear();
    }

    /// Removes the key.
    pub(crate) fn remove(&mut self) {
        *self = Self::default();
    }

    /// Returns `true` if the key may expire during a case.
    pub(crate) fn may_expire(&self) -> bool {
        self.life.is_some_and(|seconds| seconds < LONG)
    }

    /// Notes that a connection watches the key.
    pub(crate) fn watch(&mut self, conn: Conn) {
        if let Err(place) = self.watchers.binary_search(&conn) {
            self.watchers.insert(place, conn);
        }
    }
}
