//! `cargo xtask scale merge`: the time and the memory of merging many folders, some of them damaged.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use confute_record::merge::fabricated;
use confute_record::{Conclusion, FileRecord, Shard};
use serde_json::Value;

use super::{fresh, programs, watched};

/// Number of causes.
const CAUSES: usize = 12;
/// Number of violations in each folder.
const EACH: usize = 10;
/// Most memory that a merge may use.
const MOST_KIB: u64 = 200 * 1024;
/// Most seconds that a merge may take.
const MOST_SECONDS: f64 = 60.0;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of folders
    #[arg(long, default_value = "10000")]
    folders: u64,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let (confute, _) = programs()?;
    let root = fresh("merge")?;
    let count = args.folders;
    let mut bytes = 0;
    for index in 0..count {
        bytes += write(&root, index, count)?;
    }
    // Damage: broken JSON, half a file, another version, the same shard twice, and a shard of another campaign.
    let path = |index: u64| root.join(index.to_string()).join("record.json");
    fs::write(path(1), "{\"confute\": nonsense}")?;
    let text = fs::read_to_string(path(2))?;
    fs::write(path(2), &text[..text.len() / 2])?;
    let text = fs::read_to_string(path(3))?;
    fs::write(path(3), text.replacen("\"version\":1", "\"version\":2", 1))?;
    let copy = |from: u64, to: u64, change: &dyn Fn(String) -> String| -> Result<()> {
        fs::create_dir_all(root.join(to.to_string()))?;
        fs::write(path(to), change(fs::read_to_string(path(from))?))?;
        Ok(())
    };
    copy(4, count, &|text| text.replacen("\"id\":\"run-4\"", "\"id\":\"again\"", 1))?;
    copy(5, count + 1, &|text| {
        text.replacen("\"seed\":7,\"level\"", "\"seed\":8,\"level\"", 1).replacen("run-5", "foreign", 1)
    })?;
    let folders: Vec<String> = (0..count + 2).map(|index| index.to_string()).collect();
    let start = Instant::now();
    let mut command = Command::new(confute);
    let ended = watched(command.current_dir(&root).arg("merge").args(folders).args([
        "-q",
        "--report-dir",
        "merged",
    ]))?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{count} folders, {:.0} MB: merged in {seconds:.1} s with {:.0} MB of memory at most, exit code {}",
        bytes as f64 / 1e6,
        ended.peak_kib as f64 / 1024.0,
        ended.code
    );
    let summary: Value = serde_json::from_slice(&fs::read(root.join("merged/summary.json"))?)?;
    let findings = summary["findings"].as_array().cloned().unwrap_or_default();
    let listed: usize = findings.iter().filter_map(|one| one["occurrences"].as_array()).map(Vec::len).sum();
    let times: u64 = findings.iter().filter_map(|one| one["times"].as_u64()).sum();
    // Three folders cannot be read. The occurrences of the doubled shard are listed with both runs, and counted once.
    let (all, doubled) = ((count as usize - 3) * EACH, EACH);
    println!("{} causes, {times} occurrences counted, {listed} listed", findings.len());
    println!("problems:");
    for problem in summary["merged"]["problems"].as_array().into_iter().flatten() {
        println!("  {}", problem.as_str().unwrap_or_default());
    }
    let size = fs::metadata(root.join("merged/record.json"))?.len();
    println!("merged record: {:.1} MB", size as f64 / 1e6);
    let start = Instant::now();
    let mut command = Command::new(programs()?.0);
    let again = watched(command.current_dir(&root).args([
        "merge",
        "merged",
        "0",
        "1",
        "-q",
        "--report-dir",
        "again",
    ]))?;
    println!(
        "merged again with two of its folders in {:.1} s, {:.0} MB",
        start.elapsed().as_secs_f64(),
        again.peak_kib as f64 / 1024.0
    );
    ensure!(ended.code == 1, "exit code {}: {}{}", ended.code, ended.out, ended.err);
    ensure!(
        findings.len() == CAUSES && times as usize == all && listed == all + doubled,
        "occurrences were lost: {all} expected"
    );
    let problems = summary["merged"]["problems"].to_string();
    for expected in [
        "missing: shards 1-3",
        "doubled: shard 4",
        "seed 8 instead of 7",
        "not read: 1:",
        "not read: 2:",
        "not read: 3:",
    ] {
        ensure!(problems.contains(expected), "not named: {expected}");
    }
    let same = fs::read(root.join("merged/record.json"))? == fs::read(root.join("again/record.json"))?;
    ensure!(same, "merging again changed the record");
    Ok(seconds < MOST_SECONDS && ended.peak_kib < MOST_KIB && again.peak_kib < MOST_KIB)
}

/// Writes the folder of a shard. Returns the size of its record.
fn write(root: &std::path::Path, index: u64, count: u64) -> Result<u64> {
    let mut record = fabricated::record(&format!("run-{index}"), Some(Shard { index, of: count }), 7);
    record.plan.cases = Some(count * 10);
    record.conclusion = Conclusion::Refuted;
    for number in 0..EACH {
        let cause = (index as usize + number) % CAUSES;
        let case = index + count * number as u64;
        let mut violation =
            fabricated::violation(number + 1, &[cause], 2 + (index as usize + cause) % 3, &[case]);
        let content = "{\"step\":{\"ask\":{\"method\":\"put\"}}}\n".repeat(100);
        violation.files.push(FileRecord { name: "violation.case".to_owned(), content, executable: false });
        record.violations.push(violation);
    }
    let folder = root.join(index.to_string());
    fs::create_dir_all(&folder)?;
    let text = serde_json::to_vec(&record)?;
    fs::write(folder.join("record.json"), &text)?;
    Ok(text.len() as u64)
}
