//! The project's own chores: `cargo xtask test`, `cargo xtask soak …`, `cargo xtask faults`, `cargo xtask bugs`,
//! `cargo xtask shrunk`, `cargo xtask eval …` and `cargo xtask bench …`.
//!
//! A chore says what it does, how long it took, and what it left out and why. Under `CI=true` nothing may be left out.

// Printing is what a chore is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bugs;
mod compile;
mod eval;
mod faults;
mod hunt;
mod live;
mod odd;
mod packages;
mod shrunk;
mod soak;
mod speed;
mod test;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// The chores of the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must hold before a change goes in: format, lints, tests, a short soak
    Test,
    /// Let models run for long and see that the tester is right about them
    Soak {
        #[command(subcommand)]
        what: Soak,
    },
    /// Plant faults in the search, one at a time, and see that the oracle tests notice each
    Faults(faults::Args),
    /// Let the embedded HTTP server make each of its mistakes, and say how soon it is found and what is blamed
    Bugs(bugs::Args),
    /// Let it make each of its mistakes, and say how small the case is that shows it, beside the smallest there is
    Shrunk(shrunk::Args),
    /// The paper's evaluation, redone and extended: how soon mutants and shipped servers are refuted
    Eval {
        #[command(subcommand)]
        what: eval::Eval,
    },
    /// How fast it is beside others
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
}

#[derive(Subcommand)]
enum Bench {
    /// Judging the answers of an nginx, beside wrk, which only counts them
    Http(speed::Args),
    /// Compiling the binary from nothing: CPU seconds per crate, its size, the copies of the search in it
    Build(compile::Args),
}

#[derive(Subcommand)]
enum Soak {
    /// Simulated servers: correct ones are never refuted, wrong ones are refuted for their reason
    Engine(soak::Engine),
    /// The correct embedded HTTP server over real sockets: it is never refuted
    Http(live::Args),
    /// Correct HTTP servers that are odd on purpose, origin and gateway: never accused; their illegal twins: always
    Odd(odd::Args),
    /// Debian's memcached: it is never refuted
    Memcached(live::Args),
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

/// Does it; whether all is well.
fn run(chore: Chore) -> Result<bool> {
    match chore {
        Chore::Test => test::run(),
        Chore::Soak { what: Soak::Engine(engine) } => soak::run(&engine),
        Chore::Soak { what: Soak::Http(args) } => live::http(&args),
        Chore::Soak { what: Soak::Odd(args) } => odd::run(&args),
        Chore::Soak { what: Soak::Memcached(args) } => live::memcached(&args),
        Chore::Faults(args) => faults::run(&args),
        Chore::Bugs(args) => bugs::run(&args),
        Chore::Shrunk(args) => shrunk::run(&args),
        Chore::Eval { what } => eval::run(&what),
        Chore::Bench { what: Bench::Http(args) } => speed::run(&args),
        Chore::Bench { what: Bench::Build(args) } => compile::run(&args),
    }
}

/// Whether nothing may be left out.
fn is_strict() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Some chores are of no use without optimisation.
fn again_in_release() -> Result<bool> {
    let own = env::args().skip(1).collect::<Vec<_>>();
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "xtask", "--"])?;
    let status = command.args(own).status().context("cannot run cargo")?;
    Ok(status.success())
}

/// The root of the workspace.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("the chores are in a folder of the workspace")?.to_owned())
}

/// Cargo, in the workspace.
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
