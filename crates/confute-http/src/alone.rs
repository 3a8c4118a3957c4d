//! The last exchange of a trace by itself, where that is evidence of its own.
//!
//! A resource that nobody has looked at may hold anything (`Entry::unknown`). So whatever happened before an exchange, a model that
//! explains the trace explains the exchange alone, from some content, tag and date. That does not hold while a write is at work,
//! because a read may then show some of it, nor where a write was left open or broke off: what such writes leave behind is more
//! than content and validators. So each write to the resource must have been answered before the request was sent, in the order of
//! the trace, by a response that is its own wherever the one to the request is, and that leaves nothing open. Blame tries a set
//! of rules on the exchange first, which takes next to no time.

use std::collections::{BTreeMap, VecDeque};

use confute::trace::{Event, WireConn};

use crate::message::{Method, Msg, Odd, Request, Response};

/// Writes that were refused or failed, at most. Each of them may be performed later against a rule; with more than three that
/// are due the model says nothing of the resource any more (`late.rs`).
const MOST_DUE: usize = 3;

/// A request, the place of its response and the response.
struct Exchange<'a> {
    place: usize,
    request: &'a Request,
    answer: Option<(usize, &'a Response)>,
}

impl Exchange<'_> {
    /// It left nothing behind but content and validators before the request at this place was sent.
    fn is_over_before(&self, place: usize) -> bool {
        let is_plain =
            !matches!(self.request.odd, Some(Odd::HugeChunk | Odd::VastChunk | Odd::LengthBesideChunks));
        is_plain
            && self
                .answer
                .is_some_and(|(answered, it)| answered < place && !it.leaves_open() && !it.incomplete)
    }

    /// It may be performed later against a rule: it was refused, a condition was false, or it was sent twice. After a false
    /// condition a success may be told too, of content that was put before.
    fn is_due(&self, all: &[Self]) -> bool {
        let is_known = matches!(self.request.method, Method::Put | Method::Delete);
        let is_refused = self.answer.is_some_and(|(_, response)| response.status >= 300);
        let is_same =
            |it: &Self| it.request.path == self.request.path && it.request.body == self.request.body;
        let is_told_done =
            self.request.is_conditional() && all.iter().any(|it| it.place < self.place && is_same(it));
        is_known && (is_refused || is_told_done || self.request.close_twice)
    }

    /// Its response may be somebody else's where that of the other could not be: then it says nothing of when it was performed.
    fn may_be_foreign_beside(&self, other: &Self) -> bool {
        let pipelined = |it: &Self| it.answer.map(|(_, response)| response.pipelined);
        self.answer.is_some_and(|(_, response)| response.notes.stray) || pipelined(self) != pipelined(other)
    }
}

/// The exchange that the last event ends, if it is evidence of its own.
pub(crate) fn alone(trace: &[Event<Msg>]) -> Option<Vec<Event<Msg>>> {
    let (Event::Received(conn, _), last) = (trace.last()?, trace.len() - 1) else { return None };
    let exchanges = exchanges(trace);
    let own = exchanges.iter().find(|it| it.answer.is_some_and(|(answered, _)| answered == last))?;
    if own.request.close_twice || own.request.unasked_after > 0 {
        return None;
    }
    let is_rival = |it: &&Exchange<'_>| {
        it.place != own.place && it.request.path == own.request.path && !it.request.method.is_safe()
    };
    let rivals = || exchanges.iter().filter(is_rival);
    let is_over = |it: &Exchange<'_>| it.is_over_before(own.place) && !it.may_be_foreign_beside(own);
    let is_quiet = rivals().all(is_over) && rivals().filter(|it| it.is_due(&exchanges)).count() <= MOST_DUE;
    let opened = Event::Opened(*conn);
    is_quiet.then(|| vec![opened, trace[own.place].clone(), trace[last].clone()])
}

fn exchanges(trace: &[Event<Msg>]) -> Vec<Exchange<'_>> {
    let mut all: Vec<Exchange<'_>> = Vec::new();
    let mut due: BTreeMap<WireConn, VecDeque<usize>> = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, Msg::Request(request)) => {
                let line = due.entry(*conn).or_default();
                line.extend(std::iter::repeat_n(all.len(), 1 + usize::from(request.close_twice)));
                all.push(Exchange { place: at, request, answer: None });
            }
            Event::Received(conn, Msg::Response(response)) => {
                if let Some(exchange) = due.get_mut(conn).and_then(VecDeque::pop_front) {
                    all[exchange].answer.get_or_insert((at, response));
                }
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(conn: u32, method: Method) -> Event<Msg> {
        Event::Sent(WireConn(conn), Msg::Request(Request { method, path: "/a".into(), ..Request::default() }))
    }

    fn got(conn: u32, status: u16) -> Event<Msg> {
        Event::Received(WireConn(conn), Msg::Response(Response { status, ..Response::default() }))
    }

    fn is_alone(trace: &[Event<Msg>]) -> bool {
        alone(trace).is_some_and(|one| one.len() == 3)
    }

    #[test]
    fn an_exchange_is_alone_while_nothing_is_written() {
        let put = || [sent(0, Method::Put), got(0, 204)];
        let get = || [sent(1, Method::Get), got(1, 200)];
        assert!(is_alone(&[put(), get()].concat()));
        assert!(is_alone(&[put(), get(), put()].concat()));
        // A write is at work, before or behind it, or was never answered.
        assert!(!is_alone(&[&put()[..1], &get()[..]].concat()));
        assert!(!is_alone(&[&get()[..1], &put()[..1], &get()[1..]].concat()));
        assert!(!is_alone(&[&get()[..1], &put()[..], &get()[1..]].concat()));
        // It was left open.
        for open in [202, 503, 0] {
            assert!(!is_alone(&[[sent(0, Method::Put), got(0, open)], get()].concat()));
        }
        // Too many were refused.
        let after_refusals = |count: usize| {
            let refused = std::iter::repeat_n([sent(0, Method::Put), got(0, 412)], count);
            refused.chain([get()]).flatten().collect::<Vec<_>>()
        };
        assert!(is_alone(&after_refusals(3)) && !is_alone(&after_refusals(4)));
    }
}
