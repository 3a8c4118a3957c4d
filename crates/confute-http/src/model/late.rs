//! Open writes: writes whose outcome the server left open.
//!
//! A 202 is noncommittal (RFC 9110, 15.3.3), and after most 5xx a backend may still be working: the write is
//! performed at most once, at any later moment, with its preconditions evaluated at that moment, or never. The moment
//! is a secret value of the resource, like the one at which a weak tag becomes strong. The model therefore takes no
//! step between two requests, a read changes no state, and two reads cannot contradict each other: a response that
//! shows the write bounds the moment from above by the time it was received, and one that does not show it bounds the
//! moment from below by the time its request was sent.

use std::rc::Rc;

use confute::knowledge::Var;
use confute::lang::{HasVars, Number, Stop, Sym};

use super::condition::Decision;
use super::entry::{Entry, Validator};
use super::spec::Server;
use super::transaction::{Io, Phase, TagStyle};
use crate::message::{Method, Request};

/// Maximum number of open writes of a resource. Each read tries every order of every subset of them, so above this
/// limit every response about the resource is accepted. That is sound: it only hides violations.
const MOST: usize = 3;

/// The open writes of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Late {
    /// No open write.
    #[default]
    None,
    /// Open writes, in the order in which the server accepted them.
    Writes(Rc<Vec<Rc<LateWrite>>>),
    /// Too many open writes: nothing is known of the resource.
    Untold,
}

/// An open write, which may still be performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LateWrite {
    pub(super) request: Request,
    /// Moment at which the write is performed.
    pub(super) at: Sym<Number>,
    /// Tag of the content that it puts.
    pub(super) tag: Validator,
    pub(super) modified: Sym<Number>,
    /// `true` if only a part of its content is stored, which breaks a rule.
    pub(super) is_torn: bool,
}

impl HasVars for Late {
    fn vars(&self, visit: &mut dyn FnMut(Var)) {
        for write in self.writes() {
            HasVars::vars(&write.at, visit);
            HasVars::vars(&write.tag, visit);
            HasVars::vars(&write.modified, visit);
        }
    }
}

impl Late {
    pub(super) fn writes(&self) -> &[Rc<LateWrite>] {
        match self {
            Late::Writes(writes) => writes,
            Late::None | Late::Untold => &[],
        }
    }

    /// Returns `true` if no write is open.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Late::None)
    }

    /// Returns `true` if nothing is known of the resource.
    pub(super) fn is_untold(&self) -> bool {
        matches!(self, Late::Untold)
    }

    /// Returns the open writes without the one at this place.
    pub(super) fn without(&self, place: usize) -> Self {
        let mut rest = self.writes().to_vec();
        rest.remove(place);
        if rest.is_empty() { Late::None } else { Late::Writes(Rc::new(rest)) }
    }

    /// Returns the open writes with one more.
    pub(super) fn with(&self, write: LateWrite) -> Self {
        if self.is_untold() || self.writes().len() == MOST {
            return Late::Untold;
        }
        let mut all = self.writes().to_vec();
        all.push(Rc::new(write));
        Late::Writes(Rc::new(all))
    }
}

impl LateWrite {
    /// Creates an open write for this request, with a secret moment.
    pub(super) fn of(io: &mut Io<'_>, request: &Request) -> Result<Self, Stop> {
        Ok(Self {
            request: request.clone(),
            at: io.fresh()?,
            tag: Validator::fresh(io, TagStyle::Any, request.at)?,
            modified: io.fresh()?,
            is_torn: false,
        })
    }

    /// Returns the write without its preconditions.
    pub(super) fn unconditional(self) -> Self {
        let request = Request {
            if_match: None,
            if_none_match: None,
            if_modified_since: None,
            if_unmodified_since: None,
            ..self.request
        };
        Self { request, ..self }
    }
}

/// Returns the state after some of the open writes, in some order, were performed: all of these before the response
/// to this request is received, and the remaining ones after the request was sent.
pub(super) fn catch_up<'a>(server: &mut impl Server<'a>, mut entry: Entry) -> Phase<Entry> {
    loop {
        let writes = entry.late.writes().to_vec();
        let pick = if writes.is_empty() { 0 } else { server.io().choose(writes.len() + 1)? };
        let Some(place) = pick.checked_sub(1) else {
            let sent = Sym::known(&server.request().at);
            let io = server.io();
            writes.iter().try_for_each(|write| io.assume(write.at.at_most(&sent, 0).negate()))?;
            return Ok(entry);
        };
        let write = &writes[place];
        if let Some(before) = server.transaction().by.replace(write.at.clone()) {
            // Two writes at the same moment would leave open which of them is the later one.
            server.io().assume(before.at_most(&write.at, -1))?;
        }
        entry.late = entry.late.without(place);
        let present = server.io().branch(entry.present.holds())?;
        if let Some(after) = server.perform_late(write, entry.clone(), present)? {
            entry = after;
        }
    }
}

/// Performs an open write: see [`Server::perform_late`].
pub(super) fn perform<'a>(
    server: &mut impl Server<'a>,
    write: &LateWrite,
    old: Entry,
    present: bool,
) -> Phase<Option<Entry>> {
    if !holds(server, write, &old, present)? {
        return Ok(None);
    }
    if write.request.method != Method::Put {
        return Ok(Some(Entry { late: old.late, ..Entry::gone() }));
    }
    let body = write.request.content();
    server.distinguish(&write.tag, (&old, present), &body)?;
    Ok(Some(Entry::put(&body, write.tag.clone(), write.modified.clone(), old.late)))
}

/// Returns `true` if the preconditions of an open write hold of this state at the moment at which it is performed.
pub(super) fn holds<'a>(
    server: &mut impl Server<'a>,
    write: &LateWrite,
    state: &Entry,
    present: bool,
) -> Phase<bool> {
    if !write.request.is_conditional() {
        return Ok(true);
    }
    match server.evaluate(&write.request, state, present)? {
        Decision::Perform(None) => Ok(true),
        Decision::Perform(Some(strong_by)) => {
            server.io().assume(strong_by.at_most(&write.at, 0))?;
            Ok(true)
        }
        Decision::Keep | Decision::Fail => Ok(false),
    }
}
