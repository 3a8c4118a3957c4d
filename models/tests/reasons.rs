//! Tests of the proofs of refutations, and of the correctness of their sentences.

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

/// Returns the proof, with events numbered from one.
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
    // The sentence to show alone states a ground, if there is one.
    let (all, main) = (found.sentences(&names), found.main_sentence());
    assert!(found.grounds.is_empty() || !all[main].contains("alone are contradictory"), "{all:#?}");
    assert!(found.grounds.is_empty() || !all[main].starts_with("Explained only by"), "{all:#?}");
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
            "Messages 1, 2 and 5-8 alone are contradictory.",
            "These messages would be explained if write 2 (5) was handled after read (7), but (5) was answered (6) before (7) was sent.",
            "These messages would be explained if write 1 (1) was handled after write 2 (5), but (1) was answered (2) before (5) was sent.",
            "Explained only by one violation of register/write-lasts, at write 2 (5).",
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
            "Messages 1, 2 and 4-7 alone are contradictory.",
            "These messages would be explained if read (4) was handled after read (6), but (4) was answered (5) before (6) was sent.",
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
            "Messages 3-6 alone are contradictory.",
            "If cas 1 to 2 (3) was handled before cas 1 to 3 (4), the response to (4) must be unchanged, not swapped (6).",
            "If cas 1 to 3 (4) was handled before cas 1 to 2 (3), the response to (3) must be unchanged, not swapped (5).",
            "Explained only by one violation of register/cas-compares, at cas 1 to 2 (3) or cas 1 to 3 (4).",
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
            "Messages 5 and 7 alone are contradictory.",
            r#"value "2" (7) would be explained as the response to get "b" (6)."#,
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
            "Messages 3 and 4 alone are contradictory.",
            r#"get "a" (3) got no response, and nothing more arrived."#,
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
            r#"The trace would be explained if put "k" "a" (1) was handled after get "k" (3), but (1) was answered (2) before (3) was sent."#,
            r#"The trace would be explained if put "k" "a" (1) was handled after put "k" "b" (5), but (1) was answered (2) before (5) was sent."#,
            r#"Explained only by one violation of conditional/if-match-checked, at put "k" "b" (5)."#,
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
            "Messages 2-4, 7 and 8 alone are contradictory.",
            r#"Explained only by one violation of proxy/once, at request "a" (1)."#,
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
            "Messages 1, 2, 4-6 and 8 alone are contradictory.",
            "The trace would be explained if the responses value 2 (7) and value 1 (8) were swapped.",
            "These messages would be explained if write 2 (4) was handled after read (6), but (4) was answered (5) before (6) was sent.",
            "These messages would be explained if write 1 (1) was handled after write 2 (4), but (1) was answered (2) before (4) was sent.",
        ]
    );
}

/// A case of the proof also lists the requests that are assumed to be handled later.
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
    let case = r#"If put "k" "a" (1) was handled before get "k" (4), and put "k" "c" (2) and get "k" (6) only after (4), the response to (4) must be value "a", not value "c" (8)."#;
    assert!(why.iter().any(|line| line == case), "{why:#?}");
}

/// Exchanging the two responses is no explanation: then the response to the get of "k", which is not in the
/// core, would not fit.
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
    assert_eq!(why(&kv::Kv, &events), [r#"value "1" (10) cannot be the response to get "j" (8)."#]);
}

/// Without the first request the whole trace would still be refuted: only the core ("These …") would fit.
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
    let fits = |line: &String| line.contains("would be explained");
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
    let shared = "These messages would be explained if read (6) and read (7) were on different connections, but they shared c1.";
    assert_eq!(why[1], shared, "{why:#?}");
    assert!(why.iter().all(|line| !line.contains("c0")), "{why:#?}");
}

/// The given diagnoses may explain only a part of the trace; the reported one explains all of it.
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
    assert_eq!(why.last().expect("a sentence"), "Explained only by two violations of register/write-lasts.");
}

/// Responds twice.
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

/// If the time runs out, at any point, no unchecked claim is made.
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
    assert_eq!(why(&Twice, &never), ["2 (2) cannot be the response to 1 (1)."]);
}

/// On a network that reorders packets, neither the request of a response nor the order of handling is known.
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
    let fits = r#"Explained only by one violation of kv/read-sees-latest, at get "a" (5), or by one violation of kv/put-lasts, at put "a" "1" (1)."#;
    assert_eq!(why_behind(&network, &kv::Kv, &events), [fits]);
    // With one request per connection, the responses on it belong to that request.
    events[1] = sent(2, Get("b".into()));
    events[2] = got(2, Value("".into()));
    assert_eq!(
        why_behind(&network, &kv::Kv, &events),
        [
            "Messages 1 and 4-6 alone are contradictory.",
            r#"This rests on put "a" "1" (1) and its response done (4): without them the other messages would be explained."#,
            fits,
        ]
    );
}
