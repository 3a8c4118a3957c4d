//! `bench explode`: a history with more orders than can be tried, and the budgets that stop the search.
//!
//! Forty clients append to one key at the same time, and all appends are acknowledged; then one client reads. The
//! value read is impossible: an append is missing, or occurs twice. There are 40! orders of the appends that might
//! explain it. A deadline is wall-clock time, checked whenever the search polls; a judgement must end within 50 ms of
//! it. Memory budgets are tested on the first case only: they take long to fill, and both cases fill them in the same
//! way.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::Result;
use confute::network::Tcp;
use confute::trace::{Event, WireConn};
use confute::{Inconclusive, Options, Pulse, Tester, Verdict, judge};
use confute_models::kv::{Kv, Message};
use serde::{Deserialize, Serialize};

use crate::Report;
use crate::measure::{self, Ended, Limit, Peak};
use crate::table::{Table, megabytes, mib};

/// Number of concurrent appends.
const APPENDS: u32 = 40;

/// Maximum time by which a judgement may exceed its deadline, in seconds.
const TOLERANCE: f64 = 0.05;

/// Maximum ratio of the memory used to the budget, which is approximate.
const ABOUT: f64 = 1.25;

/// Deadlines, in milliseconds.
const DEADLINES: [u64; 3] = [100, 1_000, 5_000];

/// Memory budgets, in MiB.
const BUDGETS: [u64; 2] = [64, 256];

/// Deadline of the tests in which memory runs out, in milliseconds, so that they end.
const LONG: u64 = 60_000;

/// Budget of the tests in which time runs out, in MiB: the default.
const AMPLE: u64 = 2 << 10;

/// One row, measured in a separate process.
#[derive(clap::Args)]
pub(crate) struct Blast {
    case: Case,
    how: How,
    /// Deadline in milliseconds
    deadline: u64,
    /// Memory budget in MiB
    memory: u64,
}

#[derive(Clone, Copy, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Case {
    Missing,
    Twice,
}

#[derive(Clone, Copy, Debug, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum How {
    Judge,
    Online,
}

/// Result of a row, passed to the parent process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Blasted {
    /// The verdict, and the budget that ran out.
    verdict: String,
    /// Message of the verdict.
    says: String,
    /// `true` if the judgement ended for lack of time.
    late: bool,
    /// Wall-clock time in seconds.
    seconds: f64,
    /// Wall-clock time at which the search was first notified that its time is up, in seconds.
    noticed: Option<f64>,
    /// Number of turns tried, if reported.
    turns: u64,
    /// Estimate of the memory used in bytes, if reported.
    estimate: u64,
    /// Increase of the resident set, in bytes.
    peak: u64,
}

impl Blast {
    pub(crate) fn run(&self) -> Result<Blasted> {
        let events = events(self.case);
        let deadline = Duration::from_millis(self.deadline);
        let peak = Peak::start()?;
        let start = Instant::now();
        let noticed = Cell::new(None);
        let is_late = |_: &Pulse| {
            let elapsed = start.elapsed();
            if elapsed >= deadline && noticed.get().is_none() {
                noticed.set(Some(elapsed.as_secs_f64()));
            }
            elapsed >= deadline
        };
        let memory = (self.memory << 20) as usize;
        let options = Options { watch: Some(&is_late), memory, ..Options::default() };
        let verdict = match self.how {
            How::Judge => judge(&Kv, &Tcp::default(), &events, &options),
            How::Online => {
                let network = Tcp::default();
                let mut tester = Tester::new(&Kv, &network, options);
                for event in &events {
                    tester.observe(event.clone());
                }
                tester.verdict().clone()
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let peak = peak.bytes()?;
        let (verdict, says, what, turns, estimate) = match verdict {
            Verdict::Unrefuted => ("UNREFUTED".to_owned(), String::new(), "", 0, 0),
            Verdict::Refuted(refutation) => {
                ("refuted".to_owned(), format!("refuted at event {}", refutation.event), "", 0, 0)
            }
            Verdict::Inconclusive(reason) => {
                let (what, turns, bytes) = match reason {
                    Inconclusive::Budget { what, turns, bytes, .. } => (what, turns, bytes as u64),
                    _ => ("", 0, 0),
                };
                (format!("inconclusive: {what}"), reason.to_string(), what, turns, bytes)
            }
        };
        Ok(Blasted {
            verdict,
            says,
            late: what == "time",
            seconds,
            noticed: noticed.get(),
            turns,
            estimate,
            peak,
        })
    }

    fn in_child(&self) -> Result<Ended<Blasted>> {
        let word = |text: String| OsString::from(text);
        let arguments = [
            word("blast".to_owned()),
            word(format!("{:?}", self.case).to_lowercase()),
            word(format!("{:?}", self.how).to_lowercase()),
            word(self.deadline.to_string()),
            word(self.memory.to_string()),
        ];
        let limit = Limit {
            time: Duration::from_millis(self.deadline) * 2 + Duration::from_secs(10),
            memory: 8 << 30,
        };
        measure::in_child(&arguments, limit)
    }
}

/// Returns the history: 81 events, and one that cannot be explained.
fn events(case: Case) -> Vec<Event<Message>> {
    let chunk = |client: u32| format!("{client:02} ");
    let append = |client| Event::Sent(WireConn(client), Message::Append("k".into(), chunk(client).into()));
    let done = |client| Event::Received(WireConn(client), Message::Done);
    let mut events: Vec<_> = (0..APPENDS).map(append).chain((0..APPENDS).map(done)).collect();
    // The order differs from that of sending, which a search would try first.
    let mut seen: Vec<u32> = (0..APPENDS).rev().collect();
    match case {
        Case::Missing => drop(seen.remove(20)),
        Case::Twice => seen.insert(30, seen[10]),
    }
    let value = seen.into_iter().map(chunk).collect::<String>();
    events.push(Event::Sent(WireConn(APPENDS), Message::Get("k".into())));
    events.push(Event::Received(WireConn(APPENDS), Message::Value(value.into())));
    events
}

pub(crate) fn run() -> Result<Report> {
    println!(
        "{APPENDS} appends to one key at once, all acknowledged, then a read of a value that cannot be.\n"
    );
    let headings =
        ["append", "by", "verdict", "deadline", "took", "overshoot", "turns", "budget", "estimate", "peak"];
    let mut table = Table::new(3, headings);
    let (mut rows, mut sayings, mut faults) = (Vec::new(), BTreeMap::new(), String::new());
    for (case, how, deadline, memory) in plan() {
        let blast = Blast { case, how, deadline, memory };
        let label = format!("{case:?} by {how:?}, {deadline} ms, {memory} MiB");
        let blasted = match blast.in_child()? {
            Ended::Done(blasted) => blasted,
            Ended::Cut { late, peak } => {
                let what = if late { "time" } else { "memory" };
                writeln!(faults, "FAILED: {label}: did not end, took too much {what} ({} MiB)", mib(peak))?;
                continue;
            }
        };
        let overshoot = blasted.seconds - Duration::from_millis(deadline).as_secs_f64();
        if blasted.late && overshoot > TOLERANCE {
            let rest = blasted.seconds - blasted.noticed.unwrap_or(blasted.seconds);
            writeln!(
                faults,
                "FAILED: {label}: ended {:.0} ms late, {:.0} ms after it was told",
                overshoot * 1e3,
                rest * 1e3
            )?;
        }
        let share = megabytes(blasted.peak) / megabytes(memory << 20);
        if share > ABOUT {
            writeln!(faults, "FAILED: {label}: took {share:.1} times its memory")?;
        }
        if blasted.verdict == "UNREFUTED" {
            writeln!(faults, "FAILED: {label}: explained what cannot be")?;
        }
        table.row([
            format!("{case:?}").to_lowercase(),
            format!("{how:?}").to_lowercase(),
            blasted.verdict.clone(),
            deadline.to_string(),
            format!("{:.0}", blasted.seconds * 1e3),
            if blasted.late { format!("{:.1}", overshoot * 1e3) } else { "-".to_owned() },
            blasted.turns.to_string(),
            memory.to_string(),
            mib(blasted.estimate),
            mib(blasted.peak),
        ]);
        sayings.entry(blasted.verdict.clone()).or_insert_with(|| blasted.says.clone());
        rows.push(serde_json::json!({
            "case": case, "how": how, "deadline": deadline, "budget": memory, "outcome": blasted,
        }));
    }
    println!("{}", table.text());
    println!("Times in ms; budget, estimate (the search's own count) and peak in MiB. In full, for example:");
    print!("{}", sayings.values().map(|saying| wrapped(saying)).collect::<String>());
    print!("{faults}");
    Ok(Report { figures: serde_json::json!({ "explode": rows }), fine: faults.is_empty() })
}

/// Returns the rows: the history, the mode of judging, the deadline in milliseconds and the budget in MiB.
fn plan() -> Vec<(Case, How, u64, u64)> {
    let mut plan = Vec::new();
    for case in [Case::Missing, Case::Twice] {
        for how in [How::Judge, How::Online] {
            plan.extend(DEADLINES.map(|deadline| (case, how, deadline, AMPLE)));
            if matches!(case, Case::Missing) {
                plan.extend(BUDGETS.map(|budget| (case, how, LONG, budget)));
            }
        }
    }
    plan
}

/// Wraps a sentence into lines of at most 100 columns.
fn wrapped(sentence: &str) -> String {
    let (mut text, mut line) = (String::new(), " ".to_owned());
    for word in sentence.split(' ') {
        if line.len() + 1 + word.len() > 100 {
            text += &line;
            text.push('\n');
            "   ".clone_into(&mut line);
        }
        line.push(' ');
        line += word;
    }
    text + &line + "\n"
}
