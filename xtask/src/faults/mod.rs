//! `cargo xtask faults`: checks that the oracle tests notice faults in the search.
//!
//! The engine is fast because it prunes, and each pruning has a condition. Here every such condition is dropped in
//! turn, in a copy of the workspace, and an oracle test has to notice; otherwise the condition could also be lost by
//! accident. The faults themselves are in [`planted`]; the workspace is never changed.

mod planted;
mod scion;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::root;
use planted::{FAULTS, Fault, Oracle};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Plant only these faults
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Number of triples of model, network and trace in which a fault has to be noticed, unless it is known to need
    /// more
    #[arg(long, default_value = "20000")]
    triples: u64,
    /// Maximum time of the test for one fault, in seconds; after that, the fault has survived
    #[arg(long, default_value = "600")]
    max_time: u64,
    /// List the faults and plant none
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let is_known = |name: &&String| FAULTS.iter().any(|fault| fault.name == **name);
    if let Some(unknown) = args.only.iter().find(|name| !is_known(name)) {
        bail!("no fault is called `{unknown}`; `cargo xtask faults --list` names them");
    }
    let is_wanted = |fault: &&Fault| args.only.is_empty() || args.only.iter().any(|only| fault.name == only);
    let faults: Vec<&Fault> = FAULTS.iter().filter(is_wanted).collect();
    for fault in &faults {
        plant(fault, &fs::read_to_string(root()?.join(fault.file)).with_context(|| fault.file.to_owned())?)?;
    }
    if args.list {
        faults
            .iter()
            .for_each(|fault| println!("{:<28} {}\n{:28} {}", fault.name, fault.drops, "", fault.file));
        return Ok(true);
    }
    let bed = Bed::prepare(args)?;
    for oracle in Oracle::ALL {
        let wanted = faults.iter().filter(|fault| fault.oracle == oracle);
        // The run without a fault gets as many triples as any fault: a difference that exists without a fault must
        // not count as noticing it.
        if let Some(triples) = wanted.map(|fault| fault.triples.max(args.triples)).max() {
            let plain = bed.ask(oracle, triples)?;
            println!("without a fault: {}, {:.0} s", oracle.test().2, plain.time.as_secs_f64());
            // A test that does not end proves nothing about faults either.
            ensure!(
                plain.passed && plain.ended,
                "{} fails without any fault: {}",
                oracle.test().2,
                plain.said
            );
        }
    }
    let mut rows = Vec::new();
    for (number, fault) in faults.iter().enumerate() {
        let row = bed.try_one(fault)?;
        println!(
            "{:>2} of {}: {:<28} {:<8} {:>4.0} s  {}",
            number + 1,
            faults.len(),
            fault.name,
            word(&row),
            row.time.as_secs_f64(),
            row.said
        );
        rows.push(row);
    }
    Ok(summary(&faults, &rows))
}

/// Result of an oracle test.
struct Row {
    passed: bool,
    /// `true` if the test ended before the timeout.
    ended: bool,
    said: String,
    time: Duration,
}

fn word(row: &Row) -> &'static str {
    if row.passed { "SURVIVED" } else { "caught" }
}

fn summary(faults: &[&Fault], rows: &[Row]) -> bool {
    println!("\n| fault | condition it drops | | how it shows | s |\n|---|---|---|---|---|");
    for (fault, row) in faults.iter().zip(rows) {
        let Fault { name, drops, .. } = fault;
        println!("| {name} | {drops} | {} | {} | {:.0} |", word(row), row.said, row.time.as_secs_f64());
    }
    let survived: Vec<&str> =
        faults.iter().zip(rows).filter(|(_, row)| row.passed).map(|(fault, _)| fault.name).collect();
    println!("\nfaults: {} of {} caught", rows.len() - survived.len(), rows.len());
    if !survived.is_empty() {
        println!("SURVIVED: {}", survived.join(", "));
    }
    survived.is_empty()
}

/// Returns the text of a file with the fault in it.
fn plant(fault: &Fault, text: &str) -> Result<String> {
    scion::graft(text, fault.find, fault.put)
        .with_context(|| format!("fault {:?} does not fit {} any more", fault.name, fault.file))
}

/// Copy of the workspace in which faults are planted.
struct Bed {
    tree: PathBuf,
    target: PathBuf,
    triples: u64,
    patience: Duration,
}

impl Bed {
    fn prepare(args: &Args) -> Result<Self> {
        let place = root()?.join("target/faults");
        let bed = Self {
            tree: place.join("tree"),
            target: place.join("target"),
            triples: args.triples,
            patience: Duration::from_secs(args.max_time),
        };
        let files = tracked()?;
        remove_others(&bed.tree, Path::new(""), &files)?;
        for file in &files {
            let (from, to) = (root()?.join(file), bed.tree.join(file));
            let content = fs::read(&from).with_context(|| from.display().to_string())?;
            // An unchanged file keeps its modification time, so that it is not rebuilt.
            if fs::read(&to).ok().as_ref() != Some(&content) {
                fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
                fs::write(&to, content)?;
            }
        }
        Ok(bed)
    }

    /// Plants a fault, runs its oracle test, and removes the fault.
    fn try_one(&self, fault: &Fault) -> Result<Row> {
        let file = self.tree.join(fault.file);
        let sound = fs::read_to_string(&file)?;
        fs::write(&file, plant(fault, &sound)?)?;
        let row = self.ask(fault.oracle, fault.triples.max(self.triples));
        fs::write(&file, sound)?;
        row.with_context(|| format!("fault {:?}", fault.name))
    }

    /// Builds and runs an oracle test until its first difference.
    fn ask(&self, oracle: Oracle, triples: u64) -> Result<Row> {
        let start = Instant::now();
        let (package, test, filter) = oracle.test();
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["test", "--package", package, "--test", test, "--release", "--no-run"])
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .context("cannot run cargo")?;
        let words = String::from_utf8_lossy(&built.stderr);
        ensure!(built.status.success(), "it does not build:\n{words}");
        let program = words
            .lines()
            .find_map(|line| line.trim().strip_prefix("Executable ")?.split_once('(')?.1.strip_suffix(')'))
            .context("cargo does not say what it built")?;
        // The output goes to a file rather than a pipe, which would have to be read while the test runs.
        let heard = self.target.join("heard");
        let mut child = Command::new(self.tree.join(program))
            .arg(filter)
            .current_dir(self.tree.join(oracle.folder()))
            .env("CONFUTE_TRIPLES", triples.to_string())
            .env("CONFUTE_FIRST", "1")
            .stdin(Stdio::null())
            .stdout(File::create(&heard)?)
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| program.to_owned())?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if start.elapsed() > self.patience {
                child.kill()?;
                child.wait()?;
                let said = format!("no verdict after {} s", self.patience.as_secs());
                return Ok(Row { passed: true, ended: false, said, time: start.elapsed() });
            }
            sleep(Duration::from_millis(50));
        };
        let words = fs::read_to_string(&heard)?;
        let said = if status.success() {
            ensure!(!words.contains(" 0 passed"), "no test {filter} in {test}");
            "the test passed".to_owned()
        } else {
            first_words(&words).with_context(|| format!("{filter} ended with {status}"))?
        };
        Ok(Row { passed: status.success(), ended: true, said, time: start.elapsed() })
    }
}

/// Returns the first line of a failed test's panic message, with its position in the random sequence.
fn first_words(words: &str) -> Option<String> {
    let mut lines = words.lines().skip_while(|line| !line.contains(" panicked at ")).skip(1);
    let first = lines.next()?.trim().trim_start_matches("1 times: ");
    let more = lines.next().unwrap_or_default();
    let more: String = more.split(", relaxed").next().unwrap_or_default().chars().take(90).collect();
    Some(if more.starts_with("seed ") {
        format!("{first} ({more})")
    } else {
        first.chars().take(120).collect()
    })
}

/// Returns the files of the workspace, except those that Git ignores.
fn tracked() -> Result<Vec<PathBuf>> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root()?)
        .output()
        .context("cannot run git")?;
    if !listed.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    }
    let names = String::from_utf8(listed.stdout).context("a file's name is not UTF-8")?;
    let mut files = Vec::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        if root()?.join(name).is_file() {
            files.push(PathBuf::from(name));
        }
    }
    Ok(files)
}

/// Removes files of an earlier copy that are not in this one.
fn remove_others(tree: &Path, folder: &Path, files: &[PathBuf]) -> Result<()> {
    let Ok(entries) = fs::read_dir(tree.join(folder)) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            remove_others(tree, &path, files)?;
        } else if !files.contains(&path) {
            fs::remove_file(tree.join(&path))?;
        }
    }
    Ok(())
}
