//! Tests as a user writes them, against a server in the same process: with a bug they fail, without it they pass.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is a failing test, and some say what they saw"
)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use confute_drive::Conclusion;
use confute_run::rust_test;
use confute_run::stored::File;
use confute_test::Reach;
use confute_testbed::embedded::{Bug, Config, Embedded};

mod author;
#[path = "sample/regression.rs"]
mod exported;
mod lone;
mod plain;
mod swap;

const SAMPLE: &str = include_str!("sample/violation.case");

fn url(server: &Embedded) -> String {
    format!("http://{}/", server.addr())
}

fn wrong() -> Embedded {
    Embedded::start(Config::default().bug(Bug::IfMatchIgnoredOnPut)).unwrap()
}

fn right() -> Embedded {
    Embedded::start(Config::default()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("confute-test-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn what_is_found_is_kept_and_tried_first() {
    let kept = folder("kept");
    let check =
        |server: &Embedded| confute_test::http(&url(server)).seed(3).cases(4).regressions(Some(kept.clone()));
    let server = wrong();
    let (outcome, text) = check(&server).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    assert!(text.contains("rfc9110-13.1.1/if-match") && text.contains("CONFUTE_SEED=3 cargo test"), "{text}");
    let file = kept.join("http-rfc9110-13.1.1-if-match.case");
    assert!(file.exists(), "{text}");
    // The stored case alone, without new cases.
    let (outcome, text) = check(&server).cases(0).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted);
    assert!(text.contains("still fails"), "{text}");
    let (outcome, text) = check(&right()).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Unrefuted, "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no longer fails in 2 runs"), "{text}");
    fs::remove_dir_all(&kept).unwrap();
}

#[test]
#[should_panic(expected = "rfc9110-13.1.1/if-match")]
fn a_wrong_server_fails_the_test() {
    let server = wrong();
    confute_test::http(&url(&server)).regressions(None).max_time(Duration::from_secs(10)).run();
}

#[test]
fn a_server_with_few_connections_is_tested_with_few() {
    // Further connections wait until others end.
    let server = Embedded::start(Config { connections: 24, ..Config::default() }).unwrap();
    let check = confute_test::http(&url(&server)).regressions(None).connections(8);
    let outcome = check.max_time(Duration::from_secs(3)).run();
    let crowding = outcome.figures.crowding;
    assert!(crowding.times > 0 && crowding.connections > 8, "{crowding:?}");
    assert_eq!(outcome.troubles, []);
}

#[test]
fn a_right_server_passes() {
    let server = right();
    let outcome =
        confute_test::http(&url(&server)).regressions(None).max_time(Duration::from_millis(500)).run();
    assert!(outcome.figures.answers > 0);
}

#[test]
#[should_panic(expected = "start the server, or check host and port")]
fn nobody_there() {
    confute_test::http("http://127.0.0.1:9/").regressions(None).run();
}

#[test]
#[should_panic(expected = "no rule is called no/such-rule")]
fn no_such_rule() {
    confute_test::http("http://127.0.0.1:9/").allow("no/such-rule").run();
}

#[test]
#[should_panic(expected = "a URL begins with http://")]
fn no_such_url() {
    confute_test::http("127.0.0.1:9").run();
}

/// Body of the next test, which runs it with an environment variable.
#[test]
#[ignore = "part of another test"]
fn inner() {
    let server = right();
    let (_, text) = confute_test::http(&url(&server)).seed(1).regressions(None).try_run().unwrap();
    println!("{text}");
}

fn inner_with(name: &str, value: &str) -> (bool, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "inner", "--nocapture"])
        .env("CONFUTE_CASES", "1")
        .env(name, value)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.success(), text)
}

#[test]
fn the_environment_goes_first() {
    let (passed, text) = inner_with("CONFUTE_SEED", "77");
    assert!(passed && text.contains("seed:") && text.contains("77") && text.contains("in 1 case"), "{text}");
    let (passed, text) = inner_with("CONFUTE_MAX_TIME", "soon");
    assert!(!passed && text.contains("CONFUTE_MAX_TIME=soon: expected a time"), "{text}");
}

#[test]
fn the_export_is_as_it_was_tried() {
    let file = File::parse("violation.case".to_owned(), SAMPLE.to_owned()).unwrap();
    assert_eq!(rust_test(&file), include_str!("sample/regression.rs"));
}

#[test]
fn an_exported_test_fails_and_passes() {
    let run = |server: &Embedded| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "exported::"])
            .env("CONFUTE_URL", url(server))
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (passed, text) = run(&wrong());
    assert!(!passed && text.contains("still fails in 10 of 10 runs"), "{text}");
    let (passed, text) = run(&right());
    assert!(passed && text.contains("1 passed"), "{text}");
}

#[test]
#[should_panic(expected = "192.0.2.1:80 is not on this machine")]
fn others_are_not_written_to() {
    confute_test::http("http://192.0.2.1/").run();
}

#[test]
fn what_is_sent_along_is_not_repeated() {
    let server = wrong();
    let reach = Reach { fields: vec!["X-Key: s3cr3t-k3y".to_owned()], ..Reach::default() };
    let check = confute_test::http_through(&url(&server), &reach).seed(3).cases(2).regressions(None);
    let (_, text) = check.try_run().unwrap();
    assert!(text.contains("violation 1") && !text.contains("s3cr3t"), "{text}");
}

#[test]
#[should_panic(expected = "only 0 of 10 runs were: the server answers PUT (405)")]
fn a_server_that_cannot_be_tested_is_not_refuted() {
    confute_test::still_passes(SAMPLE, &plain::start(false));
}

#[test]
fn stored_cases_refute_no_server_that_cannot_be_tested() {
    let kept = folder("untested");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("sample.case"), SAMPLE).unwrap();
    let check = confute_test::http(&plain::start(false)).cases(1).regressions(Some(kept.clone()));
    let (outcome, text) = check.try_run().unwrap();
    assert!(matches!(outcome.conclusion, Conclusion::Inconclusive(_)), "{text}");
    assert!(outcome.findings.is_empty() && text.contains("sample.case: not judged: "), "{text}");
    fs::remove_dir_all(&kept).unwrap();
}

/// The last request refers to a tag that no response provides any more.
#[test]
#[should_panic(expected = "a request could not be sent: no response contained the value that it refers to")]
fn what_was_never_asked_does_not_pass() {
    let case = SAMPLE.replacen(
        r#""lines":[[{"guess":{"opaque":"confute-made-this-up"}}]]"#,
        r#""lines":[[{"seen":0}]]"#,
        1,
    );
    assert_ne!(case, SAMPLE);
    confute_test::still_passes(&case, &plain::start(true));
}

/// The case fails, but with another violation than the stored one.
#[test]
#[should_panic(expected = "not reproduced (rfc9110-13.1.2/if-none-match: 0 of 10 runs")]
fn another_violation_is_not_the_same() {
    let server = wrong();
    let case = SAMPLE.replacen("rfc9110-13.1.1/if-match", "rfc9110-13.1.2/if-none-match", 1);
    confute_test::still_passes(&case, &url(&server));
}

#[test]
fn stored_cases_say_what_fails_now() {
    let (kept, server) = (folder("otherwise"), wrong());
    fs::create_dir_all(&kept).unwrap();
    let case = SAMPLE.replacen("rfc9110-13.1.1/if-match", "rfc9110-13.1.2/if-none-match", 1);
    fs::write(kept.join("sample.case"), case).unwrap();
    let check = confute_test::http(&url(&server)).cases(0).regressions(Some(kept.clone()));
    let (outcome, text) = check.try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("sample.case: fails in another way than recorded (rfc9110-13.1.2/if-none-match)"),
        "{text}"
    );
    fs::remove_dir_all(&kept).unwrap();
}
