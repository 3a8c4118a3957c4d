//! Notes in each request what the whole trace tells of its response, before a refuted trace is blamed.
//!
//! While a case runs, nobody knows what the response to a request will be. Afterwards some things are known that save the model
//! from guessing: how many responses came behind the last one that was due, which nobody asked for (RFC 9112, 9.2), whether
//! the response leaves open what became of a write (202 and most errors of the server), when it was received, and whether the
//! connection ended instead.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use confute::trace::{Event, WireConn};

use crate::message::{Method, Msg, Request, Response};

/// A connection, as far as it was read.
#[derive(Default)]
struct Line {
    /// The places of requests without a response.
    due: VecDeque<usize>,
    /// The place of the last request.
    last: Option<usize>,
}

/// What was asked of a resource, and when.
#[derive(Default)]
struct Path<'a> {
    /// The place of each PUT, of its response if there is one, and the content.
    puts: Vec<(usize, Option<usize>, Arc<str>)>,
    /// The same of each GET of the whole, with the content of the response.
    reads: Vec<(usize, Option<(usize, &'a str)>)>,
}

impl<'a> Path<'a> {
    fn sent(&mut self, at: usize, request: &Request) {
        match request.method {
            Method::Put => self.puts.push((at, None, request.content())),
            Method::Get if request.range.is_empty() => self.reads.push((at, None)),
            _ => {}
        }
    }

    fn answered(&mut self, place: usize, at: usize, response: &'a Response) {
        if let Ok(put) = self.puts.binary_search_by_key(&place, |put| put.0) {
            self.puts[put].1.get_or_insert(at);
        } else if let Ok(read) = self.reads.binary_search_by_key(&place, |read| read.0)
            && response.status == 200
            && !response.coded
            && !response.incomplete
        {
            self.reads[read].1.get_or_insert((at, &response.body));
        }
    }

    /// The places of PUTs that were under way together with a GET that showed content that nobody put.
    fn seen_torn(&self) -> impl Iterator<Item = usize> {
        let put: BTreeSet<&str> = self.puts.iter().map(|(.., content)| &**content).collect();
        let odd = self.reads.iter().filter_map(|(sent, answer)| Some((*sent, (*answer)?)));
        let odd: Vec<_> = odd.filter(|(_, (_, content))| !put.contains(content)).collect();
        self.puts.iter().filter_map(move |(sent, answered, _)| {
            let meets = |(from, (to, _)): &(usize, (usize, &str))| {
                sent < to && answered.is_none_or(|answered| *from < answered)
            };
            odd.iter().any(meets).then_some(*sent)
        })
    }
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
    let (mut open, mut lost) = (none(), none());
    let mut answered: Vec<Option<i64>> = vec![None; trace.len()];
    let mut paths: BTreeMap<Arc<str>, Path<'_>> = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                let Some(Msg::Request(request)) = view(message) else { continue };
                let line = lines.entry(*conn).or_default();
                if !request.method.is_safe() {
                    // What is behind it on its connection comes after it, though it may be performed later still.
                    line.due.iter().for_each(|place| open[*place] = true);
                }
                paths.entry(request.path.clone()).or_default().sent(at, request);
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
                        answered[place].get_or_insert(response.received_at);
                        if let Event::Sent(_, message) = &trace[place]
                            && let Some(Msg::Request(request)) = view(message)
                            && let Some(path) = paths.get_mut(&request.path)
                        {
                            path.answered(place, at, response);
                        }
                    }
                    (None, Some(last)) => *unasked.entry(last).or_default() += 1,
                    (None, None) => {}
                }
            }
            Event::Closed(conn) | Event::HungUp(conn) => {
                // The second response to what was sent twice is never due.
                let due = lines.get_mut(conn).map(|line| std::mem::take(&mut line.due)).unwrap_or_default();
                for place in due.into_iter().filter(|place| answered[*place].is_none()) {
                    lost[place] = true;
                }
            }
            _ => {}
        }
    }
    let torn: BTreeSet<usize> = paths.values().flat_map(Path::seen_torn).collect();
    for (at, event) in trace.iter_mut().enumerate() {
        if let Event::Sent(_, message) = event
            && let Some(Msg::Request(request)) = change(message)
        {
            request.unasked_after = unasked.get(&at).copied().unwrap_or_default();
            request.is_settled = !open[at];
            request.is_lost = lost[at];
            request.answered_at = Some(answered[at].unwrap_or(i64::MAX));
            request.is_seen_torn = torn.contains(&at);
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
    fn content_that_nobody_put_while_a_put_is_at_work() {
        let put = |conn, body: &str| {
            let request = Request { method: Method::Put, body: Some(body.into()), ..Request::default() };
            Event::Sent(WireConn(conn), Msg::Request(request))
        };
        let read = |conn, body: &str| {
            let response = Response { status: 200, body: body.into(), ..Response::default() };
            Event::Received(WireConn(conn), Msg::Response(response))
        };
        let torn = |mut trace: Vec<Event<Msg>>| {
            note(&mut trace, |message| Some(message), |message| Some(message));
            let torn = |event: &Event<Msg>| match event {
                Event::Sent(_, Msg::Request(request)) if request.method == Method::Put => {
                    Some(request.is_seen_torn)
                }
                _ => None,
            };
            trace.iter().filter_map(torn).collect::<Vec<_>>()
        };
        let before = || vec![put(0, "v"), got(0, 201)];
        let during = |body: &str| [before(), vec![put(0, "w"), sent(1), read(1, body), got(0, 204)]].concat();
        assert_eq!(torn(during("vw")), [false, true]);
        assert_eq!(torn(during("w")), [false, false]);
        assert_eq!(torn(during("v")), [false, false]);
        let after = [before(), vec![put(0, "w"), got(0, 204), sent(1), read(1, "vw")]].concat();
        assert_eq!(torn(after), [false, false]);
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
