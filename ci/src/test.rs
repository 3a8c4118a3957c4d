//! `cargo xtask test`: all checks that must pass before a change is merged.
//!
//! Every step runs, even after one has failed, and the last line reports the result of each.

use std::num::NonZero;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser as _;

use crate::{Args, Chore, cargo, is_strict, packages};

/// Runs all steps. Returns `true` if all passed.
pub(crate) fn run() -> Result<bool> {
    let start = Instant::now();
    let mut summary = Summary::default();

    let missing = heading("packages", packages::provide);
    for line in &missing {
        println!("{}: {line}", if is_strict() { "missing" } else { "skipped" });
    }
    if is_strict() && !missing.is_empty() {
        summary.failed.push("packages");
    } else {
        summary.skipped = missing.len();
    }

    summary.step("format", cargo(&["fmt", "--all", "--check"])?);
    let lints = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    summary.step("lints", cargo(&lints)?);
    let mut tests = cargo(&["test", "--workspace", "--exclude", "bench", "--quiet", "--no-fail-fast"])?;
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        tests.env("RUST_TEST_THREADS", threads().to_string());
    }
    summary.step("tests", tests);
    let soaks = [
        ("engine", "short soak"),
        ("http", "short soak of http"),
        ("odd", "short soak of odd servers"),
        ("memcached", "short soak of memcached"),
        ("redis", "short soak of redis"),
    ];
    for (what, name) in soaks {
        // The soak runs in this process: a separate build of less than the whole workspace would take longer than the
        // soak.
        summary.chore(name, Args::parse_from(["xtask", "soak", what, "--short"]).chore);
    }
    summary.chore("newcomer's path", Chore::Newcomer);

    let Summary { passed, failed, skipped } = &summary;
    let mut parts = vec![format!("{} passed ({})", passed.len(), passed.join(", "))];
    if !failed.is_empty() {
        parts.push(format!("{} FAILED ({})", failed.len(), failed.join(", ")));
    }
    if *skipped > 0 {
        parts.push(format!("tests that need {skipped} missing program(s) were skipped, see above"));
    }
    println!("\n== {}; {}", parts.join("; "), seconds(start.elapsed()));
    Ok(failed.is_empty())
}

/// Number of tests that run at the same time: twice the cores, because the longest tests mostly wait for servers.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(2, NonZero::get)
}

#[derive(Default)]
struct Summary {
    passed: Vec<&'static str>,
    failed: Vec<&'static str>,
    skipped: usize,
}

impl Summary {
    fn step(&mut self, name: &'static str, mut command: Command) {
        self.check(name, || match command.status() {
            Ok(status) => status.success(),
            Err(error) => {
                println!("cannot run {}: {error}", command.get_program().display());
                false
            }
        });
    }

    fn chore(&mut self, name: &'static str, chore: Chore) {
        self.check(name, || {
            crate::run(chore).unwrap_or_else(|error| {
                println!("error: {error:#}");
                false
            })
        });
    }

    fn check(&mut self, name: &'static str, work: impl FnOnce() -> bool) {
        let held = heading(name, work);
        if held { self.passed.push(name) } else { self.failed.push(name) }
    }
}

/// Runs `work` under a heading, and prints the time it took.
fn heading<T>(name: &str, work: impl FnOnce() -> T) -> T {
    println!("\n== {name}");
    let start = Instant::now();
    let result = work();
    println!("-- {name}: {}", seconds(start.elapsed()));
    result
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
