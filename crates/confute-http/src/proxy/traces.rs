//! Small traces of gateways: what is right, and what a wrong one is blamed for.

use std::sync::Arc;

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, blame, judge};
use confute_drive::{Reader as _, Side};

use super::message::{Field, Fields, Frame, MARK, Message, Request, Response};
use super::{Gateway, Mapping, ProxyReader};
use crate::message::Flaw;

const CLIENT: WireConn = WireConn(0);
const ORIGIN: WireConn = WireConn(1);
const AGAIN: WireConn = WireConn(2);

fn gateway() -> Gateway {
    let (from, to) = ("/in/".to_owned(), "/".to_owned());
    let mapping = Mapping { from, to, host: "gate".to_owned(), origin: "origin:1".to_owned() };
    Gateway { mapping: Arc::new(mapping) }
}

/// What a trace is blamed for: nothing if it is right, and each set of rules that would explain it otherwise.
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
fn asked(method: &str) -> Request {
    let fields = vec![Field::new("Host", "gate"), Field::new(MARK, "1")];
    let (method, target) = (method.into(), "/in/a".into());
    Request { method, target, minor: 1, fields: Fields(fields), at: 1_000, ..Request::default() }
}

/// The same as it comes to the origin.
fn forwarded(method: &str) -> Request {
    let mut fields = asked(method).fields;
    fields.0.push(Field::new("Via", "1.1 me"));
    Request { target: "/a".into(), fields, at: 2_000, ..asked(method) }
}

/// An answer of the origin.
fn answer() -> Response {
    let fields = vec![Field::new("Cache-Control", "no-store, no-transform"), Field::new(MARK, "a1")];
    Response { status: 200, fields: Fields(fields), body: "hello".into(), at: 3_000, ..Response::default() }
}

/// The same as it comes to the client.
fn relayed() -> Response {
    Response { at: 4_000, asked_at: Some(1_000), ..answer() }
}

/// An error of the gateway's own.
fn error(status: u16) -> Response {
    Response { fields: Fields::default(), body: "sorry".into(), status, ..relayed() }
}

fn sent(conn: WireConn, request: Request) -> Event<Message> {
    Event::Sent(conn, Message::Request(Arc::new(request)))
}

fn came(conn: WireConn, request: Request) -> [Event<Message>; 2] {
    [Event::Accepted(conn), Event::Received(conn, Message::Request(Arc::new(request)))]
}

fn answered(conn: WireConn, answer: Response) -> Event<Message> {
    Event::Sent(conn, Message::Response(Arc::new(answer)))
}

fn told(reply: Response) -> Event<Message> {
    Event::Received(CLIENT, Message::Response(Arc::new(reply)))
}

/// A request that is forwarded, and answered; and what the client is told.
fn through(asked: Request, seen: Request, answer: Response, reply: Response) -> Vec<Event<Message>> {
    let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked)];
    events.extend(came(ORIGIN, seen));
    events.extend([answered(ORIGIN, answer), told(reply)]);
    events
}

#[test]
fn head_may_go_on_as_get() {
    let head = |answer: Response, reply: Response| {
        let reply = Response { body: "".into(), frame: Frame::Bare, ..reply };
        blamed(&through(asked("HEAD"), forwarded("GET"), answer, reply))
    };
    assert_eq!(head(answer(), relayed()), right());
    // The origin breaks off in the content, which the client does not get anyway.
    let long = Response { body: "hello".repeat(100).into(), close: true, ..answer() };
    let cut = |cut| Response { cut: Some(cut), ..long.clone() };
    assert_eq!(head(cut(400), relayed()), right());
    assert_eq!(head(cut(400), error(502)), right());
    // It breaks off in the head: nobody knows it.
    assert_eq!(head(cut(9), relayed()), ["gateway/failure-told"]);
    assert_eq!(head(cut(0), error(200)), ["gateway/failure-told"]);
    // Not the other way round.
    let bare = Response { frame: Frame::Bare, ..answer() };
    let lost = through(asked("GET"), forwarded("HEAD"), bare, relayed());
    assert_eq!(blamed(&lost), ["gateway/method"]);
}

#[test]
fn an_error_after_the_origin_ended_a_connection() {
    // The request never came to the origin.
    let refused = |status: u16, ended: Option<i64>| {
        let reply = Response { origin_ended_at: ended, ..error(status) };
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
        let reply = Response { origin_ended_at: Some(500), ..error(502) };
        let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("POST")), told(reply)];
        events.extend(came(ORIGIN, Request { dropped, ..forwarded("POST") }));
        blamed(&events)
    };
    assert_eq!(late(true), right());
    assert_eq!(late(false), ["gateway/forwarded"]);
    // What came to the origin was not lost, and its answer counts.
    let reply = Response { origin_ended_at: Some(500), ..error(502) };
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
    let half = Response { half_closed: true, ..answer() };
    let ends = |answer: &Response, reply: Response| {
        blamed(&through(asked("POST"), forwarded("POST"), answer.clone(), reply))
    };
    // The gateway may read it, or have ended both sides.
    assert_eq!(ends(&half, relayed()), right());
    assert_eq!(ends(&half, error(502)), right());
    assert_eq!(ends(&answer(), error(502)), ["gateway/forwarded"]);
    // What is read is relayed as it came.
    let changed = Response { body: "hallo".into(), ..relayed() };
    assert_eq!(ends(&half, changed), ["rfc9111-5.2.2.6/no-transform"]);
    // What is idempotent may be sent again, as long as nobody knows.
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
    let trailed = Response { trailers, frame: Frame::Chunked, ..answer() };
    let unasked = Response { unasked: true, ..trailed.clone() };
    let provoked = Response { provoked: true, ..error(503) };
    let with = |answer: &Response, reply: &Response| {
        blamed(&through(asked("GET"), forwarded("GET"), answer.clone(), reply.clone()))
    };
    assert_eq!((with(&trailed, &relayed()), with(&unasked, &relayed())), (right(), right()), "left out");
    assert_eq!(with(&trailed, &provoked), ["rfc9112-7.1/trailers-decoded"]);
    assert_eq!(with(&unasked, &provoked), ["rfc9112-7.1/unasked-trailers"]);
    // So with interim responses.
    let early = Response { interim: vec![103], ..answer() };
    assert_eq!(with(&early, &provoked), ["rfc9110-15.2/interim"]);
}

/// What a client reads from these bytes, which come one part after the other.
fn read(method: &str, parts: &[&str]) -> Vec<Response> {
    let mut reader = ProxyReader::new(Side::Opened);
    reader.sent(&Message::Request(Arc::new(asked(method))));
    let mut messages = Vec::new();
    for part in parts {
        reader.feed(part.replace('|', "\r\n").as_bytes(), &mut messages);
    }
    reader.end(true, &mut messages);
    let response = |message| match message {
        Message::Response(response) => Response { at: 4_000, ..Response::clone(&response) },
        other => panic!("{other:?}"),
    };
    messages.into_iter().map(response).collect()
}

/// What a gateway is blamed for that says this.
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
        tagged.fields.0.extend([
            Field::new("ETag", "\"t\""),
            Field::new("X-End", "1"),
            Field::new("X-End", "2"),
        ]);
        tagged.fields.0.extend(more.iter().cloned());
        tagged
    };
    let says = |parts: &[&str]| says("GET", &tagged(&[]), parts);
    let head = "HTTP/1.1 200 OK|X-Confute: a1|Cache-Control: no-store, no-transform|ETag: \"t\"|X-End: 1|X-End: 2|\
                Content-Length: 5||hello";
    // Wherever the connection ends, nothing is wrong.
    let bytes = head.replace('|', "\r\n");
    for end in 0..=bytes.len() {
        assert_eq!(says(&[&bytes[..end]]), right(), "{}", &bytes[..end]);
    }
    // What came is what it is.
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
        // The origin need not have answered: the connection just ended.
        let mut events = vec![Event::Opened(CLIENT), sent(CLIENT, asked("GET"))];
        events.extend(read("GET", &[half]).into_iter().map(told));
        events.push(Event::HungUp(CLIENT));
        assert_eq!(blamed(&events), right());
    }
}

#[test]
fn content_in_answer_to_head_is_surplus() {
    let surplus = ["rfc9112-6.3/nothing-after-the-end"];
    let failed = Response { cut: Some(0), close: true, ..answer() };
    let head = "HTTP/1.1 502 Bad Gateway|Content-Length: 5||";
    assert_eq!(says("HEAD", &failed, &[head]), right());
    // At once, or later, when the response was told already.
    assert_eq!(says("HEAD", &failed, &[&format!("{head}sorry")]), surplus);
    assert_eq!(says("HEAD", &failed, &[head, "sorry"]), surplus);
    assert_eq!(says("HEAD", &failed, &[head, "so", "rry"]), surplus);
    let closed = head.replace("||", "|Connection: close||");
    assert_eq!(says("HEAD", &failed, &[&closed, "sorry"]), surplus);
    // A whole response that nobody asked for.
    let bare = "HTTP/1.1 200 OK|X-Confute: a1|Cache-Control: no-store, no-transform|Content-Length: 5||";
    let plain = Response { frame: Frame::Bare, ..answer() };
    assert_eq!(says("HEAD", &plain, &[bare, "HTTP/1.1 200 OK|Content-Length: 0||"]), surplus);
    assert_eq!(says("HEAD", &plain, &[bare, "HTTP/1.1 408 Too long|Content-Length: 0||"]), right());
    // It is told once, and not again with the next response.
    let mut reader = ProxyReader::new(Side::Opened);
    let mut messages = Vec::new();
    for part in ["HTTP/1.1 204 No|||sorry", "HTTP/1.1 204 No||"] {
        reader.sent(&Message::Request(Arc::new(asked("HEAD"))));
        reader.feed(part.replace('|', "\r\n").as_bytes(), &mut messages);
    }
    let flaws = messages.iter().map(|message| match message {
        Message::Response(response) => response.flaws.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(flaws.collect::<Vec<_>>(), [vec![Flaw::Surplus], vec![]]);
}

/// The page behind the last response to HEAD is no answer to the request behind it.
#[test]
fn surplus_after_the_last_response_is_no_answer() {
    let head = "HTTP/1.1 502 Bad Gateway|Content-Length: 12|Connection: close||";
    let failed = Response { cut: Some(0), close: true, ..answer() };
    for parts in [vec![format!("{head}<html>|sorry")], vec![head.to_owned(), "<html>|sorry".to_owned()]] {
        let mut reader = ProxyReader::new(Side::Opened);
        reader.sent(&Message::Request(Arc::new(asked("HEAD"))));
        reader.sent(&Message::Request(Arc::new(asked("HEAD"))));
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
        let fields = Fields(request.fields.0.iter().chain(fields).cloned().collect());
        Request { fields, ..request }
    };
    let dropped = |target: &str| {
        let asked = Request { target: target.into(), ..with(asked("GET"), std::slice::from_ref(&end)) };
        // The target is mapped by another rule.
        let mut rules = blamed(&through(asked, forwarded("GET"), answer(), relayed()));
        rules.iter_mut().for_each(|rules| *rules = rules.replace("gateway/target", "").trim().to_owned());
        rules
    };
    assert_eq!(dropped("/in/a"), ["gateway/request-fields"]);
    assert_eq!(dropped("http://origin:1/a"), ["rfc9110-5.1/fields-forwarded"]);
    let relay = |target: &str, field: &[Field]| {
        let asked = Request { target: target.into(), ..asked("GET") };
        let mut sent = answer();
        sent.fields.0.push(end.clone());
        let mut seen = relayed();
        seen.fields.0.extend(field.iter().cloned());
        super::relay::judge(&asked, &sent, &seen)
    };
    let names = super::tests::names;
    assert_eq!(names(relay("/in/a", &[])), "gateway/response-fields");
    assert_eq!(names(relay("http://origin:1/a", &[])), "rfc9110-5.1/fields-forwarded");
    assert_eq!(names(relay("http://origin:1/a", &[Field::new("X-End", "2")])), "gateway/response-fields");
}
