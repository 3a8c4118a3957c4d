//! `cargo xtask eval apache`: the paper's mutants and ours, on a corrected Apache.
//!
//! Every program is tested in the same way, as origin and gateway at once, with a fresh server for every seed. A
//! violation that the baseline shows at the same seeds is no hit. Mutants that the model cannot distinguish from a
//! correct server are kept apart, in `beyond`, each with the reason. Those in `unseen` were written without knowledge
//! of the tester, which was not changed for them: they are measured, and none is required to be found.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use confute::lang::Level;
use confute_drive::{AnyGenerator, Limits, Plan, Target};
use confute_http::encode::Target as Authority;
use confute_http::{Http, Mixture};
use confute_testbed::apache::Apache;
use confute_testbed::free_port;

use super::attempt::{Goal, attempt};
use super::mutant::{self, Mutant};
use super::record::{Book, Record};
use super::report::{self, Row};
use super::workshop::Workshop;
use super::{Common, figure, home};
use crate::naming::Naming;
use crate::{hunt, live, root};

/// Median number of messages that the original tester needed for each of the paper's mutants, measured on the same
/// mutations.
const ORIGINAL: [u64; 20] = [6, 14, 6, 16, 7, 10, 10, 20, 13, 19, 22, 19, 46, 71, 20, 69, 20, 83, 6, 20];
/// Median number of messages that the original tester needed for the shipped Apache.
const ORIGINAL_STOCK: u64 = 161;

/// Response timeout, on this machine.
const PATIENCE: Duration = Duration::from_millis(500);
/// Minimum number of messages to the baseline at each seed.
const CONTROL: u64 = 2_000;
/// Number of seeds at which the violation is shrunk.
const SHRUNK: u64 = 2;
/// Upper bound of the median time, in seconds.
const SOON: f64 = 0.3;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Only run the baseline for long, and check that it is never refuted: ten runs of 100,000 messages
    #[arg(long, conflicts_with_all = ["only", "fresh", "max_time"])]
    soak: bool,
    /// Only the mutants written without knowledge of the tester, none of which is required to be found
    #[arg(long, conflicts_with = "soak")]
    unseen: bool,
    /// Number of messages of each soak run
    #[arg(long, default_value = "100000", requires = "soak")]
    messages: u64,
}

/// The paper's mutants and ours, and the workshop that builds them.
pub(crate) struct Mutants {
    pub(crate) list: Vec<Mutant>,
    workshop: Workshop,
}

impl Mutants {
    pub(crate) fn open() -> Result<Self> {
        let folder = root()?.join("xtask/mutants/apache");
        let workshop = Workshop::open(&home("apache")?, &mutant::read(&folder.join("baseline"))?)?;
        let list = [mutant::read(&folder.join("paper"))?, mutant::read(&folder.join("own"))?].concat();
        Ok(Self { list, workshop })
    }

    /// Starts a fresh server with this mutant.
    pub(crate) fn staged(&self, mutant: &Mutant) -> Result<Staged> {
        Staged::start(Some(&self.workshop.program(Some(mutant))?.0))
    }
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let Mutants { list: mut mutants, workshop } = Mutants::open()?;
    let folder = root()?.join("xtask/mutants/apache");
    let beyond = mutant::read(&folder.join("beyond"))?;
    let mut home = home("apache")?;
    if args.unseen {
        mutants = mutant::read(&folder.join("unseen"))?;
        home.push("unseen");
    }
    let ids = || mutants.iter().chain(&beyond).map(|mutant| &*mutant.id).chain(["baseline", "stock"]);
    if let Some(unknown) = args.common.only.iter().find(|only| !ids().any(|id| id == **only)) {
        bail!("there is no {unknown:?}; there are: {}", ids().collect::<Vec<_>>().join(", "));
    }
    let (program, _) = workshop.program(None)?;
    println!("apache2 {}: baseline and {} mutants", workshop.version(), mutants.len());
    if args.soak {
        return soak(&program, args);
    }
    let mut book = Book::open(&home.join("runs.jsonl"))?;
    if args.common.fresh {
        book.clear()?;
    }
    let mut eval = Eval { book, args: &args.common };
    let named = |mutant: &&Mutant| args.common.only.contains(&mutant.id);
    let wanted = mutants.iter().filter(|mutant| args.common.wants(&mutant.id));
    let wanted: Vec<&Mutant> = wanted.chain(beyond.iter().filter(named)).collect();
    let mut runs = Vec::new();
    println!("{}", Row::heading());
    for mutant in &wanted {
        let (program, _) = workshop.program(Some(mutant))?;
        let records = eval.seeds(&mutant.id, Some(&program), &mutant.description.breaks)?;
        // The baseline was not tested yet: nothing is excused here.
        println!("{}", row(mutant, &records, &[]).line());
        runs.push((*mutant, records));
    }
    let control = eval.control(&program, &runs)?;
    let mut rows: Vec<Row> =
        runs.iter().map(|(mutant, records)| row(mutant, records, &control.broken)).collect();
    if args.common.wants("stock") && !args.unseen {
        rows.push(eval.stock()?);
        rows.last().iter().for_each(|row| println!("{}", row.line()));
    }
    let version = workshop.version();
    let about = format!(
        "Apache {version}, built from Debian's source, corrected and mutated; {} seeds, at most {} s each. Nothing was spent on \
         finding out what the server takes: the tester was told that it is a store.",
        args.common.seeds,
        eval.max_time().as_secs()
    );
    report::write(&home, &about, &rows)?;
    std::fs::write(
        home.join("figure14.svg"),
        figure::draw(&format!("Cost of refuting Apache {version} and mutants"), &rows),
    )?;
    for mutant in beyond.iter().filter(|mutant| !named(mutant)) {
        println!(
            "not run: {}: {}",
            mutant.id,
            mutant.description.note.as_deref().unwrap_or(&mutant.description.what)
        );
    }
    let held = conclude(&rows, &control, &home, !args.unseen);
    let mut naming = Naming::default();
    for (mutant, record) in
        runs.iter().flat_map(|(mutant, records)| records.iter().map(move |one| (mutant, one)))
    {
        if let Some(found) = &record.investigation {
            naming.add(&mutant.id, &record.blamed, found, &mutant.description.breaks);
            if found.named.len() > 1 {
                println!(
                    "  {}, seed {}, left after experiments: {}",
                    mutant.id,
                    record.seed,
                    found.named.join(" | ")
                );
            }
        }
    }
    naming.print();
    Ok(held)
}

/// Results of the baseline at the same seeds.
#[derive(Default)]
struct Control {
    /// Rules blamed on the baseline.
    broken: Vec<String>,
    /// Reasons why a run of the baseline failed or proves nothing.
    failures: Vec<String>,
}

/// Prints the summary. Returns `true` if the evaluation succeeded; if `demands`, that requires every mutant to be
/// refuted.
fn conclude(rows: &[Row], control: &Control, home: &Path, demands: bool) -> bool {
    let mutants = || rows.iter().filter(|row| row.subject != "stock");
    let all = mutants().count();
    let full = mutants().filter(|row| row.is_full()).count();
    let right = mutants().filter(|row| row.right == row.refuted).count();
    let soon = mutants().filter(|row| row.seconds.is_some_and(|it| it.median < SOON)).count();
    println!(
        "\n{full} of {all} mutants were refuted at every seed, {right} blamed on a right rule each time"
    );
    println!("{soon} have a median under {SOON} s");
    let known: Vec<_> =
        rows.iter().filter_map(|row| Some((row, row.original?, row.messages?.median))).collect();
    let more: Vec<_> = known.iter().filter(|(_, original, ours)| *ours > *original as f64).collect();
    println!("{} of {} need no more messages than the original", known.len() - more.len(), known.len());
    for (row, original, ours) in more {
        println!("  {} needs {ours}, the original {original}", row.subject);
    }
    control.failures.iter().for_each(|failure| println!("FAILED: baseline, {failure}"));
    for row in mutants().filter(|row| !row.is_full()) {
        let failed = if demands { "FAILED: " } else { "" };
        println!(
            "{failed}{} was refuted at {} of {} seeds {:?}",
            row.subject, row.refuted, row.runs, row.inconclusive
        );
    }
    println!("results.json, results.csv, results.md, figure14.svg in {}", home.display());
    (full == all || !demands) && control.failures.is_empty()
}

fn row(mutant: &Mutant, records: &[Record], excused: &[String]) -> Row {
    Row {
        paper: mutant.paper,
        what: mutant.description.what.clone(),
        note: mutant.description.note.clone(),
        original: mutant.paper.and_then(|number| ORIGINAL.get(number - 1).copied()),
        ..Row::of(&mutant.id, records, &mutant.description.breaks, excused)
    }
}

struct Eval<'a> {
    book: Book,
    args: &'a Common,
}

impl Eval<'_> {
    fn max_time(&self) -> Duration {
        self.args.max_time(60)
    }

    /// Runs every seed against a program, or against Debian's.
    fn seeds(&mut self, id: &str, program: Option<&Path>, breaks: &[String]) -> Result<Vec<Record>> {
        let time = self.max_time();
        // The time limit is part of the key: a violation not found in less time may be found in this.
        let key = format!("{} {}", key(program), time.as_secs());
        let mut records = Vec::new();
        for seed in 1..=self.args.seeds {
            let run = || {
                let shrinks = seed <= SHRUNK;
                one(program, seed, &Goal { time, most: None, first_only: true, shrinks, patience: PATIENCE })
            };
            let (record, is_new) = self.book.run((id, seed, &key), run)?;
            if is_new {
                tell(id, &record, breaks)?;
            }
            records.push(record);
        }
        Ok(records)
    }

    /// Tests the baseline at the same seeds, for at least as many messages as any mutant needed.
    fn control(&mut self, program: &Path, runs: &[(&Mutant, Vec<Record>)]) -> Result<Control> {
        let mut control = Control::default();
        let (mut messages, mut begun) = (0, Instant::now());
        for seed in 1..=self.args.seeds {
            let of_seed = runs.iter().flat_map(|(_, records)| records).filter(|record| record.seed == seed);
            let needed = of_seed.filter_map(|record| record.messages).max().unwrap_or_default().max(CONTROL);
            let goal = Goal {
                time: self.max_time(),
                most: Some(needed),
                first_only: false,
                shrinks: false,
                patience: PATIENCE,
            };
            let key = format!("{} {needed}", key(Some(program)));
            let (record, _) = self.book.run(("baseline", seed, &key), || one(Some(program), seed, &goal))?;
            messages += record.all_messages;
            let rules = record.findings.iter().flat_map(|sighting| &sighting.rules);
            control.broken.extend(rules.cloned());
            if record.seconds.is_some() {
                control.failures.push(format!("seed {seed}: refuted, blamed on {:?}", record.blamed));
            } else if let Some(why) = &record.inconclusive {
                control.failures.push(format!("seed {seed}: no verdict: {why}"));
            } else if record.all_messages < needed {
                let seen = record.all_messages;
                control.failures.push(format!("seed {seed}: only {seen} of {needed} messages in its time"));
            }
            if begun.elapsed() > Duration::from_secs(20) {
                begun = Instant::now();
                println!("  baseline: {seed} of {} seeds", self.args.seeds);
            }
        }
        println!(
            "baseline: {messages} messages at the same seeds, refuted or not judged at {} of {}",
            control.failures.len(),
            self.args.seeds
        );
        control.broken.sort();
        control.broken.dedup();
        Ok(control)
    }

    /// Tests Debian's own binary.
    fn stock(&mut self) -> Result<Row> {
        let records = self.seeds("stock", None, &[])?;
        let what = "As Debian ships it, with ProxyVia On.".to_owned();
        Ok(Row { what, original: Some(ORIGINAL_STOCK), ..Row::of("stock", &records, &[], &[]) })
    }
}

/// Prints a new run and stores its trace, if it was not refuted or no right rule was blamed.
fn tell(id: &str, record: &Record, breaks: &[String]) -> Result<()> {
    let right = record.blamed.iter().any(|rules| report::is_within(rules, breaks));
    if record.seconds.is_none() || !(right || breaks.is_empty()) {
        let why = record.inconclusive.as_deref().unwrap_or("unrefuted");
        let said = if record.seconds.is_some() { record.blamed.join(" | ") } else { why.to_owned() };
        println!("  {id}, seed {}: {said}", record.seed);
        hunt::keep(&record.trace, &home("apache")?.join("surprises"), &format!("{id}-{}", record.seed))?;
    }
    Ok(())
}

/// Returns the unique name of a program, which is that of its file.
fn key(program: Option<&Path>) -> String {
    program
        .and_then(Path::file_name)
        .map_or_else(|| "shipped".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Performs one run against a fresh server.
fn one(program: Option<&Path>, seed: u64, goal: &Goal) -> Result<Record> {
    let staged = Staged::start(program)?;
    Ok(attempt(&staged.http, staged.target, seed, goal, &|case| staged.mixture(case)))
}

/// Returns the plan of a campaign against a local server that ends at the first violation.
pub(crate) fn plan(target: Target, seed: u64, time: Duration) -> Plan {
    let limits = Limits { patience: PATIENCE, ..Limits::default() };
    Plan { limits, seed, max_time: Some(time), max_failures: 1, level: Level::Steady, ..Plan::new(target) }
}

/// A running server, tested as an origin and, below `/proxy/`, as a gateway.
pub(crate) struct Staged {
    pub(crate) http: Http,
    /// The server as an origin alone.
    pub(crate) origin: Http,
    pub(crate) target: Target,
    _server: Apache,
}

impl Staged {
    /// Starts this program, or Debian's.
    fn start(program: Option<&Path>) -> Result<Self> {
        let origin = free_port()?;
        let server = match program {
            Some(program) => Apache::built(program, origin),
            None => Apache::forwarding_with_via(origin),
        };
        let server = server.with_context(|| format!("cannot start {}", key(program)))?;
        let authority = Authority { host: server.address().to_string(), ..Authority::default() };
        let gateway = Http::gateway(authority.clone(), "/proxy/", origin, "/");
        let asked = Http::origin(authority, "/").promised(true);
        let http = asked.clone().and_gateway(gateway);
        let target = Target { listen: Some(origin), ..Target::new(server.address()) };
        Ok(Self { http, origin: asked, target, _server: server })
    }

    /// Returns the traffic of a case.
    pub(crate) fn mixture<'a>(&self, case: u64) -> AnyGenerator<'a> {
        AnyGenerator::new(Mixture::of_case(self.http.clone(), case))
    }
}

/// Performs ten long runs of the baseline.
fn soak(program: &Path, args: &Args) -> Result<bool> {
    let mut held = true;
    for seed in 1..=10 {
        let server = Apache::built(program, free_port()?)?;
        held &= live::origin(server.address(), "baseline", seed, args.messages)?;
    }
    Ok(held)
}
