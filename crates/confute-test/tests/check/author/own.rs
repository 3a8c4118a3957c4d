//! A user-defined protocol with a correct server: lines `get KEY` and `set KEY VALUE`, with responses `value
//! VALUE` and `ok`.
//!
//! The turn of the model is a parameter, so that each test can inject a mistake.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::thread;

use confute::knowledge::Value;
use confute::lang::{Io, Level, Rule, ServerModel, Table, Turn};
use confute_drive::{AnyGenerator, Generator, Past, Peer, Protocol, Reader, Side, Step, Target, Until, View};
use confute_test::Check;
use serde::{Deserialize, Serialize};

/// A request or a response.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Message {
    Get(String),
    Set(String, u32),
    Value(u32),
    Ok,
    Odd(String),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Get(key) => write!(f, "get {key}"),
            Message::Set(key, value) => write!(f, "set {key} {value}"),
            Message::Value(value) => write!(f, "value {value}"),
            Message::Ok => f.write_str("ok"),
            Message::Odd(line) => f.write_str(line),
        }
    }
}

/// The only rule of the model.
pub(super) const CURRENT: Rule =
    Rule { name: "own/current", level: Level::Must, summary: "A get is answered with the latest value." };

/// The values that the model stores.
pub(super) const VALUES: Table<String, u32> = Table::new("values");

/// The turn of a model.
pub(super) type Serve = fn(&Own, &mut Io<'_, Own>) -> Turn;

/// A model with a given turn.
pub(super) struct Own {
    pub(super) serve: Serve,
    /// A counter: state that a model must not have.
    pub(super) runs: AtomicU64,
    /// A function other than the turn that every message is passed to.
    pub(super) visit: fn(&Message),
    /// Values outside of tables: state that a model must not have.
    pub(super) outside: Mutex<BTreeMap<String, u32>>,
}

impl ServerModel for Own {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        (self.serve)(self, io)
    }

    fn told(&self, message: &Message, _: &mut dyn FnMut(Value)) {
        (self.visit)(message);
    }

    fn rules(&self) -> &'static [Rule] {
        &[CURRENT]
    }
}

/// A correct turn.
pub(super) fn right(_: &Own, io: &mut Io<'_, Own>) -> Turn {
    let (conn, request) = io.recv()?;
    match &*request {
        Message::Get(key) => {
            let value = VALUES.view(io, key)?.get(io)?.unwrap_or(0);
            let value = if io.deviates(&CURRENT)? { 0 } else { value };
            io.send(conn, Message::Value(value))
        }
        Message::Set(key, value) => {
            VALUES.edit(io, key)?.set(io, *value)?;
            io.send(conn, Message::Ok)
        }
        _ => io.replies(0),
    }
}

/// Requests about a few keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ask {
    Get(u8),
    Set(u8, u32),
}

/// The protocol.
pub(super) struct Lines(Own);

impl Protocol for Lines {
    type Model = Own;
    type Ask = Ask;
    type Reader = Held;

    fn model(&self) -> &Own {
        &self.0
    }

    fn resolve(&self, ask: &Ask, case: &str, _: &Past<Self>) -> Option<Message> {
        Some(match ask {
            Ask::Get(key) => Message::Get(format!("{case}.{key}")),
            Ask::Set(key, value) => Message::Set(format!("{case}.{key}"), *value),
        })
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(format!("{message}\n").as_bytes());
    }

    fn reader(&self, _: Side) -> Held {
        Held::default()
    }
}

/// Parser of lines, with a buffer for an incomplete one.
#[derive(Default)]
pub(super) struct Held(Vec<u8>);

impl Reader<Message> for Held {
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        for byte in bytes {
            if *byte == b'\n' {
                messages.push(parse(&String::from_utf8_lossy(&std::mem::take(&mut self.0))));
            } else {
                self.0.push(*byte);
            }
        }
    }

    fn end(&mut self, _: bool, _: &mut Vec<Message>) {}

    fn held(&self) -> usize {
        self.0.len()
    }
}

fn parse(line: &str) -> Message {
    let odd = || Message::Odd(line.to_owned());
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["get", key] => Message::Get(key.to_owned()),
        ["set", key, value] => {
            value.parse().map_or_else(|_| odd(), |value| Message::Set(key.to_owned(), value))
        }
        ["value", value] => value.parse().map_or_else(|_| odd(), Message::Value),
        ["ok"] => Message::Ok,
        _ => odd(),
    }
}

/// Random sets and gets, with one outstanding on each connection.
struct Traffic {
    left: u32,
}

impl Generator<Lines> for Traffic {
    fn next(&mut self, view: &View<'_, Lines>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.left = self.left.checked_sub(1)?;
        let on = pick(u64::from(view.connections)) as u32;
        if view.outstanding[on as usize] > 0 {
            return Some(Step::Wait(Until::Something));
        }
        let key = pick(3) as u8;
        let ask = if pick(2) == 0 { Ask::Set(key, 1 + pick(1 << 20) as u32) } else { Ask::Get(key) };
        Some(Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() })
    }
}

/// Returns a test with this turn, of a correct server or of one that forgets every value.
pub(super) fn check(serve: Serve, forgets: bool) -> Check {
    check_with(serve, forgets, |_| 60)
}

/// Returns a test like [`check`], with this number of steps in each case.
pub(super) fn check_with(serve: Serve, forgets: bool, steps: fn(u64) -> u32) -> Check {
    check_of(Own::new(serve), forgets, steps)
}

impl Own {
    pub(super) fn new(serve: Serve) -> Self {
        Self { serve, runs: AtomicU64::new(0), visit: |_| (), outside: Mutex::default() }
    }
}

/// Returns a test like [`check_with`], with this model.
pub(super) fn check_of(own: Own, forgets: bool, steps: fn(u64) -> u32) -> Check {
    let (lines, target) = (Lines(own), Target::new(start(forgets)));
    Check::new(lines, "own", target, move |case| AnyGenerator::new(Traffic { left: steps(case) }))
        .seed(1)
        .cases(40)
        .regressions(None)
}

/// Starts the server. It runs until the tests end.
fn start(forgets: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let values = Arc::new(Mutex::new(BTreeMap::new()));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let values = Arc::clone(&values);
            thread::spawn(move || answer(&stream, &values, forgets));
        }
    });
    address
}

fn answer(mut stream: &TcpStream, values: &Mutex<BTreeMap<String, u32>>, forgets: bool) -> Option<()> {
    for line in BufReader::new(stream).lines() {
        let mut values = values.lock().unwrap();
        let reply = match parse(&line.ok()?) {
            Message::Get(key) => format!("value {}\n", values.get(&key).copied().unwrap_or(0)),
            Message::Set(key, value) => {
                values.insert(key, if forgets { 0 } else { value });
                "ok\n".to_owned()
            }
            _ => "what?\n".to_owned(),
        };
        drop(values);
        stream.write_all(reply.as_bytes()).ok()?;
    }
    Some(())
}
