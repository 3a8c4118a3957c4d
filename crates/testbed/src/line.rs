//! One connection of the driver: what is still to be written, what was read, and the request that waits for an answer.
//!
//! It never blocks, and it records nothing: the order of observations is the driver's affair.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use confute_models::conditional::Message;

use crate::driver::Trouble;
use crate::http;

pub(crate) struct Line {
    number: u32,
    stream: TcpStream,
    unsent: Vec<u8>,
    unread: Vec<u8>,
    pending: Option<(Message, Instant)>,
}

impl Line {
    pub(crate) fn open(number: u32, address: SocketAddr, patience: Duration) -> Result<Self, Trouble> {
        let open = || {
            let stream = TcpStream::connect_timeout(&address, patience)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let stream = open().map_err(|source| Trouble::Unreachable { address, source })?;
        Ok(Self { number, stream, unsent: Vec::new(), unread: Vec::new(), pending: None })
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_none()
    }

    /// Begins to send. The caller has recorded the request: from here on the server may act on it.
    pub(crate) fn send(&mut self, request: Message, bytes: Vec<u8>) -> Result<(), Trouble> {
        self.pending = Some((request, Instant::now()));
        self.unsent = bytes;
        self.flush()
    }

    /// Moves what can be moved now; a request with its answer, if that is complete.
    pub(crate) fn pump(&mut self, silence: Duration) -> Result<Option<(Message, Message)>, Trouble> {
        self.flush()?;
        let closed = self.fill()?;
        if self.pending.is_none() && !self.unread.is_empty() {
            return Err(Trouble::Unasked { conn: self.number, bytes: self.unread.len() });
        }
        let answer = if self.unread.is_empty() { None } else { self.answer()? };
        if answer.is_none() && closed {
            return Err(Trouble::Closed {
                conn: self.number,
                request: self.request(),
                bytes: self.unread.len(),
            });
        }
        if let Some((_, since)) = &self.pending
            && since.elapsed() > silence
        {
            return Err(Trouble::Silent {
                conn: self.number,
                request: self.request(),
                waited: silence,
                bytes: self.unread.len(),
            });
        }
        Ok(answer)
    }

    fn answer(&mut self) -> Result<Option<(Message, Message)>, Trouble> {
        let conn = self.number;
        let garbled = |source| Trouble::Garbled { conn, request: self.request(), source };
        let Some((request, _)) = &self.pending else { return Ok(None) };
        let Some((answer, length)) = http::answer(request, &self.unread).map_err(garbled)? else {
            return Ok(None);
        };
        self.unread.drain(..length);
        Ok(self.pending.take().map(|(request, _)| (request, answer)))
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(0) => return Err(self.broken(ErrorKind::WriteZero.into())),
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(())
    }

    /// Reads what is there; whether the server has closed.
    fn fill(&mut self) -> Result<bool, Trouble> {
        let mut buffer = [0; 16 << 10];
        // A server that never stops talking must not keep the others waiting: what one answer may take, and no more.
        while self.unread.len() < http::MOST_HEAD + 2 * http::MOST_BODY {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(false)
    }

    fn broken(&self, source: io::Error) -> Trouble {
        Trouble::Broken { conn: self.number, request: self.request(), source }
    }

    fn request(&self) -> String {
        match &self.pending {
            Some((Message::Get { key, .. }, _)) => format!("a get of {key}"),
            Some((Message::Put { key, .. }, _)) => format!("a put of {key}"),
            _ => "nothing".to_owned(),
        }
    }
}
