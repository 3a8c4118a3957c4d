//! Real servers, as packaged by Debian: their known violations are found and named. `docs/findings.md` has the bytes.

#![allow(clippy::print_stdout, reason = "whoever runs the tests is to know what was skipped")]

use std::net::SocketAddr;

use confute_testbed::ServerError;
use confute_testbed::apache::Apache;
use confute_testbed::free_port;
use confute_testbed::lighttpd::Lighttpd;
use confute_testbed::nginx::Nginx;
use serde_json::Value;

use super::{confute, said};

/// Seconds of a run, and of a second one if rules are missing after the first: other tests run at the same time, and
/// races do not always show.
const TIMES: [u32; 2] = [5, 25];

/// Reports that a test was skipped, which is a failure in CI.
fn skip(reason: &str) {
    let is_strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!is_strict, "{reason}, and this is CI");
    println!("SKIPPED: {reason}");
}

/// Returns a running server, or `None` if it is not installed.
pub(super) fn running<T>(started: Result<T, ServerError>) -> Option<T> {
    match started {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A violation or warning: the sets of rules that explain it.
type Blamed = Vec<Vec<String>>;

/// Runs the tester until these rules are named, if need be a second time. Returns the violations of the last run.
fn findings(address: SocketAddr, rules: &[&str]) -> Vec<Blamed> {
    findings_with(address, rules, &[])
}

fn findings_with(address: SocketAddr, rules: &[&str], more: &[&str]) -> Vec<Blamed> {
    let missing = |found: &[Blamed]| rules.iter().copied().find(|rule| !names(found, rule));
    let found = run(address, TIMES[0], more);
    let found = if missing(&found).is_some() { run(address, TIMES[1], more) } else { found };
    assert_eq!(missing(&found), None, "{found:#?}");
    found
}

/// Runs the tester for this many seconds. Returns the violations in its order.
fn run(address: SocketAddr, seconds: u32, more: &[&str]) -> Vec<Blamed> {
    let (url, time) = (format!("http://{address}/"), format!("{seconds}s"));
    let flags = [
        "--seed",
        "1",
        "--connections",
        "8",
        "--patience",
        "1s",
        "--max-failures",
        "100",
        "--shrink-time",
        "4s",
    ];
    let command =
        confute().args(["http", &url, "--max-time", &time, "--format", "json"]).args(flags).args(more);
    let (code, out, err) = said(command);
    assert_eq!(code, 1, "{out}{err}");
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rules = |set: &Value| -> Vec<String> {
        set["rules"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap().to_owned()).collect()
    };
    lines.filter_map(|line| Some(line["blame"].as_array()?.iter().map(rules).collect())).collect()
}

/// Returns `true` if a violation is blamed on the rule, alone or among others.
fn names(findings: &[Blamed], rule: &str) -> bool {
    findings.iter().flatten().flatten().any(|name| name == rule)
}

/// Returns `true` if a violation is explained by this rule and nothing else.
fn names_alone(findings: &[Blamed], rule: &str) -> bool {
    findings.iter().any(|sets| matches!(&sets[..], [set] if set[..] == [rule]))
}

#[test]
fn apache() {
    let Some(server) = running(Apache::start()) else { return };
    let found = findings(server.address(), &["rfc9110-13.1.2/weak-comparison", "rfc9110-14.2/only-get"]);
    // Apache checks If-Match on PUT, and its tags are right.
    assert!(!names(&found, "rfc9110-8.8.3/strong-tag-differs"), "{found:#?}");
}

/// The server serves files and forwards a prefix, as in the paper: both are tested at once.
#[test]
fn apache_as_origin_and_gateway() {
    let origin = free_port().unwrap();
    let Some(server) = running(Apache::forwarding(origin)) else { return };
    let more = ["--origin", &origin.to_string(), "--proxy-path", "/proxy/"];
    let rules = ["rfc9110-13.1.2/weak-comparison", "rfc9110-7.6.3/via"];
    let found = findings_with(server.address(), &rules, &more);
    // Apache mixes no responses up. Two of its resources may have the same tag (same size, same tick of the clock), so such a
    // mix-up may stand beside the rule that was broken, but never by itself.
    for rule in ["rfc9112-9.3.2/order", "rfc9112-9.2/own-answer"] {
        assert!(!names_alone(&found, rule), "{rule}: {found:#?}");
    }
}

#[test]
fn nginx() {
    let Some(server) = running(Nginx::start()) else { return };
    let rules = ["rfc9110-13.1.1/if-match", "rfc9110-13.1.2/if-none-match", "rfc9110-15.5.6/allow"];
    findings(server.address(), &rules);
}

#[test]
fn lighttpd() {
    let Some(server) = running(Lighttpd::start()) else { return };
    let found = findings(server.address(), &["rfc9110-13.1.1/if-match-on-read"]);
    // The server is sequential: whatever else it gets wrong, it has no races.
    for rule in ["store/one-winner", "store/whole"] {
        assert!(!names_alone(&found, rule), "{rule}: {found:#?}");
    }
}
