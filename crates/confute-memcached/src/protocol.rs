//! The driver's protocol traits, implemented for memcached.

use confute_drive::{Asks, Dialogue, Evidence, Exchange, Past, Protocol, Setup, Side, Talk, Trouble};

use crate::ask::Ask;
use crate::branch::{self, BRANCHES};
use crate::message::{Answer, Message, Request, ResponseLine};
use crate::model::MemcachedModel;
use crate::survey;
use crate::wire::{self, WireReader};

/// Line by which memcached turns a connection away.
const TURNED_AWAY: &[u8] = b"ERROR Too many open connections\r\n";

/// The memcached text protocol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memcached {
    model: MemcachedModel,
}

impl Memcached {
    /// Creates the protocol with this model, which holds the settings of the server.
    pub fn new(model: MemcachedModel) -> Self {
        Self { model }
    }
}

impl Protocol for Memcached {
    type Model = MemcachedModel;
    type Ask = Ask;
    type Reader = WireReader;

    fn model(&self) -> &MemcachedModel {
        &self.model
    }

    fn resolve(&self, ask: &Ask, case: &str, past: &Past<Self>) -> Option<Message> {
        ask.message(case, past)
    }

    fn encode(&self, message: &Message, bytes: &mut Vec<u8>) {
        wire::write(message, bytes);
    }

    fn reader(&self, _: Side) -> WireReader {
        WireReader::default()
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

impl Dialogue<Memcached> for Memcached {
    /// Splits a get of several keys into one read per key.
    fn parts(&self, message: &Message) -> Option<Vec<Message>> {
        Some(message.parts()).filter(|parts| parts.len() > 1)
    }

    fn stamp(&self, message: &mut Message, micros: u64) {
        match message {
            Message::Ask(request) => request.sent_at = micros,
            Message::Answer(answer) => answer.received_at = micros,
        }
    }

    /// A memcached with as many connections as `-c` permits writes this line to further ones and closes them.
    fn turns_away(&self, first: &Message) -> bool {
        let Message::Answer(Answer { line: ResponseLine::Garbage(bytes), .. }) = first else { return false };
        bytes.bytes().starts_with(TURNED_AWAY)
    }

    fn answers(&self, message: &Message) -> u32 {
        match message {
            Message::Ask(Request { noreply: true, .. }) => 0,
            Message::Ask(_) => u32::try_from(message.parts().len()).unwrap_or(u32::MAX),
            Message::Answer(_) => 0,
        }
    }
}

impl Asks<Memcached> for Memcached {
    fn renumber(&self, ask: &Ask, now: &dyn Fn(usize) -> usize) -> Ask {
        ask.renumber(now)
    }

    fn simpler(&self, ask: &Ask) -> Vec<Ask> {
        ask.simpler()
    }

    fn probe(&self) -> Option<Ask> {
        Some(Ask::Get { keys: vec![0], unique: false })
    }
}

impl Evidence<Memcached> for Memcached {
    fn branches(&self) -> Vec<String> {
        BRANCHES.iter().map(|(command, answer)| format!("{command}: {answer}")).collect()
    }

    /// Of a get of several keys, only the last key counts.
    fn reached(&self, exchange: &Exchange<Ask, Message>) -> Option<usize> {
        match (&exchange.request, exchange.replies.last()?) {
            (Message::Ask(request), Message::Answer(answer)) => {
                branch::reached(&request.command, &answer.line)
            }
            _ => None,
        }
    }
}

impl Setup<Memcached> for Memcached {
    fn waives(&self, talk: &Talk<'_, Self>) -> Vec<&'static str> {
        survey::waives(talk)
    }

    fn survey(&self, talk: &Talk<'_, Self>) -> Result<Vec<String>, Trouble> {
        Ok(survey::survey(talk))
    }

    fn plant(&self, talk: &Talk<'_, Self>) -> bool {
        survey::plant(talk)
    }

    fn canary(&self, talk: &Talk<'_, Self>) -> Result<Option<String>, Trouble> {
        survey::canary(talk)
    }
}
