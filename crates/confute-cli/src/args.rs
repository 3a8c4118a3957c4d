//! The command line, defined once: parsing and help both come from here.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

use confute::check::CheckModel;
use confute::network::{self, Network};
use confute_kits::KITS;
use confute_run::kit::ReachArguments;
use confute_run::{Kit, quantity};

use crate::live::Flags;
use crate::near;

/// Proves networked servers wrong.
///
/// Confute derives a tester from a model of all correct servers. The tester judges a server, live or recorded, and
/// reports one of three verdicts: refuted (no behaviour of the model explains the observations), unrefuted (some
/// behaviour does), or inconclusive (a budget ran out first).
#[derive(Parser)]
#[command(name = "confute", version, max_term_width = 100)]
struct Fixed {
    /// Use of colour in the output.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

/// The parsed command line: the global options and the command.
pub(crate) struct Args {
    /// Use of colour in the output.
    pub(crate) color: Color,
    /// The command to run.
    pub(crate) command: Command,
}

/// A test of a live server: its kit, with the arguments.
pub(crate) struct Live {
    pub(crate) kit: &'static dyn Kit,
    pub(crate) arguments: ArgMatches,
    pub(crate) flags: Flags,
}

/// Builds the whole command line: the fixed commands, and one for each kit.
pub(crate) fn command() -> clap::Command {
    let (examples, mut command) = (examples(), Fixed::command());
    command = command.after_long_help(format!("{examples}\n\n{EXIT_CODES}")).after_help(examples);
    let fixed: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for (place, name) in fixed.iter().enumerate() {
        command = command.mut_subcommand(name, |one| one.display_order(KITS.len() + place));
    }
    for (place, kit) in KITS.iter().enumerate() {
        if let Some(own) = kit.command(clap::Command::new(kit.name())) {
            // `augment_args` sets a description of the flags, so the kit's own is set again.
            let about = own.get_about().cloned().unwrap_or_default();
            let long = own.get_long_about().cloned().unwrap_or_else(|| about.clone());
            let own = Flags::augment_args(own).about(about).long_about(long);
            command = command.subcommand(own.display_order(place));
        }
    }
    command
}

/// Parses the command line. If it is invalid, ends the program with a message.
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

/// Examples of the fixed commands, each with a description. Those of kits come after the first.
const EXAMPLES: [(&str, &str); 6] = [
    ("confute demo", "refute a small server with a planted bug"),
    ("confute check --model kv history.edn", "judge a recorded history"),
    ("confute replay FILE http://127.0.0.1/", "check whether a stored violation still occurs"),
    ("confute rules kv", "list the rules of the model `kv`"),
    ("confute explain kv/put-lasts", "explain one of its rules"),
    ("confute new my-service", "write a tester for a service of your own"),
];

const EXIT_CODES: &str = "\
Exit codes:
  0  unrefuted: everything that was seen is explained
  1  refuted: a server was proven wrong
  2  broken: a file could not be read as what it should be, or the command line makes no sense
  3  inconclusive: a budget ran out
Of several files the worst counts: 2 before 1 before 3 before 0.";

/// Formats the examples of all commands, one per line.
fn examples() -> String {
    let kits = KITS.iter().filter_map(|kit| kit.example());
    let (first, rest) = EXAMPLES.split_at(1);
    let all = first.iter().copied().chain(kits).chain(rest.iter().copied());
    all.fold("Examples:".to_owned(), |text, (command, what)| format!("{text}\n  {command:<40}  {what}"))
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// The command of a kit, which is parsed separately.
    #[command(skip)]
    Kit(Box<Live>),
    Check(Check),
    Merge(Merge),
    Plan(Plan),
    Replay(Replay),
    Rules(Rules),
    Explain(Explain),
    Demo(Demo),
    New(New),
}

/// Judge recorded histories and traces.
///
/// A file is a Confute trace (JSON Lines, whose first line names model and network), a history as EDN maps (one per line
/// or in one vector) or as JSON objects (likewise), or a log of jepsen.util. The format is detected automatically; `-`
/// is standard input. Histories do not name a model and require --model: register (read, write, cas), kv (get, put,
/// append), queue (enqueue, dequeue, drain), stack (push, pop), counter (add, read), set (add, remove, contains, read)
/// or list-append (txn).
///
/// A history of your own has a line when an operation is invoked and one when it completes:
/// {"process": 3, "type": "invoke", "f": "enqueue", "value": 17} and {"process": 3, "type": "ok", "f": "enqueue"}.
/// The type of a completion is ok, fail (it certainly did not take place) or info (the outcome is unknown). The guide
/// lists the operations and values of each model.
#[derive(Debug, Parser)]
#[command(after_help = CHECK_EXAMPLES)]
pub(crate) struct Check {
    /// Files to judge.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The model of a correct server: echo, accumulator, proxy, swap, register, kv, queue, stack, counter, set,
    /// list-append, conditional or ticket. A trace names its own model.
    #[arg(short, long, value_name = "NAME", value_parser = model)]
    pub(crate) model: Option<&'static str>,
    /// The network between tester and server: direct, tcp or udp [default: that of the trace, otherwise tcp].
    #[arg(short, long, value_name = "NAME", value_parser = network)]
    pub(crate) network: Option<&'static str>,
    /// Time limit of the search, for each file: 500ms, 30s, 5m. Explaining a refutation has the same limit again.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::duration)]
    pub(crate) max_time: Duration,
    /// Memory limit of the search: 64MiB, 1GiB.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::size)]
    pub(crate) max_memory: usize,
    /// Maximum number of events in a file.
    #[arg(long, value_name = "N", default_value = "10000000", hide_short_help = true)]
    pub(crate) max_events: usize,
    /// Maximum length of a line in a file.
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = quantity::size, hide_short_help = true)]
    pub(crate) max_line: usize,
    /// Do not require this rule; can be given several times.
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) allow: Vec<&'static str>,
    /// Output format: text, or one JSON object per file and line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Number of files that are judged at the same time, or `auto`: one for each processor. The limits of time and
    /// memory hold for each file.
    #[arg(short, long, value_name = "N", default_value = "auto", value_parser = jobs)]
    pub(crate) jobs: Jobs,
    /// Judge only shard I of N, counted from 0: the files whose places in the list, counted from 0, leave the remainder I. `auto`
    /// and `auto/N` as for `confute http`. `confute merge` puts the tables of the shards together.
    #[arg(long, value_name = "I/N", value_parser = crate::shard::parse)]
    pub(crate) shard: Option<crate::shard::ShardChoice>,
    /// Write the verdict of each file into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub(crate) report_dir: Option<PathBuf>,
    /// Like --report-dir, but go on where an interrupted run in this directory was.
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Write what the search tried, what it left out and where the time went to this file (CONTRIBUTING.md explains it).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) search_log: Option<PathBuf>,
    /// Do not search for the broken rules.
    #[arg(long)]
    pub(crate) no_blame: bool,
    /// Print only the verdicts.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print messages in full, and progress even if standard error is not a terminal.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Number of files that are judged at the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Jobs {
    /// One for each processor.
    Auto,
    /// This number.
    Number(NonZeroUsize),
}

impl Jobs {
    pub(crate) fn count(self) -> usize {
        match self {
            Jobs::Auto => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            Jobs::Number(number) => number.get(),
        }
    }
}

fn jobs(text: &str) -> Result<Jobs, String> {
    match text {
        "auto" => Ok(Jobs::Auto),
        _ => text.parse().map(Jobs::Number).map_err(|_| "expected `auto` or a number from 1".to_owned()),
    }
}

const CHECK_EXAMPLES: &str = "\
Examples:
  confute check --model kv history.edn
  confute check --model register --max-time 5m logs/*.log
  confute check --model queue --jobs 4 runs/*.jsonl    a table of all at the end
  confute check --allow kv/put-lasts trace.jsonl     what else is wrong?
  confute check --format json trace.jsonl | jq .verdict

Exit codes: 0 unrefuted, 1 refuted, 2 broken input, 3 inconclusive; of several files the worst
counts, in the order 2, 1, 3, 0.";

/// Merge the reports of many runs: one record, one set of reports, one exit code.
///
/// The runs are the shards of a campaign (--shard), or runs of their own. Violations are merged by cause, and the smallest
/// case of each is kept; counts are added up, coverage is united. Shards that are missing, interrupted, doubled or of another
/// campaign are named, and a missing one makes the result inconclusive, unless something refutes. Merged reports can be merged
/// again, in any order, and a run that is merged twice counts once. Folders of `confute check --report-dir` are merged into one
/// table.
#[derive(Debug, Parser)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct Merge {
    /// Directories that --report-dir or --resume wrote.
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Write the merged reports into this directory.
    #[arg(long, value_name = "OUT")]
    pub(crate) report_dir: Option<PathBuf>,
    /// Directory of stored violations: those that refute are added, one file per rule, and of several the smallest.
    #[arg(long, value_name = "DIR")]
    pub(crate) regressions: Option<PathBuf>,
    /// File of known violations: they are reported, but do not refute.
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write all violations to the baseline. Those that were tested and not observed by any shard are removed.
    #[arg(long, requires = "baseline")]
    pub(crate) baseline_update: bool,
    /// Output format: text, or one JSON object per line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Print only the verdict.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print messages in full, and every list.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Show how a campaign is split into shards, and how long they would take.
///
/// The split follows from the numbers alone, so nothing is contacted. The time follows from a rate that you measured: name the
/// directory of a short run with the same flags, or the rate itself.
#[derive(Debug, Parser)]
#[command(after_help = PLAN_EXAMPLES)]
pub(crate) struct Plan {
    /// Number of cases of the campaign (the scripts of an exhaustive run, the files of a check).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cases: u64,
    /// Number of shards.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=confute_record::MOST_SHARDS))]
    pub(crate) shards: u64,
    /// Directory of the reports of a run whose rate is taken.
    #[arg(long, value_name = "DIR", conflicts_with = "rate")]
    pub(crate) like: Option<PathBuf>,
    /// Number of cases that one shard runs in a second.
    #[arg(long, value_name = "CASES")]
    pub(crate) rate: Option<f64>,
}

const PLAN_EXAMPLES: &str = "\
Examples:
  confute http http://127.0.0.1:8080/ --seed 1 --max-time 10s --report-dir trial
  confute plan --cases 100000 --shards 64 --like trial

Exit codes: 0 the plan was printed; 2 wrong usage, or no rate can be measured in that directory.";

const MERGE_EXAMPLES: &str = "\
Examples:
  confute http http://127.0.0.1:8080/ --seed 7 --shard 0/2 --report-dir out/0
  confute http http://127.0.0.1:8080/ --seed 7 --shard 1/2 --report-dir out/1
  confute merge out/* --report-dir merged

Exit codes: 0 unrefuted, 1 refuted, 2 wrong usage or nothing readable, 3 inconclusive: something is
missing.";

/// Judge a stored violation again, or replay it against a server.
///
/// The file is one that --report-dir or --regressions wrote. Without a server, the recorded observations are judged
/// again by the current model. With a server, the recorded steps are repeated under fresh names and judged, and the
/// number of runs in which the violation reproduced is reported.
#[derive(Debug, Parser)]
#[command(after_help = REPLAY_EXAMPLES)]
pub(crate) struct Replay {
    /// The stored violation.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The server: the URL below which to test, or HOST:PORT, as for the command of its protocol.
    #[arg(value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Number of runs.
    #[arg(long, value_name = "N", default_value = "10", requires = "target", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,
    /// Time to wait for a response.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = quantity::duration)]
    pub(crate) patience: Duration,
    /// Time limit for judging the recorded observations.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::duration)]
    pub(crate) max_time: Duration,
    /// Do not require this rule; can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Address where the tester listens as origin behind a gateway, HOST:PORT [default: the recorded one].
    #[arg(long, value_name = "ADDR", requires = "target")]
    pub(crate) origin: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArguments,
    /// Permit a server that is not on this machine. The run writes to it.
    #[arg(long)]
    pub(crate) remote: bool,
    /// Output format: text, or one JSON object.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
    /// Print only the verdict.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print messages in full.
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
/// Every requirement of a model has a name. Reports blame rules by name, and `confute check --allow` relaxes them.
#[derive(Debug, Parser)]
pub(crate) struct Rules {
    /// List only the rules of this protocol or model.
    #[arg(value_name = "PROTOCOL", value_parser = book)]
    pub(crate) model: Option<&'static str>,
    /// Output format: text, or one JSON object per rule and line.
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Explain a rule: its requirement, its level, and how to relax it.
#[derive(Debug, Parser)]
pub(crate) struct Explain {
    /// The rule, as `confute rules` lists it.
    #[arg(value_name = "RULE", value_parser = any_rule)]
    pub(crate) rule: &'static str,
}

/// Write a crate that tests a service of your own, with a planted bug to find.
///
/// The crate has the messages and the model of a small service, a server that has a planted bug, and a test that refutes it. Make
/// them yours one at a time. Confute is not published, so the crate depends on the checkout that this binary was built from.
#[derive(Debug, Parser)]
#[command(after_help = NEW_EXAMPLES)]
pub(crate) struct New {
    /// Name of the crate, and of the folder that is created for it.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Let messages be lines of text, which is the default. Another wire is a change of one line in the crate.
    #[arg(long)]
    pub(crate) lines: bool,
    /// Write a tester of a REST service, from its OpenAPI document.
    #[arg(long, conflicts_with = "lines")]
    pub(crate) rest: bool,
    /// Checkout of Confute that the crate depends on [default: the one that this binary was built from].
    #[arg(long, value_name = "PATH")]
    pub(crate) confute: Option<PathBuf>,
}

const NEW_EXAMPLES: &str = "\
Examples:
  confute new my-service
  cd my-service && cargo test     refutes the server with the planted bug

Exit codes: 0 the crate was written; 2 it was not.";

/// Refute a small HTTP server that has a planted bug, then fail to refute it without the bug.
///
/// Both servers run inside this process, on ports of this machine, and are tested over real connections. The first
/// one ignores If-Match on PUT. Exit code 0 if it was refuted for the right reason and the correct one was not
/// refuted, 1 otherwise.
#[derive(Debug, Parser)]
pub(crate) struct Demo {
    /// Seed of all random choices: the same seed gives the same run.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    /// Write the counterexample to this file, as a trace.
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
    let names = || confute_kits::check_models().into_iter().map(CheckModel::name);
    names().find(|known| *known == name).ok_or_else(|| near::unknown("model", name, names()))
}

fn network(name: &str) -> Result<&'static str, String> {
    let names = || network::networks().iter().map(|network| network.name());
    network::network(name).map(Network::name).ok_or_else(|| near::unknown("network", name, names()))
}

fn rule(name: &str) -> Result<&'static str, String> {
    let names = || confute_kits::check_models().into_iter().flat_map(CheckModel::rules).map(|rule| rule.name);
    names().find(|known| *known == name).ok_or_else(|| {
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
