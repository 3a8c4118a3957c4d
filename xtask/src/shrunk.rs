//! `cargo xtask shrunk`: how small the cases are that bugs of the embedded server are shown with, beside the smallest there are.
//!
//! A row is a bug. At each seed it is found by an ordinary run and made smaller, for ten seconds at most; then all scripts are
//! tried in order of size until one shows a violation of the same rule. What needs something that is not in the alphabet
//! of those scripts is listed apart, for people to judge.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use confute_drive::{Factory, Generator, Plan, Protocol, Replay, Shrinker, Target};
use confute_http::{Exhaust, Http};
use confute_testbed::embedded::{Area, Bug};

use crate::bugs::{self, Stage};
use crate::{again_in_release, hunt};

/// How many requests a script has at most.
const REQUESTS: usize = 3;
/// How much longer shrinking may take than it should: a case that has begun is ended properly.
const GRACE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many seeds
    #[arg(long, default_value = "1")]
    seeds: u64,
    /// Only this bug; can be given several times
    #[arg(long, value_name = "BUG")]
    only: Vec<String>,
    /// How many seconds a run may take to find it, and to try all scripts
    #[arg(long, default_value = "60")]
    max_time: u64,
    /// How many seconds to make it smaller
    #[arg(long, default_value = "10")]
    shrink_time: u64,
    /// Print the scripts
    #[arg(long)]
    scripts: bool,
}

/// What came of an ordinary run.
struct Found {
    rules: String,
    before: usize,
    /// Requests, and in how many runs of how many it showed again.
    shrunk: Result<(usize, (u32, u32)), String>,
    took: Duration,
    script: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    if let Some(name) = args.only.iter().find(|name| Bug::from_name(name).is_none()) {
        bail!("there is no bug {name:?}");
    }
    println!("| bug | seed | rule | found with | shrunk to | exhaustive | shows again |");
    println!("|---|---|---|---|---|---|---|");
    let chosen = |bug: &&Bug| args.only.is_empty() || args.only.iter().any(|name| name == bug.name());
    let mut total = Total::default();
    for bug in Bug::all().iter().filter(chosen).filter(|bug| !bug.rules().is_empty()) {
        let smallest = match beyond(*bug) {
            Some(why) => Err(why),
            None => smallest(*bug, args)?.ok_or("not found"),
        };
        for seed in 1..=args.seeds {
            let found = ordinary(*bug, seed, args)?;
            total.add(*bug, seed, found.as_ref(), smallest, args);
        }
    }
    Ok(total.conclude(args))
}

#[derive(Default)]
struct Total {
    /// Runs whose smallest script is known, and those that come within one request of it.
    known: u64,
    close: u64,
    /// Bugs for which no smallest script is known.
    unknown: Vec<String>,
    longest: Duration,
}

impl Total {
    fn add(
        &mut self,
        bug: Bug,
        seed: u64,
        found: Option<&Found>,
        smallest: Result<usize, &'static str>,
        args: &Args,
    ) {
        let least = smallest.map_or_else(str::to_owned, |requests| requests.to_string());
        let Some(found) = found else {
            println!("| {bug} | {seed} | | not found | | {least} | |");
            self.known += u64::from(smallest.is_ok());
            return;
        };
        let (now, again) = match &found.shrunk {
            Ok((requests, (shown, runs))) => (requests.to_string(), format!("{shown} of {runs}")),
            Err(why) => (format!("no: {why}"), String::new()),
        };
        println!("| {bug} | {seed} | {} | {} | {now} | {least} | {again} |", found.rules, found.before);
        if args.scripts {
            found.script.iter().for_each(|step| println!("    {step}"));
        }
        self.longest = self.longest.max(found.took);
        match smallest {
            Ok(least) => {
                self.known += 1;
                let is_close = |(now, _): &(usize, (u32, u32))| *now <= least + 1;
                self.close += u64::from(found.shrunk.as_ref().is_ok_and(is_close));
            }
            Err(_) => self.unknown.push(format!("{bug}: {now}")),
        }
    }

    fn conclude(&self, args: &Args) -> bool {
        if !self.unknown.is_empty() {
            println!("\nNo smallest script is known of these; requests after shrinking:");
            self.unknown.iter().for_each(|one| println!("- {one}"));
        }
        println!("\nShrinking took {:.1} s at most.", self.longest.as_secs_f64());
        println!(
            "{} of {} are minimal or one request away, among those that all scripts of up to {REQUESTS} requests show.",
            self.close, self.known
        );
        self.longest <= Duration::from_secs(args.shrink_time) + GRACE && self.close * 10 >= self.known * 9
    }
}

/// What a bug needs to show that is not in the alphabet of the scripts.
fn beyond(bug: Bug) -> Option<&'static str> {
    Some(match bug.area() {
        Area::Proxying => "a gateway",
        Area::Ranges => "ranges",
        _ => match bug {
            Bug::IfMatchStopsAtWeak | Bug::FirstTagOnly | Bug::FirstLineOnly => "lists of tags",
            Bug::IfModifiedSinceBesideIfNoneMatch
            | Bug::IfUnmodifiedSinceBesideIfMatch
            | Bug::IfUnmodifiedSinceIgnored => "dates",
            Bug::SwappedPipeline | Bug::ThirdUnanswered => "pipelining",
            Bug::CloseIgnored => "a connection to close",
            Bug::ConflictingLengths
            | Bug::LengthOverChunked
            | Bug::ChunkSizeTruncated
            | Bug::SpaceBeforeColon
            | Bug::TwoHosts
            | Bug::NoHost => "wrong requests",
            Bug::ContinueUnsent => "waiting for 100",
            _ => return None,
        },
    })
}

/// Finds it as users do, and makes it smaller.
fn ordinary(bug: Bug, seed: u64, args: &Args) -> Result<Option<Found>> {
    let plan = bugs::plan(seed, Duration::from_secs(args.max_time));
    Ok(match &Stage::of(bug)? {
        Stage::Gateway(server, proxy) => {
            find(&**proxy, &plan(bugs::gateway(server, proxy)), &|case| bugs::passage(case), args)
        }
        Stage::Origin(server, http) => {
            find(&**http, &plan(Target::new(server.addr())), &|case| bugs::traffic(http, case), args)
        }
    })
}

fn find<P: Protocol>(protocol: &P, plan: &Plan, make: Factory<'_, P>, args: &Args) -> Option<Found> {
    let (_, outcome) = hunt::follow(protocol, plan, make, None, &mut |_, _, _| true);
    let finding = outcome.findings.into_iter().find(|finding| finding.refutes(plan.level))?;
    let start = Instant::now();
    let shrinker = Shrinker {
        protocol,
        target: plan.target,
        limits: &plan.limits,
        time: Duration::from_secs(args.shrink_time),
        blame_time: plan.blame_time,
        prefix: &plan.prefix,
        stop: &false.into(),
    };
    let shrunk = shrinker.shrink(&finding, &mut |_| {});
    let rules: Vec<String> = finding.diagnoses.iter().map(|one| one.rules.join(" + ")).collect();
    let script = shrunk.as_ref().map(|shrunk| shrunk.script.iter().map(|step| format!("{step:?}")).collect());
    Some(Found {
        rules: rules.join(" or "),
        before: finding.requests(),
        script: script.unwrap_or_default(),
        shrunk: shrunk.map(|shrunk| (shrunk.requests.1, shrunk.again)).map_err(|why| why.to_string()),
        took: start.elapsed(),
    })
}

/// The fewest requests that show it, if any script does in time.
fn smallest(bug: Bug, args: &Args) -> Result<Option<usize>> {
    let Stage::Origin(server, http) = Stage::of(bug)? else { return Ok(None) };
    let all = Exhaust::new(REQUESTS);
    let plan = bugs::plan(1, Duration::from_secs(args.max_time))(Target::new(server.addr()));
    let plan = Plan { cases: Some(all.len()), exhaustive: true, max_failures: usize::MAX, ..plan };
    let make = |case: u64| -> Box<dyn Generator<Http>> { Box::new(Replay::new(all.script(case))) };
    let mut least = None;
    hunt::follow(&*http, &plan, &make, None, &mut |finding, _, _| {
        let is_meant =
            finding.diagnoses.iter().flat_map(|one| &one.rules).any(|rule| bug.rules().contains(rule));
        if is_meant {
            least = Some(finding.requests());
        }
        is_meant
    });
    Ok(least)
}
