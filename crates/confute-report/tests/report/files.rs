//! The files for programs, read by their consumers.

use std::fs;
use std::path::Path;

use confute::lang::Level;
use confute_drive::{Conclusion, Unshrunk};
use confute_record::Tried;
use confute_report::files::Reports;
use confute_report::lines::SUMMARY_SCHEMA;
use serde_json::{Value, json};

use crate::protocol::{READ_CURRENT, SAYS_OK, SET_LASTS};
use crate::server::{Manner, Server, nobody};
use crate::{fabricated, ran, written};

/// Forbids fields that the schema does not name. Only this test does so; other readers must accept additional fields.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(strict);
            if map.contains_key("properties") && map.get("type") == Some(&json!("object")) {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(strict),
        _ => {}
    }
}

pub(crate) fn check_summary(folder: &Path) -> Value {
    let mut schema: Value = serde_json::from_str(SUMMARY_SCHEMA).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    strict(&mut schema);
    let summary: Value = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&summary).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new(), "{summary:#}");
    // The schema rejects an invalid summary.
    let mut wrong = summary.clone();
    wrong["verdict"] = json!("perhaps");
    assert!(!validator.is_valid(&wrong));
    let beside = fs::read_to_string(folder.join(summary["$schema"].as_str().unwrap())).unwrap();
    assert_eq!(beside, SUMMARY_SCHEMA);
    summary
}

/// Returns the name of each test case, with its result and its message.
pub(crate) fn check_junit(folder: &Path) -> Vec<(String, &'static str, String)> {
    let text = fs::read_to_string(folder.join("junit.xml")).unwrap();
    let xml = roxmltree::Document::parse(&text).unwrap();
    let properties: Vec<&str> = xml
        .descendants()
        .filter(|node| node.has_tag_name("property"))
        .filter_map(|node| node.attribute("name"))
        .collect();
    assert!(["server", "model", "seed"].iter().all(|name| properties.contains(name)), "{text}");
    let cases = xml.descendants().filter(|node| node.has_tag_name("testcase"));
    let cases = cases.map(|case| {
        let result = case.children().find(roxmltree::Node::is_element);
        let what = match result.map(|result| result.tag_name().name()) {
            Some("failure") => "failure",
            Some("error") => "error",
            Some("skipped") => "skipped",
            other => {
                assert_eq!(other, None);
                "pass"
            }
        };
        let message = result.and_then(|result| result.attribute("message")).unwrap_or_default();
        if what == "failure" {
            let told = result.and_then(|result| result.text()).unwrap();
            assert!(told.contains("violation 1: ") && told.contains("= expected:"), "{told}");
            assert!(!told.contains('\u{1b}'));
        }
        (case.attribute("name").unwrap().to_owned(), what, message.to_owned())
    });
    cases.collect()
}

fn events(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("events.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn of(rule: &str, cases: &[(String, &'static str, String)]) -> (&'static str, String) {
    let case = cases.iter().find(|(name, ..)| name == rule).unwrap();
    (case.1, case.2.clone())
}

#[test]
fn a_violation() {
    let server = Server::start(Manner::ReadsNothing(5));
    let ran = ran(&server, Level::Store, 20);
    assert_eq!(ran.outcome.conclusion, Conclusion::Refuted);
    for finding in &ran.outcome.findings {
        assert_eq!(finding.counterexample.micros.len(), finding.counterexample.trace.len());
        assert!(finding.counterexample.micros.is_sorted());
    }
    let folder = written("violation", &ran);
    let summary = check_summary(&folder);
    assert_eq!(summary["findings"][0]["shrunk"]["unfinished"], json!(false), "{summary:#}");
    let cases = check_junit(&folder);
    let (what, message) = of(READ_CURRENT.name, &cases);
    assert_eq!(what, "failure");
    assert!(message.contains("line/read-current") && message.contains("expected"), "{message}");
    assert_eq!(of(SAYS_OK.name, &cases).0, "pass");
    let lines = events(&folder);
    assert_eq!(lines.first().unwrap()["confute"], "start");
    assert_eq!(lines.last().unwrap()["confute"], "run");
    assert_eq!(lines.iter().filter(|line| line["confute"] == "case").count(), 20);
    assert_eq!(
        lines.iter().filter(|line| line["confute"] == "violation").count(),
        ran.outcome.findings.len()
    );
}

#[test]
fn what_an_earlier_run_wrote_is_taken_away() {
    let ran = fabricated::run(vec![fabricated::finding(1, 4, 1, "", true)]);
    let folder = written("stale", &ran);
    let [ours, noted, theirs] = [2, 7, 9].map(|number| folder.join(format!("violation-{number}")));
    for other in [&ours, &noted, &theirs] {
        fs::create_dir(other).unwrap();
    }
    for path in [ours.join("violation.case"), noted.join("violation.case"), noted.join("notes.txt")] {
        fs::write(path, "").unwrap();
    }
    fs::write(theirs.join("regression.rs"), "").unwrap();
    Reports::create(&folder).unwrap();
    assert!(!folder.join("violation-1").exists() && !ours.exists());
    assert!(!noted.join("violation.case").exists() && noted.join("notes.txt").exists());
    // A folder without a case is not removed.
    assert!(theirs.join("regression.rs").exists());
}

#[test]
fn what_was_tried_is_told() {
    let mut ran = fabricated::run(Vec::new());
    let one = Tried {
        path: "kept/line.case".into(),
        rule: "line/read-current".to_owned(),
        shown: 0,
        runs: 2,
        otherwise: Some("something else".to_owned()),
        unknown: None,
        foreign: false,
    };
    assert_eq!(
        one.to_string(),
        "line.case: fails in another way than recorded (line/read-current): something else"
    );
    assert_eq!((one.owed(), Tried { runs: 0, ..one.clone() }.owed().is_some()), (None, true));
    ran.beside.tried.push(one);
    ran.beside.stored.push("kept/other.case".into());
    let folder = written("tried", &ran);
    let summary = check_summary(&folder);
    assert_eq!((&summary["tried"][0]["runs"], &summary["stored"][0]), (&json!(2), &json!("kept/other.case")));
    assert_eq!(events(&folder).last().unwrap()["tried"], summary["tried"]);
}

#[test]
fn a_warning_neither_passes_nor_fails() {
    let server = Server::start(Manner::SaysDone);
    let folder = written("warning", &ran(&server, Level::Store, 5));
    assert_eq!(check_summary(&folder)["warnings"], 1);
    let cases = check_junit(&folder);
    let (what, message) = of(SAYS_OK.name, &cases);
    assert!(what == "skipped" && message.contains("warning"), "{message}");
    assert_eq!(of(READ_CURRENT.name, &cases).0, "pass");
}

#[test]
fn nobody_there() {
    let mut server = Server::start(Manner::Correct);
    server.address = nobody();
    let folder = written("nobody", &ran(&server, Level::Store, 5));
    let summary = check_summary(&folder);
    assert_eq!((&summary["verdict"], &summary["exit"]), (&json!("inconclusive"), &json!(3)));
    let cases = check_junit(&folder);
    assert_eq!(of("conclusive", &cases).0, "error");
    assert_eq!(of(SET_LASTS.name, &cases), ("skipped", "never tested".to_owned()));
    assert!(events(&folder).iter().any(|line| line["confute"] == "trouble"));
}

#[test]
fn whatever_the_bytes_and_the_blame() {
    let server = Server::start(Manner::ReadsNothing(5));
    let mut ran = ran(&server, Level::Store, 20);
    let finding = &mut ran.outcome.findings[0];
    let nasty = "]]>\0\u{1}\u{1b}[31m\u{ffff}\u{fffe}\u{85}<&\"'\u{10ffff}</script>";
    finding.counterexample.refutation.seen = nasty.to_owned();
    finding.counterexample.name = nasty.to_owned();
    finding.shrunk = Some(Err(Unshrunk::NotAgain(3)));
    let mut other = finding.diagnoses[0].clone();
    other.rules = vec![SET_LASTS.name];
    finding.diagnoses.push(other);
    let folder = written("nasty", &ran);
    assert_eq!(
        check_summary(&folder)["findings"][0]["shrunk"]["error"].as_str().map(str::is_empty),
        Some(false)
    );
    let cases = check_junit(&folder);
    let (what, message) = of(READ_CURRENT.name, &cases);
    assert!(
        what == "failure" && message.contains("<&\"'") && message.contains(", or line/set-lasts"),
        "{message}"
    );
    let (what, message) = of(SET_LASTS.name, &cases);
    assert!(what == "skipped" && message.contains("violation 1"), "{message}");

    // A violation without a diagnosis is a failure of its own, and no rule fails.
    ran.outcome.findings[0].diagnoses.clear();
    let cases = check_junit(&written("unblamed", &ran));
    assert_eq!(of("violation 1", &cases).0, "failure");
    assert_eq!(of(SET_LASTS.name, &cases).0, "pass");
}
