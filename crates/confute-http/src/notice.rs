//! Evidence that only several responses together give, whatever the server did in between. It is noted in the last of
//! them as it arrives, for the model to judge.
//!
//! Both notes compare responses that arrived while no write to their resource was in progress, and no write was left
//! open. So no order of events could have caused the difference, and no hypothesis is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use confute::trace::Event;
use confute_drive::{Exchange, Past};

use crate::ask::Ask;
use crate::message::{Flaw, Message, Method, Request, Response, Tag};
use crate::pairs::{Pair, pairs};
use crate::protocol::Http;
use crate::rules::NOT_LATER;

/// Number of past exchanges that a response is compared with. Older ones are ignored.
const RECENT: usize = 256;

/// A request and its final response.
#[derive(Clone, Copy)]
struct Looked<'a> {
    request: &'a Request,
    response: Option<&'a Response>,
}

impl<'a> Looked<'a> {
    fn of(exchange: &'a Exchange<Ask, Message>) -> Option<Self> {
        let response = exchange.replies.last().and_then(Message::own_response);
        Some(Self { request: exchange.request.own_request()?, response })
    }

    /// Returns `true` if the request is a write that may be in progress between these two times.
    fn is_at_work(&self, from: i64, to: i64) -> bool {
        let ended = match self.response {
            // 202 and server errors leave open when the write is performed, if ever; so does a missing response.
            Some(response) if !response.incomplete && response.status != 202 && response.status < 500 => {
                response.at
            }
            _ => i64::MAX,
        };
        !self.request.method.is_safe() && self.request.at < to && ended > from
    }

    /// Returns its response, if that has this tag and represents the whole content.
    fn telling(&self, tag: &Tag) -> Option<&'a Response> {
        self.response.filter(|it| Self::is_whole(self.request, it) && it.etag.as_ref() == Some(tag))
    }

    /// Returns `true` if the response represents the whole content.
    fn is_whole(request: &Request, response: &Response) -> bool {
        response.status == 200
            && !response.coded
            && !response.incomplete
            && response.flaws.is_empty()
            && request.range.is_empty()
    }
}

/// Time after a PUT, in microseconds, within which a date in the past shows that the clocks of the server agree.
const SOON: i64 = 3_000_000;

/// Notes whether a `Last-Modified` that equals `Date` may stand for a later date. `agree` is set for good once content
/// that was just put has a date in the past: then the clock of the storage is not ahead of that of the server.
pub(crate) fn date(past: &Past<Http>, place: usize, agree: &AtomicBool, response: &mut Response) {
    if agree.load(Ordering::Relaxed) {
        return;
    }
    let Some(Looked { request, .. }) = past.exchanges.get(place).and_then(Looked::of) else {
        return;
    };
    let is_put = |pair: Looked<'_>| {
        pair.request.method == Method::Put
            && pair.request.path == request.path
            && pair.request.at > response.at - SOON
            && pair.response.is_some_and(|it| matches!(it.status, 200 | 201 | 204))
    };
    let mut recent = past.exchanges.iter().rev().take(RECENT).filter_map(Looked::of);
    if response.dated.is_past && recent.any(is_put) {
        agree.store(true, Ordering::Relaxed);
    }
    response.dated.may_be_ahead = response.dated.is_now || response.last_modified.is_none();
}

/// Time from a request to its response, in microseconds, from which the `Date` of the response is not compared.
const LONG: i64 = 1_000_000;

/// Forgets that `Last-Modified` is later than `Date` if the server took long: it may have generated `Date` when it began
/// to respond, at any time during message origination (RFC 9110, 6.6.1), and may have waited for a write after that.
pub(crate) fn origination(past: &Past<Http>, place: usize, response: &mut Response) {
    let asked = past.exchanges.get(place).and_then(Looked::of);
    if asked.is_some_and(|Looked { request, .. }| response.at - request.at >= LONG) {
        let is_later = |flaw: &Flaw| matches!(flaw, Flaw::Breaks(rule) if rule.name() == NOT_LATER.name);
        response.flaws.retain(|flaw| !is_later(flaw));
    }
}

/// Notes the evidence that a response gives together with earlier ones. `place` is the index of its exchange, which
/// does not contain it yet.
pub(crate) fn note(past: &Past<Http>, place: usize, response: &mut Response) {
    let Some(Looked { request, .. }) = past.exchanges.get(place).and_then(Looked::of) else {
        return;
    };
    let Some(tag) = response.etag.clone() else { return };
    if !matches!(request.method, Method::Get | Method::Head) || !Looked::is_whole(request, response) {
        return;
    }
    let same = |exchange: &_| Looked::of(exchange).is_some_and(|pair| pair.request.path == request.path);
    let recent = || {
        let latest = past.exchanges.iter().rev().take(RECENT).filter(|exchange| same(*exchange));
        latest.filter_map(Looked::of)
    };
    let is_quiet = |from: i64, to: i64| {
        let all = past.exchanges.iter().filter(|exchange| same(*exchange));
        !all.filter_map(Looked::of).any(|pair| pair.is_at_work(from, to))
    };
    let is_other = |pair: &Looked<'_>| {
        let other = pair.telling(&tag).filter(|other| other.body != response.body);
        pair.request.method == Method::Get && other.is_some_and(|other| is_quiet(pair.request.at, other.at))
    };
    response.notes.reused = !tag.weak
        && request.method == Method::Get
        && recent().any(|pair| is_other(&pair))
        && is_quiet(request.at, response.at);

    // Search backwards for a 304 without the tag, and before that for a 200 with it.
    let mut asked = request.at;
    let mut bare = false;
    for pair in recent().filter(|pair| pair.request.method == request.method) {
        let Some(before) = pair.response.filter(|before| before.at <= asked) else { continue };
        if pair.telling(&tag).is_some() && !pair.request.is_conditional() {
            response.notes.untold =
                bare && !request.is_conditional() && is_quiet(pair.request.at, response.at);
            return;
        }
        if before.status == 304 && before.etag.is_none() {
            (bare, asked) = (true, pair.request.at);
        }
    }
}

/// Marks in a trace the responses that notes in later responses depend on, so that evidence against those keeps them:
/// the 304 without a tag and the 200 before it, and the content that had the tag before.
pub(crate) fn cite(trace: &mut [Event<Message>]) {
    let (seen, mut cited) = (pairs(trace), Vec::new());
    for (place, Pair { request, response, .. }) in seen.iter().enumerate() {
        let is_same = |other: &&Pair<'_>| {
            (&other.request.path, &other.request.method) == (&request.path, &request.method)
        };
        let earlier = || seen[..place].iter().rev().filter(is_same);
        let tells = |other: &Response| other.status == 200 && other.etag == response.etag;
        if response.notes.reused {
            let other = earlier().find(|it| tells(it.response) && it.response.body != response.body);
            cited.extend(other.map(|it| it.answered));
        }
        if response.notes.untold {
            let bare = earlier().find(|it| it.response.status == 304 && it.response.etag.is_none());
            let whole = earlier().find(|it| {
                bare.is_some_and(|bare| it.answered < bare.answered)
                    && tells(it.response)
                    && !it.request.is_conditional()
            });
            cited.extend(bare.into_iter().chain(whole).map(|it| it.answered));
        }
    }
    for at in cited {
        if let Event::Received(_, Message::Response(response)) = &mut trace[at] {
            Arc::make_mut(response).notes.is_cited = true;
        }
    }
}

/// Notes whether the length in a response without content may be that of coded content. A 304 does not declare the
/// coding (RFC 9110, 15.4.5), and a response to HEAD need not. The coding is known once GET has shown the content that
/// the tag belongs to, without a coding. Without a strong tag, GET must have shown content without a coding since the
/// last write, because the server may code some contents and not others, and must never have shown coded content.
pub(crate) fn coding(past: &Past<Http>, place: usize, response: &mut Response) {
    let Some(Looked { request, .. }) = past.exchanges.get(place).and_then(Looked::of) else {
        return;
    };
    let is_bare = response.status == 304 || request.method == Method::Head;
    if !is_bare || response.content_length.is_none() {
        return;
    }
    let tag = response.etag.as_ref().filter(|tag| !tag.weak);
    let is_same = |pair: &Looked<'_>| pair.request.path == request.path;
    let mut shown = past.exchanges.iter().rev().take(RECENT).filter_map(Looked::of).filter_map(|pair| {
        let is_content = is_same(&pair) && pair.request.method == Method::Get;
        let fits =
            |it: &&Response| is_content && it.status == 200 && (tag.is_none() || it.etag.as_ref() == tag);
        Some((pair.request, pair.response.filter(fits)?))
    });
    response.notes.may_be_coded = match (tag, shown.next()) {
        (_, None) => true,
        (Some(_), Some((_, first))) => first.coded,
        (None, Some((asked, first))) => {
            let mut same = past.exchanges.iter().filter_map(Looked::of).filter(is_same);
            let is_written = same.any(|pair| pair.is_at_work(asked.at, response.at));
            first.coded || is_written || shown.any(|(_, other)| other.coded)
        }
    };
}

#[cfg(test)]
mod tests {
    use confute::trace::WireConn;
    use confute_drive::Peer;

    use super::*;
    use crate::ask::AskRequest;
    use crate::message::{Dated, Notes};
    use crate::rules::Broken;

    /// Exchanges whose messages are a millisecond apart, with the notes in their responses.
    #[derive(Default)]
    struct Talk {
        past: Past<Http>,
        clock: i64,
    }

    impl Talk {
        fn sent(mut self, request: Request) -> Self {
            self.clock += 1000;
            let request = Request { path: "/a".into(), at: self.clock, ..request }.into();
            let (step, on) = (self.past.exchanges.len(), Peer::Opened(0));
            let ask = AskRequest::default().into();
            self.past.exchanges.push(Exchange { step, on, ask, request, replies: vec![] });
            self
        }

        /// Answers the request at this place.
        fn got(mut self, place: usize, response: Response) -> Self {
            self.clock += 1000;
            let mut response = Response { at: self.clock, ..response };
            note(&self.past, place, &mut response);
            self.past.exchanges[place].replies.push(response.into());
            self
        }

        fn ask(self, request: Request, response: Response) -> Self {
            let place = self.past.exchanges.len();
            self.sent(request).got(place, response)
        }

        /// Returns the notes in the response at this place: a tag seen with other content, a tag that a 304 left out.
        fn noted(&self, place: usize) -> (bool, bool) {
            match self.past.exchanges[place].replies.last() {
                Some(Message::Response(response)) => (response.notes.reused, response.notes.untold),
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
        // The tag was seen two versions ago.
        let back = two("y").ask(put(), status(204)).ask(get(), ok("u", "x"));
        assert_eq!(back.noted(4), (true, false));
        // Nothing is noted while a write is in progress at either response, or if a write was left open.
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
        // The omission is noted once.
        assert_eq!(noted.ask(get(), ok("v", "x")).noted(3), (false, false));
        let told = Response { etag: Some(Tag::strong("x")), ..status(304) };
        let told = Talk::default().ask(get(), ok("v", "x")).ask(known(), told).ask(get(), ok("v", "x"));
        assert_eq!(told.noted(2), (false, false));
        // Nothing is noted if the tag may have come later, if something was written, or if the method differs.
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

    /// Returns the positions of the cited responses in a trace of these exchanges on one connection.
    fn cited(exchanges: Vec<(Request, Response)>) -> Vec<usize> {
        let conn = WireConn(0);
        let mut trace: Vec<Event<Message>> = exchanges
            .into_iter()
            .flat_map(|(request, response)| {
                [Event::Sent(conn, Message::from(request)), Event::Received(conn, Message::from(response))]
            })
            .collect();
        cite(&mut trace);
        let is_cited = |event: &Event<Message>| matches!(event, Event::Received(_, Message::Response(it)) if it.notes.is_cited);
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
            coding(&past, past.exchanges.len() - 1, &mut response);
            response.notes.may_be_coded
        };
        let told = |tag: &str| Response { etag: Some(Tag::strong(tag)), ..status(304) };
        let coded = |tag: &str| Response { coded: true, ..ok("v", tag) };
        // Nothing is known of the content with this tag, or it was coded.
        assert!(
            noted(&[], told("x")) && noted(&[ok("v", "y")], told("x")) && noted(&[coded("x")], told("x"))
        );
        assert!(!noted(&[ok("v", "x"), coded("y")], told("x")));
        assert!(!noted(&[ok("v", "x")], status(304)));
        assert!(noted(&[ok("v", "x"), coded("y")], status(304)));
        // Other content may be coded.
        let talk = Talk::default().ask(get(), ok("v", "x")).ask(put(), status(204)).sent(known());
        let mut response = Response { content_length: Some(9), at: talk.clock + 1, ..status(304) };
        coding(&talk.past, 2, &mut response);
        assert!(response.notes.may_be_coded);
        // A response with content declares its own coding.
        assert!(!noted(&[], status(200)));
    }

    #[test]
    fn a_date_may_be_that_of_the_beginning_of_a_response() {
        let later = Flaw::Breaks(Broken::named(NOT_LATER.name).unwrap());
        let seen = |millis: i64| {
            let past = Talk::default().sent(get()).past;
            let flaws = vec![Flaw::Grammar, later];
            let mut response = Response { flaws, at: 1000 * (1 + millis), ..status(200) };
            origination(&past, 0, &mut response);
            response.flaws
        };
        assert_eq!(seen(999), [Flaw::Grammar, later]);
        assert_eq!(seen(1000), [Flaw::Grammar]);
    }

    #[test]
    fn clocks_agree_once_what_was_put_is_of_the_past() {
        let agree = AtomicBool::new(false);
        let seen = |is_now: bool, is_past: bool, past: &Past<Http>| {
            let mut response = Response {
                last_modified: Some(5),
                dated: Dated { is_now, is_past, may_be_ahead: false },
                at: 9000,
                ..status(200)
            };
            date(past, past.exchanges.len() - 1, &agree, &mut response);
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
        assert!(agree.load(Ordering::Relaxed));
    }
}
