//! The model of a gateway, which forwards requests of clients to the origin and responses of the origin to the
//! clients.
//!
//! A gateway may forward a request on a connection that the origin has ended, and notice that too late. The client
//! then receives 502, 503 or 504, and the origin never receives the request, or drops it. The driver records in the
//! response when the origin last ended a connection (`origin_ended_at`), because the end of an idle connection is no
//! message.
//!
//! Premises: the origin's responses forbid storing and transforming; several requests are outstanding on one
//! connection only if all of them are safe.

use std::sync::Arc;

use confute::lang::{Conn, HasVars, Io, Rule, ServerModel, Table, Turn};
use serde::{Deserialize, Serialize};

use super::deviations::Deviating;
use super::expected::ExpectedMessage;
use super::rules;
use super::spec::Forwarder as _;
use crate::message::{Message, Request};

/// The configured mapping of targets and hosts from the gateway to the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mapping {
    /// Prefix of targets at the gateway.
    pub from: String,
    /// Prefix of the same targets at the origin.
    pub to: String,
    /// Host field of requests to the gateway.
    pub host: String,
    /// Host and port of the origin.
    pub origin: String,
}

impl Mapping {
    /// Returns the target at the origin.
    pub(super) fn target(&self, target: &str) -> String {
        match target.strip_prefix(&self.from) {
            Some(rest) => format!("{}{rest}", self.to),
            None => target.to_owned(),
        }
    }
}

/// The model of a gateway.
#[derive(Clone, Debug, Default)]
pub struct Gateway {
    /// Mapping of targets and hosts.
    pub mapping: Arc<Mapping>,
}

/// A client that waits for a response of the origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) client: Conn,
    /// Ticket of its request in the client's queue.
    pub(super) ticket: u32,
    pub(super) request: Arc<Request>,
}

confute::plain!(Waiting);

/// Waiting clients, by connection to the origin.
pub(super) const WAITING: Table<Conn, Waiting> = Table::new("waiting");

/// The state of a turn: the handling of one message.
pub(super) struct Transit<'a, S: Passes> {
    pub(super) io: Io<'a, S>,
    pub(super) mapping: &'a Arc<Mapping>,
}

impl ServerModel for Gateway {
    type Msg = Message;
    type Out = ExpectedMessage;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        self.pass(io, conn, &message)
    }

    fn rules(&self) -> &'static [Rule] {
        rules::ALL
    }
}

/// A model that is a gateway, or contains one.
pub(crate) trait Passes: ServerModel<Out: From<ExpectedMessage> + HasVars> {}

impl<S: ServerModel<Out: From<ExpectedMessage> + HasVars>> Passes for S {}

impl Gateway {
    /// Runs a turn for a received message.
    pub(crate) fn pass<S: Passes>(&self, io: &mut Io<'_, S>, conn: Conn, message: &Message) -> Turn {
        io.whole()?;
        let mut gateway = Deviating::<S>::new(Transit { io: Io::new(io.handler()), mapping: &self.mapping })?;
        match message {
            Message::Request(request) => gateway.request(conn, request),
            Message::Response(response) => gateway.response(conn, Some(response)),
            Message::Unanswered => gateway.response(conn, None),
        }
    }
}
