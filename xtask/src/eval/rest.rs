//! Confute beside Schemathesis on the to-do service of `examples/todo`, with each of its bugs in turn.
//!
//! Both read the same document and have the same time. A bug counts as found by Confute if the service is refuted or warned about
//! (on the correct service it must be neither), and by Schemathesis if it reports a kind of failure that it does not report on the
//! correct service. Confute ends at its first finding and does not shrink here; Schemathesis has no way to end at the first failure of a
//! new kind, so it runs for its whole time. Requests are counted by the service.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use ci::packages;

use crate::{cargo, root};

/// Bugs of the service, those that one client meets first, then those that need two clients at once.
const BUGS: [(&str, &str); 13] = [
    ("IfMatchIgnored", "one client"),
    ("IdReuse", "one client"),
    ("StaleList", "one client"),
    ("PageLacks", "one client"),
    ("OldFilter", "one client"),
    ("DeletedStays", "one client"),
    ("WrongType", "one client"),
    ("Crash", "one client"),
    ("IfMatchRace", "two at once"),
    ("LostUpdate", "two at once"),
    ("IdRace", "two at once"),
    ("LostCreate", "two at once"),
    ("DeleteRace", "two at once"),
];
/// Directory of this workspace in which Schemathesis is installed.
const FOLDER: &str = "target/schemathesis";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, default_value = "3")]
    seeds: u64,
    /// Time of a run, in seconds
    #[arg(long, default_value = "20")]
    time: u64,
    /// Only this bug; can be given several times
    #[arg(long, value_name = "BUG")]
    only: Vec<String>,
}

/// One run of a tool.
struct Run {
    /// The kinds of findings.
    kinds: BTreeSet<String>,
    requests: u64,
    time: Duration,
}

/// Runs both tools on each bug, and prints a table.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let folder = root()?.join(FOLDER);
    if !folder.join("schemathesis").is_dir() && !packages::pip_into(&folder, &["schemathesis"]) {
        bail!("Schemathesis cannot be installed: python3 -m pip install --target {FOLDER} schemathesis");
    }
    let built = cargo(&["build", "--quiet", "--package", "todo", "--package", "confute-cli"])?.status()?;
    if !built.success() {
        bail!("the service or the tester does not compile");
    }
    let place = Place { root: root()?, folder, time: args.time };

    let mut usual = BTreeSet::new();
    for seed in 1..=args.seeds {
        let run = place.confute("", seed)?;
        println!("correct, seed {seed}: Confute reports {:?}, {} requests", run.kinds, run.requests);
        let run = place.schemathesis("", seed, None)?;
        println!("correct, seed {seed}: Schemathesis reports {:?}, {} requests", run.kinds, run.requests);
        usual.extend(run.kinds);
    }
    println!(
        "\n| bug | clients | Confute | requests, seconds | Schemathesis | requests, seconds |\n|---|---|---|---|---|---|"
    );
    for (bug, clients) in
        BUGS.iter().filter(|(bug, _)| args.only.is_empty() || args.only.iter().any(|one| one == bug))
    {
        let ours = (1..=args.seeds).map(|seed| place.confute(bug, seed)).collect::<Result<Vec<_>>>()?;
        let theirs = (1..=args.seeds)
            .map(|seed| place.schemathesis(bug, seed, Some(&usual)))
            .collect::<Result<Vec<_>>>()?;
        println!("| `{bug}` | {clients} | {} | {} |", told(&ours), told(&theirs));
    }
    Ok(true)
}

/// Writes how often a bug was found, as what, and with what effort.
fn told(runs: &[Run]) -> String {
    let found: Vec<&Run> = runs.iter().filter(|run| !run.kinds.is_empty()).collect();
    let kinds: BTreeSet<&String> = found.iter().flat_map(|run| &run.kinds).collect();
    let kinds: Vec<&str> = kinds.into_iter().map(String::as_str).collect();
    let effort = if found.is_empty() { runs.iter().collect() } else { found.clone() };
    let mut requests: Vec<u64> = effort.iter().map(|run| run.requests).collect();
    let mut times: Vec<Duration> = effort.iter().map(|run| run.time).collect();
    requests.sort_unstable();
    times.sort_unstable();
    let middle = effort.len() / 2;
    let figures = format!("{}, {:.1}", requests[middle], times[middle].as_secs_f64());
    format!("{} of {} {} | {figures}", found.len(), runs.len(), kinds.join(", "))
}

/// The places of the programs, and the time of a run.
struct Place {
    root: PathBuf,
    folder: PathBuf,
    time: u64,
}

impl Place {
    fn document(&self) -> String {
        self.root.join("examples/todo/openapi.yaml").display().to_string()
    }

    fn program(&self, name: &str) -> PathBuf {
        self.root.join("target/debug").join(name)
    }

    fn confute(&self, bug: &str, seed: u64) -> Result<Run> {
        let service = Service::start(&self.program("todo"), bug)?;
        let start = Instant::now();
        let time = format!("{}s", self.time);
        let output = Command::new(self.program("confute"))
            .args(["rest", &self.document(), &service.url, "--max-time", &time, "--seed", &seed.to_string()])
            .args(["--max-failures", "1", "--no-shrink", "--format", "json", "--strict"])
            .stdin(Stdio::null())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let kinds = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let kinds = kinds.filter_map(|value| rules(&value)).collect();
        Ok(Run { kinds, requests: service.end()?, time: start.elapsed() })
    }

    /// Runs Schemathesis, and leaves out the kinds of failures that it reports on the correct service.
    fn schemathesis(&self, bug: &str, seed: u64, usual: Option<&BTreeSet<String>>) -> Result<Run> {
        let service = Service::start(&self.program("todo"), bug)?;
        let start = Instant::now();
        let mut child = Command::new("python3")
            .arg(self.folder.join("bin/schemathesis"))
            .args(["run", &self.document(), "--url", service.url.trim_end_matches('/'), "--no-color"])
            .args(["--max-time", &self.time.to_string(), "--seed", &seed.to_string(), "--workers", "4"])
            .env("PYTHONPATH", &self.folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut text = String::new();
        child.stdout.take().context("its output is captured")?.read_to_string(&mut text)?;
        child.wait()?;
        let kinds =
            text.lines().filter_map(|line| line.trim().strip_prefix("- ST")).map(|rest| format!("ST{rest}"));
        let kinds = kinds.filter(|kind| usual.is_none_or(|usual| !usual.contains(kind))).collect();
        Ok(Run { kinds, requests: service.end()?, time: start.elapsed() })
    }
}

/// Returns the rules that a line of Confute's report blames, if it is about a violation.
fn rules(line: &serde_json::Value) -> Option<String> {
    let names = |blame: &serde_json::Value| {
        let rules = blame["rules"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        format!("`{}`", rules.collect::<Vec<_>>().join("` and `"))
    };
    Some(line["blame"].as_array()?.iter().map(names).collect::<Vec<_>>().join(" or "))
}

/// The to-do service, running.
struct Service {
    process: Child,
    url: String,
    output: BufReader<std::process::ChildStdout>,
}

impl Service {
    fn start(program: &Path, bug: &str) -> Result<Self> {
        let mut command = Command::new(program);
        if !bug.is_empty() {
            command.arg(bug);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut output = BufReader::new(process.stdout.take().context("its output is captured")?);
        let mut url = String::new();
        output.read_line(&mut url)?;
        Ok(Self { process, url: url.trim().to_owned(), output })
    }

    /// Ends the service. Returns the number of requests that it has answered.
    fn end(mut self) -> Result<u64> {
        drop(self.process.stdin.take());
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        self.process.wait()?;
        line.split(' ').next().and_then(|count| count.parse().ok()).context("it does not tell its requests")
    }
}
