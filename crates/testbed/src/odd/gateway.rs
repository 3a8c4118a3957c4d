//! The gateway: forwards requests under a prefix to an origin and relays the responses (RFC 9110, 3.7 and 7.6).
//!
//! The gateway has no cache, evaluates no conditions and changes no content. Requests are received in full before
//! they are forwarded.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::habits::Habits;
use super::relay::{self, Relayed};
use super::table::Oddity;
use super::upstream::{Failure, Lines, Received};
use crate::embedded::content::Framing;
use crate::embedded::input::{Input, Trouble};
use crate::embedded::message::Request;
use crate::embedded::pool::is_idempotent;
use crate::embedded::switches::{Stop, SwapPoint, Switches};

/// Maximum time that a client may take to send a request, or be idle between two.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum length of content, in bytes.
const LIMIT: usize = 4 * 1024 * 1024;
/// Time to wait for the client to close after the last response.
const FAREWELL: Duration = Duration::from_secs(1);

/// The gateway and the state of its twins.
#[derive(Debug)]
pub(super) struct Gateway {
    habits: Habits,
    prefix: String,
    host: String,
    lines: Lines,
    stop: Arc<Stop>,
    /// Meeting point where two clients' responses are swapped, for a twin.
    mixing: SwapPoint<Received>,
    /// Latest response of the origin, for a twin.
    latest: Mutex<Option<Received>>,
    /// Stored responses, for a twin.
    stored: Mutex<HashMap<String, Received>>,
}

impl Gateway {
    pub(super) fn new(habits: Habits, prefix: String, origin: SocketAddr, stop: Arc<Stop>) -> Self {
        Self {
            habits,
            prefix,
            host: origin.to_string(),
            lines: Lines::new(origin, stop.clone()),
            stop,
            mixing: SwapPoint::default(),
            latest: Mutex::default(),
            stored: Mutex::default(),
        }
    }

    /// Serves a connection until it ends.
    pub(super) fn serve(&self, stream: Arc<TcpStream>) {
        let ready = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        let Ok(mut input) = ready.and_then(|()| Input::of_client(stream, PATIENCE)) else { return };
        let flawless = Switches::new(&[]);
        loop {
            let relayed = match self.exchange(&mut input, &flawless) {
                Ok(relayed) => relayed,
                Err(Trouble::Gone) => return,
                Err(Trouble::Late) => relay::own(408, "this takes too long", "", true),
                Err(Trouble::Bad(status, why)) => relay::own(status, why, "", true),
            };
            if input.stream().write_all(&relayed.bytes).is_err() {
                return;
            }
            if relayed.close {
                return farewell(input);
            }
        }
    }

    fn exchange(&self, input: &mut Input, flawless: &Switches) -> Result<Relayed, Trouble> {
        let mut request = Request::read(input, flawless)?;
        let framing = Framing::of_request(&request, LIMIT, flawless)?;
        if request.expects_continue() && framing != Framing::Length(0) && input.pending().is_empty() {
            let sent = input.stream().write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            sent.map_err(|_| Trouble::Gone)?;
        }
        input.begin();
        request.content = framing.read(input, LIMIT, false)?;
        Ok(self.answer(&request))
    }

    fn answer(&self, request: &Request) -> Relayed {
        let habits = &self.habits;
        habits.count();
        let own = |status, why| relay::own(status, why, &request.method, request.wants_close());
        let Some(rest) = request.local().and_then(|path| path.strip_prefix(&self.prefix)) else {
            return own(404, "nothing is forwarded from here");
        };
        let target = format!("/{rest}");
        let is_last = matches!(&request.method[..], "OPTIONS" | "TRACE")
            && request.fields.only("max-forwards").is_some_and(|hops| hops.trim() == "0");
        if is_last {
            return own(200, "the request ends here");
        }
        if habits.keeps(Oddity::Refuses411) && request.fields.has("transfer-encoding") {
            return own(411, "a length is required");
        }
        if habits.has(Oddity::SlowGateway) {
            self.stop.pause(Duration::from_millis(habits.below(4)));
        }
        if request.method == "GET"
            && habits.breaks(Oddity::SlowGateway)
            && habits.below(3) == 0
            && let Some(stored) = self.stored.lock().expect("nobody panics while holding it").get(&target)
        {
            return relay::relayed(stored, request, habits);
        }
        match self.forward(request, &target) {
            Ok(received) => self.relay(received, request, target),
            Err(failure) => {
                if habits.breaks(Oddity::GivesUp) && failure.was_kept {
                    return own(200, "");
                }
                let status = match () {
                    () if habits.breaks(Oddity::FailureStatus) => {
                        return relay::bare(204, request.wants_close());
                    }
                    () if habits.has(Oddity::FailureStatus) => [503, 504][habits.below(2) as usize],
                    () => 502,
                };
                own(status, "the origin does not answer")
            }
        }
    }

    /// Sends a request upstream, and retries if that is allowed and the habits say so.
    fn forward(&self, request: &Request, target: &str) -> Result<Received, Failure> {
        let habits = &self.habits;
        let bytes = relay::forwarded(request, target, &self.host, habits);
        let method = relay::method(request, habits);
        let idempotent = is_idempotent(&request.method);
        let send = |is_again| self.lines.exchange(&bytes, method, habits, is_again);
        if idempotent && habits.breaks(Oddity::Retries) && habits.below(4) == 0 {
            let _ = send(true);
        }
        match send(false) {
            Err(failure)
                if idempotent
                    && !habits.has(Oddity::GivesUp)
                    && (failure.was_kept || habits.has(Oddity::Retries)) =>
            {
                send(true)
            }
            result => result,
        }
    }

    fn relay(&self, received: Received, request: &Request, target: String) -> Relayed {
        let habits = &self.habits;
        let mut received = received;
        let is_read = request.method == "GET" && received.status == 200;
        if is_read && habits.breaks(Oddity::Pool) {
            received = self.mixing.meet(received, |_| true);
        }
        if is_read && habits.breaks(Oddity::Pipelines) {
            let mut latest = self.latest.lock().expect("nobody panics while holding it");
            received = latest.replace(received.clone()).unwrap_or(received);
        }
        if is_read && habits.breaks(Oddity::SlowGateway) {
            self.stored.lock().expect("nobody panics while holding it").insert(target, received.clone());
        }
        if !received.interim.is_empty() && habits.breaks(Oddity::DropsInterim) {
            return relay::own(200, "this is no answer", &request.method, request.wants_close());
        }
        // A response to HEAD consists of its head, so it is complete without content.
        let is_needed = request.method != "HEAD";
        if !received.whole && is_needed && !habits.has(Oddity::Streams) && !habits.breaks(Oddity::Buffers) {
            let status = if habits.keeps(Oddity::FailureStatus) { 503 } else { 502 };
            return relay::own(status, "the origin broke off", &request.method, request.wants_close());
        }
        if habits.has(Oddity::SlowGateway) {
            self.stop.pause(Duration::from_millis(habits.below(4)));
        }
        relay::relayed(&received, request, habits)
    }
}

/// Closes in stages, so that the last response arrives (RFC 9112, 9.6).
fn farewell(mut input: Input) {
    let stream = input.stream();
    let ready = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(FAREWELL)));
    let start = Instant::now();
    input.rest();
    while ready.is_ok() && start.elapsed() < FAREWELL && input.fill().is_ok() {
        input.skip(input.pending().len());
    }
}
