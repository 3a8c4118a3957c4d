//! The kit in use: a correct server passes, one that loses lines is refuted, and stored cases are replayed.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use confute_drive::Conclusion;
use confute_run::replay::ReplayJob;
use confute_run::stored::File;
use confute_run::{Kit, kit};
use confute_test::Check;
use echo_kit::{EchoKit, server};

/// Starts a server that responds to every n-th line with an empty one; never if n is 0.
fn start(loses: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo(&stream, loses));
        }
    });
    address
}

fn echo(mut stream: &TcpStream, loses: usize) {
    for (number, line) in (1..).zip(BufReader::new(stream).lines().map_while(Result::ok)) {
        let is_lost = loses > 0 && number % loses == 0;
        if stream.write_all(if is_lost { "\n".to_owned() } else { format!("{line}\n") }.as_bytes()).is_err() {
            return;
        }
    }
}

fn check(loses: usize) -> Check {
    Check::of(server(&start(loses))).seed(1).cases(10).regressions(None)
}

#[test]
fn a_correct_server_passes() {
    assert!(check(0).run().figures.answers >= 1_000);
}

#[test]
fn a_wrong_server_is_refuted_by_its_rule() {
    let (outcome, text) = check(7).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted, "{text}");
    assert!(text.contains("violation 1: echo/same (level must)"), "{text}");
    // The binary does not include this model, so `confute explain` is not recommended.
    assert!(!text.contains("confute explain"), "{text}");
}

#[test]
fn a_table_needs_one_line() {
    let table: &[&dyn Kit] = &[&EchoKit];
    let address = start(1);
    let command = table[0].command(clap::Command::new("echo")).unwrap();
    let arguments = command.try_get_matches_from(["echo", &address]).unwrap();
    let run = kit::Run { patience: Duration::from_secs(1), prefix: "", guard: &|_| Ok(()) };
    let subject = table[0].open(&arguments, &run).unwrap();
    // A stored case is opened through the same table.
    let folder = std::env::temp_dir().join(format!("confute-echo-{}", std::process::id()));
    let check = Check::of(Ok(subject)).seed(1).cases(3).regressions(Some(folder.clone()));
    assert_eq!(check.try_run().unwrap().0.conclusion, Conclusion::Refuted);
    let file = File::open(&folder.join("echo-echo-same.case")).unwrap();
    let replay = ReplayJob { target: Some(address), runs: 3, ..ReplayJob::default() };
    let came = replay.go(table, file, &AtomicBool::new(false)).unwrap();
    assert_eq!(came.rate.map(|rate| (rate.shown, rate.of)), Some((3, 3)), "{}", came.told());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Checks the claim of the guide that a kit takes 100 lines.
#[test]
fn a_kit_in_a_hundred_lines() {
    let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = include_str!("../src/lib.rs").lines().filter(code).count();
    assert!(lines <= 100, "{lines}");
}
