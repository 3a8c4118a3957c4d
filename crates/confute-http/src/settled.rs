//! Notes in each request what the whole trace tells of its response, before a refuted trace is blamed.
//!
//! While a case runs, nobody knows what the response to a request will be. Afterwards some things are known that save the model
//! from guessing: how many responses came behind the last one that was due, which nobody asked for (RFC 9112, 9.2), whether
//! the response leaves open what became of a write (202 and most errors of the server), and whether the connection ended instead.

use std::collections::{BTreeMap, VecDeque};

use confute::trace::{Event, WireConn};

use crate::message::Msg;

/// A connection, as far as it was read.
#[derive(Default)]
struct Line {
    /// The places of requests without a response.
    due: VecDeque<usize>,
    /// The place of the last request.
    last: Option<usize>,
}

/// Notes it in every request.
pub(crate) fn note<M>(
    trace: &mut [Event<M>],
    view: impl Fn(&M) -> Option<&Msg>,
    change: impl Fn(&mut M) -> Option<&mut Msg>,
) {
    let mut lines: BTreeMap<WireConn, Line> = BTreeMap::new();
    let mut unasked: BTreeMap<usize, u32> = BTreeMap::new();
    let none = || vec![false; trace.len()];
    let (mut open, mut answered, mut lost) = (none(), none(), none());
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                let Some(Msg::Request(request)) = view(message) else { continue };
                let line = lines.entry(*conn).or_default();
                if !request.method.is_safe() {
                    // What is behind it on its connection comes after it, though it may be performed later still.
                    line.due.iter().for_each(|place| open[*place] = true);
                }
                line.due.extend(std::iter::repeat_n(at, 1 + usize::from(request.close_twice)));
                line.last = Some(at);
            }
            Event::Received(conn, message) => {
                let (Some(Msg::Response(response)), Some(line)) = (view(message), lines.get_mut(conn)) else {
                    continue;
                };
                match (line.due.pop_front(), line.last) {
                    (Some(place), _) => {
                        open[place] = response.leaves_open();
                        answered[place] = true;
                    }
                    (None, Some(last)) => *unasked.entry(last).or_default() += 1,
                    (None, None) => {}
                }
            }
            Event::Closed(conn) | Event::HungUp(conn) => {
                // The second response to what was sent twice is never due.
                let due = lines.get_mut(conn).map(|line| std::mem::take(&mut line.due)).unwrap_or_default();
                for place in due.into_iter().filter(|place| !answered[*place]) {
                    lost[place] = true;
                }
            }
            _ => {}
        }
    }
    for (at, event) in trace.iter_mut().enumerate() {
        if let Event::Sent(_, message) = event
            && let Some(Msg::Request(request)) = change(message)
        {
            request.unasked_after = unasked.get(&at).copied().unwrap_or_default();
            request.is_settled = !open[at];
            request.is_lost = lost[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Method, Request, Response};

    fn noted(mut trace: Vec<Event<Msg>>) -> Vec<(u32, bool)> {
        note(&mut trace, |message| Some(message), |message| Some(message));
        let noted = |event: &Event<Msg>| match event {
            Event::Sent(_, Msg::Request(request)) => Some((request.unasked_after, request.is_settled)),
            _ => None,
        };
        trace.iter().filter_map(noted).collect()
    }

    fn sent(conn: u32) -> Event<Msg> {
        Event::Sent(WireConn(conn), Msg::Request(Request::default()))
    }

    fn got(conn: u32, status: u16) -> Event<Msg> {
        Event::Received(WireConn(conn), Msg::Response(Response { status, ..Response::default() }))
    }

    #[test]
    fn a_response_that_nobody_asked_for() {
        let trace =
            vec![sent(0), sent(0), got(0, 200), got(0, 200), sent(1), got(0, 200), got(1, 200), sent(0)];
        let unasked: Vec<_> = noted(trace).into_iter().map(|(unasked, _)| unasked).collect();
        assert_eq!(unasked, [0, 1, 0, 0]);
    }

    #[test]
    fn what_a_response_leaves_open() {
        for (status, is_settled) in
            [(204, true), (412, true), (202, false), (503, false), (501, true), (0, false)]
        {
            assert_eq!(noted(vec![sent(0), got(0, status)]), [(0, is_settled)], "{status}");
        }
        assert_eq!(noted(vec![sent(0)]), [(0, true)]);
        // A write behind it may be performed first.
        let put =
            Event::Sent(WireConn(0), Msg::Request(Request { method: Method::Put, ..Request::default() }));
        assert_eq!(noted(vec![sent(0), put.clone()]), [(0, false), (0, true)]);
        assert_eq!(noted(vec![sent(0), put, got(0, 200)]), [(0, true), (0, true)]);
    }

    #[test]
    fn a_connection_that_ends_instead() {
        let mut trace = vec![sent(0), sent(0), got(0, 200), Event::HungUp(WireConn(0)), sent(1)];
        note(&mut trace, |message| Some(message), |message| Some(message));
        let lost = |event: &Event<Msg>| match event {
            Event::Sent(_, Msg::Request(request)) => Some(request.is_lost),
            _ => None,
        };
        assert_eq!(trace.iter().filter_map(lost).collect::<Vec<_>>(), [false, true, false]);
    }
}
