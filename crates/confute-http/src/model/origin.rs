//! The model of an origin server (RFC 9110 and 9112), with one state cell per path.
//!
//! The model takes no steps between requests. A change without a request (a weak tag becomes strong) is represented
//! by its moment, a secret value, and the driver reports a connection closed by the server as one closed by the
//! tester. GET and HEAD only read their cell.
//!
//! Premise: no other client writes below the prefix.

use std::sync::Arc;

use confute::lang::{Fresh, Io, Rule, ServerModel, Table, Turn};

use super::deviations::{self, Deviating};
use super::entry::Entry;
use super::expected::ExpectedResponse;
use super::spec::Server as _;
use super::transaction::{TagStyle, Transaction};
use crate::message::{Message, Method};
use crate::rules::{self, RULES};

/// The model of an origin server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin {
    /// Entity tags that a simulated server generates. A tester uses [`TagStyle::Any`].
    pub tags: TagStyle,
}

const RESOURCES: Table<Arc<str>, Entry> =
    Table::unknown("resources", |fresh: &mut Fresh<'_>, _| Entry::unknown(fresh));

impl ServerModel for Origin {
    type Msg = Message;
    type Out = ExpectedResponse;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        let Message::Request(request) = &*message else { return io.replies(0) };
        let more = u32::from(request.close_twice) + request.notes.unasked_after;
        if more > 0 {
            io.replies(1 + more)?;
        }
        let cell = match request.method {
            Method::Get | Method::Head => Some(RESOURCES.view(io, &request.path)?),
            Method::Put | Method::Delete | Method::Other(_) => Some(RESOURCES.edit(io, &request.path)?),
            Method::Options => None,
        };
        let io = Io::new(io.handler());
        Deviating::new(Transaction { io, tags: self.tags, conn, request, cell, by: None }).serve()
    }

    /// RFC 9112, 9.3.2: a server may process pipelined requests in parallel if all of them are safe.
    fn is_parallel(&self, request: &Message) -> bool {
        matches!(request, Message::Request(request) if request.method.is_safe() && !request.close_twice)
    }

    fn concerns(&self, rule: &Rule, message: &Message) -> bool {
        deviations::concerns(rule, message)
    }

    /// The cause of a refused request (a lock, load) affects other requests too.
    fn is_habitual(&self, rule: &Rule) -> bool {
        rule.name == rules::SERVES.name
    }

    fn rules(&self) -> &'static [Rule] {
        RULES
    }
}
