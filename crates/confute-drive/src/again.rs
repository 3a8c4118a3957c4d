//! Repetition: scripts run again on a server, and traces judged again without one.
//!
//! A run has a name that was never used, and is judged by the model; nothing is concluded from the old
//! responses.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute::trace::Event;
use confute::{Depth, Diagnosis, Options, Pulse, Reasons, Verdict};

use crate::campaign::{Budget, Finding, diagnose};
use crate::case::{CaseRun, CaseSetup, Ended, run_case};
use crate::crew::Purpose;
use crate::erased::{AnyAsk, AnyGenerator, AnyMessage, AnyProtocol, all_shared, shared};
use crate::figures::Gauge;
use crate::limits::{Limits, Target};
use crate::net::Net;
use crate::script::{Peer, Step};
use crate::talk::Caller;
use crate::trouble::Trouble;
use confute_record::Figures;

/// Number of turns that one of many judgements may take, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;

/// Runner that repeats scripts on a server.
pub struct Again<'a> {
    /// The protocol.
    pub protocol: &'a dyn AnyProtocol,
    /// The server.
    pub target: Target,
    /// Limits of each run.
    pub limits: Limits,
    /// Time to search for the broken rule, in each run.
    pub blame_time: Duration,
    /// Prefix of the names of all cases.
    pub prefix: &'a str,
    /// Set when it is time to stop.
    pub stop: &'a AtomicBool,
}

/// A past run: its script, and the rules that were relaxed.
#[derive(Clone, Copy, Debug)]
pub struct PastRun<'a> {
    /// The steps that were performed.
    pub script: &'a [Step<AnyAsk>],
    /// Name of the case on the server. The cuts of a request depend on its length, so a new name is as long.
    pub name: &'a str,
    /// Seed of its random choices.
    pub seed: u64,
    /// Rules that were relaxed.
    pub relaxed: &'a [&'static str],
}

/// Result of a repeated run.
pub enum Rerun {
    /// Nothing explains the run.
    Refuted(Box<Finding>),
    /// Every event is explained.
    Explained,
    /// Undecided, for this reason.
    Unknown(String),
}

impl Again<'_> {
    /// Runs a script once. An error means that the server cannot be reached.
    pub fn once(&self, net: &mut Net, deed: &PastRun<'_>) -> Result<Rerun, Trouble> {
        let run = self.run(net, deed)?;
        if let Some(trouble) = &run.trouble
            && trouble.is_absence()
        {
            return Err(trouble.clone());
        }
        let restarted = run.trouble.as_ref().is_some_and(Trouble::is_restart);
        let trouble = run.trouble.as_ref().map(ToString::to_string);
        Ok(match &run.verdict {
            Verdict::Refuted(_) if !restarted => match self.blamed(run, deed, Depth::Level) {
                Some(finding) => Rerun::Refuted(Box::new(finding)),
                None => Rerun::Unknown("refuted online, but not when judged again offline".to_owned()),
            },
            Verdict::Refuted(_) => Rerun::Unknown("the server was restarted".to_owned()),
            Verdict::Inconclusive(why) => Rerun::Unknown(why.to_string()),
            Verdict::Unrefuted => match trouble {
                Some(trouble) => Rerun::Unknown(trouble),
                None if run.ended != Ended::Done => Rerun::Unknown("the run was cut short".to_owned()),
                // A request that was never sent cannot have been answered correctly.
                None if requests(&run.script) < requests(deed.script) => Rerun::Unknown(
                    "a request could not be sent: no response contained the value that it refers to"
                        .to_owned(),
                ),
                None => Rerun::Explained,
            },
        })
    }

    /// Checks that the server can be tested at all, as a campaign does, under a name as long as this one.
    pub fn survey(&self, name: &str) -> Result<(), Trouble> {
        let Again { protocol, target, ref limits, .. } = *self;
        let caller = Caller::new(target, limits).named(self.name_like(name));
        protocol.survey(&caller, &[], self.stop).said.map(drop)
    }

    /// Runs a script, without a search for the broken rule.
    pub(crate) fn run(&self, net: &mut Net, deed: &PastRun<'_>) -> Result<CaseRun, Trouble> {
        let Again { protocol, target, ref limits, stop, .. } = *self;
        let name = self.name_like(deed.name);
        protocol.prepare(&name, &Caller::new(target, limits))?;
        let setup = CaseSetup {
            protocol,
            target,
            limits,
            name: &name,
            seed: deed.seed,
            relaxed: deed.relaxed,
            stop,
            gauge: &Gauge::default(),
        };
        net.plant(protocol, target, limits, &self.name_like(deed.name));
        // Without a permission it is time to stop, which the case notices.
        net.shift = limits
            .crew
            .as_ref()
            .and_then(|crew| crew.enter(Purpose::Repetition, connections(deed.script), stop));
        let run = run_case(net, &setup, &mut AnyGenerator::replay(deed.script.to_vec()));
        net.shift = None;
        Ok(run)
    }

    /// Returns the violation that a refuted run shows, blamed to this depth; `None` if it is not refuted when
    /// judged again.
    pub(crate) fn blamed(&self, run: CaseRun, deed: &PastRun<'_>, depth: Depth) -> Option<Finding> {
        let Limits { memory, end, .. } = self.limits;
        let budget = Budget { time: self.blame_time, memory, halt: self.stop, end, depth };
        diagnose(self.protocol, run, (0, deed.seed), deed.relaxed, &budget)
    }

    /// Returns an unused name as long as this one.
    fn name_like(&self, name: &str) -> String {
        let mut fresh = if self.prefix.len() < name.len() { self.prefix.to_owned() } else { String::new() };
        while fresh.len() < name.len() {
            let _ = write!(fresh, "{:016x}", RandomState::new().hash_one(name));
        }
        fresh.truncate(name.len());
        fresh
    }
}

/// Counts the requests of the tester. Its responses do not count: the server decides whether it sends
/// requests.
fn requests<A>(script: &[Step<A>]) -> usize {
    script.iter().filter(|step| matches!(step, Step::Ask { on: Peer::Opened(_), .. })).count()
}

/// Counts the connections that a script opens.
fn connections<A>(script: &[Step<A>]) -> u32 {
    let opened = script.iter().filter_map(|step| match step {
        Step::Ask { on: Peer::Opened(number), .. } => Some(*number),
        _ => None,
    });
    opened.collect::<std::collections::BTreeSet<_>>().len() as u32
}

/// Judges a recorded trace again, without a server. The result may differ if the model has changed since.
pub fn judge_again(
    protocol: &dyn AnyProtocol,
    deed: &PastRun<'_>,
    trace: &[Event<AnyMessage>],
    (time, memory): (Duration, usize),
    stop: &AtomicBool,
) -> Rerun {
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > time || stop.load(Ordering::Relaxed);
    let options =
        Options { watch: Some(&watch), memory, relaxed: deed.relaxed.to_vec(), ..Options::default() };
    let verdict = protocol.model().judge(protocol.network(), &all_shared(trace), &options);
    match &verdict {
        Verdict::Unrefuted => return Rerun::Explained,
        Verdict::Inconclusive(why) => return Rerun::Unknown(why.to_string()),
        Verdict::Refuted(_) => {}
    }
    let run = CaseRun {
        verdict,
        ended: Ended::Judged,
        trouble: None,
        name: deed.name.to_owned(),
        trace: trace.to_vec(),
        // The times were not recorded.
        micros: vec![0; trace.len()],
        script: deed.script.to_vec(),
        figures: Figures::default(),
        raw: Vec::new(),
        raw_lost: 0,
    };
    let left = time.saturating_sub(start.elapsed());
    let budget = Budget { time: left, memory, halt: stop, end: None, depth: Depth::Level };
    match diagnose(protocol, run, (0, deed.seed), deed.relaxed, &budget) {
        Some(finding) => Rerun::Refuted(Box::new(finding)),
        None => Rerun::Unknown("there was no time to look for the broken rule".to_owned()),
    }
}

/// Returns the number of alternatives that the search has open after each event, as far as it gets within
/// this time and memory.
pub fn alternatives_of(
    protocol: &dyn AnyProtocol,
    trace: &[Event<AnyMessage>],
    relaxed: &[&'static str],
    (time, memory): (Duration, usize),
) -> Vec<usize> {
    let (model, network) = (protocol.model(), protocol.network());
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > time;
    let options = Options { watch: Some(&watch), memory, relaxed: relaxed.to_vec(), ..Options::default() };
    let mut tester = model.tester(network, options);
    let counts = trace.iter().map_while(|event| {
        if start.elapsed() > time || !tester.so_far().is_unrefuted() {
            return None;
        }
        tester.observe(shared(event));
        Some(if tester.so_far().is_refuted() { 0 } else { tester.alternatives() })
    });
    counts.collect()
}

/// Returns the proof that nothing explains these events; `diagnoses` are the sets of rules that they are
/// blamed on. `None` if no proof is found within the budget.
pub fn proof_of(
    protocol: &dyn AnyProtocol,
    trace: &[Event<AnyMessage>],
    diagnoses: &[Diagnosis],
    options: &Options<'_>,
) -> Option<Reasons> {
    let options = Options { matched: is_matched(protocol, trace), ..options.clone() };
    protocol.model().reasons(protocol.network(), &all_shared(trace), diagnoses, &options)
}

/// Returns `true` if every message from the server is a response to a request.
pub(crate) fn is_matched(protocol: &dyn AnyProtocol, trace: &[Event<AnyMessage>]) -> bool {
    let is_unasked = |event: &Event<AnyMessage>| match event {
        Event::Received(_, message) => protocol.is_unasked(message),
        _ => false,
    };
    !protocol.has_unasked() || !trace.iter().any(is_unasked)
}

/// Returns `Some(true)` if nothing explains these events with these rules relaxed; `None` if that is too much
/// work to decide.
pub fn is_refuted(
    protocol: &dyn AnyProtocol,
    trace: &[Event<AnyMessage>],
    relaxed: Vec<&'static str>,
) -> Option<bool> {
    let turns = MOST_TURNS + 200 * trace.len() as u64;
    let options = Options { turns, relaxed, ..Options::default() };
    match protocol.model().judge(protocol.network(), &all_shared(trace), &options) {
        Verdict::Refuted(_) => Some(true),
        Verdict::Unrefuted => Some(false),
        Verdict::Inconclusive(_) => None,
    }
}
