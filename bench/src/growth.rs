//! `bench growth`: the online tester on a simulated key-value store, for ever longer runs with ever more connections.
//! Neither the events per second nor the memory should depend on the length of the run.
//!
//! Every connection has a request outstanding all the time, half of them gets, a quarter puts, a quarter appends.
//! There are four keys for every sixteen connections, so about four requests compete for each key. The tester
//! observes one event at a time, without later ones; the time for its final verdict is included. The simulator
//! produces events in batches, so that the clock is not read for each, and its own time does not count. Its memory
//! does; a run without the tester measures how much that is.

use std::cell::Cell;
use std::ffi::OsString;
use std::time::Duration;

use anyhow::{Result, anyhow};
use confute::network::Tcp;
use confute::random::Random;
use confute::simulate::{ExchangePlan, exchange};
use confute::trace::Event;
use confute::{Options, Pulse, Tester, Verdict};
use confute_models::kv::{Kv, Message};
use serde::{Deserialize, Serialize};

use crate::Report;
use crate::measure::{self, Ended, Limit, Peak, cpu};
use crate::table::{Table, mib, seconds};

const CONNECTIONS: [u32; 4] = [1, 16, 64, 256];
const EVENTS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// Maximum CPU time of a cell, the simulator included.
const PATIENCE: Duration = Duration::from_mins(1);

/// Number of events produced before the tester observes them.
const BATCH: usize = 1024;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// At most 10,000 events
    #[arg(long)]
    quick: bool,
}

/// One cell, measured in a separate process.
#[derive(clap::Args)]
pub(crate) struct Run {
    connections: u32,
    events: u64,
    /// Run only the simulator
    #[arg(long)]
    alone: bool,
}

/// Result of a cell, passed to the parent process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Grown {
    connections: u32,
    keys: u64,
    /// Planned number of events.
    planned: u64,
    /// Actual number of events.
    events: u64,
    /// CPU time of the tester, in seconds.
    seconds: f64,
    /// Increase of the resident set, in bytes.
    peak: u64,
    /// Increase of the resident set without a tester, in bytes.
    simulator: u64,
    /// Maximum of the tester's own estimate of its memory, over all samples, in bytes.
    estimate: u64,
    /// Median of the tester's own estimate of its memory, in bytes.
    held: u64,
    late: bool,
    /// The verdict, if it is not "unrefuted" for another reason than time.
    objection: Option<String>,
}

impl Run {
    pub(crate) fn run(&self) -> Result<Grown> {
        let keys = (u64::from(self.connections) / 4).max(4);
        let plan = ExchangePlan {
            seed: 1,
            connections: self.connections,
            messages: self.events.saturating_sub(u64::from(self.connections)) / 2,
            at_once: self.connections,
            ..ExchangePlan::default()
        };
        let peak = Peak::start()?;
        let estimate = Cell::new(0);
        let is_late = |pulse: &Pulse| {
            estimate.set(estimate.get().max(pulse.bytes as u64));
            cpu() > PATIENCE
        };
        let network = Tcp::default();
        let mut tester = Tester::new(&Kv, &network, Options { watch: Some(&is_late), ..Options::default() });
        let mut batch = Vec::with_capacity(BATCH);
        let mut took = Duration::ZERO;
        let mut held = Vec::new();
        let mut tell = |batch: &mut Vec<Event<Message>>| {
            if self.alone {
                batch.clear();
                return true;
            }
            let start = cpu();
            // `verdict` is not called here: it would prevent the tester from waiting for responses that make
            // alternatives unnecessary.
            let content = batch.drain(..).all(|event| tester.observe(event).is_unrefuted());
            let end = cpu();
            took += end.saturating_sub(start);
            held.push(tester.bytes() as u64);
            estimate.set(estimate.get().max(tester.bytes() as u64));
            content && end < PATIENCE
        };
        exchange(
            &Kv,
            &network,
            &plan,
            &mut |random, _| request(random, keys),
            &mut |_, _| None,
            &mut |event| {
                batch.push(event);
                batch.len() < BATCH || tell(&mut batch)
            },
        )
        .map_err(|mistake| anyhow!("{mistake}"))?;
        tell(&mut batch);
        let start = cpu();
        let verdict = tester.verdict().clone();
        took += cpu().saturating_sub(start);
        let late = cpu() > PATIENCE;
        let objection = match verdict {
            Verdict::Unrefuted => None,
            Verdict::Inconclusive(_) if late => None,
            other => Some(format!("{other:?}")),
        };
        let (events, peak) = (tester.events(), peak.bytes()?);
        let estimate = estimate.get();
        held.sort_unstable();
        let held = held.get(held.len() / 2).copied().unwrap_or_default();
        let (connections, planned, seconds) = (self.connections, self.events, took.as_secs_f64());
        Ok(Grown {
            connections,
            keys,
            planned,
            events,
            seconds,
            peak,
            simulator: 0,
            estimate,
            held,
            late,
            objection,
        })
    }

    fn in_child(&self) -> Result<Grown> {
        let mut arguments = vec![OsString::from("cell"), self.connections.to_string().into()];
        arguments.push(self.events.to_string().into());
        arguments.extend(self.alone.then(|| OsString::from("--alone")));
        // The child ends by itself when its time is up, so the limit is larger.
        let limit = Limit { time: PATIENCE * 2, memory: 8 << 30 };
        match measure::in_child(&arguments, limit)? {
            Ended::Done(grown) => Ok(grown),
            Ended::Cut { late, peak } => {
                let what = if late { "time" } else { "memory" };
                Err(anyhow!("{} connections: out of {what} at {} MiB", self.connections, mib(peak)))
            }
        }
    }
}

fn request(random: &mut Random, keys: u64) -> Message {
    let key = format!("k{}", random.below(keys)).into();
    let text = format!("{:x} ", random.below(1 << 32)).into();
    match random.below(4) {
        0 => Message::Put(key, text),
        1 => Message::Append(key, text),
        _ => Message::Get(key),
    }
}

pub(crate) fn run(args: &Args) -> Result<Report> {
    println!(
        "The online tester beside a simulated key-value store: events per second of CPU, memory in MiB."
    );
    println!("A request outstanding on every connection; 50 % gets, 25 % puts, 25 % appends; seed 1.\n");
    let mut table = Table::new(
        0,
        [
            "connections",
            "keys",
            "events",
            "events/s",
            "tester",
            "peak",
            "simulator",
            "most",
            "median",
            "verdict",
        ],
    );
    let most = if args.quick { 10_000 } else { u64::MAX };
    let mut cells = Vec::new();
    for connections in CONNECTIONS {
        for events in EVENTS.into_iter().filter(|events| *events <= most) {
            let mut grown = Run { connections, events, alone: false }.in_child()?;
            grown.simulator = Run { connections, events, alone: true }.in_child()?.peak;
            table.row([
                connections.to_string(),
                grown.keys.to_string(),
                events.to_string(),
                format!("{:.0}", f64::from(u32::try_from(grown.events)?) / grown.seconds),
                seconds(grown.seconds),
                mib(grown.peak),
                mib(grown.simulator),
                mib(grown.estimate),
                mib(grown.held),
                match &grown.objection {
                    Some(_) => "OBJECTS".to_owned(),
                    None if grown.late => format!("cut at {}", grown.events),
                    None => "unrefuted".to_owned(),
                },
            ]);
            cells.push(grown);
        }
    }
    print!("{}", table.text());
    println!("\npeak: with the simulator; simulator: without the tester.");
    println!("most and median: what the tester itself counts, after every {BATCH} events.");
    println!("A cell is cut after {} s of CPU, the simulator included.", PATIENCE.as_secs());
    for cell in &cells {
        if let Some(objection) = &cell.objection {
            println!("FAILED: {} connections, {} events: {objection}", cell.connections, cell.planned);
        }
    }
    let fine = cells.iter().all(|cell| cell.objection.is_none());
    Ok(Report { figures: serde_json::json!({ "growth": cells }), fine })
}
