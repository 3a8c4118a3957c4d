//! The flags that all tests of live servers share.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use confute::lang::{Level, Rule};
use confute_drive::{Limits, Plan, Target};
use confute_run::{fresh_seed, guard, quantity};

use crate::args::Format;
use crate::near;

/// How long it takes if nobody says.
const LONG: Duration = Duration::from_secs(30);

/// How long, how hard, and what to say.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// What all random choices come from [default: another one each time; it is always printed].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How long to test: 30s, 5m, 1h [default: 30s, or as long as it takes if everything is tried].
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    pub(crate) max_time: Option<Duration>,
    /// How many cases to run at most.
    #[arg(long, value_name = "N")]
    pub(crate) cases: Option<u64>,
    /// How many violations are enough.
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) max_failures: usize,
    /// How many connections a case has open.
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) connections: u32,
    /// How many cases run at once.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) workers: u16,
    /// How long to wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = quantity::duration)]
    pub(crate) patience: Duration,
    /// Let the server break this rule; can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// From which level on a violation counts; weaker ones are warnings.
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "store", conflicts_with = "strict")]
    pub(crate) level: From,
    /// Count violations of what a standard only recommends (--level should).
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show violations as they were found, without looking for a smaller case.
    #[arg(long)]
    pub(crate) no_shrink: bool,
    /// How long to look for smaller cases, all violations together.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = quantity::duration, conflicts_with = "no_shrink")]
    pub(crate) shrink_time: Duration,
    /// Write what was found into this directory: for each violation its trace and its script, and a summary.
    #[arg(long, value_name = "DIR")]
    pub(crate) report_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) known: KnownFlags,
    /// For people, or one JSON object a line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// What the names of all that is written begin with, so that it can be told from other things.
    #[arg(long, value_name = "TEXT", default_value = "confute-", value_parser = prefix)]
    pub(crate) prefix: String,
    /// Test a server that is not on this machine. It will be written to.
    #[arg(long)]
    pub(crate) remote: bool,
    /// Say only the verdict.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show messages in full, and progress even where standard error is no terminal.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What earlier runs found.
#[derive(Debug, Args)]
pub(crate) struct KnownFlags {
    /// A folder of violations that were met before: they are tried first, and what is found is added, a file for each rule.
    #[arg(long, value_name = "DIR")]
    pub(crate) regressions: Option<PathBuf>,
    /// A file of known violations: they are told, but do not fail the run; new ones do.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what was found to the baseline: all of it is known from then on. What was put to the test and not met is
    /// removed.
    #[arg(long, requires = "baseline")]
    pub(crate) baseline_update: bool,
}

/// A level, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// Answers that never come count too.
    Live,
    /// What a standard recommends.
    Should,
    /// Requests that are served, and validators that change only with the content.
    Steady,
    /// What a store with one copy does.
    Store,
    /// What a standard demands.
    Must,
}

impl Flags {
    /// What to do with this server, whose model has these rules.
    pub(crate) fn plan(&self, target: Target, rules: &'static [Rule]) -> Result<Plan> {
        guard(target.address, self.remote, "--remote")?;
        let allow = rules_named(&self.allow, rules)?;
        let limits = Limits {
            connections: self.connections,
            patience: self.patience,
            memory: (1 << 30) / usize::from(self.workers),
            ..Limits::default()
        };
        Ok(Plan {
            limits,
            prefix: self.prefix.clone(),
            seed: self.seed.unwrap_or_else(fresh_seed),
            workers: self.workers.into(),
            cases: self.cases,
            max_time: Some(self.max_time.unwrap_or(LONG)),
            max_failures: self.max_failures.max(1),
            allow,
            level: match self.level {
                _ if self.strict => Level::Should,
                From::Live => Level::Live,
                From::Should => Level::Should,
                From::Steady => Level::Steady,
                From::Store => Level::Store,
                From::Must => Level::Must,
            },
            ..Plan::new(target)
        })
    }
}

/// Something that a path of a URL can hold, and a key of a cache.
fn prefix(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
    if text.len() > 100 || !text.chars().all(fits) {
        return Err("at most 100 letters, digits and -._~/ are possible".to_owned());
    }
    if text.split('/').any(|part| part == "." || part == "..") {
        return Err("it must not lead elsewhere".to_owned());
    }
    Ok(text.to_owned())
}

/// The rules that --allow names.
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
