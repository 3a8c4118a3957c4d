//! One question on a connection of its own, and the wait for its answer: for what happens around cases, and is not judged.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::limits::Limits;
use crate::protocol::{Msg, Past, Protocol, Reader, Side};
use crate::trouble::Trouble;

/// Asks the server.
pub struct Talk<'a, P: Protocol + ?Sized> {
    protocol: &'a P,
    address: SocketAddr,
    patience: Duration,
    most: usize,
    listen: Option<SocketAddr>,
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

impl<'a, P: Protocol + ?Sized> Talk<'a, P> {
    /// Talks to this server.
    pub fn new(protocol: &'a P, address: SocketAddr, limits: &Limits) -> Self {
        Self { protocol, address, patience: limits.patience, most: limits.message, listen: None }
    }

    /// The same, where the server may open connections to here.
    #[must_use]
    pub fn listening(mut self, listen: Option<SocketAddr>) -> Self {
        self.listen = listen;
        self
    }

    /// Whether somebody takes connections there.
    pub fn knock(&self) -> Result<(), Trouble> {
        self.connect().map(drop)
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
        let silent = || self.silent(crate::brief(message));
        self.exchange(&bytes, reader, self.protocol.answers(message) as usize, silent)
    }

    /// Sends these bytes, which need not be a message of the model, and returns what came back, up to so many answers.
    pub fn raw(&self, bytes: &[u8], answers: usize) -> Result<Vec<Msg<P>>, Trouble> {
        let silent = || self.silent(crate::brief(&String::from_utf8_lossy(bytes)));
        self.exchange(bytes, self.protocol.reader(Side::Opened), answers, silent)
    }

    /// Sends this message, gives the server the [courtesies](Protocol::courtesy) that it asks for meanwhile, and returns what
    /// it asked and what came back: all answers, or fewer if the server closed or took too long.
    pub fn through(&self, message: &Msg<P>) -> Result<Passed<Msg<P>>, Trouble> {
        let local = |what| move |error: std::io::Error| Trouble::Local { what, why: error.to_string() };
        let listener = self.listen.map(TcpListener::bind).transpose().map_err(local("cannot listen"))?;
        if let Some(listener) = &listener {
            listener.set_nonblocking(true).map_err(local("cannot set up a socket"))?;
        }
        let mut stream = self.connect()?;
        stream.set_nonblocking(true).map_err(local("cannot set up a socket"))?;
        let mut reader = self.protocol.reader(Side::Opened);
        let mut bytes = Vec::new();
        self.protocol.encode(message, &mut bytes);
        reader.sent(message);
        let mut passed = Passed { asked: Vec::new(), replies: Vec::new() };
        // It is short, and nobody else writes: it fits.
        if stream.write_all(&bytes).is_err() {
            return Ok(passed);
        }
        let wanted = self.protocol.answers(message) as usize;
        let (mut accepted, end) = (Vec::new(), Instant::now() + self.patience);
        let complete =
            |replies: &[Msg<P>]| replies.iter().filter(|it| self.protocol.completes(it)).count() >= wanted;
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
                    if let Some(answer) = self.protocol.courtesy(asked) {
                        self.protocol.encode(&answer, &mut bytes);
                    }
                    // If that fails, it shows in what comes back.
                    let _ = stream.write_all(&bytes);
                }
                goes_on && reader.held() <= self.most
            });
            if !pump(&mut stream, &mut reader, &mut passed.replies) || reader.held() > self.most {
                break;
            }
            std::thread::sleep(NAP);
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
        silent: impl Fn() -> Trouble,
    ) -> Result<Vec<Msg<P>>, Trouble> {
        let mut stream = self.connect()?;
        let mut replies = Vec::new();
        if stream.write_all(bytes).is_err() {
            return Ok(replies);
        }
        let start = Instant::now();
        let mut buffer = [0; 16 << 10];
        while replies.iter().filter(|reply| self.protocol.completes(reply)).count() < wanted {
            match stream.read(&mut buffer) {
                Ok(0) => {
                    reader.end(true, &mut replies);
                    break;
                }
                Ok(count) => reader.feed(&buffer[..count], &mut replies),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(silent());
                }
                Err(_) => {
                    reader.end(false, &mut replies);
                    break;
                }
            }
            if reader.held() > self.most {
                return Err(Trouble::Flood { bytes: reader.held(), unfinished: true });
            }
            // One who drips must not keep us for ever.
            if start.elapsed() > self.patience * 4 {
                return Err(silent());
            }
        }
        Ok(replies)
    }

    fn silent(&self, request: String) -> Trouble {
        Trouble::Silent { request, outstanding: 1, waited: self.patience, alive: false }
    }

    fn connect(&self) -> Result<TcpStream, Trouble> {
        let Self { address, patience, .. } = *self;
        let stream = TcpStream::connect_timeout(&address, patience).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => Trouble::Unresponsive { address, waited: patience },
            _ => Trouble::Refused { address, why: error.to_string() },
        })?;
        let set = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(patience)))
            .and_then(|()| stream.set_write_timeout(Some(patience)));
        set.map_err(|error| Trouble::Local { what: "cannot set up a socket", why: error.to_string() })?;
        Ok(stream)
    }
}

/// Reads what there is; whether more may come.
fn pump<M>(stream: &mut TcpStream, reader: &mut impl Reader<M>, messages: &mut Vec<M>) -> bool {
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
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => true,
        Err(_) => {
            reader.end(false, messages);
            false
        }
    }
}
