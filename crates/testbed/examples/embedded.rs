//! Runs the embedded server for manual inspection: `cargo run -p confute-testbed --example embedded -- [BUG...]`.
#![allow(clippy::print_stdout, reason = "it has to say where it listens")]

use std::error::Error;
use std::time::Duration;

use confute_testbed::embedded::{Bug, Config, Embedded};

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    for name in std::env::args().skip(1) {
        config = config.bug(Bug::from_name(&name).ok_or_else(|| format!("no bug {name:?}"))?);
    }
    let server = Embedded::start(config)?;
    println!("http://{}/", server.addr());
    // The server runs until the process is stopped, at most for an hour.
    std::thread::sleep(Duration::from_hours(1));
    Ok(())
}
