//! A box office over TCP: a thread for each connection.

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Default)]
struct State {
    /// The ticket of each reserved seat.
    reserved: HashMap<String, String>,
    /// The seat of each ticket that was ever given out.
    issued: HashMap<String, String>,
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
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["RESERVE", seat] => {
                if self.reserved.contains_key(seat) {
                    return "TAKEN".to_owned();
                }
                let number = (self.issued.len() as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let ticket = format!("t{:06x}", number >> 40);
                self.reserved.insert(seat.to_owned(), ticket.clone());
                self.issued.insert(ticket.clone(), seat.to_owned());
                format!("TICKET {ticket}")
            }
            ["CANCEL", seat, shown] => {
                let Some(ticket) = self.reserved.get(seat) else { return "REFUSED".to_owned() };
                // The planted bug looks among all tickets, where those of earlier reservations still are.
                let fits =
                    if bug { self.issued.get(shown).is_some_and(|of| of == seat) } else { ticket == shown };
                if !fits {
                    return "REFUSED".to_owned();
                }
                self.reserved.remove(seat);
                "FREE".to_owned()
            }
            _ => "WHAT?".to_owned(),
        }
    }
}
