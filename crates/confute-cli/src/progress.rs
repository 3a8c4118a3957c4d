//! Time limit and progress line of a search.
//!
//! Nothing is printed in the first second, nor if standard error is not watched. On a terminal the line is
//! overwritten and erased at the end; elsewhere (with `-v`) there is one line per second.

use std::cell::Cell;
use std::io::Write as _;
use std::time::{Duration, Instant};

use confute::Pulse;

use crate::args::Color;
use crate::output;
use confute_report::text::grouped;

/// Time limit and progress of the search for one file.
pub(crate) struct Progress {
    start: Instant,
    deadline: Cell<Option<Instant>>,
    /// Name of the current step.
    what: Cell<&'static str>,
    events: u64,
    told: Cell<Option<Instant>>,
    turns: Cell<u64>,
    tells: bool,
    terminal: bool,
    color: Color,
}

impl Progress {
    pub(crate) fn new(tells: bool, color: Color) -> Self {
        let terminal = output::is_watched();
        Self {
            start: Instant::now(),
            deadline: Cell::new(None),
            what: Cell::new(""),
            events: 0,
            told: Cell::new(None),
            turns: Cell::new(0),
            tells: tells || terminal,
            terminal,
            color,
        }
    }

    /// Begins a step with this number of events and this time limit.
    pub(crate) fn begin(&mut self, what: &'static str, events: usize, most: Duration) {
        self.what.set(what);
        self.events = events as u64;
        self.turns.set(0);
        self.deadline.set(Instant::now().checked_add(most));
    }

    /// Returns the number of turns executed since the beginning of the step, as far as it was reported.
    pub(crate) fn turns(&self) -> u64 {
        self.turns.get()
    }

    /// Receives the progress of the search. Returns `true` if its time is up.
    pub(crate) fn hear(&self, pulse: &Pulse) -> bool {
        self.turns.set(pulse.turns);
        let now = Instant::now();
        let pause = Duration::from_millis(if self.terminal { 100 } else { 1000 });
        let last = self.told.get().unwrap_or(self.start + Duration::from_secs(1).saturating_sub(pause));
        if self.tells && now.saturating_duration_since(last) >= pause {
            self.told.set(Some(now));
            self.tell(pulse, now);
        }
        self.deadline.get().is_some_and(|deadline| now >= deadline)
    }

    /// Erases the progress line.
    pub(crate) fn erase(&self) {
        if self.terminal && self.told.take().is_some() {
            let _ = write!(output::stderr(self.color), "\r\x1b[K");
        }
    }

    fn tell(&self, pulse: &Pulse, now: Instant) {
        let Pulse { event, turns, open, bytes, .. } = *pulse;
        let line = format!(
            "{} {:.0} s: event {} of {}, {} turns tried, {} alternatives open, {} MiB",
            self.what.get(),
            now.saturating_duration_since(self.start).as_secs_f64(),
            grouped(event.min(self.events)),
            grouped(self.events),
            grouped(turns),
            grouped(open as u64),
            bytes >> 20,
        );
        let mut err = output::stderr(self.color);
        let _ = if self.terminal { write!(err, "\r\x1b[K{line}") } else { writeln!(err, "{line}") };
        let _ = err.flush();
    }
}
