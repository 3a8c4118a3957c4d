//! Buffered reading from a connection, with timeouts.
//!
//! Both sides use it: the server to read from its clients, the proxy to read from its origin. The only HTTP rule here
//! is that lines end in CRLF (a lone LF is refused: RFC 9112, 2.2 allows either).

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::Fields;
use super::switches::Stop;

/// Reason why no more can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The peer has closed, the connection broke, or this server is stopping.
    Gone,
    /// The timeout expired.
    Late,
    /// The message is refused with this status and reason.
    Bad(u16, &'static str),
}

/// The receiving direction of a connection.
#[derive(Debug)]
pub(crate) struct Input {
    stream: Arc<TcpStream>,
    buffer: Vec<u8>,
    start: usize,
    patience: Duration,
    /// Time by which the message that is being read must be complete.
    deadline: Option<Instant>,
    /// Trailer fields of the latest chunked content.
    pub(crate) trailers: Fields,
    /// Stop signal to poll, for a connection that the server does not shut down when it stops.
    stop: Option<Arc<Stop>>,
}

/// Interval at which [`Input::stop`] is polled.
const GLANCE: Duration = Duration::from_millis(50);

impl Input {
    /// Reads from a client; the server shuts this connection down when it stops.
    pub(crate) fn of_client(stream: Arc<TcpStream>, patience: Duration) -> io::Result<Self> {
        Self::new(stream, patience, None)
    }

    /// Reads from an origin, and polls `stop` to notice when the server stops.
    pub(crate) fn of_origin(stream: Arc<TcpStream>, patience: Duration, stop: Arc<Stop>) -> io::Result<Self> {
        Self::new(stream, patience, Some(stop))
    }

    fn new(stream: Arc<TcpStream>, patience: Duration, stop: Option<Arc<Stop>>) -> io::Result<Self> {
        stream.set_read_timeout(Some(if stop.is_some() { GLANCE.min(patience) } else { patience }))?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            patience,
            deadline: None,
            trailers: Fields::default(),
            stop,
        })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the connection, for a writer that runs while this reads.
    pub(crate) fn shared(&self) -> Arc<TcpStream> {
        self.stream.clone()
    }

    /// Returns the bytes that have arrived and were not yet taken.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Starts the timeout of a message.
    pub(crate) fn begin(&mut self) {
        self.deadline = Some(Instant::now() + self.patience);
    }

    /// Clears the deadline: no message is under way, so only the idle timeout of one read applies.
    pub(crate) fn rest(&mut self) {
        self.deadline = None;
    }

    /// Takes `count` pending bytes.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.pending()[..count].to_vec();
        self.skip(count);
        taken
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.start += count;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
    }

    /// Waits until more bytes have arrived.
    pub(crate) fn fill(&mut self) -> Result<(), Trouble> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let asked = Instant::now();
        let mut space = [0; 16 * 1024];
        loop {
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(Trouble::Late);
            }
            match (&*self.stream).read(&mut space) {
                Ok(0) => return Err(Trouble::Gone),
                Ok(count) => {
                    self.buffer.extend_from_slice(&space[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    if self.stop.as_ref().is_some_and(|stop| stop.is_now()) {
                        return Err(Trouble::Gone);
                    }
                    if asked.elapsed() >= self.patience {
                        return Err(Trouble::Late);
                    }
                }
                Err(_) => return Err(Trouble::Gone),
            }
        }
    }

    /// Reads exactly `count` bytes.
    pub(crate) fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Trouble> {
        while self.pending().len() < count {
            self.fill()?;
        }
        Ok(self.take(count))
    }

    /// Reads a line of at most `limit` bytes and returns it without its CRLF.
    pub(crate) fn line(&mut self, limit: usize) -> Result<Vec<u8>, Trouble> {
        let mut seen = 0;
        loop {
            let pending = self.pending();
            if let Some(found) = pending[seen..].iter().position(|&byte| byte == b'\n') {
                let end = seen + found;
                if end == 0 || pending[end - 1] != b'\r' {
                    return Err(Trouble::Bad(400, "a line ends without CR"));
                }
                let mut line = self.take(end + 1);
                line.truncate(end - 1);
                return if line.contains(&b'\r') { Err(Trouble::Bad(400, "a lone CR")) } else { Ok(line) };
            }
            seen = pending.len();
            if seen > limit {
                return Err(Trouble::Bad(431, "a line is too long"));
            }
            self.fill()?;
        }
    }
}
