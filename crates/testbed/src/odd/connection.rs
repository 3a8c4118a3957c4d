//! One connection with a client: requests are read, responses sent in order, and the connection ends in one of
//! several ways.

use std::io::{self, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use super::origin::{Origin, Reply};
use super::outcome::Deal;
use super::table::Oddity;
use super::wire::{self, Rendered};
use crate::embedded::content::Framing;
use crate::embedded::input::{Input, Trouble};
use crate::embedded::message::Request;
use crate::embedded::switches::Switches;

/// Maximum time that a client may take to send a request, or be idle between two.
const PATIENCE: Duration = Duration::from_secs(20);
/// Idle timeout where it is short, in milliseconds: the minimum, and the range of a random addition.
const IDLE: (u64, u64) = (15, 40);
/// Maximum length of content, in bytes.
const LIMIT: usize = 4 * 1024 * 1024;
/// Time to wait for the client to close after the last response.
const FAREWELL: Duration = Duration::from_secs(1);
/// Connections are closed or reset without need once in this many responses.
const RARE: u64 = 150;
/// Maximum number of pipelined reads that are evaluated together.
const TOGETHER: usize = 8;

/// State of one connection with a client.
pub(super) struct Connection<'a> {
    origin: &'a Origin,
    input: Input,
    /// Switches of the embedded server's parser, all off: no bugs.
    flawless: Switches,
    /// Path of the latest successful PUT on this connection, which a twin may undo.
    latest: Option<String>,
}

/// Action of the connection after a response.
#[derive(PartialEq, Eq)]
enum Next {
    Request,
    Close,
    Reset,
    /// Both directions are shut down.
    Abandon,
}

/// A request and its response.
struct Exchange {
    method: String,
    minor: u8,
    close: bool,
    /// Path of the resource, for a twin.
    path: Option<String>,
    deal: Deal,
}

impl<'a> Connection<'a> {
    pub(super) fn new(stream: Arc<TcpStream>, origin: &'a Origin) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let input = Input::of_client(stream, PATIENCE)?;
        Ok(Self { origin, input, flawless: Switches::new(&[]), latest: None })
    }

    /// Serves the connection until it ends.
    pub(super) fn serve(mut self) {
        loop {
            if let Some(next) = self.idle() {
                return self.end(&next);
            }
            match self.exchange() {
                Ok(Next::Request) => {}
                Ok(next) => return self.end(&next),
                Err(Trouble::Gone) => return,
                Err(trouble) => {
                    let (status, why) = match trouble {
                        Trouble::Bad(status, why) => (status, why),
                        _ => (408, "this takes too long"),
                    };
                    let text = format!("{status} {why}\n");
                    let head = format!(
                        "HTTP/1.1 {status} Refused\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
                        text.len()
                    );
                    let _ = self.input.stream().write_all(head.as_bytes());
                    return self.end(&Next::Close);
                }
            }
        }
    }

    /// Waits for a request if idle connections are closed. Returns the way in which the connection ends, if it does.
    fn idle(&mut self) -> Option<Next> {
        let habits = &self.origin.habits;
        let waits = habits.has(Oddity::Idle) || habits.has(Oddity::Timeout);
        // Most of the time the long timeout applies.
        let is_patient = !(habits.shows(Oddity::Idle, 8) || habits.shows(Oddity::Timeout, 8));
        if !waits || is_patient || !self.input.pending().is_empty() {
            return None;
        }
        let stream = self.input.stream();
        let time = Duration::from_millis(IDLE.0 + habits.below(IDLE.1));
        let ready = stream.set_read_timeout(Some(time)).and_then(|()| stream.peek(&mut [0]));
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let is_idle = ready
            .is_err_and(|error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
        if !is_idle {
            return None;
        }
        if habits.has(Oddity::Timeout) && (!habits.has(Oddity::Idle) || habits.below(2) == 0) {
            let breaks = habits.breaks(Oddity::Timeout);
            let close = if breaks { "" } else { "Connection: close\r\n" };
            let text = format!("HTTP/1.1 408 Request Timeout\r\n{close}Content-Length: 0\r\n\r\n");
            let _ = self.input.stream().write_all(text.as_bytes());
            return (!breaks).then_some(Next::Close);
        }
        if habits.breaks(Oddity::Idle) {
            let _ = self.input.stream().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
        Some(Next::Close)
    }

    /// Reads a request, with the pipelined reads behind it if they are evaluated together, and responds to all in
    /// order.
    fn exchange(&mut self) -> Result<Next, Trouble> {
        let request = self.read()?;
        let Some(request) = request else { return Ok(Next::Close) };
        let habits = &self.origin.habits;
        let mut requests = vec![request];
        if habits.has(Oddity::Parallel) && (is_read(&requests[0]) || habits.breaks(Oddity::Parallel)) {
            while requests.len() < TOGETHER
                && !requests.iter().any(Request::wants_close)
                && self.is_read_next()
            {
                requests.extend(self.read()?);
            }
        }
        let mut exchanges: Vec<_> = requests.iter().map(|_| None).collect();
        let mut order: Vec<usize> = (0..requests.len()).collect();
        if habits.breaks(Oddity::Parallel) {
            order.reverse();
        } else {
            for at in (1..order.len()).rev() {
                order.swap(at, habits.below(at as u64 + 1) as usize);
            }
        }
        for (count, at) in order.into_iter().enumerate() {
            if count > 0 && habits.below(2) == 0 {
                self.origin.stop.pause(Duration::from_millis(1));
            }
            let request = &requests[at];
            exchanges[at] = Some(Exchange {
                method: request.method.clone(),
                minor: request.minor,
                close: request.wants_close(),
                path: request.path(),
                deal: self.origin.answer(request),
            });
        }
        for exchange in exchanges.into_iter().flatten() {
            let next = self.send(&exchange)?;
            if next != Next::Request {
                return Ok(next);
            }
        }
        Ok(Next::Request)
    }

    /// Reads a complete request. Returns `None` if it was refused before its content.
    fn read(&mut self) -> Result<Option<Request>, Trouble> {
        let habits = &self.origin.habits;
        let mut request = Request::read(&mut self.input, &self.flawless)?;
        let framing = Framing::of_request(&request, LIMIT, &self.flawless)?;
        if request.expects_continue() && framing != Framing::Length(0) && self.input.pending().is_empty() {
            if habits.has(Oddity::ExpectationFailed) {
                let text: &[u8] =
                    b"HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
                let _ = self.input.stream().write_all(text);
                if habits.breaks(Oddity::ExpectationFailed) {
                    let _ =
                        self.input.stream().write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
                }
                return Ok(None);
            }
            let text = b"HTTP/1.1 100 Continue\r\n\r\n";
            self.input.stream().write_all(text).map_err(|_| Trouble::Gone)?;
        }
        self.input.begin();
        request.content = framing.read(&mut self.input, LIMIT, false)?;
        Ok(Some(request))
    }

    /// Returns `true` if the next pending request is a complete GET or HEAD.
    fn is_read_next(&self) -> bool {
        let pending = self.input.pending();
        let is_read = pending.starts_with(b"GET ") || pending.starts_with(b"HEAD ");
        is_read && pending.windows(4).any(|part| part == b"\r\n\r\n")
    }

    fn send(&mut self, exchange: &Exchange) -> Result<Next, Trouble> {
        let habits = &self.origin.habits;
        let Deal::Reply(reply) = &exchange.deal else { return Ok(Next::Abandon) };
        if exchange.method == "PUT" && (200..300).contains(&reply.status) {
            self.latest.clone_from(&exchange.path);
        }
        let rendered = wire::render(reply, &exchange.method, exchange.minor, exchange.close, habits);
        self.write(&rendered, reply, exchange)?;
        if rendered.broken {
            return Ok(if habits.below(2) == 0 { Next::Close } else { Next::Abandon });
        }
        if rendered.close {
            let goes_on = habits.breaks(Oddity::AlwaysClose) && !exchange.close;
            return Ok(if goes_on { Next::Request } else { Next::Close });
        }
        if habits.strikes(Oddity::Unannounced, RARE) {
            self.undo(Oddity::Unannounced);
            return Ok(Next::Close);
        }
        if habits.strikes(Oddity::Reset, RARE) {
            self.undo(Oddity::Reset);
            return Ok(Next::Reset);
        }
        Ok(Next::Request)
    }

    /// Removes the resource that was put last on this connection, for a twin.
    fn undo(&mut self, oddity: Oddity) {
        if let Some(path) = self.latest.take().filter(|_| self.origin.habits.breaks(oddity)) {
            self.origin.store.lock().delete(&path);
        }
    }

    fn write(&self, rendered: &Rendered, reply: &Reply, exchange: &Exchange) -> Result<(), Trouble> {
        let habits = &self.origin.habits;
        let pause = |millis: u64| self.origin.stop.pause(Duration::from_millis(millis));
        let mut stream = self.input.stream();
        let mut put = |bytes: &[u8]| stream.write_all(bytes).map_err(|_| Trouble::Gone);
        let bytes = &rendered.bytes;
        if habits.has(Oddity::SlowContent) && rendered.head < bytes.len() && habits.below(3) == 0 {
            let (head, content) = bytes.split_at(rendered.head);
            put(head)?;
            pause(1 + habits.below(3));
            let now = exchange.path.as_ref().filter(|_| habits.breaks(Oddity::SlowContent));
            let now = now.and_then(|path| self.origin.store.lock().versions.get(path).cloned());
            return match now {
                Some(now) if reply.status == 200 && now.content.len() == content.len() => put(&now.content),
                _ => put(content),
            };
        }
        if habits.has(Oddity::Pieces) && habits.below(3) == 0 {
            let mut rest = &bytes[..];
            for _ in 0..3 {
                let (piece, after) = rest.split_at(habits.below(rest.len() as u64 + 1) as usize);
                put(piece)?;
                pause(1);
                rest = after;
            }
            return put(rest);
        }
        if habits.has(Oddity::Processing) && bytes.starts_with(b"HTTP/1.1 102") {
            let (first, rest) = bytes.split_at(bytes.len().min(27));
            put(first)?;
            pause(1);
            return put(rest);
        }
        put(bytes)
    }

    /// Ends the connection.
    fn end(mut self, next: &Next) {
        let stream = self.input.stream();
        match next {
            Next::Reset => {
                // With a linger time of zero, closing sends a reset.
                let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
            }
            Next::Abandon => {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Next::Request | Next::Close => {
                // The connection is closed in stages, so that the last response arrives (RFC 9112, 9.6).
                let ready =
                    stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(FAREWELL)));
                let start = Instant::now();
                self.input.rest();
                while ready.is_ok() && start.elapsed() < FAREWELL && self.input.fill().is_ok() {
                    self.input.skip(self.input.pending().len());
                }
            }
        }
    }
}

fn is_read(request: &Request) -> bool {
    matches!(&request.method[..], "GET" | "HEAD")
}
