//! A server of counters over TCP: a thread for each connection, and two bugs to switch on.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A mistake of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// `ADD` lets others in between reading the counter and writing it.
    Race,
    /// `GET` is answered from a copy, which is renewed when it is older than [`AGE`].
    Copy,
}

/// The time between reading and writing that belong together.
const GAP: Duration = Duration::from_micros(200);
/// Maximum age of the copy.
const AGE: Duration = Duration::from_millis(20);

type Counters = HashMap<String, i64>;

struct Server {
    bug: Option<Bug>,
    counters: Mutex<Counters>,
    copy: Mutex<(Instant, Counters)>,
}

/// Starts the server. It runs until the process ends. Returns its address.
pub(crate) fn start(bug: Option<Bug>) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let copy = Mutex::new((Instant::now(), Counters::new()));
    let server = Arc::new(Server { bug, counters: Mutex::default(), copy });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || server.attend(&stream));
        }
    });
    Ok(address)
}

impl Server {
    /// Answers the requests of a connection until it ends.
    fn attend(&self, mut stream: &TcpStream) -> io::Result<()> {
        for line in BufReader::new(stream).lines() {
            stream.write_all(format!("{}\n", self.answer(&line?)).as_bytes())?;
        }
        Ok(())
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, line: &str) -> String {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["ADD", name] => {
                let mut counters = self.counters();
                let count = counters.get(name).unwrap_or(&0) + 1;
                if self.bug == Some(Bug::Race) {
                    drop(counters);
                    thread::sleep(GAP);
                    counters = self.counters();
                }
                counters.insert(name.to_owned(), count);
                format!("COUNT {count}")
            }
            ["GET", name] if self.bug == Some(Bug::Copy) => {
                let mut copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
                if copy.0.elapsed() > AGE {
                    *copy = (Instant::now(), self.counters().clone());
                }
                format!("COUNT {}", copy.1.get(name).unwrap_or(&0))
            }
            ["GET", name] => format!("COUNT {}", self.counters().get(name).unwrap_or(&0)),
            _ => "WHAT?".to_owned(),
        }
    }
}
