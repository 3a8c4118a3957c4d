//! The state of an item.

use std::rc::Rc;

use confute::knowledge::Var;
use confute::lang::{HasVars, Number, Sym, Token};

use crate::json::Fields;

/// The content of an item at some time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version {
    /// The fields whose values are known: those that the client sent. Nothing is known of others.
    pub(crate) fields: Rc<Fields>,
    /// The entity tag or the version, which the server chooses.
    pub(crate) tag: Sym<Token>,
}

/// The state of an item that was created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// It exists.
    Present(Version),
    /// It was removed; this was its last content.
    Removed(Version),
    /// The outcome of a write is open: nothing is known.
    Untold,
}

/// An item that was created.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// Path of its collection.
    pub(crate) collection: Rc<str>,
    pub(crate) state: State,
    /// Earlier contents, the latest last. They are kept only while a rule is relaxed with which they can show.
    pub(crate) older: Vec<Version>,
    /// Moment at which the latest write was over. It is kept only while writes may race.
    pub(crate) changed: Option<Sym<Number>>,
}

impl HasVars for Version {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(&self.tag, visit);
    }
}

impl HasVars for Entry {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        match &self.state {
            State::Present(version) | State::Removed(version) => version.vars(visit),
            State::Untold => {}
        }
        self.older.vars(visit);
        HasVars::vars(&self.changed, visit);
    }
}
