//! `cargo xtask newcomer`: the path of a newcomer, from `confute new` to the first refutation, timed.
//!
//! The written crate is compiled in a folder of its own, with everything that it depends on, so the time is that of a first build on
//! this machine. Nothing is downloaded: the crates are those that the workspace was built with.
//!
//! On an idle machine with several cores the time on the clock is less than the CPU time. On a machine that does other things at the
//! same time it is more, and says little: there the CPU time decides, which is the stricter measure of the two on an idle one.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use ci::{cargo, root};

/// Maximum time from `confute new` to the report of the first violation.
const LIMIT: Duration = Duration::from_mins(3);
/// Folder of the crate, below the root of the workspace: a crate inside of another workspace must compile, too.
const FOLDER: &str = "target/newcomer";

/// Writes a crate, runs its test with the planted bug and without. Returns `true` if both ended as they should, in time. If
/// `is_built`, the binary is there, built with the tests.
pub(crate) fn run(is_built: bool) -> Result<bool> {
    let is_built = is_built || cargo(&["build", "--quiet", "--package", "confute-cli"])?.status()?.success();
    ensure!(is_built, "the binary does not compile");
    let folder = root()?.join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let outcome = walk(&folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn walk(folder: &Path) -> Result<bool> {
    let (start, cpu) = (Instant::now(), cpu_time()?);
    let binary = root()?.join("target/debug/confute");
    let written = Command::new(&binary).args(["new", "first-steps"]).current_dir(folder).output()?;
    ensure!(written.status.success(), "`confute new` failed: {}", String::from_utf8_lossy(&written.stderr));
    let crate_folder = folder.join("first-steps");
    let compiled = test(&crate_folder, &["--no-run"])?;
    ensure!(compiled.status.success(), "the crate does not compile:\n{}", text(&compiled));
    let compiling = start.elapsed();
    let refuted = text(&test(&crate_folder, &[])?);
    let (time, cpu) = (start.elapsed(), cpu_time()?.saturating_sub(cpu));
    for part in ["violation 1: notes/gone (level must)", "= expected: NONE", "reproduced in 10 of 10 runs"] {
        ensure!(refuted.contains(part), "the report of the planted bug has no `{part}`:\n{refuted}");
    }
    println!(
        "   from `confute new` to the first refutation: {} s ({} s of CPU)",
        time.as_secs(),
        cpu.as_secs()
    );
    println!("   of that, compiling in a clean folder:       {} s", compiling.as_secs());
    let path = crate_folder.join("tests/tester/main.rs");
    let tester = fs::read_to_string(&path)?;
    ensure!(tester.contains("const BUG: bool = true;"), "the test has no bug to remove:\n{tester}");
    fs::write(&path, tester.replace("const BUG: bool = true;", "const BUG: bool = false;"))?;
    let mended = test(&crate_folder, &[])?;
    ensure!(mended.status.success(), "without the bug the test fails:\n{}", text(&mended));
    rest(folder, &binary, &crate_folder.join("target"))?;
    let is_in_time = time.min(cpu) <= LIMIT;
    if !is_in_time {
        println!("   both are more than the {} s that are allowed", LIMIT.as_secs());
    }
    Ok(is_in_time)
}

/// Writes the crate for a REST service and runs its test, in the target folder of the other crate: most of it is compiled there.
fn rest(folder: &Path, binary: &Path, target: &Path) -> Result<()> {
    let written = Command::new(binary).args(["new", "first-rest", "--rest"]).current_dir(folder).output()?;
    ensure!(written.status.success(), "`confute new --rest` failed: {}", text(&written));
    let start = Instant::now();
    let mut command = cargo_test(&folder.join("first-rest"), &[]);
    let refuted = text(&command.env("CARGO_TARGET_DIR", target).output().context("cannot run cargo")?);
    ensure!(
        refuted.contains("violation 1: rest/"),
        "the report of the planted bug names no rule of REST:\n{refuted}"
    );
    println!("   the crate of `confute new --rest`, compiled and run: {} s", start.elapsed().as_secs());
    Ok(())
}

/// Returns the CPU time of all child processes that have ended.
fn cpu_time() -> Result<Duration> {
    let status = fs::read_to_string("/proc/self/stat")?;
    let ticks = ci::children(&status).context("/proc/self/stat is not as expected")?;
    Ok(Duration::from_secs_f64(ticks / 100.0))
}

/// Runs `cargo test` in the written crate.
fn test(folder: &Path, arguments: &[&str]) -> Result<Output> {
    cargo_test(folder, arguments).output().context("cannot run cargo")
}

/// Returns the command of a test without a network.
fn cargo_test(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["test", "--offline"]).args(arguments).current_dir(folder);
    for shared in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        command.env_remove(shared);
    }
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
