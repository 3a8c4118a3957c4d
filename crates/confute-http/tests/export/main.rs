//! Exported scripts decide: they show a fault of a server that has it, and none of a server that has not.
//!
//! `BUGS=all cargo test -p confute-http --test export -- --ignored --nocapture` tries every bug of the embedded server, and
//! says what came of each.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is a failing test, and a table is for people"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use confute_drive::{
    Exports, Finding, Generator, Kept, Limits, Plan, Protocol as _, Shrinker, Target, campaign,
};
use confute_http::{Http, Traffic, encode};
use confute_testbed::embedded::{Area, Bug, Config, Embedded, TagStyle};

/// What was found, made smaller and exported.
struct Found {
    server: Embedded,
    exports: Exports,
    rule: String,
}

fn find(bug: Bug, time: Duration) -> Option<Found> {
    let server = Embedded::start(Config::default().bug(bug)).unwrap();
    let host = server.addr().to_string();
    let http = Http {
        target: encode::Target {
            host: host.clone(),
            fields: vec![("X-Key".to_owned(), "hidden-value".to_owned())],
        },
        prefix: "/".to_owned(),
        is_store: true,
        ..Http::default()
    };
    let plan = Plan {
        seed: 1,
        max_time: Some(time),
        max_failures: 1,
        limits: Limits { connections: 8, patience: Duration::from_secs(1), ..Limits::default() },
        ..Plan::new(Target::new(server.addr()))
    };
    let make =
        |case: u64| -> Box<dyn Generator<Http>> { Box::new(Traffic::of_case(http.clone(), 300, case)) };
    let stop = AtomicBool::new(false);
    let mut outcome = campaign(&http, &plan, &make, &mut (), &stop);
    let mut finding: Finding<Http> = (!outcome.findings.is_empty()).then(|| outcome.findings.remove(0))?;
    let shrinker = Shrinker {
        protocol: &http,
        target: plan.target,
        limits: &plan.limits,
        time,
        blame_time: plan.blame_time,
        stop: &stop,
    };
    finding.shrunk = Some(shrinker.shrink(&finding, &mut |_| {}).map(Box::new));
    let rule = finding.diagnoses.first().map(|one| one.rules.join(" and ")).unwrap_or_default();
    let url = format!("http://{host}/");
    let about = [format!("Violation 1: {rule}")];
    let exports = http.exports(&Kept::new(&finding, &url, &about, SystemTime::now()));
    Some(Found { server, exports, rule })
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("export-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a script exits with, and what it says.
fn run(path: &Path, server: &Embedded) -> (i32, String) {
    let interpreter = if path.extension().is_some_and(|end| end == "py") { "python3" } else { "bash" };
    let url = format!("http://{}/", server.addr());
    let output =
        Command::new(interpreter).arg(path).arg(url).env("CONFUTE_X_KEY", "hidden-value").output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
}

/// What each script says of the wrong server, and of correct ones: one that differs in nothing else, and others, which are told
/// only if they are accused.
fn verdicts(bug: Bug, found: &Found) -> Vec<(&'static str, i32, i32, String)> {
    let folder = folder(bug.name());
    let right = Embedded::start(Config::default()).unwrap();
    let mut verdicts = Vec::new();
    for file in &found.exports.files {
        let path = folder.join(file.name);
        std::fs::write(&path, &file.content).unwrap();
        if file.executable {
            let (wrong, said) = run(&path, &found.server);
            let (mut fine, mut more) = run(&path, &right);
            for tags in [TagStyle::Weak, TagStyle::WeakAtFirst(Duration::from_millis(20))] {
                let other = Embedded::start(Config::default().tags(tags)).unwrap();
                let (code, said) = run(&path, &other);
                if code == 1 {
                    (fine, more) = (code, said);
                }
            }
            verdicts.push((file.name, wrong, fine, format!("{said}\n----\n{more}")));
        }
    }
    verdicts
}

/// The scripts that have to be there tell the two apart.
fn decides(name: &str, scripts: &[&str]) {
    let bug = Bug::from_name(name).unwrap();
    let found = find(bug, Duration::from_secs(20)).unwrap();
    let verdicts = verdicts(bug, &found);
    for script in scripts {
        let one = verdicts.iter().find(|(file, ..)| file == script);
        let (_, wrong, fine, said) =
            one.unwrap_or_else(|| panic!("no {script}: {:?}", found.exports.remarks));
        assert_eq!((*wrong, *fine), (1, 0), "{name}, {script}: {said}");
    }
    for file in &found.exports.files {
        assert!(!file.content.contains("hidden-value"), "{}", file.content);
    }
    let recorded = found.exports.files.iter().find(|file| file.name == "traffic.har").unwrap();
    let har: serde_json::Value = serde_json::from_str(&recorded.content).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry["_confute"]["fatal"] == true).count(), 1, "{har:#}");
}

const BOTH: [&str; 2] = ["reproduce.py", "reproduce.sh"];

#[test]
fn a_condition_that_is_ignored() {
    decides("if-match-ignored-on-put", &BOTH);
}

#[test]
fn content_instead_of_not_modified() {
    decides("if-none-match-strong-on-get", &BOTH);
}

#[test]
fn a_stale_read() {
    decides("stale-read", &BOTH);
}

#[test]
fn two_winners() {
    decides("two-winners", &BOTH[..1]);
}

#[test]
fn a_wrong_length_for_head() {
    decides("head-length-zero", &BOTH);
}

#[test]
fn a_part_that_is_too_short() {
    decides("range-one-short", &BOTH[..1]);
}

#[test]
fn content_after_not_modified() {
    decides("body-after-304", &BOTH[..1]);
}

#[test]
fn two_hosts() {
    decides("two-hosts", &BOTH[..1]);
}

#[test]
#[ignore = "a table of all bugs, for people"]
fn all_bugs() {
    let only = std::env::var("BUGS").unwrap_or_default();
    let wanted =
        |bug: &&Bug| only.is_empty() || only == "all" || only.split(',').any(|name| name == bug.name());
    for bug in Bug::all().iter().filter(|bug| bug.area() != Area::Proxying).filter(wanted) {
        let Some(found) = find(*bug, Duration::from_secs(10)) else {
            println!("{:<40} not found", bug.name());
            continue;
        };
        let told: Vec<String> = verdicts(*bug, &found)
            .into_iter()
            .map(|(file, wrong, fine, said)| {
                std::fs::write(folder(bug.name()).join(format!("{file}.out")), said).unwrap();
                format!("{file} {wrong}/{fine}")
            })
            .collect();
        println!("{:<40} {:<44} {} {:?}", bug.name(), found.rule, told.join(" "), found.exports.remarks);
    }
}
