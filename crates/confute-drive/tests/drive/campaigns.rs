//! Campaigns: every distinct violation is listed once, and every campaign ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use confute::lang::Level;
use confute_drive::{
    AnyGenerator, CaseReport, Conclusion, Finding, Generator, Limits, Live, News, Outcome, Peer, Plan,
    Replay, Sink, Step, Target, Trouble, Until, View, Workers, campaign,
};

use crate::limits;
use crate::protocol::{Ask, Busy, Lines, READ_CURRENT, SAYS_OK, SERVES, SET_LASTS};
use crate::server::{Excess, Manner, Server, nobody};

fn plan(address: SocketAddr) -> Plan {
    Plan {
        limits: limits(),
        seed: 7,
        cases: Some(40),
        max_time: Some(Duration::from_mins(1)),
        ..Plan::new(Target::new(address))
    }
}

fn make(_: u64) -> AnyGenerator<'static> {
    AnyGenerator::new(Busy { most: 1, ..Busy::new(400) })
}

fn go(plan: &Plan) -> Outcome {
    campaign(&Lines { has_probe: true, ..Lines::default() }, plan, &make, &mut (), &AtomicBool::new(false))
}

/// Runs one case. Returns the outcome, and how often the server was taken for restarted.
fn once(manner: Manner, has_canary: bool) -> (Outcome, u64) {
    let server = Server::start(manner);
    let plan = Plan { cases: Some(1), ..plan(server.address) };
    let lines = Lines { has_probe: true, has_canary, ..Lines::default() };
    let outcome = campaign(&lines, &plan, &make, &mut (), &AtomicBool::new(false));
    let is_restart = |trouble: &Trouble| matches!(trouble, Trouble::Restarted { .. });
    let restarts = outcome.troubles.iter().filter(|(trouble, _)| is_restart(trouble)).map(|(_, times)| times);
    let restarts = restarts.sum();
    (outcome, restarts)
}

#[test]
fn a_canary_tells_a_restart_from_many_ends() {
    // This server ends all connections at once, as one does that is short of threads, but loses no data.
    let (outcome, restarts) = once(Manner::EndsAll(100), true);
    assert_eq!((outcome.findings.len(), restarts), (1, 0), "{:?}", outcome.troubles);
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    // Without a canary this cannot be known, unless a response was under way that arrived after the end.
    let is_doubted = |_| {
        let (outcome, restarts) = once(Manner::EndsAll(100), false);
        (outcome.findings.len(), restarts) == (0, 1)
    };
    assert!((0..10).filter(|at| is_doubted(*at)).count() >= 3);
    // A server that loses all data is not accused of that.
    let mut noticed = 0;
    for _ in 0..10 {
        let (outcome, restarts) = once(Manner::ForgetsAll(200), true);
        assert_eq!(outcome.findings.len(), 0, "{:?}", outcome.troubles);
        noticed += restarts;
    }
    assert!(noticed > 0);
}

fn rules(outcome: &Outcome) -> Vec<Vec<&'static str>> {
    let found = outcome.findings.iter().map(|finding| {
        finding.diagnoses.iter().flat_map(|one| one.rules.iter().copied()).collect::<Vec<_>>()
    });
    found.collect()
}

#[test]
fn correct_server() {
    let server = Server::start(Manner::Slow(0));
    let outcome = go(&Plan { workers: Workers::Fixed(2), ..plan(server.address) });
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted);
    assert!(outcome.findings.is_empty() && outcome.troubles.is_empty());
    assert_eq!((outcome.tally.cases, outcome.tally.unrefuted), (40, 40));
    assert!(outcome.figures.answers > 10_000);
    assert_eq!(outcome.figures.outstanding.count(), outcome.figures.requests);
}

/// Runs a campaign for this long, with as many cases at the same time as it takes.
fn crowd(server: &Server, time: Duration, patience: Duration) -> Outcome {
    let limits = Limits { patience, ..limits() };
    let plan =
        Plan { limits, workers: Workers::Auto, cases: None, max_time: Some(time), ..plan(server.address) };
    let make = |_| AnyGenerator::new(Pausing(Busy { most: 1, ..Busy::new(300) }));
    campaign(&Lines { has_probe: true, ..Lines::default() }, &plan, &make, &mut (), &AtomicBool::new(false))
}

#[test]
fn cases_run_while_others_wait() {
    let server = Server::start(Manner::Correct);
    let outcome = crowd(&server, Duration::from_millis(1500), Duration::from_secs(3));
    assert_eq!((outcome.conclusion, outcome.troubles), (Conclusion::Unrefuted, Vec::new()));
    let crowding = outcome.figures.crowding;
    assert!(crowding.cases > 3 && crowding.times == 0, "{crowding:?}");
}

#[test]
fn a_server_with_a_limit_is_not_taken_for_restarted() {
    let judge = |excess| {
        let server = Server::start(Manner::Takes(20, excess));
        let outcome = crowd(&server, Duration::from_secs(3), Duration::from_secs(3));
        let crowding = outcome.figures.crowding;
        assert_eq!((outcome.conclusion, outcome.troubles), (Conclusion::Unrefuted, Vec::new()), "{excess:?}");
        assert!(crowding.times > 0, "{excess:?} {crowding:?}");
        assert!(outcome.tally.unrefuted > 2, "{excess:?} {:?}", outcome.tally);
    };
    let all = [Excess::Refuses, Excess::Closes, Excess::Leaves, Excess::EndsOldest];
    thread::scope(|scope| all.map(|excess| scope.spawn(move || judge(excess))).map(drop));
}

#[test]
fn a_server_that_is_gone_is_gone_with_many_cases_too() {
    let server = Server::start(Manner::DiesAfter(2000));
    let start = Instant::now();
    let outcome = crowd(&server, Duration::from_secs(20), Duration::from_millis(700));
    let is_gone = |(trouble, _): &(Trouble, u64)| matches!(trouble, Trouble::Gone { .. });
    assert!(outcome.troubles.iter().any(is_gone), "{:?}", outcome.troubles);
    assert!(start.elapsed() < Duration::from_secs(12));
    // It hangs: that is known once a case alone has met it.
    let server = Server::start(Manner::HangsFrom(2000));
    let outcome = crowd(&server, Duration::from_secs(20), Duration::from_millis(700));
    let hangs = |(trouble, _): &(Trouble, u64)| matches!(trouble, Trouble::Silent { alive: false, .. });
    assert!(outcome.troubles.iter().any(hangs), "{:?}", outcome.troubles);
}

#[test]
fn a_restart_is_one_with_many_cases_too() {
    // Without its data the server contradicts itself, and nothing is refuted.
    for requests in [500, 2000, 3000] {
        let server = Server::start(Manner::ForgetsAll(requests));
        let outcome = crowd(&server, Duration::from_millis(1500), Duration::from_secs(3));
        let trace = outcome.findings.first().map(|finding| &finding.counterexample.trace);
        assert!(outcome.findings.is_empty(), "{:?} {trace:?} {:?}", rules(&outcome), outcome.troubles);
    }
}

#[test]
fn a_seed_makes_the_same_scripts_with_many_cases() {
    let scripts = |workers| {
        let server = Server::start(Manner::Correct);
        let seen = std::sync::Mutex::new(std::collections::BTreeMap::new());
        let make = |case| {
            let mut left = 50;
            let drawn = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            seen.lock().unwrap().insert(case, std::sync::Arc::clone(&drawn));
            AnyGenerator::new(Draws(Box::new(move |choose: &mut dyn FnMut(u64) -> u64| {
                left -= 1;
                let key = choose(1 << 20) as u32;
                drawn.lock().unwrap().push(key);
                (left > 0).then(|| Step::Ask {
                    on: Peer::Opened(key % 4),
                    ask: Ask::Get((key % 8) as u8),
                    cuts: Vec::new(),
                })
            })))
        };
        let plan = Plan { workers, cases: Some(12), ..plan(server.address) };
        let lines = Lines { has_probe: true, ..Lines::default() };
        let outcome = campaign(&lines, &plan, &make, &mut (), &AtomicBool::new(false));
        assert_eq!(outcome.conclusion, Conclusion::Unrefuted);
        seen.into_inner()
            .unwrap()
            .into_iter()
            .map(|(case, drawn)| (case, drawn.lock().unwrap().clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(scripts(Workers::Fixed(1)), scripts(Workers::Auto));
}

/// Generator that waits a little before each tenth step, as for a tag that ripens.
struct Pausing(Busy);

impl Generator<Lines> for Pausing {
    fn next(&mut self, view: &View<'_, Lines>, choose: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if choose(10) == 0 {
            return Some(Step::Wait(Until::Millis(20)));
        }
        self.0.next(view, choose)
    }
}

/// Generator whose steps a function draws.
struct Draws<F>(Box<F>);

impl<F: FnMut(&mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>>> Generator<Lines> for Draws<F> {
    fn next(&mut self, _: &View<'_, Lines>, choose: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        (self.0)(choose)
    }
}

/// Runs this many scripts: a value is set and read again, once, twice, and so on.
fn go_through(scripts: u64, plan: Plan, stop: bool) -> Outcome {
    let script = |case: u64| -> AnyGenerator<'_> {
        let ask = |ask| Step::Ask { on: Peer::Opened(0), ask, cuts: Vec::new() };
        let steps = (0..=case as u32).flat_map(|time| {
            let barrier = || Step::Wait(Until::Outstanding(0));
            [ask(Ask::Set(0, time + 1)), barrier(), ask(Ask::Get(0)), barrier()]
        });
        AnyGenerator::new::<Lines>(Replay::new(steps.collect()))
    };
    let plan = Plan { cases: Some(scripts), exhaustive: true, max_time: None, ..plan };
    campaign(&Lines { has_probe: true, ..Lines::default() }, &plan, &script, &mut (), &AtomicBool::new(stop))
}

#[test]
fn all_scripts_there_are() {
    let server = Server::start(Manner::Correct);
    let outcome = go_through(30, plan(server.address), false);
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted);
    assert!(outcome.tally.is_all_of(30) && !outcome.tally.is_all_of(31), "{:?}", outcome.tally);
    // A run that did not complete all scripts claims nothing.
    let outcome = go_through(30, plan(server.address), true);
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)), "{:?}", outcome.conclusion);
    let short = Limits { steps: 50, ..limits() };
    let outcome = go_through(30, Plan { limits: short, ..plan(server.address) }, false);
    assert_eq!((outcome.tally.cases, outcome.tally.early), (30, 18));
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)), "{:?}", outcome.conclusion);
}

#[test]
fn the_smallest_script_is_kept() {
    for workers in [1, 3] {
        let server = Server::start(Manner::ReadsNothing(1));
        let outcome =
            go_through(30, Plan { workers: Workers::Fixed(workers), ..plan(server.address) }, false);
        assert_eq!(outcome.conclusion, Conclusion::Refuted);
        let sizes: Vec<usize> = outcome.findings.iter().map(Finding::requests).collect();
        assert_eq!(sizes, [2], "{:?}", rules(&outcome));
    }
}

#[test]
fn each_violation_once() {
    for (manner, rule, level) in [
        (Manner::ReadsNothing(20), &READ_CURRENT, Level::Store),
        (Manner::Forgets(20), &SET_LASTS, Level::Must),
    ] {
        let server = Server::start(manner);
        let outcome = go(&plan(server.address));
        assert_eq!(outcome.conclusion, Conclusion::Refuted);
        // A value that nobody saw may be blamed on either rule.
        assert_eq!(outcome.findings.len(), 1, "{manner:?} {:?}", rules(&outcome));
        let finding = &outcome.findings[0];
        assert_eq!(finding.diagnoses[0].rules, [rule.name]);
        assert_eq!(finding.level, Some(level));
        assert_eq!(finding.counterexample.refutation.event + 1, finding.counterexample.trace.len());
        assert!(
            !finding.counterexample.refutation.expected.is_empty()
                && !finding.counterexample.script.is_empty()
        );
        assert_eq!(outcome.relaxed, [rule.name]);
        // With the rule relaxed, the other cases are explained.
        assert_eq!(outcome.tally.cases, 40);
        assert!(outcome.tally.unrefuted >= 30, "{:?}", outcome.tally);
    }
}

#[test]
fn warnings_and_what_is_allowed() {
    let server = Server::start(Manner::SaysDone);
    let plan = plan(server.address);
    let outcome = go(&plan);
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted);
    assert_eq!(rules(&outcome), [vec![SAYS_OK.name]]);
    assert_eq!(go(&Plan { level: Level::Should, ..plan.clone() }).conclusion, Conclusion::Refuted);
    let allowed = go(&Plan { level: Level::Should, allow: vec![SAYS_OK.name], ..plan });
    assert_eq!(allowed.conclusion, Conclusion::Unrefuted);
    assert!(allowed.findings.is_empty());
}

#[test]
fn refusals_are_counted_and_told_as_a_warning() {
    let server = Server::start(Manner::Refuses(20));
    let mut plan = plan(server.address);
    plan.limits.patience = Duration::from_secs(10);
    let outcome = go(&plan);
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted);
    assert_eq!(rules(&outcome), [vec![SERVES.name]]);
    assert_eq!(outcome.findings[0].level, Some(Level::Steady));
    let refusals = &outcome.figures.refusals;
    assert_eq!(refusals.told(), format!("503 ({} times)", refusals.count()));
    assert!(refusals.count() > 100 && refusals.retry_after == refusals.count(), "{refusals:?}");
    // The tester waits as requested, but not forever.
    assert!(refusals.pauses > 5 && refusals.ignored > 0, "{refusals:?}");
    assert!(refusals.paused <= Duration::from_secs(2).max(outcome.elapsed / 10), "{refusals:?}");
    let strict = go(&Plan { level: Level::Steady, ..plan });
    assert_eq!(strict.conclusion, Conclusion::Refuted);
}

#[test]
fn who_refuses_more_than_it_serves_was_not_tested() {
    let server = Server::start(Manner::Serves(3));
    let mut plan = plan(server.address);
    plan.limits.patience = Duration::from_secs(10);
    let outcome = go(&plan);
    let Conclusion::Inconclusive(why) = &outcome.conclusion else { panic!("{:?}", outcome.conclusion) };
    let (refused, answers) = (outcome.figures.refusals.count(), outcome.figures.answers);
    assert!(why.contains("refused more requests than it served") && why.contains("503"), "{why}");
    assert!(why.contains(&format!("{refused} of {answers} responses")), "{why}");
    // If refusals refute the server, that conclusion takes precedence.
    assert_eq!(go(&Plan { level: Level::Steady, ..plan }).conclusion, Conclusion::Refuted);
}

#[test]
fn nothing_to_blame() {
    let server = Server::start(Manner::Garbage);
    let outcome = go(&Plan { max_failures: 4, ..plan(server.address) });
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    assert_eq!(rules(&outcome), [Vec::<&str>::new()]);
    assert_eq!(outcome.findings[0].level, Some(Level::Must));
    assert!((4..8).contains(&outcome.findings[0].times));
}

#[test]
fn trouble_is_no_violation() {
    let outcome = go(&plan(nobody()));
    assert!(matches!(outcome.troubles[..], [(Trouble::Refused { .. }, 1)]), "{:?}", outcome.troubles);
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)));

    let server = Server::start(Manner::DiesAfter(3000));
    let outcome = go(&plan(server.address));
    assert!(matches!(outcome.troubles[..], [(Trouble::Gone { .. }, 1)]), "{:?}", outcome.troubles);
    assert!(outcome.tally.unrefuted > 3 && outcome.findings.is_empty());

    let mut hangs = plan(Server::start(Manner::Hangs).address);
    hangs.limits.patience = Duration::from_millis(100);
    let outcome = go(&hangs);
    assert!(
        matches!(outcome.troubles[..], [(Trouble::Silent { alive: false, .. }, 3..6)]),
        "{:?}",
        outcome.troubles
    );
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)));

    let mut skips = plan(Server::start(Manner::SkipsOne(1000)).address);
    skips.limits.patience = Duration::from_millis(600);
    let outcome = go(&skips);
    // The missing response is a violation only if the search exhausts everything that may have happened.
    assert!(outcome.findings.iter().all(|finding| finding.level == Some(Level::Live)));
    assert!(
        matches!(outcome.troubles[..], [(Trouble::Silent { alive: true, .. }, 1)]),
        "{:?}",
        outcome.troubles
    );
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)));
}

#[test]
fn what_the_survey_meets_counts_if_the_server_can_be_tested() {
    let survey = |result: Result<(), Trouble>, allow: &[&'static str]| {
        let server = Server::start(Manner::Forgets(1));
        let plan = Plan { cases: Some(0), allow: allow.to_vec(), ..plan(server.address) };
        let lines = Lines { survey: Some(result), ..Lines::default() };
        campaign(&lines, &plan, &make, &mut (), &AtomicBool::new(false))
    };
    let outcome = survey(Ok(()), &[]);
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    let mut blamed = rules(&outcome).concat();
    blamed.sort_unstable();
    assert_eq!((outcome.findings.len(), blamed), (1, vec![READ_CURRENT.name, SET_LASTS.name]));
    let found = &outcome.findings[0].counterexample;
    assert!(
        found.name.ends_with("-survey0") && found.script.len() == 4 && !found.raw.is_empty(),
        "{}",
        found.name
    );
    assert_eq!((outcome.tally.cases, outcome.tally.refuted, outcome.figures.answers), (1, 1, 2));
    // What explains it is allowed, or it may be the configuration that is wrong.
    let outcome = survey(Ok(()), &[SET_LASTS.name]);
    assert!(outcome.findings.is_empty() && outcome.tally.cases == 0);
    let why = Trouble::Unprepared("not set up".to_owned());
    let outcome = survey(Err(why.clone()), &[]);
    assert!(outcome.findings.is_empty() && outcome.tally.cases == 0);
    assert_eq!(outcome.troubles, [(why, 1)]);
}

#[test]
fn a_defect_of_the_tester_costs_its_case() {
    let server = Server::start(Manner::ReadsNothing(5));
    let make = |case: u64| -> AnyGenerator<'_> {
        assert!(case != 25, "a generator with a defect");
        AnyGenerator::new(Busy::new(100))
    };
    let plan = plan(server.address);
    let outcome = campaign(&Lines::default(), &plan, &make, &mut (), &AtomicBool::new(false));
    assert_eq!((&outcome.conclusion, outcome.tally.cases), (&Conclusion::Refuted, 39));
    assert!(!outcome.findings.is_empty());
    let defect = Trouble::Defect("a generator with a defect".to_owned());
    assert_eq!(outcome.troubles, [(defect, 1)]);
}

#[derive(Default)]
struct Notes {
    started: u64,
    ended: u64,
    found: Vec<News>,
    ticks: u64,
}

impl Sink for Notes {
    fn started(&mut self, _: u64, _: &str) {
        self.started += 1;
    }
    fn ended(&mut self, case: &CaseReport) {
        assert!(!case.name.is_empty());
        self.ended += 1;
    }
    fn found(&mut self, _: &Finding, news: News) {
        self.found.push(news);
    }
    fn tick(&mut self, live: &Live) {
        assert!(live.rate >= 0.0);
        self.ticks += 1;
    }
}

#[test]
fn stops_when_told() {
    let server = Server::start(Manner::ReadsNothing(50));
    let (mut notes, stop) = (Notes::default(), AtomicBool::new(false));
    let plan = Plan { cases: None, max_time: None, workers: Workers::Fixed(2), ..plan(server.address) };
    let start = Instant::now();
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            stop.store(true, Ordering::Relaxed);
        });
        campaign(&Lines::default(), &plan, &make, &mut notes, &stop)
    });
    assert!(start.elapsed() < Duration::from_secs(6));
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    assert_eq!((notes.started, notes.ended), (outcome.tally.cases, outcome.tally.cases));
    assert_eq!(notes.found[0], News::New);
    assert!(notes.ticks > 3);
    let timed = Plan { max_time: Some(Duration::from_millis(300)), ..plan };
    let start = Instant::now();
    assert!(go(&timed).tally.cases > 0);
    assert!(start.elapsed() < Duration::from_secs(6));
}
