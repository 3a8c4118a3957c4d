//! Small HTTP/1.1 server inside this process: correct, unless bugs are switched on.
//!
//! The tester is tested against it. It is an origin server with GET, HEAD, PUT, DELETE, OPTIONS, conditions and
//! ranges over a store in memory, and optionally a reverse proxy under a prefix. It is written from RFC 9110 and 9112
//! and shares nothing with the models it is tested against, so that a misreading on one side shows.
//!
//! | topic | module |
//! |---|---|
//! | list of bugs | [`Bug`] |
//! | parsing of requests | `input`, `message`, `content` |
//! | performing requests | `origin`, with `condition`, `range`, `tag`, `date`, `store` |
//! | forwarding | `proxy`, `pool` |
//! | writing of responses | `response`, `connection` |
//! | frequency of bugs | `switches` |
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
use switches::{Stop, SwapPoint, Switches};
use threads::Threads;

/// Settings of a server. The default is correct and does not forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bugs to switch on; several at once may hide one another.
    pub bugs: Vec<Bug>,
    /// Style of the entity tags.
    pub tags: TagStyle,
    /// Prefix to forward and the origin to forward to, if any.
    pub proxy: Option<Upstream>,
    /// Port of 127.0.0.1 to listen on; 0 picks a free one.
    pub port: u16,
    /// Maximum number of connections served at once; further ones wait to be accepted.
    pub connections: usize,
    /// Maximum time that a client may take to send a request, or be idle between two.
    pub patience: Duration,
    /// Maximum length of a request's content, in bytes; longer content is answered with 413.
    pub limit: usize,
    /// Minimum length of content that is sent in chunks.
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
    /// Switches on one more bug.
    #[must_use]
    pub fn bug(mut self, bug: Bug) -> Self {
        self.bugs.push(bug);
        self
    }

    /// Sets the style of entity tags.
    #[must_use]
    pub fn tags(mut self, tags: TagStyle) -> Self {
        self.tags = tags;
        self
    }

    /// Forwards requests under the prefix to an origin, with a timeout of two seconds.
    #[must_use]
    pub fn proxy(mut self, prefix: &str, origin: SocketAddr) -> Self {
        self.proxy = Some(Upstream { prefix: prefix.to_owned(), origin, patience: Duration::from_secs(2) });
        self
    }
}

/// A running server. Dropping it stops the server and joins all its threads.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    _threads: Threads,
}

impl Embedded {
    /// Starts a server. It accepts connections when this returns.
    ///
    /// # Errors
    ///
    /// If the server cannot listen on the port, or a thread cannot be spawned.
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
            crossing: SwapPoint::default(),
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

    /// Returns the address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }
}

/// State shared by all connections of a server.
#[derive(Debug)]
struct Shared {
    origin: Origin,
    proxy: Option<Proxy>,
    crossing: SwapPoint<(String, Vec<u8>)>,
    patience: Duration,
    limit: usize,
    chunks_from: usize,
    switches: Arc<Switches>,
}
