//! `cargo xtask scale check`: many generated histories, judged in shards and in one run.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use confute::random::Random;

use super::{fresh, programs};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of histories
    #[arg(long, default_value = "10000")]
    files: usize,
    /// Number of shards
    #[arg(long, default_value = "16")]
    shards: usize,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let (confute, _) = programs()?;
    let root = fresh("check")?;
    fs::create_dir_all(root.join("histories"))?;
    let files: Vec<String> = (0..args.files).map(|number| format!("histories/{number:05}.edn")).collect();
    for (number, file) in files.iter().enumerate() {
        fs::write(root.join(file), history(number as u64))?;
    }
    let check = |more: &[&str]| {
        Command::new(&confute)
            .current_dir(&root)
            .args(["check", "--model", "kv"])
            .args(more)
            .args(&files)
            .output()
    };
    let start = Instant::now();
    let single = check(&[])?;
    println!("one run: exit code {:?}, {:.1} s", single.status.code(), start.elapsed().as_secs_f64());
    let start = Instant::now();
    let mut folders = Vec::new();
    for index in 0..args.shards {
        let folder = format!("out/{index}");
        check(&["--shard", &format!("{index}/{}", args.shards), "--report-dir", &folder])?;
        folders.push(folder);
    }
    println!("{} shards, one after the other: {:.1} s", args.shards, start.elapsed().as_secs_f64());
    let start = Instant::now();
    let merged = Command::new(&confute).current_dir(&root).arg("merge").args(&folders).output()?;
    println!("merge: exit code {:?}, {:.1} s", merged.status.code(), start.elapsed().as_secs_f64());
    let (whole, parts) = (table(&single.stdout), table(&merged.stdout));
    println!("{}", whole.lines().last().unwrap_or_default());
    ensure!(single.status.code() == merged.status.code(), "the exit codes differ");
    println!(
        "tables without times: {} bytes, {}",
        whole.len(),
        if whole == parts { "equal" } else { "different" }
    );
    Ok(whole == parts && whole.lines().count() == args.files + 2)
}

/// Returns the table at the end of an output, without times.
fn table(out: &[u8]) -> String {
    let out = String::from_utf8_lossy(out);
    let start = out.rfind("\nfile ").map_or(0, |at| at + 1);
    let mut text = String::new();
    for line in out[start..].lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_time = |place: usize| {
            let number = words[place].parse::<f64>().is_ok();
            number && words.get(place + 1).is_some_and(|unit| ["ms", "s"].contains(unit))
        };
        let kept: Vec<&str> = (0..words.len())
            .filter(|place| !(is_time(*place) || *place > 0 && is_time(place - 1)))
            .map(|place| words[place])
            .collect();
        let _ = writeln!(text, "{}", kept.join(" "));
    }
    text
}

/// Returns a history of a key-value store: three clients, and in one of seven a read of a value that was lost.
fn history(seed: u64) -> String {
    let mut random = Random::new(seed);
    let (mut text, mut values) = (String::new(), [String::new(), String::new()]);
    let wrong = seed.is_multiple_of(7);
    for step in 0..20 {
        let (process, key) = (random.below(3), random.below(2) as usize);
        let name = ["x", "y"][key];
        let mut add = |kind: &str, f: &str, value: &str| {
            let _ = writeln!(
                text,
                "{{:process {process}, :type :{kind}, :f :{f}, :key \"{name}\", :value {value}}}"
            );
        };
        if random.below(2) == 0 {
            let value = format!("v{step}");
            add("invoke", "put", &format!("\"{value}\""));
            add("ok", "put", &format!("\"{value}\""));
            values[key] = value;
        } else {
            let value = if wrong && step > 15 { "lost" } else { &*values[key] };
            add("invoke", "get", "nil");
            add("ok", "get", &format!("\"{value}\""));
        }
    }
    text
}
