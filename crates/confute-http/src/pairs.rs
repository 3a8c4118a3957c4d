//! Assignment of the responses in a trace to their requests: each connection is answered in order.

use std::collections::{BTreeMap, VecDeque};

use confute::trace::{Event, WireConn};

use crate::message::{Message, Request, Response};

/// A request in a trace that the server itself serves, and its response, with their positions in the trace.
pub(crate) struct Pair<'a> {
    pub(crate) asked: usize,
    pub(crate) request: &'a Request,
    pub(crate) answered: usize,
    pub(crate) response: &'a Response,
}

/// Returns the exchanges with the server itself, in the order of their responses. Forwarded messages keep their places
/// in the order of their connection, and a request that was sent twice has two places.
pub(crate) fn pairs(trace: &[Event<Message>]) -> Vec<Pair<'_>> {
    let mut due: BTreeMap<WireConn, VecDeque<(usize, &Request)>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for (answered, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, Message::Request(request)) => {
                let line = due.entry(*conn).or_default();
                line.extend(std::iter::repeat_n((answered, &**request), request.responses()));
            }
            Event::Received(conn, Message::Response(response)) => {
                if let Some((asked, request)) = due.get_mut(conn).and_then(VecDeque::pop_front)
                    && !request.forwarded.is_there()
                    && !response.forwarded.is_there()
                {
                    pairs.push(Pair { asked, request, answered, response });
                }
            }
            _ => {}
        }
    }
    pairs
}
