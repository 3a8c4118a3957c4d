//! All scripts up to a size: what is claimed of them, and how long they take.

use std::time::Duration;

use confute_drive::{Live, Outcome, Plan};
use serde_json::{Value, json};

use crate::text::{count, grouped};

/// Every script of up to so many requests.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Of how many requests at most.
    pub requests: u64,
    /// How many scripts that are.
    pub scripts: u64,
}

impl Bound {
    /// They are the cases, and they have as long as they take.
    pub fn plan(self, plan: Plan, max_time: Option<Duration>) -> Plan {
        Plan { cases: Some(self.scripts), exhaustive: true, max_time, ..plan }
    }

    /// What there is to do.
    pub fn all(self) -> String {
        format!("{} of up to {}", count(self.scripts, "script"), count(self.requests, "request"))
    }

    /// What was done: all, only if every one ran to its end and was judged.
    pub fn done(self, outcome: &Outcome) -> String {
        let tally = &outcome.tally;
        if self.is_done(outcome) {
            return format!("all {} ran", self.all());
        }
        let broken: u64 = outcome.troubles.iter().map(|(_, times)| times).sum();
        let cut = tally.early + tally.stopped + tally.unanswered + broken;
        let ran = tally.cases.saturating_sub(cut + tally.inconclusive + tally.empty + tally.doubtful);
        format!("{} of {} ran and were judged", grouped(ran), self.all())
    }

    /// Whether every one ran. Where a conversation broke off, that one did not.
    fn is_done(self, outcome: &Outcome) -> bool {
        outcome.tally.is_all_of(self.scripts) && outcome.troubles.is_empty()
    }

    /// What that rests on.
    pub fn notes(self, outcome: &Outcome) -> Vec<String> {
        let mut notes = vec![self.done(outcome)];
        if !outcome.findings.is_empty() {
            notes.push("a violation is shown as found with the fewest requests; what is found is".to_owned());
            notes.push("relaxed for the scripts that come after".to_owned());
        }
        let unanswered = outcome.tally.unanswered;
        if unanswered > 0 {
            let scripts = count(unanswered, "script");
            notes.push(format!("{scripts} lost a request, for its connection ended"));
        }
        let left_out = outcome.figures.skipped;
        if left_out > 0 {
            notes.push(format!("{} left out: no answer had told their tags", count(left_out, "request")));
        }
        notes
    }

    /// How far it is, and how long the rest will take if it goes on like this.
    pub fn line(self, live: &Live) -> String {
        let left = self.scripts.saturating_sub(live.cases);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let left = left as f64 / live.cases.max(1) as f64 * live.elapsed.as_secs_f64();
        let left = about(Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX));
        format!(
            "{:.0} s: {} of {} scripts, about {left} left, {}",
            live.elapsed.as_secs_f64(),
            grouped(live.cases),
            grouped(self.scripts),
            count(live.findings as u64, "violation"),
        )
    }

    /// For programs.
    pub fn json(self, outcome: &Outcome) -> Value {
        json!({
            "requests": self.requests,
            "scripts": self.scripts,
            "all_ran": self.is_done(outcome),
            "unanswered": outcome.tally.unanswered,
            "left_out": outcome.figures.skipped,
        })
    }
}

/// Roughly so long: what is told of the future is not exact.
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
        let bound = Bound { requests: 3, scripts: 110_000 };
        let live = Live { elapsed: Duration::from_secs(2), cases: 10_000, ..Live::default() };
        assert_eq!(bound.line(&live), "2 s: 10,000 of 110,000 scripts, about 21 s left, 0 violations");
        assert_eq!(bound.all(), "110,000 scripts of up to 3 requests");
        // Before the first has ended nobody knows.
        let live = Live { cases: 0, ..live };
        assert!(bound.line(&live).len() <= crate::text::WIDTH, "{}", bound.line(&live));
    }
}
