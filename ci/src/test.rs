//! `cargo xtask test`: all checks that must pass before a change is merged.
//!
//! Every step runs, even after one has failed, and the last line reports the result of each.

use std::env;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ci::{cargo, is_strict, packages};

use crate::binaries;

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
    // The tests mostly wait, so the newcomer's crate is compiled meanwhile, by a process of its own: its CPU time counts.
    let mut newcomer = None;
    let tests = || {
        let built = heading("build of the tests", binaries::build)?;
        newcomer = Some(
            Command::new(env::current_exe()?).args(["newcomer", "--built"]).stdout(Stdio::piped()).spawn(),
        );
        binaries::run(built)
    };
    summary.work("tests", tests);
    summary.step("doctests", cargo(&[&binaries::ALL[..], &["--quiet", "--no-fail-fast", "--doc"]].concat())?);
    summary.work("newcomer's path", || {
        let child = newcomer.context("the tests were not built")??;
        let output = child.wait_with_output()?;
        print!("{}", String::from_utf8_lossy(&output.stdout));
        Ok(output.status.success())
    });
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

    fn work(&mut self, name: &'static str, work: impl FnOnce() -> Result<bool>) {
        self.check(name, || {
            work().unwrap_or_else(|error| {
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
