//! The test binaries of the workspace: built once, and then several of them run at the same time.
//!
//! `cargo test` runs one binary after the other. Many tests wait, for servers or for the end of a time limit, and meanwhile
//! nothing else would run.

use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use ci::cargo;

/// The packages whose tests run: `bench` has none.
pub(crate) const ALL: [&str; 4] = ["test", "--workspace", "--exclude", "bench"];
/// Binaries that take longest. They are started first.
const LONGEST: [&str; 6] = ["cli", "soaks", "twins", "report", "engine_vs_oracles", "origin"];
/// Number of binaries that run at the same time.
const AT_ONCE: usize = 2;

/// A test binary.
pub(crate) struct Binary {
    /// Name of the package and of the target.
    name: String,
    path: PathBuf,
    /// Folder of the package, where the tests run.
    folder: PathBuf,
    target: String,
}

/// Builds all tests. Returns the binaries, those that take longest first.
pub(crate) fn build() -> Result<Vec<Binary>> {
    let mut command = cargo(&ALL)?;
    command.args(["--quiet", "--no-run", "--message-format", "json-render-diagnostics"]);
    let output = command.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "the tests do not compile");
    let text = String::from_utf8(output.stdout).context("Cargo's messages are not text")?;
    let mut binaries: Vec<Binary> =
        text.lines().filter_map(|line| binary(&serde_json::from_str(line).ok()?)).collect();
    ensure!(!binaries.is_empty(), "Cargo has named no test binary");
    let rank = |one: &Binary| LONGEST.iter().position(|name| *name == one.target).unwrap_or(LONGEST.len());
    binaries.sort_by_key(rank);
    Ok(binaries)
}

/// Returns the test binary that a message of Cargo announces.
fn binary(message: &Value) -> Option<Binary> {
    let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let target = message["target"]["name"].as_str()?;
    Some(Binary {
        name: format!("{}/{target}", folder.file_name()?.to_str()?),
        path: path.into(),
        folder: folder.into(),
        target: target.to_owned(),
    })
}

/// Runs the binaries, several at the same time, and prints a line for each, and the output of those that fail. Returns
/// `true` if all passed.
pub(crate) fn run(binaries: Vec<Binary>) -> Result<bool> {
    let libraries = libraries()?;
    let waiting = Mutex::new(VecDeque::from(binaries));
    let failed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(binary) = next else { return };
            let start = Instant::now();
            let output = binary.command(&libraries).output();
            // Also keeps the lines of one binary together.
            let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
            if !report(&binary, output.as_ref(), start.elapsed()) {
                failed.push(binary.name);
            }
        }
    };
    thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.iter().for_each(|name| println!("FAILED: {name}"));
    Ok(failed.is_empty())
}

/// Prints the result of a binary. Returns `true` if it passed.
fn report(binary: &Binary, output: Result<&Output, &std::io::Error>, time: Duration) -> bool {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (passed, shown) = match output {
        Ok(output) if output.status.success() => {
            let out = text(&output.stdout);
            let result = out.lines().rev().find_map(|line| line.strip_prefix("test result: "));
            (true, result.and_then(|line| line.split("; finished").next()).unwrap_or("ok").to_owned())
        }
        Ok(output) => (false, format!("FAILED\n{}{}", text(&output.stdout), text(&output.stderr))),
        Err(error) => (false, format!("FAILED: cannot run {}: {error}", binary.path.display())),
    };
    println!("   {:<34} {:>6.1} s  {shown}", binary.name, time.as_secs_f64());
    passed
}

impl Binary {
    /// Returns the command that runs the binary as `cargo test` does.
    fn command(&self, libraries: &OsString) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--quiet").current_dir(&self.folder).stdin(Stdio::null());
        command.env("CARGO_MANIFEST_DIR", &self.folder).env("LD_LIBRARY_PATH", libraries);
        if env::var_os("RUST_TEST_THREADS").is_none() {
            command.env("RUST_TEST_THREADS", threads().to_string());
        }
        command
    }
}

/// Number of tests of a binary that run at the same time: twice the cores, because the longest tests mostly wait for
/// servers.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(2, NonZero::get)
}

/// Returns the search path of libraries, with that of the compiler: tests of a procedural macro need it.
fn libraries() -> Result<OsString> {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).args(["--print", "sysroot"]).output().context("cannot run rustc")?;
    let root = String::from_utf8(output.stdout).context("rustc names no folder")?;
    let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = std::iter::once(Path::new(root.trim()).join("lib")).chain(env::split_paths(&before));
    env::join_paths(folders).context("a folder of libraries has a colon in its name")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn test_binaries_are_told_from_others() {
        let message = |is_test: bool, executable: Value| {
            json!({
                "reason": "compiler-artifact", "manifest_path": "/tree/crates/one/Cargo.toml",
                "target": { "name": "two" }, "profile": { "test": is_test }, "executable": executable,
            })
        };
        let found = binary(&message(true, json!("/tree/target/debug/deps/two-1"))).unwrap();
        assert_eq!((found.name.as_str(), found.target.as_str()), ("one/two", "two"));
        assert_eq!(found.folder, Path::new("/tree/crates/one"));
        assert!(binary(&message(false, json!("/tree/target/debug/two"))).is_none());
        assert!(binary(&message(true, Value::Null)).is_none());
        assert!(binary(&json!({ "reason": "build-finished", "success": true })).is_none());
    }
}
