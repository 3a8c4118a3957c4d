//! Tests of the two models combined.

use std::sync::Arc;
use std::time::Duration;

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, judge};
use confute_drive::Reader as _;

use super::*;
use crate::decode::HttpReader;
use crate::decode::tests::read_after;
use crate::message::{Field, Fields, Flaw, MARK, Method, Request, Response};

fn own(method: Method) -> Message {
    Request { method, ..Request::default() }.into()
}

fn forwarded(method: &str) -> Message {
    Request { method: method.into(), at: 7, ..Request::default() }.forwarding(|_| {}).into()
}

fn read(asked: &[Message], parts: &[&str]) -> Vec<Response> {
    read_after(asked, parts, false)
}

#[test]
fn responses_belong_to_their_requests_in_order() {
    let asked = [own(Method::Get), forwarded("HEAD"), own(Method::Head), forwarded("GET"), own(Method::Get)];
    let bytes = "HTTP/1.1 200 A|Content-Length: 2||hi\
                 HTTP/1.1 201 B|Content-Length: 2|X-Confute: b||\
                 HTTP/1.1 202 C|Content-Length: 2||\
                 HTTP/1.1 103 D||HTTP/1.1 203 E|X-Confute: e|Transfer-Encoding: chunked||2|ho|0||\
                 HTTP/1.1 204 F||";
    let bytes = bytes.replace('|', "\r\n");
    let parts: Vec<&str> = (0..bytes.len()).map(|at| &bytes[at..=at]).collect();
    let seen = read(&asked, &parts);
    let short: Vec<_> = seen.iter().map(|it| (it.forwarded.is_there(), it.status)).collect();
    assert_eq!(short, [(false, 200), (true, 201), (false, 202), (true, 203), (false, 204)]);
    let (last, part) = (&seen[3], &seen[3].forwarded);
    assert_eq!(
        (&*last.body, part.fields.mark(), part.asked_at, last.pipelined),
        ("ho", Some("e"), Some(7), true)
    );
    // Flaws on the wire are reported for both kinds.
    let surplus = read(&[forwarded("GET")], &["HTTP/1.1 304 No|X-Confute: e||what is this"]);
    assert_eq!((surplus.len(), &surplus[0].flaws[..]), (1, &[Flaw::Surplus][..]));
    // Surplus bytes that arrive later count as forwarded, like the response before them.
    let later = read(&[forwarded("HEAD")], &["HTTP/1.1 502 No|Content-Length: 5||", "sorry"]);
    assert_eq!((later.len(), later[1].forwarded.is_there()), (2, true));
    assert_eq!((&later[1].flaws[..], later[1].forwarded.asked_at), (&[Flaw::Surplus][..], None));
}

#[test]
fn what_stalls_is_told_with_what_came() {
    let head = "HTTP/1.1 404 No\r\n";
    for (asked, bytes, told) in [
        (own(Method::Get), "", Some("no response, broken off (no byte came, then nothing for 5 s)")),
        (forwarded("GET"), "", None),
        (
            own(Method::Get),
            "HTTP",
            Some("no response, broken off (4 bytes of the head came, then nothing for 5 s)"),
        ),
        (forwarded("GET"), "HTTP", None),
        (
            own(Method::Get),
            "Content-Length: 4\r\n\r\nabc",
            Some("404, broken off (3 of 4 bytes came, then nothing for 5 s) \"abc\""),
        ),
        (
            forwarded("GET"),
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            Some("404, broken off (3 bytes came, and no last chunk, then nothing for 5 s) \"abc\""),
        ),
    ] {
        let mut reader = HttpReader::default();
        reader.sent(&asked);
        let mut messages = Vec::new();
        let head = if bytes.len() > 4 { head } else { "" };
        reader.feed(format!("{head}{bytes}").as_bytes(), &mut messages);
        reader.stalled(Duration::from_secs(5), &mut messages);
        let seen: Vec<_> = messages.iter().map(ToString::to_string).collect();
        assert_eq!(seen, Vec::from_iter(told), "{bytes:?}");
    }
}

#[test]
fn no_rule_is_listed_twice() {
    let mut names: Vec<_> = all_rules().iter().map(|rule| rule.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(all > rules::RULES.len() && all > proxy::rules::ALL.len());
}

/// Judges a trace of one request to be forwarded and, right behind it, one that the server serves itself. Returns
/// `true` if it is unrefuted.
fn pipeline(answers: impl Fn(Message, Message) -> Vec<Event<Message>>) -> bool {
    let mapping =
        proxy::Mapping { from: "/proxy/".into(), to: "/".into(), host: "a".into(), origin: "o:1".into() };
    let model =
        Server { origin: Some(Origin::default()), gateway: Some(Gateway { mapping: Arc::new(mapping) }) };
    let question = |path: &str, host: &str, via: &[Field]| -> Message {
        let fields = [Field::new("Host", host), Field::new(MARK, "1")].iter().chain(via).cloned().collect();
        let request = Request { path: path.into(), ..Request::default() };
        request.forwarding(|part| part.fields = Fields(fields)).into()
    };
    let answer = Response { status: 200, pipelined: true, ..Response::default() };
    let answer: Message = answer.forwarding(|part| part.fields.0.push(Field::new(MARK, "a1"))).into();
    let missing = Response { status: 404, pipelined: true, at: 9, ..Response::default() };
    let get = Request { path: "/b".into(), is_behind: true, ..Request::default() };
    let (client, origin) = (WireConn(0), WireConn(1));
    let mut events = vec![
        Event::Opened(client),
        Event::Sent(client, question("/proxy/a", "a", &[])),
        Event::Sent(client, get.into()),
        Event::Accepted(origin),
        Event::Received(origin, question("/a", "o:1", &[Field::new("Via", "1.1 me")])),
        Event::Sent(origin, answer.clone()),
    ];
    events.extend(answers(answer, missing.into()));
    judge(&model, &Tcp::default(), &events, &Options::default()).is_unrefuted()
}

#[test]
fn responses_of_both_kinds_keep_their_order() {
    let received = |message| Event::Received(WireConn(0), message);
    assert!(pipeline(|forwarded, own| vec![received(forwarded), received(own)]));
    assert!(pipeline(|forwarded, _| vec![received(forwarded)]));
    assert!(!pipeline(|forwarded, own| vec![received(own), received(forwarded)]));
    assert!(!pipeline(|_, own| vec![received(own)]));
    assert!(!pipeline(|forwarded, _| vec![received(forwarded), Event::Quiescent]), "the second is owed");
}
