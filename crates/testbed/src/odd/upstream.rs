//! A gateway's connections to its origin, and reading of the responses.

use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::habits::Habits;
use super::table::Oddity;
use crate::embedded::content::Framing;
use crate::embedded::input::{Input, Trouble};
use crate::embedded::message::{Fields, Tolerance};
use crate::embedded::pool::status_line;
use crate::embedded::switches::Stop;

/// Maximum time for a response of the origin.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of content, in bytes.
const LIMIT: usize = 8 * 1024 * 1024;
/// Maximum length of a status line or chunk-size line, in bytes.
const LINE: usize = 4096;

/// A response of the origin.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) minor: u8,
    pub(super) status: u16,
    pub(super) fields: Fields,
    /// The content, as far as it was received.
    pub(super) content: Vec<u8>,
    pub(super) trailers: Fields,
    pub(super) interim: Vec<(u16, Fields)>,
    /// `true` if the response was received completely.
    pub(super) whole: bool,
}

/// Failure to receive a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    /// `true` if a reused connection ended before a response.
    pub(super) was_kept: bool,
}

/// All connections to the origin.
#[derive(Debug)]
pub(super) struct Lines {
    origin: SocketAddr,
    stop: Arc<Stop>,
    kept: Mutex<Vec<Input>>,
    shared: Mutex<Option<Arc<Shared>>>,
}

/// A connection on which several requests are under way.
#[derive(Debug)]
struct Shared {
    stream: Arc<TcpStream>,
    /// Number of requests sent; the lock is held while a request is written.
    sent: Mutex<u64>,
    turn: Mutex<Turn>,
    changed: Condvar,
}

/// The order in which responses are received.
#[derive(Debug)]
struct Turn {
    next: u64,
    /// The connection to read from; `None` while a thread receives a response.
    input: Option<Input>,
    /// `true` if the connection has ended.
    dead: bool,
}

impl Lines {
    pub(super) fn new(origin: SocketAddr, stop: Arc<Stop>) -> Self {
        Self { origin, stop, kept: Mutex::default(), shared: Mutex::default() }
    }

    /// Sends a request and receives the response, on a connection of the kind that the habits require.
    pub(super) fn exchange(
        &self,
        request: &[u8],
        method: &str,
        habits: &Habits,
        is_again: bool,
    ) -> Result<Received, Failure> {
        let is_safe = matches!(method, "GET" | "HEAD" | "OPTIONS");
        if habits.has(Oddity::Pipelines) && is_safe && !is_again {
            return self.pipelined(request, method);
        }
        let keeps = habits.has(Oddity::Pool) || habits.has(Oddity::GivesUp);
        let kept = if keeps && !is_again { self.kept(habits.has(Oddity::GivesUp)) } else { None };
        let was_kept = kept.is_some();
        let mut input = match kept {
            Some(input) => input,
            None => self.connect().map_err(|_| Failure { was_kept })?,
        };
        input.begin();
        let sent = input.stream().write_all(request);
        if sent.is_ok() && habits.has(Oddity::HalfClose) {
            let _ = input.stream().shutdown(Shutdown::Write);
        }
        let (received, goes_on) = receive(&mut input, method).map_err(|()| Failure { was_kept })?;
        // Surplus bytes belong to no request, so such a connection is not reused.
        if keeps && goes_on && input.pending().is_empty() {
            lock(&self.kept).push(input);
        }
        Ok(received)
    }

    fn connect(&self) -> io::Result<Input> {
        let stream = TcpStream::connect_timeout(&self.origin, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Input::of_origin(Arc::new(stream), PATIENCE, self.stop.clone())
    }

    /// Returns an idle connection. Unless `any`, it is one that appears to be open.
    fn kept(&self, any: bool) -> Option<Input> {
        loop {
            let input = lock(&self.kept).pop()?;
            let stream = input.stream();
            let is_quiet = stream.set_nonblocking(true).is_ok()
                && stream.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            if (is_quiet || any) && stream.set_nonblocking(false).is_ok() {
                return Some(input);
            }
        }
    }

    /// Sends a request on the shared connection, and waits for its turn to receive.
    fn pipelined(&self, request: &[u8], method: &str) -> Result<Received, Failure> {
        let failure = Failure { was_kept: true };
        let (line, number) = {
            let mut shared = lock(&self.shared);
            let alive = shared.take().filter(|line| !lock(&line.turn).dead);
            let line = match alive {
                Some(line) => line,
                None => {
                    let input = self.connect().map_err(|_| Failure { was_kept: false })?;
                    Arc::new(Shared::new(input))
                }
            };
            *shared = Some(line.clone());
            let mut sent = lock(&line.sent);
            let number = *sent;
            *sent += 1;
            let _ = (&*line.stream).write_all(request);
            (line.clone(), number)
        };
        let mut turn = lock(&line.turn);
        while turn.next != number {
            turn = line.changed.wait(turn).map_err(|_| failure)?;
        }
        let input = turn.input.take().filter(|_| !turn.dead);
        drop(turn);
        let (result, input) = match input {
            None => (Err(failure), None),
            Some(mut input) => {
                input.begin();
                match receive(&mut input, method) {
                    Err(()) => (Err(failure), None),
                    Ok((received, goes_on)) => (Ok(received), goes_on.then_some(input)),
                }
            }
        };
        let mut turn = lock(&line.turn);
        turn.dead = input.is_none();
        turn.input = input;
        turn.next += 1;
        line.changed.notify_all();
        result
    }
}

impl Shared {
    fn new(input: Input) -> Self {
        Self {
            stream: input.shared(),
            sent: Mutex::new(0),
            turn: Mutex::new(Turn { next: 0, input: Some(input), dead: false }),
            changed: Condvar::new(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

/// Receives the response to a request of this method. Returns it with `true` if the connection can be reused, or an
/// error if not even a complete head was received.
fn receive(input: &mut Input, method: &str) -> Result<(Received, bool), ()> {
    let mut interim = Vec::new();
    loop {
        let head = input.line(LINE).and_then(|line| status_line(&line)).map_err(|_| ())?;
        let (minor, status) = head;
        let fields = Fields::read(input, Tolerance { space_before_colon: true }).map_err(|_| ())?;
        if status == 101 {
            return Err(());
        }
        if status < 200 {
            interim.push((status, fields));
            continue;
        }
        let is_bare = method == "HEAD" || matches!(status, 204 | 304);
        let framing =
            if is_bare { Framing::Length(0) } else { Framing::of_response(&fields).map_err(|_| ())? };
        let mut content = Vec::new();
        let mut trailers = Fields::default();
        let whole = match framing {
            Framing::Chunked => chunks(input, &mut content, &mut trailers).is_ok(),
            framing => match framing.read(input, LIMIT, false) {
                Ok(all) => {
                    content = all;
                    true
                }
                Err(_) => {
                    content = input.pending().to_vec();
                    false
                }
            },
        };
        let closes = minor == 0 || fields.tokens("connection").iter().any(|option| option == "close");
        let goes_on = whole && !closes && framing != Framing::Close;
        return Ok((Received { minor, status, fields, content, trailers, interim, whole }, goes_on));
    }
}

/// Reads chunks; if they are cut off, `content` keeps the bytes received so far.
fn chunks(input: &mut Input, content: &mut Vec<u8>, trailers: &mut Fields) -> Result<(), Trouble> {
    loop {
        let line = input.line(LINE)?;
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let bad = Trouble::Bad(502, "a bad chunk");
        let size = std::str::from_utf8(&line[..digits]).map_err(|_| bad)?;
        let size = usize::from_str_radix(size, 16).map_err(|_| bad)?;
        if size == 0 {
            *trailers = Fields::read(input, Tolerance::default())?;
            return Ok(());
        }
        if size > LIMIT - content.len().min(LIMIT) {
            return Err(bad);
        }
        match input.exactly(size) {
            Ok(mut chunk) => content.append(&mut chunk),
            Err(trouble) => {
                content.extend_from_slice(input.pending());
                return Err(trouble);
            }
        }
        input.exactly(2)?;
    }
}
