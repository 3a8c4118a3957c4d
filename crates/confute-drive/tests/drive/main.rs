//! Tests of the driver with real sockets, against tiny line-based servers in threads.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod campaigns;
mod cases;
mod protocol;
mod proxies;
mod server;
mod shrinking;
mod trouble;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use confute_drive::{AnyGenerator, CaseRun, CaseSetup, Gauge, Generator, Limits, Net, Target, run_case};

use protocol::Lines;

/// Runs one case under a name of its own.
fn run(
    address: std::net::SocketAddr,
    limits: &Limits,
    seed: u64,
    generator: impl Generator<Lines>,
) -> CaseRun {
    run_as(&Lines::default(), address, limits, seed, generator)
}

fn run_as(
    protocol: &Lines,
    address: std::net::SocketAddr,
    limits: &Limits,
    seed: u64,
    generator: impl Generator<Lines>,
) -> CaseRun {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("c{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let mut net = Net::new(None).unwrap();
    let setup = CaseSetup {
        protocol,
        target: Target::new(address),
        limits,
        name: &name,
        seed,
        relaxed: &[],
        stop: &AtomicBool::new(false),
        gauge: &Gauge::default(),
    };
    let run = run_case(&mut net, &setup, &mut AnyGenerator::new(generator));
    confute::trace::validate(&run.trace).unwrap();
    run
}

fn limits() -> Limits {
    Limits { connections: 8, patience: Duration::from_secs(1), ..Limits::default() }
}
