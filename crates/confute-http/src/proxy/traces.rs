//! Short traces of gateways: correct ones, and incorrect ones with the rules that are blamed for them.

use std::sync::Arc;

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, blame, judge};
use confute_drive::{Reader as _, Side};

use super::{Gateway, Mapping};
use crate::decode::HttpReader;
use crate::decode::tests::read_after;
use crate::message::{Field, Fields, Flaw, Frame, MARK, Message, Request, Response};

pub(super) const CLIENT: WireConn = WireConn(0);
pub(super) const ORIGIN: WireConn = WireConn(1);
pub(super) const AGAIN: WireConn = WireConn(2);

pub(super) fn gateway() -> Gateway {
    let (from, to) = ("/in/".to_owned(), "/".to_owned());
    let mapping = Mapping { from, to, host: "gate".to_owned(), origin: "origin:1".to_owned() };
    Gateway { mapping: Arc::new(mapping) }
}

/// Returns each set of rules that explains the trace; none if the trace is correct.
fn blamed(events: &[Event<Message>]) -> Vec<String> {
    let (model, options) = (gateway(), Options::default());
    if judge(&model, &Tcp::default(), events, &options).is_unrefuted() {
        return Vec::new();
    }
    let blamed = blame(&model, &Tcp::default(), events, &options);
    assert!(!blamed.diagnoses.is_empty(), "no rule explains it");
    blamed.diagnoses.iter().map(|one| one.rules.join(" ")).collect()
}

fn right() -> Vec<String> {
    Vec::new()
}

/// A request as a client sends it.
pub(super) fn asked(method: &str) -> Request {
    let fields = vec![Field::new("Host", "gate"), Field::new(MARK, "1")];
    let (method, path) = (method.into(), "/in/a".into());
    Request { method, path, at: 1_000, ..Request::default() }.forwarding(|part| part.fields = Fields(fields))
}

/// A request as the origin receives it.
pub(super) fn forwarded(method: &str) -> Request {
    let forwarded = Request { path: "/a".into(), at: 2_000, ..asked(method) };
    forwarded.forwarding(|part| part.fields.0.push(Field::new("Via", "1.1 me")))
}

/// A response as the origin sends it.
pub(super) fn answer() -> Response {
    let fields = vec![Field::new("Cache-Control", "no-store, no-transform"), Field::new(MARK, "a1")];
    let answer = Response { status: 200, body: "hello".into(), at: 3_000, ..Response::default() };
    answer.forwarding(|part| part.fields = Fields(fields))
}

/// A response as the client receives it.
pub(super) fn relayed() -> Response {
    Response { at: 4_000, ..answer() }.forwarding(|part| part.asked_at = Some(1_000))
}

/// An error of the gateway itself.
pub(super) fn error(status: u16) -> Response {
    let error = Response { body: "sorry".into(), status, ..relayed() };
    error.forwarding(|part| part.fields = Fields::default())
}

pub(super) fn sent(conn: WireConn, request: Request) -> Event<Message> {
    Event::Sent(conn, request.into())
}

pub(super) fn came(conn: WireConn, request: Request) -> [Event<Message>; 2] {
    [Event::Accepted(conn), Event::Received(conn, request.into())]
}

pub(super) fn answered(conn: WireConn, answer: Response) -> Event<Message> {
    Event::Sent(conn, answer.into())
}

pub(super) fn told(reply: Response) -> Event<Message> {
    Event::Received(CLIENT, reply.into())
}

/// Returns the trace of a request, its forwarded form, the origin's response, and the response that the client
/// receives.
pub(super) fn through(
    asked: Request,
    seen: Request,
    answer: Response,
    reply: Response,
) -> Vec<Event<Message>> {
    let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked)];
    events.extend(came(ORIGIN, seen));
    events.extend([answered(ORIGIN, answer), told(reply)]);
    events
}

#[test]
fn head_may_go_on_as_get() {
    let head = |answer: Response, reply: Response| {
        let reply = Response { body: "".into(), ..reply }.forwarding(|part| part.frame = Frame::Bare);
        blamed(&through(asked("HEAD"), forwarded("GET"), answer, reply))
    };
    assert_eq!(head(answer(), relayed()), right());
    // The origin's response is cut off within the content, which is not sent to the client anyway.
    let long = Response { body: "hello".repeat(100).into(), close: true, ..answer() };
    let cut = |cut| long.clone().forwarding(|part| part.cut = Some(cut));
    assert_eq!(head(cut(400), relayed()), right());
    assert_eq!(head(cut(400), error(502)), right());
    // The origin's response is cut off within the header section, which the gateway therefore does not know.
    assert_eq!(head(cut(9), relayed()), ["gateway/failure-told"]);
    assert_eq!(head(cut(0), error(200)), ["gateway/failure-told"]);
    // GET may not be forwarded as HEAD.
    let bare = answer().forwarding(|part| part.frame = Frame::Bare);
    let lost = through(asked("GET"), forwarded("HEAD"), bare, relayed());
    assert_eq!(blamed(&lost), ["gateway/method"]);
}

#[test]
fn an_error_after_the_origin_ended_a_connection() {
    // The origin never receives the request.
    let refused = |status: u16, ended: Option<i64>| {
        let reply = error(status).forwarding(|part| part.origin_ended_at = ended);
        blamed(&[Event::Opened(CLIENT), sent(CLIENT, asked("POST")), told(reply)])
    };
    for status in [502, 503, 504] {
        assert_eq!(refused(status, Some(500)), right(), "ended before it was asked");
        assert_eq!(refused(status, Some(3_000)), right(), "ended while it was under way");
        assert_eq!(refused(status, Some(1_000 - 1_000_000)), right(), "a second before");
        assert_eq!(refused(status, Some(999 - 1_000_000)), ["gateway/forwarded"], "too long before");
        assert_eq!(refused(status, None), ["gateway/forwarded"], "nothing ended");
    }
    assert_eq!(refused(500, Some(500)), ["gateway/forwarded"]);
    // The origin may read the request later than the client reads the error, on the connection that it had ended.
    let late = |dropped: bool| {
        let reply = error(502).forwarding(|part| part.origin_ended_at = Some(500));
        let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("POST")), told(reply)];
        events.extend(came(ORIGIN, forwarded("POST").forwarding(|part| part.dropped = dropped)));
        blamed(&events)
    };
    assert_eq!(late(true), right());
    assert_eq!(late(false), ["gateway/forwarded"]);
    // A request that the origin has received and responded to is not lost.
    let reply = error(502).forwarding(|part| part.origin_ended_at = Some(500));
    let events = through(asked("GET"), forwarded("GET"), answer(), reply);
    assert_eq!(blamed(&events), ["gateway/forwarded"]);
}

#[test]
fn what_the_origin_never_answered() {
    let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET"))];
    events.extend(came(ORIGIN, forwarded("GET")));
    events.push(Event::Sent(ORIGIN, Message::Unanswered));
    let with = |more: &[Event<Message>]| blamed(&[&events[..], more].concat());
    assert_eq!(with(&[told(error(502))]), right());
    let retried: Vec<_> = came(AGAIN, forwarded("GET")).into_iter().collect();
    assert_eq!(with(&[&retried[..], &[answered(AGAIN, answer()), told(relayed())]].concat()), right());
}

#[test]
fn an_answer_after_a_half_close() {
    let half = answer().forwarding(|part| part.half_closed = true);
    let ends = |answer: &Response, reply: Response| {
        blamed(&through(asked("POST"), forwarded("POST"), answer.clone(), reply))
    };
    // The gateway may read the response, or have closed both sides.
    assert_eq!(ends(&half, relayed()), right());
    assert_eq!(ends(&half, error(502)), right());
    assert_eq!(ends(&answer(), error(502)), ["gateway/forwarded"]);
    // A response that is read is forwarded unchanged.
    let changed = Response { body: "hallo".into(), ..relayed() };
    assert_eq!(ends(&half, changed), ["rfc9111-5.2.2.6/no-transform"]);
    // An idempotent request may be retried while its outcome is unknown.
    let again = |answer: &Response| {
        let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET"))];
        events.extend(came(ORIGIN, forwarded("GET")));
        events.push(answered(ORIGIN, answer.clone()));
        events.extend(came(AGAIN, forwarded("GET")));
        blamed(&events)
    };
    assert_eq!(again(&half), right());
    assert_eq!(again(&answer()), ["gateway/once"]);
}

#[test]
fn trailers_are_decoded() {
    let trailers = Fields(vec![Field::new("X-End-Trailer", "t")]);
    let trailed = answer().forwarding(|part| (part.trailers, part.frame) = (trailers, Frame::Chunked));
    let unasked = trailed.clone().forwarding(|part| part.unasked = true);
    let provoked = error(503).forwarding(|part| part.provoked = true);
    let with = |answer: &Response, reply: &Response| {
        blamed(&through(asked("GET"), forwarded("GET"), answer.clone(), reply.clone()))
    };
    assert_eq!((with(&trailed, &relayed()), with(&unasked, &relayed())), (right(), right()), "left out");
    assert_eq!(with(&trailed, &provoked), ["rfc9112-7.1/trailers-decoded"]);
    assert_eq!(with(&unasked, &provoked), ["rfc9112-7.1/unasked-trailers"]);
    // A gateway must handle interim responses too.
    let early = Response { interim: vec![103], ..answer() };
    assert_eq!(with(&early, &provoked), ["rfc9110-15.2/interim"]);
}

/// Returns the responses that a client reads from these bytes, received in parts.
fn read(method: &str, parts: &[&str]) -> Vec<Response> {
    let responses = read_after(&[asked(method).into()], parts, true);
    responses.into_iter().map(|response| Response { at: 4_000, ..response }).collect()
}

/// Returns the rules blamed if the gateway sends these bytes to the client.
fn says(method: &str, answer: &Response, parts: &[&str]) -> Vec<String> {
    let (asked, seen) = (asked(method), forwarded(method));
    let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked)];
    events.extend(came(ORIGIN, seen));
    events.push(answered(ORIGIN, answer.clone()));
    events.extend(read(method, parts).into_iter().map(told));
    events.push(Event::HungUp(CLIENT));
    blamed(&events)
}

#[test]
fn what_broke_off_is_judged_for_what_came() {
    let tagged = |more: &[Field]| {
        let mut tagged = answer();
        tagged.forwarded.fields.0.extend([
            Field::new("ETag", "\"t\""),
            Field::new("X-End", "1"),
            Field::new("X-End", "2"),
        ]);
        tagged.forwarded.fields.0.extend(more.iter().cloned());
        tagged
    };
    let says = |parts: &[&str]| says("GET", &tagged(&[]), parts);
    let head = "HTTP/1.1 200 OK|X-Confute: a1|Cache-Control: no-store, no-transform|ETag: \"t\"|X-End: 1|X-End: 2|\
                Content-Length: 5||hello";
    // The connection may end anywhere.
    let bytes = head.replace('|', "\r\n");
    for end in 0..=bytes.len() {
        assert_eq!(says(&[&bytes[..end]]), right(), "{}", &bytes[..end]);
    }
    // The part that was received must be correct.
    assert_eq!(says(&["HTTP/1.1 200 OK|X-Confute: a1|X-End: 2|"]), ["gateway/response-fields"]);
    assert_eq!(says(&["HTTP/1.1 200 OK|X-Confute: a2|"]), ["rfc9112-9.2/own-answer"]);
    let whole = "HTTP/1.1 200 OK|X-Confute: a1|Content-Length: 5||hello";
    assert_eq!(says(&[whole]), ["gateway/response-fields"]);
}

#[test]
fn half_an_interim_response_is_no_answer() {
    for half in [
        "HTTP/1.1 10",
        "HTTP/1.1 103 Early Hints|",
        "HTTP/1.1 103 Early Hints|Link: a|",
        "HTTP/1.1 103 Hi||HT",
    ] {
        assert_eq!(read("GET", &[half]), [], "{half}");
        // The origin need not have responded: the connection has just ended.
        let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET"))];
        events.extend(read("GET", &[half]).into_iter().map(told));
        events.push(Event::HungUp(CLIENT));
        assert_eq!(blamed(&events), right());
    }
}

#[test]
fn content_in_answer_to_head_is_surplus() {
    let surplus = ["rfc9112-6.3/nothing-after-the-end"];
    let failed = Response { close: true, ..answer() }.forwarding(|part| part.cut = Some(0));
    let head = "HTTP/1.1 502 Bad Gateway|Content-Length: 5||";
    assert_eq!(says("HEAD", &failed, &[head]), right());
    // The surplus is received with the response, or later.
    assert_eq!(says("HEAD", &failed, &[&format!("{head}sorry")]), surplus);
    assert_eq!(says("HEAD", &failed, &[head, "sorry"]), surplus);
    assert_eq!(says("HEAD", &failed, &[head, "so", "rry"]), surplus);
    let closed = head.replace("||", "|Connection: close||");
    assert_eq!(says("HEAD", &failed, &[&closed, "sorry"]), surplus);
    // The surplus is a complete unsolicited response.
    let bare = "HTTP/1.1 200 OK|X-Confute: a1|Cache-Control: no-store, no-transform|Content-Length: 5||";
    let plain = answer().forwarding(|part| part.frame = Frame::Bare);
    assert_eq!(says("HEAD", &plain, &[bare, "HTTP/1.1 200 OK|Content-Length: 0||"]), surplus);
    assert_eq!(says("HEAD", &plain, &[bare, "HTTP/1.1 408 Too long|Content-Length: 0||"]), right());
    // The flaw is recorded once, and not again with the next response.
    let mut reader = HttpReader::new(Side::Opened, true);
    let mut messages = Vec::new();
    for part in ["HTTP/1.1 204 No|||sorry", "HTTP/1.1 204 No||"] {
        reader.sent(&asked("HEAD").into());
        reader.feed(part.replace('|', "\r\n").as_bytes(), &mut messages);
    }
    let flaws = messages.iter().map(|message| match message {
        Message::Response(response) => response.flaws.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(flaws.collect::<Vec<_>>(), [vec![Flaw::Surplus], vec![]]);
}

/// Content after the last response to HEAD is no response to the next request.
#[test]
fn surplus_after_the_last_response_is_no_answer() {
    let head = "HTTP/1.1 502 Bad Gateway|Content-Length: 12|Connection: close||";
    let failed = Response { close: true, ..answer() }.forwarding(|part| part.cut = Some(0));
    for parts in [vec![format!("{head}<html>|sorry")], vec![head.to_owned(), "<html>|sorry".to_owned()]] {
        let mut reader = HttpReader::new(Side::Opened, true);
        reader.sent(&asked("HEAD").into());
        reader.sent(&asked("HEAD").into());
        let mut events =
            vec![Event::Opened(CLIENT), sent(CLIENT, asked("HEAD")), sent(CLIENT, asked("HEAD"))];
        events.extend(came(ORIGIN, forwarded("HEAD")));
        events.push(answered(ORIGIN, failed.clone()));
        let mut messages = Vec::new();
        for part in &parts {
            reader.feed(part.replace('|', "\r\n").as_bytes(), &mut messages);
        }
        reader.end(true, &mut messages);
        events.extend(messages.into_iter().map(|message| Event::Received(CLIENT, message)));
        events.push(Event::HungUp(CLIENT));
        assert_eq!(blamed(&events), ["rfc9112-6.3/nothing-after-the-end"], "{parts:?}");
    }
}

#[test]
fn retry_after_is_read() {
    let told = |value: &str| {
        let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
        let head = format!("HTTP/1.1 503 Busy|{date}|Retry-After: {value}|Content-Length: 0||");
        read("GET", &[&head])[0].retry_after
    };
    assert_eq!(told("2"), Some(2));
    assert_eq!(told("Sun, 06 Nov 1994 08:49:40 GMT"), Some(3));
    assert_eq!(told("soon"), None);
}

#[test]
fn a_proxy_must_forward_unknown_fields() {
    let end = Field::new("X-End", "1");
    let with = |request: Request, fields: &[Field]| {
        request.forwarding(|part| part.fields.0.extend(fields.iter().cloned()))
    };
    let dropped = |target: &str| {
        let asked = Request { path: target.into(), ..with(asked("GET"), std::slice::from_ref(&end)) };
        // The mapping of the target is another rule.
        let mut rules = blamed(&through(asked, forwarded("GET"), answer(), relayed()));
        rules.iter_mut().for_each(|rules| *rules = rules.replace("gateway/target", "").trim().to_owned());
        rules
    };
    assert_eq!(dropped("/in/a"), ["gateway/request-fields"]);
    assert_eq!(dropped("http://origin:1/a"), ["rfc9110-5.1/fields-forwarded"]);
    let relay = |target: &str, field: &[Field]| {
        let asked = Request { path: target.into(), ..asked("GET") };
        let mut sent = answer();
        sent.forwarded.fields.0.push(end.clone());
        let mut seen = relayed();
        seen.forwarded.fields.0.extend(field.iter().cloned());
        super::spec::relayed(&asked, &sent, &seen)
    };
    let names = super::tests::names;
    assert_eq!(names(relay("/in/a", &[])), "gateway/response-fields");
    assert_eq!(names(relay("http://origin:1/a", &[])), "rfc9110-5.1/fields-forwarded");
    assert_eq!(names(relay("http://origin:1/a", &[Field::new("X-End", "2")])), "gateway/response-fields");
}
