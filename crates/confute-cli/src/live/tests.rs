//! The whole path from flags to exit code and files, against servers of a line protocol.

#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, shared with those of the driver")]

#[path = "../../../confute-drive/tests/drive/protocol.rs"]
mod protocol;
#[path = "../../../confute-drive/tests/drive/server.rs"]
mod server;

use std::fs;
use std::net::SocketAddr;

use clap::Parser;
use confute::network::Tcp;
use confute::{Options, judge};
use confute_drive::{AnyGenerator, Target, typed_events};
use confute_run::stored::{File, StoredCase};
use serde_json::Value;

use super::*;
use confute_record::Exit;
use protocol::{Busy, Lines, Store};
use server::{Manner, Server, nobody};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: Flags,
}

fn make(_: u64) -> AnyGenerator<'static> {
    AnyGenerator::new(Busy { most: 1, ..Busy::new(300) })
}

/// Returns exit code and output.
fn try_live(address: SocketAddr, args: &[&str]) -> Result<(Exit, String)> {
    let mut out = Vec::new();
    let exit = said(address, args, &mut out)?;
    let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    Ok((exit, text))
}

fn said(address: SocketAddr, args: &[&str], out: &mut dyn Write) -> Result<Exit> {
    made(address, args, |_| None, make, out)
}

/// Tests a server with these generators and this lookup of clauses.
fn made(
    address: SocketAddr,
    args: &[&str],
    clause: fn(&str) -> Option<&'static str>,
    make: impl Fn(u64) -> AnyGenerator<'static> + Send + Sync + 'static,
    out: &mut dyn Write,
) -> Result<Exit> {
    let flags = Line::try_parse_from([&["confute"], args].concat())?.flags;
    let subject = Subject::new("line", Lines::default(), Target::new(address), make);
    run(&Subject { clause, is_shipped: true, ..subject }, &flags, Color::Never, out)
}

/// Joins all lines into one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn live(address: SocketAddr, args: &[&str]) -> (Exit, String) {
    try_live(address, args).unwrap()
}

#[test]
fn unrefuted() {
    let server = Server::start(Manner::Correct);
    let (exit, text) = live(server.address, &["--seed", "5", "--cases", "10", "--workers", "2"]);
    assert_eq!(exit, Exit::Unrefuted);
    assert!(text.starts_with("unrefuted: 127.0.0.1:"), "{text}");
    assert!(
        text.contains("= seed:     5\n") && text.contains("outstanding requests at each send: median"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains("the median of outstanding requests was one"), "{text}");
    let (_, text) = live(server.address, &["--cases", "3", "--connections", "1", "-q"]);
    assert!(
        text.contains("the median of outstanding requests was one") && text.lines().count() == 1,
        "{text}"
    );
}

#[test]
fn refuted_with_reports() {
    let server = Server::start(Manner::ReadsNothing(10));
    let folder = std::env::temp_dir().join(format!("confute-live-{}", std::process::id()));
    let place = folder.display().to_string();
    let (exit, text) = live(server.address, &["--cases", "20", "--report-dir", &place]);
    assert_eq!(exit, Exit::Refuted);
    assert!(text.contains("violation 1: line/read-current (level store)"), "{text}");
    assert!(text.contains("= seen:") && text.contains("= expected:") && text.contains("= seed:"), "{text}");
    assert!(
        text.contains(&format!("`confute replay {place}/violation-1/violation.case 127.0.0.1:")),
        "{text}"
    );
    let is_long = |line: &&str| line.chars().count() > 80 && !line.contains(&place);
    assert_eq!(text.lines().filter(is_long).collect::<Vec<_>>(), Vec::<&str>::new());

    let summary: Value = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!((&summary["verdict"], &summary["exit"]), (&"refuted".into(), &1.into()));
    assert_eq!(summary["findings"][0]["blame"][0]["rules"][0], "line/read-current");
    // The stored case is refuted on its own.
    let case =
        StoredCase::read(&Lines::default(), File::open(&folder.join("violation-1/violation.case")).unwrap())
            .unwrap();
    assert_eq!((&*case.about.model, case.about.blame.len()), ("line", 1));
    assert!(judge(&Store, &Tcp::default(), &typed_events(&case.trace), &Options::default()).is_refuted());
    assert!(folder.join("violation-1/as-found.case").exists());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_written_takes_nothing_with_it() {
    let server = Server::start(Manner::ReadsNothing(10));
    let folder = std::env::temp_dir().join(format!("confute-unwritten-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("violation-1"), "in the way").unwrap();
    let place = folder.display().to_string();
    let mut out = Vec::new();
    let exit = said(server.address, &["--cases", "20", "--report-dir", &place], &mut out).unwrap();
    // The refutation stands.
    assert_eq!(exit, Exit::Refuted);
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("line/read-current (level store)") && text.contains("refuted"), "{text}");
    // The other files exist, and the summary names the missing ones.
    let summary: Value = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    assert!(summary["missing"][0].as_str().unwrap().contains("violation-1: "), "{summary:#}");
    assert!(folder.join("junit.xml").exists() && folder.join("report.html").exists());
    fs::remove_dir_all(&folder).unwrap();
    // Without a refutation, a run with missing files is incomplete.
    fs::create_dir_all(folder.join("report.html")).unwrap();
    let correct = Server::start(Manner::Correct);
    let (exit, text) = live(correct.address, &["--cases", "2", "--report-dir", &place]);
    assert_eq!(exit, Exit::Broken, "{text}");
    assert!(text.contains("unrefuted: ") && folder.join("summary.json").exists(), "{text}");
    fs::remove_dir_all(&folder).unwrap();
    // Checked before any request.
    let args = ["--baseline", &format!("{place}/known.json"), "--baseline-update"];
    let error = try_live(nobody(), &args).unwrap_err().to_string();
    assert!(error.contains("there is no folder"), "{error}");
}

#[test]
fn a_defect_is_told_and_costs_little() {
    // A defect in a report.
    let folder = std::env::temp_dir().join(format!("confute-defect-{}", std::process::id()));
    let place = folder.display().to_string();
    let (wrong, mut out) = (Server::start(Manner::ReadsNothing(10)), Vec::new());
    let args = ["--cases", "20", "--report-dir", &place];
    let exit = made(wrong.address, &args, |_| panic!("a defect"), make, &mut out).unwrap();
    let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    assert_eq!(exit, Exit::Refuted);
    assert!(
        text.contains("violation 1: ") && text.contains("= missing:") && text.contains("= seed:"),
        "{text}"
    );
    assert!(folder.join("summary.json").exists() && folder.join("violation-1/violation.case").exists());
    assert!(folder.join("junit.xml").exists() && !folder.join("junit.xml.part").exists());
    fs::remove_dir_all(&folder).unwrap();

    // A defect in the tester: earlier violations are still reported.
    let make_few = |case: u64| if case < 20 { make(case) } else { panic!("a defect") };
    let mut out = Vec::new();
    let exit = made(wrong.address, &["--cases", "99"], |_| None, make_few, &mut out).unwrap();
    let text = flat(&anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string());
    assert_eq!(exit, Exit::Refuted, "{text}");
    assert!(
        text.contains("violation 1: ") && text.contains("internal error of the tester: a defect"),
        "{text}"
    );
    let correct = Server::start(Manner::Correct);
    let mut out = Vec::new();
    let exit = made(correct.address, &["--cases", "99"], |_| None, make_few, &mut out).unwrap();
    assert_eq!(exit, Exit::Inconclusive);

    // A defect that is not handled elsewhere.
    let flags = Line::try_parse_from(["confute"]).unwrap().flags;
    let screen = screen::Screen::new(&flags, None, Color::Never);
    let mut teller =
        Teller { screen, recorder: Recorder::default(), keeper: None, level: Level::Store, met: Vec::new() };
    let mut out = Vec::new();
    let exit = cut_short("a defect".to_owned(), &teller, &flags, Color::Never, &mut out).unwrap();
    assert_eq!((exit, out.len()), (Exit::Inconclusive, 0));
    teller.met.push((true, "violation: line/read-current".to_owned()));
    let exit = cut_short("a defect".to_owned(), &teller, &flags, Color::Never, &mut out).unwrap();
    assert_eq!((exit, &*out), (Exit::Refuted, &b"violation: line/read-current\n"[..]));
}

#[test]
fn an_old_case_that_no_longer_fails_does_not_stand_for_a_new_one() {
    let folder = std::env::temp_dir().join(format!("confute-renewed-{}", std::process::id()));
    let place = folder.display().to_string();
    let args = ["--cases", "20", "--max-failures", "1", "--regressions", &place];
    let wrong = Server::start(Manner::ReadsNothing(1));
    live(wrong.address, &args);
    let (old, new) =
        (folder.join("line-line-read-current.case"), folder.join("line-line-read-current-2.case"));
    // A minimal case that does not show the violation.
    let text = fs::read_to_string(&old).unwrap();
    let mut asks = 0;
    let is_kept = |line: &&str| {
        asks += u32::from(line.contains("\"ask\""));
        !line.contains("\"step\"") || asks <= 1
    };
    let smaller: Vec<&str> = text.lines().filter(is_kept).collect();
    fs::write(&old, smaller.join("\n")).unwrap();
    let (_, text) = live(wrong.address, &args);
    assert!(flat(&text).contains("no longer fails") && new.exists(), "{text}");
    let (_, text) = live(wrong.address, &args);
    assert!(flat(&text).contains("-2.case: still fails") && !text.contains("= stored:"), "{text}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn json_lines() {
    let server = Server::start(Manner::SaysDone);
    let (exit, text) = live(server.address, &["--cases", "5", "--format", "json", "-v"]);
    assert_eq!(exit, Exit::Unrefuted);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["confute"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["start", "case", "case", "case", "case", "case", "violation", "run"]);
    assert_eq!((&lines[6]["refutes"], &lines[6]["level"]), (&false.into(), &"should".into()));
    assert_eq!((&lines[7]["warnings"], &lines[7]["violations"]), (&1.into(), &0.into()));
    let (exit, _) = live(server.address, &["--cases", "5", "--strict", "-q"]);
    assert_eq!(exit, Exit::Refuted);
    let (exit, text) = live(server.address, &["--cases", "5", "--strict", "--allow", "line/says-ok"]);
    assert_eq!(exit, Exit::Unrefuted);
    assert!(text.contains("line/says-ok"), "{text}");
}

#[test]
fn inconclusive() {
    let (exit, text) = live(nobody(), &["--cases", "5"]);
    assert_eq!(exit, Exit::Inconclusive);
    assert!(text.contains("start the server, or check host and port"), "{text}");
}

#[test]
fn wrong_usage() {
    let there: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let error = try_live(there, &[]).unwrap_err().to_string();
    assert!(error.contains("pass --remote"), "{error}");
    let error = try_live(nobody(), &["--allow", "line/reads-current"]).unwrap_err().to_string();
    assert!(error.contains("did you mean line/read-current"), "{error}");
    assert!(try_live(nobody(), &["--report-dir", "/proc/nothing"]).is_err());
    assert!(try_live(nobody(), &["--level", "must", "--strict"]).is_err());
    // Without smaller cases there are no experiments.
    assert!(try_live(nobody(), &["--by-experiment", "--no-shrink"]).is_err());
}

#[test]
fn what_was_met_is_tried_first() {
    let folder = std::env::temp_dir().join(format!("confute-regressions-{}", std::process::id()));
    let place = folder.display().to_string();
    let wrong = Server::start(Manner::ReadsNothing(1));
    let (_, text) = live(wrong.address, &["--cases", "20", "--max-failures", "1", "--regressions", &place]);
    assert!(text.contains("= stored:") && text.contains("line-line-read-current.case"), "{text}");
    // Only the stored case is run.
    let args = ["--cases", "0", "--regressions", &place];
    let (exit, text) = live(wrong.address, &args);
    assert_eq!(exit, Exit::Refuted, "{text}");
    assert!(flat(&text).contains("line-line-read-current.case: still fails (line/read-current"), "{text}");
    let (exit, text) =
        live(Server::start(Manner::Correct).address, &["--cases", "2", "--regressions", &place]);
    assert_eq!(exit, Exit::Unrefuted, "{text}");
    assert!(flat(&text).contains("no longer fails in 2 runs (line/read-current"), "{text}");
    let (_, text) = live(nobody(), &args);
    assert!(flat(&text).contains("not judged: ") && flat(&text).contains("nothing was tested"), "{text}");
    // A stored case that applies, but can no longer be judged.
    let file = folder.join("line-line-read-current.case");
    let case = fs::read_to_string(&file).unwrap();
    fs::write(&file, case.replace("\"relaxed\":[]", "\"relaxed\":[\"line/old\"]")).unwrap();
    let correct = Server::start(Manner::Correct);
    let (exit, text) = live(correct.address, &["--cases", "2", "--regressions", &place]);
    assert_eq!(exit, Exit::Inconclusive, "{text}");
    assert!(
        flat(&text).contains("recorded with line/old relaxed, and the model no longer has that rule"),
        "{text}"
    );
    fs::write(&file, case).unwrap();
    fs::write(folder.join("broken.case"), "{}").unwrap();
    let error = try_live(wrong.address, &args).unwrap_err().to_string();
    assert!(error.contains("broken.case: not a case"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_is_known_does_not_fail_the_run() {
    let path = std::env::temp_dir().join(format!("confute-baseline-{}.json", std::process::id()));
    let place = path.display().to_string();
    let wrong = Server::start(Manner::ReadsNothing(10));
    let error = try_live(wrong.address, &["--baseline", &place]).unwrap_err().to_string();
    assert!(error.contains("--baseline-update writes it"), "{error}");
    let (exit, text) = live(wrong.address, &["--cases", "20", "--baseline", &place, "--baseline-update"]);
    assert_eq!(exit, Exit::Unrefuted, "{text}");
    assert!(text.contains("known violation 1: line/read-current") && text.contains("written to"), "{text}");
    let (exit, text) = live(wrong.address, &["--cases", "20", "--baseline", &place]);
    assert_eq!(exit, Exit::Unrefuted, "{text}");
    assert!(text.contains("1 known violation seen again"), "{text}");
    // Another violation.
    let other = Server::start(Manner::SaysDone);
    let (exit, text) = live(other.address, &["--cases", "5", "--strict", "--baseline", &place]);
    assert_eq!(exit, Exit::Refuted, "{text}");
    assert!(flat(&text).contains("not seen again in 5 cases"), "{text}");
    assert!(flat(&text).contains("although tested: line/read-current"), "{text}");
    // A rule that was not required is not removed from the baseline.
    let correct = Server::start(Manner::Correct);
    let args = ["--cases", "5", "--baseline", &place, "--baseline-update"];
    let (_, text) = live(correct.address, &[&args[..], &["--allow", "line/read-current"]].concat());
    assert!(flat(&text).contains("or not completely: line/read-current"), "{text}");
    assert!(fs::read_to_string(&path).unwrap().contains("read-current"));
    let (_, text) = live(correct.address, &args);
    assert!(text.contains("not seen again"), "{text}");
    assert!(!fs::read_to_string(&path).unwrap().contains("read-current"));
    fs::remove_file(&path).unwrap();
}
