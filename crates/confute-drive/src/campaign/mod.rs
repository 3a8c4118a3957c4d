//! Campaigns: many cases over several threads, until a limit is reached or a stop is requested, and a list of
//! every distinct violation.
//!
//! After a violation the blamed rule is relaxed for all later cases, so the next violation is another one.
//! If a weak rule and stronger ones explain it equally, they are relaxed by turns ([`worker::Remedies`]).

mod cause;
mod diagnose;
pub(crate) mod finding;
mod reduce;
mod sink;
mod survey;
mod worker;

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use confute::lang::{Level, panicked_model};
use confute::{Inconclusive, Verdict};

use crate::crew::Crew;
use crate::erased::AnyProtocol;
use crate::figures::Gauge;
use crate::limits::{Limits, Target};
use crate::talk::Caller;
use crate::trouble::Trouble;
use confute_record::guarded;
use confute_record::{Conclusion, Figures, NEEDED, Ranges, Shard, Tally};
use finding::Findings;
use worker::{Remedies, Shared, WorkerReport, work};

pub(crate) use diagnose::{Budget, diagnose};
pub use finding::{Counterexample, Finding, Proof};
pub use reduce::excerpt;
pub(crate) use reduce::{kept as kept_events, writes_before};
pub use sink::{CaseReport, Live, News, SettledCase, Sink};
pub use worker::{Factory, case_seed};

/// Interval of progress reports.
const TICK: Duration = Duration::from_millis(50);
/// Number of cases in a row with trouble after which a campaign ends.
const ENOUGH: u32 = 3;
/// Divisor of the time for testing that yields the grace: the time in which running cases have to end when
/// testing is over. With it, no run takes a tenth more.
const GRACE: u32 = 12;
/// Shortest grace.
const LEAST_GRACE: Duration = Duration::from_millis(100);
/// Longest grace.
const MOST_GRACE: Duration = Duration::from_secs(2);

/// The plan of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// Limits of each case.
    pub limits: Limits,
    /// Prefix of the names of all cases.
    pub prefix: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of cases at the same time. A server that opens connections is tested by one at a time only: with
    /// several, the connections could not be assigned to cases.
    pub workers: Workers,
    /// Maximum number of cases, of all shards together.
    pub cases: Option<u64>,
    /// The part of the cases to run.
    pub shard: Shard,
    /// `true` if these are all cases that exist, in order of size. Then the server is unrefuted only if all
    /// of them ran to their ends, and the case with the fewest requests is kept for each violation.
    pub exhaustive: bool,
    /// Maximum duration of testing.
    pub max_time: Option<Duration>,
    /// Number of violations after which the campaign ends. One without a blamed rule counts each time it
    /// occurs.
    pub max_failures: usize,
    /// Rules that are relaxed from the start.
    pub allow: Vec<&'static str>,
    /// Sets of rules that the server is known to break: a violation that one of them explains is reported,
    /// but does not refute.
    pub known: Vec<Vec<String>>,
    /// Level from which on a violation refutes. A weaker one is a warning.
    pub level: Level,
    /// `true` if a violation also refutes whose level is high enough only by experiment.
    pub by_experiment: bool,
    /// Time to search for the broken rule.
    pub blame_time: Duration,
}

/// The number of cases that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// This many.
    Fixed(usize),
    /// As many as keep the tester busy, with no more connections than the server takes: see [`Crew`].
    Auto,
}

impl Plan {
    /// Returns the plan with a [crew](Limits::crew) if the number of cases at the same time is not fixed. Its cases and
    /// everything else that runs on the server meanwhile belong to it.
    #[must_use]
    pub fn crewed(&self) -> Self {
        let mut plan = self.clone();
        if self.workers == Workers::Auto && self.target.listen.is_none() {
            plan.limits
                .crew
                .get_or_insert_with(|| Crew::new(self.limits.connections, self.limits.most_connections));
        }
        plan
    }

    /// Returns `true` if nothing else may run on the server beside a case: the cases of a service of one's own may meet in it,
    /// and the listener of the tester serves one case at a time.
    pub fn is_lone(&self) -> bool {
        self.target.listen.is_some() || self.workers == Workers::Fixed(1)
    }

    /// Returns `true` if the violation proves the server wrong in this run.
    pub fn refuted_by(&self, finding: &Finding) -> bool {
        let by_experiment = finding.experiment.as_ref().filter(|_| self.by_experiment && !finding.known);
        finding.refutes(self.level) || by_experiment.is_some_and(|experiment| experiment.level >= self.level)
    }

    /// Creates a plan of thirty seconds against this server.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            limits: Limits::default(),
            prefix: String::new(),
            seed: 0,
            workers: Workers::Fixed(1),
            cases: None,
            shard: Shard::WHOLE,
            exhaustive: false,
            max_time: Some(Duration::from_secs(30)),
            max_failures: 20,
            allow: Vec::new(),
            known: Vec::new(),
            level: Level::Store,
            by_experiment: false,
            blame_time: Duration::from_secs(4),
        }
    }
}

/// The result of a campaign.
pub struct Outcome {
    /// The verdict.
    pub conclusion: Conclusion,
    /// Every distinct violation.
    pub findings: Vec<Finding>,
    /// Troubles, and the number of times each occurred.
    pub troubles: Vec<(Trouble, u64)>,
    /// Number of cases by result.
    pub tally: Tally,
    /// Counts and durations of all cases together.
    pub figures: Figures,
    /// Duration of testing. Blame of the last violations may have taken longer.
    pub elapsed: Duration,
    /// Rules that were relaxed at the end.
    pub relaxed: Vec<&'static str>,
    /// The [branches](crate::Evidence::branches), and the number of times each was reached.
    pub branches: Vec<(String, u64)>,
}

/// Beginning of a campaign: the results of an interrupted run, or of stored cases.
#[derive(Default)]
pub struct Earlier {
    /// Violations that were found already. They are among those of the campaign, and their rules are relaxed.
    pub findings: Vec<Finding>,
    /// Numbers of the cases that are done, and are not run again.
    pub done: Ranges,
    /// Number of these cases by result.
    pub tally: Tally,
    /// Counts and durations of these cases together.
    pub figures: Figures,
    /// The branches that they reached, and how often.
    pub branches: Vec<(String, u64)>,
}

/// Runs a campaign. It ends soon after `stop` is set, with the results so far.
pub fn campaign(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    make: Factory<'_>,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> Outcome {
    campaign_after(protocol, plan, Earlier::default(), make, sink, stop)
}

/// Runs a campaign that begins with earlier results.
pub fn campaign_after(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    earlier: Earlier,
    make: Factory<'_>,
    sink: &mut dyn Sink,
    stop: &AtomicBool,
) -> Outcome {
    let start = Instant::now();
    let plan = &plan.crewed();
    let end = plan.max_time.map(|most| start + most + (most / GRACE).clamp(LEAST_GRACE, MOST_GRACE));
    let limits = Limits { end, ..plan.limits.clone() };
    let run = format!("{}{}", plan.prefix, run_name(plan.seed, plan.shard));
    let caller = Caller::new(plan.target, &limits).named(format!("{run}-survey"));
    let allow = [&plan.allow[..], &protocol.waives(&caller)].concat();
    let plan = &Plan { limits, allow, ..plan.clone() };
    let mut campaign = Campaign::new(plan, sink, protocol.model().rules().len());
    let Earlier { findings: found, done, tally, figures, branches: reached } = earlier;
    (campaign.tally, campaign.figures) = (tally, figures);
    let shared = Shared {
        next: AtomicU64::new(0),
        shard: plan.shard,
        done,
        again: Mutex::default(),
        halt: AtomicBool::new(false),
        remedies: Mutex::new(Remedies { always: plan.allow.clone(), either: Vec::new() }),
        met: AtomicBool::new(false),
        run,
    };
    found.into_iter().for_each(|found| campaign.found(found, &shared));
    let surveyed = protocol.survey(&caller, &plan.allow, stop);
    match surveyed.said {
        Ok(remarks) => campaign.sink.surveyed(&remarks),
        Err(trouble) => {
            campaign.trouble(trouble);
            return campaign.conclude(start, Vec::new());
        }
    }
    campaign.judge_survey(protocol, surveyed.cases, &shared);
    let crew = plan.limits.crew.as_deref();
    let workers = match (plan.workers, crew) {
        _ if plan.target.listen.is_some() => 1,
        (Workers::Auto, crew) => crew.map_or(1, Crew::threads),
        (Workers::Fixed(workers), _) => workers.max(1),
    };
    let _campaigns = crew.map(Crew::campaigning);
    let branches = protocol.branches();
    campaign.branches.resize(branches.len(), 0);
    let gauges: Vec<Gauge> = (0..workers).map(|_| Gauge::new(branches.len())).collect();
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for gauge in &gauges {
            let (tell, shared) = (tell.clone(), &shared);
            scope.spawn(move || {
                // A defect costs the case in which it shows, and not the violations found before it. A mistake of the model ends
                // the campaign.
                while let Err(why) = guarded(|| work(protocol, plan, shared, gauge, make, &tell)) {
                    let trouble = panicked_model(why).map_or_else(Trouble::Defect, Trouble::Mistake);
                    drop(tell.send(WorkerReport::Trouble(trouble)));
                    if shared.halt.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        drop(tell);
        loop {
            match told.recv_timeout(TICK) {
                Ok(told) => {
                    if matches!(told, WorkerReport::Ended(_)) {
                        campaign.tested = start.elapsed();
                    }
                    if let WorkerReport::Settled(number) = told {
                        campaign.settled(number, &branches, &gauges);
                    } else {
                        campaign.hear(told, &shared);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let late = plan.max_time.is_some_and(|most| start.elapsed() >= most);
            if late || stop.load(Ordering::Relaxed) || campaign.has_enough() {
                shared.halt.store(true, Ordering::Relaxed);
            }
            campaign.tick(&gauges, start.elapsed());
            crew.into_iter().for_each(Crew::tick);
        }
    });
    campaign.figures.crowding = crew.map(Crew::crowding).unwrap_or_default();
    let relaxed = shared.remedies.into_inner().unwrap_or_default().always;
    let before = |name: &String| reached.iter().find(|one| one.0 == *name).map_or(0, |one| one.1);
    let often = |place: usize| gauges.iter().map(|gauge| gauge.reached(place)).sum::<u64>();
    let branches = branches.into_iter().enumerate();
    let branches = branches.map(|(place, name)| (before(&name) + often(place), name));
    let branches = branches.map(|(times, name)| (name, times)).collect();
    Outcome { branches, ..campaign.conclude(start, relaxed) }
}

/// Returns the mistake of the model that ended the campaign, if one did.
fn mistake_among(troubles: &[(Trouble, u64)]) -> Option<&Trouble> {
    troubles.iter().map(|(trouble, _)| trouble).find(|trouble| matches!(trouble, Trouble::Mistake(_)))
}

/// Returns a name that no other run has. That of a shard has the number of the shard in it, so that two shards of a
/// campaign never meet on a server, whatever the random part.
fn run_name(seed: u64, shard: Shard) -> String {
    // The system's random keys, and the time as a second source.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(seed);
    if let Ok(now) = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        hasher.write_u128(now.as_nanos());
    }
    let part = if shard == Shard::WHOLE { String::new() } else { format!("s{:x}-", shard.index) };
    format!("{seed:x}-{part}{:010x}", hasher.finish() & 0xff_ffff_ffff)
}

struct Campaign<'a> {
    plan: &'a Plan,
    sink: &'a mut dyn Sink,
    findings: Findings,
    troubles: Vec<(Trouble, u64)>,
    tally: Tally,
    figures: Figures,
    /// Results of cases that have ended, and whose violations are not known yet.
    unsettled: BTreeMap<u64, (Tally, Figures)>,
    /// Number of times that each branch was reached, when the last case was settled.
    branches: Vec<u64>,
    /// Number of cases in a row that ended in trouble.
    troubled: u32,
    /// Number of violations without a blamed rule, each occurrence counted.
    unblamed: usize,
    /// Number of rules of the model.
    rules: usize,
    /// Time from the start to the end of the last case.
    tested: Duration,
    /// Time of the last progress report, and the number of responses by then.
    told: (Duration, u64),
}

impl<'a> Campaign<'a> {
    fn new(plan: &'a Plan, sink: &'a mut dyn Sink, rules: usize) -> Self {
        Self {
            plan,
            sink,
            findings: Findings { list: Vec::new(), smallest: plan.exhaustive },
            troubles: Vec::new(),
            tally: Tally::default(),
            figures: Figures::default(),
            unsettled: BTreeMap::new(),
            branches: Vec::new(),
            troubled: 0,
            unblamed: 0,
            rules,
            tested: Duration::ZERO,
            told: (Duration::ZERO, 0),
        }
    }

    fn hear(&mut self, told: WorkerReport, shared: &Shared) {
        match told {
            WorkerReport::Started(number, name) => self.sink.started(number, &name),
            WorkerReport::Ended(case) => self.ended(*case),
            WorkerReport::Found(found, heard) => {
                self.found(*found, shared);
                let _ = heard.send(());
            }
            WorkerReport::Doubt(number) => {
                let own = self.unsettled.get_mut(&number).map(|(tally, _)| tally);
                for tally in own.into_iter().chain([&mut self.tally]) {
                    tally.refuted -= 1;
                    tally.doubtful += 1;
                }
            }
            // The loop of the campaign settles cases, because it has the gauges.
            WorkerReport::Settled(_) => {}
            WorkerReport::Trouble(trouble) => self.trouble(trouble),
            WorkerReport::Again(figures) => self.figures.merge(&figures),
        }
    }

    fn ended(&mut self, mut case: CaseReport) {
        let before = self.tally;
        self.tally.cases += 1;
        let judged = self.tally.judged();
        match case.verdict {
            Verdict::Unrefuted if case.figures.answers == 0 => self.tally.empty += 1,
            Verdict::Unrefuted => self.tally.unrefuted += 1,
            // A server that lost its data in a restart is not refuted.
            Verdict::Refuted(_) if case.trouble.as_ref().is_some_and(Trouble::is_restart) => {
                self.tally.inconclusive += 1;
            }
            Verdict::Refuted(_) => self.tally.refuted += 1,
            Verdict::Inconclusive(_) => self.tally.inconclusive += 1,
        }
        if let Verdict::Inconclusive(Inconclusive::Mistake(mistake)) = &case.verdict {
            case.trouble = Some(Trouble::Mistake(mistake.clone()));
        }
        self.tally.early += u64::from(matches!(case.ended, crate::Ended::Limit | crate::Ended::Crowded));
        let is_stopped = case.ended == crate::Ended::Stopped;
        self.tally.stopped += u64::from(is_stopped);
        let is_judged = self.tally.judged() > judged;
        self.tally.unfinished += u64::from(is_stopped && !is_judged);
        let is_explained = case.verdict.is_unrefuted() && case.ended == crate::Ended::Done;
        let is_partial = case.figures.answers > 0 && case.figures.lost > 0;
        self.tally.unanswered += u64::from(is_explained && is_partial);
        self.figures.merge(&case.figures);
        self.unsettled.insert(case.number, (self.tally.since(&before), case.figures.clone()));
        self.sink.ended(&case);
        match case.trouble.take() {
            Some(trouble) => self.trouble(trouble),
            None => self.troubled = 0,
        }
    }

    /// Reports a case as done. A case that was stopped, or ended in trouble, is to be run again if the campaign is resumed.
    fn settled(&mut self, number: u64, names: &[String], gauges: &[Gauge]) {
        let Some((tally, figures)) = self.unsettled.remove(&number) else { return };
        let mut branches = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let times = gauges.iter().map(|gauge| gauge.reached(place)).sum();
            let before = std::mem::replace(&mut self.branches[place], times);
            branches.extend((times > before).then(|| (name.clone(), times - before)));
        }
        self.sink.settled(SettledCase { number, tally, figures, branches });
    }

    fn found(&mut self, found: Finding, shared: &Shared) {
        let level = self.plan.level;
        // Other threads finish their cases after the last violation that was asked for.
        if found.refutes(level) && self.has_failed_enough() && !self.findings.knows(&found) {
            return;
        }
        let counts = found.refutes(level) || found.is_undecided(level);
        self.unblamed += usize::from(found.diagnoses.is_empty() && counts);
        let (place, news) = self.findings.take(found);
        let taken = &mut self.findings.list[place];
        taken.known = taken.is_explained_by(&self.plan.known);
        self.sink.found(&self.findings.list[place], news);
        let remedies = Remedies::of(&self.findings.list, &self.plan.allow);
        if let Ok(mut shared) = shared.remedies.lock() {
            *shared = remedies;
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        self.troubled += 1;
        self.sink.trouble(&trouble);
        let same = |known: &&mut (Trouble, u64)| {
            std::mem::discriminant(&known.0) == std::mem::discriminant(&trouble)
        };
        match self.troubles.iter_mut().find(same) {
            Some((_, times)) => *times += 1,
            None => self.troubles.push((trouble, 1)),
        }
    }

    fn has_failed_enough(&self) -> bool {
        let counts = |finding: &&Finding| !finding.diagnoses.is_empty() && finding.refutes(self.plan.level);
        let blamed = self.findings.list.iter().filter(counts).count();
        blamed + self.unblamed >= self.plan.max_failures
    }

    fn has_enough(&self) -> bool {
        let is_over = self.troubled >= ENOUGH || mistake_among(&self.troubles).is_some();
        self.has_failed_enough() || is_over
    }

    fn tick(&mut self, gauges: &[Gauge], elapsed: Duration) {
        let since = elapsed.saturating_sub(self.told.0);
        if since < TICK {
            return;
        }
        let sum =
            |of: fn(&Gauge) -> &AtomicU64| gauges.iter().map(|gauge| of(gauge).load(Ordering::Relaxed)).sum();
        let answers: u64 = sum(|gauge| &gauge.answers);
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let rate = (answers - self.told.1) as f64 / since.as_secs_f64();
        self.told = (elapsed, answers);
        self.sink.tick(&Live {
            elapsed,
            cases: self.tally.cases,
            answers,
            rate,
            outstanding: sum(|gauge| &gauge.outstanding),
            alternatives: sum(|gauge| &gauge.alternatives),
            rules: (self.figures.rules.len(), self.rules),
            findings: self.findings.list.len(),
        });
    }

    /// Returns how much of the elapsed time was testing: all of it up to the planned time, and then until the
    /// last case ended. Blame after that does not count.
    fn testing(&self, elapsed: Duration) -> Duration {
        self.plan.max_time.map_or(elapsed, |most| elapsed.min(most.max(self.tested)))
    }

    fn conclude(mut self, start: Instant, relaxed: Vec<&'static str>) -> Outcome {
        finding::number(&mut self.findings.list);
        let elapsed = self.testing(start.elapsed());
        let mut outcome = Outcome {
            conclusion: Conclusion::Unrefuted,
            findings: self.findings.list,
            troubles: self.troubles,
            tally: self.tally,
            figures: self.figures,
            elapsed,
            relaxed,
            branches: Vec::new(),
        };
        if mistake_among(&outcome.troubles).is_some() {
            // A trace that a wrong model cannot explain proves nothing, and is not to be stored.
            outcome.findings.clear();
        }
        outcome.conclusion = outcome.concluded(self.plan);
        outcome
    }
}

impl Outcome {
    fn concluded(&self, plan: &Plan) -> Conclusion {
        let inconclusive = |why: &str| Conclusion::Inconclusive(why.to_owned());
        if let Some(mistake) = mistake_among(&self.troubles) {
            // It precedes all results of the same model.
            Conclusion::Inconclusive(mistake.to_string())
        } else if self.findings.iter().any(|finding| plan.refuted_by(finding)) {
            Conclusion::Refuted
        } else if let Some((trouble, _)) = self.troubles.first() {
            Conclusion::Inconclusive(trouble.to_string())
        } else if let Some(finding) = self.findings.iter().find(|finding| finding.is_undecided(plan.level)) {
            let number = finding.number;
            Conclusion::Inconclusive(if finding.diagnoses.is_empty() {
                format!("a case was refuted, but no broken rule was found in time (violation {number})")
            } else {
                format!(
                    "a case was refuted, but there was no time to see whether that is more than a warning (violation {number})"
                )
            })
        } else if self.tally.doubtful > 0 {
            inconclusive(
                "a case was refuted while it ran, but not within the budget when it was judged again",
            )
        } else if self.figures.answers == 0 {
            inconclusive("nothing was tested: no response was received")
        } else if let Some(why) = self.figures.refusals.prevail(self.figures.answers) {
            Conclusion::Inconclusive(why)
        } else if let Some(why) = self.figures.broken_off.prevail(self.figures.answers) {
            Conclusion::Inconclusive(why)
        } else if !self.tally.is_enough() {
            let (judged, due) = (self.tally.judged(), self.tally.due());
            Conclusion::Inconclusive(format!("{judged} of {due} cases judged, but {NEEDED} % are required"))
        } else if plan.exhaustive
            && !plan.cases.is_some_and(|all| self.tally.is_all_of(plan.shard.share(all)))
        {
            let why = "no violation, but not everything was run and judged";
            match (self.tally.unanswered, self.tally.cases) {
                (0, _) => inconclusive(why),
                (some, all) => {
                    inconclusive(&format!("{why}: a request was never answered in {some} of {all} cases"))
                }
            }
        } else {
            Conclusion::Unrefuted
        }
    }
}
