//! The project's own chores: `cargo xtask test`, `cargo xtask soak engine` and `cargo xtask faults`.
//!
//! A chore says what it does, how long it took, and what it left out and why. Under `CI=true` nothing may be left out.

// Printing is what a chore is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod faults;
mod packages;
mod soak;
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
}

#[derive(Subcommand)]
enum Soak {
    /// Simulated servers: correct ones are never refuted, wrong ones are refuted for their reason
    Engine(soak::Engine),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().chore {
        Chore::Test => test::run(),
        Chore::Soak { what: Soak::Engine(engine) } => soak::run(&engine),
        Chore::Faults(args) => faults::run(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether nothing may be left out.
fn is_strict() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
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
