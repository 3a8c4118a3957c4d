//! `bench histories DIR`: recorded histories, judged by Confute and by its peers in the same run.
//!
//! `DIR` contains `kv/NAME-{ok,bad}.txt` (gets, puts, appends) and `etcd/NAME.log` (one register) with
//! `etcd/verdicts.txt`. Confute judges a whole trace over TCP with default options, without the information that keys
//! are independent. Porcupine-rs is measured with such a partition function ("by key") and without.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use confute::lang::ServerModel;
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, Verdict};
use confute_models::kv::Kv;
use confute_models::recorded;
use confute_models::register::CasRegister;
use serde::{Deserialize, Serialize};

use crate::Report;
use crate::measure::{self, Cost, Ended, Limit};
use crate::peers::{self, OneKey, Spec, Store, porcupine, stateright};
use crate::table::{Table, megabytes, mib, seconds, times};

/// Names of the key-value histories that are judged.
const KV: [&str; 5] = ["c01-ok", "c01-bad", "c10-ok", "c10-bad", "c50-ok"];

/// Memory in bytes below which differences are noise, because the kernel counts pages.
const NOISE: u64 = 512 << 10;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory with `kv/` and `etcd/`
    dir: PathBuf,
    /// Maximum CPU time of a judgement of a key-value history, in seconds
    #[arg(long, default_value = "10")]
    limit: u64,
    /// Maximum CPU time of a judgement of an etcd log, in seconds (there are fifty)
    #[arg(long, default_value = "2")]
    log_limit: u64,
    /// Maximum memory of a judgement, in MiB
    #[arg(long, default_value = "4096")]
    memory: u64,
}

/// One judgement, measured in a separate process.
#[derive(clap::Args)]
pub(crate) struct One {
    tool: Tool,
    file: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Tool {
    Confute,
    PorcupineByKey,
    Porcupine,
    Stateright,
}

impl Tool {
    const KV: [Tool; 4] = [Tool::Confute, Tool::PorcupineByKey, Tool::Porcupine, Tool::Stateright];
    const REGISTER: [Tool; 3] = [Tool::Confute, Tool::Porcupine, Tool::Stateright];

    fn name(self) -> &'static str {
        match self {
            Tool::Confute => "confute",
            Tool::PorcupineByKey => "porcupine-rs, by key",
            Tool::Porcupine => "porcupine-rs",
            Tool::Stateright => "stateright",
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Tool::PorcupineByKey => "porcupine-by-key",
            Tool::Porcupine => "porcupine",
            other => other.name(),
        }
    }
}

/// Result of a child process: the verdict, if there is one, and the cost.
#[derive(Serialize, Deserialize)]
pub(crate) struct Judged {
    linearizable: Option<bool>,
    cost: Cost,
}

impl One {
    pub(crate) fn run(&self) -> Result<Judged> {
        let file = File::open(&self.file).with_context(|| format!("cannot open {}", self.file.display()))?;
        let history = confute::history::read(BufReader::new(file), confute::trace::ReadLimits::default())?;
        // The input is kept until the end, so that the judge cannot reuse memory that was freed before.
        let (linearizable, cost) = if self.file.extension().is_some_and(|extension| extension == "log") {
            let events = recorded::REGISTER.translate(&history)?.events;
            match self.tool {
                Tool::Confute => by_confute(&CasRegister, &events),
                Tool::Porcupine => by_porcupine(peers::register(&events)),
                Tool::Stateright => by_stateright(peers::register(&events)),
                Tool::PorcupineByKey => bail!("a register has no keys"),
            }
        } else {
            let events = recorded::KV.translate(&history)?.events;
            match self.tool {
                Tool::Confute => by_confute(&Kv, &events),
                Tool::PorcupineByKey => by_porcupine(peers::kv::<OneKey>(&events)),
                Tool::Porcupine => by_porcupine(peers::kv::<Store>(&events)),
                Tool::Stateright => by_stateright(peers::kv::<Store>(&events)),
            }
        }?;
        drop(history);
        Ok(Judged { linearizable, cost })
    }
}

fn by_confute<S: ServerModel<Msg: Clone>>(
    model: &S,
    events: &[Event<S::Msg>],
) -> Result<(Option<bool>, Cost)> {
    measure::judge(|| match confute::judge(model, &Tcp::default(), events, &Options::default()) {
        Verdict::Unrefuted => Some(true),
        Verdict::Refuted(_) => Some(false),
        Verdict::Inconclusive(_) => None,
    })
}

fn by_porcupine<S: Spec>(operations: Vec<peers::Operation<S>>) -> Result<(Option<bool>, Cost)> {
    let history = porcupine::prepare(operations);
    measure::judge(|| Some(porcupine::check(&history)))
}

fn by_stateright<S: Spec>(operations: Vec<peers::Operation<S>>) -> Result<(Option<bool>, Cost)> {
    let history = stateright::prepare(operations);
    measure::judge(|| stateright::check(&history).ok())
}

/// Result of one judgement.
#[derive(Clone, Serialize)]
struct Row {
    history: String,
    tool: Tool,
    /// `true` if the verdict is the expected one; `None` if there is none.
    right: Option<bool>,
    /// Exceeded limit, if the figures are only lower bounds.
    cut: Option<&'static str>,
    first: f64,
    best: f64,
    runs: u32,
    peak: u64,
}

pub(crate) fn run(args: &Args) -> Result<Report> {
    let limit = Limit { time: Duration::from_secs(args.limit), memory: args.memory << 20 };
    let short = Limit { time: Duration::from_secs(args.log_limit), ..limit };
    println!("Recorded histories: CPU time of the judge, after parsing, and its peak of memory.");
    println!(
        "A key-value history gets {} s, an etcd log {} s, either {} MiB.",
        args.limit, args.log_limit, args.memory
    );
    println!(
        "confute {}, {}\n",
        env!("CARGO_PKG_VERSION"),
        versions(&["porcupine-rs", "stateright"]).join(", ")
    );

    let mut rows = Vec::new();
    let mut table =
        Table::new(3, ["history", "tool", "verdict", "first run", "best run", "x", "peak MiB", "x"]);
    for name in KV {
        let file = args.dir.join(format!("kv/{name}.txt"));
        let of_this = measure_all(&Tool::KV, name, &file, name.ends_with("-ok"), limit)?;
        show(&mut table, &of_this, verdict);
        rows.extend(of_this);
    }
    let mut logs = BTreeMap::<Tool, Vec<Row>>::new();
    for (name, linearizable) in expected(&args.dir)? {
        let file = args.dir.join(format!("etcd/{name}.log"));
        for row in measure_all(&Tool::REGISTER, &name, &file, linearizable, short)? {
            logs.entry(row.tool).or_default().push(row);
        }
    }
    let totals: Vec<Row> = logs.values().filter_map(|rows| total(rows)).collect();
    show(&mut table, &totals, |row| tally(&logs[&row.tool]));
    let worst: Vec<&Row> = logs.values().filter_map(|rows| worst(rows)).collect();
    let named: Vec<Row> =
        worst.iter().map(|row| Row { history: "etcd: worst".into(), ..(*row).clone() }).collect();
    show(&mut table, &named, |row| {
        let log = worst.iter().find(|worst| worst.tool == row.tool).map_or("", |worst| &worst.history);
        format!("{}: {log}", verdict(row).split(' ').next().unwrap_or_default())
    });
    print!("{}", table.text());
    println!("\nx: as many times as Confute. >: cut there, or at least.");
    println!("Memory below 0.5 MiB is noise and not compared. Each tool's worst log is its own.");

    rows.extend(logs.into_values().flatten());
    let fine = rows.iter().all(|row| row.tool != Tool::Confute || row.right == Some(true));
    if !fine {
        println!("FAILED: Confute gave a wrong verdict, or none.");
    }
    Ok(Report { figures: serde_json::json!({ "histories": rows }), fine })
}

/// Returns the names of the etcd logs, each with `true` if it is linearizable.
fn expected(dir: &Path) -> Result<Vec<(String, bool)>> {
    let file = dir.join("etcd/verdicts.txt");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let pairs = text.lines().map(|line| match line.split_once(' ') {
        Some((name, "linearizable")) => Ok((name.to_owned(), true)),
        Some((name, "not")) => Ok((name.to_owned(), false)),
        _ => bail!("{}: expected NAME linearizable|not, found {line:?}", file.display()),
    });
    pairs.collect()
}

fn measure_all(
    tools: &[Tool],
    name: &str,
    file: &Path,
    linearizable: bool,
    limit: Limit,
) -> Result<Vec<Row>> {
    let measure = |&tool: &Tool| {
        let arguments = [OsString::from("one"), tool.argument().into(), file.into()];
        let (right, cut, cost) = match measure::in_child::<Judged>(&arguments, limit)? {
            Ended::Done(judged) => (judged.linearizable.map(|said| said == linearizable), None, judged.cost),
            Ended::Cut { late, peak } => {
                let time = limit.time.as_secs_f64();
                (
                    None,
                    Some(if late { "time" } else { "memory" }),
                    Cost { first: time, best: time, runs: 0, peak },
                )
            }
        };
        let Cost { first, best, runs, peak } = cost;
        Ok(Row { history: name.to_owned(), tool, right, cut, first, best, runs, peak })
    };
    tools.iter().map(measure).collect()
}

/// Sums all logs of one tool into one row.
fn total(rows: &[Row]) -> Option<Row> {
    let first = rows.first()?;
    Some(Row {
        history: format!("etcd: all {}", rows.len()),
        tool: first.tool,
        right: rows.iter().map(|row| row.right).reduce(|all, one| Some(all? && one?)).flatten(),
        cut: rows.iter().find_map(|row| row.cut),
        first: rows.iter().map(|row| row.first).sum(),
        best: rows.iter().map(|row| row.best).sum(),
        runs: rows.iter().map(|row| row.runs).sum(),
        peak: rows.iter().map(|row| row.peak).max()?,
    })
}

/// Returns the log that took one tool longest.
fn worst(rows: &[Row]) -> Option<&Row> {
    rows.iter().max_by(|a, b| a.best.total_cmp(&b.best))
}

fn tally(rows: &[Row]) -> String {
    let count = |right| rows.iter().filter(|row| row.right == Some(right)).count();
    match (count(true), count(false)) {
        (right, 0) => format!("{right}/{} right", rows.len()),
        (right, wrong) => format!("{right} right, {wrong} WRONG"),
    }
}

fn verdict(row: &Row) -> String {
    match (row.right, row.cut) {
        (Some(true), _) => "right".to_owned(),
        (Some(false), _) => "WRONG".to_owned(),
        (None, Some(what)) => format!("none ({what})"),
        (None, None) => "none".to_owned(),
    }
}

/// Adds the rows of one history to the table; the first is Confute's, with which the others are compared.
fn show(table: &mut Table, rows: &[Row], verdict: impl Fn(&Row) -> String) {
    let Some(ours) = rows.first() else { return };
    for (place, row) in rows.iter().enumerate() {
        let more = |figure: String| if row.cut.is_some() { format!("> {figure}") } else { figure };
        // A run that was killed for its memory might have taken any time.
        let time = |figure: String| if row.cut == Some("memory") { "?".to_owned() } else { more(figure) };
        table.row([
            if place == 0 { row.history.clone() } else { String::new() },
            row.tool.name().to_owned(),
            verdict(row),
            time(seconds(row.first)),
            time(seconds(row.best)),
            time(times(row.best / ours.best)),
            more(mib(row.peak)),
            memory_ratio(row, ours),
        ]);
    }
}

/// Formats the ratio of memory to that of Confute, if it is distinguishable from noise.
fn memory_ratio(row: &Row, ours: &Row) -> String {
    let ratio = megabytes(row.peak) / megabytes(ours.peak.max(NOISE));
    let doubtful = ours.peak < NOISE || row.cut.is_some();
    match (row.peak < NOISE, doubtful) {
        (true, _) => "-".to_owned(),
        (false, true) => format!("> {}", times(ratio)),
        (false, false) => times(ratio),
    }
}

/// Returns these packages with the versions that were built.
fn versions(packages: &[&str]) -> Vec<String> {
    let lock = include_str!("../../Cargo.lock");
    let version = |package: &&str| {
        let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
        Some(format!("{package} {}", after.split('"').next()?))
    };
    packages.iter().filter_map(version).collect()
}
