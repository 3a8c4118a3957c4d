//! Translation of a history into events: an operation is a request and its response on a connection of its process.
//!
//! A process is one client that waits for each response, so it is one connection. The completion of an operation
//! decides what is in the trace:
//!
//! - `:ok`: the request where the operation was invoked, the response where it completed;
//! - `:fail`: nothing, because by Jepsen's definition the operation certainly did not take place. A model may know
//!   better: a compare-and-swap that failed without an error is a response, "the comparison failed";
//! - `:info`, or no completion: the request, and a close by the tester. The request may still take effect at any later
//!   time, or never, and the process continues on a new connection.
//!
//! A [`Recorder`] keeps the events and the operations that are open, not the entries: a history may have millions.

use std::collections::BTreeMap;

use super::{Edn, Entry, History, Phase};
use crate::trace::{Event, WireConn};

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

/// The messages of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated<M> {
    /// Requests, sent one behind the other on the connection of the process. None, if the operation did not take place.
    pub requests: Vec<M>,
    /// Their responses; `None` if the outcome is unknown.
    pub responses: Option<Vec<M>>,
}

impl<M> Translated<M> {
    /// Returns the messages of an operation that did not take place: none.
    pub fn none() -> Self {
        Self { requests: Vec::new(), responses: Some(Vec::new()) }
    }

    /// Returns the messages of an operation with one request.
    pub fn one(request: M, response: Option<M>) -> Self {
        Self { requests: vec![request], responses: response.map(|response| vec![response]) }
    }

    /// Returns the messages of an operation with one request, whose response follows from its successful completion.
    pub fn simple(
        request: M,
        end: Option<&Entry>,
        response: impl FnOnce(&Entry) -> Result<M, Misfit>,
    ) -> Result<Self, Misfit> {
        match end.map(|end| (end.phase, end)) {
            Some((Phase::Fail, _)) => Ok(Self::none()),
            Some((Phase::Ok, end)) => Ok(Self::one(request, Some(response(end)?))),
            _ => Ok(Self::one(request, None)),
        }
    }
}

/// The translation of a history into messages of a model.
pub struct Reading<M: 'static> {
    /// Name of the model.
    pub model: &'static str,
    /// `true` if the model distinguishes keys. Otherwise all operations must concern the same.
    pub has_keys: bool,
    /// Operations, as an error lists them.
    pub operations: &'static str,
    /// Translates an operation, given its invocation and its completion. A completion that is `None` or `:info` leaves
    /// the outcome open.
    pub messages: fn(&Entry, Option<&Entry>) -> Result<Translated<M>, Misfit>,
}

impl<M> Reading<M> {
    /// Returns the error for an operation that the model does not know.
    pub fn unknown(&self, entry: &Entry) -> Misfit {
        let Reading { model, operations, .. } = self;
        entry.misfit(&format!("the {model} model knows {operations}, not {:?}", &*entry.f))
    }
}

impl<M: Clone> Reading<M> {
    /// Translates a history that was read as a whole.
    pub fn translate(&'static self, history: &History) -> Result<Recorded<M>, Misfit> {
        let mut recorder = Recorder::new(self);
        history.entries.iter().try_for_each(|entry| recorder.add(entry.clone()))?;
        recorder.finish()
    }
}

impl Entry {
    /// Returns the error for an entry that does not fit a model.
    pub fn misfit(&self, what: &str) -> Misfit {
        Misfit { line: self.line, what: what.to_owned() }
    }
}

/// An operation that was invoked and not completed yet.
struct Open {
    /// Index of the event of its request, to be filled in.
    event: usize,
    invocation: Entry,
}

/// Translates a history entry by entry.
pub struct Recorder<M: 'static> {
    reading: &'static Reading<M>,
    recorded: Recorded<M>,
    open: BTreeMap<u64, Open>,
    connections: BTreeMap<u64, WireConn>,
    next: u32,
    /// Requests of operations that have none, or more than one, by the index of the first.
    odd: BTreeMap<usize, Vec<Event<M>>>,
    /// Key of the first entry, if the model does not distinguish keys, and its line.
    only: Option<(Option<Edn>, usize)>,
}

impl<M: Clone> Recorder<M> {
    /// Begins a translation.
    pub fn new(reading: &'static Reading<M>) -> Self {
        Self {
            reading,
            recorded: Recorded { events: Vec::new(), lines: Vec::new() },
            open: BTreeMap::new(),
            connections: BTreeMap::new(),
            next: 0,
            odd: BTreeMap::new(),
            only: None,
        }
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> usize {
        self.recorded.events.len()
    }

    /// Adds the next entry. Its operation has been checked: a completion follows its invocation.
    pub fn add(&mut self, entry: Entry) -> Result<(), Misfit> {
        if entry.phase == Phase::Invoke {
            self.expect_one_key(&entry)?;
            // The request is filled in at the end of the operation, which may know more about it.
            self.push(Event::Quiescent, entry.line);
            self.connections.entry(entry.process).or_insert_with(|| {
                self.next += 1;
                WireConn(self.next - 1)
            });
            let event = self.recorded.events.len() - 1;
            self.open.insert(entry.process, Open { event, invocation: entry });
            return Ok(());
        }
        let Some(open) = self.open.remove(&entry.process) else {
            return Err(entry.misfit("no operation of this process is open"));
        };
        let (conn, responses) = self.complete(&open, Some(&entry))?;
        match responses {
            Some(responses) => responses
                .into_iter()
                .for_each(|response| self.push(Event::Received(conn, response), entry.line)),
            None => {
                self.connections.remove(&entry.process);
                self.push(Event::HungUp(conn), entry.line);
            }
        }
        Ok(())
    }

    /// Ends the translation.
    pub fn finish(mut self) -> Result<Recorded<M>, Misfit> {
        for open in std::mem::take(&mut self.open).into_values() {
            self.complete(&open, None)?;
        }
        let Self { recorded, mut odd, .. } = self;
        if odd.is_empty() {
            return Ok(recorded);
        }
        let mut all = Recorded { events: Vec::new(), lines: Vec::new() };
        for (place, (event, line)) in recorded.events.into_iter().zip(recorded.lines).enumerate() {
            let events = odd.remove(&place).unwrap_or_else(|| vec![event]);
            all.lines.extend(events.iter().map(|_| line));
            all.events.extend(events);
        }
        Ok(all)
    }

    /// Fills in the requests of an operation. Returns its connection and its responses.
    fn complete(&mut self, open: &Open, end: Option<&Entry>) -> Result<(WireConn, Option<Vec<M>>), Misfit> {
        let Translated { requests, responses } = (self.reading.messages)(&open.invocation, end)?;
        let conn = self.connections[&open.invocation.process];
        let mut sent: Vec<_> = requests.into_iter().map(|request| Event::Sent(conn, request)).collect();
        match sent.len() {
            1 => self.recorded.events[open.event] = sent.remove(0),
            _ => drop(self.odd.insert(open.event, sent)),
        }
        Ok((conn, responses))
    }

    fn push(&mut self, event: Event<M>, line: usize) {
        self.recorded.events.push(event);
        self.recorded.lines.push(line);
    }

    fn expect_one_key(&mut self, entry: &Entry) -> Result<(), Misfit> {
        if self.reading.has_keys {
            return Ok(());
        }
        let (first, line) = self.only.get_or_insert_with(|| (entry.key.clone(), entry.line));
        if *first == entry.key {
            return Ok(());
        }
        let name = |key: &Option<Edn>| key.as_ref().map_or("no key".to_owned(), |key| format!("key {key}"));
        let what = format!(
            "this operation has {}, that of line {line} {}; the {} model has one object: \
             write the operations of each key to a file of their own",
            name(&entry.key),
            name(first),
            self.reading.model
        );
        Err(entry.misfit(&what))
    }
}
