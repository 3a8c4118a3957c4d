//! One thread of a campaign: runs cases one after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use confute::lang::Mistake;
use confute::random::Random;
use confute::{Depth, Inconclusive, Options, Pulse, Verdict};

use super::Plan;
use super::diagnose::{Budget, HURRY, diagnose};
use super::finding::{Finding, Remedy};
use super::sink::CaseReport;
use crate::case::{CaseRun, CaseSetup, run_case};
use crate::erased::{AnyGenerator, AnyProtocol, all_shared};
use crate::figures::Gauge;
use crate::limits::Limits;
use crate::net::Net;
use crate::talk::Caller;
use crate::trouble::Trouble;

/// How often to knock at the door of a server that is gone.
const KNOCK: Duration = Duration::from_millis(50);

/// So many connections are enough for a race.
const FEW: u32 = 4;

/// How long the tester may think about one event when that is less likely to help.
const BRIEF: Duration = Duration::from_secs(1);

/// The part of the time for blame in which a refuted case is searched for hidden state of the model: an eighth.
const DOUBT: u32 = 8;

/// Makes the generator of a case, by its number.
pub type Factory<'a> = &'a (dyn Fn(u64) -> AnyGenerator<'a> + Sync);

/// What the threads share.
pub(super) struct Shared {
    /// The next case.
    pub(super) next: AtomicU64,
    /// Time to stop, for whatever reason.
    pub(super) halt: AtomicBool,
    /// Rules that the server may break by now.
    pub(super) remedies: Mutex<Remedies>,
    /// Whether the server ever took a connection.
    pub(super) met: AtomicBool,
    /// What the names of all cases begin with.
    pub(super) run: String,
}

/// Which rules to relax in later cases.
#[derive(Clone, Debug, Default)]
pub(super) struct Remedies {
    /// In all of them.
    pub(super) always: Vec<&'static str>,
    /// In each case one of two sets.
    pub(super) either: Vec<[Vec<&'static str>; 2]>,
}

impl Remedies {
    /// For these findings, besides what is allowed.
    pub(super) fn of(findings: &[Finding], allow: &[&'static str]) -> Self {
        let mut remedies = Self { always: allow.to_vec(), either: Vec::new() };
        for finding in findings {
            match finding.remedy() {
                Remedy::Nothing => {}
                Remedy::Always(rules) => remedies.always.extend(rules),
                Remedy::Either(sets) => remedies.either.push(sets.map(<[_]>::to_vec)),
            }
        }
        remedies.always.sort_unstable();
        remedies.always.dedup();
        remedies
    }

    /// The rules that are relaxed in the case of this seed: a bit of it for each choice.
    fn relaxed(&self, seed: u64) -> Vec<&'static str> {
        let chosen = self.either.iter().enumerate();
        let chosen = chosen.flat_map(|(place, sets)| &sets[usize::from(seed >> (place % 64) & 1 == 1)]);
        let mut relaxed: Vec<_> = self.always.iter().chain(chosen).copied().collect();
        relaxed.sort_unstable();
        relaxed.dedup();
        relaxed
    }
}

/// What a thread has to tell.
pub(super) enum Told {
    Started(u64, String),
    Ended(Box<CaseReport>),
    Found(Box<Finding>),
    /// The two judges do not agree.
    Doubt,
    Trouble(Trouble),
}

pub(super) fn work(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    shared: &Shared,
    gauge: &Gauge,
    make: Factory<'_>,
    tell: &Sender<Told>,
) {
    // Nobody listens any more only when it is all over.
    let tell = |told| drop(tell.send(told));
    let mut net = match Net::new(plan.target.listen) {
        Ok(net) => net,
        Err(trouble) => {
            shared.halt.store(true, Ordering::Relaxed);
            tell(Told::Trouble(trouble));
            return;
        }
    };
    let caller = Caller::new(plan.target, &plan.limits);
    while !shared.halt.load(Ordering::Relaxed) {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if plan.cases.is_some_and(|cases| number >= cases) {
            return;
        }
        let name = format!("{}-{number:x}", shared.run);
        let seed = case_seed(plan.seed, number);
        tell(Told::Started(number, name.clone()));
        if let Err(trouble) = protocol.prepare(&name, &caller) {
            let absent = trouble.is_absence();
            tell(Told::Trouble(known(trouble, shared)));
            if absent && !returns(&caller, plan, shared) {
                shared.halt.store(true, Ordering::Relaxed);
            }
            continue;
        }
        let relaxed = shared
            .remedies
            .lock()
            .map_or_else(|held| held.into_inner().relaxed(seed), |held| held.relaxed(seed));
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
        run.trouble = run.trouble.take().map(|trouble| known(trouble, shared));
        if let Some(mistake) = hidden_state(protocol, &run, &relaxed, plan) {
            run.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
        }
        let absent = run.trouble.as_ref().is_some_and(Trouble::is_absence);
        if matches!(run.verdict, Verdict::Inconclusive(Inconclusive::Mistake(_))) {
            // The next case would only show it again.
            shared.halt.store(true, Ordering::Relaxed);
        }
        tell(Told::Ended(Box::new(report(&run, number, seed))));
        let restarted = matches!(run.trouble, Some(Trouble::Restarted { .. }));
        if run.verdict.is_refuted() && !restarted {
            let end = plan.limits.end.map(|end| end + HURRY);
            let (time, memory) = (plan.blame_time, plan.limits.memory);
            let budget = Budget { time, memory, halt: &shared.halt, end, depth: Depth::Level };
            match diagnose(protocol, run, (number, seed), &relaxed, &budget) {
                Some(finding) => tell(Told::Found(Box::new(finding))),
                None => tell(Told::Doubt),
            }
        }
        if absent && !returns(&caller, plan, shared) {
            shared.halt.store(true, Ordering::Relaxed);
        }
    }
}

/// The mistake of a model that refuted a case because its turns depend on hidden state: it shows when every turn is run again.
/// What takes longer than a part of the time for blame stays refuted, and a sample of the turns was compared.
fn hidden_state(
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

/// A server that breaks rules has more ways to explain what it does, the more so the more it does at once to the same thing:
/// then fewer connections compete for it, and less time is spent on what cannot be decided.
fn subdued(limits: &Limits, broken: usize) -> Limits {
    let mut limits = limits.clone();
    if broken > 0 {
        let few = (limits.connections / (1 + broken as u32)).max(FEW);
        limits.rivals = limits.rivals.min(limits.connections).min(few);
        limits.thought = limits.thought.min(BRIEF);
    }
    limits
}

/// What the choices of a case come from.
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

/// Nobody is refused by a server that was there before: it is gone.
fn known(trouble: Trouble, shared: &Shared) -> Trouble {
    match trouble {
        Trouble::Refused { address, why } if shared.met.load(Ordering::Relaxed) => {
            Trouble::Gone { address, why }
        }
        other => other,
    }
}

/// Whether a server that was gone takes connections again, within the patience.
fn returns(caller: &Caller, plan: &Plan, shared: &Shared) -> bool {
    let end = Instant::now() + plan.limits.patience;
    // One that was never there is not waited for.
    while shared.met.load(Ordering::Relaxed) && Instant::now() < end && !shared.halt.load(Ordering::Relaxed) {
        if caller.knock().is_ok() {
            return true;
        }
        std::thread::sleep(KNOCK);
    }
    false
}
