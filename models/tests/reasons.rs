//! Why a trace is refuted, in words; and that all of it is true.

use std::fmt::Debug;

use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Names, Options, blame, reasons};
use confute_models::{conditional, kv, proxy, register};

fn sent<M>(conn: u32, message: M) -> Event<M> {
    Event::Sent(WireConn(conn), message)
}

fn got<M>(conn: u32, message: M) -> Event<M> {
    Event::Received(WireConn(conn), message)
}

/// The proof, with events numbered from one.
fn why<S: ServerModel<Msg: Clone + Debug>>(model: &S, events: &[Event<S::Msg>]) -> Vec<String> {
    let (network, options) = (Tcp::default(), Options::default());
    let blamed = blame(model, &network, events, &options);
    let found = reasons(model, &network, events, &blamed.diagnoses, &options).expect("refuted");
    let word = |event: usize| match &events[event] {
        Event::Sent(_, message) | Event::Received(_, message) => format!("{message:?}"),
        _ => "the end".to_owned(),
    };
    let names = Names { word: &word, number: &|event| event + 1 };
    found.sentences(&names).iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

#[test]
fn a_stale_read_after_a_confirmed_write() {
    use register::Message::{Read, Value, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(1, Read),
        got(1, Value(Some(1))),
        sent(0, Write(2)),
        got(0, Written),
        sent(1, Read),
        got(1, Value(Some(1))),
    ];
    assert_eq!(
        why(&register::CasRegister, &events),
        [
            "(1), (2) and (5)-(8) are enough, whatever came of the rest.",
            "It would fit if Write(2) (5) was handled after Read (7), but (5) was answered (6) before (7) was sent.",
            "It would fit if Write(1) (1) was handled after Write(2) (5), but (1) was answered (2) before (5) was sent.",
            "It all fits if the server broke register/write-lasts once, with Write(2) (5).",
        ]
    );
}

#[test]
fn a_read_that_goes_back() {
    use register::Message::{Read, Value, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(0, Write(2)),
        sent(1, Read),
        got(1, Value(Some(2))),
        sent(2, Read),
        got(2, Value(Some(1))),
    ];
    assert_eq!(
        why(&register::CasRegister, &events),
        [
            "(1), (2) and (4)-(7) are enough, whatever came of the rest.",
            "It would fit if Read (4) was handled after Read (6), but (4) was answered (5) before (6) was sent.",
        ]
    );
}

#[test]
fn a_lost_update() {
    use register::Message::{Cas, Swapped, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(0, Cas { from: 1, to: 2 }),
        sent(1, Cas { from: 1, to: 3 }),
        got(0, Swapped(true)),
        got(1, Swapped(true)),
    ];
    assert_eq!(
        why(&register::CasRegister, &events),
        [
            "(3)-(6) are enough, whatever came of the rest.",
            "If Cas { from: 1, to: 2 } (3) was handled before Cas { from: 1, to: 3 } (4), the answer to the latter is Swapped(false), not Swapped(true) (6).",
            "If Cas { from: 1, to: 3 } (4) was handled before Cas { from: 1, to: 2 } (3), the answer to the latter is Swapped(false), not Swapped(true) (5).",
            "It all fits if the server broke register/cas-compares once, with Cas { from: 1, to: 2 } (3) or Cas { from: 1, to: 3 } (4).",
        ]
    );
}

#[test]
fn answers_mixed_up() {
    use kv::Message::{Done, Get, Put, Value};
    let events = [
        sent(0, Put("a".into(), "1".into())),
        got(0, Done),
        sent(0, Put("b".into(), "2".into())),
        got(0, Done),
        sent(0, Get("a".into())),
        sent(0, Get("b".into())),
        got(0, Value("2".into())),
        got(0, Value("1".into())),
    ];
    assert_eq!(
        why(&kv::Kv, &events[..7]),
        [
            "(5) and (7) are enough, whatever came of the rest.",
            r#"Value("2") (7) would fit as the answer to Get("b") (6)."#,
        ]
    );
}

#[test]
fn silence() {
    use kv::Message::{Done, Get, Put};
    let events =
        [sent(0, Put("a".into(), "1".into())), got(0, Done), sent(1, Get("a".into())), Event::Quiescent];
    assert_eq!(
        why(&kv::Kv, &events),
        [
            "(3) and (4) are enough, whatever came of the rest.",
            r#"Get("a") (3) was never answered, and nothing more came."#,
        ]
    );
}

#[test]
fn a_condition_not_looked_at() {
    use conditional::Message::{Get, NoContent, Ok, Put};
    let tag = |opaque: &str| conditional::Tag { weak: false, opaque: opaque.into() };
    let put = |if_match, body: &str| Put { key: "k".into(), if_match, body: body.into() };
    let events = [
        sent(0, put(None, "a")),
        got(0, NoContent),
        sent(0, Get { key: "k".into(), if_none_match: None }),
        got(0, Ok { tag: tag("x"), body: "a".into() }),
        sent(0, put(Some(tag("y")), "b")),
        got(0, NoContent),
    ];
    let short = |line: String| {
        let line = line.replace(r#"Put { key: "k", if_match: None, body: "a" }"#, "Put a");
        let line = line.replace(r#"Get { key: "k", if_none_match: None }"#, "Get");
        let put = r#"Put { key: "k", if_match: Some(Tag { weak: false, opaque: "y" }), body: "b" }"#;
        line.replace(put, "Put b")
    };
    let why: Vec<String> = why(&conditional::Conditional, &events).into_iter().map(short).collect();
    assert_eq!(
        why,
        [
            "It would fit if Put a (1) was handled after Get (3), but (1) was answered (2) before (3) was sent.",
            "It would fit if Put a (1) was handled after Put b (5), but (1) was answered (2) before (5) was sent.",
            "It all fits if the server broke conditional/if-match-checked once, with Put b (5).",
        ]
    );
}

#[test]
fn a_proxy_that_forwards_twice() {
    use proxy::Message::{Request, Response};
    let events = [
        sent(0, Request("a".into())),
        Event::Accepted(WireConn(9)),
        got(9, Request("a".into())),
        sent(9, Response("b".into())),
        got(0, Response("b".into())),
        sent(1, Request("c".into())),
        Event::Accepted(WireConn(10)),
        got(10, Request("a".into())),
    ];
    assert_eq!(
        why(&proxy::Proxy, &events),
        [
            "(2)-(4), (7) and (8) are enough, whatever came of the rest.",
            r#"It all fits if the server broke proxy/once once, with Request("a") (1)."#,
        ]
    );
}

#[test]
fn answers_crossed() {
    use register::Message::{Read, Value, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(1, Read),
        sent(0, Write(2)),
        got(0, Written),
        sent(2, Read),
        got(1, Value(Some(2))),
        got(2, Value(Some(1))),
    ];
    assert_eq!(
        why(&register::CasRegister, &events),
        [
            "(1), (2), (4)-(6) and (8) are enough, whatever came of the rest.",
            "It would fit if Value(Some(2)) (7) and Value(Some(1)) (8) were the other way round.",
            "It would fit if Write(2) (4) was handled after Read (6), but (4) was answered (5) before (6) was sent.",
            "It would fit if Write(1) (1) was handled after Write(2) (4), but (1) was answered (2) before (4) was sent.",
        ]
    );
}
