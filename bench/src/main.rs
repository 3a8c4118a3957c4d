//! How fast and how small Confute is: `cargo run --release -p bench -- histories DIR | growth | explode`.
//!
//! - `histories DIR` judges histories that others recorded, beside two peers, each judgement in a process of its own.
//! - `growth` lets the online tester watch a simulated key-value store, and shows whether it slows down or grows.
//! - `explode` judges a history made to be hard, and shows whether deadlines and memory budgets are kept.
//!
//! `--json FILE` writes the same figures for programs. The exit code is 1 if something is wrong (a wrong verdict of
//! Confute, a correct server refuted, a deadline passed by too much), not if something is slow.
//!
//! What is measured. *Time* is CPU time of the process, of all its threads, between the call of the judge and its
//! return; reading and translating the file comes before. *Memory* is the peak of the resident set during the first
//! judgement less what was resident before it. The kernel counts pages, and some of them late, so that differences below
//! half a MiB mean nothing. Neither is comparable between runs on different or busy machines: compare within one run.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing figures is what this crate is for")]

mod explode;
mod growth;
mod histories;
mod measure;
mod peers;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// How fast and how small Confute is, beside its peers.
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
    /// Judge recorded histories, beside the peers
    Histories(histories::Args),
    /// Watch a simulated server for long, with many connections
    Growth(growth::Args),
    /// Judge a history made to be hard, on a budget
    Explode,
    /// One judgement of `histories`
    #[command(hide = true)]
    One(histories::One),
    /// One cell of `growth`
    #[command(hide = true)]
    Cell(growth::Run),
    /// One row of `explode`
    #[command(hide = true)]
    Blast(explode::Blast),
}

/// The figures, and whether all is as it should be.
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
