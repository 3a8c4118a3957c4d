//! The command line, defined once: parsing and help both come from here.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use confute::network::Network;
use confute_kits::KITS;
use confute_models::registry::{self, Named};
use confute_run::kit::ReachArguments;
use confute_run::{Kit, quantity};

use crate::live::Flags;
use crate::near;

/// Proves networked servers wrong.
///
/// From a model of every correct server Confute derives a tester. The tester judges what was seen of a server, live or
/// recorded, and ends in one of three verdicts: refuted (no behaviour of the model explains what was seen), unrefuted
/// (some behaviour does), or inconclusive (a budget ran out first).
#[derive(Parser)]
#[command(name = "confute", version, max_term_width = 100)]
struct Fixed {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// The command line: what does not depend on a command, and the command.
pub(crate) struct Args {
    /// When to use colour.
    pub(crate) color: Color,
    /// The command.
    pub(crate) command: Command,
}

/// A test of a live server: the kit that tests it, with its arguments.
pub(crate) struct Live {
    pub(crate) kit: &'static dyn Kit,
    pub(crate) arguments: ArgMatches,
    pub(crate) flags: Flags,
}

/// The whole command line: the fixed commands, and one for each kit.
pub(crate) fn command() -> clap::Command {
    let (examples, mut command) = (examples(), Fixed::command());
    command = command.after_long_help(format!("{examples}\n\n{EXIT_CODES}")).after_help(examples);
    let fixed: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for (place, name) in fixed.iter().enumerate() {
        command = command.mut_subcommand(name, |one| one.display_order(KITS.len() + place));
    }
    for (place, kit) in KITS.iter().enumerate() {
        if let Some(own) = kit.command(clap::Command::new(kit.name())) {
            // The flags bring a description of their own: that of the kit stays.
            let about = own.get_about().cloned().unwrap_or_default();
            let long = own.get_long_about().cloned().unwrap_or_else(|| about.clone());
            let own = Flags::augment_args(own).about(about).long_about(long);
            command = command.subcommand(own.display_order(place));
        }
    }
    command
}

/// Parses the command line; ends the program with a message if it makes no sense.
pub(crate) fn parse() -> Args {
    read(&command().get_matches()).unwrap_or_else(|error| error.exit())
}

fn read(matches: &ArgMatches) -> Result<Args, clap::Error> {
    if let Some((name, arguments)) = matches.subcommand()
        && let Some(kit) = confute_kits::kit(name)
    {
        let color = arguments.get_one("color").copied().unwrap_or(Color::Auto);
        let flags = Flags::from_arg_matches(arguments)?;
        let live = Live { kit, arguments: arguments.clone(), flags };
        return Ok(Args { color, command: Command::Kit(Box::new(live)) });
    }
    let Fixed { color, command } = Fixed::from_arg_matches(matches)?;
    Ok(Args { color, command })
}

/// Examples of the fixed commands: a command, and what it does. Those of kits stand after the first.
const EXAMPLES: [(&str, &str); 5] = [
    ("confute demo", "refute a small server, and see why"),
    ("confute check --model kv history.edn", "judge a recorded history"),
    ("confute replay FILE http://127.0.0.1/", "does a stored violation still show?"),
    ("confute rules kv", "what the model `kv` demands"),
    ("confute explain kv/put-lasts", "one of its rules"),
];

const EXIT_CODES: &str = "\
Exit codes:
  0  unrefuted: everything that was seen is explained
  1  refuted: a server was proven wrong
  2  broken: a file could not be read as what it should be, or the command line makes no sense
  3  inconclusive: a budget ran out
Of several files the worst counts: 2 before 1 before 3 before 0.";

/// The examples of all commands, a line each.
fn examples() -> String {
    let kits = KITS.iter().filter_map(|kit| kit.example());
    let (first, rest) = EXAMPLES.split_at(1);
    let all = first.iter().copied().chain(kits).chain(rest.iter().copied());
    all.fold("Examples:".to_owned(), |text, (command, what)| format!("{text}\n  {command:<40}  {what}"))
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Of a kit: it is parsed apart.
    #[command(skip)]
    Kit(Box<Live>),
    Check(Check),
    Replay(Replay),
    Rules(Rules),
    Explain(Explain),
    Demo(Demo),
}

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
    /// The server: the URL below which to test, or HOST:PORT, as the command of its protocol takes it.
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
    pub(crate) reach: ReachArguments,
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
    let names = || confute_kits::books().map(|book| book.name);
    names().find(|known| *known == name).ok_or_else(|| near::unknown("protocol or model", name, names()))
}

fn any_rule(name: &str) -> Result<&'static str, String> {
    let names = || confute_kits::books().flat_map(|book| book.rules).map(|rule| rule.name);
    names().find(|known| *known == name).ok_or_else(|| {
        let hint = near::unknown("rule", name, names());
        format!("{hint} (`confute rules` lists all)")
    })
}
