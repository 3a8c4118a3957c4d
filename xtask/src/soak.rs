//! `cargo xtask soak engine`: long runs of the tester against simulated servers.
//!
//! Two claims are tested. A correct server is never refuted, whatever the network does: every model runs behind every
//! network under the online tester. A server that breaks a rule is refuted and blamed correctly: every rule of every
//! model is broken now and then, and must be among the diagnoses.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use confute::network::{self, Network};
use confute::simulate::{ExchangePlan, Statistics};
use confute::{Options, Pulse, Verdict};
use confute_models::registry::{self, Named};

use crate::again_in_release;

/// Number of messages of a case behind a network that loses packets.
const LOSSY_CASE: u64 = 24;
/// Number of turns spent on such a case before it is left undecided.
const LOSSY_TURNS: u64 = 20_000;
/// Maximum number of runs in which a rule has to be broken, refuted and blamed.
const CHANCES: u64 = 8;
/// Maximum number of such runs behind a network that loses packets, where a run is short and the network may explain
/// much of the deviation.
const LOSSY_CHANCES: u64 = 2_000;

#[derive(clap::Args)]
pub(crate) struct Engine {
    /// Short run: 1,000 messages a run instead of 100,000, reliable networks only, and a run that exceeds its time is
    /// reported but does not count as failed
    #[arg(long)]
    short: bool,
    /// Number of messages of a run
    #[arg(long)]
    messages: Option<u64>,
    /// Only this model
    #[arg(long)]
    model: Option<String>,
    /// Only this network
    #[arg(long)]
    network: Option<String>,
    /// Seed of all random choices
    #[arg(long, default_value = "1")]
    seed: u64,
    /// Number of outstanding requests, over 16 connections
    #[arg(long, default_value = "9")]
    at_once: u32,
    /// Number of messages to a server before a new one is started. If packets are lost and duplicated, each of them
    /// doubles the number of possible histories, so long runs cannot be searched [default: all; 24 behind lossy
    /// networks]
    #[arg(long)]
    case: Option<u64>,
    /// Maximum time of a run before it counts as failed, in seconds [default: 1800; 5 if short]
    #[arg(long)]
    max_time: Option<u64>,
}

pub(crate) fn run(args: &Engine) -> Result<bool> {
    if cfg!(debug_assertions) && !args.short {
        return again_in_release();
    }
    let models = match &args.model {
        Some(name) => vec![registry::model(name).with_context(|| format!("no model {name:?}"))?],
        None => registry::models().to_vec(),
    };
    let networks: Vec<&dyn Network> = match &args.network {
        Some(name) => vec![network::network(name).with_context(|| format!("no network {name:?}"))?],
        None => network::networks()
            .iter()
            .map(|network| *network as &dyn Network)
            .filter(|network| !args.short || network.is_reliable())
            .collect(),
    };
    let messages = args.messages.unwrap_or(if args.short { 1_000 } else { 100_000 });
    let start = Instant::now();
    println!("seed {}, {messages} messages a run, 16 connections\n", args.seed);
    let correct = soak(args, &models, &networks, messages)?;
    println!();
    let wrong = accuse(args, &models, &networks)?;
    println!("\nsoak engine: {} ({:.1} s)", both(correct, wrong), start.elapsed().as_secs_f64());
    Ok(correct && wrong)
}

impl Engine {
    /// Returns the maximum time of one run, or of all runs for one rule.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.max_time.unwrap_or(if self.short { 5 } else { 1800 }))
    }
}

fn both(correct: bool, wrong: bool) -> &'static str {
    match (correct, wrong) {
        (true, true) => "no correct server was refuted; how many wrong ones were found out stands above",
        (false, _) => "FAILED: a correct server was not explained",
        (_, false) => "FAILED: a wrong server was not found out",
    }
}

fn soak(
    args: &Engine,
    models: &[&'static dyn Named],
    networks: &[&dyn Network],
    messages: u64,
) -> Result<bool> {
    println!("correct servers, never to be refuted");
    println!("  model        network  verdict       requests   median outstanding     turns  memory    time");
    let mut held = true;
    for model in models {
        for network in networks {
            let start = Instant::now();
            let soaked = soak_one(args, *model, *network, messages)?;
            let outstanding = match soaked.statistics.median() {
                _ if network.is_direct() => "lock-step".to_owned(),
                median => median.to_string(),
            };
            println!(
                "  {:<12} {:<8} {:<12} {:>9} {:>20} {:>9} {:>4} MiB {:>5.1} s",
                model.name(),
                network.name(),
                soaked.word(),
                soaked.statistics.requests,
                outstanding,
                soaked.turns,
                soaked.bytes >> 20,
                start.elapsed().as_secs_f64(),
            );
            let fine = soaked.verdict.is_unrefuted() || (args.short && !soaked.verdict.is_refuted());
            if !soaked.verdict.is_unrefuted() {
                println!("    {}: {}", if fine { "not finished" } else { "FAILED" }, reason(&soaked.verdict));
            }
            if soaked.cases > 1 {
                println!("    {} cases, {} of them left undecided", soaked.cases, soaked.undecided);
            }
            let busy = (args.short && !soaked.verdict.is_unrefuted())
                || network.is_direct()
                || soaked.statistics.median() >= args.at_once.min(8) as usize;
            if !busy {
                println!("    FAILED: too few requests were outstanding for this to mean anything");
            }
            held &= fine && busy;
        }
    }
    Ok(held)
}

/// Sum of the results of all cases of a soak.
struct Soak {
    /// The first verdict that refutes or ran out of time.
    verdict: Verdict,
    statistics: Statistics,
    turns: u64,
    bytes: usize,
    cases: u64,
    undecided: u64,
}

impl Soak {
    /// Returns the verdict in a word, or "undecided" if most cases were given up.
    fn word(&self) -> &'static str {
        if self.verdict.is_unrefuted() && 2 * self.undecided > self.cases {
            return "undecided";
        }
        name(&self.verdict)
    }
}

fn soak_one(args: &Engine, model: &'static dyn Named, network: &dyn Network, messages: u64) -> Result<Soak> {
    let case = args.case.unwrap_or(if network.is_reliable() { messages } else { LOSSY_CASE });
    let start = Instant::now();
    let late = |_: &Pulse| start.elapsed() > args.patience();
    let turns = if case < messages { LOSSY_TURNS } else { u64::MAX };
    let options = Options { watch: Some(&late), turns, ..Options::default() };
    let line = ProgressLine::default();
    let mut all = Soak {
        verdict: Verdict::Unrefuted,
        statistics: Statistics::default(),
        turns: 0,
        bytes: 0,
        cases: 0,
        undecided: 0,
    };
    while all.statistics.requests < messages && all.verdict.is_unrefuted() {
        let before = all.statistics.requests;
        let seed = args.seed.wrapping_add(all.cases);
        let plan = ExchangePlan {
            seed,
            messages: case.min(messages - before),
            at_once: args.at_once,
            ..ExchangePlan::default()
        };
        let soaked = model
            .soak(network, &plan, &options, &mut |sent| {
                line.tell(&format!(
                    "{} behind {}: {} of {messages}",
                    model.name(),
                    network.name(),
                    before + sent
                ));
            })
            .map_err(|mistake| anyhow!("{}: {mistake}", model.name()))?;
        all.cases += 1;
        all.statistics.add(&soaked.statistics);
        all.turns += soaked.turns;
        all.bytes = all.bytes.max(soaked.bytes);
        let undecided = matches!(soaked.verdict, Verdict::Inconclusive(_)) && soaked.turns >= turns;
        all.undecided += u64::from(undecided);
        if !undecided {
            all.verdict = soaked.verdict;
        }
        line.tell(&format!(
            "{} behind {}: {} of {messages}",
            model.name(),
            network.name(),
            all.statistics.requests
        ));
    }
    line.erase();
    Ok(all)
}

fn accuse(args: &Engine, models: &[&'static dyn Named], networks: &[&dyn Network]) -> Result<bool> {
    println!("servers that break a rule, to be refuted and found out");
    println!("  rule                                network  requests  blamed");
    let (mut found, mut all, mut excused) = (0, 0, 0);
    for model in models {
        for rule in model.rules() {
            for network in networks.iter().filter(|network| !args.short || !network.is_direct()) {
                let is_found = accuse_one(args, *model, rule.name, *network)?;
                found += usize::from(is_found);
                all += 1;
                // In few messages, the network may explain much of the deviation: such a miss is reported, but is no
                // failure.
                excused += usize::from(!is_found && !network.is_reliable());
            }
        }
    }
    println!("  {found} of {all} found out");
    // In a short run, a rule may need more time than it has.
    Ok(found + excused == all || (args.short && found * 5 >= all * 4))
}

fn accuse_one(args: &Engine, model: &dyn Named, rule: &'static str, network: &dyn Network) -> Result<bool> {
    let start = Instant::now();
    let late = |_: &Pulse| start.elapsed() > args.patience();
    let reliable = network.is_reliable();
    let turns = if reliable { u64::MAX } else { LOSSY_TURNS };
    let options = Options { watch: Some(&late), turns, ..Options::default() };
    let mut last = "       -  not refuted within the budget".to_owned();
    for chance in 0..if reliable { CHANCES } else { LOSSY_CHANCES } {
        let plan = ExchangePlan {
            seed: args.seed.wrapping_add(chance),
            messages: if reliable { 2_000 } else { LOSSY_CASE },
            // If packets are lost, the search is large enough with two connections.
            connections: if reliable { 4 } else { 2 },
            deviate: vec![rule],
            one_in: if reliable { 20 } else { 4 },
            ..ExchangePlan::default()
        };
        let accused =
            model.accuse(network, &plan, &options).map_err(|mistake| anyhow!("{rule}: {mistake}"))?;
        let Some(accused) = accused else { continue };
        let sets = accused.blame.diagnoses.iter().map(|diagnosis| diagnosis.rules.join(" + "));
        let sets = sets.collect::<Vec<_>>().join(" or ");
        last = format!("{:>8}  {sets}", accused.requests);
        if accused.is_blamed_on(rule) {
            println!("  {rule:<35} {:<7} {last}", network.name());
            return Ok(true);
        }
    }
    println!("  {rule:<35} {:<7} {last}\n    NOT FOUND OUT", network.name());
    Ok(false)
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Unrefuted => "unrefuted",
        Verdict::Refuted(_) => "REFUTED",
        Verdict::Inconclusive(_) => "INCONCLUSIVE",
    }
}

fn reason(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Inconclusive(reason) => reason.to_string(),
        Verdict::Refuted(refutation) => format!("refuted: {}", refutation.seen),
        Verdict::Unrefuted => "not refuted".to_owned(),
    }
}

/// Progress line on the terminal, which is overwritten.
#[derive(Default)]
pub(crate) struct ProgressLine {
    last: Cell<Option<Instant>>,
}

impl ProgressLine {
    pub(crate) fn tell(&self, text: &str) {
        let soon = self.last.get().is_some_and(|last| last.elapsed() < Duration::from_millis(200));
        if soon || !stderr().is_terminal() {
            return;
        }
        self.last.set(Some(Instant::now()));
        eprint!("\r\x1b[K{text}");
        let _ = stderr().flush();
    }

    pub(crate) fn erase(&self) {
        if self.last.take().is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
