//! Tests the to-do service: by its OpenAPI document, and by a model of a few lines. Each bug is found and blamed on the right rule.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use confute_test::plan::{Plan, Resource, bool, text};
use confute_test::prelude::Level;
use confute_test::{Check, Conclusion, Reach};
use todo::{Bug, start};

const DOCUMENT: &str = include_str!("../../openapi.yaml");

/// Returns the model of the service by hand.
fn plan() -> Plan {
    let todos = Resource::new("todos", "/todos/{id}")
        .server_id("id")
        .field("title", text())
        .optional("note", text())
        .optional("done", bool())
        .mark("title")
        .etag();
    Plan::new("Todos").resource(todos)
}

fn check(bug: Option<Bug>) -> Check {
    confute_test::rest(DOCUMENT, &start(bug).unwrap()).regressions(None)
}

#[test]
fn the_correct_service_is_unrefuted() {
    check(None).max_time(Duration::from_secs(3)).run();
}

#[test]
fn the_correct_service_is_unrefuted_by_the_model_by_hand() {
    confute_test::rest(plan(), &start(None).unwrap())
        .regressions(None)
        .max_time(Duration::from_secs(2))
        .run();
}

/// Runs the tester on the service with a bug: the rule is right, and the smallest case has at most six requests. A race may not show
/// again while its case is made smaller, so there are five attempts.
fn refutes(bug: Bug, rule: &str) {
    refutes_at(Level::Store, bug, rule);
}

/// Does the same, where a violation of this level counts.
fn refutes_at(level: Level, bug: Bug, rule: &str) {
    refutes_by(&|| check(Some(bug)), level, rule);
}

fn refutes_by(check: &dyn Fn() -> Check, level: Level, rule: &str) {
    let mut texts = Vec::new();
    for seed in 1..=5 {
        // One case at a time: the items of cases that run beside it could get the ids of its own.
        let check = check().seed(seed).workers(1).max_failures(1).max_time(Duration::from_secs(20));
        let (outcome, text) = check.level(level).try_run().unwrap();
        let is_right = text.contains(&format!("violation 1: {rule}"));
        if outcome.conclusion == Conclusion::Refuted
            && is_right
            && requests(&text).is_some_and(|requests| requests <= 6)
        {
            return;
        }
        texts.push(text);
    }
    panic!("no case is small, or none is blamed rightly:\n{}", texts.join("\n"));
}

/// Returns the number of requests of the smallest case, if it was made smaller.
fn requests(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("shrunk:")?.1.split_once(" requests to ")?;
    rest.split(|one: char| !one.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn if_match_ignored() {
    refutes(Bug::IfMatchIgnored, "rest/if-match (level ");
}

#[test]
fn if_match_race() {
    refutes(Bug::IfMatchRace, "rest/if-match-race (level ");
}

/// The survey sees that ids are given again, so an id says less about the item that it names: what is sure is a warning.
#[test]
fn id_reuse() {
    refutes_at(Level::Should, Bug::IdReuse, "rest/id-");
}

#[test]
fn one_id_for_two() {
    refutes(Bug::IdRace, "rest/id-unique (level store");
}

#[test]
fn stale_list() {
    // Without pages: of the pages in the document each one may lack items.
    let by_hand = || confute_test::rest(plan(), &start(Some(Bug::StaleList)).unwrap()).regressions(None);
    refutes_by(&by_hand, Level::Store, "rest/list-agrees (level ");
}

#[test]
fn a_page_without_the_newest() {
    refutes_at(Level::Should, Bug::PageLacks, "rest/pages-agree (level ");
}

#[test]
fn a_filter_by_old_values() {
    refutes_at(Level::Should, Bug::OldFilter, "rest/filter-agrees (level ");
}

/// The scripts of a case decide without Confute: one client is enough for the first bug, and two at once for the second.
#[test]
fn the_python_script_reproduces_a_violation_and_accuses_no_correct_service() {
    for (bug, rule) in [(Bug::IfMatchIgnored, "rest/if-match"), (Bug::LostUpdate, "rest/update-kept")] {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("todo-{bug:?}"));
        let _ = std::fs::remove_dir_all(&folder);
        let url = start(Some(bug)).unwrap();
        let reach = Reach { fields: vec!["X-Key: hidden-value".to_owned()], ..Reach::default() };
        let run = |seed: u64| {
            let check =
                confute_test::rest_through(DOCUMENT, &url, &reach).regressions(None).seed(seed).workers(1);
            let check = check.max_failures(1).max_time(Duration::from_secs(20)).report_dir(folder.clone());
            let (_, text) = check.try_run().unwrap();
            // A long case of a race may take too many runs to happen again.
            let is_small = requests(&text).is_some_and(|requests| requests <= 8);
            (is_small && text.contains(rule)).then_some(text)
        };
        assert!((1..=5).find_map(run).is_some(), "no case is small, or none is blamed rightly");
        let violation = folder.join("violation-1");
        for file in std::fs::read_dir(&violation).unwrap() {
            let content = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&content).contains("hidden-value"));
        }
        let har = std::fs::read_to_string(violation.join("traffic.har")).unwrap();
        let har: serde_json::Value = serde_json::from_str(&har).unwrap();
        assert!(har["log"]["entries"].as_array().unwrap().len() > 2, "{har:#}");
        let script = |url: &str| {
            let mut command = Command::new("python3");
            let command =
                command.arg(violation.join("reproduce.py")).arg(url).env("CONFUTE_X_KEY", "hidden-value");
            let output = command.output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let (wrong, said) = script(&url);
        assert_eq!(wrong, Some(1), "{said}");
        let (fine, said) = script(&start(None).unwrap());
        assert_eq!(fine, Some(0), "{said}");
    }
}

#[test]
fn lost_update() {
    refutes(Bug::LostUpdate, "rest/update-kept (level ");
}
