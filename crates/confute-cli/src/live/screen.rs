//! A progress line on standard error.
//!
//! On a terminal the line is overwritten and erased at the end; elsewhere (with `-v`) there is one line per second.

use std::io::Write as _;
use std::time::{Duration, Instant};

use confute_drive::Live;
use confute_record::BoundRecord;
use confute_report::bound;

use super::Flags;

use crate::args::Color;
use crate::output;
use confute_report::text::{clip, count, grouped};

pub(super) struct Screen {
    color: Color,
    terminal: bool,
    tells: bool,
    told: Option<Instant>,
    shown: bool,
    /// Smoothed number of responses per second.
    rate: f64,
    /// The bound of an exhaustive run.
    bound: Option<BoundRecord>,
}

impl Screen {
    pub(super) fn new(flags: &Flags, bound: Option<BoundRecord>, color: Color) -> Self {
        let terminal = output::is_watched() && !flags.quiet;
        let mut screen = Self {
            color,
            terminal,
            tells: terminal || flags.verbose,
            told: None,
            shown: false,
            rate: 0.0,
            bound,
        };
        if let Some(bound) = bound {
            screen.say(&bound::all(bound));
        }
        screen
    }

    pub(super) fn show(&mut self, live: &Live) {
        self.rate = if self.rate == 0.0 { live.rate } else { 0.8 * self.rate + 0.2 * live.rate };
        if self.is_time(Duration::from_millis(100)) {
            let Live { elapsed, cases, findings: violations, .. } = *live;
            let progress = bound::Progress { elapsed, cases, violations };
            let line =
                self.bound.map_or_else(|| line(live, self.rate), |bound| bound::line(bound, &progress));
            self.put(&line);
        }
    }

    /// Replaces the progress line: at once on a terminal, where it is overwritten.
    pub(super) fn replace(&mut self, line: &str) {
        if self.is_time(Duration::ZERO) {
            self.put(&clip(line, confute_report::text::WIDTH));
        }
    }

    /// Returns `true` if it is time to print again, after this pause on a terminal or after a second elsewhere.
    fn is_time(&self, pause: Duration) -> bool {
        let pause = if self.terminal { pause } else { Duration::from_secs(1) };
        self.tells && self.told.is_none_or(|told| told.elapsed() >= pause)
    }

    fn put(&mut self, line: &str) {
        self.told = Some(Instant::now());
        let mut err = output::stderr(self.color);
        let _ = if self.terminal { write!(err, "\r\x1b[K{line}") } else { writeln!(err, "{line}") };
        let _ = err.flush();
        self.shown = self.terminal;
    }

    /// Prints a line that stays.
    pub(super) fn say(&mut self, what: &str) {
        if self.tells {
            self.erase();
            let _ = writeln!(output::stderr(self.color), "{what}");
        }
    }

    /// Erases the progress line.
    pub(super) fn erase(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(output::stderr(self.color), "\r\x1b[K");
        }
    }
}

fn line(live: &Live, rate: f64) -> String {
    #[expect(clippy::cast_sign_loss, reason = "rates have no sign")]
    let rate = rate as u64;
    let line = format!(
        "{:.0} s: {} exchanges/s, {} outstanding, {} hypotheses, {}, {}/{} rules",
        live.elapsed.as_secs_f64(),
        grouped(rate),
        grouped(live.outstanding),
        grouped(live.alternatives + 1),
        count(live.findings as u64, "violation"),
        live.rules.0,
        live.rules.1,
    );
    clip(&line, confute_report::text::WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_in_a_line() {
        let live = Live {
            elapsed: Duration::from_secs(12),
            cases: 1200,
            answers: 1,
            rate: 0.0,
            outstanding: 31,
            alternatives: 411,
            rules: (41, 72),
            findings: 2,
        };
        assert_eq!(
            line(&live, 12_345.6),
            "12 s: 12,345 exchanges/s, 31 outstanding, 412 hypotheses, 2 violations, 41/72 r…"
        );
    }
}
