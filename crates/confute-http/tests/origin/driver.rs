//! One case against a real server, judged while it runs.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{AnyGenerator, CaseSetup, Gauge, Limits, Net, Target, run_case, typed_events};
use confute_http::message::Msg;
use confute_http::{Http, Traffic};

use crate::story::ORIGIN;

/// How long to wait for an answer before saying that none will come.
const PATIENCE: Duration = Duration::from_millis(700);

pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    pub(crate) requests: usize,
    pub(crate) events: Vec<Event<Msg>>,
    pub(crate) turns: u64,
}

/// Runs one case of so many steps, or until the server is refuted.
pub(crate) fn run(address: SocketAddr, name: &str, seed: u64, steps: usize, connections: u32) -> Outcome {
    run_relaxed(address, (name, seed), steps, connections, &[])
}

/// The same, with rules that may be broken.
pub(crate) fn run_relaxed(
    address: SocketAddr,
    (name, seed): (&str, u64),
    steps: usize,
    connections: u32,
    relaxed: &[&'static str],
) -> Outcome {
    let mut http = Http { prefix: "/".to_owned(), model: ORIGIN, ..Http::default() };
    http.target.host = address.to_string();
    let setup = CaseSetup {
        protocol: &http,
        target: Target::new(address),
        limits: &Limits { connections, patience: PATIENCE, ..Limits::default() },
        name,
        seed,
        relaxed,
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    let mut traffic = AnyGenerator::new(Traffic::new(http.clone(), steps).holding(150));
    let run = run_case(&mut Net::new(None).unwrap(), &setup, &mut traffic);
    let requests = run.trace.iter().filter(|event| matches!(event, Event::Sent(..))).count();
    Outcome { verdict: run.verdict, requests, events: typed_events(&run.trace), turns: run.figures.turns }
}
