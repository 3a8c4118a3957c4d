//! What outlives a case: the system's list of ready sockets, and the listener.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use crate::canary::Canary;
use crate::trouble::Trouble;

pub(crate) const LISTENER: Token = Token(usize::MAX);

/// One thread's way to the network. Cases borrow it one after the other.
pub struct Net {
    pub(crate) poll: Poll,
    pub(crate) events: Events,
    pub(crate) listener: Option<TcpListener>,
    pub(crate) buffer: Vec<u8>,
    /// When it was opened.
    pub(crate) since: Instant,
    /// How long cases have paused since then because the server asked for it.
    pub(crate) paused: Duration,
    /// When the tester last ended a connection that the server had opened. Before the first case there may have been others, by
    /// a survey or an earlier run: all that was there ended before it began to listen.
    pub(crate) ended: Option<Instant>,
    /// What shows that the server has not forgotten everything: `None` before it was written, or where it has to be written
    /// again; `Some(None)` where nothing can be.
    pub(crate) canary: Option<Option<Canary>>,
}

impl Net {
    /// Opens it; listens there if the server under test is to connect to the tester.
    pub fn new(listen: Option<SocketAddr>) -> Result<Self, Trouble> {
        let local = |what| move |error: io::Error| Trouble::Local { what, why: error.to_string() };
        let poll = Poll::new().map_err(local("cannot wait for sockets"))?;
        let mut listener = match listen {
            Some(address) => Some(TcpListener::bind(address).map_err(local("cannot listen"))?),
            None => None,
        };
        if let Some(listener) = &mut listener {
            poll.registry()
                .register(listener, LISTENER, Interest::READABLE)
                .map_err(local("cannot wait for connections"))?;
        }
        let ended = listener.as_ref().map(|_| Instant::now());
        Ok(Self {
            poll,
            events: Events::with_capacity(1024),
            listener,
            buffer: vec![0; 64 << 10],
            since: Instant::now(),
            paused: Duration::ZERO,
            ended,
            canary: None,
        })
    }

    /// Where it listens.
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}
