//! `cargo xtask scale sizing`: the speed of shards that run beside each other on this machine, each with a server of its own.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::{Server, fresh, programs};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Testing time of each shard, in seconds
    #[arg(long, default_value = "10")]
    seconds: u64,
    /// Numbers of shards at the same time
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8")]
    shards: Vec<u64>,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let (confute, embedded) = programs()?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    println!("{cores} cores; `confute http` against the correct embedded server, one server for each shard");
    println!("shards  cases/s  responses/s  of one shard  record  merge");
    for shards in &args.shards {
        let root = fresh(&format!("sizing-{shards}"))?;
        let servers = (0..*shards).map(|_| Server::start(&embedded, &[])).collect::<Result<Vec<_>>>()?;
        let mut running: Vec<Child> = Vec::new();
        for (index, server) in servers.iter().enumerate() {
            let child = Command::new(&confute)
                .args(["http", &server.url, "--seed", "7", "-q", "--max-time", &format!("{}s", args.seconds)])
                .args(["--shard", &format!("{index}/{shards}"), "--report-dir"])
                .arg(root.join(index.to_string()))
                .stdout(Stdio::null())
                .spawn()?;
            running.push(child);
        }
        for mut child in running {
            child.wait()?;
        }
        let folders: Vec<_> = (0..*shards).map(|index| root.join(index.to_string())).collect();
        let start = Instant::now();
        Command::new(&confute)
            .arg("merge")
            .args(&folders)
            .args(["-q", "--report-dir"])
            .arg(root.join("merged"))
            .stdout(Stdio::null())
            .status()?;
        let merge = start.elapsed().as_secs_f64();
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(root.join("merged/summary.json"))?)?;
        let number = |value: &serde_json::Value| value.as_f64().context("a number");
        let seconds = number(&summary["milliseconds"])? / 1e3 / *shards as f64;
        let (cases, answers) = (number(&summary["cases"]["all"])?, number(&summary["answers"])?);
        let size = std::fs::metadata(root.join("0/record.json"))?.len();
        println!(
            "{shards:>6}  {:>7.1}  {:>11.0}  {:>12.0}  {:>3.0} kB  {merge:.2} s",
            cases / seconds,
            answers / seconds,
            answers / seconds / *shards as f64,
            size as f64 / 1e3
        );
    }
    Ok(true)
}
