//! Simulations of every model as a server, behind every network.

use std::fmt::Debug;

use confute::lang::About;
use confute::network::{Direct, Network, Tcp, Udp};
use confute::simulate::{ExchangePlan, Statistics};
use confute::trace::Event;

use confute_models::accumulator::Accumulator;
use confute_models::conditional::Conditional;
use confute_models::counter::Counter;
use confute_models::echo::Echo;
use confute_models::kv::Kv;
use confute_models::list_append::ListAppend;
use confute_models::proxy::Proxy;
use confute_models::queue::Queue;
use confute_models::register::CasRegister;
use confute_models::set::Set;
use confute_models::stack::Stack;
use confute_models::swap::Swap;
use confute_models::ticket::TicketOffice;
use confute_models::{Workload, simulate};

type Trace<M> = Vec<Event<M>>;

fn run<W: Workload<Msg: Clone>>(
    model: &W,
    network: &dyn Network,
    plan: &ExchangePlan,
) -> (Statistics, Trace<W::Msg>) {
    let mut trace = Vec::new();
    let statistics = simulate(model, network, plan, &mut |event| {
        trace.push(event);
        true
    });
    (statistics.unwrap(), trace)
}

fn networks() -> [Box<dyn Network>; 4] {
    [
        Box::new(Direct),
        Box::new(Tcp::default()),
        Box::new(Udp::default()),
        Box::new(Udp { reordering: false, ..Udp::default() }),
    ]
}

fn runs_everywhere<W: Workload<Msg: Clone + PartialEq + Debug>>(model: &W) {
    let plan = ExchangePlan { seed: 1, messages: 2_000, ..ExchangePlan::default() };
    for network in networks() {
        let (statistics, trace) = run(model, &*network, &plan);
        assert_eq!(statistics.requests, 2_000);
        assert_eq!(trace.last(), Some(&Event::Quiescent));
        let (again, same) = run(model, &*network, &plan);
        assert_eq!((&again, &same), (&statistics, &trace), "{}: one seed, one trace", network.name());
        let (_, other) = run(model, &*network, &ExchangePlan { seed: 2, ..plan.clone() });
        assert_ne!(other, trace);
        if network.is_reliable() {
            let received = |event: &&Event<W::Msg>| matches!(event, Event::Received(..));
            assert_eq!(trace.iter().filter(received).count() as u64, statistics.received);
            assert!(statistics.received >= 2_000, "{}: every request is answered", network.name());
        }
        if network.name() == "tcp" {
            assert!(statistics.median() >= 8, "median {} outstanding", statistics.median());
        }
    }
    // Every relaxed rule is broken now and then.
    for rule in model.rules() {
        for network in networks() {
            let plan = ExchangePlan { deviate: vec![rule.name], one_in: 3, ..plan.clone() };
            let (statistics, _) = run(model, &*network, &plan);
            assert!(statistics.deviations > 10, "{}: {} deviations", rule.name, statistics.deviations);
        }
    }
}

#[test]
fn echo_runs_everywhere() {
    runs_everywhere(&Echo);
}

#[test]
fn accumulator_runs_everywhere() {
    runs_everywhere(&Accumulator);
}

#[test]
fn proxy_runs_everywhere() {
    runs_everywhere(&Proxy);
}

#[test]
fn swap_runs_everywhere() {
    runs_everywhere(&Swap);
}

#[test]
fn register_runs_everywhere() {
    runs_everywhere(&CasRegister);
}

#[test]
fn kv_runs_everywhere() {
    runs_everywhere(&Kv);
}

#[test]
fn conditional_runs_everywhere() {
    runs_everywhere(&Conditional);
}

#[test]
fn tickets_run_everywhere() {
    runs_everywhere(&TicketOffice);
}

#[test]
fn queue_runs_everywhere() {
    runs_everywhere(&Queue);
}

#[test]
fn stack_runs_everywhere() {
    runs_everywhere(&Stack);
}

#[test]
fn counter_runs_everywhere() {
    runs_everywhere(&Counter);
}

#[test]
fn set_runs_everywhere() {
    runs_everywhere(&Set);
}

#[test]
fn list_append_runs_everywhere() {
    runs_everywhere(&ListAppend);
}

/// Checks [`ServerModel::about`](confute::lang::ServerModel::about): a right sequence stays right without the exchanges
/// about one value, and without one about nothing.
fn keeps_its_promise<W: Workload<Msg: Clone>>(model: &W) {
    let (mut values, mut nothings) = (0, 0);
    for seed in 0..10 {
        let plan = ExchangePlan { seed, messages: 60, ..ExchangePlan::default() };
        let (_, trace) = run(model, &Direct, &plan);
        let mut exchanges = Vec::new();
        for (place, event) in trace.iter().enumerate() {
            let Event::Received(conn, response) = event else { continue };
            let asked = trace[..place].iter().rposition(|it| matches!(it, Event::Sent(by, _) if by == conn));
            let Some(Event::Sent(_, request)) = asked.map(|asked| &trace[asked]) else { continue };
            exchanges.push((asked.unwrap(), place, model.about(request, Some(response))));
        }
        for (own, _, about) in &exchanges {
            let is_left_out = |(asked, _, other): &&(usize, usize, About)| match about {
                About::Value(_) => other == about,
                About::Nothing => asked == own,
                About::Anything => false,
            };
            values += usize::from(matches!(about, About::Value(_)));
            nothings += usize::from(*about == About::Nothing);
            let out: Vec<usize> =
                exchanges.iter().filter(is_left_out).flat_map(|(asked, place, _)| [*asked, *place]).collect();
            let kept = trace.iter().enumerate().filter(|(place, _)| !out.contains(place));
            let kept: Trace<W::Msg> = kept.map(|(_, event)| event.clone()).collect();
            let verdict = confute::judge(model, &Direct, &kept, &confute::Options::default());
            assert!(verdict.is_unrefuted(), "seed {seed}: {verdict:?}");
        }
    }
    assert!(values > 50 && nothings > 10, "{values} {nothings}");
}

#[test]
fn values_of_a_queue_do_not_mind_each_other() {
    keeps_its_promise(&Queue);
}

#[test]
fn values_of_a_stack_do_not_mind_each_other() {
    keeps_its_promise(&Stack);
}
