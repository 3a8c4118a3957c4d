//! A server of notes over TCP: a thread for each connection, a disk, and a cache that can be wrong.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The notes on the disk, and those that were read since they were written.
#[derive(Default)]
struct State {
    disk: HashMap<String, String>,
    cache: HashMap<String, String>,
}

/// Starts the server, with the bug if `bug` is `true`. It runs until the process ends. Returns its address.
pub(crate) fn start(bug: bool) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let state = Arc::new(Mutex::new(State::default()));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let state = Arc::clone(&state);
            thread::spawn(move || attend(&stream, &state, bug));
        }
    });
    Ok(address)
}

/// Answers the requests of a connection until it ends.
fn attend(mut stream: &TcpStream, state: &Mutex<State>, bug: bool) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let response = state.lock().unwrap_or_else(PoisonError::into_inner).answer(&line?, bug);
        stream.write_all(format!("{response}\n").as_bytes())?;
    }
    Ok(())
}

impl State {
    fn answer(&mut self, line: &str, bug: bool) -> String {
        match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["WRITE", note, text] => {
                self.disk.insert(note.to_owned(), text.to_owned());
                self.cache.remove(note);
                "DONE".to_owned()
            }
            ["READ", note] => {
                let Some(text) = self.cache.get(note).or(self.disk.get(note)).cloned() else {
                    return "NONE".to_owned();
                };
                self.cache.insert(note.to_owned(), text.clone());
                format!("TEXT {text}")
            }
            ["DELETE", note] => {
                let is_there = self.disk.remove(note).is_some();
                if !bug {
                    self.cache.remove(note); // the planted bug forgets this
                }
                if is_there { "DONE" } else { "NONE" }.to_owned()
            }
            _ => "WHAT?".to_owned(),
        }
    }
}
