//! The state of a turn: one request, and the phases that lead to its response.

use confute::lang::{Conn, Number, Slot, Stop, Sym, Turn};

use super::entry::Entry;
use super::expected::{ExpectedResponse, Kind};
use super::origin::Origin;
use crate::message::Request;

pub(super) type Io<'a> = confute::lang::Io<'a, Origin>;

/// The entity tags that a server generates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagStyle {
    /// Any correct tags.
    #[default]
    Any,
    /// Tags that are weak until this many microseconds after the request that created them, and strong from then on.
    WeakFor(i64),
}

/// Reason why a turn ends before its last phase.
pub(super) enum End {
    /// A phase has sent the response.
    Responded,
    /// The engine has stopped the turn.
    Stopped(Stop),
}

impl End {
    /// Returns the result of a turn that ends with this phase.
    pub(super) fn of(phase: Phase) -> Turn {
        match phase {
            Ok(()) | Err(End::Responded) => Ok(()),
            Err(End::Stopped(stop)) => Err(stop),
        }
    }
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        End::Stopped(stop)
    }
}

/// Result of a phase: a value for the next phase, or the end of the turn.
pub(super) type Phase<T = ()> = Result<T, End>;

/// A write that is performed.
pub(super) struct Performed {
    /// State of the resource before the write.
    pub(super) old: Entry,
    /// `true` if `old` is a representation, and not the absence of one.
    pub(super) present: bool,
    /// Moment from which If-Match was true, if it was not yet true when the request was sent.
    pub(super) strong_by: Option<Sym<Number>>,
}

/// A request that is being handled.
pub(super) struct Transaction<'a> {
    pub(super) io: Io<'a>,
    pub(super) tags: TagStyle,
    pub(super) conn: Conn,
    pub(super) request: &'a Request,
    /// Cell of the target resource; `None` for OPTIONS.
    pub(super) cell: Option<Slot<Entry>>,
    /// Moment of the latest open write that this request finds performed.
    pub(super) by: Option<Sym<Number>>,
}

impl Transaction<'_> {
    /// Returns the stored state of the target resource.
    pub(super) fn stored(&mut self) -> Result<Entry, Stop> {
        self.cell.as_ref().ok_or(Stop::Dead)?.get(&mut self.io)?.ok_or(Stop::Dead)
    }

    /// Stores a new state of the target resource.
    pub(super) fn store(&mut self, entry: Entry) -> Turn {
        self.cell.as_ref().ok_or(Stop::Dead)?.set(&mut self.io, entry)
    }

    /// Returns the expected response of this kind to the request.
    pub(super) fn expected(&self, kind: Kind) -> ExpectedResponse {
        ExpectedResponse {
            sent: self.request.at,
            held: self.request.expect.filter(|_| self.request.body.is_some()),
            by: self.by.clone(),
            kind: Box::new(kind),
            deviance: None,
        }
    }

    /// Sends an expected response of this kind.
    pub(super) fn send(&mut self, kind: Kind) -> Turn {
        let expected = self.expected(kind);
        self.io.send(self.conn, expected)
    }
}
