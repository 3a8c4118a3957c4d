//! Measurement of time and memory in child processes.
//!
//! Each measurement runs in a child process of this same binary, which has only its own input in its heap, and which
//! prints two lines: its resident set before the measurement, and its figures as JSON. The parent only monitors, and
//! kills a child that exceeds its limits.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read as _, stderr};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, clock_gettime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Minimum total time of a short judgement's repetitions, of which the best counts.
const ENOUGH: Duration = Duration::from_millis(50);

/// Resource limits of a child process.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    /// Maximum CPU time.
    pub(crate) time: Duration,
    /// Maximum resident set, in bytes.
    pub(crate) memory: u64,
}

/// Result of a child process.
pub(crate) enum Ended<T> {
    /// The child printed its figures.
    Done(T),
    /// The child exceeded a limit and was killed.
    Cut {
        /// `true` if it exceeded the time limit, `false` if the memory limit.
        late: bool,
        /// Increase of its resident set until then, in bytes.
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
    /// Number of runs.
    pub(crate) runs: u32,
    /// Peak memory of the first run in bytes, less the memory used before.
    pub(crate) peak: u64,
}

/// Runs a judgement, repeatedly if it is short, and returns its first result and its cost.
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
        // A minimum is added, so that the loop ends even if the clock does not advance.
        total += took.max(Duration::from_micros(1));
        runs += 1;
    }
    Ok((said, Cost { first: first.as_secs_f64(), best: best.as_secs_f64(), runs, peak }))
}

/// Runs a judgement five times, or fewer if that takes more than the limit, and returns its first result and its cost.
pub(crate) fn five<T>(limit: Duration, mut judgement: impl FnMut() -> T) -> Result<(T, Cost)> {
    let peak = Peak::quiet()?;
    let start = cpu();
    let said = judgement();
    let first = cpu().saturating_sub(start);
    let peak = peak.bytes()?;
    let (mut best, mut total, mut runs) = (first, first, 1);
    // One more run takes about as long as those before, and must end in time too.
    while runs < 5 && total * 3 < limit {
        let start = cpu();
        judgement();
        let took = cpu().saturating_sub(start);
        best = best.min(took);
        total += took;
        runs += 1;
    }
    Ok((said, Cost { first: first.as_secs_f64(), best: best.as_secs_f64(), runs, peak }))
}

/// Returns the CPU time of this process so far, over all threads.
pub(crate) fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Meter of the peak resident set of this process.
pub(crate) struct Peak {
    before: u64,
}

impl Peak {
    /// Starts measuring. Prints the initial size, so that the parent can compute the increase even if it has to kill
    /// this process.
    pub(crate) fn start() -> Result<Self> {
        let peak = Self::quiet()?;
        println!("{}", peak.before);
        Ok(peak)
    }

    /// Starts measuring without a word.
    fn quiet() -> Result<Self> {
        // This resets the peak that the kernel records.
        fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of the resident set")?;
        Ok(Self { before: resident("self", "VmRSS")? })
    }

    /// Returns the increase since the start, in bytes.
    pub(crate) fn bytes(&self) -> Result<u64> {
        Ok(resident("self", "VmHWM")?.saturating_sub(self.before))
    }
}

/// Returns a field of `/proc/PID/status`, in bytes.
fn resident(process: &str, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let kilobytes = status.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name == field { value.split_whitespace().next()?.parse::<u64>().ok() } else { None }
    });
    Ok(kilobytes.with_context(|| format!("/proc/{process}/status has no {field}"))? << 10)
}

/// Returns the CPU time of another process so far.
fn cpu_of(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may contain any character; user and system time are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks =
        fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_secs(ticks) / u32::try_from(clock_ticks_per_second()).ok()?)
}

/// Prints the figures of a child process for its parent.
pub(crate) fn hand_over(figures: &impl Serialize) -> Result<bool> {
    println!("{}", serde_json::to_string(figures)?);
    Ok(true)
}

/// Runs this binary with these arguments, and reads its figures.
pub(crate) fn in_child<T: DeserializeOwned>(arguments: &[OsString], limit: Limit) -> Result<Ended<T>> {
    let own = std::env::current_exe().context("cannot find this binary")?;
    let label = arguments.join(" ".as_ref());
    if stderr().is_terminal() {
        // The line is overwritten by the next one, or by the table.
        eprint!("\r\x1b[K{}\r", label.display());
    }
    let mut child = Command::new(own).args(arguments).stdout(Stdio::piped()).spawn()?;
    let ended = watch(&mut child, limit);
    if stderr().is_terminal() {
        eprint!("\x1b[K");
    }
    if !matches!(ended, Ok(None)) {
        // The child is killed even if monitoring failed, so that nothing is left running.
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

/// Runs this binary for the tasks from 0 on, with the arguments of the first task that is left, and reads a line of
/// figures for each. A task that exceeds the limit yields `None`; the binary is then run again for those behind it.
pub(crate) fn each_in_child<T: DeserializeOwned>(
    arguments: &dyn Fn(u64) -> Vec<OsString>,
    count: u64,
    limit: Limit,
) -> Result<Vec<Option<T>>> {
    let own = std::env::current_exe().context("cannot find this binary")?;
    let mut results = Vec::new();
    while (results.len() as u64) < count {
        let mut child =
            Command::new(&own).args(arguments(results.len() as u64)).stdout(Stdio::piped()).spawn()?;
        let before = results.len();
        let ended = collect(&mut child, limit, &mut results);
        if !matches!(ended, Ok(true)) {
            child.kill()?;
        }
        let status = child.wait()?;
        match ended? {
            true if !status.success() || results.len() == before => bail!("a child failed: {status}"),
            true => {}
            false => results.push(None),
        }
    }
    Ok(results)
}

/// Reads the lines of a child until it ends. Returns `false` if it exceeded a limit on the way to its next line.
fn collect<T: DeserializeOwned>(
    child: &mut Child,
    limit: Limit,
    results: &mut Vec<Option<T>>,
) -> Result<bool> {
    let process = child.id();
    let output = child.stdout.take().context("the child's output was piped")?;
    let (lines, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let mut start = Duration::ZERO;
    loop {
        match receiver.recv_timeout(Duration::from_millis(10)) {
            Ok(line) => {
                results.push(Some(serde_json::from_str(&line)?));
                start = cpu_of(process).unwrap_or(start);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                _ = reader.join();
                return Ok(true);
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let spent = cpu_of(process).unwrap_or(start).saturating_sub(start);
                let held = resident(&process.to_string(), "VmRSS").unwrap_or_default();
                // The kernel counts in ticks, and the history has to be made too.
                if spent > limit.time + limit.time / 10 || held > limit.memory {
                    return Ok(false);
                }
            }
        }
    }
}

/// Waits for a child. If it exceeds a limit, returns its peak so far, and `true` if the limit is that of time.
fn watch(child: &mut Child, limit: Limit) -> Result<Option<(bool, u64)>> {
    let process = child.id();
    let mut pause = Duration::from_millis(1);
    loop {
        if child.try_wait()?.is_some() {
            return Ok(None);
        }
        // A child that ends at this moment has neither figure.
        let late = cpu_of(process).is_some_and(|cpu| cpu > limit.time);
        let peak = resident(&process.to_string(), "VmHWM").unwrap_or_default();
        if late || peak > limit.memory {
            return Ok(Some((late, peak)));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}
