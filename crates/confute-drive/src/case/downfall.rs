//! Notices when the server seems to have gone down and come back within a case.
//!
//! A store in memory is empty after a restart. Whoever does not notice the restart accuses it of forgetting. What gives
//! it away: all connections end at once, unannounced. (A server that keeps no connections does so, too, but it ends about one
//! for every answer, each right after it.) That alone is allowed; only together with a refutation it means something.

use std::time::{Duration, Instant};

use crate::line::Line;
use crate::script::Peer;

/// Who said nothing for so long did not just answer.
const IDLE: Duration = Duration::from_millis(20);
/// So long is at once: a server may take a moment to end all of them.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Downfall {
    /// When connections ended lately, and why.
    ends: Vec<(Instant, Why)>,
    /// How many have ended in all.
    ended: u64,
    /// How many connections there had ever been when the first of these ended.
    before: u32,
    /// How many connections ended in the last downfall.
    fell: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The server said that it would.
    Announced,
    /// It had just answered.
    Answered,
    /// For no reason.
    Nothing,
}

/// A server that ends a connection for every so many answers makes a habit of it.
const HABIT: u64 = 3;

impl Downfall {
    /// The server has ended a connection, it was found then; there have been so many.
    pub(super) fn note<R>(&mut self, line: &Line<R>, wires: u32, now: Instant) {
        if matches!(line.peer, Peer::Opened(_)) {
            self.ends.retain(|(when, _)| now.saturating_duration_since(*when) < AT_ONCE);
            if self.ends.is_empty() {
                self.before = wires;
            }
            let idle = now.saturating_duration_since(line.since) > IDLE;
            let cut_short = !line.owed.is_empty() && !line.answered;
            let why = match () {
                () if line.announced => Why::Announced,
                () if idle || cut_short => Why::Nothing,
                () => Why::Answered,
            };
            self.ends.push((now, why));
            self.ended += 1;
        }
    }

    /// Looks at who is left, after so many answers.
    pub(super) fn look<'a, R: 'a>(&mut self, mut left: impl Iterator<Item = &'a Line<R>>, answers: u64) {
        let is_older = |line: &Line<R>| {
            matches!(line.peer, Peer::Opened(_)) && line.wire.is_some_and(|wire| wire.0 < self.before)
        };
        if self.ends.is_empty() || left.any(is_older) {
            return;
        }
        let is_habit = self.ended * HABIT >= answers;
        let strange = |why: Why| why == Why::Nothing || (why == Why::Answered && !is_habit);
        if self.ends.iter().any(|(_, why)| strange(*why)) {
            self.fell = Some(self.ends.len());
        }
        self.ends.clear();
    }

    /// How many connections ended at once, if that happened.
    pub(super) fn connections(&self) -> Option<usize> {
        self.fell
    }
}
