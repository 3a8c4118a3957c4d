//! A server of todos over TCP: a thread for each connection.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Default)]
struct State {
    todos: HashMap<u64, String>,
    added: u64,
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
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let id = rest.parse().unwrap_or(0);
        match word {
            "ADD" => {
                self.added += 1;
                // The planted bug counts the todos that exist, so an id can be in use.
                let id = if bug { self.todos.len() as u64 + 1 } else { self.added };
                self.todos.insert(id, rest.to_owned());
                format!("ID {id}")
            }
            "SHOW" => self.todos.get(&id).map_or("NONE".to_owned(), |text| format!("TODO {text}")),
            "DONE" => self.todos.remove(&id).map_or("NONE", |_| "REMOVED").to_owned(),
            _ => "WHAT?".to_owned(),
        }
    }
}
