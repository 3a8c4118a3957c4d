//! Bytes that arrive on a connection, and what can go wrong while waiting for them.
//!
//! Both sides use it: the server to hear its clients, the proxy to hear its origin. Nothing here knows HTTP but the
//! rule that lines end in CRLF (a lone LF is refused: RFC 9112, 2.2 allows either).

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::Fields;
use super::switches::Stop;

/// Why no more can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The other side has closed, or the connection broke, or this server ends.
    Gone,
    /// It took too long.
    Late,
    /// A message this server refuses, with this status and reason.
    Bad(u16, &'static str),
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Input {
    stream: Arc<TcpStream>,
    buffer: Vec<u8>,
    start: usize,
    patience: Duration,
    /// When the message that is being read must be complete.
    deadline: Option<Instant>,
    /// What came after the last chunk of the latest content.
    pub(crate) trailers: Fields,
    /// To be asked now and then, where nobody would shut this connection down.
    stop: Option<Arc<Stop>>,
}

/// How often [`Input::stop`] is asked.
const GLANCE: Duration = Duration::from_millis(50);

impl Input {
    /// Reads from a client: the server shuts this connection down when it ends.
    pub(crate) fn of_client(stream: Arc<TcpStream>, patience: Duration) -> io::Result<Self> {
        Self::new(stream, patience, None)
    }

    /// Reads from an origin: looks up now and then, to see whether the server ends.
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

    /// The connection, for somebody who writes while this reads.
    pub(crate) fn shared(&self) -> Arc<TcpStream> {
        self.stream.clone()
    }

    /// What has arrived and was not yet taken.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// A message begins: from now on it has so much time.
    pub(crate) fn begin(&mut self) {
        self.deadline = Some(Instant::now() + self.patience);
    }

    /// No message is under way: waiting for one may take its time.
    pub(crate) fn rest(&mut self) {
        self.deadline = None;
    }

    /// Takes bytes that are pending.
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

    /// Waits until more has arrived.
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

    /// Exactly so many bytes.
    pub(crate) fn exactly(&mut self, count: usize) -> Result<Vec<u8>, Trouble> {
        while self.pending().len() < count {
            self.fill()?;
        }
        Ok(self.take(count))
    }

    /// A line of at most so many bytes, without its end.
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
