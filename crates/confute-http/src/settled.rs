//! Notes in each request the facts about its response that follow from the whole trace, before a refuted trace is
//! blamed.
//!
//! While a case runs, the response to a request is not known yet. Afterwards some facts are known that save the model
//! from guessing: the number of unsolicited responses after the last outstanding one (RFC 9112, 9.2), whether the
//! response leaves the outcome of a write open (202 and most server errors), the time when it was received, whether it
//! repeats a strong tag, whether dates of the resource lie far apart, and whether the connection ended instead.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use confute::trace::{Event, WireConn};

use crate::message::{Message, Method, Request, RequestNotes, Response, Tag};
use crate::model::ROUNDED;

/// State of a connection, as far as the trace was read.
#[derive(Default)]
struct Connection {
    /// Positions of requests without a response.
    due: VecDeque<usize>,
    /// Position of the last request.
    last: Option<usize>,
}

/// The PUTs and GETs of one resource, with their positions in the trace.
#[derive(Default)]
struct Path<'a> {
    /// Position of each PUT, position of its response if there is one, and the content.
    puts: Vec<(usize, Option<usize>, Arc<str>)>,
    /// Position of each GET of the whole content, and the position and content of its response.
    reads: Vec<(usize, Option<(usize, &'a str)>)>,
    /// Position of each request whose response has a strong tag, the position of that response, and the tag.
    tags: Vec<(usize, usize, &'a Tag)>,
    /// The earliest and the latest `Last-Modified` in a response.
    dates: Option<(i64, i64)>,
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
        self.tags.extend(response.etag.iter().filter(|tag| !tag.weak).map(|tag| (place, at, tag)));
        if let Some(date) = response.last_modified {
            let (first, last) = self.dates.unwrap_or((date, date));
            self.dates = Some((first.min(date), last.max(date)));
        }
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

    /// Returns `true` if dates in responses lie further apart than rounding explains.
    fn dates_leap(&self) -> bool {
        self.dates.is_some_and(|(first, last)| last.saturating_sub(first) > ROUNDED)
    }

    /// Returns the positions of PUTs whose response repeats a strong tag: that of a response that came before the PUT was
    /// sent, or that of the response to another PUT. (A read that meets the PUT may show its new tag first.)
    fn repeating_tag(&self) -> impl Iterator<Item = usize> {
        let is_put = |place: &usize| self.puts.binary_search_by_key(place, |put| put.0).is_ok();
        self.tags.iter().filter(move |(place, ..)| is_put(place)).filter_map(move |(place, _, tag)| {
            let has_it = |(other, at, seen): &(usize, usize, &Tag)| {
                other != place && seen == tag && (at < place || is_put(other))
            };
            self.tags.iter().any(has_it).then_some(*place)
        })
    }

    /// Returns the positions of PUTs that were concurrent with a GET whose response had content that no request put.
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

/// Adds the notes to every request.
pub(crate) fn note(trace: &mut [Event<Message>]) {
    let mut connections: BTreeMap<WireConn, Connection> = BTreeMap::new();
    let mut unasked: BTreeMap<usize, u32> = BTreeMap::new();
    let none = || vec![false; trace.len()];
    let (mut open, mut lost) = (none(), none());
    let mut answered: Vec<Option<i64>> = vec![None; trace.len()];
    let mut paths: BTreeMap<Arc<str>, Path<'_>> = BTreeMap::new();
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                let Some(request) = message.own_request() else { continue };
                let connection = connections.entry(*conn).or_default();
                if !request.method.is_safe() {
                    // The outstanding requests precede this write on the connection, but they may be performed after
                    // it.
                    connection.due.iter().for_each(|place| open[*place] = true);
                }
                paths.entry(request.path.clone()).or_default().sent(at, request);
                connection.due.extend(std::iter::repeat_n(at, request.responses()));
                connection.last = Some(at);
            }
            Event::Received(conn, message) => {
                let (Some(response), Some(connection)) = (message.own_response(), connections.get_mut(conn))
                else {
                    continue;
                };
                match (connection.due.pop_front(), connection.last) {
                    (Some(place), _) => {
                        open[place] = response.leaves_open();
                        answered[place].get_or_insert(response.at);
                        if let Event::Sent(_, message) = &trace[place]
                            && let Some(request) = message.own_request()
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
                // A request that was sent twice is owed only one response.
                let due = connections
                    .get_mut(conn)
                    .map(|connection| std::mem::take(&mut connection.due))
                    .unwrap_or_default();
                for place in due.into_iter().filter(|place| answered[*place].is_none()) {
                    lost[place] = true;
                }
            }
            _ => {}
        }
    }
    let torn: BTreeSet<usize> = paths.values().flat_map(Path::seen_torn).collect();
    let repeating: BTreeSet<usize> = paths.values().flat_map(Path::repeating_tag).collect();
    let leaping: BTreeSet<Arc<str>> =
        paths.iter().filter(|(_, path)| path.dates_leap()).map(|(name, _)| name.clone()).collect();
    for (at, event) in trace.iter_mut().enumerate() {
        if let Event::Sent(_, Message::Request(request)) = event
            && !request.forwarded.is_there()
        {
            Arc::make_mut(request).notes = RequestNotes {
                unasked_after: unasked.get(&at).copied().unwrap_or_default(),
                is_settled: !open[at],
                is_lost: lost[at],
                answered_at: Some(answered[at].unwrap_or(i64::MAX)),
                repeats_tag: repeating.contains(&at),
                is_seen_torn: torn.contains(&at),
                dates_leap: leaping.contains(&request.path),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(mut trace: Vec<Event<Message>>) -> Vec<(u32, bool)> {
        note(&mut trace);
        let noted = |event: &Event<Message>| match event {
            Event::Sent(_, Message::Request(request)) => {
                Some((request.notes.unasked_after, request.notes.is_settled))
            }
            _ => None,
        };
        trace.iter().filter_map(noted).collect()
    }

    fn sent(conn: u32) -> Event<Message> {
        Event::Sent(WireConn(conn), Message::from(Request::default()))
    }

    fn got(conn: u32, status: u16) -> Event<Message> {
        Event::Received(WireConn(conn), Message::from(Response { status, ..Response::default() }))
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
        // The write behind the request may be performed first.
        let put =
            Event::Sent(WireConn(0), Message::from(Request { method: Method::Put, ..Request::default() }));
        assert_eq!(noted(vec![sent(0), put.clone()]), [(0, false), (0, true)]);
        assert_eq!(noted(vec![sent(0), put, got(0, 200)]), [(0, true), (0, true)]);
    }

    #[test]
    fn content_that_nobody_put_while_a_put_is_at_work() {
        let put = |conn, body: &str| {
            let request = Request { method: Method::Put, body: Some(body.into()), ..Request::default() };
            Event::Sent(WireConn(conn), Message::from(request))
        };
        let read = |conn, body: &str| {
            let response = Response { status: 200, body: body.into(), ..Response::default() };
            Event::Received(WireConn(conn), Message::from(response))
        };
        let torn = |mut trace: Vec<Event<Message>>| {
            note(&mut trace);
            let torn = |event: &Event<Message>| match event {
                Event::Sent(_, Message::Request(request)) if request.method == Method::Put => {
                    Some(request.notes.is_seen_torn)
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
        note(&mut trace);
        let lost = |event: &Event<Message>| match event {
            Event::Sent(_, Message::Request(request)) => Some(request.notes.is_lost),
            _ => None,
        };
        assert_eq!(trace.iter().filter_map(lost).collect::<Vec<_>>(), [false, true, false]);
    }
}
