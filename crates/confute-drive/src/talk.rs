//! Requests outside the cases of a campaign: single ones on connections of their own, whose responses are not judged,
//! and the cases of a survey, which are judged once the survey shows that the server can be tested.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::case::{CaseRun, CaseSetup, Ended, run_with_past};
use crate::erased::AnyGenerator;
use crate::figures::Gauge;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::protocol::{Generator, Msg, Past, Protocol, Reader, Side, View};
use crate::script::Step;
use crate::tls::Tls;
use crate::trouble::Trouble;

/// Multiple of the maximum message size above which the received bytes are a flood.
const FLOOD: usize = 4;

/// The request to stop, where there is none.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Client that sends single requests to a server, each on a connection of its own, in any protocol.
#[derive(Clone, Debug)]
pub struct Caller {
    target: Target,
    limits: Limits,
    name: String,
}

/// A [`Caller`] that speaks a protocol.
pub struct Talk<'a, P: Protocol> {
    protocol: &'a P,
    caller: Caller,
    relaxed: &'a [&'static str],
    stop: &'a AtomicBool,
    /// The sockets of its cases, once there is one.
    net: RefCell<Option<Net>>,
    cases: RefCell<Vec<CaseRun>>,
    /// Number of cases so far, those included that were dropped.
    count: Cell<usize>,
}

/// Shortest wait for a response.
const MOMENT: Duration = Duration::from_millis(2);

/// A case of a survey.
pub struct SurveyCase<P: Protocol> {
    /// Name of the case on the server.
    pub name: String,
    /// Everything that was sent and received.
    pub past: Past<P>,
    /// First bytes that were received.
    pub heard: Vec<u8>,
    /// Number of bytes that were received.
    pub received: usize,
    /// The trouble that ended the case, if any.
    pub trouble: Option<Trouble>,
    /// `true` if the case ended because the run did.
    pub is_cut_short: bool,
}

/// Generator of the steps of a survey.
struct Steps<A>(std::vec::IntoIter<Step<A>>);

impl<P: Protocol> Generator<P> for Steps<P::Ask> {
    fn next(&mut self, _: &View<'_, P>, _: &mut dyn FnMut(u64) -> u64) -> Option<Step<P::Ask>> {
        self.0.next()
    }
}

/// The result of a survey.
pub struct Surveyed {
    /// Remarks about the server, or the reason why it cannot be tested.
    pub said: Result<Vec<String>, Trouble>,
    /// The cases that the survey ran. They count only if the server can be tested.
    pub cases: Vec<CaseRun>,
}

impl Caller {
    /// Creates a caller of this server, within the limits of a case.
    pub fn new(target: Target, limits: &Limits) -> Self {
        Self { target, limits: limits.clone(), name: String::new() }
    }

    /// Returns the caller with a name that was never used on the server.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Connects and hangs up. Fails if the server accepts no connections.
    pub fn knock(&self) -> Result<(), Trouble> {
        self.connect().map(drop)
    }

    /// Returns the time to wait for a response: not beyond the end, but at least a moment.
    fn patience(&self) -> Duration {
        let Limits { patience, end, .. } = self.limits;
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(patience, |left| left.clamp(MOMENT, patience.max(MOMENT)))
    }

    /// Connects. A read fails after the patience without bytes.
    fn connect(&self) -> Result<Box<dyn Stream>, Trouble> {
        let Target { address, tls, .. } = self.target;
        let patience = self.patience();
        let stream = TcpStream::connect_timeout(&address, patience).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => Trouble::Unresponsive { address, waited: patience },
            _ => Trouble::Refused { address, why: error.to_string() },
        })?;
        let set = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(patience)))
            .and_then(|()| stream.set_write_timeout(Some(patience)));
        let local =
            |error: std::io::Error| Trouble::Local { what: "cannot set up a socket", why: error.to_string() };
        set.map_err(local)?;
        Ok(match tls {
            None => Box::new(stream),
            Some(tls) => {
                Box::new(Self::secure(tls, stream).map_err(|why| Trouble::Unsecured { address, why })?)
            }
        })
    }

    /// Performs the handshake. The error is the reason why it failed.
    fn secure(tls: &Tls, stream: TcpStream) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
        let mut secured = StreamOwned::new(tls.begin()?, stream);
        while secured.conn.is_handshaking() {
            if let Err(error) = secured.conn.complete_io(&mut secured.sock) {
                return Err(crate::tls::reason(&error).unwrap_or_else(|| match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => "it did not answer in time".to_owned(),
                    _ => format!("it broke off ({error})"),
                }));
            }
        }
        Ok(secured)
    }
}

impl<'a, P: Protocol> Talk<'a, P> {
    /// Creates a talk with a server in this protocol.
    pub fn new(protocol: &'a P, caller: Caller) -> Self {
        let (net, cases, count) = (RefCell::default(), RefCell::default(), Cell::default());
        Self { protocol, caller, relaxed: &[], stop: &NEVER, net, cases, count }
    }

    /// Returns the talk with these rules relaxed in its cases.
    #[must_use]
    pub fn relaxing(self, relaxed: &'a [&'static str]) -> Self {
        Self { relaxed, ..self }
    }

    /// Returns the talk with a flag that ends its cases.
    #[must_use]
    pub fn until(self, stop: &'a AtomicBool) -> Self {
        Self { stop, ..self }
    }

    /// Performs these steps as a case with a name of its own, and keeps it to be judged. The case ends early if nothing
    /// explains it. An error means that there was none.
    pub fn case(&self, steps: Vec<Step<P::Ask>>) -> Result<SurveyCase<P>, Trouble> {
        let Caller { target, limits, name } = &self.caller;
        let net = &mut *self.net.borrow_mut();
        let net = match net {
            Some(net) => net,
            None => {
                // It finds out more about a failure than a case does.
                self.caller.knock()?;
                net.insert(Net::new(target.listen)?)
            }
        };
        let name = format!("{name}{}", self.count.replace(self.count.get() + 1));
        let setup = CaseSetup {
            protocol: self.protocol,
            target: *target,
            limits,
            name: &name,
            seed: 0,
            relaxed: self.relaxed,
            stop: self.stop,
            gauge: &Gauge::default(),
        };
        let (run, past) = run_with_past(net, &setup, &mut AnyGenerator::new::<P>(Steps(steps.into_iter())));
        let mut came = run.raw.iter().filter(|bytes| !bytes.sent).peekable();
        let heard = came.peek().map_or_else(Vec::new, |first| first.bytes.clone());
        let received = came.map(|bytes| bytes.bytes.len()).sum::<usize>() + run.raw_lost as usize;
        let (past, trouble) = (past.typed::<P>().clone(), run.trouble.clone());
        let is_cut_short = run.ended == Ended::Stopped || limits.is_over();
        self.keep(run);
        Ok(SurveyCase { name, past, heard, received, trouble, is_cut_short })
    }

    /// Keeps a case to be judged.
    pub fn keep(&self, case: CaseRun) {
        self.cases.borrow_mut().push(case);
    }

    /// Drops the cases so far: the server was not ready for them.
    pub fn forget(&self) {
        self.cases.borrow_mut().clear();
    }

    /// Returns the cases.
    pub fn into_cases(self) -> Vec<CaseRun> {
        self.cases.into_inner()
    }

    /// Returns the name under which requests can create items.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// Sends an ask with the names of this case, and returns all responses, or fewer if the server closed.
    /// Sends and returns nothing if the ask refers to an earlier response.
    pub fn ask(&self, ask: &P::Ask, case: &str) -> Result<Vec<Msg<P>>, Trouble> {
        match self.protocol.resolve(ask, case, &Past::default()) {
            Some(message) => self.say(&message),
            None => Ok(Vec::new()),
        }
    }

    /// Sends a message and returns all responses, or fewer if the server closed.
    pub fn say(&self, message: &Msg<P>) -> Result<Vec<Msg<P>>, Trouble> {
        let mut reader = self.protocol.reader(Side::Opened);
        let mut bytes = Vec::new();
        self.protocol.greet(&mut bytes);
        self.protocol.encode(message, &mut bytes);
        reader.sent(message);
        let silent = |waited| Self::silent(crate::brief(message), waited);
        self.exchange(&bytes, reader, self.protocol.dialogue().answers(message) as usize, silent)
    }

    fn exchange(
        &self,
        bytes: &[u8],
        mut reader: P::Reader,
        wanted: usize,
        silent: impl Fn(Duration) -> Trouble,
    ) -> Result<Vec<Msg<P>>, Trouble> {
        let (patience, most) = (self.caller.patience(), self.caller.limits.message);
        let mut stream = self.caller.connect()?;
        let mut replies = Vec::new();
        if stream.write_all(bytes).is_err() {
            return Ok(replies);
        }
        let (start, mut heard) = (Instant::now(), 0);
        let mut buffer = [0; 16 << 10];
        while replies.iter().filter(|reply| self.protocol.dialogue().completes(reply)).count() < wanted {
            match stream.read(&mut buffer) {
                Ok(0) => {
                    reader.end(true, &mut replies);
                    break;
                }
                Ok(count) => {
                    heard += count;
                    reader.feed(&buffer[..count], &mut replies);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // All that is known of a response too long to be read is that it arrived.
                Err(error) if is_late(&error) && reader.is_lost() => break,
                Err(error) if is_late(&error) => return Err(silent(patience)),
                Err(_) => {
                    reader.end(false, &mut replies);
                    break;
                }
            }
            if reader.held() > most || heard > FLOOD * most {
                return Err(Trouble::Flood { bytes: heard.max(reader.held()), unfinished: true });
            }
            // A server that sends byte by byte must not keep the tester forever.
            if start.elapsed() > patience * 4 || self.caller.limits.is_over() {
                return Err(silent(start.elapsed()));
            }
        }
        Ok(replies)
    }

    fn silent(request: String, waited: Duration) -> Trouble {
        Trouble::Silent { request, outstanding: 1, waited, came: 0, alive: false }
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A connection, with or without TLS.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}
