//! Expected responses, which the model sends in place of concrete ones. `spec` decides which responses fit.

use confute::knowledge::{Knowledge, Value, Var};
use confute::lang::{HasVars, Mismatch, Number, Pattern, Sym};
use std::rc::Rc;
use std::sync::Arc;

use super::condition::{Conditions, RangeApplies};
use super::deviations::Deviance;
use super::entry::{Entry, Validator, at_most};
use crate::message::{Message, Response, Span};

/// The set of correct responses to a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExpectedResponse {
    /// Time when the request was sent.
    pub(super) sent: i64,
    /// Time for which the client holds the content back while it waits for 100, in milliseconds.
    pub(super) held: Option<u32>,
    /// Moment from which the state that the request found was current; in the past when the response is received.
    pub(super) by: Option<Sym<Number>>,
    pub(super) kind: Box<Kind>,
    /// Deviation from the correct responses, if the server breaks a rule.
    pub(super) deviance: Option<Rc<Deviance>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Response to a read.
    Read(Read),
    /// A PUT was performed.
    Put(Put),
    /// If-Match or If-Unmodified-Since was false; `body` is the content of a PUT.
    Kept { current: Entry, body: Option<Arc<str>> },
    /// If-None-Match was false.
    Failed,
    /// A DELETE was performed.
    Removed { strong_by: Option<Sym<Number>> },
    /// DELETE of a resource without a representation; `may_fail` if a precondition can have been evaluated first.
    Missing { may_fail: bool },
    /// The request is malformed.
    Bad,
    /// The request is refused with any error.
    Rejected,
    /// The request is refused with one of these statuses.
    Status([u16; 2]),
    /// The outcome of a write is left open by 202 or, if `failed`, by a server error.
    Open { failed: bool },
    /// Too many writes are open, so any response is accepted.
    Untold,
    /// Response to OPTIONS.
    Options,
    /// Response to a method unknown to the model; `changes` if the method may have changed the resource.
    Other { changes: bool },
    /// No response is correct.
    Never,
}

/// A GET or HEAD, as evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Read {
    pub(super) head: bool,
    pub(super) entry: Entry,
    /// Validators that the preconditions are compared with.
    pub(super) compared: Validators,
    pub(super) conditions: Conditions,
    pub(super) range: Vec<Span>,
    pub(super) applies: RangeApplies,
}

/// The validators of a representation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Validators {
    pub(super) tag: Validator,
    pub(super) modified: Sym<Number>,
}
confute::secrets!(Validators { tag, modified });

impl From<&Entry> for Validators {
    fn from(entry: &Entry) -> Self {
        Self { tag: entry.tag.clone(), modified: entry.modified.clone() }
    }
}

/// A PUT that was performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Put {
    pub(super) created: bool,
    pub(super) entry: Entry,
    /// Moment from which If-Match was true; in the past when the response is received.
    pub(super) strong_by: Option<Sym<Number>>,
}

pub(super) type Learnt = Result<(), Mismatch>;

pub(super) fn require(holds: bool) -> Learnt {
    if holds { Ok(()) } else { Err(Mismatch) }
}

/// Learns that the moment is in the past when the response is received.
pub(super) fn over(moment: Option<&Sym<Number>>, seen: &Response, facts: &mut Knowledge) -> Learnt {
    moment.map_or(Ok(()), |moment| at_most(moment, seen.at, facts))
}

/// Returns `false` for a 405 without Allow (RFC 9110, 15.5.6).
pub(super) fn has_allow(seen: &Response) -> bool {
    seen.status != 405 || seen.allow || seen.incomplete
}

impl ExpectedResponse {
    /// Learns that the state found was current when the response was received. Checks that a client that held its
    /// content back received 100 or a final status before it sent the content (RFC 9110, 10.1.1).
    pub(super) fn is_timely(&self, seen: &Response, facts: &mut Knowledge) -> Learnt {
        over(self.by.as_ref(), seen, facts)?;
        let has_waited = |held: u32| seen.at - self.sent >= i64::from(held) * 1000;
        require(!self.held.is_some_and(has_waited) || seen.interim.contains(&100) || seen.incomplete)
    }
}

impl Pattern<Message> for ExpectedResponse {
    fn unify(&self, seen: &Message, facts: &mut Knowledge) -> Result<(), Mismatch> {
        match seen {
            Message::Response(seen) => match &self.deviance {
                None => self.judge(seen, facts),
                Some(deviance) => deviance.judge(self, seen, facts),
            },
            _ => Err(Mismatch),
        }
    }

    fn instantiate(&self, value: &mut dyn FnMut(Var) -> Value) -> Message {
        self.show(value).into()
    }

    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        HasVars::vars(&self.by, visit);
        self.deviance.iter().for_each(|deviance| deviance.vars(visit));
        match &*self.kind {
            Kind::Read(read) => {
                HasVars::vars(&read.entry, visit);
                HasVars::vars(&read.compared, visit);
            }
            Kind::Put(put) => {
                HasVars::vars(&put.entry, visit);
                HasVars::vars(&put.strong_by, visit);
            }
            Kind::Kept { current, .. } => HasVars::vars(current, visit),
            Kind::Removed { strong_by } => HasVars::vars(strong_by, visit),
            Kind::Failed
            | Kind::Missing { .. }
            | Kind::Bad
            | Kind::Rejected
            | Kind::Status(_)
            | Kind::Open { .. }
            | Kind::Untold
            | Kind::Options
            | Kind::Other { .. }
            | Kind::Never => {}
        }
    }
}
