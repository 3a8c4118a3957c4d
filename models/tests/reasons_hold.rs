//! Checks of reasons, which are claims about traces that were never observed: each is verified by changing
//! the trace in another way.

use std::fmt::Debug;

use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::simulate::ExchangePlan;
use confute::trace::{Event, WireConn};
use confute::{Bar, Ground, Options, Reasons, blame, judge, reasons};
use confute_models::conditional::Conditional;
use confute_models::kv::Kv;
use confute_models::register::CasRegister;
use confute_models::{Workload, simulate};

/// Number of checked claims by kind: each kind must occur.
#[derive(Default)]
struct Checked {
    cores: u32,
    orders: u32,
    cases: u32,
    places: u32,
}

fn is_refuted<S: ServerModel<Msg: Clone>>(model: &S, events: &[Event<S::Msg>]) -> bool {
    judge(model, &Tcp::default(), events, &Options::default()).is_refuted()
}

/// Returns the request of a response, on connections with one request at a time.
fn asked<M>(events: &[Event<M>], answer: usize) -> usize {
    let is_it = |event: &Event<M>| matches!(event, Event::Sent(..)) && event.conn() == events[answer].conn();
    events[..answer].iter().rposition(is_it).expect("an answer has a request")
}

/// Returns a trace of these exchanges one after the other, each on a connection of its own; all other
/// requests may have been handled at any time.
fn one_by_one<M: Clone>(events: &[Event<M>], order: &[usize]) -> Vec<Event<M>> {
    let mut trace = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if let (Event::Sent(_, message), false) = (event, order.contains(&at)) {
            let conn = WireConn(1000 + at as u32);
            trace.extend([Event::Sent(conn, message.clone()), Event::HungUp(conn)]);
        }
    }
    for one in order {
        let conn = WireConn(1000 + *one as u32);
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Sent(_, message) if at == *one => trace.push(Event::Sent(conn, message.clone())),
                Event::Received(_, message) if asked(events, at) == *one => {
                    trace.push(Event::Received(conn, message.clone()));
                }
                _ => {}
            }
        }
    }
    trace
}

fn check<S: ServerModel<Msg: Clone + Debug>>(
    model: &S,
    events: &[Event<S::Msg>],
    found: &Reasons,
    checked: &mut Checked,
) {
    // The core is refuted by itself.
    let core: Vec<_> = found.matter.iter().map(|event| events[*event].clone()).collect();
    assert!(is_refuted(model, &core), "{core:?}");
    checked.cores += 1;
    for ground in &found.grounds {
        match ground {
            Ground::Order { swapped, order, bar } => {
                assert!(!is_refuted(model, &one_by_one(events, order)), "{events:?}: {ground:?}");
                let place = |one: &usize| order.iter().position(|other| other == one);
                assert!(swapped.iter().all(|(one, other)| place(one) > place(other)), "{ground:?}");
                match bar {
                    Bar::Answered { sent, answer, before } => {
                        assert!(asked(events, *answer) == *sent && answer < before, "{ground:?}");
                        assert_eq!(swapped[0], (*sent, *before));
                    }
                    Bar::Queued { .. } => panic!("no two were under way on one connection: {ground:?}"),
                }
                checked.orders += 1;
            }
            Ground::Case { order, later, answer, .. } => {
                // Every other request of the core was sent after the response, or is listed as later.
                let others = found.matter.iter().filter(|at| matches!(events[**at], Event::Sent(..)));
                let is_said = |at: &&usize| order.contains(at) || later.contains(at) || *at > answer;
                assert!(others.clone().all(|at| is_said(&at)), "{events:?}: {ground:?}");
                assert!(later.iter().all(|at| !order.contains(at)), "{ground:?}");
                // The other requests are left out, because their outcome is arbitrary.
                let is_kept = |at: &usize| match &events[*at] {
                    Event::Sent(..) => order.contains(at),
                    Event::Received(..) => order.contains(&asked(events, *at)),
                    _ => false,
                };
                let kept: Vec<usize> = (0..events.len()).filter(is_kept).collect();
                let only: Vec<_> = kept.iter().map(|at| events[*at].clone()).collect();
                let place = |one: &usize| kept.iter().position(|at| at == one);
                let order: Vec<usize> = order.iter().filter_map(place).collect();
                assert!(is_refuted(model, &one_by_one(&only, &order)), "{events:?}: {ground:?}");
                assert_eq!(order.last().copied(), place(&asked(events, *answer)));
                checked.cases += 1;
            }
            _ => {}
        }
    }
    for at in found.deviations.iter().flat_map(|one| &one.at) {
        assert!(found.matter.contains(at));
        checked.places += 1;
    }
}

fn every_claim_is_true<W: Workload<Msg: Clone + Debug>>(model: &W, connections: u32, checked: &mut Checked) {
    let (network, options) = (Tcp::default(), Options::default());
    for rule in model.rules() {
        for seed in 0..20 {
            let deviate = vec![rule.name];
            let plan = ExchangePlan {
                seed,
                connections,
                messages: 12,
                at_once: connections,
                deviate,
                one_in: 3,
                ..ExchangePlan::default()
            };
            let mut events = Vec::new();
            let mut sink = |event| {
                events.push(event);
                !is_refuted(model, &events)
            };
            simulate(model, &network, &plan, &mut sink).expect("no mistake");
            if !is_refuted(model, &events) {
                continue;
            }
            let blamed = blame(model, &network, &events, &options);
            let found = reasons(model, &network, &events, &blamed.diagnoses, &options).expect("refuted");
            check(model, &events, &found, checked);
        }
    }
}

#[test]
fn of_simulated_servers() {
    let mut checked = Checked::default();
    every_claim_is_true(&Kv, 3, &mut checked);
    every_claim_is_true(&CasRegister, 3, &mut checked);
    every_claim_is_true(&CasRegister, 6, &mut checked);
    every_claim_is_true(&Conditional, 3, &mut checked);
    let Checked { cores, orders, cases, places } = checked;
    assert!(cores > 50 && orders > 20 && cases > 2 && places > 50, "{cores} {orders} {cases} {places}");
}
