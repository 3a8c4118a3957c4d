//! What the two models are together.

use std::sync::Arc;

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
    let (_, surplus) = read(&[passed("GET")], "HTTP/1.1 304 No|X-Confute: e||what is this");
    let Message::Passed(proxy::message::Message::Response(last)) = &surplus[0] else { panic!("{surplus:?}") };
    assert!(last.flaws.is_empty() || last.flaws == [Flaw::Surplus]);
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
