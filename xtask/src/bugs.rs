//! `cargo xtask bugs`: time to find each bug of the embedded server, and the rules blamed for it.
//!
//! A row is a bug, run at several seeds, each with a fresh server: the number of runs refuted in time, the median of
//! time and messages up to the refutation, and the number of runs in which the right rule was blamed: alone, or among
//! others.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute::lang::Level;
use confute_drive::{AnyGenerator, Limits, Plan, Target};
use confute_http::encode::Target as Authority;
use confute_http::{Http, Passage, Traffic, rules};
use confute_testbed::embedded::{Area, Bug, Config, Embedded, TagStyle};

use crate::eval::report::is_within;
use crate::hunt::{self, Run};
use crate::naming::Naming;
use crate::{again_in_release, root};

/// Number of steps of a case.
const STEPS: usize = 300;
/// Response timeout, on this machine.
const PATIENCE: Duration = Duration::from_millis(200);
/// Upper bound of the median time.
const SOON: Duration = Duration::from_millis(300);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, default_value = "20")]
    seeds: u64,
    /// Only this bug; can be given several times
    #[arg(long, value_name = "BUG")]
    only: Vec<String>,
    /// Also print the smallest case of each bug, and its experiments
    #[arg(long)]
    show: bool,
    /// Maximum time of a run, in seconds
    #[arg(long, default_value = "10")]
    max_time: u64,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    for name in &args.only {
        if Bug::from_name(name).is_none() {
            bail!("there is no bug {name:?}");
        }
    }
    println!(
        "{:<42} {:>7} {:>9} {:>9} {:>6} {:>6} {:>7}  blamed",
        "bug", "found", "median s", "messages", "right", "alone", "worst s"
    );
    let (mut rows, mut full, mut soon) = (0, 0, 0);
    let mut naming = Naming::default();
    for bug in Bug::all() {
        if !args.only.is_empty() && !args.only.iter().any(|name| name == bug.name()) {
            continue;
        }
        if bug.rules().is_empty() {
            println!(
                "{:<42} no violation: RFC 9112, 9.5, lets a server close a connection at any time",
                bug.name()
            );
            continue;
        }
        let runs = (1..=args.seeds).map(|seed| hunt(*bug, seed, args)).collect::<Result<Vec<_>>>()?;
        let row = Row::of(*bug, &runs);
        row.print();
        for run in &runs {
            if let Some(found) = &run.investigation {
                naming.add(bug.name(), &run.blamed, found, bug.rules());
                if found.named.len() > 1 || args.show {
                    let (shown, runs) = found.again;
                    let level = found.by_experiment.or(found.level).map_or("unknown", Level::name);
                    let requests = found.requests.unwrap_or_default();
                    println!(
                        "    left after experiments ({requests} requests, {shown} of {runs} runs, level {level}): {}",
                        found.named.join(" | ")
                    );
                    found.set_aside.iter().for_each(|one| println!("      set aside: {one}"));
                    found.unshrunk.iter().for_each(|why| println!("      not shrunk: {why}"));
                }
                if args.show {
                    println!("{}", found.shown);
                }
            }
        }
        for (seed, run) in (1..).zip(&runs).filter(|(_, run)| !is_right(*bug, run)) {
            hunt::keep(&run.trace, &root()?.join("target/bugs"), &format!("{}-{seed}", bug.name()))?;
        }
        rows += 1;
        full += u64::from(row.found == args.seeds && row.right == args.seeds);
        soon += u64::from(row.time.is_some_and(|time| time < SOON));
    }
    println!(
        "\n{full} of {rows} bugs were found and rightly blamed at every seed; {soon} in less than 0.3 s (median)"
    );
    naming.print();
    Ok(full == rows)
}

fn is_right(bug: Bug, run: &Run) -> bool {
    run.blamed.iter().any(|rules| is_within(rules, bug.rules()))
}

struct Row {
    bug: Bug,
    found: u64,
    time: Option<Duration>,
    messages: Option<u64>,
    right: u64,
    alone: u64,
    /// Longest run, blame included.
    worst: Duration,
    blamed: BTreeMap<String, u64>,
}

impl Row {
    fn of(bug: Bug, runs: &[Run]) -> Self {
        let mut times: Vec<_> = runs.iter().filter_map(|run| run.refuted).map(|(time, _)| time).collect();
        let mut messages: Vec<_> =
            runs.iter().filter_map(|run| run.refuted).map(|(_, count)| count).collect();
        times.sort_unstable();
        messages.sort_unstable();
        let right = |rules: &String| is_within(rules, bug.rules());
        let mut blamed = BTreeMap::new();
        for run in runs.iter().filter(|run| run.refuted.is_some()) {
            *blamed.entry(run.blamed.join(" | ")).or_default() += 1;
        }
        Self {
            bug,
            found: times.len() as u64,
            time: times.get(times.len() / 2).copied(),
            messages: messages.get(messages.len() / 2).copied(),
            right: runs.iter().filter(|run| is_right(bug, run)).count() as u64,
            alone: runs.iter().filter(|run| !run.blamed.is_empty() && run.blamed.iter().all(right)).count()
                as u64,
            worst: runs.iter().map(|run| run.total).max().unwrap_or_default(),
            blamed,
        }
    }

    fn print(&self) {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        println!(
            "{:<42} {:>7} {:>9} {:>9} {:>6} {:>6} {:>7.1}  {}",
            self.bug.name(),
            self.found,
            or_none(self.time.map(|time| format!("{:.3}", time.as_secs_f64()))),
            or_none(self.messages.map(|count| count.to_string())),
            self.right,
            self.alone,
            self.worst.as_secs_f64(),
            self.bug.rules().join(" or "),
        );
        if self.right < self.found {
            for (rules, times) in &self.blamed {
                println!("    {times} times: {}", if rules.is_empty() { "no rule found" } else { rules });
            }
        }
    }
}

/// Runs a campaign until the first violation.
fn hunt(bug: Bug, seed: u64, args: &Args) -> Result<Run> {
    let plan = plan(bug, seed, Duration::from_secs(args.max_time));
    let stage = Stage::of(bug)?;
    Ok(match &stage {
        Stage::Gateway(server, proxy) => {
            hunt::hunt(&**proxy, &plan(gateway(server, proxy)), &|case| passage(case), None)
        }
        Stage::Origin(server, http) => {
            hunt::hunt(&**http, &plan(Target::new(server.addr())), &|case| traffic(http, case), None)
        }
    })
}

/// Returns the plan of a campaign that ends at the first violation.
pub(crate) fn plan(bug: Bug, seed: u64, max_time: Duration) -> impl Fn(Target) -> Plan {
    let level = provable(bug);
    move |target| Plan {
        limits: Limits { connections: 8, patience: PATIENCE, ..Limits::default() },
        seed,
        max_time: Some(max_time),
        max_failures: 1,
        level,
        ..Plan::new(target)
    }
}

/// Returns the level from which a violation counts in a run: the default, or the highest level that can be proven of this
/// bug if that is lower.
fn provable(bug: Bug) -> Level {
    match bug {
        // A tag or a date that changes by itself explains these as well.
        Bug::IfMatchStopsAtWeak
        | Bug::IfNoneMatchStrongOnPut
        | Bug::IfUnmodifiedSinceBesideIfMatch
        | Bug::IfUnmodifiedSinceIgnored
        | Bug::NotModifiedTagAltered => Level::Steady,
        // Only waiting shows that the end is missing.
        Bug::LastChunkMissing => Level::Live,
        _ => {
            let of_rule = |name: &&str| rules::all().find(|rule| rule.name == *name).map(|rule| rule.level);
            bug.rules().iter().filter_map(of_rule).min().unwrap_or(Level::Live).min(Level::Store)
        }
    }
}

/// A server with a bug, and the protocol to test it with.
pub(crate) enum Stage {
    Origin(Embedded, Box<Http>),
    Gateway(Embedded, Box<Http>),
}

impl Stage {
    pub(crate) fn of(bug: Bug) -> Result<Self> {
        // With strong tags, strong comparison differs from weak comparison only if the client marks a tag as weak.
        let tags = if bug == Bug::IfNoneMatchStrongOnPut { TagStyle::Weak } else { TagStyle::Strong };
        let config = Config::default().tags(tags).bug(bug);
        let start = |config| Embedded::start(config).context("cannot start the embedded server");
        if bug.area() == Area::Proxying {
            let origin = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let origin = origin.context("no port is free")?;
            let server = start(config.proxy("/proxy/", origin))?;
            let proxy = Http::gateway(authority(&server), "/proxy/", origin, "/");
            return Ok(Self::Gateway(server, Box::new(proxy)));
        }
        let server = start(config)?;
        let http = Http::origin(authority(&server), "/");
        Ok(Self::Origin(server, Box::new(http)))
    }
}

/// Returns the address of a gateway, and the address at which it expects the tester as its origin.
pub(crate) fn gateway(server: &Embedded, proxy: &Http) -> Target {
    Target { listen: proxy.listens(), ..Target::new(server.addr()) }
}

pub(crate) fn passage<'a>(case: u64) -> AnyGenerator<'a> {
    AnyGenerator::new(Passage::of_case(case))
}

pub(crate) fn traffic<'a>(http: &Http, case: u64) -> AnyGenerator<'a> {
    // 100 Continue is a response: content is held back for it as long as any response may take.
    let traffic = Traffic::of_case(http.clone(), STEPS, case).holding(PATIENCE.as_millis() as u32);
    AnyGenerator::new(traffic)
}

fn authority(server: &Embedded) -> Authority {
    Authority { host: server.addr().to_string(), ..Authority::default() }
}
