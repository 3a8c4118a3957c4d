//! A value with its earlier versions, for deviations that show an old one.
//!
//! A server that reads stale data responds with a value that was correct before. A model says so with a cell of [`Versions`]:
//!
//! ```
//! use confute::lang::{Io, Rule, ServerModel, Stop, Table, Turn, Versions};
//!
//! static FRESH: Rule = Rule::must("store/fresh", "A read returns the latest value.");
//! const CELLS: Table<String, Versions<String>> = Table::new("cells");
//!
//! # struct Store;
//! # impl ServerModel for Store {
//! #     type Msg = String;
//! #     type Out = String;
//! fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
//!     let (conn, request) = io.recv()?;
//!     let cell = CELLS.edit(io, &"it".to_owned())?;
//!     if let Some(value) = request.strip_prefix("set ") {
//!         cell.replace(io, value.to_owned(), &FRESH)?;
//!         return io.send(conn, "done");
//!     }
//!     let value = if io.deviates(&FRESH)? { cell.get_older(io)? } else { cell.get_now(io)? };
//!     io.send(conn, value.unwrap_or_default())
//! }
//! # }
//! # use confute::{Options, judge, network::Tcp, trace::{Event, WireConn}};
//! # let (c, tcp) = (WireConn(0), Tcp { breaks: false });
//! # let told = |answer: &str| [
//! #     Event::Sent(c, "set a".into()), Event::Received(c, "done".to_owned()),
//! #     Event::Sent(c, "set b".into()), Event::Received(c, "done".to_owned()),
//! #     Event::Sent(c, "get".into()), Event::Received(c, answer.to_owned()),
//! # ];
//! # let relaxed = Options { relaxed: vec![FRESH.name], ..Options::default() };
//! # assert!(judge(&Store, &tcp, &told("b"), &Options::default()).is_unrefuted());
//! # assert!(judge(&Store, &tcp, &told("a"), &Options::default()).is_refuted());
//! # assert!(judge(&Store, &tcp, &told("a"), &relaxed).is_unrefuted());
//! # assert!(judge(&Store, &tcp, &told("c"), &relaxed).is_refuted());
//! ```
//!
//! Earlier versions are kept only while the rule is relaxed. While it is in force nothing can show them, and states that differ in
//! their past only are equal.

use std::fmt::Debug;
use std::hash::Hash;

use super::cells::{HasVars, Slot};
use super::handler::{Stop, Turn};
use super::rule::Rule;
use super::{Io, ServerModel};
use crate::knowledge::Var;

/// A value with its earlier versions. See the [module](self) for an example.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Versions<V> {
    now: Option<V>,
    /// Earlier values, the latest last; `None` where there was none.
    older: Vec<Option<V>>,
}

impl<V> Default for Versions<V> {
    fn default() -> Self {
        Self { now: None, older: Vec::new() }
    }
}

impl<V: HasVars> HasVars for Versions<V> {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        self.now.vars(visit);
        self.older.vars(visit);
    }
}

impl<V: Clone + Eq + Hash + Debug + HasVars + 'static> Slot<Versions<V>> {
    /// Returns the present value.
    pub fn get_now<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        Ok(self.get(io)?.and_then(|versions| versions.now))
    }

    /// Returns one of the earlier values; each is tried. A cell that was never replaced has none: then the server cannot deviate in
    /// this way.
    pub fn get_older<S: ServerModel + ?Sized>(&self, io: &mut Io<'_, S>) -> Result<Option<V>, Stop> {
        let mut older = self.get(io)?.unwrap_or_default().older;
        if older.is_empty() {
            return Err(Stop::Dead);
        }
        let taken = io.choose(older.len())?;
        Ok(older.swap_remove(taken))
    }

    /// Replaces the value. The old one is kept while the server may break this rule.
    pub fn replace<S: ServerModel + ?Sized>(
        &self,
        io: &mut Io<'_, S>,
        value: impl Into<Option<V>>,
        rule: &'static Rule,
    ) -> Turn {
        let value = value.into();
        if !io.relaxes(rule) {
            // Nothing of the old value is left, so the turn need not look at it.
            return self.set(io, Versions { now: value, older: Vec::new() });
        }
        let Versions { now, mut older } = self.get(io)?.unwrap_or_default();
        if now != value && !older.contains(&now) {
            older.push(now);
        }
        older.retain(|old| *old != value);
        self.set(io, Versions { now: value, older })
    }
}
