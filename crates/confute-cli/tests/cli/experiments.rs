//! Experiments that tell the explanations of a violation apart, as users see their results.

use confute_testbed::embedded::{Bug, Config, Embedded};
use confute_testbed::odd::{Habits, OddServer, Oddity};
use serde_json::Value;

use super::{confute, said};

/// Tests the embedded server with a bug until the first violation.
fn with_bug(name: &str, more: &[&str]) -> (i32, String) {
    let server = Embedded::start(Config::default().bug(Bug::from_name(name).unwrap())).unwrap();
    let url = format!("http://{}/", server.addr());
    let limits = ["--seed", "1", "--connections", "8", "--max-time", "20s", "--max-failures", "1"];
    let (code, out, err) = said(confute().args(["http", &url]).args(limits).args(more));
    assert!(err.is_empty() || !out.is_empty(), "{err}");
    (code, out)
}

/// Returns the first violation of a run as JSON.
fn violation(name: &str) -> Value {
    let (code, out) = with_bug(name, &["--format", "json"]);
    assert_eq!(code, 1, "{out}");
    serde_json::from_str(out.lines().next().unwrap()).unwrap()
}

/// Returns the sets of rules that experiments left.
fn left(violation: &Value) -> Vec<&str> {
    let left = violation["experiment"]["left"].as_array().unwrap();
    left.iter().flat_map(|one| one["rules"].as_array().unwrap()).filter_map(Value::as_str).collect()
}

#[test]
fn a_comparison_names_the_broken_rule() {
    // A PUT with a weak tag is performed: the comparison is wrong, or the field is ignored. A foreign tag tells.
    let violation = violation("if-match-weak");
    assert_eq!(left(&violation), ["rfc9110-13.1.1/strong-comparison"], "{violation}");
    let set_aside = &violation["experiment"]["set_aside"];
    let of = |rule: &str| {
        let mut all = set_aside.as_array().unwrap().iter();
        all.find(|one| one["rules"] == serde_json::json!([rule])).unwrap_or_else(|| panic!("{set_aside}"))
    };
    let ignored = of("rfc9110-13.1.1/if-match");
    assert!(ignored["kind"] == "comparison" && ignored["runs"] == 5, "{ignored}");
    assert!(ignored["exchange"].as_str().unwrap().contains("412"), "{ignored}");
}

#[test]
fn a_control_sets_aside_what_might_happen_by_itself() {
    // A PUT after a 404 is answered 204: the status is wrong, or the resource appeared by itself in between.
    let violation = violation("creation-untold");
    assert_eq!((left(&violation), &violation["level"]), (vec!["rfc9110-9.3.4/created"], &"store".into()));
    let control = &violation["experiment"]["set_aside"][0];
    assert!(control["kind"] == "control" && control["runs"] == 20, "{control}");
    // The proven level alone decides, unless the user says otherwise.
    let (code, out) = with_bug("creation-untold", &["--level", "must", "--cases", "2"]);
    assert!(
        code != 1 && out.contains("warning 1: rfc9110-9.3.4/created (level store, must by experiment)"),
        "{out}"
    );
    let (code, out) = with_bug("creation-untold", &["--level", "must", "--cases", "2", "--by-experiment"]);
    assert!(code == 1 && out.contains("violation 1: rfc9110-9.3.4/created"), "{out}");
}

#[test]
fn no_experiment_lifts_what_changes_by_itself() {
    // Tags that change by themselves, tags that come late, a tag for each coding: all of it legal.
    for names in [&["changing-tag", "late-tag"][..], &["coding-tag"]] {
        let habits = Habits::of(names.iter().map(|name| Oddity::from_name(name).unwrap()), 1);
        let server = OddServer::origin(habits).unwrap();
        let url = format!("http://{}/", server.addr());
        let limits = ["--seed", "1", "--max-time", "4s", "--shrink-time", "4s", "--by-experiment"];
        let (code, out, _) = said(confute().args(["http", &url]).args(limits).args(["--format", "json"]));
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let violations: Vec<Value> = lines.filter(|line| line["confute"] == "violation").collect();
        let weak = |level: &Value| ["live", "should", "steady"].iter().any(|weak| level == weak);
        for violation in &violations {
            let by_experiment = &violation["experiment"]["level"];
            let is_warning = weak(&violation["level"]) && (by_experiment.is_null() || weak(by_experiment));
            assert!(is_warning, "{names:?}: {} {by_experiment} {}", violation["level"], violation["blame"]);
        }
        // A short run on a busy machine may leave cases unjudged.
        assert_ne!(code, 1, "{names:?}");
    }
    // A server that loses resources now and then: that is proven at level store, and no experiment says more.
    let more = ["--level", "must", "--by-experiment", "--max-time", "4s", "--shrink-time", "4s"];
    let server = Bug::from_name("delete-takes-neighbour").unwrap();
    let server = Embedded::start(Config::default().bug(server)).unwrap();
    let url = format!("http://{}/", server.addr());
    let (code, ..) = said(confute().args(["http", &url, "--seed", "1"]).args(more));
    assert_ne!(code, 1);
}
