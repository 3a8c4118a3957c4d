//! Functions that all chores of the project share: the root of the workspace, Cargo, the programs that tests need, and the CPU time of
//! child processes.

// Chores report by printing.
#![allow(clippy::print_stdout)]

pub mod packages;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// Returns `true` if nothing may be skipped.
pub fn is_strict() -> bool {
    env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Returns the root of the workspace.
pub fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().context("the chores are in a folder of the workspace")?.to_owned())
}

/// Returns a Cargo command that runs in the workspace.
pub fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// Returns the CPU time of the child processes that have ended, user and system, in hundredths of a second (the unit in which Linux
/// always reports it). `status` is the text of `/proc/self/stat`.
pub fn children(status: &str) -> Option<f64> {
    // The program name is in parentheses and may contain any character.
    let fields = status.rsplit_once(')')?.1;
    let mut times = fields.split_whitespace().skip(13);
    Some(times.next()?.parse::<f64>().ok()? + times.next()?.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_children_are_read() {
        let status = "7 (a ) b) S 1 7 7 0 -1 4194560 9 8 0 0 3 4 1200 34 20 0 1 0 5 6 7";
        assert_eq!(children(status), Some(1234.0));
        assert_eq!(children("7 (a) S 1"), None);
    }
}
