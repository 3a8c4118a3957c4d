//! One connection with a client: requests are read, performed and answered one after the other.
//!
//! A response is one write. A request that cannot be parsed gets an error response, and the connection is closed in
//! stages, so that the response arrives (RFC 9112, 9.6).

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Shared;
use super::bug::Bug;
use super::content::Framing;
use super::input::{Input, Trouble};
use super::message::Request;
use super::origin::Origin;
use super::response::{Options, Response};

/// Time to wait for the client to close after the last response.
const FAREWELL: Duration = Duration::from_secs(1);
/// Number of bytes to discard while waiting for the client to close.
const LAST_WORDS: usize = 4 * 1024 * 1024;

/// State of one connection with a client.
pub(crate) struct Connection<'a> {
    shared: &'a Shared,
    input: Input,
    /// Number of consecutive requests, this one included, of which each but the first had arrived before the one
    /// before it was answered.
    burst: usize,
    /// Response that the next one overtakes, for [`Bug::SwappedPipeline`].
    held: Vec<u8>,
    out: Vec<u8>,
}

/// The parts of a request that its response still depends on after the request was consumed.
struct Asked {
    method: String,
    target: String,
    minor: u8,
}

impl Asked {
    fn of(request: &Request) -> Self {
        Self { method: request.method.clone(), target: request.target.clone(), minor: request.minor }
    }
}

/// Action of the connection after a response.
#[derive(PartialEq, Eq)]
enum Next {
    Request,
    Close,
    Abandon,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(stream: Arc<TcpStream>, shared: &'a Shared) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(shared.patience))?;
        let input = Input::of_client(stream, shared.patience)?;
        Ok(Self { shared, input, burst: 0, held: Vec::new(), out: Vec::new() })
    }

    /// Serves the connection until it ends.
    pub(crate) fn serve(mut self) {
        loop {
            match self.exchange() {
                Ok(Next::Request) => {}
                Ok(Next::Close) => return self.farewell(),
                Ok(Next::Abandon) => {
                    let _ = self.input.stream().shutdown(Shutdown::Both);
                    return;
                }
                Err(trouble) => {
                    let (status, why) = match trouble {
                        Trouble::Gone => return,
                        Trouble::Late => (408, "this takes too long"),
                        Trouble::Bad(status, why) => (status, why),
                    };
                    self.render(&Response::explained(status, why).closing(), "", 1);
                    if self.flush().is_ok() {
                        self.farewell();
                    }
                    return;
                }
            }
        }
    }

    fn exchange(&mut self) -> Result<Next, Trouble> {
        let bugs = &self.shared.switches;
        self.burst = if self.input.pending().is_empty() { 1 } else { self.burst + 1 };
        let mut request = Request::read(&mut self.input, bugs)?;
        let framing = Framing::of_request(&request, self.shared.limit, bugs)?;
        let proxied =
            self.shared.proxy.as_ref().and_then(|proxy| Some((proxy, proxy.maps(request.local()?)?)));

        if request.expects_continue() && framing != Framing::Length(0) && self.input.pending().is_empty() {
            if proxied.is_some() {
                return Err(Trouble::Bad(417, "the proxy does not pass expectations on"));
            }
            if !Origin::knows(&request.method) {
                return self.reply(request, Response::closing);
            }
            if !bugs.has(Bug::ContinueUnsent) {
                self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
                self.flush()?;
            }
        }
        self.input.begin();
        request.content =
            framing.read(&mut self.input, self.shared.limit, bugs.has(Bug::ChunkSizeTruncated))?;

        if request.method == "HEAD" && bugs.strikes(Bug::HangOnHead, 6) {
            self.hang();
            return Err(Trouble::Gone);
        }
        let close = request.wants_close() && !(request.minor > 0 && bugs.has(Bug::CloseIgnored));
        let finish = |response: Response| if close { response.closing() } else { response };
        match proxied {
            Some((proxy, target)) => {
                let asked = Asked::of(&request);
                let response = finish(proxy.answer(request, &target));
                self.send(response, &asked)
            }
            None => {
                // Where another request waits, the error would look like the response to that one.
                let is_alone = !request.content.is_empty() && self.input.pending().is_empty();
                let is_unread = is_alone && bugs.strikes(Bug::BodyUnread, 6);
                let next = self.reply(request, finish)?;
                if is_unread && next == Next::Request {
                    return Err(Trouble::Bad(400, "this is no request"));
                }
                Ok(next)
            }
        }
    }

    /// Performs the request at the origin and sends the response.
    fn reply(&mut self, request: Request, finish: impl Fn(Response) -> Response) -> Result<Next, Trouble> {
        let asked = Asked::of(&request);
        let response = finish(self.shared.origin.answer(request));
        self.send(response, &asked)
    }

    fn send(&mut self, response: Response, asked: &Asked) -> Result<Next, Trouble> {
        let Asked { method, target, minor } = asked;
        let bugs = &self.shared.switches;
        if self.burst == 3 && bugs.has(Bug::ThirdUnanswered) {
            return Ok(Next::Request);
        }
        if bugs.strikes(Bug::ClosedUnanswered, 20) {
            return Ok(Next::Abandon);
        }
        self.render(&response, method, *minor);
        if response.close {
            self.flush()?;
            return Ok(Next::Close);
        }
        if method == "GET" && response.status == 200 && *minor > 0 && bugs.strikes(Bug::CrossedConnections, 3)
        {
            let mine = (target.clone(), std::mem::take(&mut self.out));
            (_, self.out) = self.shared.crossing.meet(mine, |(theirs, _)| theirs != target);
        }
        if bugs.has(Bug::SwappedPipeline) && self.held.is_empty() && self.another_is_there() {
            self.held = std::mem::take(&mut self.out);
            return Ok(Next::Request);
        }
        self.out.append(&mut self.held);
        self.flush()?;
        Ok(Next::Request)
    }

    fn another_is_there(&self) -> bool {
        let text = String::from_utf8_lossy(self.input.pending()).to_ascii_lowercase();
        text.split_once("\r\n\r\n").is_some_and(|(head, _)| !head.contains("\r\nexpect"))
    }

    fn render(&mut self, response: &Response, method: &str, minor: u8) {
        let options = Options { chunks_from: self.shared.chunks_from, switches: &self.shared.switches };
        response.render(method, minor, &options, &mut self.out);
    }

    /// Writes all pending output at once.
    fn flush(&mut self) -> Result<(), Trouble> {
        // `held` is not empty here only if the connection is about to end.
        self.held.append(&mut self.out);
        let result = self.input.stream().write_all(&self.held).map_err(|_| Trouble::Gone);
        self.held.clear();
        result
    }

    /// Closes in stages, so that the client can still read the last response (RFC 9112, 9.6).
    fn farewell(mut self) {
        let stream = self.input.stream();
        let ready = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(FAREWELL)));
        let start = Instant::now();
        let mut heard = 0;
        self.input.rest();
        while ready.is_ok() && start.elapsed() < FAREWELL && heard < LAST_WORDS && self.input.fill().is_ok() {
            heard += self.input.pending().len();
            self.input.skip(self.input.pending().len());
        }
    }

    /// Discards input and sends nothing until the client closes.
    fn hang(&mut self) {
        self.input.rest();
        while self.input.fill() != Err(Trouble::Gone) {
            self.input.skip(self.input.pending().len());
        }
    }
}
