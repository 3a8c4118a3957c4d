//! `cargo xtask scale …`: campaigns over many machines, measured and really run.
//!
//! These tasks start servers and engines, take minutes, or need programs that the tests do not. What they print is what
//! docs/scale.md quotes.

mod check;
mod examples;
mod exhaustive;
mod merge;
mod simulate;
mod sizing;
mod slurm;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{cargo, root};

/// A task of `cargo xtask scale`.
#[derive(clap::Subcommand)]
pub(crate) enum Scale {
    /// Merge 10,000 made-up folders with 100,000 occurrences of 12 causes: time, memory, and nothing lost
    Merge(merge::Args),
    /// Run every script of three requests in 8 shards, each through a server that counts it
    Exhaustive(exhaustive::Args),
    /// Judge 10,000 generated histories in 16 shards, and compare the table with that of one run
    Check(check::Args),
    /// Run a campaign of 16 shards under Slurm, kill one, requeue one, and compare with one run
    Slurm(slurm::Args),
    /// Measure how fast shards are that share this machine
    Sizing(sizing::Args),
    /// Simulate campaigns of 1 to 1,000 shards with stragglers and failures
    Simulate(simulate::Args),
    /// Validate the manifests in docs/scale with programs of the registries of Python and Node
    Examples,
}

pub(crate) fn run(what: &Scale) -> Result<bool> {
    match what {
        Scale::Merge(args) => merge::run(args),
        Scale::Exhaustive(args) => exhaustive::run(args),
        Scale::Check(args) => check::run(args),
        Scale::Slurm(args) => slurm::run(args),
        Scale::Sizing(args) => sizing::run(args),
        Scale::Simulate(args) => {
            simulate::run(args);
            Ok(true)
        }
        Scale::Examples => examples::run(),
    }
}

/// Builds the binary and the embedded server. Returns their paths.
fn programs() -> Result<(PathBuf, PathBuf)> {
    for arguments in [
        &["build", "-q", "-p", "confute-cli"][..],
        &["build", "-q", "-p", "confute-testbed", "--example", "embedded"],
    ] {
        if !cargo(arguments)?.status().context("cannot run cargo")?.success() {
            bail!("cargo {} failed", arguments.join(" "));
        }
    }
    let target = root()?.join("target/debug");
    Ok((target.join("confute"), target.join("examples/embedded")))
}

/// Creates an empty folder below `target/scale`.
fn fresh(name: &str) -> Result<PathBuf> {
    let folder = root()?.join("target/scale").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The embedded server as a process of its own, ended when dropped.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    fn start(program: &Path, bugs: &[&str]) -> Result<Self> {
        let mut process = Command::new(program)
            .args(bugs)
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let out = process.stdout.take().context("the output is piped")?;
        let mut url = String::new();
        BufReader::new(out).read_line(&mut url).context("the server said nothing")?;
        Ok(Self { process, url: url.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The result of a process: exit code, output, and most memory that it used.
struct Ended {
    code: i32,
    out: String,
    err: String,
    peak_kib: u64,
}

/// Runs a command, and watches its memory.
fn watched(command: &mut Command) -> Result<Ended> {
    let mut process =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start")?;
    let status = format!("/proc/{}/status", process.id());
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        })
    };
    let out = read(process.stdout.take().map(|pipe| Box::new(pipe) as _));
    let err = read(process.stderr.take().map(|pipe| Box::new(pipe) as _));
    let mut peak_kib = 0;
    let code = loop {
        if let Some(line) = fs::read_to_string(&status)
            .ok()
            .as_deref()
            .and_then(|text| text.lines().find(|line| line.starts_with("VmHWM:")))
            && let Some(size) = line.split_whitespace().nth(1).and_then(|size| size.parse::<u64>().ok())
        {
            peak_kib = peak_kib.max(size);
        }
        if let Some(status) = process.try_wait()? {
            break status.code().unwrap_or(-1);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    Ok(Ended { code, out: text(out), err: text(err), peak_kib })
}

/// Returns the rule sets of the violations that refute, as a report folder lists them, sorted.
fn blamed(folder: &Path) -> Result<Vec<String>> {
    let text = fs::read(folder.join("summary.json"))
        .with_context(|| format!("no summary in {}", folder.display()))?;
    let summary: serde_json::Value = serde_json::from_slice(&text)?;
    let findings = summary["findings"].as_array().cloned().unwrap_or_default();
    let mut blamed = Vec::new();
    for one in findings.iter().filter(|one| one["refutes"] == true) {
        let sets = one["experiment"]["left"].as_array().or_else(|| one["blame"].as_array());
        let names: Vec<String> = sets.into_iter().flatten().map(|set| set["rules"].to_string()).collect();
        blamed.push(names.join(" or "));
    }
    blamed.sort();
    blamed.dedup();
    Ok(blamed)
}
