//! The steps of the tutorial in GUIDE.md: each tester refutes its server with the planted bug, and not without it; and the guide
//! shows the code and the reports that are seen here.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

#[path = "counters/server.rs"]
mod counters;
mod guide;
#[path = "jobs/server.rs"]
mod jobs;
#[path = "notes/server.rs"]
mod notes;
#[path = "seats/server.rs"]
mod seats;
#[path = "todos/server.rs"]
mod todos;
#[path = "topics/server.rs"]
mod topics;

use std::time::{Duration, Instant};

use confute_test::Conclusion;
use confute_test::prelude::*;
use guide::Shows;
use tutorial::{counters::Counters, jobs::Jobs, notes::Notes, seats::Seats, todos::Todos, topics::Topics};

/// Runs the tester on a server with a bug. The server is refuted, and the guide shows the report.
fn refutes(check: Check, section: &str, shows: guide::Shows) {
    let check = check.seed(1).regressions(None).max_failures(1).max_time(Duration::from_mins(1));
    let (outcome, text) = check.try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
    guide::compare(section, &text, shows);
}

/// Runs the tester on a correct server.
fn passes(check: Check) {
    check.regressions(None).cases(20).max_time(Duration::from_mins(1)).run();
}

#[test]
fn step_1_notes() {
    let check = |bug| confute_test::service(&notes::start(bug).unwrap(), Notes, wire::lines(), Mix::all());
    passes(check(false));
    refutes(check(true), "Step 1", Shows::All);
}

#[test]
fn step_2_seats() {
    let check = |bug| confute_test::service(&seats::start(bug).unwrap(), Seats, wire::lines(), Mix::all());
    passes(check(false));
    refutes(check(true), "Step 2", Shows::All);
}

#[test]
fn step_3_todos() {
    let check = |bug| confute_test::service(&todos::start(bug).unwrap(), Todos, wire::lines(), Mix::all());
    passes(check(false));
    refutes(check(true), "Step 3", Shows::Title("todos/own-id"));
}

#[test]
fn step_4_counters() {
    let check =
        |bug| confute_test::service(&counters::start(bug).unwrap(), Counters, wire::lines(), Mix::all());
    passes(check(None));
    refutes(check(Some(counters::Bug::Race)), "Step 4", Shows::Title("counters/counted"));
    refutes(
        check(Some(counters::Bug::Copy)),
        "Another bug, another rule",
        Shows::Title("counters/current (level store)"),
    );
}

#[test]
fn requests_that_wait() {
    let check = |bug, mix| confute_test::service(&jobs::start(bug).unwrap(), Jobs, wire::lines(), mix);
    check(None, Mix::all()).regressions(None).cases(8).max_time(Duration::from_mins(1)).run();
    let twice = check(Some(jobs::Bug::Twice), Mix::all());
    refutes(twice, "Responses that come later", Shows::Title("jobs/once"));
    // What never comes is seen at the end of a case, so cases are short.
    let silent = check(Some(jobs::Bug::LostWakeUp), Mix::all().requests(12));
    let silent = silent.level(Level::Live).patience(Duration::from_millis(150));
    let silent = silent.shrink_time(Duration::from_secs(2));
    refutes(silent, "A lost wake-up", Shows::Title("jobs/wakes (level live)"));
}

/// Nobody puts a job, so every TAKE waits for ever. That is no violation, and no case takes as long as the patience.
#[test]
fn who_is_never_woken() {
    let takes = Mix::new()
        .kind(1, |draw| tutorial::jobs::Line::Take(draw.name()))
        .kind(1, |draw| tutorial::jobs::Line::Count(draw.name()))
        .requests(20);
    let check = confute_test::service(&jobs::start(None).unwrap(), Jobs, wire::lines(), takes);
    let check = check.level(Level::Live).patience(Duration::from_mins(1)).regressions(None);
    let start = Instant::now();
    let outcome = check.cases(10).max_time(Duration::from_mins(2)).run();
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(outcome.tally.unrefuted, 10, "{:?}", outcome.tally);
}

#[test]
fn messages_that_nobody_asks_for() {
    let check = |bug| confute_test::service(&topics::start(bug).unwrap(), Topics, wire::lines(), Mix::all());
    passes(check(false));
    refutes(check(true), "Messages that nobody asks for", Shows::Title("topics/complete"));
}

/// Checks the claim that the messages, the model and the test of step 1 take 60 lines, comments aside.
#[test]
fn sixty_lines() {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let count = |text: &str| text.lines().filter(code).count();
    let lines = count(include_str!("../../src/notes.rs"));
    let tester = count(include_str!("../../../../crates/confute-cli/src/new/tester.rs.txt"));
    assert!(lines + tester <= 60, "{lines} + {tester}");
}
