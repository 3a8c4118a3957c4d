//! A family of HTTP/1.1 servers that are correct by construction and odd on purpose: an origin server and a gateway.
//!
//! Every oddity is a table entry ([`TABLE`]) with the clause that allows it and an illegal twin. A server has any
//! combination of them, drawn at random by [`Habits::draw`]; a tester that accuses one of these servers is wrong. With a
//! twin ([`Habits::twin`]) the server is wrong, and a tester that accepts it is too lax.
//!
//! | to find out | read |
//! |---|---|
//! | which oddities there are | `table` |
//! | which of them a server has | `habits` |
//! | what a request does, at one moment under one lock | `origin`, with `store`, `validators`, `condition`, `range` |
//! | when it happens, and what is said of it | `outcome` |
//! | how a response becomes bytes | `wire` |
//! | when connections end | `connection` |
//! | how a request is forwarded | `gateway`, `upstream`, `relay` |
//!
//! The model of the tester is not used here: what is shared with the [embedded server](crate::embedded) is how bytes
//! become requests, entity tags and dates. Every request has one linearisation point: the moment in which
//! `Origin::perform` holds the lock of the store.

mod condition;
mod connection;
mod gateway;
mod habits;
mod origin;
mod outcome;
mod range;
mod relay;
mod store;
mod table;
mod upstream;
mod validators;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

pub use habits::Habits;
pub use table::{Entry, Oddity, TABLE};

use crate::embedded::switches::Stop;
use crate::embedded::threads::Threads;
use connection::Connection;
use gateway::Gateway;
use origin::Origin;
use outcome::Later;

/// So many connections are served at once; further ones wait to be accepted.
const CONNECTIONS: usize = 128;

/// Which of the two servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It keeps resources.
    Origin,
    /// It forwards requests.
    Gateway,
}

/// What an oddity is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Entity tags and dates.
    Validators,
    /// Status codes.
    Statuses,
    /// Where a response ends, and how it is written.
    Framing,
    /// 1xx responses.
    Interim,
    /// How connections end.
    Closing,
    /// Partial content.
    Ranges,
    /// Requests that are not served.
    Refusals,
    /// Responses that do not arrive as a whole.
    Broken,
    /// Writes of which the response does not say what became.
    Outcomes,
    /// When requests happen.
    Timing,
    /// Content codings.
    Coding,
    /// How a gateway uses its connections to the origin.
    Upstream,
    /// How a gateway writes what it forwards.
    Reframing,
}

/// A running server; dropped, it is gone, and all its threads with it.
#[derive(Debug)]
pub struct OddServer {
    address: SocketAddr,
    // In this order: no write happens later once the connections are closed.
    _threads: Threads,
    _later: Option<Later>,
}

impl OddServer {
    /// Starts an origin server with these habits. It accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// If no port is free, or the system has no thread to spare.
    pub fn origin(habits: Habits) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(Stop::default());
        let origin = Arc::new(Origin::new(habits, stop.clone()));
        let later = Later::start(&origin, stop.clone())?;
        let serve = move |stream| {
            if let Ok(connection) = Connection::new(stream, &origin) {
                connection.serve();
            }
        };
        Ok(Self {
            address,
            _threads: Threads::start(listener, serve, CONNECTIONS, stop)?,
            _later: Some(later),
        })
    }

    /// Starts a gateway with these habits, which forwards what begins with the prefix to an origin server, without it.
    ///
    /// # Errors
    ///
    /// If no port is free, or the system has no thread to spare.
    pub fn gateway(habits: Habits, prefix: &str, upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(Stop::default());
        let gateway = Gateway::new(habits, prefix.to_owned(), upstream, stop.clone());
        let serve = move |stream| gateway.serve(stream);
        Ok(Self { address, _threads: Threads::start(listener, serve, CONNECTIONS, stop)?, _later: None })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}
