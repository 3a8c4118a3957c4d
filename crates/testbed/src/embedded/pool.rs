//! Pool of persistent connections to the origin.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::content::Framing;
use super::input::{Input, Trouble};
use super::message::{Fields, Tolerance};
use super::switches::Stop;

/// Maximum number of idle connections.
const KEPT: usize = 32;

/// A response of the origin, as received.
#[derive(Debug)]
pub(crate) struct Received {
    /// Minor version: the digit after `HTTP/1.`.
    pub(crate) minor: u8,
    pub(crate) status: u16,
    pub(crate) fields: Fields,
    pub(crate) content: Vec<u8>,
    pub(crate) trailers: Fields,
    /// Interim responses that preceded this one.
    pub(crate) interim: Vec<(u16, Fields)>,
}

/// Pool of idle connections to one origin.
#[derive(Debug)]
pub(crate) struct Pool {
    origin: SocketAddr,
    patience: Duration,
    limit: usize,
    stop: Arc<Stop>,
    idle: Mutex<Vec<Input>>,
}

/// Failure of an attempt to send a request and receive its response.
struct Failure {
    trouble: Trouble,
    /// `true` if no byte was received: the origin may have closed the idle connection before the request.
    silent: bool,
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, silent: false }
    }
}

impl Pool {
    pub(crate) fn new(origin: SocketAddr, patience: Duration, limit: usize, stop: Arc<Stop>) -> Self {
        Self { origin, patience, limit, stop, idle: Mutex::default() }
    }

    /// Sends a request and receives the response. If an idle connection proves closed and the method is idempotent,
    /// the request is sent once more on a new connection (RFC 9110, 9.2.2).
    pub(crate) fn exchange(&self, request: &[u8], method: &str) -> Result<Received, Trouble> {
        if let Some(input) = self.kept() {
            match self.try_on(input, request, method) {
                Err(failure) if failure.silent && is_idempotent(method) => {}
                result => return result.map_err(|failure| failure.trouble),
            }
        }
        self.try_on(self.connect()?, request, method).map_err(|failure| failure.trouble)
    }

    /// Returns an idle connection that appears to be open.
    fn kept(&self) -> Option<Input> {
        loop {
            let input = self.idle.lock().expect("nobody panics while holding it").pop()?;
            let stream = input.stream();
            let quiet = stream.set_nonblocking(true).is_ok()
                && stream.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
                && stream.set_nonblocking(false).is_ok();
            if quiet {
                return Some(input);
            }
        }
    }

    fn connect(&self) -> Result<Input, Trouble> {
        let stream = TcpStream::connect_timeout(&self.origin, self.patience).map_err(trouble)?;
        let stream = Arc::new(stream);
        stream.set_nodelay(true).map_err(trouble)?;
        stream.set_write_timeout(Some(self.patience)).map_err(trouble)?;
        Input::of_origin(stream, self.patience, self.stop.clone()).map_err(trouble)
    }

    fn try_on(&self, mut input: Input, request: &[u8], method: &str) -> Result<Received, Failure> {
        input.begin();
        let sent = input.stream().write_all(request);
        sent.map_err(|error| Failure { silent: true, trouble: trouble(error) })?;
        if let Err(trouble) = input.fill() {
            return Err(Failure { trouble, silent: trouble == Trouble::Gone });
        }
        let mut interim = Vec::new();
        loop {
            let (minor, status) = status_line(&input.line(4096)?)?;
            let fields = Fields::read(&mut input, Tolerance { space_before_colon: true })?;
            if status == 101 {
                return Err(Trouble::Bad(502, "the origin switches protocols unasked").into());
            }
            if status < 200 {
                interim.push((status, fields));
                continue;
            }
            let bare = method == "HEAD" || matches!(status, 204 | 304);
            let framing = if bare { Framing::Length(0) } else { Framing::of_response(&fields)? };
            let content = framing.read(&mut input, self.limit, false)?;
            let trailers = std::mem::take(&mut input.trailers);
            let closes = minor == 0 || fields.tokens("connection").iter().any(|it| it == "close");
            if !closes && framing != Framing::Close && input.pending().is_empty() {
                let mut idle = self.idle.lock().expect("nobody panics while holding it");
                if idle.len() < KEPT {
                    idle.push(input);
                }
            }
            return Ok(Received { minor, status, fields, content, trailers, interim });
        }
    }
}

pub(crate) fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
}

fn trouble(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Trouble::Late,
        _ => Trouble::Gone,
    }
}

/// Parses a status line into minor version and status code.
pub(crate) fn status_line(line: &[u8]) -> Result<(u8, u16), Trouble> {
    match line {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'0'..=b'9', b' ', a, b, c, rest @ ..]
            if [a, b, c].iter().all(|it| it.is_ascii_digit())
                && *a != b'0'
                && (rest.is_empty() || rest[0] == b' ') =>
        {
            let digit = |it: &u8| u16::from(it - b'0');
            Ok((minor - b'0', digit(a) * 100 + digit(b) * 10 + digit(c)))
        }
        _ => Err(Trouble::Bad(502, "the origin does not speak HTTP/1")),
    }
}
