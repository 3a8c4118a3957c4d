//! Runs an odd server, for somebody to look at: `cargo run -p confute-testbed --example odd -- [ODDITY...]`. The illegal twin
//! of an oddity has a `!` behind its name, as in `late-tag!`. `cargo xtask soak odd --list` has the names.
#![allow(clippy::print_stdout, reason = "it has to say where it listens")]

use std::error::Error;
use std::time::Duration;

use confute_testbed::odd::{Habits, OddServer, Oddity};

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<_> = std::env::args().skip(1).collect();
    let oddity = |name: &str| Oddity::from_name(name).ok_or_else(|| format!("no oddity {name:?}"));
    let habits = match &names[..] {
        [twin] if twin.ends_with('!') => Habits::twin(oddity(twin.trim_end_matches('!'))?, 1),
        names => Habits::of(names.iter().map(|name| oddity(name)).collect::<Result<Vec<_>, _>>()?, 1),
    };
    let server = OddServer::origin(habits)?;
    println!("http://{}/", server.addr());
    // Until somebody ends it, an hour at most.
    std::thread::sleep(Duration::from_hours(1));
    Ok(())
}
