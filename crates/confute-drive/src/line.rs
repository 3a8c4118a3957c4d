//! One connection of a case: the socket, what is to be written, who reads, and what is owed.
//!
//! It never blocks and records nothing: the order of observations is the case's affair.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use confute::trace::WireConn;
use mio::net::TcpStream;
use socket2::SockRef;

use crate::erased::AnyMessage;
use crate::outbox::Outbox;
use crate::protocol::Reader;
use crate::script::Peer;
use crate::stream::Stream;

/// What reading gave.
pub(crate) enum Got {
    /// So many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The end: orderly, or broken off.
    End { orderly: bool },
}

/// What became of an attempt to write.
pub(crate) enum Wrote {
    /// All that may be written now is out, or the system takes no more.
    Fine,
    /// The connection was never made.
    Unconnected(io::Error),
    /// Nobody reads any more. What was sent to the tester before can still be read.
    Broken,
}

/// An answer that is owed.
pub(crate) struct Owed {
    /// To which exchange; `None` if it is nobody's business.
    pub(crate) exchange: Option<usize>,
    /// How many messages.
    pub(crate) answers: u32,
    /// When it was asked for.
    pub(crate) asked: Instant,
}

/// One connection.
pub(crate) struct Line {
    pub(crate) peer: Peer,
    /// `None` while nothing has come on an accepted connection.
    pub(crate) wire: Option<WireConn>,
    pub(crate) reader: Box<dyn Reader<AnyMessage>>,
    pub(crate) owed: VecDeque<Owed>,
    pub(crate) outbox: Outbox,
    pub(crate) socket: Socket,
    pub(crate) history: History,
    /// Nothing is read from it for now.
    pub(crate) held: bool,
    /// Whether the server waits for the tester's answer, where exchanges are told apart.
    pub(crate) asking: bool,
    /// The server has ended its side, but answers are still due: it may read them.
    pub(crate) half_closed: bool,
    /// The request that is being read was prompted to go on.
    pub(crate) prompted: bool,
}

/// The socket of a connection, and what the system said about it.
pub(crate) struct Socket {
    stream: Stream,
    connecting: bool,
    /// There may be something to read.
    pub(crate) readable: bool,
    /// The end is in sight: a short read is not the last.
    ending: bool,
    writable: bool,
    /// The tester will end its side once everything is out.
    finishing: bool,
    /// The tester has ended its side.
    pub(crate) finished: bool,
    /// Nobody reads what the tester writes.
    deaf: bool,
}

/// The answers on a connection so far.
pub(crate) struct History {
    /// When an answer was last waited for anew: something was written out or answered.
    pub(crate) since: Instant,
    /// Whether the last message on it was an answer.
    pub(crate) answered: bool,
    /// The number of answers that came.
    pub(crate) answers: u32,
    /// Whether the server said that it will end it.
    pub(crate) announced: bool,
    /// Bytes since something was last answered.
    pub(crate) unasked: usize,
}

impl Line {
    pub(crate) fn new(
        stream: Stream,
        peer: Peer,
        wire: Option<WireConn>,
        reader: Box<dyn Reader<AnyMessage>>,
        now: Instant,
    ) -> Self {
        // Without it, pieces would wait for acknowledgements. If it fails the connection has failed too, which shows.
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
            history: History { since: now, answered: false, answers: 0, announced: false, unasked: 0 },
            held: false,
            asking: false,
            half_closed: false,
            prompted: false,
        }
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.socket.stream.tcp_mut()
    }

    /// Whether something can be written though the system has not said so: reading may have made room.
    pub(crate) fn has_room(&self) -> bool {
        self.socket.stream.is_layered() && !self.socket.deaf && !self.outbox.is_empty()
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.socket.connecting
    }

    /// Whether the server has something to do for it.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.owed.is_empty() || !self.outbox.is_empty()
    }

    /// What the system says about it.
    pub(crate) fn ready(&mut self, event: &mio::event::Event) {
        self.socket.readable |= event.is_readable() || event.is_read_closed() || event.is_error();
        self.socket.ending |= event.is_read_closed() || event.is_error();
        self.socket.writable |= event.is_writable() || event.is_write_closed() || event.is_error();
    }

    /// Writes what may be written; tells what went out.
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

    /// From now on only the end is waited for.
    fn broken(&mut self) -> Wrote {
        self.socket.deaf = true;
        self.socket.readable = true;
        self.socket.ending = true;
        Wrote::Broken
    }

    /// Nothing more will be sent once what waits is out.
    pub(crate) fn finish(&mut self) {
        self.socket.finishing = true;
    }

    /// Whether something can still be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.socket.finishing && !self.socket.deaf
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Got {
        loop {
            match self.socket.stream.read(buffer) {
                Ok(0) => return Got::End { orderly: true },
                Ok(count) => {
                    // An edge comes again only after everything was read; less than asked for was everything.
                    self.socket.readable =
                        count == buffer.len() || self.socket.ending || self.socket.stream.is_layered();
                    return Got::Bytes(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.socket.readable = false;
                    self.socket.writable |= self.socket.stream.is_layered();
                    // Nobody reads what we write, but it did not say goodbye: over all the same.
                    return if self.socket.deaf { Got::End { orderly: false } } else { Got::Nothing };
                }
                Err(_) => return Got::End { orderly: false },
            }
        }
    }

    /// Ends it without leaving the port occupied. Only for connections on which nothing is under way.
    pub(crate) fn drop_at_once(self) {
        let _ = SockRef::from(self.socket.stream.tcp()).set_linger(Some(Duration::ZERO));
    }
}
