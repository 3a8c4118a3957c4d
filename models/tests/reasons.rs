//! Why a trace is refuted, in words; and that all of it is true.

use std::cell::Cell;
use std::fmt::Display;

use confute::lang::{Io, ServerModel, Turn};
use confute::network::{Network, Tcp, Udp};
use confute::trace::{Event, WireConn};
use confute::{Diagnosis, Ground, Names, Options, Pulse, Reasons, blame, reasons};
use confute_models::{conditional, kv, proxy, register};

fn sent<M>(conn: u32, message: M) -> Event<M> {
    Event::Sent(WireConn(conn), message)
}

fn got<M>(conn: u32, message: M) -> Event<M> {
    Event::Received(WireConn(conn), message)
}

/// The proof, with events numbered from one.
fn why<S: ServerModel<Msg: Clone>>(model: &S, events: &[Event<S::Msg>]) -> Vec<String> {
    why_behind(&Tcp::default(), model, events)
}

fn why_behind<S: ServerModel<Msg: Clone>>(
    network: &dyn Network,
    model: &S,
    events: &[Event<S::Msg>],
) -> Vec<String> {
    let options = Options::default();
    let blamed = blame(model, network, events, &options);
    let found = reasons(model, network, events, &blamed.diagnoses, &options).expect("refuted");
    in_words(&found, events)
}

fn in_words<M: Display>(found: &Reasons, events: &[Event<M>]) -> Vec<String> {
    let word = |event: usize| match &events[event] {
        Event::Sent(_, message) | Event::Received(_, message) => format!("{message:#}"),
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
            "These would fit if write 2 (5) was handled after read (7), but (5) was answered (6) before (7) was sent.",
            "These would fit if write 1 (1) was handled after write 2 (5), but (1) was answered (2) before (5) was sent.",
            "It all fits if the server broke register/write-lasts once, with write 2 (5).",
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
            "These would fit if read (4) was handled after read (6), but (4) was answered (5) before (6) was sent.",
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
            "If cas 1 to 2 (3) was handled before cas 1 to 3 (4), the answer to (4) is unchanged, not swapped (6).",
            "If cas 1 to 3 (4) was handled before cas 1 to 2 (3), the answer to (3) is unchanged, not swapped (5).",
            "It all fits if the server broke register/cas-compares once, with cas 1 to 2 (3) or cas 1 to 3 (4).",
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
            r#"value "2" (7) would fit as the answer to get "b" (6)."#,
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
            r#"get "a" (3) was never answered, and nothing more came."#,
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
    assert_eq!(
        why(&conditional::Conditional, &events),
        [
            r#"It would fit if put "k" "a" (1) was handled after get "k" (3), but (1) was answered (2) before (3) was sent."#,
            r#"It would fit if put "k" "a" (1) was handled after put "k" "b" (5), but (1) was answered (2) before (5) was sent."#,
            r#"It all fits if the server broke conditional/if-match-checked once, with put "k" "b" (5)."#,
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
            r#"It all fits if the server broke proxy/once once, with request "a" (1)."#,
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
            "It would all fit if value 2 (7) and value 1 (8) were the other way round.",
            "These would fit if write 2 (4) was handled after read (6), but (4) was answered (5) before (6) was sent.",
            "These would fit if write 1 (1) was handled after write 2 (4), but (1) was answered (2) before (4) was sent.",
        ]
    );
}

/// What comes between is not forgotten.
#[test]
fn only_after_it() {
    use kv::Message::{Done, Get, Put, Value};
    let (get, put) = (|| Get("k".into()), |value: &str| Put("k".into(), value.into()));
    let events = [
        sent(0, put("a")),
        sent(1, put("c")),
        got(0, Done),
        sent(2, get()),
        got(1, Done),
        sent(3, get()),
        got(3, Value("a".into())),
        got(2, Value("c".into())),
    ];
    let why = why(&kv::Kv, &events);
    let case = r#"If put "k" "a" (1) was handled before get "k" (4), and put "k" "c" (2) and get "k" (6) only after (4), the answer to (4) is value "a", not value "c" (8)."#;
    assert!(why.iter().any(|line| line == case), "{why:#?}");
}

/// Were it the other way round, it would be something that is not among what matters that does not fit.
#[test]
fn not_crossed() {
    use kv::Message::{Done, Get, Put, Value};
    let put = |key: &str, value: &str| Put(key.into(), value.into());
    let events = [
        sent(0, put("k", "1")),
        got(0, Done),
        sent(0, put("k", "2")),
        got(0, Done),
        sent(0, put("j", "2")),
        got(0, Done),
        sent(1, Get("k".into())),
        sent(2, Get("j".into())),
        got(1, Value("2".into())),
        got(2, Value("1".into())),
    ];
    assert_eq!(
        why(&kv::Kv, &events),
        [r#"value "1" (10) cannot be the answer to get "j" (8), whatever came of the rest."#]
    );
}

/// Without the first request it would be refuted all the same: only what matters would fit.
#[test]
fn what_would_fit_is_what_matters() {
    use kv::Message::{Done, Get, Put, Value};
    let put = |value: &str| Put("k".into(), value.into());
    let events = [
        sent(0, put("a")),
        got(0, Done),
        sent(1, Get("k".into())),
        got(1, Value("a".into())),
        sent(2, Get("k".into())),
        got(2, Value("".into())),
    ];
    let fits = |line: &String| line.contains("would fit");
    let why = why(&kv::Kv, &events);
    assert!(
        why.iter().any(fits) && why.iter().all(|line| !fits(line) || line.starts_with("These ")),
        "{why:#?}"
    );
}

#[test]
fn the_connection_that_matters() {
    use register::Message::{Read, Value, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(0, Write(1)),
        got(0, Written),
        sent(2, Write(2)),
        sent(1, Read),
        sent(1, Read),
        got(1, Value(Some(2))),
        got(1, Value(Some(1))),
    ];
    let why = why(&register::CasRegister, &events);
    let shared = "These would fit with read (6) and read (7) on different connections, but they shared c1.";
    assert_eq!(why[1], shared, "{why:#?}");
    assert!(why.iter().all(|line| !line.contains("c0")), "{why:#?}");
}

/// Diagnoses may rest on less than the trace.
#[test]
fn what_is_blamed_explains_it_all() {
    use register::Message::{Read, Value, Write, Written};
    let events = [
        sent(0, Write(1)),
        got(0, Written),
        sent(0, Write(2)),
        got(0, Written),
        sent(0, Write(3)),
        got(0, Written),
        sent(0, Read),
        got(0, Value(Some(1))),
    ];
    let once = [&register::WRITE_LASTS, &register::READ_CURRENT].map(|rule| Diagnosis {
        rules: vec![rule.name],
        deviations: 1,
        level: rule.level,
    });
    let found = reasons(&register::CasRegister, &Tcp::default(), &events, &once, &Options::default())
        .expect("refuted");
    let why = in_words(&found, &events);
    assert_eq!(
        why.last().expect("a sentence"),
        "It all fits if the server broke register/write-lasts twice."
    );
}

/// Answers twice.
struct Twice;

impl ServerModel for Twice {
    type Msg = u8;
    type Out = u8;

    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, asked) = io.recv()?;
        io.replies(2)?;
        io.send(conn, *asked)?;
        io.send(conn, *asked)
    }
}

/// Whenever the time is up, nothing is claimed that was not looked at.
#[test]
fn the_first_of_two_answers_was_right() {
    let events = [sent(0, 1), got(0, 1), Event::Quiescent];
    let mut told = 0;
    for most in 0..10 {
        let looked = Cell::new(0);
        let watch = |_: &Pulse| looked.replace(looked.get() + 1) >= most;
        let options = Options { watch: Some(&watch), ..Options::default() };
        let found = reasons(&Twice, &Tcp::default(), &events, &[], &options);
        for ground in found.iter().flat_map(|found| &found.grounds) {
            assert!(matches!(ground, Ground::Premise { .. }), "{ground:?}");
            told += 1;
        }
    }
    assert!(told > 0);
    let never = [sent(0, 1), got(0, 2)];
    assert_eq!(why(&Twice, &never), ["2 (2) cannot be the answer to 1 (1)."]);
}

/// Where packets overtake each other, it is not known which answer is whose, nor what was handled first.
#[test]
fn behind_a_network_that_reorders() {
    use kv::Message::{Done, Get, Put, Value};
    let network = Udp { loss: false, duplication: false, reordering: true };
    let mut events = vec![
        sent(0, Put("a".into(), "1".into())),
        sent(0, Get("b".into())),
        got(0, Value("".into())),
        got(0, Done),
        sent(1, Get("a".into())),
        got(1, Value("".into())),
    ];
    let fits = r#"It all fits if the server broke kv/read-sees-latest once, with get "a" (5), or kv/put-lasts once, with put "a" "1" (1)."#;
    assert_eq!(why_behind(&network, &kv::Kv, &events), [fits]);
    // One request a connection: its answers are its own.
    events[1] = sent(2, Get("b".into()));
    events[2] = got(2, Value("".into()));
    assert_eq!(
        why_behind(&network, &kv::Kv, &events),
        [
            "(1) and (4)-(6) are enough, whatever came of the rest.",
            r#"These would fit without put "a" "1" (1) and its answer done (4)."#,
            fits,
        ]
    );
}
