//! Flags of all tests of live servers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use confute::lang::{Level, Rule};
use confute_drive::{Limits, Plan, Target, Workers};
use confute_record::Shard;
use confute_run::{fresh_seed, guard, quantity};

use crate::args::Format;
use crate::near;
use crate::shard::{self, ShardChoice};

/// Default testing time.
const LONG: Duration = Duration::from_secs(30);

/// Number of cases that need much memory at the same time, of as many as the server allows.
const HUNGRY: usize = 4;

/// Flags for the extent of the test and for its output.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// Seed of all random choices [default: random; it is always printed].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Testing time: 30s, 5m, 1h [default: 30s, or unlimited for an exhaustive run].
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    pub(crate) max_time: Option<Duration>,
    /// Maximum number of cases, of all shards together.
    #[arg(long, value_name = "N")]
    pub(crate) cases: Option<u64>,
    /// Number of violations after which the run ends.
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) max_failures: usize,
    /// Number of connections that a case opens.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) connections: u32,
    /// Number of cases that run at the same time, up to 256, or `auto`: as many as keep the tester busy while others wait, with
    /// no more connections than the server takes (one through a gateway, since the tester has one address for `--origin`).
    #[arg(long, value_name = "N", default_value = "auto", value_parser = workers)]
    pub(crate) workers: Workers,
    /// Time to wait for a response.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = quantity::duration)]
    pub(crate) patience: Duration,
    /// Do not require this rule; can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    #[command(flatten)]
    pub(crate) counted: CountedFlags,
    /// Show violations as they were found, without shrinking and experiments.
    #[arg(long)]
    pub(crate) no_shrink: bool,
    /// Time for shrinking and experiments: for each violation, and for all of them once testing is over.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::duration, conflicts_with = "no_shrink")]
    pub(crate) shrink_time: Duration,
    /// Write reports into this directory: for each violation its trace and its script, and a summary.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) report_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scale: ScaleFlags,
    #[command(flatten)]
    pub(crate) known: KnownFlags,
    /// Output format: text, or one JSON object per line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Prefix of every resource or key that the run creates.
    #[arg(long, value_name = "TEXT", default_value = "confute-", value_parser = prefix)]
    pub(crate) prefix: String,
    /// Permit a server that is not on this machine. The run writes to it.
    #[arg(long)]
    pub(crate) remote: bool,
    /// Print only the verdict.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print messages in full, and progress even if standard error is not a terminal.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Flags for the violations that refute a server.
#[derive(Debug, Args)]
pub(crate) struct CountedFlags {
    /// Lowest level at which a violation refutes the server; violations of weaker rules are warnings.
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "store", conflicts_with = "strict")]
    pub(crate) level: From,
    /// Also count violations of recommendations of a standard (--level should).
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also count violations whose level is high enough only by experiment.
    #[arg(long, conflicts_with = "no_shrink")]
    pub(crate) by_experiment: bool,
}

/// Flags for campaigns over many machines, and for runs that are interrupted.
#[derive(Debug, Args)]
pub(crate) struct ScaleFlags {
    /// Run only shard I of N, counted from 0: the cases whose number leaves the remainder I. `auto` takes both from Slurm, GitLab
    /// CI, CircleCI or Buildkite, and `auto/N` the first from Kubernetes or GNU parallel too. `confute merge` puts the shards
    /// together.
    #[expect(clippy::doc_markdown, reason = "the help has no markup")]
    #[arg(long, value_name = "I/N", value_parser = shard::parse)]
    pub(crate) shard: Option<ShardChoice>,
    /// Like --report-dir, but go on where an interrupted run in this directory was: its cases are not run again. A run that
    /// is complete is only reported.
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
}

/// Flags for violations of earlier runs.
#[derive(Debug, Args)]
pub(crate) struct KnownFlags {
    /// Directory of stored violations: they are replayed first, and new ones are added, one file per rule.
    #[arg(long, value_name = "DIR")]
    pub(crate) regressions: Option<PathBuf>,
    /// File of known violations: they are reported, but do not fail the run; new ones do.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all violations of this run to the baseline. Violations that were tested and not observed are removed.
    #[arg(long, requires = "baseline")]
    pub(crate) baseline_update: bool,
}

/// Levels, as values of --level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// Also missing responses.
    Live,
    /// Also recommendations of a standard.
    Should,
    /// Also that valid requests are served, and that validators change only with the content.
    Steady,
    /// Also the behaviour of a store with a single copy.
    Store,
    /// Only requirements of a standard.
    Must,
}

impl Flags {
    /// Returns the folder for reports.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.scale.resume.as_deref().or(self.report_dir.as_deref())
    }

    /// Returns the part of the campaign to run.
    pub(crate) fn shard(&self) -> Result<Shard> {
        let variable = |name: &str| std::env::var(name).ok();
        let Some(choice) = self.scale.shard else { return Ok(Shard::WHOLE) };
        let shard = choice.resolve(&variable).map_err(anyhow::Error::msg)?;
        if self.seed.is_none() {
            bail!("--shard: the shards of a campaign have one seed; give the same --seed to all of them");
        }
        if self.known.baseline_update {
            bail!(
                "--baseline-update with --shard: every shard would write the file; `confute merge --baseline FILE \
                 --baseline-update` writes it for all"
            );
        }
        Ok(shard)
    }

    /// Returns the plan for testing this server, whose model has these rules.
    pub(crate) fn plan(&self, target: Target, rules: &'static [Rule]) -> Result<Plan> {
        guard(target.address, self.remote, "--remote")?;
        if let (Workers::Fixed(workers @ 2..), Some(origin)) = (self.workers, target.listen) {
            bail!(
                "--workers {workers}: the tester is the origin at {origin}, and could not tell which case a request there \
                 belongs to; leave --workers out"
            );
        }
        let allow = rules_named(&self.allow, rules)?;
        let limits = Limits {
            connections: self.connections,
            patience: self.patience,
            memory: (1 << 30)
                / match self.workers {
                    Workers::Fixed(workers) => workers,
                    Workers::Auto => HUNGRY,
                },
            ..Limits::default()
        };
        Ok(Plan {
            limits,
            prefix: self.prefix.clone(),
            seed: self.seed.unwrap_or_else(fresh_seed),
            workers: self.workers,
            cases: self.cases,
            shard: self.shard()?,
            max_time: Some(self.max_time.unwrap_or(LONG)),
            max_failures: self.max_failures.max(1),
            allow,
            level: match self.counted.level {
                _ if self.counted.strict => Level::Should,
                From::Live => Level::Live,
                From::Should => Level::Should,
                From::Steady => Level::Steady,
                From::Store => Level::Store,
                From::Must => Level::Must,
            },
            by_experiment: self.counted.by_experiment,
            ..Plan::new(target)
        })
    }
}

/// Parses a number of cases at the same time.
fn workers(text: &str) -> Result<Workers, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Workers::Auto),
        (_, Ok(workers @ 1..=256)) => Ok(Workers::Fixed(workers)),
        _ => Err("a number from 1 to 256, or `auto`".to_owned()),
    }
}

/// Parses a prefix, which must be valid in the path of a URL and in the key of a cache.
fn prefix(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    if text.len() > 100 || !text.chars().all(fits) {
        return Err("at most 100 letters, digits and -._~/ are possible".to_owned());
    }
    if text.split('/').any(|part| part == "." || part == "..") {
        return Err("the path must not leave the prefix".to_owned());
    }
    Ok(text.to_owned())
}

/// Returns the rules named by --allow.
pub(crate) fn rules_named(names: &[String], rules: &'static [Rule]) -> Result<Vec<&'static str>> {
    let mut allow = Vec::new();
    for name in names {
        match rules.iter().find(|rule| rule.name == name) {
            Some(rule) => allow.push(rule.name),
            None => {
                bail!("--allow {name}: {}", near::unknown("rule", name, rules.iter().map(|rule| rule.name)))
            }
        }
    }
    Ok(allow)
}
