//! `cargo xtask bench build`: cost of compiling the binary, crate by crate.
//!
//! Cargo is configured to call this program in place of the compiler (`RUSTC_WRAPPER`); it calls the compiler and
//! records the CPU time used. CPU time rather than elapsed time, because the machine may be busy with other work.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, process};

use anyhow::{Context as _, Result, ensure};

/// Environment variable with the path of the file in which compilations are recorded. If it is set, this program acts
/// as the compiler.
const NOTES: &str = "CONFUTE_COMPILE_NOTES";

/// Number of crates listed by name.
const LISTED: usize = 14;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build this revision of the project too, in the same run, and compare
    #[arg(long, value_name = "REVISION")]
    against: Option<String>,
}

/// Result of a build from scratch.
struct Build {
    /// CPU seconds by crate.
    crates: BTreeMap<String, f64>,
    /// Size of the binary, in bytes.
    size: u64,
    /// Size of the binary without symbols, in bytes.
    stripped: u64,
    /// Number of copies of the search in the binary.
    searches: usize,
}

impl Build {
    fn seconds(&self) -> f64 {
        self.crates.values().sum()
    }
}

/// Builds the release binary in an empty target directory, and prints the cost.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let folder = env::temp_dir().join(format!("confute-build-{}", process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let done = compare(args, &folder);
    let removed = fs::remove_dir_all(&folder);
    done?;
    removed.with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(true)
}

fn compare(args: &Args, folder: &Path) -> Result<()> {
    let before = args.against.as_deref().map(|revision| build_of(revision, folder)).transpose()?;
    println!("-- a release build of this tree from nothing");
    let now = build(&crate::root()?, &folder.join("now"))?;
    print(&now);
    if let (Some(before), Some(revision)) = (before, &args.against) {
        println!("-- the same of {revision}");
        print(&before);
        println!(
            "-- ratios: CPU {:.2}, binary {:.2}, without symbols {:.2}",
            now.seconds() / before.seconds(),
            ratio(now.size, before.size),
            ratio(now.stripped, before.stripped)
        );
    }
    Ok(())
}

/// Builds a revision in a fresh clone.
fn build_of(revision: &str, folder: &Path) -> Result<Build> {
    let clone = folder.join("clone");
    let root = crate::root()?;
    let git = |arguments: &[&str], at: &Path| -> Result<()> {
        let status =
            Command::new("git").args(arguments).current_dir(at).status().context("cannot run git")?;
        ensure!(status.success(), "git {} failed", arguments.join(" "));
        Ok(())
    };
    git(&["clone", "--quiet", "--no-checkout", ".", &clone.to_string_lossy()], &root)?;
    git(&["checkout", "--quiet", "--detach", revision], &clone)?;
    println!("-- a release build of {revision} from nothing");
    build(&clone, &folder.join("before"))
}

fn build(tree: &Path, target: &Path) -> Result<Build> {
    let notes = target.with_extension("notes");
    let mut command = crate::cargo(&["build", "--release", "--quiet", "--package", "confute-cli"])?;
    let status = command
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTC_WRAPPER", env::current_exe().context("where this program lies")?)
        .env(NOTES, &notes)
        .status()
        .context("cannot run cargo")?;
    ensure!(status.success(), "the build failed");
    let text = fs::read_to_string(&notes).context("no compilation was noted")?;
    let mut crates = BTreeMap::new();
    for line in text.lines() {
        let (name, seconds) = line.split_once(' ').context("a note without a time")?;
        *crates.entry(name.to_owned()).or_default() +=
            seconds.parse::<f64>().context("a time that is none")?;
    }
    let binary = target.join("release/confute");
    let size = fs::metadata(&binary).with_context(|| format!("no {}", binary.display()))?.len();
    Ok(Build { crates, size, stripped: stripped(&binary)?, searches: searches(&binary)? })
}

/// Returns the size of a binary without symbols.
fn stripped(binary: &Path) -> Result<u64> {
    let bare = binary.with_extension("bare");
    let status =
        Command::new("strip").arg("-o").arg(&bare).arg(binary).status().context("cannot run strip")?;
    ensure!(status.success(), "strip failed");
    Ok(fs::metadata(bare)?.len())
}

/// Returns the number of times the search was compiled into a binary. More than one means that a part of it is again
/// generic over the model.
fn searches(binary: &Path) -> Result<usize> {
    let symbols = Command::new("nm").arg("-C").arg(binary).output().context("cannot run nm")?;
    ensure!(symbols.status.success(), "nm failed");
    let symbols = String::from_utf8_lossy(&symbols.stdout);
    Ok(symbols.lines().filter(|line| is_search(line)).count())
}

fn is_search(symbol: &str) -> bool {
    symbol.trim_end().ends_with(">::forward") && symbol.contains("Part")
        || symbol.trim_end().ends_with("Part::forward")
}

fn print(build: &Build) {
    let mut crates: Vec<_> = build.crates.iter().collect();
    crates.sort_by(|one, other| other.1.total_cmp(one.1));
    for (name, seconds) in crates.iter().take(LISTED) {
        println!("  {seconds:7.1} s  {name}");
    }
    let rest = crates.iter().skip(LISTED);
    println!(
        "  {:7.1} s  {} more crates",
        rest.clone().map(|(_, seconds)| **seconds).sum::<f64>(),
        rest.count()
    );
    println!("  {:7.1} s  CPU in all", build.seconds());
    println!(
        "  the binary: {:.1} MB, {:.1} MB without symbols, {} of the search",
        megabytes(build.size),
        megabytes(build.stripped),
        if build.searches == 1 { "one copy".to_owned() } else { format!("{} copies", build.searches) }
    );
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn ratio(now: u64, before: u64) -> f64 {
    megabytes(now) / megabytes(before)
}

/// Compiles if this program was called in place of the compiler, with its path and arguments.
pub(crate) fn in_place_of_the_compiler() -> Option<ExitCode> {
    let notes = PathBuf::from(env::var_os(NOTES)?);
    let mut arguments = env::args_os().skip(1);
    let compiler = arguments.next()?;
    let arguments: Vec<_> = arguments.collect();
    let done = Command::new(compiler).args(&arguments).env_remove(NOTES).status();
    let noted = note(&notes, &arguments);
    let code = done.ok().and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    match (code, noted) {
        (Some(0), Err(error)) => {
            eprintln!("error: {error:#}");
            Some(ExitCode::FAILURE)
        }
        (code, _) => Some(code.map_or(ExitCode::FAILURE, ExitCode::from)),
    }
}

/// Records the CPU time of all child processes that have ended, which is the one compiler.
fn note(notes: &Path, arguments: &[OsString]) -> Result<()> {
    let mut names = arguments.iter().skip_while(|argument| *argument != "--crate-name").skip(1);
    // Cargo also calls the compiler to query versions and settings.
    let Some(name) = names.next() else { return Ok(()) };
    let status =
        fs::read_to_string("/proc/self/stat").context("CPU times are read from /proc, as on Linux")?;
    let ticks = ci::children(&status).context("/proc/self/stat is not as expected")?;
    let mut file = OpenOptions::new().create(true).append(true).open(notes).context("cannot note a time")?;
    // The line is written in one call, because compilers run concurrently.
    file.write_all(format!("{} {:.2}\n", name.to_string_lossy(), ticks / 100.0).as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_the_search_are_recognised() {
        assert!(is_search("0000000000a2 t confute::derive::part::Part::forward"));
        assert!(is_search("0000000000a2 t <confute::derive::part::Part<M>>::forward"));
        assert!(!is_search("0000000000a2 t confute::derive::part::Part::forwards"));
        assert!(!is_search("0000000000a2 t confute::derive::stack::Stack::forward"));
    }
}
