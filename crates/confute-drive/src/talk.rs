//! One question on a connection of its own, and the wait for its answer: for what happens around cases, and is not judged.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};

use crate::limits::{Limits, Target};
use crate::protocol::{Msg, Past, Protocol, Reader, Side};
use crate::tls::Tls;
use crate::trouble::Trouble;

/// So many times what a message may hold is not listened to.
const FLOOD: usize = 4;
/// So many of the first bytes that come are kept.
const FIRST: usize = 256;

/// A way to ask a server something on a connection of its own, in any protocol.
#[derive(Clone, Debug)]
pub struct Caller {
    target: Target,
    patience: Duration,
    /// When everything has to be over.
    end: Option<Instant>,
    /// The most bytes that a message may hold.
    most: usize,
    name: String,
}

/// A [`Caller`] that speaks a protocol.
pub struct Talk<'a, P: Protocol> {
    protocol: &'a P,
    caller: Caller,
    /// The first bytes that came last, and how many there were.
    heard: RefCell<(Vec<u8>, usize)>,
}

/// How long to wait for news on one of several connections.
const NAP: Duration = Duration::from_millis(2);

/// What came of a question to a server that opens connections too.
#[derive(Clone, Debug)]
pub struct Passed<M> {
    /// What the server asked the tester.
    pub asked: Vec<M>,
    /// What came back.
    pub replies: Vec<M>,
}

impl Caller {
    /// Calls this server, within the limits of a case.
    pub fn new(target: Target, limits: &Limits) -> Self {
        let Limits { patience, end, message: most, .. } = *limits;
        Self { target, patience, end, most, name: String::new() }
    }

    /// The same caller under a name that nobody used before.
    #[must_use]
    pub fn named(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Connects and hangs up: an error if nobody takes connections there.
    pub fn knock(&self) -> Result<(), Trouble> {
        self.connect(self.patience()).map(drop)
    }

    /// How long to wait for an answer: no longer than until the end, though a moment in any case.
    fn patience(&self) -> Duration {
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(self.patience, |left| left.clamp(NAP, self.patience.max(NAP)))
    }

    /// Connects. A read that finds nothing for so long fails.
    fn connect(&self, nap: Duration) -> Result<Box<dyn Connection>, Trouble> {
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
        let Some(tls) = tls else {
            stream.set_read_timeout(Some(nap)).map_err(local)?;
            return Ok(Box::new(stream));
        };
        let secured = Self::secure(tls, stream).map_err(|why| Trouble::Unsecured { address, why })?;
        secured.sock.set_read_timeout(Some(nap)).map_err(local)?;
        Ok(Box::new(secured))
    }

    /// Does the handshake. Says why, if it fails.
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
    /// Talks to a server in this protocol.
    pub fn new(protocol: &'a P, caller: Caller) -> Self {
        Self { protocol, caller, heard: RefCell::default() }
    }

    /// The same talk in the words of another protocol.
    pub fn speaking<'b, Q: Protocol>(&self, protocol: &'b Q) -> Talk<'b, Q> {
        Talk::new(protocol, self.caller.clone())
    }

    /// A name that what is asked can be put under.
    pub fn name(&self) -> &str {
        &self.caller.name
    }

    /// The beginning of what came back last, as bytes.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.borrow().0.clone()
    }

    /// How many bytes that were.
    pub fn heard_bytes(&self) -> usize {
        self.heard.borrow().1
    }

    /// Asks this, below the names of this case, and returns what came back: all answers, or fewer if the server closed.
    /// Nothing is asked, and nothing comes back, if the ask refers to something.
    pub fn ask(&self, ask: &P::Ask, case: &str) -> Result<Vec<Msg<P>>, Trouble> {
        match self.protocol.resolve(ask, case, &Past::default()) {
            Some(message) => self.say(&message),
            None => Ok(Vec::new()),
        }
    }

    /// Sends this message and returns what came back, likewise.
    pub fn say(&self, message: &Msg<P>) -> Result<Vec<Msg<P>>, Trouble> {
        let mut reader = self.protocol.reader(Side::Opened);
        let mut bytes = Vec::new();
        self.protocol.encode(message, &mut bytes);
        reader.sent(message);
        let silent = |waited| Self::silent(crate::brief(message), waited);
        self.exchange(&bytes, reader, self.protocol.dialogue().answers(message) as usize, silent)
    }

    /// Sends these bytes, which need not be a message of the model, and returns what came back, up to so many answers.
    pub fn raw(&self, bytes: &[u8], answers: usize) -> Result<Vec<Msg<P>>, Trouble> {
        let silent = |waited| Self::silent(crate::brief(&String::from_utf8_lossy(bytes)), waited);
        self.exchange(bytes, self.protocol.reader(Side::Opened), answers, silent)
    }

    /// Sends this message, gives the server the [courtesies](crate::Upstream::courtesy) that it asks for meanwhile, and returns what
    /// it asked and what came back: all answers, or fewer if the server closed or took too long.
    pub fn through(&self, message: &Msg<P>) -> Result<Passed<Msg<P>>, Trouble> {
        let local = |what| move |error: std::io::Error| Trouble::Local { what, why: error.to_string() };
        let listener =
            self.caller.target.listen.map(TcpListener::bind).transpose().map_err(local("cannot listen"))?;
        if let Some(listener) = &listener {
            listener.set_nonblocking(true).map_err(local("cannot set up a socket"))?;
        }
        let mut stream = self.caller.connect(NAP)?;
        let mut reader = self.protocol.reader(Side::Opened);
        let mut bytes = Vec::new();
        self.protocol.encode(message, &mut bytes);
        reader.sent(message);
        let mut passed = Passed { asked: Vec::new(), replies: Vec::new() };
        // It is short, and nobody else writes: it fits.
        if stream.write_all(&bytes).is_err() {
            return Ok(passed);
        }
        let wanted = self.protocol.dialogue().answers(message) as usize;
        let (mut accepted, end) = (Vec::new(), Instant::now() + self.caller.patience());
        let complete = |replies: &[Msg<P>]| {
            replies.iter().filter(|it| self.protocol.dialogue().completes(it)).count() >= wanted
        };
        while Instant::now() < end && !complete(&passed.replies) {
            if let Some((stream, _)) = listener.as_ref().and_then(|listener| listener.accept().ok()) {
                stream.set_nonblocking(true).map_err(local("cannot set up a socket"))?;
                accepted.push((stream, self.protocol.reader(Side::Accepted)));
            }
            accepted.retain_mut(|(stream, reader)| {
                let from = passed.asked.len();
                let goes_on = pump(stream, reader, &mut passed.asked);
                for asked in &passed.asked[from..] {
                    let mut bytes = Vec::new();
                    if let Some(answer) = self.protocol.upstream().courtesy(asked) {
                        self.protocol.encode(&answer, &mut bytes);
                    }
                    // If that fails, it shows in what comes back.
                    let _ = stream.write_all(&bytes);
                }
                goes_on && reader.held() <= self.caller.most
            });
            if !pump(&mut stream, &mut reader, &mut passed.replies) || reader.held() > self.caller.most {
                break;
            }
        }
        drop(accepted);
        // The server is to notice that these are gone before it is asked again.
        std::thread::sleep(10 * NAP);
        Ok(passed)
    }

    fn exchange(
        &self,
        bytes: &[u8],
        mut reader: P::Reader,
        wanted: usize,
        silent: impl Fn(Duration) -> Trouble,
    ) -> Result<Vec<Msg<P>>, Trouble> {
        let patience = self.caller.patience();
        let mut stream = self.caller.connect(patience)?;
        let mut replies = Vec::new();
        if stream.write_all(bytes).is_err() {
            return Ok(replies);
        }
        self.heard.take();
        let start = Instant::now();
        let mut buffer = [0; 16 << 10];
        while replies.iter().filter(|reply| self.protocol.dialogue().completes(reply)).count() < wanted {
            match stream.read(&mut buffer) {
                Ok(0) => {
                    reader.end(true, &mut replies);
                    break;
                }
                Ok(count) => {
                    self.hear(&buffer[..count]);
                    reader.feed(&buffer[..count], &mut replies);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nothing is known of an answer that was too long to be read, but that it came.
                Err(error) if is_late(&error) && reader.is_lost() => break,
                Err(error) if is_late(&error) => return Err(silent(patience)),
                Err(_) => {
                    reader.end(false, &mut replies);
                    break;
                }
            }
            if reader.held() > self.caller.most {
                return Err(Trouble::Flood { bytes: reader.held(), unfinished: true });
            }
            if self.heard_bytes() > FLOOD * self.caller.most {
                return Err(Trouble::Flood { bytes: self.heard_bytes(), unfinished: true });
            }
            // One who drips must not keep us for ever.
            if start.elapsed() > patience * 4 || self.caller.end.is_some_and(|end| Instant::now() >= end) {
                return Err(silent(start.elapsed()));
            }
        }
        Ok(replies)
    }

    fn hear(&self, bytes: &[u8]) {
        let (heard, count) = &mut *self.heard.borrow_mut();
        *count += bytes.len();
        let room = FIRST.saturating_sub(heard.len()).min(bytes.len());
        heard.extend_from_slice(&bytes[..room]);
    }

    fn silent(request: String, waited: Duration) -> Trouble {
        Trouble::Silent { request, outstanding: 1, waited, alive: false }
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Reads what there is; whether more may come.
fn pump<M>(stream: &mut impl Read, reader: &mut impl Reader<M>, messages: &mut Vec<M>) -> bool {
    let mut buffer = [0; 16 << 10];
    match stream.read(&mut buffer) {
        Ok(0) => {
            reader.end(true, messages);
            false
        }
        Ok(count) => {
            reader.feed(&buffer[..count], messages);
            true
        }
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            true
        }
        Err(_) => {
            reader.end(false, messages);
            false
        }
    }
}

/// A connection, whatever it is made of.
trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}
