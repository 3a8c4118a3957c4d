//! `cargo xtask faults`: checks that the oracle tests notice faults in the search.
//!
//! The engine is fast because it leaves out work, each time under a premise. Every premise can be dropped in a test build
//! (`crates/confute/src/derive/fault.rs`), and a stored trace shows for each that an oracle notices. Here the stored traces
//! are judged, and with `--hunt` new ones are looked for where there are none.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::root;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Look for traces that show faults for which none is stored, and store them
    #[arg(long)]
    hunt: bool,
    /// Number of random traces among which to hunt
    #[arg(long, default_value = "20000")]
    triples: u64,
}

/// The tests that plant faults: package, test file.
const TESTS: [(&str, &str); 3] =
    [("confute", "engine_vs_oracles"), ("confute-models", "twins"), ("confute-models", "litmus")];

pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut passed = true;
    for (package, test) in TESTS {
        let filter: &[&str] =
            if args.hunt { &["--ignored", "hunt"] } else { &["planted_faults_are_noticed"] };
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--package", package, "--test", test, "--", "--nocapture"])
            .args(filter)
            .current_dir(root()?)
            .env("CONFUTE_TRIPLES", args.triples.to_string())
            .status()
            .context("cannot run cargo")?;
        passed &= status.success();
    }
    Ok(passed)
}
