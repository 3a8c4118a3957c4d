//! `cargo xtask test` and `cargo xtask newcomer`. Any other chore is one of the package `xtask`, which is compiled for it.
//!
//! A chore reports what it does, how long it took, and what it skipped and why. Under `CI=true` nothing may be skipped.

// Chores report by printing.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod binaries;
mod newcomer;
mod test;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use ci::cargo;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let passed = match words.as_slice() {
        ["test"] => test::run()?,
        ["newcomer"] => newcomer::run(false)?,
        ["newcomer", "--built"] => newcomer::run(true)?,
        _ => return other(arguments),
    };
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs a chore of the package `xtask`.
fn other(arguments: &[OsString]) -> Result<ExitCode> {
    let mut command = cargo(&["run", "--quiet", "--package", "xtask", "--"])?;
    let status =
        command.args(arguments).current_dir(env::current_dir()?).status().context("cannot run cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
