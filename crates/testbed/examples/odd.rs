//! Runs an odd server for manual inspection: `cargo run -p confute-testbed --example odd -- [ODDITY...]`. The illegal
//! twin of an oddity is its name followed by `!`, as in `late-tag!`. `cargo xtask soak odd --list` prints the names.
#![allow(clippy::print_stdout, reason = "it has to say where it listens")]

use std::error::Error;
use std::time::Duration;

use confute_testbed::odd::{Habits, OddServer, Oddity};

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<_> = std::env::args().skip(1).collect();
    let oddity = |name: &str| Oddity::from_name(name).ok_or_else(|| format!("no oddity {name:?}"));
    let (twins, names): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| name.ends_with('!'));
    let habits = Habits::of(names.into_iter().map(|name| oddity(name)).collect::<Result<Vec<_>, _>>()?, 1);
    let habits = match &twins[..] {
        [] => habits,
        [twin] => habits.breaking(oddity(twin.trim_end_matches('!'))?),
        _ => return Err("one twin at most".into()),
    };
    let server = OddServer::origin(habits)?;
    println!("http://{}/", server.addr());
    // The server runs until the process is stopped, at most for an hour.
    std::thread::sleep(Duration::from_hours(1));
    Ok(())
}
