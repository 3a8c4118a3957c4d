//! The command line, defined once: parsing and help both come from here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use confute::network::Network;
use confute_models::registry::{self, Named};
use confute_report::quantity;

use crate::live::Flags;
use crate::{catalogue, near};

/// Proves networked servers wrong.
///
/// From a model of every correct server Confute derives a tester. The tester judges what was seen of a server, live or
/// recorded, and ends in one of three verdicts: refuted (no behaviour of the model explains what was seen), unrefuted
/// (some behaviour does), or inconclusive (a budget ran out first).
#[derive(Debug, Parser)]
#[command(name = "confute", version, max_term_width = 100, after_help = EXAMPLES, after_long_help = LONG)]
pub(crate) struct Args {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  confute demo                              refute a small server, and see why
  confute http http://127.0.0.1:8080/       test an HTTP server
  confute memcached 127.0.0.1:11211         test a memcached server
  confute check --model kv history.edn      judge a recorded history
  confute replay FILE http://127.0.0.1/     does a stored violation still show?
  confute rules kv                          what the model `kv` demands
  confute explain kv/put-lasts              one of its rules";

const LONG: &str = "\
Examples:
  confute demo                              refute a small server, and see why
  confute http http://127.0.0.1:8080/       test an HTTP server
  confute memcached 127.0.0.1:11211         test a memcached server
  confute check --model kv history.edn      judge a recorded history
  confute replay FILE http://127.0.0.1/     does a stored violation still show?
  confute rules kv                          what the model `kv` demands
  confute explain kv/put-lasts              one of its rules

Exit codes:
  0  unrefuted: everything that was seen is explained
  1  refuted: a server was proven wrong
  2  broken: a file could not be read as what it should be, or the command line makes no sense
  3  inconclusive: a budget ran out
Of several files the worst counts: 2 before 1 before 3 before 0.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Http(Http),
    Memcached(Memcached),
    Check(Check),
    Replay(Replay),
    Rules(Rules),
    Explain(Explain),
    Demo(Demo),
}

/// Test an HTTP/1.1 server: an origin, a gateway in front of one, or both.
///
/// Puts, gets and deletes resources below the URL, over many connections, and refutes the server when no server that keeps
/// to RFC 9110 and 9112 could have answered so. Each case uses names that were never used before. Rules have levels: must
/// (the standard demands it), store (what a store with one copy does), should (recommended: a warning unless --strict).
/// The premise is that nobody else writes below the URL, and that PUT is allowed there.
#[derive(Debug, Parser)]
#[command(after_help = HTTP_EXAMPLES)]
pub(crate) struct Http {
    /// Below which URL to test: `http://HOST[:PORT][/PATH]`, or https://.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The server is a gateway (a reverse proxy), and the tester is its client and its origin: it listens here, HOST:PORT.
    /// The server has to forward what is below the URL to this address.
    #[arg(long, value_name = "ADDR")]
    pub(crate) origin: Option<String>,
    /// The server is a proxy that clients choose (a forward proxy): requests name the origin in full.
    #[arg(long, requires = "origin")]
    pub(crate) forward: bool,
    /// The server is both: an origin below the URL, and a gateway that forwards what is below this path to --origin. Both
    /// are tested in one run, on the same connections.
    #[arg(long, value_name = "PATH", requires = "origin", conflicts_with_all = ["forward", "path"], value_parser = proxy_path)]
    pub(crate) proxy_path: Option<String>,
    /// Only read this resource, which exists and which nobody changes; can be given several times. Nothing is written then.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// Try every script of up to N requests, the smallest first: GET, HEAD, PUT and DELETE of two resources, with If-Match or
    /// If-None-Match or without, one after the other and two at a time. Exit code 0 only if all of them ran.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u8).range(1..=5),
        conflicts_with_all = ["path", "origin", "cases", "connections"]
    )]
    pub(crate) exhaustive: Option<u8>,
    /// Don't find out first what the server takes: it is a store that takes GET, HEAD, PUT and DELETE below the URL, and is
    /// refuted if it refuses a request.
    #[arg(long, conflicts_with = "path")]
    pub(crate) no_survey: bool,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// How to get through to an HTTP server.
#[derive(Debug, clap::Args)]
pub(crate) struct Reach {
    /// A header field for every request; can be given several times. Its value does not appear in reports.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Trust only certificates issued by those in this file (PEM), for https://.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,
    /// Trust any certificate, for https://. Whoever is in between is not noticed.
    #[arg(long)]
    pub(crate) insecure: bool,
}

impl Reach {
    pub(crate) fn to_way(&self) -> confute_test::way::Reach {
        let (fields, ca) = (self.header.clone(), self.ca.clone());
        confute_test::way::Reach { fields, ca, insecure: self.insecure }
    }
}

const HTTP_EXAMPLES: &str = "\
Examples:
  confute http http://127.0.0.1:8080/
  confute http http://127.0.0.1:8080/dav --max-time 5m --workers 2
  confute http http://127.0.0.1:8080/ --allow store/one-winner --strict
  confute http http://127.0.0.1:8080/ --report-dir found --format json
  confute http http://127.0.0.1:8080/ --exhaustive 2    every script of up to two requests
  confute http http://127.0.0.1:8080/proxy/ --origin 127.0.0.1:9090    a gateway
  confute http http://127.0.0.1:8080/ --origin 127.0.0.1:9090 --proxy-path /proxy/    both at once
  confute http http://127.0.0.1:3128/ --origin 127.0.0.1:9090 --forward    a proxy
  confute http http://127.0.0.1:8080/ --path /index.html     a server that can only be read
  confute http https://127.0.0.1:8443/ --ca ca.pem -H 'Authorization: Bearer …'

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage, 3 inconclusive or nothing was tested.";

/// Test a memcached server.
///
/// Sends requests of the text protocol over many connections, below keys of its own that no earlier run has used, and
/// refutes the server when no correct memcached could have answered so. An item may be lost at any time: a cache may do
/// that. The premise is that nobody else writes the same keys.
#[derive(Debug, Parser)]
#[command(after_help = MEMCACHED_EXAMPLES)]
pub(crate) struct Memcached {
    /// Where it listens: HOST, or HOST:PORT [default port: 11211].
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// The server has room and time enough: an item that disappears before it expires is a violation.
    #[arg(long)]
    pub(crate) keeps: bool,
    /// Also count with numbers of 2^63 and more, which memcached 1.6 gets wrong now and then
    /// (memcached/count-large).
    #[arg(long)]
    pub(crate) large: bool,
    /// Also wait in every case until items must have expired: seven seconds each.
    #[arg(long)]
    pub(crate) expiry: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

const MEMCACHED_EXAMPLES: &str = "\
Examples:
  confute memcached 127.0.0.1
  confute memcached 127.0.0.1:11311 --max-time 5m --connections 32
  confute memcached 127.0.0.1 --allow memcached/count-large --large
  confute memcached 127.0.0.1 --report-dir found --format json

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage, 3 inconclusive or nothing was tested.";

/// Judge recorded histories and traces.
///
/// A file is a Confute trace (JSON Lines, whose first line names model and network), a history of EDN maps one a line,
/// or a log of jepsen.util. The form is recognised by itself; `-` is standard input. Histories have no model of their
/// own and need --model: kv (get, put, append) or register (read, write, cas).
#[derive(Debug, Parser)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// What to judge.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The model of a correct server: echo, accumulator, proxy, swap, register, kv, conditional or ticket. A trace names
    /// its own.
    #[arg(short, long, value_name = "NAME", value_parser = model)]
    pub(crate) model: Option<&'static str>,
    /// The network between tester and server: direct, tcp or udp [default: the trace's own, or else tcp].
    #[arg(short, long, value_name = "NAME", value_parser = network)]
    pub(crate) network: Option<&'static str>,
    /// How long to search, for each file: 500ms, 30s, 5m. Explaining a refutation gets as much again.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::duration)]
    pub(crate) max_time: Duration,
    /// How much memory the search may hold: 64MiB, 1GiB.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::size)]
    pub(crate) max_memory: usize,
    /// How many events a file may have.
    #[arg(long, value_name = "N", default_value = "10000000", hide_short_help = true)]
    pub(crate) max_events: usize,
    /// How long a line of a file may be.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = quantity::size, hide_short_help = true)]
    pub(crate) max_line: usize,
    /// Let the server break this rule; can be given several times.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) allow: Vec<&'static str>,
    /// For people, or one JSON object a file and line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Do not look for the rules that were broken.
    #[arg(long)]
    pub(crate) no_blame: bool,
    /// Say only the verdicts.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show messages in full, and progress even where standard error is no terminal.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  confute check --model kv history.edn
  confute check --model register --max-time 5m logs/*.log
  confute check --allow kv/put-lasts trace.jsonl     what else is wrong?
  confute check --format json trace.jsonl | jq .verdict

Exit codes: 0 unrefuted, 1 refuted, 2 broken input, 3 inconclusive; of several files the worst
counts, in the order 2, 1, 3, 0.";

/// Judge a stored violation again, or do it again to a server.
///
/// The file is one that --report-dir or --regressions wrote. Without a server, what was seen then is judged once more, by the
/// model as it is now. With one, what was done is done again, under fresh names, and judged: it says in how many runs
/// the violation showed.
#[derive(Debug, Parser)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct Replay {
    /// The stored violation.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The server: the URL below which to test, or HOST:PORT for memcached.
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// How often to do it.
    #[arg(long, value_name = "N", default_value = "10", requires = "target", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,
    /// How long to wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = quantity::duration)]
    pub(crate) patience: Duration,
    /// How long to judge what was seen then.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::duration)]
    pub(crate) max_time: Duration,
    /// Let the server break this rule; can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Where the tester listens as origin behind a gateway, HOST:PORT [default: where it did then].
    #[arg(long, value_name = "ADDR", requires = "target")]
    pub(crate) origin: Option<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Do it to a server that is not on this machine. It will be written to.
    #[arg(long)]
    pub(crate) remote: bool,
    /// For people, or one JSON object.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Say only the verdict.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show messages in full.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  confute replay found/violation-1/violation.case                           judge it again
  confute replay found/violation-1/violation.case http://127.0.0.1:8080/    does it still fail?
  confute replay lost-update.case http://127.0.0.1:8080/ --runs 50          how often?

Exit codes: 0 it is explained, or did not show; 1 refuted again; 2 wrong usage or a broken file;
3 inconclusive.";

/// List the rules of the protocols and of the small models.
///
/// Every demand that a model makes has a name. Reports blame rules by it, and `confute check --allow` relaxes them.
#[derive(Debug, Parser)]
pub(crate) struct Rules {
    /// Only the rules of this protocol or model.
    #[arg(value_name = "PROTOCOL", value_parser = book)]
    pub(crate) model: Option<&'static str>,
    /// For people, or one JSON object a rule and line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Say what a rule asks, how binding it is, and how to relax it.
#[derive(Debug, Parser)]
pub(crate) struct Explain {
    /// The rule, as `confute rules` lists it.
    #[arg(value_name = "RULE", value_parser = any_rule)]
    pub(crate) rule: &'static str,
}

/// Refute a small HTTP server that has a planted bug, then fail to refute it without the bug.
///
/// Both run inside this process, on ports of this machine, and are tested over real connections. The first one ignores
/// If-Match when it is told to put something. Exit code 0 if it was refuted for the right reason and the correct one was not
/// refuted, 1 otherwise.
#[derive(Debug, Parser)]
pub(crate) struct Demo {
    /// What all random choices come from: the same seed, the same run.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Keep the counterexample as a trace.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// A path below which everything is forwarded.
fn proxy_path(path: &str) -> Result<String, String> {
    if !path.starts_with('/') || !path.ends_with('/') || path.contains("//") {
        return Err("a path begins and ends with a slash and is the whole path, such as /proxy/".to_owned());
    }
    if path == "/" {
        return Err(
            "if everything is forwarded, the server is a gateway only: leave --proxy-path out".to_owned()
        );
    }
    if !path.chars().all(|c| c.is_ascii_graphic() && !"?#".contains(c)) {
        return Err("write what is no letter, digit or sign of a path as %XX".to_owned());
    }
    Ok(path.to_owned())
}

fn model(name: &str) -> Result<&'static str, String> {
    let names = || registry::models().iter().map(|model| model.name());
    registry::model(name).map(Named::name).ok_or_else(|| near::unknown("model", name, names()))
}

fn network(name: &str) -> Result<&'static str, String> {
    let names = || registry::networks().iter().map(|network| network.name());
    registry::network(name).map(Network::name).ok_or_else(|| near::unknown("network", name, names()))
}

fn rule(name: &str) -> Result<&'static str, String> {
    let names = || registry::models().iter().flat_map(|model| model.rules()).map(|rule| rule.name);
    registry::rule(name).map(|(_, rule)| rule.name).ok_or_else(|| {
        let hint = near::unknown("rule", name, names());
        format!("{hint} (`confute rules` lists all)")
    })
}

fn book(name: &str) -> Result<&'static str, String> {
    let names = || catalogue::books().map(|book| book.name);
    names().find(|known| *known == name).ok_or_else(|| near::unknown("protocol or model", name, names()))
}

fn any_rule(name: &str) -> Result<&'static str, String> {
    let names = || catalogue::books().flat_map(|book| book.rules).map(|rule| rule.name);
    names().find(|known| *known == name).ok_or_else(|| {
        let hint = near::unknown("rule", name, names());
        format!("{hint} (`confute rules` lists all)")
    })
}
