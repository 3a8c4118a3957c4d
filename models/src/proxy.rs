//! A proxy: the paper's Fig 2, with responses. *Teaches: connections that the server opens, and whole turns.*
//!
//! The proxy forwards each request unchanged on a new connection, and the response on that connection to the
//! client of the request. The tester plays both sides. It cannot know whose request a new connection carries:
//! several clients may have sent the same, and the network reorders them. Each assignment is a hypothesis of
//! its own.
//!
//! A turn that sends to a connection other than the one it received from calls [`Io::whole`] first: the
//! search then orders it with everything else.

use std::fmt;
use std::sync::Arc;

use confute::lang::{Conn, Io, Level, Rule, ServerModel, Table, Turn};
use serde::{Deserialize, Serialize};

use crate::{Workload, mark};

/// Rule that a request is forwarded unchanged.
pub const UNCHANGED: Rule =
    Rule { name: "proxy/unchanged", level: Level::Must, summary: "A request is forwarded unchanged." };
/// Rule that a request is forwarded once.
pub const ONCE: Rule =
    Rule { name: "proxy/once", level: Level::Must, summary: "A request is forwarded once." };

/// A message on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Request from a client, forwarded to the origin.
    Request(Arc<str>),
    /// Response from the origin, forwarded to the client.
    Response(Arc<str>),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Request(body) => write!(f, "request {body:?}"),
            Message::Response(body) => write!(f, "response {body:?}"),
        }
    }
}

/// Client that waits for the response on each connection to the origin.
const PENDING: Table<Conn, Conn> = Table::new("pending");

/// Model of the proxy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proxy;

impl Proxy {
    fn forward(io: &mut Io<'_, Self>, client: Conn, message: &Message) -> Turn {
        let origin = io.connect()?;
        PENDING.set(io, &origin, client)?;
        io.send(origin, message.clone())
    }
}

impl ServerModel for Proxy {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, message) = io.recv()?;
        io.whole()?;
        if conn.is_opened_by_server() {
            let pending = PENDING.edit(io, &conn)?;
            let Some(client) = pending.get(io)? else { return Ok(()) };
            pending.clear(io)?;
            io.send(client, (*message).clone())?;
            return io.close(conn);
        }
        if io.deviates(&UNCHANGED)? {
            return Self::forward(io, conn, &Message::Request("".into()));
        }
        if io.deviates(&ONCE)? {
            Self::forward(io, conn, &message)?;
        }
        Self::forward(io, conn, &message)
    }

    fn rules(&self) -> &'static [Rule] {
        &[UNCHANGED, ONCE]
    }
}

impl Workload for Proxy {
    fn request(&self, pick: &mut dyn FnMut(u64) -> u64, _: &[Message]) -> Message {
        Message::Request(mark(pick).into())
    }

    fn answer(&self, pick: &mut dyn FnMut(u64) -> u64, got: &Message) -> Option<Message> {
        match got {
            Message::Request(_) => Some(Message::Response(mark(pick).into())),
            Message::Response(_) => None,
        }
    }
}
