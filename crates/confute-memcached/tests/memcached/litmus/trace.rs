//! Builder of traces, and checks of their verdicts.

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, blame, judge};
use confute_drive::Dialogue as _;
use confute_memcached::{Command, Memcached, MemcachedModel, Message, ResponseLine, Store};

/// A trace under construction: each event is one millisecond after the one before.
#[derive(Clone, Default)]
pub(crate) struct Trace {
    pub(crate) events: Vec<Event<Message>>,
    pub(crate) micros: u64,
}

impl Trace {
    pub(crate) fn now(&mut self, mut message: Message) -> Message {
        self.micros += 1_000;
        Memcached::default().stamp(&mut message, self.micros);
        message
    }

    pub(crate) fn ask(mut self, conn: u32, command: Command) -> Self {
        let message = self.now(command.asked());
        self.events.extend(message.parts().into_iter().map(|part| Event::Sent(WireConn(conn), part)));
        self
    }

    pub(crate) fn hush(mut self, conn: u32, command: Command) -> Self {
        let message = self.now(command.hushed());
        self.events.push(Event::Sent(WireConn(conn), message));
        self
    }

    pub(crate) fn seen(mut self, conn: u32, line: ResponseLine) -> Self {
        let message = self.now(line.into());
        self.events.push(Event::Received(WireConn(conn), message));
        self
    }

    /// Adds a request and its response.
    pub(crate) fn did(self, command: Command, line: ResponseLine) -> Self {
        self.ask(0, command).seen(0, line)
    }

    pub(crate) fn later(mut self, seconds: u64) -> Self {
        self.micros += seconds * 1_000_000;
        self
    }
}

pub(crate) fn new() -> Trace {
    Trace::default()
}

pub(crate) fn store(how: Store, data: &str) -> Command {
    Command::Store { how, key: "k".into(), flags: 7, exptime: 0, data: data.into() }
}

pub(crate) fn set(data: &str) -> Command {
    store(Store::Set, data)
}

pub(crate) fn expiring(data: &str, exptime: i64) -> Command {
    Command::Store { how: Store::Set, key: "k".into(), flags: 7, exptime, data: data.into() }
}

pub(crate) fn cas(token: &str, data: &str) -> Command {
    store(Store::Cas(token.into()), data)
}

pub(crate) fn get() -> Command {
    Command::Get { key: "k".into(), more: Vec::new(), unique: false }
}

pub(crate) fn gets() -> Command {
    Command::Get { key: "k".into(), more: Vec::new(), unique: true }
}

pub(crate) fn delete() -> Command {
    Command::Delete { key: "k".into() }
}

pub(crate) fn incr(by: u64) -> Command {
    Command::Count { key: "k".into(), up: true, by }
}

pub(crate) fn decr(by: u64) -> Command {
    Command::Count { key: "k".into(), up: false, by }
}

pub(crate) fn touch(exptime: i64) -> Command {
    Command::Touch { key: "k".into(), exptime }
}

pub(crate) fn value(data: &str) -> ResponseLine {
    ResponseLine::Value { key: "k".into(), flags: 7, data: data.into(), unique: None }
}

pub(crate) fn tagged(data: &str, token: &str) -> ResponseLine {
    ResponseLine::Value { key: "k".into(), flags: 7, data: data.into(), unique: Some(token.into()) }
}

pub(crate) fn short_of_memory() -> ResponseLine {
    ResponseLine::ServerError(" out of memory storing object".into())
}

pub(crate) fn number(text: &str) -> ResponseLine {
    ResponseLine::Number(text.into())
}

pub(crate) fn allowed(trace: &Trace) {
    let verdict = judge(&MemcachedModel::default(), &Tcp::default(), &trace.events, &Options::default());
    assert!(verdict.is_unrefuted(), "{verdict:?} of {:#?}", trace.events);
}

pub(crate) fn blamed_by(model: MemcachedModel, trace: &Trace, names: &[&str]) {
    let (network, options) = (Tcp::default(), Options::default());
    let verdict = judge(&model, &network, &trace.events, &options);
    assert!(verdict.is_refuted(), "{names:?}: {verdict:?} of {:#?}", trace.events);
    let blame = blame(&model, &network, &trace.events, &options);
    // Diagnoses with weaker rules broken more often rank after these.
    let least = blame.diagnoses.iter().map(|diagnosis| diagnosis.deviations).min();
    let plain = blame.diagnoses.iter().filter(|diagnosis| Some(diagnosis.deviations) == least);
    let found: Vec<_> = plain.map(|diagnosis| diagnosis.rules.clone()).collect();
    let wanted: Vec<_> = names.iter().map(|name| vec![*name]).collect();
    assert_eq!(found, wanted, "of {:#?}", trace.events);
}

pub(crate) fn blamed(trace: &Trace, rule: &confute::lang::Rule) {
    blamed_by(MemcachedModel::default(), trace, &[rule.name]);
}

/// Asserts that the trace is refuted, whether no rule explains it alone or several do.
pub(crate) fn refuted(trace: &Trace) {
    let verdict = judge(&MemcachedModel::default(), &Tcp::default(), &trace.events, &Options::default());
    assert!(verdict.is_refuted(), "{verdict:?} of {:#?}", trace.events);
}
