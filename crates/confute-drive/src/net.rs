//! What outlives a case: the system's list of ready sockets, and the listener.

use std::io;
use std::net::SocketAddr;

use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};

use crate::trouble::Trouble;

pub(crate) const LISTENER: Token = Token(usize::MAX);

/// One thread's way to the network. Cases borrow it one after the other.
pub struct Net {
    pub(crate) poll: Poll,
    pub(crate) events: Events,
    pub(crate) listener: Option<TcpListener>,
    pub(crate) buffer: Vec<u8>,
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
        Ok(Self { poll, events: Events::with_capacity(1024), listener, buffer: vec![0; 64 << 10] })
    }

    /// Where it listens.
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.listener.as_ref().and_then(|listener| listener.local_addr().ok())
    }
}
