//! `cargo xtask eval nginx`, `lighttpd` and `proxies`: servers as Debian ships them, and the rules they break.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute_drive::{AnyGenerator, Limits, Target};
use confute_http::encode::Target as Authority;
use confute_http::{Http, Passage, Traffic};
use confute_testbed::apache::Apache;
use confute_testbed::free_port;
use confute_testbed::haproxy::Haproxy;
use confute_testbed::lighttpd::Lighttpd;
use confute_testbed::nginx::Nginx;
use confute_testbed::squid::Squid;

use super::attempt::{Goal, attempt};
use super::record::{Book, Quartiles, Record};
use super::report::{self, Row};
use super::{Common, figure, home};

/// Number of messages that the original tester needed for nginx.
const ORIGINAL_NGINX: u64 = 18;
/// Number of steps of a case of an origin.
const STEPS: usize = 300;
const PATIENCE: Duration = Duration::from_secs(1);

/// A server that stops when it is dropped.
trait Server {
    fn address(&self) -> SocketAddr;
}

macro_rules! servers {
    ($($name:ident),*) => {
        $(impl Server for $name {
            fn address(&self) -> SocketAddr {
                Self::address(self)
            }
        })*
    };
}

servers!(Apache, Haproxy, Lighttpd, Nginx, Squid);

pub(crate) fn origin(name: &'static str, args: &Common) -> Result<bool> {
    evaluate(name, &[name], args, &|_, seed, time| {
        let server: Box<dyn Server> = match name {
            "nginx" => Box::new(Nginx::start()?),
            _ => Box::new(Lighttpd::start()?),
        };
        let target = Authority { host: server.address().to_string(), ..Authority::default() };
        let http = Http::origin(target, "/").promised(true);
        let make = |case: u64| AnyGenerator::new(Traffic::of_case(http.clone(), STEPS, case));
        Ok(attempt(&http, Target::new(server.address()), seed, &goal(time), &make))
    })
}

pub(crate) fn proxies(args: &Common) -> Result<bool> {
    evaluate("proxies", &["apache", "nginx", "haproxy", "squid"], args, &|name, seed, time| {
        let origin = free_port()?;
        let server: Box<dyn Server> = match name {
            "apache" => Box::new(Apache::forwarding(origin)?),
            "nginx" => Box::new(Nginx::gateway(origin)?),
            "haproxy" => Box::new(Haproxy::forwarding(origin)?),
            _ => Box::new(Squid::forwarding(origin)?),
        };
        let target = Authority { host: server.address().to_string(), ..Authority::default() };
        let place = Target { listen: Some(origin), ..Target::new(server.address()) };
        let limits = Limits { patience: PATIENCE, ..Limits::default() };
        // nginx is tested with persistent connections to the origin; without them, each request has its own
        // connection.
        let path = if name == "nginx" { "/kept/" } else { "/proxy/" };
        let proxy = Http::gateway(target, path, origin, path).discovered(place, &limits);
        let make = |case: u64| AnyGenerator::new(Passage::of_case(case));
        Ok(attempt(&proxy, place, seed, &goal(time), &make))
    })
}

/// Returns the goal of a run that uses the whole time and records all violations.
fn goal(time: Duration) -> Goal {
    Goal { time, most: None, first_only: false, shrinks: false, patience: PATIENCE }
}

type Attempt<'a> = &'a dyn Fn(&str, u64, Duration) -> Result<Record>;

/// Runs every seed against each of these servers for the whole time, and reports the broken rules.
fn evaluate(part: &str, names: &[&str], args: &Common, each: Attempt<'_>) -> Result<bool> {
    if let Some(unknown) = args.only.iter().find(|only| !names.contains(&&***only)) {
        bail!("there is no {unknown:?} here; there are: {}", names.join(", "));
    }
    let home = home(part)?;
    let mut book = Book::open(&home.join("runs.jsonl"))?;
    if args.fresh {
        book.clear()?;
    }
    let time = args.max_time(10);
    let (mut rows, mut text) = (Vec::new(), String::new());
    for name in names.iter().filter(|name| args.wants(name)) {
        let version = version(name);
        println!("{name} {version}");
        let mut records = Vec::new();
        for seed in 1..=args.seeds {
            let key = format!("{version} {}", time.as_secs());
            let (record, is_new) = book.run((name, seed, &key), || {
                each(name, seed, time).with_context(|| format!("{name}, seed {seed}"))
            })?;
            if is_new {
                let first = match (&record.seconds, &record.inconclusive) {
                    (Some(seconds), _) => format!("refuted after {seconds:.3} s"),
                    (None, Some(why)) => format!("no verdict: {why}"),
                    (None, None) => "unrefuted".to_owned(),
                };
                println!(
                    "  seed {seed}: {first}, {} violations in {} messages",
                    record.findings.len(),
                    record.all_messages
                );
            }
            records.push(record);
        }
        let original = (*name == "nginx" && part == "nginx").then_some(ORIGINAL_NGINX);
        rows.push(Row {
            what: format!("{version}, as Debian ships it"),
            original,
            ..Row::of(name, &records, &[], &[])
        });
        let table = rules(&records);
        println!("{table}");
        let _ = writeln!(
            text,
            "## {name} {version}\n\n{} runs of {} s, {} messages.\n\n{table}",
            records.len(),
            time.as_secs(),
            records.iter().map(|record| record.all_messages).sum::<u64>(),
        );
    }
    println!("{}", Row::heading());
    rows.iter().for_each(|row| println!("{}", row.line()));
    report::write(&home, "Up to the first violation.", &rows)?;
    std::fs::write(home.join("rules.md"), text)?;
    std::fs::write(home.join("figure.svg"), figure::draw(&format!("Cost of refuting {part}"), &rows))?;
    println!("results.json, results.csv, results.md, rules.md, figure.svg in {}", home.display());
    Ok(rows.iter().all(|row| row.inconclusive.is_empty()))
}

/// Counts for one rule.
#[derive(Default)]
struct Count {
    /// Seeds at which the rule alone explains a violation, all others having been tried.
    alone: BTreeSet<u64>,
    /// Seeds at which the rule explains a violation, alone or as one of several alternatives.
    named: BTreeSet<u64>,
    /// Time and number of messages at which the rule was first named, by seed.
    first: BTreeMap<u64, (f64, u64)>,
}

/// Returns a table of the broken rules, with the number of seeds and the median time.
fn rules(records: &[Record]) -> String {
    let mut counts = BTreeMap::<&str, Count>::new();
    for record in records {
        for sighting in &record.findings {
            for rule in &sighting.rules {
                let count = counts.entry(rule).or_default();
                count.named.insert(record.seed);
                if sighting.rules.len() == 1 && !sighting.incomplete {
                    count.alone.insert(record.seed);
                }
                count.first.entry(record.seed).or_insert((sighting.seconds, sighting.messages));
            }
        }
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(rule, count)| (Reverse(count.alone.len()), Reverse(count.named.len()), *rule));
    let mut text =
        "| rule | alone | alone or among others | median s | median messages |\n|---|---|---|---|---|\n"
            .to_owned();
    for (rule, count) in rows {
        let median = |number: fn(&(f64, u64)) -> f64| {
            Quartiles::of(count.first.values().map(number)).map_or(0.0, |it| it.median)
        };
        let _ = writeln!(
            text,
            "| {rule} | {}/{all} | {}/{all} | {:.2} | {} |",
            count.alone.len(),
            count.named.len(),
            median(|(seconds, _)| *seconds),
            median(|(_, messages)| *messages as f64),
            all = records.len(),
        );
    }
    text
}

/// Returns Debian's version of a server.
fn version(name: &str) -> String {
    let package = match name {
        "apache" => "apache2-bin",
        "nginx" => "nginx-common",
        other => other,
    };
    let output = std::process::Command::new("dpkg-query").args(["-W", "-f=${Version}", package]).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
