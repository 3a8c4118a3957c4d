//! The server: a thread for each connection, and bugs to switch on.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A mistake of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// `INCR` reads and writes its counter without a lock in between.
    LostIncrement,
    /// `LOCK` looks at the lock and takes it without a lock in between.
    TwoHolders,
    /// The token of a lock is made from its name only.
    TokenReused,
    /// `UNLOCK` does not look at the token.
    StrangerUnlocks,
}

/// The time between a look and a write that do not belong together.
const GAP: Duration = Duration::from_micros(200);

#[derive(Default)]
struct State {
    counters: HashMap<String, i64>,
    locks: HashMap<String, String>,
    tokens: u64,
}

struct Server {
    bug: Option<Bug>,
    state: Mutex<State>,
}

/// Starts the server. It runs until the process ends. Returns its address.
pub(crate) fn start(bug: Option<Bug>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = Arc::new(Server { bug, state: Mutex::default() });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || server.attend(&stream));
        }
    });
    Ok(address)
}

impl Server {
    fn attend(&self, mut stream: &TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        for line in BufReader::new(stream).lines() {
            let mut response = self.answer(&line.ok()?);
            response.push('\n');
            stream.write_all(response.as_bytes()).ok()?;
        }
        None
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits where a correct server would still hold the lock.
    fn gap<'s>(&'s self, bug: Bug, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        if self.bug != Some(bug) {
            return state;
        }
        drop(state);
        thread::sleep(GAP);
        self.state()
    }

    fn answer(&self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let mut state = self.state();
        match words[..] {
            ["INCR", name] => {
                let count = state.counters.get(name).unwrap_or(&0) + 1;
                state = self.gap(Bug::LostIncrement, state);
                state.counters.insert(name.to_owned(), count);
                format!("COUNT {count}")
            }
            ["GET", name] => format!("COUNT {}", state.counters.get(name).unwrap_or(&0)),
            ["LOCK", name] => {
                if state.locks.contains_key(name) {
                    return "BUSY".to_owned();
                }
                state = self.gap(Bug::TwoHolders, state);
                state.tokens += 1;
                let token = match self.bug {
                    Some(Bug::TokenReused) => format!("t-{name}"),
                    _ => format!("t{:x}", state.tokens.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                };
                state.locks.insert(name.to_owned(), token.clone());
                format!("TOKEN {token}")
            }
            ["UNLOCK", name, token] => match state.locks.get(name) {
                Some(holder) if holder == token || self.bug == Some(Bug::StrangerUnlocks) => {
                    state.locks.remove(name);
                    "FREE".to_owned()
                }
                _ => "REFUSED".to_owned(),
            },
            _ => "WHAT?".to_owned(),
        }
    }
}
