//! The whole way from flags to exit code and files, against servers of lines.

#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, shared with those of the driver")]

#[path = "../../../confute-drive/tests/drive/protocol.rs"]
mod protocol;
#[path = "../../../confute-drive/tests/drive/server.rs"]
mod server;

use std::fs;
use std::io::BufReader;
use std::net::SocketAddr;

use clap::Parser;
use confute::lang::ServerModel as _;
use confute::network::Tcp;
use confute::{Options, judge};
use confute_drive::{Generator, Step, Target};
use serde_json::Value;

use super::*;
use crate::exit::Exit;
use protocol::{Ask, Busy, Lines, Message, Store};
use server::{Manner, Server, nobody};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    flags: Flags,
}

fn make(_: u64) -> Box<dyn Generator<Lines>> {
    Box::new(Busy { most: 1, ..Busy::new(300) })
}

/// Exit code and output.
fn try_live(address: SocketAddr, args: &[&str]) -> Result<(Exit, String)> {
    let flags = Line::try_parse_from([&["confute"], args].concat())?.flags;
    let shown = address.to_string();
    let subject = Subject {
        model: "line",
        premise: "nobody else writes",
        shown: &shown,
        target: Target::new(address),
        rules: Store.rules(),
        secrets: Secrets::default(),
        bound: None,
    };
    let mut out = Vec::new();
    let exit = run(&Lines::default(), &subject, &flags, &make, Color::Never, &mut out)?;
    let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
    Ok((exit, text))
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
    assert!(!text.contains("median outstanding was one"), "{text}");
    let (_, text) = live(server.address, &["--cases", "3", "--connections", "1", "-q"]);
    assert!(text.contains("median outstanding was one") && text.lines().count() == 1, "{text}");
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

    let summary: Value = serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap();
    assert_eq!((&summary["verdict"], &summary["exit"]), (&"refuted".into(), &1.into()));
    assert_eq!(summary["findings"][0]["blame"][0]["rules"][0], "line/read-current");
    // The trace that was written is refuted by itself.
    let file = BufReader::new(fs::File::open(folder.join("violation-1/events.jsonl")).unwrap());
    let trace = confute::trace::read::<Message>(file, confute::trace::Limits::default()).unwrap();
    assert_eq!(trace.header.model, "line");
    assert!(judge(&Store, &Tcp::default(), &trace.events, &Options::default()).is_refuted());
    let script = fs::read_to_string(folder.join("violation-1/script.jsonl")).unwrap();
    let mut lines = script.lines();
    assert!(lines.next().unwrap().contains("\"confute\":\"script\""));
    let steps: Vec<Step<Ask>> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!steps.is_empty());
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn json_lines() {
    let server = Server::start(Manner::SaysDone);
    let (exit, text) = live(server.address, &["--cases", "5", "--format", "json", "-v"]);
    assert_eq!(exit, Exit::Unrefuted);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["confute"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["case", "case", "case", "case", "case", "violation", "run"]);
    assert_eq!((&lines[5]["refutes"], &lines[5]["level"]), (&false.into(), &"should".into()));
    assert_eq!((&lines[6]["warnings"], &lines[6]["violations"]), (&1.into(), &0.into()));
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
    assert!(text.contains("is the server running?"), "{text}");
}

#[test]
fn wrong_usage() {
    let there: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let error = try_live(there, &[]).unwrap_err().to_string();
    assert!(error.contains("say --remote"), "{error}");
    let error = try_live(nobody(), &["--allow", "line/reads-current"]).unwrap_err().to_string();
    assert!(error.contains("did you mean line/read-current"), "{error}");
    assert!(try_live(nobody(), &["--report-dir", "/proc/nothing"]).is_err());
    assert!(try_live(nobody(), &["--level", "must", "--strict"]).is_err());
    assert!(flags::address("127.0.0.1:80").is_ok() && flags::address("nowhere").is_err());
}
