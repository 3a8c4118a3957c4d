//! Recorded histories as traces of a model: an operation is a request and its response on a connection of its
//! process.
//!
//! A process is one client that waits for each response, so it is one connection. Where an operation ends
//! with an unknown outcome (`:info`, a read that failed by timing out), the trace contains a close by the
//! tester: the request may still take effect at any later time, or never, and the process continues on a new
//! connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use confute::history::{Edn, Entry, History, Phase};
use confute::trace::{Event, WireConn};

use crate::{kv, register};

/// Error: a history that does not fit the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Line in the file.
    pub line: usize,
    /// Description of the error.
    pub what: String,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Misfit {}

/// A history as events, each with its line.
#[derive(Clone, Debug)]
pub struct Recorded<M> {
    /// Events of the history.
    pub events: Vec<Event<M>>,
    /// Line of each event.
    pub lines: Vec<usize>,
}

/// Translates a history of gets, puts and appends.
pub fn kv(history: &History) -> Result<Recorded<kv::Message>, Misfit> {
    translate(history, kv_request, |ask, end| match ask {
        kv::Message::Get(_) => Ok(kv::Message::Value(text(end)?.into())),
        _ => Ok(kv::Message::Done),
    })
}

/// Translates a history of reads, writes and compare-and-swaps on one register.
pub fn register(history: &History) -> Result<Recorded<register::Message>, Misfit> {
    use register::Message;
    translate(history, register_request, |ask, end| match ask {
        Message::Read => {
            Ok(Message::Value(if end.value == Edn::Nil { None } else { Some(number(end, &end.value)?) }))
        }
        Message::Cas { .. } => Ok(Message::Swapped(end.phase == Phase::Ok)),
        _ => Ok(Message::Written),
    })
}

fn kv_request(entry: &Entry) -> Result<kv::Message, Misfit> {
    let key: Arc<str> = match &entry.key {
        Some(Edn::Str(key)) => Arc::from(&**key),
        Some(other) => other.to_string().into(),
        None => return Err(misfit(entry, "an operation of the key-value model needs a :key")),
    };
    match &*entry.f {
        "get" | "read" => Ok(kv::Message::Get(key)),
        "put" | "write" => Ok(kv::Message::Put(key, text(entry)?.into())),
        "append" => Ok(kv::Message::Append(key, text(entry)?.into())),
        other => Err(misfit(entry, &format!("the key-value model knows get, put and append, not {other:?}"))),
    }
}

fn register_request(entry: &Entry) -> Result<register::Message, Misfit> {
    match (&*entry.f, &entry.value) {
        ("read", _) => Ok(register::Message::Read),
        ("write", value) => Ok(register::Message::Write(number(entry, value)?)),
        ("cas", Edn::Vector(pair)) if pair.len() == 2 => {
            Ok(register::Message::Cas { from: number(entry, &pair[0])?, to: number(entry, &pair[1])? })
        }
        ("cas", _) => Err(misfit(entry, "a cas needs [from to]")),
        (other, _) => {
            Err(misfit(entry, &format!("the register model knows read, write and cas, not {other:?}")))
        }
    }
}

/// Returns `true` if the outcome of the completion is known. A failed compare-and-swap has a known outcome:
/// it returned that the comparison failed. For every other failed operation the outcome is unknown.
fn tells(entry: &Entry) -> bool {
    entry.phase == Phase::Ok || (entry.phase == Phase::Fail && &*entry.f == "cas")
}

fn translate<M: Clone>(
    history: &History,
    request: impl Fn(&Entry) -> Result<M, Misfit>,
    answer: impl Fn(&M, &Entry) -> Result<M, Misfit>,
) -> Result<Recorded<M>, Misfit> {
    let mut lines = Vec::with_capacity(history.entries.len());
    let mut events = Vec::with_capacity(history.entries.len());
    let mut open: BTreeMap<u64, (WireConn, Option<M>)> = BTreeMap::new();
    let mut next = 0;
    for entry in &history.entries {
        let (conn, asked) = open.entry(entry.process).or_insert_with(|| {
            next += 1;
            (WireConn(next - 1), None)
        });
        let event = match asked.take() {
            None => {
                let message = request(entry)?;
                *asked = Some(message.clone());
                Event::Sent(*conn, message)
            }
            Some(ask) if tells(entry) => Event::Received(*conn, answer(&ask, entry)?),
            Some(_) => {
                let conn = *conn;
                open.remove(&entry.process);
                Event::HungUp(conn)
            }
        };
        events.push(event);
        lines.push(entry.line);
    }
    Ok(Recorded { events, lines })
}

fn misfit(entry: &Entry, what: &str) -> Misfit {
    Misfit { line: entry.line, what: what.to_owned() }
}

fn text(entry: &Entry) -> Result<String, Misfit> {
    match &entry.value {
        Edn::Str(text) => Ok(text.to_string()),
        Edn::Nil => Ok(String::new()),
        Edn::Int(number) => Ok(number.to_string()),
        other => Err(misfit(entry, &format!("{other} is not a value of the key-value model"))),
    }
}

fn number(entry: &Entry, value: &Edn) -> Result<i64, Misfit> {
    match value {
        Edn::Int(number) => Ok(*number),
        other => Err(misfit(entry, &format!("{other} is not a value of the register model (integers only)"))),
    }
}
