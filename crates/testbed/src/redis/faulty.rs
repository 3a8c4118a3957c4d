//! A proxy in front of a Redis server, with faults to switch on.
//!
//! Each client has a thread and a connection to the server of its own. Commands of a transaction are passed on unchanged.

use std::collections::HashMap;
use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::resp;

/// A fault of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A GET is sometimes answered as an earlier one was.
    StaleRead,
    /// A SET is sometimes confirmed and not performed.
    LostWrite,
    /// INCR is a GET and a SET, with a pause in between.
    IncrNotAtomic,
    /// WATCH is confirmed and not performed.
    WatchIgnored,
    /// A BLPOP is sometimes given the element that another one has just got.
    PopTwice,
    /// A time to live is confirmed, and TTL counts it down, but the key stays.
    NeverExpires,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 6] = [
        Self::StaleRead,
        Self::LostWrite,
        Self::IncrNotAtomic,
        Self::WatchIgnored,
        Self::PopTwice,
        Self::NeverExpires,
    ];

    /// Returns the name of the fault on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::StaleRead => "stale-read",
            Self::LostWrite => "lost-write",
            Self::IncrNotAtomic => "incr-not-atomic",
            Self::WatchIgnored => "watch-ignored",
            Self::PopTwice => "pop-twice",
            Self::NeverExpires => "never-expires",
        }
    }

    /// Returns the fault with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// A fault that shows sometimes shows once in so many opportunities.
const SOMETIMES: u64 = 3;
/// The time between a look and a write that do not belong together.
const GAP: Duration = Duration::from_millis(2);

/// A running proxy. It runs until the process ends.
#[derive(Debug)]
pub struct Faulty {
    address: SocketAddr,
}

struct Proxy {
    fault: Option<Fault>,
    server: SocketAddr,
    opportunities: AtomicU64,
    /// The response to the first GET of each key since it was last used, the latest response to a BLPOP, and keys that should expire.
    memory: Mutex<HashMap<String, Vec<u8>>>,
}

impl Faulty {
    /// Starts a proxy in front of this server, with this fault or without one.
    pub fn start(server: SocketAddr, fault: Option<Fault>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (opportunities, memory) = (AtomicU64::new(0), Mutex::default());
        let proxy = Arc::new(Proxy { fault, server, opportunities, memory });
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let proxy = Arc::clone(&proxy);
                thread::spawn(move || proxy.attend(&client));
            }
        });
        Ok(Self { address })
    }

    /// Returns the address that the proxy listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A connection to the server.
struct Upstream {
    reader: BufReader<TcpStream>,
}

impl Upstream {
    fn ask(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.reader.get_ref().write_all(request)?;
        resp::read(&mut self.reader)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Proxy {
    fn attend(&self, client: &TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        let server = TcpStream::connect(self.server)?;
        server.set_nodelay(true)?;
        let mut upstream = Upstream { reader: BufReader::new(server) };
        let mut requests = BufReader::new(client);
        let mut is_queueing = false;
        while let Some(request) = resp::read(&mut requests)? {
            let words = resp::strings(&request);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let faulty = if is_queueing { None } else { self.misbehave(&words, &request, &mut upstream)? };
            let response = match faulty {
                Some(response) => response,
                None => upstream.ask(&request)?,
            };
            match words.first() {
                Some(&"MULTI") => is_queueing = true,
                Some(&("EXEC" | "DISCARD")) => is_queueing = false,
                _ => {}
            }
            (&mut &*client).write_all(&response)?;
        }
        Ok(())
    }

    fn sometimes(&self) -> bool {
        self.opportunities.fetch_add(1, Ordering::Relaxed) % SOMETIMES == SOMETIMES - 1
    }

    fn memory(&self) -> MutexGuard<'_, HashMap<String, Vec<u8>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the response of the fault, if it shows here.
    fn misbehave(
        &self,
        words: &[&str],
        request: &[u8],
        upstream: &mut Upstream,
    ) -> io::Result<Option<Vec<u8>>> {
        match (self.fault, words) {
            (Some(Fault::StaleRead), ["GET", key]) => {
                let earlier = self.memory().get(*key).cloned();
                if let Some(earlier) = earlier.filter(|_| self.sometimes()) {
                    self.memory().remove(*key);
                    return Ok(Some(earlier));
                }
                let response = upstream.ask(request)?;
                self.memory().entry((*key).to_owned()).or_insert_with(|| response.clone());
                Ok(Some(response))
            }
            (Some(Fault::LostWrite), ["SET", ..]) if self.sometimes() => Ok(Some(b"+OK\r\n".to_vec())),
            (Some(Fault::IncrNotAtomic), ["INCR", key]) => Self::increment(key, upstream),
            (Some(Fault::NeverExpires), ["EXPIRE" | "PEXPIRE", key, _]) => {
                let response = upstream.ask(&resp::request(&["EXISTS", key]))?;
                self.memory().insert((*key).to_owned(), Vec::new());
                Ok(Some(response))
            }
            (Some(Fault::NeverExpires), ["TTL", key]) if self.memory().contains_key(*key) => {
                let exists = upstream.ask(&resp::request(&["EXISTS", key]))? == b":1\r\n";
                Ok(Some(if exists { b":0\r\n".to_vec() } else { b":-2\r\n".to_vec() }))
            }
            (Some(Fault::NeverExpires), ["SET" | "GETSET" | "DEL", key, ..]) => {
                self.memory().remove(*key);
                Ok(None)
            }
            (Some(Fault::WatchIgnored), ["WATCH", ..]) => Ok(Some(b"+OK\r\n".to_vec())),
            (Some(Fault::PopTwice), ["BLPOP", key, _]) => {
                let earlier = self.memory().get(*key).cloned();
                if let Some(earlier) = earlier.filter(|_| self.sometimes()) {
                    return Ok(Some(earlier));
                }
                let response = upstream.ask(request)?;
                if response.starts_with(b"*2") {
                    self.memory().insert((*key).to_owned(), response.clone());
                }
                Ok(Some(response))
            }
            _ => Ok(None),
        }
    }

    /// Adds one in two steps. What is no integer is left to the server.
    fn increment(key: &str, upstream: &mut Upstream) -> io::Result<Option<Vec<u8>>> {
        let before = upstream.ask(&resp::request(&["GET", key]))?;
        let text = String::from_utf8_lossy(&before).into_owned();
        let number = match text.split("\r\n").nth(1) {
            Some(number) if text.starts_with('$') && !text.starts_with("$-1") => number.parse::<i64>().ok(),
            _ => text.starts_with("$-1").then_some(0),
        };
        let Some(after) = number.and_then(|number| number.checked_add(1)) else { return Ok(None) };
        thread::sleep(GAP);
        upstream.ask(&resp::request(&["SET", key, &after.to_string(), "KEEPTTL"]))?;
        Ok(Some(format!(":{after}\r\n").into_bytes()))
    }
}
