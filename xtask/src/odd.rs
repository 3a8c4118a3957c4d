//! `cargo xtask soak odd`: long campaigns against correct but deliberately unusual servers, and against their illegal
//! twins.
//!
//! Two claims are tested. First, a server that is odd but legal is never accused: each combination of oddities gets a
//! fresh server and a campaign, and any violation at level *must* or *store* is a defect of the tester. Warnings
//! below that are expected only if an oddity declares them. Second, the tester is not too lax: the illegal twin of
//! every oddity is refuted at every seed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use confute::lang::Level;
use confute_drive::{AnyGenerator, Figures, Finding, Limits, Outcome, Plan, Tally, Target, Trouble};
use confute_http::encode::Target as Authority;
use confute_http::{Http, Passage, Traffic};
use confute_testbed::odd::{Entry, Habits, OddServer, Oddity, Side, TABLE};

use crate::hunt::{self, Run};
use crate::soak::ProgressLine;
use crate::{again_in_release, root};

/// Number of messages of a soak.
const MANY: u64 = 1_000_000;
/// Number of messages of a short soak.
const FEW: u64 = 20_000;
/// One message in this many goes through a gateway, because judging those takes longer.
const GATEWAYS: u64 = 8;
/// Number of messages for each combination.
const EACH: u64 = 4_000;
/// Number of messages for each combination in a short soak.
const EACH_SHORT: u64 = 1_500;
/// Number of messages for each combination of a gateway.
const EACH_GATEWAY: u64 = 600;
/// Maximum time of a combination.
const TIME: Duration = Duration::from_mins(1);
/// Minimum share of judged cases, in percent.
const JUDGED: u64 = 95;
/// Minimum median of outstanding requests; below it a soak proves little.
const OUTSTANDING: u64 = 8;
/// Number of steps of a case.
const STEPS: usize = 300;
/// Number of cases after which the kinds of traffic repeat.
const KINDS: u64 = 32;
/// Number of requests of a case in front of a gateway, and the most of them that are outstanding.
const REQUESTS: (usize, usize) = (48, 12);
/// Both numbers for a short soak, whose few cases must all be judged in time on a busy machine: the gateway may assign
/// responses to outstanding requests in many ways, and each is a hypothesis.
const REQUESTS_SHORT: (usize, usize) = (30, 4);
/// Response timeout in the search for a twin.
const PATIENCE: Duration = Duration::from_millis(400);
/// Prefix of the paths that a gateway forwards.
const PREFIX: &str = "/odd/";
/// Twins of a short run, a selection from several themes.
const SAMPLE: [Oddity; 6] = [
    Oddity::WeakTag,
    Oddity::Replaced200,
    Oddity::ShortPart,
    Oddity::TooMany,
    Oddity::BrokenContent,
    Oddity::ToChunks,
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Short run: 20,000 messages, and a few twins
    #[arg(long)]
    short: bool,
    /// Number of messages, requests and responses together [default: 1,000,000]
    #[arg(long)]
    messages: Option<u64>,
    /// Seed of all random choices
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Only this oddity, alone; can be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only the illegal twins
    #[arg(long)]
    twins: bool,
    /// Only origin servers
    #[arg(long, conflicts_with = "gateway")]
    origin: bool,
    /// Only gateways
    #[arg(long)]
    gateway: bool,
    /// Number of seeds for each twin
    #[arg(long, default_value = "10")]
    seeds: u64,
    /// Maximum time to refute a twin, in seconds
    #[arg(long, default_value = "20")]
    max_time: u64,
    /// List the oddities, with the clauses that allow them
    #[arg(long)]
    list: bool,
    /// Run the debug build, though it is slow
    #[arg(long, hide = true)]
    debug: bool,
}

impl Args {
    fn sides(&self) -> &'static [Side] {
        match (self.origin, self.gateway) {
            (true, _) => &[Side::Origin],
            (_, true) => &[Side::Gateway],
            _ => &[Side::Origin, Side::Gateway],
        }
    }

    /// Returns the entries that the options select.
    fn entries(&self) -> Result<Vec<&'static Entry>> {
        for name in &self.only {
            if Oddity::from_name(name).is_none() {
                bail!("there is no oddity {name:?}: see --list");
            }
        }
        let is_asked = |entry: &&Entry| {
            self.sides().contains(&entry.side)
                && (self.only.is_empty() || self.only.iter().any(|name| name == entry.name))
        };
        Ok(TABLE.iter().filter(is_asked).collect())
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let entries = args.entries()?;
    if args.list {
        list(&entries);
        return Ok(true);
    }
    if cfg!(debug_assertions) && !args.short && !args.debug {
        return again_in_release();
    }
    let mut held = true;
    if !args.twins {
        held &= soak(args, &entries)?;
    }
    let is_sample = |entry: &&&Entry| !args.short || args.twins || SAMPLE.contains(&entry.oddity);
    if args.twins || args.only.is_empty() {
        let chosen: Vec<_> = entries.iter().filter(is_sample).copied().collect();
        held &= twins(args, &chosen)?;
    }
    Ok(held)
}

fn list(entries: &[&Entry]) {
    for entry in entries {
        println!("{} ({:?}; {})\n    {}", entry.name, entry.theme, entry.clause, entry.summary);
        println!("    twin: {}", entry.twin);
        if !entry.warns.is_empty() {
            println!("    may warn: {}", entry.warns.join(", "));
        }
    }
}

/// A server, and the protocol to test it with.
enum Stage {
    Origin(OddServer, Box<Http>),
    Gateway(OddServer, Box<Http>),
}

impl Stage {
    fn of(side: Side, habits: Habits) -> Result<Self> {
        let authority =
            |server: &OddServer| Authority { host: server.addr().to_string(), ..Authority::default() };
        Ok(match side {
            Side::Origin => {
                let server = OddServer::origin(habits).context("cannot start an odd server")?;
                let http = Http::origin(authority(&server), "/");
                Self::Origin(server, Box::new(http))
            }
            Side::Gateway => {
                let origin = free_address()?;
                let server =
                    OddServer::gateway(habits, PREFIX, origin).context("cannot start an odd gateway")?;
                let proxy = Http::gateway(authority(&server), PREFIX, origin, "/");
                Self::Gateway(server, Box::new(proxy))
            }
        })
    }
}

fn free_address() -> Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).context("no port is free")
}

/// Returns traffic with many outstanding requests; every fourth case cycles through all kinds of traffic.
fn traffic<'a>(http: &Http, seed: u64, case: u64) -> AnyGenerator<'a> {
    if case % 4 == 3 {
        return AnyGenerator::new(Traffic::of_case(http.clone(), STEPS, (seed + case / 4) % KINDS));
    }
    let traffic = Traffic::new(http.clone(), 4 * STEPS).flooding();
    AnyGenerator::new(if case.is_multiple_of(16) { traffic } else { traffic.impatient() })
}

fn passage<'a>(case: u64, (requests, most): (usize, usize)) -> AnyGenerator<'a> {
    if case % 4 == 3 {
        return AnyGenerator::new(Passage::of_case(case));
    }
    AnyGenerator::new(Passage::new(requests, most).hinting(case))
}

/// Sum of the results of all combinations.
#[derive(Default)]
struct Total {
    messages: u64,
    combinations: u64,
    tally: Tally,
    figures: Figures,
    /// Names of oddities that were active at least once.
    met: BTreeSet<&'static str>,
    violations: u64,
    /// Number of refuted cases for which no rule of the proven level was found in time; they prove nothing.
    unexplained: u64,
    /// Number of combinations without any message.
    idle: u64,
    /// Number of warnings that no active oddity declares.
    unasked: u64,
    warnings: BTreeMap<String, u64>,
    troubles: BTreeMap<String, u64>,
    /// Reasons why cases were not judged.
    undecided: BTreeMap<String, u64>,
    /// Number of combinations that were taken for restarted after a refuted case.
    restarts: u64,
}

fn soak(args: &Args, entries: &[&'static Entry]) -> Result<bool> {
    let mut held = true;
    for side in args.sides() {
        let own: Vec<_> = entries.iter().filter(|entry| entry.side == *side).copied().collect();
        if own.is_empty() {
            continue;
        }
        let total = soak_side(args, *side, &own)?;
        held &= total.holds();
        let median = total.figures.outstanding.median();
        let is_gentle = *side == Side::Gateway && args.short;
        if median < OUTSTANDING && !is_gentle {
            println!("  FAILED: a median of {median} outstanding requests is too few to mean anything");
            held = false;
        }
    }
    Ok(held)
}

fn soak_side(args: &Args, side: Side, entries: &[&'static Entry]) -> Result<Total> {
    let start = Instant::now();
    let all = args.messages.unwrap_or(if args.short { FEW } else { MANY });
    let wanted = match side {
        _ if args.sides().len() == 1 || !args.only.is_empty() => all,
        Side::Origin => all - all / GATEWAYS,
        Side::Gateway => all / GATEWAYS,
    };
    let each = match side {
        Side::Gateway => EACH_GATEWAY,
        Side::Origin if args.short => EACH_SHORT,
        Side::Origin => EACH,
    };
    let each = each.min(wanted.max(1));
    println!("{side:?}: {wanted} messages, {each} for each combination of oddities, seed {}", args.seed);
    let mut total = Total::default();
    let line = ProgressLine::default();
    while total.messages < wanted {
        let seed = args.seed.wrapping_add(total.combinations);
        let habits = if args.only.is_empty() {
            Habits::draw(side, seed)
        } else {
            let at = total.combinations as usize % entries.len();
            Habits::of([entries[at].oddity], seed)
        };
        let before = total.messages;
        combination(side, &habits, (seed, args.short), each, &mut total)?;
        if total.messages == before {
            total.idle += 1;
            println!("  FAILED: nothing came of {} (seed {seed})", habits.names().join(", "));
            break;
        }
        line.tell(&format!(
            "{side:?}: {} of {wanted} messages, {} combinations",
            total.messages, total.combinations
        ));
    }
    line.erase();
    total.report(side, start.elapsed());
    Ok(total)
}

/// Tests one combination with a fresh server and a campaign.
fn combination(
    side: Side,
    habits: &Habits,
    (seed, is_short): (u64, bool),
    messages: u64,
    total: &mut Total,
) -> Result<()> {
    let plan = |target| Plan {
        limits: Limits { connections: 32, ..Limits::default() },
        seed,
        max_time: Some(TIME),
        max_failures: usize::MAX,
        ..Plan::new(target)
    };
    match Stage::of(side, habits.clone())? {
        Stage::Origin(server, http) => {
            let plan = plan(Target::new(server.addr()));
            let make = |case| traffic(&http, seed, case);
            let (run, outcome) = hunt::follow(&*http, &plan, &make, Some(messages), &mut |_, _, _| false);
            total.add(&run, &outcome, habits, seed)
        }
        Stage::Gateway(server, proxy) => {
            let target = Target { listen: proxy.listens(), ..Target::new(server.addr()) };
            let make = |case| passage(case, if is_short { REQUESTS_SHORT } else { REQUESTS });
            let (run, outcome) =
                hunt::follow(&*proxy, &plan(target), &make, Some(messages), &mut |_, _, _| false);
            total.add(&run, &outcome, habits, seed)
        }
    }
}

/// Returns `true` if the time for blame ran out before any rule was found, which proves nothing.
fn is_unexplained(finding: &Finding) -> bool {
    finding.level.is_none() || finding.diagnoses.is_empty() && finding.incomplete
}

/// Returns `true` if a violation accuses the server: a rule was found, and its level is *store* or above.
fn accuses(finding: &Finding) -> bool {
    let is_strong = finding.level.is_some_and(|level| level >= Level::Store);
    is_strong && !is_unexplained(finding)
}

/// Returns `true` if the time for blame ran out before any rule was found that is as weak as the proven level: the
/// finding may be a declared warning under another name.
fn is_undecided(finding: &Finding) -> bool {
    let is_named = finding.diagnoses.iter().any(|one| Some(one.level) <= finding.level);
    is_unexplained(finding) || finding.incomplete && !is_named && !accuses(finding)
}

impl Total {
    fn add(&mut self, run: &Run, outcome: &Outcome, habits: &Habits, seed: u64) -> Result<()> {
        let names = habits.names();
        let warns = habits.warns();
        self.messages += run.messages;
        self.combinations += 1;
        self.met.extend(&names);
        self.figures.merge(&outcome.figures);
        let tally = &outcome.tally;
        self.tally.cases += tally.cases;
        self.tally.unrefuted += tally.unrefuted;
        self.tally.refuted += tally.refuted;
        self.tally.unfinished += tally.unfinished;
        self.tally.early += tally.early;
        self.tally.doubtful += tally.doubtful;
        for (why, times) in &run.undecided {
            *self.undecided.entry(why.clone()).or_default() += times;
        }
        for (trouble, times) in &outcome.troubles {
            *self.troubles.entry(trouble.to_string()).or_default() += times;
            // An odd server never restarts, so this hides a refuted case.
            if let Trouble::Restarted { .. } = trouble {
                println!("  FAILED: taken for restarted, seed {seed}, oddities: {}", names.join(", "));
                self.restarts += 1;
            }
        }
        for finding in &outcome.findings {
            let blamed = hunt::blamed(finding);
            let is_declared =
                finding.diagnoses.iter().any(|one| one.rules.iter().all(|rule| warns.contains(rule)));
            if !accuses(finding) && is_declared {
                *self.warnings.entry(blamed).or_default() += finding.times;
                continue;
            }
            let word = match () {
                () if is_undecided(finding) => "not judged",
                () if accuses(finding) => "FAILED: violation",
                () => "FAILED: warning that no oddity declares",
            };
            println!("  {word}: {blamed} ({:?}, {} times)", finding.level, finding.times);
            println!("    seed {seed}, case {}, oddities: {}", finding.case, names.join(", "));
            println!("    seen: {}", finding.counterexample.refutation.seen);
            let folder = root()?.join("target/odd");
            let name = format!("{seed}-{}", finding.number);
            hunt::keep(&hunt::listing(finding), &folder, &name)?;
            println!("    kept: {}", folder.join(format!("{name}.txt")).display());
            match () {
                () if is_undecided(finding) => self.unexplained += finding.times,
                () if accuses(finding) => self.violations += 1,
                () => self.unasked += 1,
            }
        }
        Ok(())
    }

    /// Returns the number of judged cases, and the number of all cases.
    fn judged(&self) -> (u64, u64) {
        (self.tally.judged().saturating_sub(self.unexplained), self.tally.due())
    }

    /// Returns `true` if no correct server was accused and most cases were judged.
    fn holds(&self) -> bool {
        let (judged, all) = self.judged();
        self.violations + self.unasked + self.idle + self.restarts == 0 && judged * 100 >= all * JUDGED
    }

    /// Prints the result.
    fn report(&self, side: Side, elapsed: Duration) {
        let (tally, median) = (&self.tally, self.figures.outstanding.median());
        let (judged, all) = self.judged();
        let of_side = TABLE.iter().filter(|entry| entry.side == side).count();
        println!(
            "  {} messages, {} combinations of {} of {of_side} oddities, {:.1} s ({:.1} s of it thinking)",
            self.messages,
            self.combinations,
            self.met.len(),
            elapsed.as_secs_f64(),
            self.figures.thinking.as_secs_f64()
        );
        println!(
            "  {judged} of {all} cases judged, {} ended early, {} doubtful; median of {median} outstanding",
            tally.early, tally.doubtful
        );
        for (why, times) in &self.undecided {
            println!("  not judged, {times} times: {why}");
        }
        for (trouble, times) in &self.troubles {
            println!("  trouble, {times} times: {trouble}");
        }
        for (rules, times) in &self.warnings {
            println!("  warned as declared, {times} times: {rules}");
        }
        let mut failures = Vec::new();
        if self.violations > 0 {
            failures.push(format!("{} violations by correct servers", self.violations));
        }
        if self.unasked > 0 {
            failures.push(format!("{} warnings that no oddity declares", self.unasked));
        }
        if judged * 100 < all * JUDGED {
            failures.push(format!("less than {JUDGED} % of the cases were judged"));
        }
        failures.iter().for_each(|failure| println!("  FAILED: {failure}"));
    }
}

/// Runs every twin at every seed.
fn twins(args: &Args, entries: &[&'static Entry]) -> Result<bool> {
    let seeds = if args.short && !args.twins { 1 } else { args.seeds };
    println!("{:<24} {:>8} {:>9} {:>9}  blamed", "illegal twin of", "refuted", "median s", "messages");
    let mut held = true;
    for entry in entries {
        let mut runs = Vec::new();
        for seed in 0..seeds {
            let seed = args.seed.wrapping_add(seed);
            runs.push(twin(entry, seed, Duration::from_secs(args.max_time))?);
        }
        let found: Vec<_> = runs.iter().filter_map(|run| run.refuted).collect();
        let mut times: Vec<_> = found.iter().map(|(time, _)| *time).collect();
        let mut messages: Vec<_> = found.iter().map(|(_, messages)| *messages).collect();
        times.sort_unstable();
        messages.sort_unstable();
        let mut blamed: BTreeMap<String, u64> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.refuted.is_some()) {
            *blamed.entry(run.blamed.join(" or ")).or_default() += 1;
        }
        let blamed: Vec<_> = blamed.iter().map(|(rules, times)| format!("{times}× {rules}")).collect();
        let middle = |count: usize| count / 2;
        println!(
            "{:<24} {:>2} of {:>2} {:>9} {:>9}  {}",
            entry.name,
            found.len(),
            seeds,
            times
                .get(middle(times.len()))
                .map_or("-".to_owned(), |time| format!("{:.2}", time.as_secs_f64())),
            messages.get(middle(messages.len())).map_or("-".to_owned(), u64::to_string),
            blamed.join("; ")
        );
        if (found.len() as u64) < seeds {
            println!("  FAILED: accepted at some seeds: {}", entry.twin);
            let warned: BTreeSet<_> = runs.iter().flat_map(|run| &run.warned).collect();
            warned.iter().for_each(|rules| println!("    warned: {rules}"));
            let troubles: BTreeSet<_> = runs.iter().filter_map(|run| run.inconclusive.as_deref()).collect();
            troubles.iter().for_each(|why| println!("    not judged: {why}"));
            held = false;
        }
    }
    Ok(held)
}

/// Runs a twin until it is refuted for more than availability or stability.
fn twin(entry: &Entry, seed: u64, max_time: Duration) -> Result<Run> {
    let plan = |target| Plan {
        limits: Limits { connections: 8, patience: PATIENCE, ..Limits::default() },
        seed,
        max_time: Some(max_time),
        max_failures: usize::MAX,
        ..Plan::new(target)
    };
    let mut run;
    let mut first = None;
    match Stage::of(entry.side, Habits::twin(entry.oddity, seed))? {
        Stage::Origin(server, http) => {
            let hold = PATIENCE.as_millis() as u32;
            let make = |case| -> AnyGenerator<'_> {
                AnyGenerator::new(Traffic::of_case((*http).clone(), STEPS, case).holding(hold))
            };
            let plan = plan(Target::new(server.addr()));
            (run, _) = hunt::follow(&*http, &plan, &make, None, &mut |finding, time, messages| {
                note(finding, time, messages, &mut first)
            });
        }
        Stage::Gateway(server, proxy) => {
            let target = Target { listen: proxy.listens(), ..Target::new(server.addr()) };
            let make = |case| AnyGenerator::new(Passage::of_case(case));
            (run, _) = hunt::follow(&*proxy, &plan(target), &make, None, &mut |finding, time, messages| {
                note(finding, time, messages, &mut first)
            });
        }
    }
    run.refuted = None;
    if let Some((time, messages, blamed)) = first {
        run.refuted = Some((time, messages));
        run.blamed = vec![blamed];
    }
    Ok(run)
}

/// Records the first violation that accuses the server. Returns `true` once there is one.
fn note(
    finding: &Finding,
    time: Duration,
    messages: u64,
    first: &mut Option<(Duration, u64, String)>,
) -> bool {
    if first.is_none() && accuses(finding) {
        *first = Some((time, messages, hunt::blamed(finding)));
    }
    first.is_some()
}
