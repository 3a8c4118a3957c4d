//! HTTP/1.1 servers that are correct by construction but deliberately unusual: an origin server and a gateway.
//!
//! Every oddity is a table entry ([`TABLE`]) with the clause that allows it and an illegal twin. A server has any
//! combination of oddities, drawn at random by [`Habits::draw`]; a tester that reports a violation by such a server
//! is wrong. With a twin ([`Habits::twin`]) the server is wrong, and a tester that accepts it is too lax.
//!
//! | topic | module |
//! |---|---|
//! | list of oddities | `table` |
//! | oddities of one server | `habits` |
//! | performing requests, each under one lock | `origin`, with `store`, `validators`, `condition`, `range` |
//! | delays, refusals, unknown outcomes | `outcome` |
//! | serialization of responses | `wire` |
//! | ends of connections | `connection` |
//! | forwarding | `gateway`, `upstream`, `relay` |
//!
//! The model of the tester is not used here; only the parsing of requests, entity tags and dates is shared with the
//! [embedded server](crate::embedded). Every request has one linearization point: the moment in which
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

/// Maximum number of connections served at once; further ones wait to be accepted.
const CONNECTIONS: usize = 128;

/// Kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The origin server, which stores resources.
    Origin,
    /// The gateway, which forwards requests.
    Gateway,
}

/// Subject of an oddity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Entity tags and dates.
    Validators,
    /// Status codes.
    Statuses,
    /// Framing and syntax of responses.
    Framing,
    /// 1xx responses.
    Interim,
    /// Ends of connections.
    Closing,
    /// Partial content.
    Ranges,
    /// Requests that are refused.
    Refusals,
    /// Responses that are cut off.
    Broken,
    /// Writes whose outcome the response leaves open.
    Outcomes,
    /// Moments at which requests take effect.
    Timing,
    /// Content codings.
    Coding,
    /// A gateway's use of its connections to the origin.
    Upstream,
    /// A gateway's rewriting of the messages that it forwards.
    Reframing,
}

/// A running server. Dropping it stops the server and joins all its threads.
#[derive(Debug)]
pub struct OddServer {
    address: SocketAddr,
    // Fields are dropped in this order: the connections, which postpone writes, end before the thread that performs
    // them.
    _threads: Threads,
    _later: Option<Later>,
}

impl OddServer {
    /// Starts an origin server with these habits. It accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// If no port is free, or a thread cannot be spawned.
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

    /// Starts a gateway with these habits. It forwards paths that begin with the prefix to an origin server, without
    /// the prefix.
    ///
    /// # Errors
    ///
    /// If no port is free, or a thread cannot be spawned.
    pub fn gateway(habits: Habits, prefix: &str, upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(Stop::default());
        let gateway = Gateway::new(habits, prefix.to_owned(), upstream, stop.clone());
        let serve = move |stream| gateway.serve(stream);
        Ok(Self { address, _threads: Threads::start(listener, serve, CONNECTIONS, stop)?, _later: None })
    }

    /// Returns the address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}
