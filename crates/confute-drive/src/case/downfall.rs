//! Notices when the server seems to have gone down and come back within a case.
//!
//! A store in memory is empty after a restart. Whoever does not notice the restart accuses it of forgetting. What gives
//! it away: all connections end at once, some of them for no reason. (A server that keeps no connections ends each
//! right after its answer.). That alone is allowed; only together with a refutation it means something.

use std::time::{Duration, Instant};

use crate::line::Line;
use crate::script::Peer;

/// Who said nothing for so long did not just answer.
const IDLE: Duration = Duration::from_millis(20);
/// So long is at once: a server may take a moment to end all of them.
const AT_ONCE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Downfall {
    /// When connections ended lately, and whether for no reason.
    ends: Vec<(Instant, bool)>,
    /// How many connections there had ever been when the first of these ended.
    before: u32,
    /// How many connections ended in the last downfall.
    fell: Option<usize>,
}

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
            self.ends.push((now, !line.announced && (idle || cut_short)));
        }
    }

    /// Looks at who is left.
    pub(super) fn look<'a, R: 'a>(&mut self, mut left: impl Iterator<Item = &'a Line<R>>) {
        let is_older = |line: &Line<R>| {
            matches!(line.peer, Peer::Opened(_)) && line.wire.is_some_and(|wire| wire.0 < self.before)
        };
        if self.ends.is_empty() || left.any(is_older) {
            return;
        }
        if self.ends.iter().any(|(_, for_no_reason)| *for_no_reason) {
            self.fell = Some(self.ends.len());
        }
        self.ends.clear();
    }

    /// How many connections ended at once, if that happened.
    pub(super) fn connections(&self) -> Option<usize> {
        self.fell
    }
}
