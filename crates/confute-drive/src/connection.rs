//! One connection of a case: the socket, the unwritten bytes, the reader, and the outstanding responses.
//!
//! It never blocks and records nothing: the case determines the order of observations.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use confute::trace::WireConn;
use mio::net::TcpStream;
use socket2::SockRef;

use crate::crew::{Crew, Unread};
use crate::erased::AnyMessage;
use crate::outbox::Outbox;
use crate::protocol::Reader;
use crate::script::Peer;
use crate::stream::Stream;

/// Result of a read.
pub(crate) enum Got {
    /// This number of bytes was read.
    Bytes(usize),
    /// Nothing can be read for now.
    Nothing,
    /// The connection ended, orderly or broken off.
    End { orderly: bool },
}

/// Result of a write.
pub(crate) enum Wrote {
    /// Everything that may be written now is written, or the system takes no more.
    Fine,
    /// The connection was never established.
    Unconnected(io::Error),
    /// The server reads nothing any more. Bytes that it sent before can still be read.
    Broken,
}

/// The outstanding responses to one request.
pub(crate) struct Owed {
    /// Index of the exchange; `None` for a request outside the script (the probe).
    pub(crate) exchange: Option<usize>,
    /// Number of responses.
    pub(crate) answers: u32,
    /// Time of the request.
    pub(crate) asked: Instant,
    /// `true` if the server may answer later, or never.
    pub(crate) waits: bool,
}

/// The state of one connection.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    /// Number of the connection in the trace; `None` while nothing was received on an accepted connection.
    pub(crate) wire: Option<WireConn>,
    pub(crate) reader: Box<dyn Reader<AnyMessage>>,
    pub(crate) owed: VecDeque<Owed>,
    pub(crate) outbox: Outbox,
    pub(crate) socket: Socket,
    pub(crate) history: History,
    /// `true` while nothing is read from it.
    pub(crate) held: bool,
    /// `true` if the server waits for the tester's response, where every request is an exchange of its own.
    pub(crate) asking: bool,
    /// `true` if the server has ended its side while responses are still due: it may read them.
    pub(crate) half_closed: bool,
    /// `true` if the prompt for the request that is being read was sent.
    pub(crate) prompted: bool,
}

/// The socket of a connection, and its state as the system reports it.
pub(crate) struct Socket {
    stream: Stream,
    connecting: bool,
    /// `true` if there may be something to read.
    pub(crate) readable: bool,
    /// `true` if the system reported the end of the stream: a short read is then not the last.
    ending: bool,
    writable: bool,
    /// `true` if the tester will end its side once everything is written.
    finishing: bool,
    /// `true` if the tester has ended its side.
    pub(crate) finished: bool,
    /// `true` if the server no longer reads what the tester writes.
    deaf: bool,
}

/// The responses on a connection so far.
pub(crate) struct History {
    /// Start of the current wait for a response: the last time that something was written or answered.
    pub(crate) since: Instant,
    /// Last time that any bytes were received.
    pub(crate) heard: Instant,
    /// `true` if the last message on it was a response.
    pub(crate) answered: bool,
    /// Number of responses received.
    pub(crate) answers: u32,
    /// Time of the first response.
    pub(crate) met: Option<Instant>,
    /// `true` if the server announced that it will end the connection.
    pub(crate) announced: bool,
    /// Number of bytes received since the last complete response.
    pub(crate) unasked: usize,
    /// The unfinished message, for the sum over all cases.
    pub(crate) unread: Unread,
}

impl Connection {
    pub(crate) fn new(
        stream: Stream,
        peer: Peer,
        wire: Option<WireConn>,
        reader: Box<dyn Reader<AnyMessage>>,
        crew: Option<Arc<Crew>>,
    ) -> Self {
        let now = Instant::now();
        // Without it, pieces would wait for acknowledgements. If it fails, the connection has failed too,
        // which the next read or write shows.
        let _ = stream.tcp().set_nodelay(true);
        Self {
            peer,
            wire,
            reader,
            owed: VecDeque::new(),
            outbox: Outbox::default(),
            socket: Socket {
                stream,
                connecting: wire.is_some(),
                readable: false,
                ending: false,
                writable: true,
                finishing: false,
                finished: false,
                deaf: false,
            },
            history: History {
                since: now,
                heard: now,
                answered: false,
                answers: 0,
                met: None,
                announced: false,
                unasked: 0,
                unread: Unread::new(crew),
            },
            held: false,
            asking: false,
            half_closed: false,
            prompted: false,
        }
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.socket.stream.tcp_mut()
    }

    /// Returns `true` if bytes may be written although the system has not reported it: with TLS, a read may
    /// have made room.
    pub(crate) fn has_room(&self) -> bool {
        self.socket.stream.is_layered() && !self.socket.deaf && !self.outbox.is_empty()
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.socket.connecting
    }

    /// Returns `true` if the server has yet to act here: to take bytes, or to respond.
    pub(crate) fn is_waiting(&self) -> bool {
        (!self.owed.is_empty() && !self.is_parked()) || !self.outbox.is_empty()
    }

    /// Returns `true` if the next response may come later, or never. So may those behind it.
    pub(crate) fn is_parked(&self) -> bool {
        self.owed.front().is_some_and(|owed| owed.waits)
    }

    /// Returns `true` if a response is outstanding of which a part was received.
    pub(crate) fn has_begun(&self) -> bool {
        !self.owed.is_empty() && self.reader.held() > 0
    }

    /// Returns the time since which nothing was received on the connection, and the tester wrote nothing.
    pub(crate) fn quiet_since(&self) -> Instant {
        self.history.since.max(self.history.heard)
    }

    /// Takes an event of the system about the socket.
    pub(crate) fn ready(&mut self, event: &mio::event::Event) {
        self.socket.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.socket.ending |= event.is_read_closed() || event.is_error();
        self.socket.writable |= event.is_writable() || event.is_write_closed() || event.is_error();
    }

    /// Writes as much as may be written, and passes the written bytes to `wrote`.
    pub(crate) fn flush(&mut self, mut wrote: impl FnMut(&[u8])) -> Wrote {
        if !self.socket.writable || self.socket.deaf {
            return Wrote::Fine;
        }
        if self.socket.connecting {
            match self.socket.stream.tcp().take_error() {
                Ok(Some(error)) | Err(error) => return Wrote::Unconnected(error),
                Ok(None) => {}
            }
            match self.socket.stream.tcp().peer_addr() {
                Ok(_) => self.socket.connecting = false,
                Err(error) if error.kind() == ErrorKind::NotConnected => {
                    self.socket.writable = false;
                    return Wrote::Fine;
                }
                Err(error) => return Wrote::Unconnected(error),
            }
        }
        match self.socket.stream.push() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.socket.writable = false;
                return Wrote::Fine;
            }
            Err(_) => return self.broken(),
            Ok(()) => {}
        }
        loop {
            let bytes = self.outbox.ready(Instant::now);
            if bytes.is_empty() {
                break;
            }
            match self.socket.stream.write(bytes) {
                Ok(0) => return self.broken(),
                Ok(count) => {
                    wrote(self.outbox.shown(count));
                    self.outbox.wrote(count, Instant::now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.socket.writable = false;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.broken(),
            }
        }
        if self.socket.finishing && self.outbox.is_empty() && !self.socket.finished {
            self.socket.finished = true;
            self.socket.stream.finish();
        }
        Wrote::Fine
    }

    /// Notes that the server no longer reads: from now on only the end of the connection is awaited.
    fn broken(&mut self) -> Wrote {
        self.socket.deaf = true;
        self.socket.readable = true;
        self.socket.ending = true;
        Wrote::Broken
    }

    /// Ends the tester's side once all pending bytes are written.
    pub(crate) fn finish(&mut self) {
        self.socket.finishing = true;
    }

    /// Returns `true` if messages can still be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.socket.finishing && !self.socket.deaf
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Got {
        loop {
            match self.socket.stream.read(buffer) {
                Ok(0) => return Got::End { orderly: true },
                Ok(count) => {
                    // An edge is reported again only after everything was read, and a short read has read
                    // everything.
                    self.socket.readable =
                        count == buffer.len() || self.socket.ending || self.socket.stream.is_layered();
                    return Got::Bytes(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.socket.readable = false;
                    self.socket.writable |= self.socket.stream.is_layered();
                    // The server no longer reads but did not end its side: the connection is broken all the
                    // same.
                    return if self.socket.deaf { Got::End { orderly: false } } else { Got::Nothing };
                }
                Err(_) => return Got::End { orderly: false },
            }
        }
    }

    /// Resets the connection, so that the port does not stay occupied. Only for connections on which nothing
    /// is under way.
    pub(crate) fn drop_at_once(self) {
        let _ = SockRef::from(self.socket.stream.tcp()).set_linger(Some(Duration::ZERO));
    }
}
