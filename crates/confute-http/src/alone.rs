//! The last exchange of a trace on its own, if it is evidence by itself.
//!
//! A resource that was never observed may hold anything (`Entry::unknown`). So whatever happened before an exchange, a
//! model that explains the trace also explains the exchange alone, from some content, tag and date. This does not hold
//! while a write is in progress, because a read may then show part of it, nor after a write whose outcome is open,
//! whose response was cut off or whose framing is ambiguous: such writes leave more behind than content and validators.
//! Therefore each write to the resource must have been answered before the request was sent, in the order of the trace,
//! by a response that decides its outcome and that is its own whenever the response to the request is. Blame tries a
//! set of rules on the exchange first, which takes almost no time.

use std::collections::BTreeMap;

use confute::trace::Event;

use crate::message::{Message, Method, Odd, Request, Response};
use crate::pairs::pairs;

/// Maximum number of writes that were refused or failed. Each of them may be performed later in violation of a rule;
/// with more than three that are due, the model makes no claim about the resource (`late.rs`).
const MOST_DUE: usize = 3;

/// A request with its position in the trace, and its response with its own position.
struct Exchange<'a> {
    place: usize,
    request: &'a Request,
    answer: Option<(usize, &'a Response)>,
}

impl Exchange<'_> {
    /// Returns `true` if the exchange left only content and validators behind before the request at this position was
    /// sent.
    fn is_over_before(&self, place: usize) -> bool {
        let is_plain =
            !matches!(self.request.odd, Some(Odd::HugeChunk | Odd::VastChunk | Odd::LengthBesideChunks));
        is_plain
            && self
                .answer
                .is_some_and(|(answered, it)| answered < place && !it.leaves_open() && !it.incomplete)
    }

    /// Returns `true` if the write may be performed later in violation of a rule: it was refused, a condition was
    /// false, or it was sent twice. A conditional write counts even after a success if the same content was put before:
    /// the server may report success because of that although the condition was false.
    fn is_due(&self, all: &[Self]) -> bool {
        let is_known = matches!(self.request.method, Method::Put | Method::Delete);
        let is_refused = self.answer.is_some_and(|(_, response)| response.status >= 300);
        let is_same =
            |it: &Self| it.request.path == self.request.path && it.request.body == self.request.body;
        let is_told_done =
            self.request.is_conditional() && all.iter().any(|it| it.place < self.place && is_same(it));
        is_known && (is_refused || is_told_done || self.request.close_twice)
    }

    /// Returns `true` if its response may belong to another request although the response to `other` does not. Then it
    /// does not show when the write was performed.
    fn may_be_foreign_beside(&self, other: &Self) -> bool {
        let pipelined = |it: &Self| it.answer.map(|(_, response)| response.pipelined);
        self.answer.is_some_and(|(_, response)| response.notes.stray) || pipelined(self) != pipelined(other)
    }
}

/// Returns the exchange that the last event ends, if it is evidence by itself.
pub(crate) fn alone(trace: &[Event<Message>]) -> Option<Vec<Event<Message>>> {
    let (Event::Received(conn, _), last) = (trace.last()?, trace.len() - 1) else { return None };
    let exchanges = exchanges(trace);
    let own = exchanges.iter().find(|it| it.answer.is_some_and(|(answered, _)| answered == last))?;
    if own.request.close_twice || own.request.notes.unasked_after > 0 {
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

fn exchanges(trace: &[Event<Message>]) -> Vec<Exchange<'_>> {
    let mut answers = BTreeMap::new();
    for pair in pairs(trace) {
        answers.entry(pair.asked).or_insert((pair.answered, pair.response));
    }
    let sent = trace.iter().enumerate().filter_map(|(place, event)| match event {
        Event::Sent(_, message) => Some((place, message.own_request()?)),
        _ => None,
    });
    sent.map(|(place, request)| Exchange { place, request, answer: answers.get(&place).copied() }).collect()
}

#[cfg(test)]
mod tests {
    use confute::trace::WireConn;

    use super::*;

    fn sent(conn: u32, method: Method) -> Event<Message> {
        Event::Sent(
            WireConn(conn),
            Message::from(Request { method, path: "/a".into(), ..Request::default() }),
        )
    }

    fn got(conn: u32, status: u16) -> Event<Message> {
        Event::Received(WireConn(conn), Message::from(Response { status, ..Response::default() }))
    }

    fn is_alone(trace: &[Event<Message>]) -> bool {
        alone(trace).is_some_and(|one| one.len() == 3)
    }

    #[test]
    fn an_exchange_is_alone_while_nothing_is_written() {
        let put = || [sent(0, Method::Put), got(0, 204)];
        let get = || [sent(1, Method::Get), got(1, 200)];
        assert!(is_alone(&[put(), get()].concat()));
        assert!(is_alone(&[put(), get(), put()].concat()));
        // A write is in progress when the exchange begins, or begins during it.
        assert!(!is_alone(&[&put()[..1], &get()[..]].concat()));
        assert!(!is_alone(&[&get()[..1], &put()[..1], &get()[1..]].concat()));
        assert!(!is_alone(&[&get()[..1], &put()[..], &get()[1..]].concat()));
        // The outcome of the write is open.
        for open in [202, 503, 0] {
            assert!(!is_alone(&[[sent(0, Method::Put), got(0, open)], get()].concat()));
        }
        // Too many writes were refused.
        let after_refusals = |count: usize| {
            let refused = std::iter::repeat_n([sent(0, Method::Put), got(0, 412)], count);
            refused.chain([get()]).flatten().collect::<Vec<_>>()
        };
        assert!(is_alone(&after_refusals(3)) && !is_alone(&after_refusals(4)));
    }
}
