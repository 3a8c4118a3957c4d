//! What travels: the messages of both models.

use std::fmt::{self, Display, Formatter};

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{HasVars, Mismatch, Pattern};
use serde::{Deserialize, Serialize};

use crate::message::Msg;
use crate::{model, proxy};

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// A request that the server itself serves, or its answer.
    Served(Msg),
    /// The same request, sent while answers to earlier ones were still to come on its connection.
    Behind(Msg),
    /// A request that is passed on, or its answer, on either side.
    Passed(proxy::message::Message),
}

impl Message {
    /// What the server itself serves.
    pub(super) fn served(&self) -> Option<&Msg> {
        match self {
            Message::Served(message) | Message::Behind(message) => Some(message),
            Message::Passed(_) => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn served_mut(&mut self) -> Option<&mut Msg> {
        match self {
            Message::Served(message) | Message::Behind(message) => Some(message),
            Message::Passed(_) => None,
        }
    }

    /// What is passed on.
    pub(super) fn passed(&self) -> Option<&proxy::message::Message> {
        match self {
            Message::Passed(message) => Some(message),
            _ => None,
        }
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Message::Served(message) | Message::Behind(message) => message.fmt(f),
            Message::Passed(message) => message.fmt(f),
        }
    }
}

/// Which messages are right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// An answer of the server itself.
    Served(model::Expected),
    /// Something that is passed on.
    Passed(proxy::Expected),
}

impl From<proxy::Expected> for Expected {
    fn from(expected: proxy::Expected) -> Self {
        Expected::Passed(expected)
    }
}

impl HasVars for Expected {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        match self {
            Expected::Served(expected) => Pattern::<Msg>::vars(expected, visit),
            Expected::Passed(expected) => HasVars::vars(expected, visit),
        }
    }
}

impl Pattern<Message> for Expected {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match (self, seen) {
            (Expected::Served(expected), Message::Served(seen)) => expected.unify(seen, facts),
            (Expected::Passed(expected), Message::Passed(seen)) => expected.unify(seen, facts),
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        match self {
            Expected::Served(expected) => Message::Served(expected.instantiate(value)),
            Expected::Passed(expected) => Message::Passed(expected.instantiate(value)),
        }
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(self, visit);
    }
}

impl Display for Expected {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Served(expected) => expected.fmt(f),
            Expected::Passed(expected) => expected.fmt(f),
        }
    }
}
