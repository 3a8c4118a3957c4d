//! The budget of a judgement, and the meter that enforces it.

use crate::account::SearchLog;
use crate::derive::reduce::Reductions;

/// The budget of a judgement, and the rules under which it is made.
#[derive(Clone)]
pub struct Options<'a> {
    /// Maximum number of turns of the model that may be tried.
    pub turns: u64,
    /// Approximate maximum number of bytes that the search may hold.
    pub memory: usize,
    /// Callback that gets the progress now and then, also deep inside the search, and returns `true` if the time is
    /// up. The core has no clock of its own.
    pub watch: Option<&'a dyn Fn(&Pulse) -> bool>,
    /// Rules that the server may break.
    pub relaxed: Vec<&'static str>,
    /// Maximum number of deviations from them.
    pub deviations: u32,
    /// Relaxed rules that the server may break any number of times.
    pub free: Vec<&'static str>,
    /// Relaxed rules that the server breaks whenever it can, as a server with a steady fault does. A trace that such a
    /// server explains is explained with the rules relaxed too; the converse does not hold.
    pub always: Vec<&'static str>,
    /// Index in the trace of the only message in whose handling the server may break the other relaxed rules, if set.
    pub at: Option<usize>,
    /// `true` to run every turn of the model at least twice and compare the runs, instead of a sample of them. A
    /// model with hidden state is then reported as [`NotDeterministic`](crate::lang::Mistake::NotDeterministic) much
    /// sooner; a judgement takes two to three times as long.
    pub repeat_all: bool,
    /// Reductions of the search: what it leaves out without changing a verdict. With none, the search is the paper's;
    /// it may then take too long.
    pub reductions: Reductions,
    /// `true` if each message from the server is the response to the oldest request of its connection that has none. Otherwise a proof
    /// leaves out no request, because it is unknown which messages would be left out with it.
    pub matched: bool,
    /// Log of the search, for people: see [`SearchAccount`](crate::SearchAccount).
    pub log: Option<&'a dyn SearchLog>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            turns: u64::MAX,
            memory: 2 << 30,
            watch: None,
            relaxed: Vec::new(),
            deviations: u32::MAX,
            free: Vec::new(),
            always: Vec::new(),
            at: None,
            repeat_all: false,
            reductions: Reductions::ALL,
            matched: true,
            log: None,
        }
    }
}

/// The progress of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// Furthest event that the part being searched has explained.
    pub event: u64,
    /// Number of turns of the model tried.
    pub turns: u64,
    /// Number of alternatives that this part has open.
    pub open: usize,
    /// Approximate number of bytes that they take.
    pub bytes: usize,
}

/// Maximum number of turns between two calls of the watch.
const LOOK: u64 = 256;

/// Meter of the budget.
pub(crate) struct Meter<'a> {
    pub(super) options: Options<'a>,
    /// Number of turns at which the present slice ends.
    pub(super) slice: u64,
    pub(super) countdown: u32,
    /// Number of turns at which the watch is called again, at the latest.
    pub(super) look_at: u64,
    pub(crate) spent: Option<&'static str>,
}

impl Meter<'_> {
    /// Returns `true` if the search has to stop: because the slice is over, or for good (`spent` then names the
    /// budget).
    pub(crate) fn is_spent(&mut self, runs: u64, pulse: impl FnOnce() -> Pulse) -> bool {
        if self.spent.is_some() || runs >= self.slice {
            return true;
        }
        self.countdown -= 1;
        // With many relaxed rules one step may take a thousand turns.
        if self.countdown == 0 || runs >= self.look_at {
            self.countdown = 64;
            self.look_at = runs + LOOK;
            let pulse = pulse();
            if runs >= self.options.turns {
                self.spent = Some("turn");
            } else if pulse.bytes > self.options.memory {
                self.spent = Some("memory");
            } else if self.options.watch.is_some_and(|watch| watch(&pulse)) {
                self.spent = Some("time");
            }
        }
        self.spent.is_some()
    }
}
