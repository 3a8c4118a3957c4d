//! Benchmarks of Confute's speed and memory: `cargo run --release -p bench -- hard | histories DIR | growth | explode`.
//!
//! - `hard` judges generated histories of many shapes and lengths with Confute and two peers, and checks that all of them
//!   agree.
//! - `histories DIR` judges recorded histories with Confute and two peers, each judgement in a separate process.
//! - `growth` runs the online tester on a simulated key-value store, and shows if its speed falls or its memory
//!   grows.
//! - `explode` judges a history designed to be hard, and shows if deadlines and memory budgets are kept.
//!
//! `--json FILE` also writes the figures as JSON. The exit code is 1 if a result is wrong (a wrong verdict of
//! Confute, a correct server refuted, a deadline exceeded by too much), not if something is slow.
//!
//! Definitions: *time* is the CPU time of the process, over all threads, between the call of the judge and its
//! return; reading and translating the file comes before. *Memory* is the peak of the resident set during the first
//! judgement less the resident set before it. The kernel counts pages, and some of them late, so that differences
//! below half a MiB are noise. Neither is comparable between runs on different or busy machines: compare within one
//! run.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing figures is what this crate is for")]

mod explode;
mod growth;
mod hard;
mod histories;
mod measure;
mod oracle;
mod peers;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// Measure the speed and memory of Confute and its peers.
#[derive(Parser)]
#[command(name = "bench")]
struct Args {
    /// Also write the figures to this file
    #[arg(long, global = true)]
    json: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Judge generated histories with Confute and its peers, and compare the verdicts
    Hard(hard::Args),
    /// Judge recorded histories with Confute and its peers
    Histories(histories::Args),
    /// Test a simulated server for long, with many connections
    Growth(growth::Args),
    /// Judge a history designed to be hard, with limited time and memory
    Explode,
    /// One judgement of `histories`
    #[command(hide = true)]
    One(histories::One),
    /// Some judgements of `hard`
    #[command(hide = true)]
    Some(hard::Several),
    /// One cell of `growth`
    #[command(hide = true)]
    Cell(growth::Run),
    /// One row of `explode`
    #[command(hide = true)]
    Blast(explode::Blast),
}

/// The figures, and `true` if all results are right.
struct Report {
    figures: serde_json::Value,
    fine: bool,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    let report = match &args.what {
        What::One(one) => return one.run().and_then(|figures| measure::hand_over(&figures)),
        What::Cell(cell) => return cell.run().and_then(|figures| measure::hand_over(&figures)),
        What::Blast(blast) => return blast.run().and_then(|figures| measure::hand_over(&figures)),
        What::Some(several) => return several.run(),
        What::Hard(args) => hard::run(args)?,
        What::Histories(args) => histories::run(args)?,
        What::Growth(args) => growth::run(args)?,
        What::Explode => explode::run()?,
    };
    if cfg!(debug_assertions) {
        println!("\nNot optimised: these figures mean nothing. Use --release.");
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&report.figures)?;
        std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(report.fine)
}
