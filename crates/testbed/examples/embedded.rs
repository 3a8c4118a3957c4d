//! Runs the embedded server for manual inspection: `cargo run -p confute-testbed --example embedded -- [BUG...]`.
//! A number is the port to listen on. Any other word, such as `help`, lists the bugs.
#![allow(clippy::print_stdout, reason = "it has to say where it listens")]

use std::error::Error;
use std::time::Duration;

use confute_testbed::embedded::{Bug, Config, Embedded};

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    for name in std::env::args().skip(1) {
        if let Ok(port) = name.parse() {
            config.port = port;
            continue;
        }
        let Some(bug) = Bug::from_name(&name) else {
            println!("`{name}` is no bug of the embedded server. Its bugs:");
            for bug in Bug::all() {
                println!("  {:34} {}", bug.name(), bug.description());
            }
            std::process::exit(2);
        };
        config = config.bug(bug);
    }
    let server = Embedded::start(config)?;
    println!("http://{}/", server.addr());
    // The server runs until the process is stopped, at most for an hour.
    std::thread::sleep(Duration::from_hours(1));
    Ok(())
}
