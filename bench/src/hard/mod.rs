//! `bench hard`: generated histories, judged by Confute, by its peers, and, where small, by the literal oracle.
//!
//! - *Families*: many short histories of one shape, half of them wrong by one operation. Every tool judges all of them, in
//!   one process that is started again behind a history that it cannot judge in time.
//! - *Growth*: histories of a thousand to a million operations whose values are written once each; each in a process of
//!   its own. The time per operation should not depend on the length.
//!
//! A history is determined by its family and its number. Any two tools that judge it must agree, and with the generator
//! where that knows the verdict; the exit code is 1 otherwise, and if Confute cannot judge one in time.

mod families;
mod generate;
mod growth;
mod subjects;

use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, bail};
use confute::network::Tcp;
use confute::trace::Event;
use confute::{Options, Verdict};
use confute_models::kv::Kv;
use confute_models::queue::Queue;
use confute_models::register::CasRegister;
use confute_models::set::Set;
use confute_models::stack::Stack;
use serde::{Deserialize, Serialize};

use crate::measure::{self, Cost, Limit};
use crate::peers::{self, Items, OneItem, OneKey, Spec, Store, porcupine, stateright};
use crate::table::{Table, mib, seconds, times};
use crate::{Report, oracle};
use families::{FAMILIES, Family, Kind};
use generate::Plan;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of histories of each family
    #[arg(long, default_value = "100")]
    histories: u64,
    /// Number of the first history
    #[arg(long, default_value = "0")]
    seed: u64,
    /// Only families and growths whose name begins with this
    #[arg(long, default_value = "")]
    only: String,
    /// Maximum CPU time of Confute and porcupine-rs for a history, in seconds
    #[arg(long, default_value = "2")]
    limit: u64,
    /// Maximum CPU time of stateright for a history, in milliseconds (it exceeds any on most histories)
    #[arg(long, default_value = "20")]
    stateright_limit: u64,
    /// Longest history of a growth, in operations; 0 measures no growth
    #[arg(long, default_value = "1000000")]
    longest: usize,
}

/// Judgements of a range of histories by one tool.
#[derive(clap::Args)]
pub(crate) struct Several {
    tool: Tool,
    /// Name of the family, or of the growth if `--operations` is given
    name: String,
    from: u64,
    to: u64,
    /// Maximum CPU time for all runs of one history, in milliseconds
    #[arg(long)]
    limit: u64,
    /// Length of the histories of a growth
    #[arg(long)]
    operations: Option<usize>,
    /// Histories of a growth are wrong by one operation
    #[arg(long)]
    wrong: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Tool {
    Confute,
    Porcupine,
    Stateright,
    Oracle,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Confute => "confute",
            Tool::Porcupine => "porcupine-rs",
            Tool::Stateright => "stateright",
            Tool::Oracle => "literal oracle",
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Tool::Porcupine => "porcupine",
            Tool::Oracle => "oracle",
            other => other.name(),
        }
    }
}

/// Result of one judgement.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// The verdict; `None` if there is none.
    linearizable: Option<bool>,
    cost: Cost,
}

impl Several {
    /// Judges the histories one by one, and prints a line for each.
    pub(crate) fn run(&self) -> Result<bool> {
        for number in self.from..self.to {
            measure::hand_over(&self.judge(number)?)?;
        }
        Ok(true)
    }

    fn judge(&self, number: u64) -> Result<Judged> {
        let (kind, plan) = match self.operations {
            Some(operations) => growth::find(&self.name, operations, self.wrong)?,
            None => match FAMILIES.iter().find(|family| family.name == self.name) {
                Some(family) => (family.kind, Plan { wrong: number % 2 == 1, ..family.plan }),
                None => bail!("there is no family {}", self.name),
            },
        };
        let limit = Duration::from_millis(self.limit);
        match kind {
            Kind::Register => {
                let events = generate::history::<subjects::Register>(&plan, number);
                let operations = || peers::register(&events);
                judge(self.tool, limit, (&CasRegister, &events), &operations, &operations)
            }
            Kind::Store => {
                let events = generate::history::<subjects::Store>(&plan, number);
                // Only porcupine-rs can be told that keys are independent.
                let (by_key, whole) = (|| peers::kv::<OneKey>(&events), || peers::kv::<Store>(&events));
                judge(self.tool, limit, (&Kv, &events), &by_key, &whole)
            }
            Kind::Queue => {
                let events = generate::history::<subjects::Queue>(&plan, number);
                let operations = || peers::queue(&events);
                judge(self.tool, limit, (&Queue, &events), &operations, &operations)
            }
            Kind::Stack => {
                let events = generate::history::<subjects::Stack>(&plan, number);
                let operations = || peers::stack(&events);
                judge(self.tool, limit, (&Stack, &events), &operations, &operations)
            }
            Kind::Set => {
                let events = generate::history::<subjects::Set>(&plan, number);
                let (by_item, whole) = (|| peers::set::<OneItem>(&events), || peers::set::<Items>(&events));
                judge(self.tool, limit, (&Set, &events), &by_item, &whole)
            }
        }
    }
}

fn judge<S: oracle::Judged, P: Spec, W: Spec>(
    tool: Tool,
    limit: Duration,
    (model, events): (&S, &[Event<S::M>]),
    by_key: &dyn Fn() -> Vec<peers::Operation<P>>,
    whole: &dyn Fn() -> Vec<peers::Operation<W>>,
) -> Result<Judged> {
    let (linearizable, cost) = match tool {
        Tool::Confute => measure::five(limit, || {
            match confute::judge(model, &Tcp::default(), events, &Options::default()) {
                Verdict::Unrefuted => Some(true),
                Verdict::Refuted(_) => Some(false),
                Verdict::Inconclusive(_) => None,
            }
        }),
        Tool::Porcupine => {
            let history = porcupine::prepare(by_key());
            measure::five(limit, || Some(porcupine::check(&history)))
        }
        Tool::Stateright => {
            let history = stateright::prepare(whole());
            measure::five(limit, || stateright::check(&history).ok())
        }
        Tool::Oracle => measure::five(limit, || oracle::check(model, events)),
    }?;
    Ok(Judged { linearizable, cost })
}

/// The judgements of one tool on all histories of a family; `None` where it was cut off.
struct Column {
    tool: Tool,
    limit: f64,
    judged: Vec<Option<Judged>>,
}

impl Column {
    fn time(&self, at: usize) -> f64 {
        self.judged[at].as_ref().map_or(self.limit, |judged| judged.cost.best)
    }

    fn times(&self) -> Vec<f64> {
        (0..self.judged.len()).map(|at| self.time(at)).collect()
    }

    fn verdict(&self, at: usize) -> Option<bool> {
        self.judged[at].as_ref()?.linearizable
    }
}

pub(crate) fn run(args: &Args) -> Result<Report> {
    println!(
        "Generated histories, numbers {} to {}: CPU time of the judge,",
        args.seed,
        args.seed + args.histories - 1
    );
    println!("best of five. Half of each family is wrong by one operation.");
    println!("x: times of the tool divided by Confute's, history by history.\n");
    let headings = [
        "family", "tool", "decided", "wrong", "median", "worst", "total", "x median", "x least", "x total",
        "peak MiB",
    ];
    let mut table = Table::new(2, headings);
    let (mut troubles, mut figures) = (Vec::new(), Vec::new());
    let mut totals: Vec<(&str, Vec<Column>)> = Vec::new();
    for family in FAMILIES.iter().filter(|family| family.name.starts_with(&args.only)) {
        let columns = measure_family(family, args)?;
        troubles.extend(disagreements(family, args.seed, &columns));
        figures.push(show(&mut table, family.name, &columns));
        if !family.tiny {
            add(&mut totals, family.kind.group(), columns);
        }
    }
    for (name, columns) in totals.iter().filter(|_| args.only.is_empty() || !args.only.contains('/')) {
        figures.push(show(&mut table, name, columns));
    }
    print!("{}", table.text());
    println!("\nOf what a tool did not decide in time, the limit counts: its figures are lower bounds.");
    let growths = growth::run(args, &mut troubles)?;
    for trouble in &troubles {
        println!("FAILED: {trouble}");
    }
    let fine = troubles.is_empty();
    Ok(Report { figures: serde_json::json!({ "families": figures, "growth": growths }), fine })
}

fn measure_family(family: &Family, args: &Args) -> Result<Vec<Column>> {
    let mut tools = vec![Tool::Confute, Tool::Porcupine, Tool::Stateright];
    tools.extend(family.tiny.then_some(Tool::Oracle));
    let measure = |tool: Tool| {
        let time = match tool {
            Tool::Stateright => Duration::from_millis(args.stateright_limit),
            _ => Duration::from_secs(args.limit),
        };
        let limit = Limit { time, memory: 4 << 30 };
        let arguments = |from: u64| -> Vec<OsString> {
            let numbers =
                [args.seed + from, args.seed + args.histories].map(|number| number.to_string().into());
            let [from, to] = numbers;
            let time = format!("--limit={}", time.as_millis()).into();
            vec!["some".into(), tool.argument().into(), family.name.into(), from, to, time]
        };
        let judged = measure::each_in_child(&arguments, args.histories, limit)?;
        Ok(Column { tool, limit: time.as_secs_f64(), judged })
    };
    tools.into_iter().map(measure).collect()
}

/// Returns a sentence for every history on which a tool contradicts the generator or another tool, or that Confute did
/// not judge.
fn disagreements(family: &Family, seed: u64, columns: &[Column]) -> Vec<String> {
    let mut found = Vec::new();
    for at in 0..columns[0].judged.len() {
        let number = seed + at as u64;
        let mut known = number.is_multiple_of(2).then_some(("the generator", true));
        for column in columns {
            let (name, verdict) = (column.tool.name(), column.verdict(at));
            match (verdict, known) {
                (Some(verdict), Some((who, other))) if verdict != other => {
                    found.push(format!("{} {number}: {name} says {verdict}, {who} {other}", family.name));
                }
                (Some(verdict), _) => known = Some((name, verdict)),
                (None, _) if column.tool == Tool::Confute => {
                    found.push(format!("{} {number}: no verdict of Confute", family.name));
                }
                (None, _) => {}
            }
        }
    }
    found
}

/// Adds the columns of a family to those of its group.
fn add(totals: &mut Vec<(&'static str, Vec<Column>)>, group: &'static str, columns: Vec<Column>) {
    match totals.iter_mut().find(|(name, _)| *name == group) {
        Some((_, sums)) => {
            for (sum, column) in sums.iter_mut().zip(columns) {
                sum.judged.extend(column.judged);
            }
        }
        None => totals.push((group, columns)),
    }
}

/// Adds the rows of a family to the table, and returns its figures.
fn show(table: &mut Table, name: &str, columns: &[Column]) -> serde_json::Value {
    let ours = &columns[0];
    let mut figures = Vec::new();
    for (place, column) in columns.iter().enumerate() {
        let spent = column.times();
        let ratios: Vec<f64> = (0..spent.len()).map(|at| column.time(at) / ours.time(at)).collect();
        let total: f64 = spent.iter().sum();
        let all = total / ours.times().iter().sum::<f64>();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let worst = spent.iter().copied().fold(0.0, f64::max);
        let decided = (0..spent.len()).filter(|at| column.verdict(*at).is_some()).count();
        let wrong = (0..spent.len()).filter(|at| column.verdict(*at) == Some(false)).count();
        let peak = column.judged.iter().flatten().map(|judged| judged.cost.peak).max().unwrap_or_default();
        let (middle, ratio) = (median(spent), median(ratios));
        table.row([
            if place == 0 { name.to_owned() } else { String::new() },
            column.tool.name().to_owned(),
            format!("{decided}/{}", column.judged.len()),
            wrong.to_string(),
            seconds(middle),
            seconds(worst),
            seconds(total),
            times(ratio),
            times(least),
            times(all),
            mib(peak),
        ]);
        figures.push(serde_json::json!({
            "tool": column.tool, "decided": decided, "wrong": wrong, "median": middle, "worst": worst,
            "total": total, "times_median": ratio, "times_least": least, "times_total": all, "peak": peak,
            "histories": column.judged,
        }));
    }
    serde_json::json!({ "family": name, "tools": figures })
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}
