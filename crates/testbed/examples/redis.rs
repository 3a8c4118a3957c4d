//! Runs a Redis behind a proxy, with a fault or without: `cargo run -p confute-testbed --example redis -- stale-read`.
#![allow(clippy::print_stdout, reason = "it has to say where it listens")]

use std::error::Error;
use std::time::Duration;

use confute_testbed::redis::{Fault, Faulty, Redis};

fn main() -> Result<(), Box<dyn Error>> {
    let fault = match std::env::args().nth(1) {
        None => None,
        Some(name) => Some(Fault::from_name(&name).ok_or_else(|| {
            let known: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
            format!("no fault {name:?}; there are {}", known.join(", "))
        })?),
    };
    let redis = Redis::start(&[])?;
    let proxy = Faulty::start(redis.address(), fault)?;
    println!("{}", proxy.address());
    // The server runs until the process is stopped, at most for an hour.
    std::thread::sleep(Duration::from_hours(1));
    Ok(())
}
