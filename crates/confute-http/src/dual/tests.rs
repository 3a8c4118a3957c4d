//! What the two models are together.

use std::sync::Arc;

use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, judge};
use confute_drive::{Reader as _, Side};

use super::reader::DualReader;
use super::*;
use crate::message::{Flaw, Method, Msg, Request};
use crate::proxy;

fn served(method: Method) -> Message {
    Message::Served(Msg::Request(Request { method, ..Request::default() }))
}

fn passed(method: &str) -> Message {
    let request = proxy::message::Request { method: method.into(), at: 7, ..Default::default() };
    Message::Passed(proxy::message::Message::Request(Arc::new(request)))
}

/// What was read, in short: whose, and what status.
fn read(asked: &[Message], bytes: &str) -> (Vec<(char, u16)>, Vec<Message>) {
    let mut reader = DualReader::new(Side::Opened);
    asked.iter().for_each(|message| reader.sent(message));
    let mut messages = Vec::new();
    for byte in bytes.replace('|', "\r\n").as_bytes().chunks(1) {
        reader.feed(byte, &mut messages);
    }
    reader.end(true, &mut messages);
    let short = messages.iter().map(|message| match message {
        Message::Served(Msg::Response(response)) => ('s', response.status),
        Message::Passed(proxy::message::Message::Response(response)) => ('p', response.status),
        other => panic!("{other:?}"),
    });
    (short.collect(), messages)
}

#[test]
fn answers_belong_to_their_requests_in_order() {
    let asked =
        [served(Method::Get), passed("HEAD"), served(Method::Head), passed("GET"), served(Method::Get)];
    let bytes = "HTTP/1.1 200 A|Content-Length: 2||hi\
                 HTTP/1.1 201 B|Content-Length: 2|X-Confute: b||\
                 HTTP/1.1 202 C|Content-Length: 2||\
                 HTTP/1.1 103 D||HTTP/1.1 203 E|X-Confute: e|Transfer-Encoding: chunked||2|ho|0||\
                 HTTP/1.1 204 F||";
    let (short, messages) = read(&asked, bytes);
    assert_eq!(short, [('s', 200), ('p', 201), ('s', 202), ('p', 203), ('s', 204)]);
    let Message::Passed(proxy::message::Message::Response(last)) = &messages[3] else {
        panic!("{messages:?}")
    };
    assert_eq!(
        (&*last.body, last.fields.mark(), last.asked_at, last.pipelined),
        ("ho", Some("e"), Some(7), true)
    );
    // What is wrong on the wire is known for both.
    let mut reader = DualReader::new(Side::Opened);
    reader.sent(&passed("GET"));
    let mut surplus = Vec::new();
    reader.feed(b"HTTP/1.1 304 No\r\nX-Confute: e\r\n\r\nwhat is this", &mut surplus);
    let Message::Passed(proxy::message::Message::Response(last)) = &surplus[0] else { panic!("{surplus:?}") };
    assert_eq!((surplus.len(), &last.flaws[..]), (1, &[Flaw::Surplus][..]));
    // Where it comes later, it belongs to what was passed on before it.
    let mut reader = DualReader::new(Side::Opened);
    reader.sent(&passed("HEAD"));
    let mut later = Vec::new();
    reader.feed(b"HTTP/1.1 502 No\r\nContent-Length: 5\r\n\r\n", &mut later);
    reader.feed(b"sorry", &mut later);
    reader.end(true, &mut later);
    let [Message::Passed(_), Message::Passed(proxy::message::Message::Response(last))] = &later[..] else {
        panic!("{later:?}")
    };
    assert_eq!((&last.flaws[..], last.asked_at), (&[Flaw::Surplus][..], None));
}

#[test]
fn what_stalls_is_told_only_of_the_server_itself() {
    for (asked, count) in [(served(Method::Get), 1), (passed("GET"), 0)] {
        let mut reader = DualReader::new(Side::Opened);
        reader.sent(&asked);
        let mut messages = Vec::new();
        reader.stalled(&mut messages);
        assert_eq!(messages.len(), count, "{messages:?}");
    }
}

#[test]
fn no_rule_is_listed_twice() {
    let mut names: Vec<_> = rules().iter().map(|rule| rule.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(all > crate::rules::RULES.len() && all > proxy::rules::ALL.len());
}

/// One request to be passed on and, right behind it, one that the server serves itself.
fn pipeline(answers: impl Fn(Message, Message) -> Vec<Event<Message>>) -> bool {
    use proxy::message::{Field, Fields, MARK, Message as Passing, Request as Question, Response as Answer};
    let mapping =
        proxy::Mapping { from: "/proxy/".into(), to: "/".into(), host: "a".into(), origin: "o:1".into() };
    let model = Server { gateway: proxy::Gateway { mapping: Arc::new(mapping) }, ..Server::default() };
    let question = |target: &str, host: &str, via: &[Field]| {
        let fields = [Field::new("Host", host), Field::new(MARK, "1")].iter().chain(via).cloned().collect();
        let (method, target) = ("GET".into(), target.into());
        let request = Question { method, target, minor: 1, fields: Fields(fields), ..Question::default() };
        Message::Passed(Passing::Request(Arc::new(request)))
    };
    let answer = Answer {
        status: 200,
        fields: Fields(vec![Field::new(MARK, "a1")]),
        pipelined: true,
        ..Answer::default()
    };
    let answer = Message::Passed(Passing::Response(Arc::new(answer)));
    let missing =
        crate::message::Response { status: 404, pipelined: true, received_at: 9, ..Default::default() };
    let get = Msg::Request(Request { path: "/b".into(), ..Request::default() });
    let (client, origin) = (WireConn(0), WireConn(1));
    let mut events = vec![
        Event::Opened(client),
        Event::Sent(client, question("/proxy/a", "a", &[])),
        Event::Sent(client, Message::Behind(get)),
        Event::Accepted(origin),
        Event::Received(origin, question("/a", "o:1", &[Field::new("Via", "1.1 me")])),
        Event::Sent(origin, answer.clone()),
    ];
    events.extend(answers(answer, Message::Served(Msg::Response(missing))));
    judge(&model, &Tcp::default(), &events, &Options::default()).is_unrefuted()
}

#[test]
fn answers_of_both_kinds_keep_their_order() {
    let received = |message| Event::Received(WireConn(0), message);
    assert!(pipeline(|passed, served| vec![received(passed), received(served)]));
    assert!(pipeline(|passed, _| vec![received(passed)]));
    assert!(!pipeline(|passed, served| vec![received(served), received(passed)]));
    assert!(!pipeline(|_, served| vec![received(served)]));
    assert!(!pipeline(|passed, _| vec![received(passed), Event::Quiescent]), "the second is owed");
}
