//! A small HTTP/1.1 server inside this process: correct, unless it is told to make a mistake.
//!
//! It is a tester's sparring partner: an origin server with GET, HEAD, PUT, DELETE, OPTIONS, conditions and ranges over a
//! store in memory, and, if asked, a reverse proxy under a prefix. It is written from RFC 9110 and 9112 and shares
//! nothing with the models it is tested against, so that a misreading on one side shows.
//!
//! | to find out | read |
//! |---|---|
//! | which mistakes there are | [`Bug`] |
//! | how bytes become requests | `input`, `message`, `content` |
//! | what a request does | `origin`, with `condition`, `range`, `tag`, `date`, `store` |
//! | how a request is forwarded | `proxy`, `pool` |
//! | how a response becomes bytes | `response`, `connection` |
//! | when bugs strike | `switches` |
//!
//! Every connection has a thread of its own, because blocking code is the easiest to check by eye. All threads end with
//! the [`Embedded`] that started them.
//!
//! ```
//! use std::io::{Read, Write};
//! use confute_testbed::embedded::{Bug, Config, Embedded};
//!
//! let server = Embedded::start(Config::default().bug(Bug::NoHost))?;
//! let mut client = std::net::TcpStream::connect(server.addr())?;
//! client.write_all(b"DELETE /nothing HTTP/1.1\r\nConnection: close\r\n\r\n")?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer)?;
//! assert!(answer.starts_with("HTTP/1.1 404 "), "without the bug, 400");
//! # Ok::<(), std::io::Error>(())
//! ```

mod bug;
mod condition;
mod connection;
pub(crate) mod content;
pub(crate) mod date;
pub(crate) mod input;
pub(crate) mod message;
mod origin;
pub(crate) mod pool;
mod proxy;
mod range;
pub(crate) mod response;
mod rule;
mod store;
pub(crate) mod switches;
pub(crate) mod tag;
pub(crate) mod threads;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

pub use bug::{Area, Bug, Report};
pub use proxy::Upstream;
pub use store::TagStyle;

use connection::Connection;
use origin::Origin;
use proxy::Proxy;
use switches::{Exchange, Stop, Switches};
use threads::Threads;

/// What kind of server to start. The default is correct, and no proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The mistakes to make; several at once may hide one another.
    pub bugs: Vec<Bug>,
    /// How entity tags are made.
    pub tags: TagStyle,
    /// What to forward where, if anything.
    pub proxy: Option<Upstream>,
    /// The port of 127.0.0.1 to listen on; 0 picks a free one.
    pub port: u16,
    /// So many connections are served at once; further ones wait to be accepted.
    pub connections: usize,
    /// How long a client may take for a request, or do nothing between two.
    pub patience: Duration,
    /// The longest content that is taken, in bytes; more is answered 413.
    pub limit: usize,
    /// Content of at least this length is sent in chunks.
    pub chunks_from: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bugs: Vec::new(),
            tags: TagStyle::default(),
            proxy: None,
            port: 0,
            connections: 64,
            patience: Duration::from_secs(10),
            limit: 16 * 1024 * 1024,
            chunks_from: 64 * 1024,
        }
    }
}

impl Config {
    /// The same, with a mistake more.
    #[must_use]
    pub fn bug(mut self, bug: Bug) -> Self {
        self.bugs.push(bug);
        self
    }

    /// The same, with entity tags of that style.
    #[must_use]
    pub fn tags(mut self, tags: TagStyle) -> Self {
        self.tags = tags;
        self
    }

    /// The same, with what is under the prefix forwarded to an origin, which is given two seconds.
    #[must_use]
    pub fn proxy(mut self, prefix: &str, origin: SocketAddr) -> Self {
        self.proxy = Some(Upstream { prefix: prefix.to_owned(), origin, patience: Duration::from_secs(2) });
        self
    }
}

/// A running server; dropped, it is gone, and all its threads with it.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    _threads: Threads,
}

impl Embedded {
    /// Starts one. It accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// If it cannot listen on the port, or the system has no thread to spare.
    pub fn start(config: Config) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port))?;
        let address = listener.local_addr()?;
        let switches = Arc::new(Switches::new(&config.bugs));
        let stop = Arc::new(Stop::default());
        let proxy = config
            .proxy
            .map(|it| Proxy::new(it, address.port(), config.limit, switches.clone(), stop.clone()));
        let shared = Shared {
            origin: Origin::new(config.tags, switches.clone(), stop.clone()),
            proxy,
            crossing: Exchange::default(),
            patience: config.patience,
            limit: config.limit,
            chunks_from: config.chunks_from,
            switches,
        };
        let serve = move |stream| {
            if let Ok(connection) = Connection::new(stream, &shared) {
                connection.serve();
            }
        };
        let threads = Threads::start(listener, serve, config.connections.max(1), stop)?;
        Ok(Self { address, _threads: threads })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}

/// What all connections of a server share.
#[derive(Debug)]
struct Shared {
    origin: Origin,
    proxy: Option<Proxy>,
    crossing: Exchange<(String, Vec<u8>)>,
    patience: Duration,
    limit: usize,
    chunks_from: usize,
    switches: Arc<Switches>,
}
