//! The tester of the lock service refutes each bug by its rule, and never the correct server.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

mod server;

use std::time::Duration;

use confute_test::Conclusion;
use confute_test::prelude::*;
use locks::Locks;
use server::{Bug, start};

/// Returns the test of the server at this address.
fn check(place: &str) -> Check {
    confute_test::service(place, Locks, wire::lines(), Mix::all())
}

#[test]
fn a_correct_server_is_not_refuted() {
    check(&start(None).unwrap()).run();
}

/// Runs the tester on a server with this bug: the rule is right, and the smallest case is small. A race may not show again
/// while it is made smaller, so there are three attempts.
fn refutes(bug: Bug, rule: &str) {
    let mut texts = Vec::new();
    for seed in 1..=3 {
        let check = check(&start(Some(bug)).unwrap()).seed(seed).regressions(None);
        let (outcome, text) = check.max_time(Duration::from_secs(20)).max_failures(1).try_run().unwrap();
        assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
        assert!(text.contains(&format!("violation 1: {rule} (level must)")), "{text}");
        if requests(&text).is_some_and(|requests| requests <= 4) {
            return;
        }
        texts.push(text);
    }
    panic!("no case is small:\n{}", texts.join("\n"));
}

/// Returns the number of requests of the smallest case, if it was made smaller.
fn requests(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("shrunk:")?.1.split_once(" requests to ")?;
    rest.split(|one: char| !one.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn a_lost_increment_is_refuted() {
    refutes(Bug::LostIncrement, "locks/counts-all");
}

#[test]
fn two_holders_are_refuted() {
    refutes(Bug::TwoHolders, "locks/one-holder");
}

#[test]
fn a_token_that_is_reused_is_refuted() {
    refutes(Bug::TokenReused, "locks/new-token");
}

#[test]
fn a_stranger_that_unlocks_is_refuted() {
    refutes(Bug::StrangerUnlocks, "locks/holder-unlocks");
}

#[test]
fn a_correct_server_under_load_is_not_refuted() {
    load(8_000);
}

#[test]
#[ignore = "100,000 responses take half a minute"]
fn a_correct_server_under_a_long_load_is_not_refuted() {
    load(100_000);
}

/// Tests the correct server on 16 connections until it has answered so many requests.
fn load(answers: u64) {
    let cases = answers.div_ceil(200);
    let outcome = check(&start(None).unwrap())
        .connections(16)
        .cases(cases)
        .max_time(Duration::from_mins(10))
        .regressions(None)
        .run();
    assert!(outcome.figures.answers >= answers, "{}", outcome.figures.answers);
}

/// Checks the claim that messages, model, wire and traffic take 80 lines, comments aside.
#[test]
fn eighty_lines() {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = include_str!("../../src/lib.rs").lines().filter(code).count();
    // Less than 80, because the line in `check` names the wire and the traffic.
    assert!(lines < 80, "{lines}");
}
