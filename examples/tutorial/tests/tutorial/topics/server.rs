//! A server of topics over TCP: a thread for each connection, and a bug to switch on.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

type Stream = Arc<TcpStream>;

#[derive(Default)]
struct Topic {
    latest: Option<String>,
    subscribers: Vec<Stream>,
}

struct Server {
    /// `PUBLISH` forgets the last subscriber where there are several.
    has_bug: bool,
    topics: Mutex<HashMap<String, Topic>>,
}

/// Starts the server. It runs until the process ends. Returns its address.
pub(crate) fn start(has_bug: bool) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let server = Arc::new(Server { has_bug, topics: Mutex::default() });
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            // Without this a message waits until the one before it is acknowledged.
            let _ = stream.set_nodelay(true);
            thread::spawn(move || server.attend(&Arc::new(stream)));
        }
    });
    Ok(address)
}

impl Server {
    /// Answers the requests of a connection until it ends.
    fn attend(&self, stream: &Stream) -> io::Result<()> {
        for line in BufReader::new(&**stream).lines() {
            self.answer(stream, &line?)?;
        }
        Ok(())
    }

    /// Answers under the lock, so that messages leave in the order of the requests.
    fn answer(&self, stream: &Stream, line: &str) -> io::Result<()> {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = line.split(' ').collect();
        let topic = topics.entry((*words.get(1).unwrap_or(&"")).to_owned()).or_default();
        let answer = match words[..] {
            ["SUBSCRIBE" | "UNSUBSCRIBE", _] => {
                topic.subscribers.retain(|other| !Arc::ptr_eq(other, stream));
                if words[0] == "SUBSCRIBE" {
                    topic.subscribers.push(Arc::clone(stream));
                }
                "DONE".to_owned()
            }
            ["PUBLISH", name, text] => {
                topic.latest = Some(text.to_owned());
                let all = topic.subscribers.len();
                let served = if self.has_bug { all.min(1.max(all.saturating_sub(1))) } else { all };
                for subscriber in &topic.subscribers[..served] {
                    // A subscriber that is gone is no reason to end this connection.
                    let _ = (&**subscriber).write_all(format!("NEWS {name} {text}\n").as_bytes());
                }
                "DONE".to_owned()
            }
            ["LATEST", _] => match &topic.latest {
                Some(text) => format!("TEXT {text}"),
                None => "NONE".to_owned(),
            },
            _ => "WHAT?".to_owned(),
        };
        (&**stream).write_all(format!("{answer}\n").as_bytes())
    }
}
