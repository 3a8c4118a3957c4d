//! Development tasks of the project: `cargo xtask test`, `cargo xtask soak …`, `cargo xtask faults`,
//! `cargo xtask bugs`, `cargo xtask shrunk`, `cargo xtask eval …`, `cargo xtask scale …` and
//! `cargo xtask bench …`.
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
mod newcomer;
mod odd;
mod packages;
mod scale;
mod shrunk;
mod soak;
mod speed;
mod test;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// Development tasks of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run all checks that must pass before a change is merged: format, lints, tests, short soaks
    Test,
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
    /// Write a crate with `confute new`, compile it in a clean folder, and find its planted bug: in three minutes
    Newcomer,
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
        Chore::Test => test::run(),
        Chore::Soak { what: Soak::Engine(engine) } => soak::run(&engine),
        Chore::Soak { what: Soak::Http(args) } => live::http(&args),
        Chore::Soak { what: Soak::Odd(args) } => odd::run(&args),
        Chore::Soak { what: Soak::Memcached(args) } => live::memcached(&args),
        Chore::Soak { what: Soak::Redis(args) } => live::redis(&args),
        Chore::Faults(args) => faults::run(&args),
        Chore::Newcomer => newcomer::run(),
        Chore::Bugs(args) => bugs::run(&args),
        Chore::Shrunk(args) => shrunk::run(&args),
        Chore::Eval { what } => eval::run(&what),
        Chore::Scale { what } => scale::run(&what),
        Chore::Bench { what: Bench::Http(args) } => speed::run(&args),
        Chore::Bench { what: Bench::Build(args) } => compile::run(&args),
    }
}

/// Returns `true` if nothing may be skipped.
fn is_strict() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Runs the same task in a release build, for tasks that are useless without optimisation.
fn again_in_release() -> Result<bool> {
    let own = env::args().skip(1).collect::<Vec<_>>();
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "xtask", "--"])?;
    let status = command.args(own).status().context("cannot run cargo")?;
    Ok(status.success())
}

/// Returns the root of the workspace.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("the chores are in a folder of the workspace")?.to_owned())
}

/// Returns a Cargo command that runs in the workspace.
fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()?);
    Ok(command)
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
