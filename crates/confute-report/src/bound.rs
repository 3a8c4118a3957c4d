//! Reports of exhaustive runs: the claim and the progress.

use std::time::Duration;

use confute_record::{BoundRecord, RunRecord};
use serde_json::{Value, json};

use crate::text::{count, grouped};

/// Progress of an exhaustive run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Time since the start.
    pub elapsed: Duration,
    /// Number of scripts that have run.
    pub cases: u64,
    /// Number of violations so far.
    pub violations: usize,
}

/// Describes the scripts of an exhaustive run.
pub fn all(bound: BoundRecord) -> String {
    let requests = count(bound.requests, "request");
    match bound.of {
        Some(of) => format!("{} of the {} of up to {requests}", grouped(bound.scripts), count(of, "script")),
        None => format!("{} of up to {requests}", count(bound.scripts, "script")),
    }
}

/// Describes the scripts that ran. The claim covers all of them only if every one ran to its end and was judged.
pub fn done(bound: BoundRecord, run: &RunRecord) -> String {
    let tally = &run.tally;
    if is_done(bound, run) {
        return format!("all {} ran", all(bound));
    }
    let broken: u64 = run.troubles.iter().map(|one| one.times).sum();
    let cut = tally.early + tally.stopped + tally.unanswered + broken;
    let ran = tally.cases.saturating_sub(cut + tally.inconclusive + tally.empty + tally.doubtful);
    format!("{} of {} ran and were judged", grouped(ran), all(bound))
}

/// Returns `true` if every script ran to its end and was judged. A script that was cut short by a trouble did not.
fn is_done(bound: BoundRecord, run: &RunRecord) -> bool {
    run.tally.is_all_of(bound.scripts) && run.troubles.is_empty()
}

/// Returns notes on the evidence for the claim.
pub fn notes(bound: BoundRecord, run: &RunRecord) -> Vec<String> {
    let mut notes = vec![done(bound, run)];
    if !run.violations.is_empty() {
        notes.push("each violation is shown with the fewest requests; its rule is".to_owned());
        notes.push("relaxed for later scripts".to_owned());
    }
    let unanswered = run.tally.unanswered;
    if unanswered > 0 {
        let scripts = count(unanswered, "script");
        notes.push(format!("in {scripts} a connection ended before its request was answered"));
    }
    let left_out = run.figures.skipped;
    if left_out > 0 {
        notes.push(format!(
            "{} left out: no response contained the tags they refer to",
            count(left_out, "request")
        ));
    }
    notes
}

/// Formats the progress, with an estimate of the remaining time.
pub fn line(bound: BoundRecord, progress: &Progress) -> String {
    let left = bound.scripts.saturating_sub(progress.cases);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let left = left as f64 / progress.cases.max(1) as f64 * progress.elapsed.as_secs_f64();
    let left = about(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX));
    format!(
        "{:.0} s: {} of {} scripts, about {left} left, {}",
        progress.elapsed.as_secs_f64(),
        grouped(progress.cases),
        grouped(bound.scripts),
        count(progress.violations as u64, "violation"),
    )
}

/// Returns the claim as JSON.
pub fn json(bound: BoundRecord, run: &RunRecord) -> Value {
    json!({
        "requests": bound.requests,
        "scripts": bound.scripts,
        "all_ran": is_done(bound, run),
        "unanswered": run.tally.unanswered,
        "left_out": run.figures.skipped,
    })
}

/// Formats an estimated duration, rounded up.
fn about(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("{} s", seconds + 1),
        seconds @ ..5400 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", grouped(seconds.div_ceil(3600))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_is_left() {
        let bound = BoundRecord { requests: 3, scripts: 110_000, of: None };
        let progress = Progress { elapsed: Duration::from_secs(2), cases: 10_000, violations: 0 };
        assert_eq!(line(bound, &progress), "2 s: 10,000 of 110,000 scripts, about 21 s left, 0 violations");
        assert_eq!(all(bound), "110,000 scripts of up to 3 requests");
        // Before the first script has ended there is no estimate.
        let progress = Progress { cases: 0, ..progress };
        assert!(line(bound, &progress).len() <= crate::text::WIDTH, "{}", line(bound, &progress));
    }
}
