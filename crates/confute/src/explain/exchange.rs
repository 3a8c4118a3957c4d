//! A trace as exchanges, and variants of it with some of them changed: the counterfactuals that proofs are made of.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::erased::Message;
use crate::trace::{Event, WireConn};

/// A request on a connection that the tester opened, with its responses.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) conn: WireConn,
    pub(super) sent: usize,
    /// Indices of the responses, in the order in which they came; the end of the connection counts as one.
    pub(super) answers: Vec<usize>,
}

impl Exchange {
    pub(super) fn answer(&self) -> Option<usize> {
        self.answers.last().copied()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = usize> {
        [self.sent].into_iter().chain(self.answers.iter().copied())
    }

    /// Returns `true` if this exchange was over before the other began, or was sent before it on the same connection.
    /// In both cases it was handled first, if the network keeps the order.
    pub(super) fn precedes(&self, other: &Self) -> bool {
        self.answer().is_some_and(|answer| answer < other.sent)
            || (self.conn == other.conn && self.sent < other.sent)
    }
}

/// An assumption about an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The exchange happened as observed.
    Kept,
    /// The request was sent when it was sent, with an unknown result: a server may have handled it at any time since,
    /// or never. Whatever explains a trace also explains it after this change, so if the changed trace is still
    /// refuted, the refutation does not need this response.
    Loose,
    /// The request was never sent.
    Gone,
}

/// A trace, divided into exchanges.
pub(super) struct Exchanges<'a> {
    pub(super) events: &'a [Event<Rc<Message>>],
    pub(super) all: Vec<Exchange>,
    /// Exchange that each event belongs to.
    owner: Vec<Option<usize>>,
    /// Number of the first unused connection.
    fresh: u32,
    /// `true` if the server opened connections. Events on these belong to no exchange.
    pub(super) accepts: bool,
    /// `true` if no connection carried two requests: it is then certain to which request a response belongs, whatever
    /// the network does.
    pub(super) is_single: bool,
}

impl<'a> Exchanges<'a> {
    /// Divides a trace into exchanges. A response goes to the first request of its connection that has none, or to
    /// the last one.
    pub(super) fn new(events: &'a [Event<Rc<Message>>]) -> Self {
        let mut all: Vec<Exchange> = Vec::new();
        let mut owner = vec![None; events.len()];
        let mut lines: BTreeMap<WireConn, Vec<usize>> = BTreeMap::new();
        let mut accepted = BTreeSet::new();
        for (at, event) in events.iter().enumerate() {
            let Some(conn) = event.conn() else { continue };
            let line = lines.entry(conn).or_default();
            match event {
                Event::Accepted(_) => {
                    accepted.insert(conn);
                }
                _ if accepted.contains(&conn) => {}
                Event::Sent(..) => {
                    owner[at] = Some(all.len());
                    line.push(all.len());
                    all.push(Exchange { conn, sent: at, answers: Vec::new() });
                }
                Event::Received(..) | Event::Closed(_) => {
                    let open = line.iter().find(|one| all[**one].answers.is_empty()).or(line.last());
                    owner[at] = open.copied();
                    open.copied().into_iter().for_each(|one| all[one].answers.push(at));
                }
                _ => {}
            }
        }
        let fresh = lines.keys().map(|conn| conn.0 + 1).max().unwrap_or(0);
        let is_single = lines.values().all(|line| line.len() < 2);
        Self { events, all, owner, fresh, accepts: !accepted.is_empty(), is_single }
    }

    pub(super) fn owner(&self, event: usize) -> Option<usize> {
        self.owner[event]
    }

    /// Returns a connection that only this exchange uses.
    fn own(&self, one: usize) -> WireConn {
        WireConn(self.fresh + one as u32)
    }

    /// Returns the trace under these assumptions.
    pub(super) fn with(&self, fates: &[Fate]) -> Vec<Event<Rc<Message>>> {
        let is_used =
            |conn| self.all.iter().zip(fates).any(|(one, fate)| one.conn == conn && *fate == Fate::Kept);
        let mut trace = Vec::new();
        for (at, event) in self.events.iter().enumerate() {
            match (event, self.owner[at]) {
                (_, Some(one)) => match fates[one] {
                    Fate::Kept => trace.push(event.clone()),
                    Fate::Loose if at == self.all[one].sent => trace.extend(self.loose(one)),
                    _ => {}
                },
                // The end of a connection on which nothing is left is dropped.
                (Event::HungUp(conn), None)
                    if self.all.iter().any(|one| one.conn == *conn) && !is_used(*conn) => {}
                _ => trace.push(event.clone()),
            }
        }
        trace
    }

    /// Returns the trace with the exchanges of this connection on connections of their own.
    pub(super) fn apart(&self, fates: &[Fate], conn: WireConn) -> Vec<Event<Rc<Message>>> {
        let events = self.events.iter().enumerate().filter_map(|(at, event)| match (event, self.owner[at]) {
            (_, Some(one)) if self.all[one].conn == conn => Some(moved(event, self.own(one))),
            (Event::Opened(other) | Event::HungUp(other), None) if *other == conn => None,
            _ => Some(event.clone()),
        });
        Exchanges::new(&events.collect::<Vec<_>>()).with(fates)
    }

    /// Returns the trace with the responses to these two requests swapped.
    pub(super) fn crossed(
        &self,
        fates: &[Fate],
        one: usize,
        other: usize,
    ) -> Option<Vec<Event<Rc<Message>>>> {
        let (&[left], &[right]) = (&self.all[one].answers[..], &self.all[other].answers[..]) else {
            return None;
        };
        let (Event::Received(at, here), Event::Received(to, there)) =
            (&self.events[left], &self.events[right])
        else {
            return None;
        };
        let mut events = self.events.to_vec();
        events[left] = Event::Received(*at, there.clone());
        events[right] = Event::Received(*to, here.clone());
        Some(Exchanges::new(&events).with(fates))
    }

    /// Returns the trace without its last event, and with this response to this request, on a connection of its own.
    pub(super) fn redirected(
        &self,
        fates: &[Fate],
        one: usize,
        answer: &Rc<Message>,
    ) -> Vec<Event<Rc<Message>>> {
        let mut fates = fates.to_vec();
        fates[one] = Fate::Loose;
        let mut trace = self.with(&fates);
        trace.pop();
        let conn = self.own(one);
        trace.retain(|event| !matches!(event, Event::HungUp(other) if *other == conn));
        trace.push(Event::Received(conn, answer.clone()));
        trace
    }

    /// Returns the exchanges one after the other, in this order, each on its connection, or (`is_apart`) on one of
    /// its own. Loose requests are put in between, not before they were sent.
    pub(super) fn serial(&self, order: &[usize], is_apart: bool, loose: &[usize]) -> Vec<Event<Rc<Message>>> {
        let since = |one: usize| {
            let sent = self.all[one].sent;
            order
                .iter()
                .rposition(|done| self.all[*done].answer().is_some_and(|answer| answer < sent))
                .map_or(0, |at| at + 1)
        };
        let mut trace = Vec::new();
        for (place, one) in order.iter().enumerate() {
            loose
                .iter()
                .filter(|loose| since(**loose) == place)
                .for_each(|loose| trace.extend(self.loose(*loose)));
            let conn = if is_apart { self.own(*one) } else { self.all[*one].conn };
            trace.extend(self.all[*one].events().map(|at| moved(&self.events[at], conn)));
        }
        trace
    }

    fn loose(&self, one: usize) -> [Event<Rc<Message>>; 2] {
        let conn = self.own(one);
        [moved(&self.events[self.all[one].sent], conn), Event::HungUp(conn)]
    }
}

/// Returns the event on another connection.
fn moved(event: &Event<Rc<Message>>, conn: WireConn) -> Event<Rc<Message>> {
    match event {
        Event::Opened(_) => Event::Opened(conn),
        Event::Accepted(_) => Event::Accepted(conn),
        Event::Sent(_, message) => Event::Sent(conn, message.clone()),
        Event::Received(_, message) => Event::Received(conn, message.clone()),
        Event::Closed(_) => Event::Closed(conn),
        Event::HungUp(_) => Event::HungUp(conn),
        Event::Quiescent => Event::Quiescent,
    }
}
