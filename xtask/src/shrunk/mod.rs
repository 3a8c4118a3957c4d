//! `cargo xtask shrunk`: size of shrunk counterexamples, compared with the smallest possible.
//!
//! A row is a bug of the embedded server, or a mutant of Apache. At each seed it is found by an ordinary run and
//! shrunk, for ten seconds at most; then all scripts are tried in order of size until one shows a violation of a
//! right rule. For a bug that requires something outside the alphabet of those scripts, the smallest number of
//! requests was determined by hand, with the reason, in [`by_hand`] and in the files of the mutants.

mod by_hand;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use confute_drive::{AnyGenerator, AnyProtocol, Factory, Plan, Replay, Shrinker, Target};
use confute_http::{Exhaust, Http};
use confute_testbed::embedded::Bug;

use crate::bugs::{self, Stage};
use crate::eval::apache::{self, Mutants};
use crate::{again_in_release, hunt};

/// Maximum number of requests of a script.
const REQUESTS: usize = 3;
/// Time by which shrinking may exceed its limit, because a case that was started is completed.
const GRACE: Duration = Duration::from_secs(2);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Test mutants of Apache instead of bugs of the embedded server
    #[arg(long)]
    apache: bool,
    /// Number of seeds
    #[arg(long, default_value = "1")]
    seeds: u64,
    /// Only this bug or mutant; can be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Maximum time to find the bug, and to try all scripts, in seconds
    #[arg(long, default_value = "60")]
    max_time: u64,
    /// Maximum time to shrink, in seconds
    #[arg(long, default_value = "10")]
    shrink_time: u64,
    /// Print the scripts
    #[arg(long)]
    scripts: bool,
}

impl Args {
    fn max_time(&self) -> Duration {
        Duration::from_secs(self.max_time)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Violation found by an ordinary run.
struct Found {
    rules: String,
    before: usize,
    /// Number of requests, with the number of repetitions that failed again and the number of all repetitions.
    shrunk: Result<(usize, (u32, u32)), String>,
    took: Duration,
    script: Vec<String>,
}

/// Smallest number of requests that show a bug.
#[derive(Clone)]
enum Least {
    /// Number found by trying all scripts in order of size.
    Found(usize),
    /// Number determined by hand, because the bug requires something that no script has.
    ByHand(usize),
    /// Number of scripts tried, none of which shows the bug.
    Unknown(u64),
}

impl Least {
    fn requests(&self) -> Option<usize> {
        match self {
            Self::Found(requests) | Self::ByHand(requests) => Some(*requests),
            Self::Unknown(_) => None,
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Found(requests) => requests.to_string(),
            Self::ByHand(requests) => format!("{requests} by hand"),
            Self::Unknown(scripts) => format!("not in {scripts} scripts"),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) {
        return again_in_release();
    }
    println!("| what is wrong | seed | rule | found with | shrunk to | smallest | shows again |");
    println!("|---|---|---|---|---|---|---|");
    let mut total = Total::default();
    if args.apache {
        mutants(args, &mut total)?;
    } else {
        bugs(args, &mut total)?;
    }
    Ok(total.conclude(args))
}

/// Measures the bugs of the embedded server.
fn bugs(args: &Args, total: &mut Total) -> Result<()> {
    if let Some(name) = args.only.iter().find(|name| Bug::from_name(name).is_none()) {
        bail!("there is no bug {name:?}");
    }
    for bug in Bug::all().iter().filter(|bug| args.wants(bug.name()) && !bug.rules().is_empty()) {
        let plan = |seed| bugs::plan(*bug, seed, args.max_time());
        let least = match (by_hand::least(*bug), Stage::of(*bug)?) {
            (Some(requests), _) => Least::ByHand(requests),
            (None, Stage::Gateway(..)) => Least::Unknown(0),
            (None, Stage::Origin(server, http)) => {
                smallest(&http, plan(1)(Target::new(server.addr())), bug.rules())
            }
        };
        for seed in 1..=args.seeds {
            let found = match &Stage::of(*bug)? {
                Stage::Gateway(server, proxy) => {
                    let plan = plan(seed)(bugs::gateway(server, proxy));
                    find(&**proxy, &plan, &|case| bugs::passage(case), args)
                }
                Stage::Origin(server, http) => {
                    let plan = plan(seed)(Target::new(server.addr()));
                    find(&**http, &plan, &|case| bugs::traffic(http, case), args)
                }
            };
            total.add(bug.name(), seed, found.as_ref(), &least, args);
        }
    }
    Ok(())
}

/// Measures mutants of Apache.
fn mutants(args: &Args, total: &mut Total) -> Result<()> {
    let mutants = Mutants::open()?;
    if let Some(name) = args.only.iter().find(|name| !mutants.list.iter().any(|mutant| mutant.id == **name)) {
        bail!("there is no mutant {name:?}");
    }
    for mutant in mutants.list.iter().filter(|mutant| args.wants(&mutant.id)) {
        let breaks: Vec<&str> = mutant.description.breaks.iter().map(String::as_str).collect();
        let least = match mutant.description.least {
            Some(requests) => Least::ByHand(requests),
            None => {
                let staged = mutants.staged(mutant)?;
                let target = Target { listen: None, ..staged.target };
                smallest(&staged.origin, apache::plan(target, 1, args.max_time()), &breaks)
            }
        };
        for seed in 1..=args.seeds {
            let staged = mutants.staged(mutant)?;
            let plan = apache::plan(staged.target, seed, args.max_time());
            let found = find(&staged.http, &plan, &|case| staged.mixture(case), args);
            total.add(&mutant.id, seed, found.as_ref(), &least, args);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Total {
    /// Number of runs for which the smallest script is known.
    known: u64,
    /// Number of runs that come within one request of the smallest script.
    close: u64,
    /// Number of runs for which the smallest script is known by hand.
    by_hand: u64,
    /// Runs for which no smallest script is known.
    unknown: Vec<String>,
    longest: Duration,
}

impl Total {
    fn add(&mut self, name: &str, seed: u64, found: Option<&Found>, least: &Least, args: &Args) {
        let told = least.told();
        self.known += u64::from(least.requests().is_some());
        self.by_hand += u64::from(matches!(least, Least::ByHand(_)));
        let Some(found) = found else {
            println!("| {name} | {seed} | | not found | | {told} | |");
            return;
        };
        let (now, again) = match &found.shrunk {
            Ok((requests, (shown, runs))) => (requests.to_string(), format!("{shown} of {runs}")),
            Err(why) => (format!("no: {why}"), String::new()),
        };
        println!("| {name} | {seed} | {} | {} | {now} | {told} | {again} |", found.rules, found.before);
        if args.scripts {
            found.script.iter().for_each(|step| println!("    {step}"));
        }
        self.longest = self.longest.max(found.took);
        match least.requests() {
            Some(least) => {
                let is_close = |(now, _): &(usize, (u32, u32))| *now <= least + 1;
                self.close += u64::from(found.shrunk.as_ref().is_ok_and(is_close));
            }
            None => self.unknown.push(format!("{name}: {now}")),
        }
    }

    fn conclude(&self, args: &Args) -> bool {
        if !self.unknown.is_empty() {
            println!("\nNo smallest script is known of these; requests after shrinking:");
            self.unknown.iter().for_each(|one| println!("- {one}"));
        }
        println!("\nShrinking took {:.1} s at most.", self.longest.as_secs_f64());
        println!(
            "{} of {} are minimal or one request away; of {} the smallest is known by hand, of the others by trying all scripts \
             of up to {REQUESTS} requests.",
            self.close, self.known, self.by_hand
        );
        self.longest <= Duration::from_secs(args.shrink_time) + GRACE && self.close * 10 >= self.known * 9
    }
}

/// Finds a violation by an ordinary run, and shrinks it.
fn find(protocol: &dyn AnyProtocol, plan: &Plan, make: Factory<'_>, args: &Args) -> Option<Found> {
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
    let script = shrunk
        .as_ref()
        .map(|shrunk| shrunk.counterexample.script.iter().map(|step| format!("{step:?}")).collect());
    Some(Found {
        rules: rules.join(" or "),
        before: finding.requests(),
        script: script.unwrap_or_default(),
        shrunk: shrunk.map(|shrunk| (shrunk.requests.1, shrunk.again)).map_err(|why| why.to_string()),
        took: start.elapsed(),
    })
}

/// Returns the smallest number of requests that show the bug, if any script does in time.
fn smallest(http: &Http, plan: Plan, rules: &[&str]) -> Least {
    let all = Exhaust::new(REQUESTS);
    let plan = Plan { cases: Some(all.len()), exhaustive: true, max_failures: usize::MAX, ..plan };
    let make = |case: u64| AnyGenerator::new::<Http>(Replay::new(all.script(case)));
    let mut least = None;
    let (_, outcome) = hunt::follow(http, &plan, &make, None, &mut |finding, _, _| {
        let is_meant = finding.diagnoses.iter().flat_map(|one| &one.rules).any(|rule| rules.contains(rule));
        if is_meant {
            least = Some(finding.requests());
        }
        is_meant
    });
    least.map_or(Least::Unknown(outcome.tally.cases), Least::Found)
}
