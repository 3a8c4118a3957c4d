//! What the model sends: which answers are right, and what each of them would tell.
//!
//! The model does not choose between 200, 304 and 404 and then wait which of them comes. It says what is stored and what
//! was asked; only when an answer is seen is it worked out what that answer means. So a read needs no choices at all.

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{HasVars, Mismatch, Number, Pattern, Sym, Token};
use std::sync::Arc;

use super::lax::Lax;
use super::precondition::{Applies, Conditions};
use super::validators::{Entry, Validator};
use crate::message::{Msg, Span};

/// Which answers are right.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expected {
    /// When the request was sent.
    pub(super) sent: i64,
    /// For how long it held its content back, in milliseconds, waiting for 100.
    pub(super) held: Option<u32>,
    /// In the past when the answer is received: what the request found was so from then on.
    pub(super) by: Option<Sym<Number>>,
    pub(super) lax: Lax,
    pub(super) kind: Box<Kind>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// What a read of this says.
    Read(Read),
    /// A mixture of this and those before, or this with another tag, or something about it.
    Torn { head: bool, body: Sym<Token>, tag: Validator, of: Vec<Sym<Token>> },
    /// A PUT was performed.
    Put(Put),
    /// If-Match or If-Unmodified-Since was false; `body` was to be put.
    Kept { current: Entry, body: Option<Arc<str>> },
    /// If-None-Match was false.
    Failed,
    /// A DELETE was performed.
    Removed { strong_by: Option<Sym<Number>>, changed: Option<Sym<Number>> },
    /// There was nothing to delete; `may_fail` if a condition can have been evaluated all the same.
    Missing { may_fail: bool },
    /// The request is malformed.
    Bad,
    /// The request is refused, as an error.
    Rejected,
    /// The request is refused for one of these reasons.
    Status([u16; 2]),
    /// The request is refused without reason, and not performed. That there is nothing may be the reason, where nothing need
    /// be there. After most errors of the server it is not known whether a write was performed: see `Open`.
    Refused { is_write: bool, missing: bool },
    /// Whether a write is performed is left open: 202 or, if `failed`, an error of the server.
    Open { failed: bool },
    /// What is there was left open too often, so any answer will do.
    Untold,
    /// Some stage of this content, which was never put as a whole.
    Stage { body: Arc<str> },
    /// Whatever OPTIONS says.
    Options,
    /// Whatever another method says.
    Other { changes: bool },
    /// No answer at all.
    Never,
}

/// A read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Read {
    pub(super) head: bool,
    pub(super) entry: Entry,
    /// What its conditions are evaluated against.
    pub(super) judged: Judged,
    pub(super) conditions: Conditions,
    pub(super) range: Vec<Span>,
    pub(super) applies: Applies,
}

/// Validators that conditions are evaluated against: those of what is read, if nothing came in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Judged {
    pub(super) tag: Validator,
    pub(super) modified: Sym<Number>,
}
confute::secrets!(Judged { tag, modified });

impl From<&Entry> for Judged {
    fn from(entry: &Entry) -> Self {
        Self { tag: entry.tag.clone(), modified: entry.modified.clone() }
    }
}

/// A PUT that was performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Put {
    pub(super) created: bool,
    pub(super) entry: Entry,
    pub(super) validators: Validators,
    /// In the past when the answer is received: If-Match was true from then on.
    pub(super) strong_by: Option<Sym<Number>>,
    /// In the past when the answer is received: the change has been made.
    pub(super) changed: Option<Sym<Number>>,
}

/// What the validators in an answer to PUT are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Validators {
    /// They are those of what was put.
    True,
    /// The same, and there are some.
    Told,
    /// There are some, and they are not.
    Wrong,
    /// There are none.
    Absent,
    /// Nothing.
    Idle,
}

impl Pattern<Msg> for Expected {
    fn unify(&self, seen: &Msg, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match seen {
            Msg::Response(seen) => self.learn(seen, facts),
            Msg::Request(_) => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Msg {
        Msg::Response(self.show(value))
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(&self.by, visit);
        match &*self.kind {
            Kind::Read(read) => {
                HasVars::vars(&read.entry, visit);
                HasVars::vars(&read.judged, visit);
            }
            Kind::Torn { body, tag, of, .. } => {
                body.vars(visit);
                of.iter().for_each(|body| body.vars(visit));
                HasVars::vars(tag, visit);
            }
            Kind::Put(put) => {
                HasVars::vars(&put.entry, visit);
                HasVars::vars(&put.strong_by, visit);
                HasVars::vars(&put.changed, visit);
            }
            Kind::Kept { current, .. } => HasVars::vars(current, visit),
            Kind::Removed { strong_by, changed } => {
                HasVars::vars(strong_by, visit);
                HasVars::vars(changed, visit);
            }
            Kind::Failed
            | Kind::Missing { .. }
            | Kind::Bad
            | Kind::Rejected
            | Kind::Status(_)
            | Kind::Refused { .. }
            | Kind::Open { .. }
            | Kind::Untold
            | Kind::Stage { .. }
            | Kind::Options
            | Kind::Other { .. }
            | Kind::Never => {}
        }
    }
}
