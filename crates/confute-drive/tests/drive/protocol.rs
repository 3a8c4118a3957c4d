//! A tiny line-based protocol: `get k`, `set k 5`; `value 5`, `ok`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use confute::lang::{Io, Level, Rule, ServerModel, Table, Turn};
use confute_drive::{
    Asks, Dialogue, Evidence, Generator, Past, Peer, Protocol, Reader, Refusal, Setup, Side, Step, Talk,
    Trouble, Until, View,
};
use serde::{Deserialize, Serialize};

/// Rule that a get returns the current value.
pub(crate) const READ_CURRENT: Rule =
    Rule { name: "line/read-current", level: Level::Store, summary: "A get answers with the current value." };
/// Rule that a confirmed set is kept.
pub(crate) const SET_LASTS: Rule =
    Rule { name: "line/set-lasts", level: Level::Must, summary: "A set that was confirmed stays." };
/// Rule that a set is confirmed with ok.
pub(crate) const SAYS_OK: Rule =
    Rule { name: "line/says-ok", level: Level::Should, summary: "A set is answered with ok, not with done." };

/// Rule that requests are served.
pub(crate) const SERVES: Rule =
    Rule { name: "line/serves", level: Level::Steady, summary: "Nobody is told that the server is busy." };

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    Get(Arc<str>),
    Set(Arc<str>, u32),
    Value(u32),
    Done { ok: bool },
    Busy,
    Odd(String),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Get(key) => write!(f, "get {key}"),
            Message::Set(key, value) => write!(f, "set {key} {value}"),
            Message::Value(value) => write!(f, "value {value}"),
            Message::Done { ok } => f.write_str(if *ok { "ok" } else { "done" }),
            Message::Busy => f.write_str("busy"),
            Message::Odd(text) => write!(f, "{text:?}"),
        }
    }
}

const VALUES: Table<Arc<str>, u32> = Table::new("values");

pub(crate) struct Store;

impl ServerModel for Store {
    type Msg = Message;
    type Out = Message;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, request) = io.recv()?;
        match &*request {
            Message::Get(key) => {
                let cell = VALUES.view(io, key)?;
                if io.deviates(&SERVES)? {
                    return io.send(conn, Message::Busy);
                }
                let value = cell.get(io)?.unwrap_or_default();
                let value = if io.deviates(&READ_CURRENT)? { 0 } else { value };
                io.send(conn, Message::Value(value))
            }
            Message::Set(key, value) => {
                let cell = VALUES.edit(io, key)?;
                if io.deviates(&SERVES)? {
                    return io.send(conn, Message::Busy);
                }
                if !io.deviates(&SET_LASTS)? {
                    cell.set(io, *value)?;
                }
                let ok = !io.deviates(&SAYS_OK)?;
                io.send(conn, Message::Done { ok })
            }
            _ => io.replies(0),
        }
    }

    fn rules(&self) -> &'static [Rule] {
        &[READ_CURRENT, SET_LASTS, SAYS_OK, SERVES]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ask {
    Get(u8),
    Set(u8, u32),
    /// Sets the key to one more than the value in the response to this step.
    More(u8, usize),
}

#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) has_probe: bool,
    pub(crate) has_canary: bool,
    /// Result of the survey, which sets a value and gets it in a case.
    pub(crate) survey: Option<Result<(), Trouble>>,
    /// Time that it takes to renumber a request.
    pub(crate) renumbering: Duration,
}

impl Protocol for Lines {
    type Model = Store;
    type Ask = Ask;
    type Reader = LineReader;

    fn model(&self) -> &Store {
        &Store
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Message> {
        let key = |number: &u8| format!("{case}.{number}").into();
        Some(match ask {
            Ask::Get(number) => Message::Get(key(number)),
            Ask::Set(number, value) => Message::Set(key(number), *value),
            Ask::More(number, step) => {
                let exchange = past.exchanges.iter().find(|one| one.step == *step)?;
                match exchange.replies.first()? {
                    Message::Value(value) => Message::Set(key(number), value + 1),
                    _ => return None,
                }
            }
        })
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        let line = match message {
            Message::Get(key) => format!("get {key}\n"),
            Message::Set(key, value) => format!("set {key} {value}\n"),
            Message::Value(value) => format!("value {value}\n"),
            Message::Done { ok } => if *ok { "ok\n" } else { "done\n" }.to_owned(),
            Message::Busy => "busy\n".to_owned(),
            Message::Odd(text) => format!("{text}\n"),
        };
        bytes.extend_from_slice(line.as_bytes());
    }

    fn reader(&self, _: Side) -> LineReader {
        LineReader::default()
    }

    fn dialogue(&self) -> &dyn Dialogue<Self> {
        self
    }

    fn asks(&self) -> &dyn Asks<Self> {
        self
    }

    fn evidence(&self) -> &dyn Evidence<Self> {
        self
    }

    fn setup(&self) -> &dyn Setup<Self> {
        self
    }
}

impl Dialogue<Lines> for Lines {
    fn answers(&self, _: &Message) -> u32 {
        1
    }

    fn refusal(&self, _: &Message, reply: &Message) -> Option<Refusal> {
        let retry_after = Some(Duration::from_millis(100));
        (*reply == Message::Busy).then_some(Refusal { status: 503, retry_after })
    }
}

impl Asks<Lines> for Lines {
    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        std::thread::sleep(self.renumbering);
        match ask {
            Ask::More(key, step) => Ask::More(*key, now(*step)),
            other => other.clone(),
        }
    }

    fn probe(&self) -> Option<Ask> {
        self.has_probe.then_some(Ask::Get(255))
    }
}

impl Evidence<Lines> for Lines {
    fn subject(&self, request: &Message) -> Option<String> {
        match request {
            Message::Get(key) | Message::Set(key, _) => Some(key.to_string()),
            _ => None,
        }
    }

    fn is_idle(&self, request: &Message, _: Option<&Message>) -> bool {
        matches!(request, Message::Get(_))
    }
}

impl Setup<Lines> for Lines {
    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        let Some(result) = &self.survey else { return Ok(Vec::new()) };
        let steps = [Ask::Set(1, 5), Ask::Get(1)].map(|ask| {
            [Step::Ask { on: Peer::Opened(0), ask, cuts: Vec::new() }, Step::Wait(Until::Outstanding(0))]
        });
        let case = talk.case(steps.concat())?;
        let replies = case.past.exchanges.iter().flat_map(|exchange| &exchange.replies);
        result.clone().map(|()| replies.map(ToString::to_string).collect())
    }

    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        self.has_canary && talk.ask(&Ask::Set(0, 77), talk.name()).is_ok_and(|answers| !answers.is_empty())
    }

    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        match talk.ask(&Ask::Get(0), talk.name())?.first() {
            Some(Message::Value(0)) => Ok(None),
            Some(Message::Value(value)) => Ok(Some(value.to_string())),
            _ => Err(Trouble::Unprepared("no value".to_owned())),
        }
    }
}

#[derive(Default)]
pub(crate) struct LineReader {
    held: Vec<u8>,
}

impl Reader<Message> for LineReader {
    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        for byte in bytes {
            if *byte == b'\n' {
                messages.push(parse(&String::from_utf8_lossy(&self.held)));
                self.held.clear();
            } else {
                self.held.push(*byte);
            }
        }
    }

    fn end(&mut self, _: bool, messages: &mut Vec<Message>) {
        if !self.held.is_empty() {
            messages
                .push(Message::Odd(String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()));
        }
    }

    fn held(&self) -> usize {
        self.held.len()
    }
}

pub(crate) fn parse(line: &str) -> Message {
    let words: Vec<&str> = line.split(' ').collect();
    let odd = || Message::Odd(line.to_owned());
    match words[..] {
        ["get", key] => Message::Get(key.into()),
        ["set", key, value] => value.parse().map_or_else(|_| odd(), |value| Message::Set(key.into(), value)),
        ["value", value] => value.parse().map_or_else(|_| odd(), Message::Value),
        ["ok"] => Message::Done { ok: true },
        ["busy"] => Message::Busy,
        ["done"] => Message::Done { ok: false },
        _ => odd(),
    }
}

/// Generator of this many steps, which keeps up to `most` requests outstanding on each connection.
pub(crate) struct Busy {
    pub(crate) left: u32,
    pub(crate) most: u32,
    pub(crate) keys: u64,
}

impl Busy {
    pub(crate) fn new(left: u32) -> Self {
        Self { left, most: 2, keys: 4 }
    }
}

impl Generator<Lines> for Busy {
    fn next(&mut self, view: &View<'_, Lines>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.left = self.left.checked_sub(1)?;
        let room: Vec<u32> =
            (0..view.connections).filter(|on| view.outstanding[*on as usize] < self.most).collect();
        // Fill up, then wait until half of the responses have arrived.
        let Some(on) = room.get(pick(room.len() as u64) as usize) else {
            let most = self.most as usize * view.connections as usize / 2;
            return Some(Step::Wait(Until::Outstanding(most)));
        };
        let key = pick(self.keys) as u8;
        let ask = match pick(5) {
            0 | 1 => Ask::Set(key, 1 + pick(1 << 30) as u32),
            2 if !view.past.exchanges.is_empty() => {
                let place = pick(view.past.exchanges.len() as u64) as usize;
                Ask::More(key, view.past.exchanges[place].step)
            }
            _ => Ask::Get(key),
        };
        Some(Step::Ask { on: Peer::Opened(*on), ask, cuts: Vec::new() })
    }
}
