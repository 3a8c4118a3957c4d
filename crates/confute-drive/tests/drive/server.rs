//! Line-based servers: a correct one, and some that misbehave in a certain manner.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Correct,
    /// Answers with 0 if a request is a get, one request in this many.
    ReadsNothing(u64),
    /// Confirms a set without storing it, one request in this many.
    Forgets(u64),
    /// Answers a set with done instead of ok.
    SaysDone,
    /// Is busy except for one request in this many ([`Manner::Refuses`]: just for that one).
    Serves(u64),
    Refuses(u64),
    /// Answers with nonsense.
    Garbage,
    /// Sends a line without end.
    Endless,
    /// Sends lines that nobody requested, without end.
    Chatty,
    /// Never answers.
    Hangs,
    /// Answers nothing from the n-th request on, on no connection.
    HangsFrom(u64),
    /// Does not answer the n-th request.
    SkipsOne(u64),
    /// Closes a connection as soon as it is made.
    ClosesAtOnce,
    /// Resets a connection when the first request arrives.
    Resets,
    /// Closes a connection after this many responses, in an orderly way.
    ClosesAfter(u64),
    /// Shuts down after this many requests.
    DiesAfter(u64),
    /// Goes down after this many requests, and comes back at once without any data.
    ForgetsAll(u64),
    /// Ends all connections after this many requests, keeps its data, and from then on answers with 0 if a
    /// request is a get, one request in three.
    EndsAll(u64),
    /// Responds late, by this many milliseconds.
    Slow(u64),
    /// Closes in the middle of a response, one request in this many.
    TearsAnswers(u64),
    /// Sends the beginning of a response and nothing more, for all requests from this one on.
    BreaksOff(u64),
    /// Sends responses byte by byte, with pauses of this many milliseconds.
    Trickles(u64),
    /// Sends a line without end, byte by byte, with pauses of this many milliseconds.
    TricklesOn(u64),
    /// Takes at most this many connections at once.
    Takes(u64, Excess),
}

/// Treatment of connections beyond those that the server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excess {
    /// Refuses them.
    Refuses,
    /// Accepts and closes them.
    Closes,
    /// Leaves them waiting until others have ended.
    Leaves,
    /// Ends the oldest connections.
    EndsOldest,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<AtomicU64>,
    /// All lines received, in order, with their times.
    pub(crate) seen: Arc<Mutex<Vec<(Instant, String)>>>,
    values: Arc<Mutex<HashMap<String, u32>>>,
    dead: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    /// Number of connections that are served.
    living: Arc<AtomicU64>,
    manner: Manner,
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            seen: Arc::default(),
            values: Arc::default(),
            dead: Arc::default(),
            open: Arc::default(),
            living: Arc::default(),
            manner,
        };
        let handle = server.clone();
        if let Manner::Takes(most, excess) = manner {
            thread::spawn(move || handle.take(listener, most, excess));
            return server;
        }
        thread::spawn(move || {
            for stream in listener.incoming() {
                if handle.dead.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                if manner == Manner::ClosesAtOnce {
                    drop(stream);
                    continue;
                }
                let handle = handle.clone();
                thread::spawn(move || handle.serve(&stream));
            }
        });
        server
    }

    /// Serves at most this many connections at once.
    fn take(&self, mut listener: TcpListener, most: u64, excess: Excess) {
        let is_full = || self.living.load(Ordering::SeqCst) >= most;
        loop {
            if excess == Excess::Refuses && is_full() {
                drop(listener);
                while is_full() {
                    thread::sleep(Duration::from_millis(1));
                }
                listener = TcpListener::bind(self.address).unwrap();
            }
            while excess == Excess::Leaves && is_full() {
                thread::sleep(Duration::from_millis(1));
            }
            let Ok((stream, _)) = listener.accept() else { continue };
            if excess == Excess::Closes && is_full() {
                continue;
            }
            if excess == Excess::EndsOldest {
                let mut open = self.open.lock().unwrap();
                open.push(stream.try_clone().unwrap());
                if open.len() as u64 > most {
                    let _ = open.remove(0).shutdown(Shutdown::Both);
                }
            }
            self.living.fetch_add(1, Ordering::SeqCst);
            let handle = self.clone();
            thread::spawn(move || {
                handle.serve(&stream);
                let peer = stream.peer_addr().ok();
                handle.open.lock().unwrap().retain(|open| open.peer_addr().ok() != peer);
                handle.living.fetch_sub(1, Ordering::SeqCst);
            });
        }
    }

    /// Returns the answer to the n-th request.
    fn answer(&self, line: &str, number: u64) -> String {
        let every = |often: u64| number.is_multiple_of(often);
        let is_busy = match self.manner {
            Manner::Serves(often) => !every(often),
            Manner::Refuses(often) => every(often),
            _ => false,
        };
        match line.split(' ').collect::<Vec<_>>()[..] {
            _ if is_busy => "busy\n".to_owned(),
            ["get", _] if matches!(self.manner, Manner::ReadsNothing(often) if every(often)) => {
                "value 0\n".to_owned()
            }
            // Only gets of cases: the canary, which the tester itself reads, is answered correctly.
            ["get", key]
                if matches!(self.manner, Manner::EndsAll(most) if number > most && every(3))
                    && !key.contains("canary") =>
            {
                "value 0\n".to_owned()
            }
            ["get", key] => {
                let value = self.values.lock().unwrap().get(key).copied().unwrap_or_default();
                format!("value {value}\n")
            }
            ["set", key, value] => {
                if !matches!(self.manner, Manner::Forgets(often) if every(often)) {
                    self.values.lock().unwrap().insert(key.to_owned(), value.parse().unwrap());
                }
                if self.manner == Manner::SaysDone { "done\n" } else { "ok\n" }.to_owned()
            }
            _ => "what?\n".to_owned(),
        }
    }

    fn serve(&self, stream: &TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut input = BufReader::new(stream);
        let mut out = stream;
        let mut answered = 0;
        if let Manner::ForgetsAll(_) | Manner::EndsAll(_) = self.manner {
            self.open.lock().unwrap().push(stream.try_clone().ok()?);
        }
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
            let line = line.trim_end();
            self.seen.lock().unwrap().push((Instant::now(), line.to_owned()));
            let every = |often: u64| number.is_multiple_of(often);
            match self.manner {
                Manner::Garbage => out.write_all(b"?!\x00\xff <html>\n").ok()?,
                Manner::Endless => loop {
                    out.write_all(&[b'x'; 4096]).ok()?;
                },
                Manner::Chatty => loop {
                    out.write_all(b"ok\n").ok()?;
                },
                Manner::Hangs => continue,
                Manner::HangsFrom(which) if number >= which => continue,
                Manner::SkipsOne(which) if number == which => continue,
                Manner::Resets => {
                    // Unread bytes make the close a reset.
                    return None;
                }
                Manner::DiesAfter(most) if number >= most => {
                    self.dead.store(true, Ordering::Relaxed);
                    let _ = TcpStream::connect(self.address);
                    stream.shutdown(Shutdown::Both).ok()?;
                    return None;
                }
                Manner::ForgetsAll(most) if number == most => {
                    // No client may get a response between the two.
                    let mut values = self.values.lock().unwrap();
                    for open in self.open.lock().unwrap().drain(..) {
                        let _ = open.shutdown(Shutdown::Both);
                    }
                    values.clear();
                    return None;
                }
                Manner::EndsAll(most) if number == most => {
                    for open in self.open.lock().unwrap().drain(..) {
                        let _ = open.shutdown(Shutdown::Both);
                    }
                    return None;
                }
                Manner::Slow(millis) => thread::sleep(Duration::from_millis(millis)),
                Manner::BreaksOff(from) if number >= from => {
                    out.write_all(b"valu").ok()?;
                    continue;
                }
                Manner::TricklesOn(millis) => loop {
                    out.write_all(b"x").ok()?;
                    thread::sleep(Duration::from_millis(millis));
                },
                Manner::TearsAnswers(often) if every(often) => {
                    out.write_all(b"valu").ok()?;
                    return None;
                }
                _ => {}
            }
            if self.dead.load(Ordering::Relaxed) {
                return None;
            }
            if number.is_multiple_of(7) {
                thread::sleep(Duration::from_micros(number % 300));
            }
            let answer = self.answer(line, number);
            if self.manner == Manner::Garbage {
                continue;
            }
            if let Manner::Trickles(millis) = self.manner {
                for byte in answer.bytes() {
                    out.write_all(&[byte]).ok()?;
                    thread::sleep(Duration::from_millis(millis));
                }
            } else {
                out.write_all(answer.as_bytes()).ok()?;
            }
            answered += 1;
            if matches!(self.manner, Manner::ClosesAfter(most) if answered >= most) {
                stream.shutdown(Shutdown::Write).ok()?;
                let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
                let _ = input.read_to_end(&mut Vec::new());
                return None;
            }
        }
    }
}

/// Returns an address on which nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
