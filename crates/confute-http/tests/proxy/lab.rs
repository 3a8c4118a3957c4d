//! Helpers that run cases against a gateway that is configured with the address of its origin.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::network::Tcp;
use confute::{Options, Verdict, blame, judge};
use confute_drive::{
    AnyGenerator, CaseRun, CaseSetup, Gauge, Limits, Net, Outcome, Plan, Target, campaign, run_case,
    typed_events,
};
use confute_http::{Http, Passage, encode};

/// Returns the connections of a tester that listens as origin, and its address.
pub(crate) fn net() -> (Net, SocketAddr) {
    let net = Net::new(Some(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
    let origin = net.listens_at().unwrap();
    (net, origin)
}

/// Returns the protocol for a gateway that forwards paths with this prefix to the root of this origin.
pub(crate) fn proxy(gateway: SocketAddr, prefix: &str, origin: SocketAddr) -> Http {
    let target = encode::Target { host: gateway.to_string(), fields: Vec::new() };
    Http::gateway(target, prefix, origin, "/")
}

/// Runs one case.
pub(crate) fn run(
    net: &mut Net,
    protocol: &Http,
    gateway: SocketAddr,
    (name, seed): (&str, u64),
    (requests, most): (usize, usize),
    relaxed: &[&'static str],
) -> CaseRun {
    let limits = Limits { connections: 12, patience: Duration::from_secs(3), ..Limits::default() };
    let setup = CaseSetup {
        protocol,
        target: Target::new(gateway),
        limits: &limits,
        name,
        seed,
        relaxed,
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    run_case(net, &setup, &mut AnyGenerator::new(Passage::new(requests, most)))
}

/// Returns all alternative rule sets that explain a refuted case.
pub(crate) fn accuse(protocol: &Http, run: &CaseRun, relaxed: &[&'static str]) -> Vec<Vec<&'static str>> {
    let options = Options { turns: 3_000_000, relaxed: relaxed.to_vec(), ..Options::default() };
    let network = Tcp::default();
    let mut trace = typed_events(&run.trace);
    if let Verdict::Refuted(found) = judge(&protocol.model, &network, &trace, &options) {
        trace.truncate(found.event + 1);
    }
    let blamed = blame(&protocol.model, &network, &trace, &options);
    blamed.diagnoses.iter().map(|one| one.rules.clone()).collect()
}

/// Formats the last events of a case.
pub(crate) fn tail(run: &CaseRun) -> String {
    let from = run.trace.len().saturating_sub(30);
    run.trace[from..].iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Runs a campaign against a gateway that is not known, the first cases with one request at a time.
pub(crate) fn tour(
    (gateway, prefix, origin): (SocketAddr, &str, SocketAddr),
    seed: u64,
    cases: u64,
    failures: usize,
) -> Outcome {
    let proxy = proxy(gateway, prefix, origin).discovered(Target::new(gateway), &Limits::default());
    let plan = Plan {
        seed,
        cases: Some(cases),
        max_failures: failures,
        max_time: Some(Duration::from_mins(1)),
        limits: Limits { connections: 12, patience: Duration::from_secs(1), ..Limits::default() },
        ..Plan::new(Target { listen: Some(origin), ..Target::new(gateway) })
    };
    let make = |case: u64| -> AnyGenerator<'_> {
        AnyGenerator::new(Passage::new(60, if case < 8 { 1 } else { 1 + case as usize % 4 }).hinting(case))
    };
    campaign(&proxy, &plan, &make, &mut (), &AtomicBool::new(false))
}
