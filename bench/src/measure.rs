//! Clocks, memory, and processes to measure in.
//!
//! Everything that is measured runs in a child process of this same binary, which has nothing in its heap but its own
//! input, and hands over two lines: its resident set before the measurement, and its figures as JSON. The parent only watches, and ends a child that takes too much.

use std::ffi::OsString;
use std::fs;
use std::io::{IsTerminal as _, Read as _, stderr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Short judgements are repeated until they have taken this long together, and the best one counts.
const ENOUGH: Duration = Duration::from_millis(50);

/// What a child may take.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// CPU time.
    pub(crate) time: Duration,
    /// Resident bytes.
    pub(crate) memory: u64,
}

/// What became of a child.
pub(crate) enum Ended<T> {
    /// It handed over its figures.
    Done(T),
    /// It took too much and was ended.
    Cut {
        /// Whether of time; else of memory.
        late: bool,
        /// How far its resident set rose until then.
        peak: u64,
    },
}

/// The cost of a judgement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// CPU seconds of the first run.
    pub(crate) first: f64,
    /// CPU seconds of the best run.
    pub(crate) best: f64,
    /// How many runs there were.
    pub(crate) runs: u32,
    /// Bytes that the first run needed at its peak, beyond what was there before.
    pub(crate) peak: u64,
}

/// Runs a judgement, several times if it is short, and returns what it said the first time.
pub(crate) fn judge<T>(mut judgement: impl FnMut() -> T) -> Result<(T, Cost)> {
    let peak = Peak::start()?;
    let start = cpu();
    let said = judgement();
    let first = cpu().saturating_sub(start);
    let peak = peak.bytes()?;
    let (mut best, mut total, mut runs) = (first, first, 1);
    while total < ENOUGH {
        let start = cpu();
        judgement();
        let took = cpu().saturating_sub(start);
        best = best.min(took);
        // A clock that stands still must not keep us here.
        total += took.max(Duration::from_micros(1));
        runs += 1;
    }
    Ok((said, Cost { first: first.as_secs_f64(), best: best.as_secs_f64(), runs, peak }))
}

/// CPU time of this process so far, over all threads.
pub(crate) fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Watches the peak of this process's resident set.
pub(crate) struct Peak {
    before: u64,
}

impl Peak {
    /// From here on. The parent is told where it starts: if it has to end this process, it knows how far it rose.
    pub(crate) fn start() -> Result<Self> {
        // Resets the peak that the kernel keeps.
        fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of the resident set")?;
        let before = resident("self", "VmRSS")?;
        println!("{before}");
        Ok(Self { before })
    }

    /// How far it rose.
    pub(crate) fn bytes(&self) -> Result<u64> {
        Ok(resident("self", "VmHWM")?.saturating_sub(self.before))
    }
}

/// A field of `/proc/PID/status`, in bytes.
fn resident(process: &str, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kilobytes = status.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name == field { value.split_whitespace().next()?.parse::<u64>().ok() } else { None }
    });
    Ok(kilobytes.with_context(|| format!("/proc/{process}/status has no {field}"))? << 10)
}

/// CPU time of another process so far.
fn cpu_of(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain anything; user and system time are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks =
        fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_secs(ticks) / u32::try_from(clock_ticks_per_second()).ok()?)
}

/// Ends a child by handing its figures to the parent.
pub(crate) fn hand_over(figures: &impl Serialize) -> Result<bool> {
    println!("{}", serde_json::to_string(figures)?);
    Ok(true)
}

/// Runs this binary with these arguments, and takes its figures.
pub(crate) fn in_child<T: DeserializeOwned>(arguments: &[OsString], limit: Limit) -> Result<Ended<T>> {
    let own = std::env::current_exe().context("cannot find this binary")?;
    let label = arguments.join(" ".as_ref());
    if stderr().is_terminal() {
        // Written over by the next one, or by the table.
        eprint!("\r\x1b[K{}\r", label.display());
    }
    let mut child = Command::new(own).args(arguments).stdout(Stdio::piped()).spawn()?;
    let ended = watch(&mut child, limit);
    if stderr().is_terminal() {
        eprint!("\x1b[K");
    }
    if !matches!(ended, Ok(None)) {
        // Also if watching failed: nothing may be left running.
        child.kill()?;
        child.wait()?;
    }
    let mut text = String::new();
    child.stdout.take().context("the child's output was piped")?.read_to_string(&mut text)?;
    let mut lines = text.lines();
    let before = lines.next().and_then(|line| line.parse::<u64>().ok());
    if let Some((late, peak)) = ended? {
        return Ok(Ended::Cut { late, peak: peak.saturating_sub(before.unwrap_or(peak)) });
    }
    let status = child.wait()?;
    match lines.next() {
        Some(figures) if status.success() => Ok(Ended::Done(serde_json::from_str(figures)?)),
        _ => bail!("`bench {}` failed: {status}", label.display()),
    }
}

/// Waits for a child; if it takes too much, whether of time, and its peak so far.
fn watch(child: &mut Child, limit: Limit) -> Result<Option<(bool, u64)>> {
    let process = child.id();
    let mut pause = Duration::from_millis(1);
    loop {
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
        // A child that ends in this moment has neither.
        let late = cpu_of(process).is_some_and(|cpu| cpu > limit.time);
        let peak = resident(&process.to_string(), "VmHWM").unwrap_or_default();
        if late || peak > limit.memory {
            return Ok(Some((late, peak)));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
