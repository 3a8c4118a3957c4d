//! `confute demo`: a tester at work, in a second and without a server to install.
//!
//! The server is simulated, and every line that could be taken for more says so. First it has a planted bug and must be
//! refuted for that very reason; then it has none and must not be refuted.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use confute::lang::Rule;
use confute::network::Tcp;
use confute::simulate::Plan;
use confute::trace::{Event, Header, Trace};
use confute::{Blame, Options, Pulse, Verdict, blame, explain, judge};
use confute_models::conditional::{Conditional, TAG_CHANGES};
use confute_models::registry::{self, Named};
use confute_models::simulate;

use crate::args::Demo;
use crate::exit::Exit;
use crate::output::{BAD, GOOD, OPEN, STRONG};
use crate::script::{Events, Script};
use crate::text::{WIDTH, count, elapsed, wrap};
use crate::{ladder, render};

const PLANTED: &Rule = &TAG_CHANGES;

/// Traffic of the first half: short, so that a short proof is in it.
const REQUESTS: u64 = 24;
const CONNECTIONS: u32 = 4;

/// How many runs to look at before giving up, and how many counterexamples to choose from.
const RUNS: u64 = 200;
const CHOICE: usize = 8;

/// Traffic of the second half: so many runs of so many requests, within this time.
const LONG_RUNS: u64 = 50;
const LONG: u64 = 200;
const PATIENCE: Duration = Duration::from_mins(1);

/// What was found in the first half.
struct Found {
    events: Events,
    blame: Blame,
    /// The run it was found in, and how many requests it had.
    run: u64,
    requests: usize,
}

pub(crate) fn run(args: &Demo, out: &mut dyn Write) -> Result<Exit> {
    let model = registry::model("conditional").context("the model is shipped")?;
    intro(args, out)?;
    let broken = refute(args, model, out)?;
    let correct = trust(args, model, out)?;
    writeln!(out)?;
    if broken && correct {
        writeln!(out, "As it should be: the wrong server was refuted, and the right one was not.")?;
        return Ok(Exit::Unrefuted);
    }
    writeln!(out, "{BAD}Not as it should be{BAD:#}: please report this, with the seed.")?;
    Ok(Exit::Refuted)
}

fn intro(args: &Demo, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "{STRONG}confute demo --seed {}{STRONG:#}\n", args.seed)?;
    let text = "The server is SIMULATED in this process, behind a simulated TCP; no real server is involved. It is a store \
         whose contents have tags, as in HTTP: clients get and put, on condition that a tag does or does not match. \
         The tester knows the model of every correct store, and nothing of this one.";
    for line in wrap(text, WIDTH) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// The first half. Whether it came out as it should.
fn refute(args: &Demo, model: &dyn Named, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "\n{STRONG}1. With a planted bug{STRONG:#}: new content keeps the old tag\n")?;
    let start = Instant::now();
    let Some(found) = search(args.seed)? else {
        writeln!(out, "{BAD}not refuted{BAD:#} in {RUNS} runs of {REQUESTS} requests")?;
        return Ok(false);
    };
    let Found { events, blame, run, requests } = &found;
    writeln!(
        out,
        "{BAD}refuted{BAD:#}: no behaviour of {} behind tcp explains what was seen\n\
         in run {run}, of {} on {CONNECTIONS} connections ({} for all runs and shrinking).",
        model.name(),
        count(*requests as u64, "request"),
        elapsed(start.elapsed()),
    )?;
    let sent = events.iter().filter(|event| matches!(event, Event::Sent(..))).count();
    writeln!(out, "Shrunk to {}, made again to the same server:\n", count(sent as u64, "request"))?;
    let told = told(model, events)?;
    ladder::draw(&told, "nothing explains this", out)?;
    writeln!(out)?;
    why(events, out)?;
    render::diagnosis(blame, out)?;
    if let Some(path) = &args.save {
        save(args, events, path).with_context(|| format!("cannot write {}", path.display()))?;
        let kept = format!("{}; judge it with `confute check {0}`", path.display());
        render::note(out, "kept as", &[kept])?;
    }
    Ok(true)
}

/// The counterexample with its messages as text.
fn told(model: &dyn Named, events: &Events) -> Result<Vec<Event<String>>> {
    let header = Header::new(model.name(), "tcp");
    let mut file = Vec::new();
    Trace { header, events: events.clone() }.write(&mut file)?;
    let limits = registry::Limits::default();
    let case = model.trace(&mut &file[..], limits)?.case;
    Ok((0..case.events()).filter_map(|place| case.event(place)).collect())
}

/// What the tester expected in place of the last answer.
fn why(events: &Events, out: &mut dyn Write) -> Result<()> {
    let (network, options) = (Tcp::default(), Options::default());
    if let Verdict::Refuted(refutation) = judge(&Conditional, &network, events, &options) {
        let refutation = explain(&Conditional, &network, events, &refutation, &options);
        if !refutation.expected.is_empty() {
            render::expected(&refutation, false, out)?;
        }
    }
    Ok(())
}

/// Lets the broken server run until it is refuted for its bug alone, and shrinks that; of several, the shortest.
fn search(seed: u64) -> Result<Option<Found>> {
    let mut found: Vec<Found> = Vec::new();
    for run in 1..=RUNS {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(run);
        let plan = Plan {
            seed,
            messages: REQUESTS,
            connections: CONNECTIONS,
            deviate: vec![PLANTED.name],
            one_in: 1,
            ..Plan::default()
        };
        let mut events = Vec::new();
        let mut sink = |event| {
            events.push(event);
            true
        };
        simulate(&Conditional, &Tcp::default(), &plan, &mut sink).map_err(|mistake| anyhow!("{mistake}"))?;
        if accused(&events).is_none() {
            continue;
        }
        let script = Script::of(&events);
        let requests = script.len();
        let wanted = |events: &Events| accused(events).is_some();
        let shrunk = script.shrink(PLANTED.name, seed, &wanted).map_err(|mistake| anyhow!("{mistake}"))?;
        let Some((_, events)) = shrunk else { continue };
        let events = until_refuted(events);
        if let Some(blame) = accused(&events) {
            found.push(Found { events, blame, run, requests });
        }
        if found.len() == CHOICE {
            break;
        }
    }
    Ok(found.into_iter().min_by_key(|found| (found.events.len(), found.run)))
}

/// The blame, if these events are refuted for the planted bug and nothing else.
fn accused(events: &Events) -> Option<Blame> {
    let (network, options) = (Tcp::default(), Options::default());
    if !judge(&Conditional, &network, events, &options).is_refuted() {
        return None;
    }
    let blame = blame(&Conditional, &network, events, &options);
    (blame.diagnoses.len() == 1 && blame.diagnoses[0].rules == [PLANTED.name]).then_some(blame)
}

/// Nothing after the event that settles it.
fn until_refuted(mut events: Events) -> Events {
    let refuted =
        |events: &Events| judge(&Conditional, &Tcp::default(), events, &Options::default()).is_refuted();
    while let Some(last) = events.pop() {
        if !refuted(&events) {
            events.push(last);
            break;
        }
    }
    events
}

fn save(args: &Demo, events: &Events, path: &std::path::Path) -> Result<()> {
    let note = format!("simulated server that breaks {}", PLANTED.name);
    let header = Header { seed: Some(args.seed), note: Some(note), ..Header::new("conditional", "tcp") };
    let file = BufWriter::new(File::create(path)?);
    Ok(Trace { header, events: events.clone() }.write(file)?)
}

/// The second half. Whether it came out as it should.
fn trust(args: &Demo, model: &dyn Named, out: &mut dyn Write) -> Result<bool> {
    writeln!(out, "\n{STRONG}2. Without it{STRONG:#}: the same simulated server, corrected\n")?;
    out.flush()?;
    let start = Instant::now();
    let late = |_: &Pulse| start.elapsed() > PATIENCE;
    let options = Options { watch: Some(&late), ..Options::default() };
    let (mut requests, mut medians, mut verdict) = (0, Vec::new(), Verdict::Unrefuted);
    for run in 0..LONG_RUNS {
        let seed = args.seed.wrapping_mul(1_000_003).wrapping_add(run);
        let plan = Plan { seed, messages: LONG, connections: 2 * CONNECTIONS, ..Plan::default() };
        let soaked = model
            .soak(&Tcp::default(), &plan, &options, &mut |_| {})
            .map_err(|mistake| anyhow!("{mistake}"))?;
        requests += soaked.statistics.requests;
        medians.push(soaked.statistics.median());
        verdict = soaked.verdict;
        if !verdict.is_unrefuted() {
            break;
        }
    }
    medians.sort_unstable();
    let what = format!(
        "{}, {} a run, on {} connections\nwith {} outstanding in the median ({}).",
        count(requests, "request"),
        LONG,
        2 * CONNECTIONS,
        medians.get(medians.len() / 2).copied().unwrap_or(0),
        elapsed(start.elapsed()),
    );
    match &verdict {
        Verdict::Unrefuted => writeln!(out, "{GOOD}unrefuted{GOOD:#}: {what}")?,
        Verdict::Refuted(_) => writeln!(out, "{BAD}refuted{BAD:#}: {what}")?,
        Verdict::Inconclusive(reason) => writeln!(out, "{OPEN}inconclusive{OPEN:#}: {reason}: {what}")?,
    }
    Ok(verdict.is_unrefuted())
}
