//! One thread of a campaign: runs cases one after the other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use confute::lang::Mistake;
use confute::random::Random;
use confute::{Depth, Inconclusive, Options, Pulse, Verdict};

use super::Plan;
use super::diagnose::{Budget, HURRY, diagnose};
use super::finding::{Finding, Remedy};
use super::sink::CaseReport;
use crate::case::{CaseRun, CaseSetup, Ended, run_case};
use crate::crew::Purpose;
use crate::erased::{AnyGenerator, AnyProtocol, all_shared};
use crate::figures::Gauge;
use crate::limits::Limits;
use crate::net::Net;
use crate::talk::Caller;
use crate::trouble::Trouble;
use confute_record::{Figures, Occurrence, Ranges, Shard};

/// Interval of connection attempts to a server that is gone.
const KNOCK: Duration = Duration::from_millis(50);

/// Number of connections that suffices for a race.
const FEW: u32 = 4;

/// Time that the search may take for one event when rules are relaxed: more time is then less likely to help.
const BRIEF: Duration = Duration::from_secs(1);

/// Divisor of the time for blame that yields the time in which a refuted case is searched for hidden state of
/// the model: an eighth.
const DOUBT: u32 = 8;

/// Function that makes the generator of a case from its number.
pub type Factory<'a> = &'a (dyn Fn(u64) -> AnyGenerator<'a> + Sync);

/// State that the threads share.
pub(super) struct Shared {
    /// Place of the next case in the shard.
    pub(super) next: AtomicU64,
    /// The part of the cases to run.
    pub(super) shard: Shard,
    /// Cases that were done before the campaign.
    pub(super) done: Ranges,
    /// Cases to run again, and the number of times that each was run: the server dropped connections.
    pub(super) again: Mutex<Vec<(u64, u32)>>,
    /// Set when it is time to stop, for whatever reason.
    pub(super) halt: AtomicBool,
    /// Rules that are relaxed by now.
    pub(super) remedies: Mutex<Remedies>,
    /// `true` if the server ever responded.
    pub(super) met: AtomicBool,
    /// Prefix of the names of all cases.
    pub(super) run: String,
}

impl Shared {
    /// Returns the rules that are relaxed in the case of this seed.
    fn relaxed(&self, seed: u64) -> Vec<&'static str> {
        self.remedies.lock().unwrap_or_else(PoisonError::into_inner).relaxed(seed)
    }

    /// Returns the number of the next case, and how often it was run before. `None` if all were run.
    fn take(&self, cases: Option<u64>) -> Option<(u64, u32)> {
        let again = self.again.lock().unwrap_or_else(PoisonError::into_inner).pop();
        again.or_else(|| {
            loop {
                let number = self.shard.number(self.next.fetch_add(1, Ordering::Relaxed))?;
                if cases.is_some_and(|cases| number >= cases) {
                    return None;
                }
                if !self.done.contains(number) {
                    return Some((number, 0));
                }
            }
        })
    }

    /// Returns the name of a case that was run so often before.
    fn name(&self, number: u64, before: u32) -> String {
        match before {
            0 => format!("{}-{number:x}", self.run),
            _ => format!("{}-{number:x}r{before}", self.run),
        }
    }

    /// Has a case run again that was run so often before.
    fn repeat(&self, number: u64, before: u32) {
        self.again.lock().unwrap_or_else(PoisonError::into_inner).push((number, before + 1));
    }
}

/// Rules to relax in later cases.
#[derive(Clone, Debug, Default)]
pub(super) struct Remedies {
    /// Rules relaxed in all cases.
    pub(super) always: Vec<&'static str>,
    /// Pairs of sets, one of which is relaxed in each case.
    pub(super) either: Vec<[Vec<&'static str>; 2]>,
}

impl Remedies {
    /// Collects the remedies of these findings, besides the allowed rules.
    pub(super) fn of(findings: &[Finding], allow: &[&'static str]) -> Self {
        let mut remedies = Self { always: allow.to_vec(), either: Vec::new() };
        for finding in findings {
            match finding.remedy(findings) {
                Remedy::Nothing => {}
                Remedy::Always(rules) => remedies.always.extend(rules),
                Remedy::Either(sets) => remedies.either.push(sets.map(<[_]>::to_vec)),
            }
        }
        remedies.always.sort_unstable();
        remedies.always.dedup();
        remedies
    }

    /// Returns the rules that are relaxed in the case of this seed: a bit of it decides each choice.
    fn relaxed(&self, seed: u64) -> Vec<&'static str> {
        let chosen = self.either.iter().enumerate();
        let chosen = chosen.flat_map(|(place, sets)| &sets[usize::from(seed >> (place % 64) & 1 == 1)]);
        let mut relaxed: Vec<_> = self.always.iter().chain(chosen).copied().collect();
        relaxed.sort_unstable();
        relaxed.dedup();
        relaxed
    }
}

/// Report of a thread to the campaign.
pub(super) enum WorkerReport {
    Started(u64, String),
    Ended(Box<CaseReport>),
    /// A violation. What is sent back tells that the rules to relax are known.
    Found(Box<Finding>, Sender<()>),
    /// A refuted case was not refuted when it was judged again.
    Doubt(u64),
    /// Everything about a case has been reported, and it need not be run again.
    Settled(u64),
    Trouble(Trouble),
    /// A case will be run again, because the server dropped connections. Its responses were judged.
    Again(Box<Figures>),
}

pub(super) fn work(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    shared: &Shared,
    gauge: &Gauge,
    make: Factory<'_>,
    tell: &Sender<WorkerReport>,
) {
    // Sending fails only when everything is over.
    let tell = |told| drop(tell.send(told));
    let mut net = match Net::new(plan.target.listen) {
        Ok(net) => net,
        Err(trouble) => {
            shared.halt.store(true, Ordering::Relaxed);
            tell(WorkerReport::Trouble(trouble));
            return;
        }
    };
    let caller = Caller::new(plan.target, &plan.limits);
    let crew = plan.limits.crew.as_ref();
    while !shared.halt.load(Ordering::Relaxed) {
        net.shift = None;
        if let Some(crew) = crew {
            net.shift = crew.enter(Purpose::Campaign, plan.limits.connections, &shared.halt);
            if net.shift.is_none() {
                return;
            }
        }
        let Some((number, before)) = shared.take(plan.cases) else { return };
        let name = shared.name(number, before);
        let seed = case_seed(plan.seed, number);
        tell(WorkerReport::Started(number, name.clone()));
        if let Err(trouble) = protocol.prepare(&name, &caller) {
            let is_absence = trouble.is_absence();
            let shift = net.shift.take().filter(|shift| is_absence && shift.has_company());
            if let Some(shift) = &shift {
                shift.strain(&trouble.to_string());
                shared.repeat(number, before);
            }
            let is_gone = is_absence && !returns(&caller, plan, shared);
            if is_gone || shift.is_none() {
                tell(WorkerReport::Trouble(known(trouble, shared)));
            }
            shared.halt.fetch_or(is_gone, Ordering::Relaxed);
            continue;
        }
        let relaxed = shared.relaxed(seed);
        let limits = subdued(&plan.limits, relaxed.len() - plan.allow.len().min(relaxed.len()));
        let setup = CaseSetup {
            protocol,
            target: plan.target,
            limits: &limits,
            name: &name,
            seed,
            relaxed: &relaxed,
            stop: &shared.halt,
            gauge,
        };
        net.plant(protocol, plan.target, &limits, &format!("{}-canary", shared.run));
        let mut run = run_case(&mut net, &setup, &mut make(number));
        if run.figures.answers > 0 {
            shared.met.store(true, Ordering::Relaxed);
        }
        net.shift = None;
        if is_crowded(&mut run, || returns(&caller, plan, shared)) {
            shared.repeat(number, before);
            tell(WorkerReport::Again(Box::new(run.figures)));
            continue;
        }
        run.trouble = run.trouble.take().map(|trouble| known(trouble, shared));
        if let Some(mistake) = hidden_state(protocol, &run, &relaxed, plan) {
            run.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
        }
        let absent = run.trouble.as_ref().is_some_and(Trouble::is_absence);
        if matches!(run.verdict, Verdict::Inconclusive(Inconclusive::Mistake(_))) {
            // The next case would only show the mistake again.
            shared.halt.store(true, Ordering::Relaxed);
        }
        tell(WorkerReport::Ended(Box::new(report(&run, number, seed))));
        let restarted = run.trouble.as_ref().is_some_and(Trouble::is_restart);
        let is_done = run.trouble.is_none() && (run.ended != Ended::Stopped || run.verdict.is_refuted());
        let mut is_known = false;
        if run.verdict.is_refuted() && !restarted {
            let _blaming = crew.map(|crew| crew.blaming(&shared.halt));
            is_known = is_known_by_now(protocol, &run, &relaxed, shared, plan);
            if !is_known {
                blame(protocol, plan, shared, run, ((number, seed), &relaxed), &tell);
            }
        }
        if is_known {
            tell(WorkerReport::Settled(number));
            continue;
        }
        if is_done {
            tell(WorkerReport::Settled(number));
        }
        if absent && !returns(&caller, plan, shared) {
            shared.halt.store(true, Ordering::Relaxed);
        }
    }
}

/// Blames a refuted case, and reports the violation.
fn blame(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    shared: &Shared,
    run: CaseRun,
    ((number, seed), relaxed): ((u64, u64), &[&'static str]),
    tell: &dyn Fn(WorkerReport),
) {
    let end = plan.limits.end.map(|end| end + HURRY);
    let (time, memory) = (plan.blame_time, plan.limits.memory);
    let budget = Budget { time, memory, halt: &shared.halt, end, depth: Depth::Level };
    let Some(mut finding) = diagnose(protocol, run, (number, seed), relaxed, &budget) else {
        return tell(WorkerReport::Doubt(number));
    };
    finding.occurrences = vec![Occurrence { run: None, case: Some(number), seed }];
    // The next case is to know the rules to relax.
    let (heard, hears) = mpsc::channel();
    tell(WorkerReport::Found(Box::new(finding), heard));
    let _ = hears.recv_timeout(BRIEF);
}

/// Returns `true` if the case would not be refuted if it began now: meanwhile a rule was relaxed that explains it. It may
/// show what a case beside it has shown.
fn is_known_by_now(
    protocol: &dyn AnyProtocol,
    run: &CaseRun,
    relaxed: &[&'static str],
    shared: &Shared,
    plan: &Plan,
) -> bool {
    // Of all cases of an exhaustive run the smallest is wanted.
    if plan.exhaustive {
        return false;
    }
    let now = shared.remedies.lock().unwrap_or_else(PoisonError::into_inner).always.clone();
    let mut both = [relaxed, &now].concat();
    both.sort_unstable();
    both.dedup();
    if both.len() == relaxed.len() {
        return false;
    }
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > plan.blame_time / DOUBT;
    let options =
        Options { watch: Some(&watch), memory: plan.limits.memory, relaxed: both, ..Options::default() };
    protocol.model().judge(protocol.network(), &all_shared(&run.trace), &options).is_unrefuted()
}

/// Returns `true` if the case is to be run again, because the server dropped connections while others ran. A refutation
/// counts all the same, unless later responses may contradict earlier ones because of that; and a server that is gone is.
fn is_crowded(run: &mut CaseRun, returns: impl FnOnce() -> bool) -> bool {
    let Some(Trouble::Crowded { why, .. }) = &run.trouble else { return false };
    let why = (**why).clone();
    if why.is_absence() && !returns() {
        run.trouble = Some(why);
        return false;
    }
    if run.verdict.is_unrefuted() || why.is_restart() {
        return true;
    }
    run.trouble = None;
    false
}

/// Returns the mistake of a model that refuted a case because its turns depend on hidden state, which shows
/// when every turn is run again. If that takes longer than a part of the time for blame, the case stays
/// refuted: only a sample of its turns was compared.
pub(super) fn hidden_state(
    protocol: &dyn AnyProtocol,
    run: &CaseRun,
    relaxed: &[&'static str],
    plan: &Plan,
) -> Option<Mistake> {
    if !run.verdict.is_refuted() {
        return None;
    }
    let start = Instant::now();
    let watch = |_: &Pulse| start.elapsed() > plan.blame_time / DOUBT;
    let (memory, relaxed) = (plan.limits.memory, relaxed.to_vec());
    let options = Options { repeat_all: true, watch: Some(&watch), memory, relaxed, ..Options::default() };
    match protocol.model().judge(protocol.network(), &all_shared(&run.trace), &options) {
        Verdict::Inconclusive(Inconclusive::Mistake(mistake)) => Some(mistake),
        _ => None,
    }
}

/// Returns the limits of a case in which this many rules are relaxed. Relaxed rules give the search more ways
/// to explain a trace, the more so the more requests compete for the same resource: then fewer connections
/// compete, and less time is spent on events that cannot be decided.
fn subdued(limits: &Limits, broken: usize) -> Limits {
    let mut limits = limits.clone();
    if broken > 0 {
        let few = (limits.connections / (1 + broken as u32)).max(FEW);
        limits.rivals = limits.rivals.min(limits.connections).min(few);
        limits.thought = limits.thought.min(BRIEF);
    }
    limits
}

/// Returns the seed of a case.
pub fn case_seed(seed: u64, number: u64) -> u64 {
    let mut random = Random::new(seed);
    random.below(u64::MAX) ^ Random::new(number.wrapping_add(1)).below(u64::MAX)
}

fn report(run: &CaseRun, number: u64, seed: u64) -> CaseReport {
    CaseReport {
        number,
        name: run.name.clone(),
        seed,
        verdict: run.verdict.clone(),
        ended: run.ended,
        trouble: run.trouble.clone(),
        figures: run.figures.clone(),
    }
}

/// Reports a server that was there before as gone, when it refuses connections.
fn known(trouble: Trouble, shared: &Shared) -> Trouble {
    match trouble {
        Trouble::Refused { address, why } if shared.met.load(Ordering::Relaxed) => {
            Trouble::Gone { address, why }
        }
        other => other,
    }
}

/// Returns `true` if a server that was gone accepts connections again, within the patience.
fn returns(caller: &Caller, plan: &Plan, shared: &Shared) -> bool {
    let end = Instant::now() + plan.limits.patience;
    // A server that was never there is not waited for.
    while shared.met.load(Ordering::Relaxed) && Instant::now() < end && !shared.halt.load(Ordering::Relaxed) {
        if caller.knock().is_ok() {
            return true;
        }
        std::thread::sleep(KNOCK);
    }
    false
}
