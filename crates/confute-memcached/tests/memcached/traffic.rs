//! The generated traffic, and the messages that its references resolve to.

use std::collections::BTreeSet;

use confute::random::Random;
use confute_drive::{Dialogue as _, Exchange, Generator, Past, Peer, Protocol, Step, Until, View};
use confute_memcached::{
    Ask, Command, Habits, Memcached, Message, Request, ResponseLine, Store, StoreKind, TokenRef, Traffic,
};

/// Generates a script against a server that never responds and is never waited for.
fn script(seed: u64, habits: &Habits) -> Vec<Step<Ask>> {
    let (mut random, mut traffic, past) = (Random::new(seed), Traffic::new(habits.clone()), Past::default());
    let mut steps: Vec<Step<Ask>> = Vec::new();
    let mut outstanding = vec![0; 8];
    loop {
        let view = View {
            past: &past,
            steps: steps.len(),
            connections: 8,
            wide: 8,
            outstanding: &outstanding,
            asked: &[],
            alternatives: 1,
            reached: &[],
            disagreement: &|_| 0,
        };
        let Some(step) = traffic.next(&view, &mut |bound| random.below(bound)) else { return steps };
        match &step {
            Step::Ask { on: Peer::Opened(on), .. } => outstanding[*on as usize] += 1,
            Step::Wait(Until::Outstanding(_) | Until::Something) => outstanding.fill(0),
            _ => {}
        }
        steps.push(step);
        assert!(steps.len() < 10_000, "it ends");
    }
}

#[test]
fn one_seed_one_script() {
    let habits = Habits::default();
    assert_eq!(script(1, &habits), script(1, &habits));
    assert_ne!(script(1, &habits), script(2, &habits));
    for step in script(3, &habits) {
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step<Ask>>(&text).unwrap(), step, "{text}");
    }
}

#[test]
fn everything_is_asked() {
    let habits = Habits { requests: 2_000, nap: 5, ..Habits::default() };
    let mut kinds = BTreeSet::new();
    for step in script(4, &habits) {
        let kind = match step {
            Step::Ask { ask, cuts, .. } => {
                if !cuts.is_empty() {
                    kinds.insert("cut".to_owned());
                }
                if ask.is_quiet() {
                    kinds.insert("quiet".to_owned());
                }
                match ask {
                    Ask::Get { keys, unique } => format!("get {} {unique}", keys.len()),
                    Ask::Store { how, .. } => format!("{how:?}"),
                    Ask::Delete { .. } => "delete".to_owned(),
                    Ask::Count { up, .. } => format!("count {up}"),
                    Ask::Touch { .. } => "touch".to_owned(),
                }
            }
            Step::Wait(until) => format!("{until:?}"),
            Step::Gather => "gather".to_owned(),
            Step::Hold(_) => "hold".to_owned(),
            Step::Release(_) => "release".to_owned(),
            Step::HangUp(_) | Step::Finish(_) => "end".to_owned(),
        };
        kinds.insert(kind);
    }
    for wanted in [
        "get 1 true",
        "get 1 false",
        "get 2 true",
        "get 2 false",
        "Set",
        "Add",
        "Replace",
        "Append",
        "Prepend",
        "Cas",
        "delete",
        "count true",
        "count false",
        "touch",
        "hold",
        "release",
        "cut",
        "quiet",
        "Outstanding(0)",
        "Something",
        "Millis(5)",
    ] {
        assert!(kinds.contains(wanted), "{wanted} not in {kinds:?}");
    }
}

#[test]
fn tokens_are_looked_up() {
    let protocol = Memcached::default();
    let mut past = Past::<Memcached>::default();
    let cas = |token| Ask::Store {
        how: StoreKind::Cas,
        key: 1,
        flags: 0,
        exptime: 0,
        data: "x".into(),
        token,
        noreply: false,
    };
    let sent = |ask: &Ask, past: &Past<Memcached>| match protocol.resolve(ask, "case", past)? {
        Message::Ask(Request { command: Command::Store { how: Store::Cas(unique), key, .. }, .. }) => {
            assert_eq!(&*key, "case-k1");
            Some(unique.to_string())
        }
        other => panic!("{other:?}"),
    };
    let seen = cas(Some(TokenRef::Seen { step: 7, key: 2 }));
    assert_eq!(sent(&seen, &past), None);
    let gets = Ask::Get { keys: vec![1, 2], unique: true };
    let request = gets.message("case", &past).unwrap();
    assert_eq!((request.parts().len(), protocol.answers(&request)), (2, 2));
    let value = |key: &str, unique: &str| {
        ResponseLine::Value { key: key.into(), flags: 0, data: "".into(), unique: Some(unique.into()) }.into()
    };
    past.exchanges.push(Exchange {
        step: 7,
        on: Peer::Opened(0),
        ask: gets,
        request,
        replies: vec![value("case-k1", "11"), value("case-k2", "22")],
    });
    assert_eq!(sent(&seen, &past), Some("22".to_owned()));
    assert_eq!(sent(&cas(Some(TokenRef::Seen { step: 7, key: 1 })), &past), Some("11".to_owned()));
    assert_eq!(sent(&cas(Some(TokenRef::Guess(5))), &past), Some("5".to_owned()));
    assert_eq!(sent(&cas(None), &past), None);
}
