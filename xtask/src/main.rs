//! Development tasks of the project: `cargo xtask soak …`, `cargo xtask faults`, `cargo xtask bugs`, `cargo xtask shrunk`,
//! `cargo xtask eval …`, `cargo xtask scale …` and `cargo xtask bench …`. (`cargo xtask test` and `newcomer` are in the package `ci`.)
//!
//! A task reports what it does, how long it took, and what it skipped and why. Under `CI=true` nothing may be
//! skipped.

// Tasks report by printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bugs;
mod compile;
mod eval;
mod faults;
mod hunt;
mod live;
mod naming;
mod odd;
mod scale;
mod shrunk;
mod soak;
mod speed;

use std::env;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use ci::{cargo, is_strict, root};
use clap::{Parser, Subcommand};

/// Development tasks of the project.
///
/// `cargo xtask test` runs all checks that must pass before a change is merged: format, lints, tests, short soaks. `cargo xtask newcomer`
/// writes a crate with `confute new`, compiles it in a clean folder, and finds its planted bug, in three minutes.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run long campaigns and check that the tester is right
    Soak {
        #[command(subcommand)]
        what: Soak,
    },
    /// Plant faults in the search, one at a time, and check that the oracle tests notice each
    Faults(faults::Args),
    /// Find each bug of the embedded HTTP server, and report the time and the rules blamed
    Bugs(bugs::Args),
    /// Shrink a counterexample of each bug, and compare it with the smallest possible
    Shrunk(shrunk::Args),
    /// Repeat and extend the paper's evaluation: time to refute mutants and shipped servers
    Eval {
        #[command(subcommand)]
        what: eval::Eval,
    },
    /// Run campaigns over many machines: shards, merging, engines
    Scale {
        #[command(subcommand)]
        what: scale::Scale,
    },
    /// Measure speed
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// Judge the responses of an nginx, and compare the rate with wrk, which only counts them
    Http(speed::Args),
    /// Compile the binary from scratch: CPU seconds per crate, size, copies of the search
    Build(compile::Args),
}

#[derive(Subcommand)]
enum Soak {
    /// Simulated servers: correct ones are never refuted, wrong ones are refuted and blamed correctly
    Engine(soak::Engine),
    /// The correct embedded HTTP server over real sockets: never refuted
    Http(live::Args),
    /// Correct but deliberately unusual HTTP servers, origin and gateway: never accused; their illegal twins: always
    Odd(odd::Args),
    /// Debian's memcached: never refuted
    Memcached(live::Args),
    /// Debian's Redis: never refuted
    Redis(live::Args),
}

fn main() -> ExitCode {
    if let Some(code) = compile::in_place_of_the_compiler() {
        return code;
    }
    match run(Args::parse().chore) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a task. Returns `true` if it succeeded.
fn run(chore: Chore) -> Result<bool> {
    match chore {
        Chore::Soak { what: Soak::Engine(engine) } => soak::run(&engine),
        Chore::Soak { what: Soak::Http(args) } => live::http(&args),
        Chore::Soak { what: Soak::Odd(args) } => odd::run(&args),
        Chore::Soak { what: Soak::Memcached(args) } => live::memcached(&args),
        Chore::Soak { what: Soak::Redis(args) } => live::redis(&args),
        Chore::Faults(args) => faults::run(&args),
        Chore::Bugs(args) => bugs::run(&args),
        Chore::Shrunk(args) => shrunk::run(&args),
        Chore::Eval { what } => eval::run(&what),
        Chore::Scale { what } => scale::run(&what),
        Chore::Bench { what: Bench::Http(args) } => speed::run(&args),
        Chore::Bench { what: Bench::Build(args) } => compile::run(&args),
    }
}

/// Runs the same task in a release build, for tasks that are useless without optimisation.
fn again_in_release() -> Result<bool> {
    let own = env::args().skip(1).collect::<Vec<_>>();
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "xtask", "--"])?;
    let status = command.args(own).status().context("cannot run cargo")?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}
