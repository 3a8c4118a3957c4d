//! Network state that outlives a case: the poll of ready sockets, the listener and the canary.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use crate::canary::Canary;
use crate::crew::Shift;
use crate::trouble::Trouble;

pub(crate) const LISTENER: Token = Token(usize::MAX);

/// The sockets of one thread. Cases borrow it one after the other.
pub struct Net {
    pub(crate) poll: Poll,
    pub(crate) events: Events,
    pub(crate) listener: Option<TcpListener>,
    pub(crate) buffer: Vec<u8>,
    /// Time of creation.
    pub(crate) since: Instant,
    /// Total time that cases have paused since creation because the server requested it.
    pub(crate) paused: Duration,
    /// Time when the tester last ended a connection that the server had opened. A tester that listens sets it
    /// at creation: a survey or an earlier run may have had such connections, and all of them ended before
    /// this listener was bound.
    pub(crate) ended: Option<Instant>,
    /// The canary, which shows that the server has not lost its data. `None` before it is written, or if it
    /// has to be written again; `Some(None)` if the protocol cannot write one.
    pub(crate) canary: Option<Option<Canary>>,
    /// Permission of the next case, or the running one, to run beside others.
    pub(crate) shift: Option<Shift>,
}

impl Net {
    /// Creates the poll, and the listener if the server under test is to connect to the tester.
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
            shift: None,
        })
    }

    /// Returns the address of the listener.
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}
