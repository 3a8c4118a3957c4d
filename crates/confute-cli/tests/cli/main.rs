//! The command line as its users meet it: what it prints, and what it exits with.

#![allow(
    clippy::unwrap_used,
    clippy::needless_raw_string_hashes,
    reason = "a panic is a failing test, and snapshots are written by a program"
)]

mod broken;
mod check;
mod demo;
mod exhaustive;
mod export;
mod help;
mod hostile;
mod live;
mod nginx;
mod rails;
mod reading;
mod real;
mod rules;
mod secrets;
mod tls;

use std::path::Path;

use snapbox::cmd::Command;
use snapbox::{Assert, Redactions};

/// `confute` among the data files, as if in a pipe and without colour.
fn confute() -> Command {
    Command::new(env!("CARGO_BIN_EXE_confute"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .with_assert(Assert::new().action_env("SNAPSHOTS").redact_with(times()))
}

/// Times differ from run to run.
fn times() -> Redactions {
    let mut redactions = Redactions::new();
    redactions.insert("[TIME]", regex::Regex::new(r"\d+(\.\d+)? m?s\b").unwrap()).unwrap();
    redactions
}

/// What a command prints and exits with.
fn said(command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
