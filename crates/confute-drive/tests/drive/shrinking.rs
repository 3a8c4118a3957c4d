//! Shrinking, against servers that fail always or sometimes.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use confute::network::Tcp;
use confute::{Diagnosis, Options, judge};
use confute_drive::{
    AnyAsk, AnyGenerator, Finding, Limits, Outcome, Plan, Shrinker, Shrunk, Step, Target, Unshrunk, campaign,
    excerpt, typed_events,
};

use crate::limits;
use crate::protocol::{Ask, Busy, Lines, Store};
use crate::server::{Manner, Server, nobody};

fn found(server: &Server) -> Outcome {
    let plan = Plan { limits: limits(), seed: 3, max_failures: 1, ..Plan::new(Target::new(server.address)) };
    let make = |_| AnyGenerator::new(Busy { most: 1, ..Busy::new(400) });
    campaign(&Lines::default(), &plan, &make, &mut (), &AtomicBool::new(false))
}

fn shrink(finding: &Finding, target: Target, time: Duration) -> Result<Shrunk, Unshrunk> {
    shrink_as(&Lines::default(), finding, target, time)
}

fn shrink_as(
    protocol: &Lines,
    finding: &Finding,
    target: Target,
    time: Duration,
) -> Result<Shrunk, Unshrunk> {
    let limits: Limits = limits();
    let shrinker = Shrinker {
        protocol,
        target,
        limits: &limits,
        time,
        blame_time: Duration::from_secs(5),
        prefix: "",
        stop: &AtomicBool::new(false),
    };
    shrinker.shrink(finding, &mut |_| {})
}

fn asks(script: &[Step<AnyAsk>]) -> Vec<&Ask> {
    let asked = script.iter().filter_map(|step| match step {
        Step::Ask { ask, .. } => ask.typed(),
        _ => None,
    });
    asked.collect()
}

#[test]
fn only_what_matters_is_left() {
    // Every set is lost, or every get returns 0: a set and a get show it. Two sets show that the get is to
    // blame: that both were lost would take more deviations.
    for manner in [Manner::Forgets(1), Manner::ReadsNothing(1)] {
        let server = Server::start(manner);
        let outcome = found(&server);
        let finding = &outcome.findings[0];
        let shrunk = shrink(finding, Target::new(server.address), Duration::from_secs(20)).unwrap();
        let sets =
            asks(&shrunk.counterexample.script).iter().filter(|ask| matches!(ask, Ask::Set(..))).count();
        assert!(
            (1..=2).contains(&sets) && (2..=3).contains(&shrunk.requests.1),
            "{manner:?} {:?}",
            shrunk.counterexample.script
        );
        assert_eq!((shrunk.again.0, shrunk.unfinished), (shrunk.again.1, false));
        // The shrunk case is a proof by itself, of the same violation.
        assert_eq!(shrunk.counterexample.refutation.event + 1, shrunk.counterexample.trace.len());
        assert!(
            judge(&Store, &Tcp::default(), &typed_events(&shrunk.counterexample.trace), &Options::default())
                .is_refuted()
        );
        let known = |one: &Diagnosis| finding.diagnoses.iter().any(|other| other.rules == one.rules);
        assert!(shrunk.diagnoses.iter().any(known));
        assert_ne!(shrunk.counterexample.name, finding.counterexample.name);
    }
}

#[test]
fn now_and_then_is_enough() {
    // One get in three fails, so the same script fails only sometimes.
    let server = Server::start(Manner::ReadsNothing(3));
    let outcome = found(&server);
    let shrunk = shrink(&outcome.findings[0], Target::new(server.address), Duration::from_secs(20)).unwrap();
    assert!(shrunk.requests.1 <= 6, "{:?}", shrunk.counterexample.script);
    assert!(
        judge(&Store, &Tcp::default(), &typed_events(&shrunk.counterexample.trace), &Options::default())
            .is_refuted()
    );
    // The rate depends on the length of the script, because the server counts requests.
    assert!(shrunk.again.1 > 0 && shrunk.again.0 <= shrunk.again.1, "{:?}", shrunk.again);
}

#[test]
fn what_does_not_show_again_is_shown_in_part() {
    let outcome = found(&Server::start(Manner::ReadsNothing(60)));
    let finding = &outcome.findings[0];
    let stop = AtomicBool::new(false);
    let part = excerpt(&Lines::default(), finding, Duration::from_secs(10), &stop).unwrap();
    assert!(
        part.trace.len() * 4 < finding.counterexample.trace.len(),
        "{} of {}",
        part.trace.len(),
        finding.counterexample.trace.len()
    );
    assert_eq!((part.micros.len(), part.refutation.event + 1), (part.trace.len(), part.trace.len()));
    assert!(judge(&Store, &Tcp::default(), &typed_events(&part.trace), &Options::default()).is_refuted());
}

/// Drafts of smaller scripts that are never run take time as well: with n requests there are n² drafts, of n
/// requests each.
#[test]
fn drafts_look_at_the_clock() {
    let server = Server::start(Manner::ReadsNothing(60));
    let outcome = found(&server);
    let finding = &outcome.findings[0];
    assert!(finding.requests() > 60, "{}", finding.requests());
    let slow = Lines { renumbering: Duration::from_micros(200), ..Lines::default() };
    let (time, start) = (Duration::from_secs(1), Instant::now());
    let shrunk = shrink_as(&slow, finding, Target::new(server.address), time);
    assert!(!matches!(shrunk, Err(Unshrunk::NotAgain(_))));
    assert!(start.elapsed() < time * 3 / 2, "{:?}", start.elapsed());
}

#[test]
fn it_says_why_there_is_nothing_smaller() {
    let outcome = found(&Server::start(Manner::Forgets(1)));
    let finding = &outcome.findings[0];
    let time = Duration::from_secs(5);
    // On a correct server it does not show again. Without a server, trying is of no use.
    let correct = Server::start(Manner::Correct);
    assert!(matches!(shrink(finding, Target::new(correct.address), time), Err(Unshrunk::NotAgain(20..))));
    assert!(matches!(shrink(finding, Target::new(nobody()), time), Err(Unshrunk::Trouble(_))));
    // On a server that hangs, shrinking ends all the same.
    let (hangs, start) = (Server::start(Manner::Hangs), Instant::now());
    assert!(shrink(finding, Target::new(hangs.address), Duration::from_secs(1)).is_err());
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}
