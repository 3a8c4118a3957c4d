//! `cargo xtask soak http`, `soak memcached` and `soak redis`: long campaigns against correct servers over real sockets, which must
//! never be refuted.
//!
//! A run counts only if much was concurrent: it fails if the median of outstanding requests is less than half of the
//! connections. The trace of a refuted run is stored.

use std::fs::File;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use confute::Verdict;
use confute::trace::{Header, Trace};
use confute_drive::{
    AnyGenerator, AnyProtocol, CaseReport, Conclusion, Factory, Finding, Limits, Live, News, Outcome, Plan,
    Sink, Target, campaign,
};
use confute_http::encode::Target as Authority;
use confute_http::{Http, Traffic};
use confute_memcached::{Habits, Memcached as Protocol11, MemcachedModel, Traffic as Commands};
use confute_testbed::ServerError;
use confute_testbed::embedded::{Config, Embedded, TagStyle};
use confute_testbed::memcached::Memcached;
use confute_testbed::redis::Redis;

use crate::soak::ProgressLine;
use crate::{again_in_release, is_strict, root};

/// Number of messages of a soak.
const MANY: u64 = 1_000_000;
/// Number of messages of a short soak.
const FEW: u64 = 20_000;
/// Number of steps of a case of HTTP: Hold, Release and Wait are steps too.
const STEPS: usize = 1_500;
/// At most one case in this many may be too hard to judge.
const HARD: u64 = 50;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Short run: 20,000 messages
    #[arg(long)]
    short: bool,
    /// Number of messages, requests and responses together [default: 1,000,000]
    #[arg(long)]
    messages: Option<u64>,
    /// Number of connections
    #[arg(long, default_value = "32")]
    connections: u32,
    /// Seed of all random choices
    #[arg(long, default_value = "1")]
    seed: u64,
}

impl Args {
    fn messages(&self) -> u64 {
        self.messages.unwrap_or(if self.short { FEW } else { MANY })
    }

    fn plan(&self, target: Target) -> Plan {
        let limits = Limits { connections: self.connections, ..Limits::default() };
        Plan { limits, seed: self.seed, max_time: None, max_failures: 1, ..Plan::new(target) }
    }
}

/// Tests the correct embedded server, with each style of tags for a third of the messages.
pub(crate) fn http(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) && !args.short {
        return again_in_release();
    }
    let kinds = [
        ("strong tags", TagStyle::Strong),
        ("tags that become strong", TagStyle::WeakAtFirst(Duration::from_millis(200))),
        ("weak tags", TagStyle::Weak),
    ];
    let mut held = true;
    for (what, tags) in kinds {
        let server =
            Embedded::start(Config::default().tags(tags)).context("cannot start the embedded server")?;
        let target = Authority { host: server.addr().to_string(), ..Authority::default() };
        let http = Http::origin(target, "/");
        let messages = args.messages() / kinds.len() as u64;
        held &= soak(&http, "http", what, &args.plan(Target::new(server.addr())), messages, &|case| {
            flood(&http, case)
        })?;
    }
    Ok(held)
}

/// Tests a correct origin server that is already running.
pub(crate) fn origin(address: SocketAddr, what: &str, seed: u64, messages: u64) -> Result<bool> {
    let target = Authority { host: address.to_string(), ..Authority::default() };
    let http = Http::origin(target, "/");
    let args = Args { short: false, messages: Some(messages), connections: 16, seed };
    soak(&http, "http", what, &args.plan(Target::new(address)), messages, &|case| flood(&http, case))
}

/// Returns traffic with as many outstanding requests as possible; only every sixteenth case holds content back until
/// 100 Continue, which takes long.
fn flood(http: &Http, case: u64) -> AnyGenerator<'_> {
    let traffic = Traffic::new(http.clone(), STEPS).flooding();
    AnyGenerator::new(if case.is_multiple_of(16) { traffic } else { traffic.impatient() })
}

/// Tests Debian's memcached. Numbers of 2^63 and more are not sent: memcached does not count them as the protocol
/// says.
pub(crate) fn memcached(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) && !args.short {
        return again_in_release();
    }
    let server = match Memcached::start() {
        Err(error @ ServerError::NotInstalled { .. }) if !is_strict() => {
            println!("skipped: {error}");
            return Ok(true);
        }
        other => other.context("cannot start memcached")?,
    };
    let protocol = Protocol11::new(MemcachedModel { keeps: false });
    let make = |case: u64| -> AnyGenerator<'_> {
        AnyGenerator::new(Commands::new(Habits {
            singles: 10 + (case % 4) as u32,
            large: false,
            ..Habits::default()
        }))
    };
    soak(
        &protocol,
        "memcached",
        "memcached",
        &args.plan(Target::new(server.address())),
        args.messages(),
        &make,
    )
}

/// Tests Debian's Redis.
pub(crate) fn redis(args: &Args) -> Result<bool> {
    if cfg!(debug_assertions) && !args.short {
        return again_in_release();
    }
    let server = match Redis::start(&[]) {
        Err(error @ ServerError::NotInstalled { .. }) if !is_strict() => {
            println!("skipped: {error}");
            return Ok(true);
        }
        other => other.context("cannot start Redis")?,
    };
    let place = server.address().to_string();
    // The more keys, the more requests can be outstanding without being in each other's way.
    let outstanding = args.connections as usize * 5 / 4;
    let traffic = confute_redis::traffic().names(24).requests(600).outstanding(outstanding).flooding();
    let subject = confute_redis::server(&place, None, traffic)?;
    let plan = args.plan(Target::new(server.address()));
    soak(subject.protocol.as_ref(), "redis", "redis", &plan, args.messages(), &|case| (subject.traffic)(case))
}

fn soak(
    protocol: &dyn AnyProtocol,
    model: &str,
    what: &str,
    plan: &Plan,
    messages: u64,
    make: Factory<'_>,
) -> Result<bool> {
    println!("{what}: {messages} messages over {} connections, seed {}", plan.limits.connections, plan.seed);
    let stop = AtomicBool::new(false);
    let mut watch = MessageCounter {
        what,
        wanted: messages,
        seen: 0,
        stop: &stop,
        line: ProgressLine::default(),
        told: Instant::now(),
    };
    let outcome = campaign(protocol, plan, make, &mut watch, &stop);
    watch.line.erase();
    report(&outcome, watch.seen);
    if let Some(finding) = outcome.findings.first() {
        return keep(model, finding).map(|()| false);
    }
    let median = outcome.figures.outstanding.median();
    let mut failures = Vec::new();
    if outcome.conclusion != Conclusion::Unrefuted {
        failures.push(format!("{:?}", outcome.conclusion));
    }
    // On a busy machine the server is slow to be asked, and fewer requests overlap.
    if median < u64::from(plan.limits.connections / 3) {
        failures.push(format!("a median of {median} outstanding requests is too few to mean anything"));
    }
    if outcome.tally.inconclusive * HARD > outcome.tally.cases {
        failures.push("too many cases could not be judged".to_owned());
    }
    failures.iter().for_each(|failure| println!("  FAILED: {failure}"));
    Ok(failures.is_empty())
}

fn report(outcome: &Outcome, messages: u64) {
    let (figures, tally) = (&outcome.figures, &outcome.tally);
    let spread = |name: &str, spread: &confute_drive::Spread| {
        let it = spread.quantiles();
        println!(
            "  {name}: median {}, 10 % up to {}, 90 % up to {}, at most {}",
            it.median, it.p10, it.p90, it.max
        );
    };
    println!(
        "  {:?}: {messages} messages in {} cases, {:.1} s ({:.0} % thinking)",
        outcome.conclusion,
        tally.cases,
        outcome.elapsed.as_secs_f64(),
        100.0 * figures.thinking.as_secs_f64() / outcome.elapsed.as_secs_f64(),
    );
    spread("outstanding at each send", &figures.outstanding);
    spread("open alternatives", &figures.alternatives);
    if tally.inconclusive + tally.early + tally.doubtful > 0 {
        let (inconclusive, early, doubtful) = (tally.inconclusive, tally.early, tally.doubtful);
        println!("  {inconclusive} cases not judged, {early} ended early, {doubtful} doubtful");
    }
}

/// Stores the trace of a refuted run, and prints its path.
fn keep(model: &str, finding: &Finding) -> Result<()> {
    let path = root()?.join("target").join(format!("soak-{model}-refuted.jsonl"));
    std::fs::create_dir_all(root()?.join("target"))?;
    let note = Some(format!("case {} (seed {})", finding.counterexample.name, finding.seed));
    let header = Header { seed: Some(finding.seed), note, ..Header::new(model, "tcp") };
    let trace = Trace { header, events: finding.counterexample.trace.clone() };
    trace.write(File::create(&path)?).context("cannot keep the trace")?;
    println!("  FAILED: a correct server was refuted, blamed on {:?}", finding.diagnoses);
    let expected = finding.counterexample.refutation.expected.iter();
    let expected: Vec<&str> = expected.map(|one| one.message.as_deref().unwrap_or("nothing")).collect();
    println!(
        "  seen: {}\n  expected: {}\n  kept: {}",
        finding.counterexample.refutation.seen,
        expected.join(", or "),
        path.display()
    );
    Ok(())
}

/// Sink that counts messages and stops the campaign when there are enough.
struct MessageCounter<'a> {
    what: &'a str,
    wanted: u64,
    seen: u64,
    stop: &'a AtomicBool,
    line: ProgressLine,
    told: Instant,
}

impl Sink for MessageCounter<'_> {
    fn ended(&mut self, case: &CaseReport) {
        self.seen += case.figures.requests + case.figures.answers;
        if let Verdict::Inconclusive(why) = &case.verdict {
            println!("  case {} could not be judged: {why}", case.number);
        }
        if self.seen >= self.wanted {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn found(&mut self, _: &Finding, _: News) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn tick(&mut self, live: &Live) {
        let text = format!(
            "{}: {} of {}, {:.0} answers/s, {} outstanding, {} alternatives",
            self.what, self.seen, self.wanted, live.rate, live.outstanding, live.alternatives
        );
        self.line.tell(&text);
        // A line every 30 seconds also goes to standard output, for logs.
        if self.told.elapsed() > Duration::from_secs(30) {
            self.told = Instant::now();
            println!("  {text}");
        }
    }
}
