//! Tests of the effects of turns, with one litmus model each.

use std::collections::BTreeMap;

use super::*;
use crate::lang::{Io, Level, Register, Rule, Stop, Table, Turn};
use crate::network::{Direct, Tcp, Udp};

type Serve = fn(&mut Io<'_, Litmus>) -> Turn;

/// A model over integers, given by its turns.
struct Litmus {
    serve: Serve,
    internal: Serve,
}

impl ServerModel for Litmus {
    type Msg = i64;
    type Out = i64;
    fn serve(&self, io: &mut Io<'_, Self>) -> Turn {
        (self.serve)(io)
    }
    fn internal(&self, io: &mut Io<'_, Self>) -> Turn {
        (self.internal)(io)
    }
}

fn litmus(serve: Serve) -> Litmus {
    Litmus { serve, internal: |io| io.idle() }
}

/// Steps until the simulation is idle.
fn drain<N: Network>(simulation: &mut Simulation<'_, Litmus, N>) -> Vec<Event<i64>> {
    let mut events = Vec::new();
    for _ in 0..10_000 {
        events.extend(simulation.step().unwrap());
        if simulation.is_idle() {
            break;
        }
    }
    events
}

fn mistake(serve: Serve) -> Mistake {
    let model = litmus(serve);
    let mut simulation = Simulation::new(&model, &Direct, 0);
    let conn = simulation.open();
    simulation.send(conn, 1).unwrap_err()
}

const TCP: Tcp = Tcp { breaks: false };
const CELL: Register<i64> = Register::new("cell");

#[test]
fn a_turn_that_waits_has_sent_already_and_goes_on_with_the_next_message() {
    let model = litmus(|io| {
        io.whole()?;
        let (first, a) = io.recv()?;
        let before = CELL.get(io)?.unwrap_or(0);
        CELL.set(io, before + 1)?;
        io.send(first, -1)?;
        let flavour = io.choose(1000)?;
        io.send(first, -2)?;
        let (second, b) = io.recv()?;
        io.send(second, *a * 10 + *b)?;
        io.send(first, if flavour < 1000 { before } else { -3 })
    });
    for seed in 0..50 {
        let mut simulation = Simulation::new(&model, &TCP, seed);
        let [a, b] = [simulation.open(), simulation.open()];
        for round in 0..3 {
            simulation.send(a, 4).unwrap();
            assert_eq!(drain(&mut simulation), [Event::Received(a, -1), Event::Received(a, -2)]);
            simulation.send(b, 2).unwrap();
            let mut events = drain(&mut simulation);
            events.sort_by_key(Event::conn);
            assert_eq!(events, [Event::Received(a, round), Event::Received(b, 42)]);
        }
    }
}

#[test]
fn a_turn_that_waits_for_one_connection_lets_the_others_wait() {
    let model = litmus(|io| {
        io.whole()?;
        let (first, a) = io.recv()?;
        let b = io.recv_from(first)?;
        io.send(first, *a + *b)
    });
    for seed in 0..50 {
        let mut simulation = Simulation::new(&model, &TCP, seed);
        let [a, b] = [simulation.open(), simulation.open()];
        for (conn, message) in [(a, 1), (b, 10), (b, 20), (a, 2)] {
            simulation.send(conn, message).unwrap();
        }
        let mut events = drain(&mut simulation);
        events.sort_by_key(Event::conn);
        assert_eq!(events, [Event::Received(a, 3), Event::Received(b, 30)]);
    }
}

#[test]
fn closing_comes_after_what_was_sent_and_drops_what_comes() {
    let model = litmus(|io| {
        io.whole()?;
        let (conn, message) = io.recv()?;
        io.send(conn, *message)?;
        io.close(conn)
    });
    let mut simulation = Simulation::new(&model, &TCP, 3);
    let conn = simulation.open();
    simulation.send(conn, 1).unwrap();
    simulation.send(conn, 2).unwrap();
    assert_eq!(drain(&mut simulation), [Event::Received(conn, 1), Event::Closed(conn)]);
}

#[test]
fn hanging_up_is_news_to_those_who_ask() {
    let deaf = litmus(|io| {
        let (conn, message) = io.recv()?;
        io.send(conn, *message)
    });
    let mut simulation = Simulation::new(&deaf, &TCP, 0);
    let conn = simulation.open();
    simulation.send(conn, 1).unwrap();
    simulation.hang_up(conn);
    assert_eq!(drain(&mut simulation), []);
    assert!(simulation.is_idle());

    let listening = litmus(|io| {
        io.whole()?;
        match io.recv_event()? {
            (_, Incoming::Closed) => CELL.set(io, 7),
            (conn, Incoming::Message(_)) => {
                let value = CELL.get(io)?.unwrap_or(0);
                io.send(conn, value)
            }
        }
    });
    let mut simulation = Simulation::new(&listening, &TCP, 0);
    let [gone, here] = [simulation.open(), simulation.open()];
    simulation.hang_up(gone);
    drain(&mut simulation);
    simulation.send(here, 1).unwrap();
    assert_eq!(drain(&mut simulation), [Event::Received(here, 7)]);
}

#[test]
fn a_connection_is_accepted_before_its_first_message() {
    let model = litmus(|io| {
        let (conn, message) = io.recv()?;
        if conn.is_opened_by_server() {
            return io.replies(0);
        }
        let up = io.connect()?;
        io.send(up, *message)
    });
    let mut simulation = Simulation::new(&model, &Direct, 0);
    let conn = simulation.open();
    for n in 1..3 {
        assert!(simulation.is_ready());
        simulation.send(conn, 5).unwrap();
        assert!(!simulation.is_ready());
        let up = WireConn(n);
        assert_eq!(drain(&mut simulation), [Event::Accepted(up), Event::Received(up, 5)]);
        simulation.send(up, 6).unwrap();
    }
}

#[test]
fn a_turn_that_contradicts_itself_takes_other_choices() {
    let model = litmus(|io| {
        let (conn, _) = io.recv()?;
        if io.choose(2)? == 0 {
            return Err(Stop::Dead);
        }
        io.send(conn, 1)
    });
    let mut simulation = Simulation::new(&model, &Direct, 0);
    let conn = simulation.open();
    for _ in 0..100 {
        simulation.send(conn, 0).unwrap();
        assert_eq!(drain(&mut simulation), [Event::Received(conn, 1)]);
    }
}

const COUNTS: Table<i64, i64> = Table::new("counts");

#[test]
fn an_internal_action_happens_at_most_once_between_messages_that_touch_its_cells() {
    let model = Litmus {
        serve: |io| {
            let (conn, key) = io.recv()?;
            let count = COUNTS.get(io, &key)?.unwrap_or(0);
            io.send(conn, count)
        },
        internal: |io| {
            let key = COUNTS.pick(io)?;
            let cell = COUNTS.edit(io, &key)?;
            let count = cell.get(io)?.unwrap_or(0);
            cell.set(io, count + 1)
        },
    };
    let mut simulation = Simulation::new(&model, &Direct, 0);
    let conn = simulation.open();
    let mut counts = BTreeMap::new();
    for round in 0..200 {
        let key = i64::from(round % 10 != 0);
        simulation.send(conn, key).unwrap();
        let events = drain(&mut simulation);
        let [Event::Received(_, count)] = events[..] else { panic!("{events:?}") };
        let before = counts.insert(key, count).unwrap_or(0);
        assert!(count - before <= 1, "from {before} to {count}");
        for _ in 0..100 {
            assert_eq!(simulation.step().unwrap(), None);
        }
    }
    assert!(counts[&0] > 10 && counts[&1] > 100, "{counts:?}");
}

#[test]
fn datagrams_get_lost_doubled_and_out_of_order() {
    let model = litmus(|io| {
        let (conn, message) = io.recv()?;
        io.send(conn, *message)
    });
    let network = Udp::default();
    let mut simulation = Simulation::new(&model, &network, 0);
    let conn = simulation.open();
    for n in 0..1000 {
        simulation.send(conn, n).unwrap();
    }
    let received: Vec<i64> = drain(&mut simulation)
        .iter()
        .filter_map(|event| if let Event::Received(_, n) = event { Some(*n) } else { None })
        .collect();
    let copies = |n| received.iter().filter(|other| **other == n).count();
    assert!((0..1000).any(|n| copies(n) == 0) && (0..1000).any(|n| copies(n) >= 2));
    assert!((0..1000).all(|n| copies(n) <= 4), "two copies each way");
    assert!(!received.is_sorted());
}

#[test]
fn mistakes_are_named() {
    let late = mistake(|io| {
        let (conn, _) = io.recv()?;
        CELL.get(io)?;
        let value = COUNTS.get(io, &1)?.unwrap_or(0);
        io.send(conn, value)
    });
    assert!(matches!(late, Mistake::OpenedLate { .. }), "{late}");
    let view = mistake(|io| {
        let (conn, _) = io.recv()?;
        COUNTS.view(io, &1)?.set(io, 1)?;
        io.send(conn, 1)
    });
    assert!(matches!(view, Mistake::WriteToView { .. }), "{view}");
    let silent = mistake(|io| io.recv().and_then(|_| CELL.get(io)).map(|_| ()));
    assert_eq!(silent, Mistake::Replies { sent: 0, announced: 1 });
    let second = mistake(|io| {
        io.recv()?;
        io.choose(2)?;
        io.recv().map(|_| ())
    });
    assert_eq!(second, Mistake::SecondReceive);
    let foreign = mistake(|io| {
        io.recv()?;
        io.choose(2)?;
        io.send(Conn::client(9), 1)
    });
    assert!(matches!(foreign, Mistake::ForeignSend { .. }), "{foreign}");
    assert_eq!(mistake(|io| io.recv().and_then(|_| io.choose(0)).map(|_| ())), Mistake::EmptyChoice);
    let endless = mistake(|io| {
        io.recv()?;
        loop {
            io.choose(1)?;
        }
    });
    assert!(matches!(endless, Mistake::Endless { .. }), "{endless}");
    let panics = mistake(|io| io.recv().map(|_| panic!("out of ideas")));
    assert!(panics.to_string().contains("Litmus` panicked in the turn of `"), "{panics}");
}

#[test]
fn a_turn_that_changes_its_mind_is_found_out() {
    use std::sync::atomic::{AtomicI64, Ordering};
    static RUNS: AtomicI64 = AtomicI64::new(0);
    let model = litmus(|io| {
        io.whole()?;
        let (conn, _) = io.recv()?;
        io.send(conn, RUNS.fetch_add(1, Ordering::Relaxed))?;
        io.recv().map(|_| ())
    });
    let mut simulation = Simulation::new(&model, &Direct, 0);
    let conn = simulation.open();
    simulation.send(conn, 1).unwrap();
    assert_eq!(drain(&mut simulation), [Event::Received(conn, 0)]);
    let mistake = simulation.send(conn, 1).unwrap_err();
    assert!(matches!(mistake, Mistake::NotDeterministic { .. }), "{mistake}");
}

#[test]
fn rules_are_broken_only_where_allowed_and_about_as_often_as_told() {
    const HONEST: Rule = Rule { name: "litmus/honest", level: Level::Must, summary: "One is one." };
    let model = litmus(|io| {
        let (conn, _) = io.recv()?;
        let answer = if io.deviates(&HONEST)? { 2 } else { 1 };
        io.send(conn, answer)
    });
    let plan = |deviate: Vec<&'static str>| ExchangePlan {
        messages: 10_000,
        deviate,
        one_in: 10,
        ..ExchangePlan::default()
    };
    let deviations = |plan: &ExchangePlan| {
        let mut wrong = 0;
        let statistics =
            exchange(&model, &Tcp::default(), plan, &mut |_, _| 0, &mut |_, _| None, &mut |event| {
                wrong += u64::from(matches!(event, Event::Received(_, 2)));
                true
            });
        assert_eq!(statistics.unwrap().deviations, wrong);
        wrong
    };
    assert_eq!(deviations(&plan(vec![])), 0);
    assert_eq!(deviations(&plan(vec!["litmus/other"])), 0);
    assert!((800..1200).contains(&deviations(&plan(vec!["litmus/honest"]))));
}
