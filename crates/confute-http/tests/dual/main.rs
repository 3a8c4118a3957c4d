//! A server that is both an origin and a gateway, tested as both in one run.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute_drive::{AnyGenerator, Limits, Outcome, Plan, Target, campaign};
use confute_http::{Http, Mixture, encode};
use confute_testbed::embedded::{Bug, Config, Embedded};
use confute_testbed::free_port;

fn number(name: &str, other: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(other)
}

/// Runs a campaign against the embedded server, which forwards paths with one prefix to the tester.
fn tour(bugs: &[Bug], seed: u64, cases: u64, failures: usize) -> Outcome {
    let origin = free_port().unwrap();
    let config = Config { bugs: bugs.to_vec(), ..Config::default() };
    let server = Embedded::start(config.proxy("/proxy/", origin)).unwrap();
    let target = || encode::Target { host: server.addr().to_string(), fields: Vec::new() };
    let place = Target::new(server.addr());
    let gateway = Http::gateway(target(), "/proxy/", origin, "/").discovered(place, &Limits::default());
    let http = Http::origin(target(), "/").and_gateway(gateway);
    let plan = Plan {
        seed,
        cases: Some(cases),
        max_time: Some(Duration::from_secs(number("SECONDS", 60))),
        max_failures: failures,
        limits: Limits { connections: 8, ..Limits::default() },
        ..Plan::new(Target { listen: Some(origin), ..place })
    };
    let make = |case: u64| AnyGenerator::new(Mixture::of_case(http.clone(), case));
    campaign(&http, &plan, &make, &mut (), &AtomicBool::new(false))
}

#[test]
fn a_correct_server_is_unrefuted() {
    let outcome = tour(&[], number("SEED", 1), number("CASES", 12), 20);
    println!("{:?}", outcome.tally);
    println!(
        "{} requests, {} answers, {} turns, thinking {:?}, alternatives {:?}, outstanding {:?}",
        outcome.figures.requests,
        outcome.figures.answers,
        outcome.figures.turns,
        outcome.figures.thinking,
        outcome.figures.alternatives.quantiles(),
        outcome.figures.outstanding.quantiles(),
    );
    if let Some(finding) = outcome.findings.first() {
        let tail = &finding.counterexample.trace[finding.counterexample.trace.len().saturating_sub(40)..];
        panic!("{:?}\n{tail:#?}", finding.diagnoses);
    }
    assert!(outcome.troubles.is_empty(), "{:?}", outcome.troubles);
    assert_eq!(outcome.tally.unrefuted, number("CASES", 12), "{:?}", outcome.tally);
}

/// Returns the rule sets that are blamed for a bug, in a campaign that stops at the first violation.
fn blamed(bug: Bug, seed: u64) -> Vec<String> {
    let outcome = tour(&[bug], seed, number("CASES", 40), 1);
    let Some(finding) = outcome.findings.first() else {
        return vec![format!("not found: {:?} {:?}", outcome.tally, outcome.troubles)];
    };
    finding.diagnoses.iter().map(|one| one.rules.join(" ")).collect()
}

#[test]
fn a_bug_on_either_side_is_found_and_blamed() {
    for (bug, rule) in
        [(Bug::IfMatchIgnoredOnPut, "rfc9110-13.1.1/if-match"), (Bug::ViaMissing, "rfc9110-7.6.3/via")]
    {
        let blamed = blamed(bug, number("SEED", 1));
        assert!(blamed.iter().any(|one| one == rule), "{}: {blamed:?}", bug.name());
    }
}

#[test]
#[ignore = "takes long: every bug there is"]
fn every_bug_is_found_and_blamed() {
    let mut wrong = Vec::new();
    // A server may close a connection without a response at any time.
    for bug in Bug::all().iter().filter(|bug| **bug != Bug::ClosedUnanswered) {
        if std::env::var("BUG").is_ok_and(|wanted| wanted != bug.name()) {
            continue;
        }
        let start = std::time::Instant::now();
        let found = blamed(*bug, number("SEED", 1));
        println!("{:26} {:?} {:?} {found:?}", bug.name(), bug.area(), start.elapsed());
        if !found.iter().any(|rule| bug.rules().contains(&rule.as_str())) {
            wrong.push((bug.name(), found));
        }
    }
    assert_eq!(wrong, []);
}
