//! Runs a case against a real server, and judges it while it runs.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::Verdict;
use confute::trace::Event;
use confute_drive::{AnyGenerator, CaseSetup, Gauge, Limits, Net, Target, run_case, typed_events};
use confute_http::message::Message;
use confute_http::{Http, Traffic, encode};

/// Timeout after which a response counts as missing.
const PATIENCE: Duration = Duration::from_millis(700);

pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    pub(crate) requests: usize,
    pub(crate) events: Vec<Event<Message>>,
    pub(crate) turns: u64,
}

/// Runs one case with this number of steps, or until the server is refuted.
pub(crate) fn run(address: SocketAddr, name: &str, seed: u64, steps: usize, connections: u32) -> Outcome {
    run_relaxed(address, (name, seed), steps, connections, &[])
}

/// Runs one case like [`run`], with some rules relaxed.
pub(crate) fn run_relaxed(
    address: SocketAddr,
    (name, seed): (&str, u64),
    steps: usize,
    connections: u32,
    relaxed: &[&'static str],
) -> Outcome {
    let http = Http::origin(encode::Target { host: address.to_string(), fields: Vec::new() }, "/");
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
