//! What only several responses together show, whatever the server did in between: noted in the last of them as it arrives,
//! for the model to judge.
//!
//! Both notes compare responses that came while nothing was being written to their resource, and no write was left open. So
//! no order of events could have made the difference, and no hypothesis is needed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};

use confute::trace::{Event, WireConn};
use confute_drive::{Exchange, Past, Protocol};

use crate::message::{Method, Msg, Request, Response, Tag};

/// How many exchanges are looked back over. Older ones are not compared with.
const RECENT: usize = 256;

/// A request and its final response.
#[derive(Clone, Copy)]
struct Pair<'a> {
    request: &'a Request,
    response: Option<&'a Response>,
}

impl<'a> Pair<'a> {
    fn of<A, M>(exchange: &'a Exchange<A, M>, view: &impl Fn(&M) -> Option<&Msg>) -> Option<Self> {
        let Some(Msg::Request(request)) = view(&exchange.request) else { return None };
        let response = exchange.replies.last().and_then(view).and_then(|reply| match reply {
            Msg::Response(response) => Some(response),
            Msg::Request(_) => None,
        });
        Some(Self { request, response })
    }

    /// Whether it may be at work between these two moments.
    fn is_at_work(&self, from: i64, to: i64) -> bool {
        let ended = match self.response {
            // 202 and errors of the server leave open when, if ever, it is performed; so does no answer.
            Some(response) if !response.incomplete && response.status != 202 && response.status < 500 => {
                response.received_at
            }
            _ => i64::MAX,
        };
        !self.request.method.is_safe() && self.request.sent_at < to && ended > from
    }

    /// Its response, if that says the whole of what is there, and this is its tag.
    fn telling(&self, tag: &Tag) -> Option<&'a Response> {
        self.response.filter(|it| Self::is_whole(self.request, it) && it.etag.as_ref() == Some(tag))
    }

    /// Whether it says the whole of what is there.
    fn is_whole(request: &Request, response: &Response) -> bool {
        response.status == 200
            && !response.coded
            && !response.incomplete
            && response.flaws.is_empty()
            && request.range.is_empty()
    }
}

/// How long after a PUT, in microseconds, a date in the past says that the clocks of the server agree.
const SOON: i64 = 3_000_000;

/// Notes whether a date that is that of the response may stand for a later one. `agree` is set for good once something that
/// was put just now is told to be of the past: then the clock of the storage is not ahead of that of the server.
pub(crate) fn date<P: Protocol>(
    past: &Past<P>,
    place: usize,
    view: impl Fn(&confute_drive::Msg<P>) -> Option<&Msg>,
    agree: &AtomicBool,
    response: &mut Response,
) {
    if agree.load(Ordering::Relaxed) {
        return;
    }
    let Some(Pair { request, .. }) = past.exchanges.get(place).and_then(|it| Pair::of(it, &view)) else {
        return;
    };
    let is_put = |pair: Pair<'_>| {
        pair.request.method == Method::Put
            && pair.request.path == request.path
            && pair.request.sent_at > response.received_at - SOON
            && pair.response.is_some_and(|it| matches!(it.status, 200 | 201 | 204))
    };
    let mut recent = past.exchanges.iter().rev().take(RECENT).filter_map(|it| Pair::of(it, &view));
    if response.dated.is_past && recent.any(is_put) {
        agree.store(true, Ordering::Relaxed);
    }
    response.dated.may_be_ahead = response.dated.is_now || response.last_modified.is_none();
}

/// Notes what a response shows together with earlier ones. `place` is its exchange, which does not have it yet.
pub(crate) fn note<P: Protocol>(
    past: &Past<P>,
    place: usize,
    view: impl Fn(&confute_drive::Msg<P>) -> Option<&Msg>,
    response: &mut Response,
) {
    let Some(Pair { request, .. }) = past.exchanges.get(place).and_then(|it| Pair::of(it, &view)) else {
        return;
    };
    let Some(tag) = response.etag.clone() else { return };
    if !matches!(request.method, Method::Get | Method::Head) || !Pair::is_whole(request, response) {
        return;
    }
    let same = |exchange: &_| Pair::of(exchange, &view).is_some_and(|pair| pair.request.path == request.path);
    let recent = || {
        let latest = past.exchanges.iter().rev().take(RECENT).filter(|exchange| same(*exchange));
        latest.filter_map(|exchange| Pair::of(exchange, &view))
    };
    let is_quiet = |from: i64, to: i64| {
        let all = past.exchanges.iter().filter(|exchange| same(*exchange));
        !all.filter_map(|exchange| Pair::of(exchange, &view)).any(|pair| pair.is_at_work(from, to))
    };
    let is_other = |pair: &Pair<'_>| {
        let other = pair.telling(&tag).filter(|other| other.body != response.body);
        pair.request.method == Method::Get
            && other.is_some_and(|other| is_quiet(pair.request.sent_at, other.received_at))
    };
    response.notes.reused = !tag.weak
        && request.method == Method::Get
        && recent().any(|pair| is_other(&pair))
        && is_quiet(request.sent_at, response.received_at);

    // From the latest back: a 304 without the tag, and before that a 200 with it.
    let mut asked = request.sent_at;
    let mut bare = false;
    for pair in recent().filter(|pair| pair.request.method == request.method) {
        let Some(before) = pair.response.filter(|before| before.received_at <= asked) else { continue };
        if pair.telling(&tag).is_some() && !pair.request.is_conditional() {
            response.notes.untold =
                bare && !request.is_conditional() && is_quiet(pair.request.sent_at, response.received_at);
            return;
        }
        if before.status == 304 && before.etag.is_none() {
            (bare, asked) = (true, pair.request.sent_at);
        }
    }
}

/// Marks in a trace the responses that others are noted on account of, so that evidence against these keeps them: the 304
/// without a tag and the 200 before it, and the content that had the tag before.
pub(crate) fn cite<M>(
    trace: &mut [Event<M>],
    view: impl Fn(&M) -> Option<&Msg>,
    change: impl Fn(&mut M) -> Option<&mut Msg>,
) {
    let mut due: BTreeMap<WireConn, VecDeque<&Request>> = BTreeMap::new();
    let mut seen: Vec<(usize, &Request, &Response)> = Vec::new();
    let mut cited = Vec::new();
    for (at, event) in trace.iter().enumerate() {
        match event {
            Event::Sent(conn, message) => {
                if let Some(Msg::Request(request)) = view(message) {
                    let answers = 1 + usize::from(request.close_twice);
                    due.entry(*conn).or_default().extend(std::iter::repeat_n(request, answers));
                }
            }
            Event::Received(conn, message) => {
                let request = due.get_mut(conn).and_then(VecDeque::pop_front);
                let (Some(request), Some(Msg::Response(response))) = (request, view(message)) else {
                    continue;
                };
                let earlier = || {
                    seen.iter().rev().filter(|(_, other, _)| {
                        (&other.path, &other.method) == (&request.path, &request.method)
                    })
                };
                let tells = |other: &Response| other.status == 200 && other.etag == response.etag;
                if response.notes.reused {
                    let other = earlier().find(|(.., other)| tells(other) && other.body != response.body);
                    cited.extend(other.map(|(at, ..)| *at));
                }
                if response.notes.untold {
                    let is_bare = |other: &Response| other.status == 304 && other.etag.is_none();
                    let bare = earlier().find(|(.., other)| is_bare(other)).map(|(at, ..)| *at);
                    let whole = earlier().find(|(at, asked, other)| {
                        bare.is_some_and(|bare| *at < bare) && tells(other) && !asked.is_conditional()
                    });
                    cited.extend(bare.into_iter().chain(whole.map(|(at, ..)| *at)));
                }
                seen.push((at, request, response));
            }
            _ => {}
        }
    }
    for at in cited {
        if let Event::Received(_, message) = &mut trace[at]
            && let Some(Msg::Response(response)) = change(message)
        {
            response.notes.is_cited = true;
        }
    }
}

/// Notes whether the length in a response without content may be that of coded content. A 304 does not tell the coding (RFC 9110,
/// 15.4.5), and a HEAD need not. It is known once GET has shown the content that the tag belongs to, without a coding; where
/// there is no strong tag, once GET has shown content, and never with a coding.
pub(crate) fn coding<P: Protocol>(
    past: &Past<P>,
    place: usize,
    view: impl Fn(&confute_drive::Msg<P>) -> Option<&Msg>,
    response: &mut Response,
) {
    let Some(Pair { request, .. }) = past.exchanges.get(place).and_then(|it| Pair::of(it, &view)) else {
        return;
    };
    let is_bare = response.status == 304 || request.method == Method::Head;
    if !is_bare || response.content_length.is_none() {
        return;
    }
    let tag = response.etag.as_ref().filter(|tag| !tag.weak);
    let mut shown =
        past.exchanges.iter().rev().take(RECENT).filter_map(|it| Pair::of(it, &view)).filter_map(|pair| {
            let is_content = pair.request.path == request.path && pair.request.method == Method::Get;
            pair.response
                .filter(|it| is_content && it.status == 200 && (tag.is_none() || it.etag.as_ref() == tag))
        });
    response.may_be_coded = match (tag, shown.next()) {
        (_, None) => true,
        (Some(_), Some(first)) => first.coded,
        (None, Some(first)) => first.coded || shown.any(|other| other.coded),
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use confute_drive::Peer;

    use super::*;
    use crate::message::{Dated, Notes};
    use crate::protocol::{Ask, Http};

    /// Exchanges one after the other, a millisecond each, and what is noted in the last response.
    #[derive(Default)]
    struct Talk {
        past: Past<Http>,
        clock: i64,
    }

    impl Talk {
        fn sent(mut self, request: Request) -> Self {
            self.clock += 1000;
            let request = Msg::Request(Request { path: "/a".into(), sent_at: self.clock, ..request });
            let (step, on) = (self.past.exchanges.len(), Peer::Opened(0));
            self.past.exchanges.push(Exchange { step, on, ask: Ask::default(), request, replies: vec![] });
            self
        }

        /// Answers the request at this place.
        fn got(mut self, place: usize, response: Response) -> Self {
            self.clock += 1000;
            let mut response = Response { received_at: self.clock, ..response };
            note(&self.past, place, |message| Some(message), &mut response);
            self.past.exchanges[place].replies.push(Msg::Response(response));
            self
        }

        fn ask(self, request: Request, response: Response) -> Self {
            let place = self.past.exchanges.len();
            self.sent(request).got(place, response)
        }

        /// What was noted in the response at this place: a tag seen with other content, a tag that a 304 left out.
        fn noted(&self, place: usize) -> (bool, bool) {
            match self.past.exchanges[place].replies.last() {
                Some(Msg::Response(response)) => (response.notes.reused, response.notes.untold),
                _ => panic!("no response"),
            }
        }
    }

    fn get() -> Request {
        Request::default()
    }

    fn put() -> Request {
        Request { method: Method::Put, ..Request::default() }
    }

    fn known() -> Request {
        Request { if_modified_since: Some(1), ..get() }
    }

    fn status(status: u16) -> Response {
        Response { status, ..Response::default() }
    }

    fn ok(body: &str, tag: &str) -> Response {
        Response { body: body.into(), etag: Some(Tag::strong(tag)), ..status(200) }
    }

    #[test]
    fn a_strong_tag_of_other_content() {
        let two = |tag: &str| {
            Talk::default().ask(get(), ok("v", "x")).ask(put(), status(204)).ask(get(), ok("w", tag))
        };
        assert_eq!(two("x").noted(2), (true, false));
        assert_eq!(two("y").noted(2), (false, false));
        // Two versions ago.
        let back = two("y").ask(put(), status(204)).ask(get(), ok("u", "x"));
        assert_eq!(back.noted(4), (true, false));
        // Not while a write is at work, at either end, or was left open.
        let during = Talk::default().ask(get(), ok("v", "x")).sent(put()).ask(get(), ok("w", "x"));
        assert_eq!(during.noted(2), (false, false));
        let during =
            Talk::default().sent(put()).ask(get(), ok("v", "x")).got(0, status(204)).ask(get(), ok("w", "x"));
        assert_eq!(during.noted(2), (false, false));
        for open in [202, 503] {
            let late =
                Talk::default().ask(get(), ok("v", "x")).ask(put(), status(open)).ask(get(), ok("w", "x"));
            assert_eq!(late.noted(2), (false, false));
        }
        let weak = |body: &str| Response { etag: Some(Tag::weak("x")), ..ok(body, "") };
        let weakly = Talk::default().ask(get(), weak("v")).ask(put(), status(204)).ask(get(), weak("w"));
        assert_eq!(weakly.noted(2), (false, false));
    }

    #[test]
    fn a_304_without_the_tag_that_200_has() {
        let bare = || Talk::default().ask(get(), ok("v", "x")).ask(known(), status(304));
        let noted = bare().ask(get(), ok("v", "x"));
        assert_eq!(noted.noted(2), (false, true));
        // It is noted once.
        assert_eq!(noted.ask(get(), ok("v", "x")).noted(3), (false, false));
        let told = Response { etag: Some(Tag::strong("x")), ..status(304) };
        let told = Talk::default().ask(get(), ok("v", "x")).ask(known(), told).ask(get(), ok("v", "x"));
        assert_eq!(told.noted(2), (false, false));
        // Not where the tag may have come later, or something was written, or another method was asked.
        assert_eq!(
            Talk::default().ask(known(), status(304)).ask(get(), ok("v", "x")).noted(1),
            (false, false)
        );
        let written = bare().ask(put(), status(204)).ask(get(), ok("v", "x"));
        assert_eq!(written.noted(3), (false, false));
        let head = Request { method: Method::Head, ..known() };
        let other = Talk::default().ask(get(), ok("v", "x")).ask(head, status(304)).ask(get(), ok("v", "x"));
        assert_eq!(other.noted(2), (false, false));
    }

    /// Exchanges on one connection, as a trace in which the last response is as it is here, and the places that are cited.
    fn cited(exchanges: Vec<(Request, Response)>) -> Vec<usize> {
        let conn = WireConn(0);
        let mut trace: Vec<Event<Msg>> = exchanges
            .into_iter()
            .flat_map(|(request, response)| {
                [Event::Sent(conn, Msg::Request(request)), Event::Received(conn, Msg::Response(response))]
            })
            .collect();
        cite(&mut trace, |message| Some(message), |message| Some(message));
        let is_cited =
            |event: &Event<Msg>| matches!(event, Event::Received(_, Msg::Response(it)) if it.notes.is_cited);
        (0..trace.len()).filter(|at| is_cited(&trace[*at])).collect()
    }

    #[test]
    fn evidence_has_what_a_note_is_about() {
        let untold = Response { notes: Notes { untold: true, ..Notes::default() }, ..ok("v", "x") };
        let before = || vec![(get(), ok("v", "x")), (get(), ok("v", "x")), (known(), status(304))];
        let told = |last: Response| [before(), vec![(get(), ok("v", "x")), (get(), last)]].concat();
        assert_eq!(cited(told(untold)), [3, 5]);
        assert!(cited(told(ok("v", "x"))).is_empty());
        let reused = Response { notes: Notes { reused: true, ..Notes::default() }, ..ok("w", "x") };
        assert_eq!(cited([before(), vec![(put(), status(204)), (get(), reused)]].concat()), [3]);
    }

    #[test]
    fn the_length_of_coded_content_is_no_length_of_content() {
        let noted = |before: &[Response], response: Response| {
            let talk = before.iter().fold(Talk::default(), |talk, one| talk.ask(get(), one.clone()));
            let past = talk.sent(known()).past;
            let mut response = Response { content_length: Some(9), ..response };
            coding(&past, past.exchanges.len() - 1, |message| Some(message), &mut response);
            response.may_be_coded
        };
        let told = |tag: &str| Response { etag: Some(Tag::strong(tag)), ..status(304) };
        let coded = |tag: &str| Response { coded: true, ..ok("v", tag) };
        // Nothing is known of the content, or only of content with another tag.
        assert!(
            noted(&[], told("x")) && noted(&[ok("v", "y")], told("x")) && noted(&[coded("x")], told("x"))
        );
        assert!(!noted(&[ok("v", "x"), coded("y")], told("x")));
        assert!(!noted(&[ok("v", "x")], status(304)));
        assert!(noted(&[ok("v", "x"), coded("y")], status(304)));
        // Content that is there says itself how it is coded.
        assert!(!noted(&[], status(200)));
    }

    #[test]
    fn clocks_agree_once_what_was_put_is_of_the_past() {
        let http = Http::default();
        let seen = |is_now: bool, is_past: bool, past: &Past<Http>| {
            let mut response = Response {
                last_modified: Some(5),
                dated: Dated { is_now, is_past, may_be_ahead: false },
                received_at: 9000,
                ..status(200)
            };
            date(past, past.exchanges.len() - 1, |message| Some(message), &http.clocks_agree, &mut response);
            response.dated.may_be_ahead
        };
        let unwritten = Talk::default().sent(get()).past;
        assert!(seen(true, false, &unwritten));
        assert!(!seen(false, true, &unwritten));
        assert!(seen(true, false, &unwritten));
        let written = Talk::default().ask(put(), status(201)).sent(get()).past;
        assert!(seen(true, false, &written));
        assert!(!seen(false, true, &written));
        assert!(!seen(true, false, &written));
        assert!(Arc::clone(&http.clocks_agree).load(Ordering::Relaxed));
    }
}
