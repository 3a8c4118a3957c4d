//! One enum serves as the request of a script, on the wire, and as what a model expects.

use confute::knowledge::Knowledge;
use confute::lang::{Io, Pattern as _, Register, ServerModel, Turn};
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Options, Tester};
use confute_drive::{Asks as _, Exchange, Past, Peer, Protocol as _};
use confute_service::{Expected, Id, Message, Name, Secret, Service, wire};

#[derive(Clone, Debug, PartialEq, Eq, Hash, Message)]
#[message(crate = confute_service)]
pub(super) enum Line {
    #[request("PUT {key} {value}")]
    Put { key: Name, value: u32 },
    #[request("GET {}", reads)]
    Get(Name),
    #[request("DROP {key} {token}")]
    Drop { key: Name, token: Option<Secret> },
    #[response("OK {token} {version}")]
    Stored { token: Secret, version: Id },
    #[response("VALUE {}")]
    Value(String),
    #[response("GONE")]
    Gone,
    #[unreadable]
    Odd(String),
}

/// A model that answers nothing: the tests here need only its types.
#[derive(Clone, Copy)]
pub(super) struct Silent;

impl ServerModel for Silent {
    type Msg = Line;
    type Out = Expected<Line>;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        io.recv()?;
        io.replies(0)
    }
}

fn service() -> Service<Silent, impl confute_service::Wire<Line>> {
    Service::new(Silent, wire::lines())
}

fn put(name: u32, value: u32) -> Line {
    Line::Put { key: Name::number(name), value }
}

fn json(text: &str) -> Line {
    confute_service::from_json(&serde_json::from_str(text).unwrap()).unwrap()
}

#[test]
fn names_and_references_are_resolved_when_a_request_is_sent() {
    let service = service();
    let sent = service.resolve(&put(3, 7), "case-1", &Past::default()).unwrap();
    assert_eq!(sent, Line::Put { key: Name::from("case-1-k3"), value: 7 });
    // A short message is its own name in a sentence; of a long one, the first word and the names are.
    assert_eq!((sent.to_string(), format!("{sent:#}")), ("PUT …k3 7".to_owned(), "PUT …k3 7".to_owned()));
    let long = service.resolve(&put(3, u32::MAX), "case-1", &Past::default()).unwrap();
    assert_eq!(
        (long.to_string(), format!("{long:#}")),
        ("PUT …k3 4294967295".to_owned(), "PUT …k3".to_owned())
    );
    let stored = Line::Stored { token: Secret::known(&"t\"1".into()), version: Id::known(&4) };
    assert_eq!(format!("{stored:#}"), r#"OK "t\"1" 4"#);
    let ask = json(r#"{"Drop": {"key": {"name": 3}, "token": {"step": 5, "place": 0}}}"#);
    let exchange =
        Exchange { step: 5, on: Peer::Opened(0), ask: put(3, 7), request: sent, replies: vec![stored] };
    let past = Past { exchanges: vec![exchange], asked: Vec::new() };
    let token = Some(Secret::known(&"t\"1".into()));
    assert_eq!(service.resolve(&ask, "c", &past), Some(Line::Drop { key: Name::from("c-k3"), token }));
    // What was never seen cannot be sent.
    assert_eq!(service.resolve(&ask, "c", &Past::default()), None);
    assert_eq!(service.resolve(&service.renumber(&ask, &|step| step + 1), "c", &past), None);
}

#[test]
fn stored_cases_keep_every_form() {
    for text in [
        r#"{"Put":{"key":{"name":3},"value":7}}"#,
        r#"{"Put":{"key":"c-k3","value":7}}"#,
        r#"{"Drop":{"key":{"name":0},"token":{"place":1,"step":5}}}"#,
        r#"{"Drop":{"key":{"name":0},"token":{"made_up":2}}}"#,
        r#"{"Drop":{"key":{"name":0},"token":null}}"#,
        r#"{"Stored":{"token":"t","version":9}}"#,
        r#"{"Gone":{}}"#,
    ] {
        assert_eq!(serde_json::to_string(&json(text)).unwrap(), text);
    }
    let wrong = serde_json::from_str::<Line>(r#"{"Put":{"key":{"name":3},"value":-7}}"#).unwrap_err();
    assert!(wrong.to_string().contains("the fields of Put do not fit"), "{wrong}");
}

#[test]
fn scripts_become_simpler() {
    let service = service();
    let simpler = service.simpler(&put(3, 7));
    assert_eq!(simpler, [put(3, 0), put(3, 1), put(3, 3)]);
    let ask = json(r#"{"Drop": {"key": {"name": 3}, "token": {"step": 5, "place": 0}}}"#);
    let made_up = json(r#"{"Drop": {"key": {"name": 3}, "token": {"made_up": 0}}}"#);
    let without = json(r#"{"Drop": {"key": {"name": 3}, "token": null}}"#);
    assert_eq!(service.simpler(&ask), [without.clone(), made_up.clone()]);
    assert_eq!(service.simpler(&without), []);
    assert_eq!(service.simpler(&made_up), [without]);
    // Two names become one, and the last one moves down.
    let (one, two) = (put(0, 1), put(2, 1));
    let plainer = service.plainer(&[&one, &two]);
    assert_eq!(plainer, [vec![put(0, 1), put(0, 1)], vec![put(0, 1), put(1, 1)]]);
    assert_eq!(service.plainer(&[&one]), Vec::<Vec<Line>>::new());
    assert_eq!(service.probe(), Some(Line::Get(Name::number(0))));
    assert_eq!(
        service.follow_ups(&[(0, &one), (4, &two), (6, &one)]),
        [0, 2].map(|name| Line::Get(Name::number(name)))
    );
}

#[test]
fn an_expectation_reveals_what_the_server_chose() {
    let mut facts = Knowledge::new();
    let stored = |token: &str, version| Line::Stored {
        token: Secret::known(&token.into()),
        version: Id::known(&version),
    };
    let known: &dyn Fn(&Line, &mut Knowledge) -> bool =
        &|seen, facts| Expected(stored("a", 1)).unify(seen, facts).is_ok();
    assert!(known(&stored("a", 1), &mut facts));
    for other in [stored("a", 2), stored("b", 1), Line::Gone, Line::Odd(String::new())] {
        assert!(!known(&other, &mut facts), "{other}");
    }
}

/// A server that gives one token, and the same for ever.
struct Once;

const TOKEN: Register<Secret> = Register::new("token");

impl ServerModel for Once {
    type Msg = Line;
    type Out = Expected<Line>;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        let (conn, _) = io.recv()?;
        let cell = TOKEN.edit(io)?;
        let fresh = Secret::fresh(io)?;
        let token = cell.get(io)?.unwrap_or(fresh);
        cell.set(io, token.clone())?;
        io.send(conn, Line::Stored { token, version: Id::known(&1) })
    }
}

#[test]
fn a_value_that_the_server_chose_is_any_value_until_it_is_told() {
    let judge = |tokens: [&str; 2]| {
        let mut tester = Tester::new(&Once, &Tcp { breaks: false }, Options::default());
        for token in tokens {
            tester.observe(Event::Sent(WireConn(0), Line::Get(Name::from("k"))));
            let (token, version) = (Secret::known(&token.into()), Id::known(&1));
            tester.observe(Event::Received(WireConn(0), Line::Stored { token, version }));
        }
        tester.verdict().is_refuted()
    };
    assert!(!judge(["a", "a"]));
    assert!(judge(["a", "b"]));
}
