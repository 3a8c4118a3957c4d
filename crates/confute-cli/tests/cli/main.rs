//! The command line as users see it: its output and exit codes.

#![allow(
    clippy::unwrap_used,
    clippy::needless_raw_string_hashes,
    reason = "a panic is a failing test, and snapshots are written by a program"
)]

mod broken;
mod check;
mod demo;
mod exhaustive;
mod experiments;
mod export;
mod help;
mod hostile;
mod live;
mod new;
mod nginx;
mod rails;
mod reading;
mod real;
mod rules;
mod scale;
mod secrets;
mod services;
mod surveys;
mod tls;

use std::path::Path;

use snapbox::cmd::Command;
use snapbox::{Assert, Redactions};

/// Returns a `confute` command in the folder of data files, without a terminal and without colour.
fn confute() -> Command {
    Command::new(env!("CARGO_BIN_EXE_confute"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .with_assert(Assert::new().action_env("SNAPSHOTS").redact_with(times()))
}

/// Redacts times, which differ from run to run.
fn times() -> Redactions {
    let mut redactions = Redactions::new();
    redactions.insert("[TIME]", regex::Regex::new(r"\d+(\.\d+)? m?s\b").unwrap()).unwrap();
    redactions
}

/// Returns exit code, standard output and standard error of a command.
fn said(command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
