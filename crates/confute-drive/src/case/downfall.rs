//! Notices when the server seems to have gone down and come back within a case.
//!
//! A store in memory is empty after a restart. Whoever does not notice the restart accuses it of forgetting. What gives
//! it away: all connections end at once, unannounced, or several of them (one that was just being opened may survive, as
//! far as can be seen here). A server that keeps no connections does the same, but it never answers twice on one. Such ends
//! alone are allowed; only together with a refutation they mean something.

use std::time::{Duration, Instant};

use crate::line::Line;
use crate::script::Peer;

/// Who said nothing for so long did not just answer.
const IDLE: Duration = Duration::from_millis(20);
/// So long is at once: a server may take a moment to end all of them.
const AT_ONCE: Duration = Duration::from_secs(1);
/// So many connections that end at once have a reason in common.
const SEVERAL: usize = 3;
/// After so many ends it is known whether the server keeps connections at all.
const KNOWN: u32 = 3;

#[derive(Default)]
pub(super) struct Downfall {
    /// When connections ended lately, and whether that is strange.
    ends: Vec<(Instant, bool)>,
    /// How many have ended in all.
    ended: u32,
    /// Whether the server has answered twice on some connection.
    keeps: bool,
    /// How many connections there had ever been when the first of these ended.
    before: u32,
    /// How many connections ended in the last downfall.
    fell: Option<usize>,
}

impl Downfall {
    /// The server has answered on a connection, where it has answered before or not.
    pub(super) fn answered(&mut self, before: bool) {
        self.keeps |= before;
    }

    /// The server has ended a connection, it was found then; there have been so many.
    pub(super) fn note<R>(&mut self, line: &Line<R>, wires: u32, now: Instant) {
        if matches!(line.peer, Peer::Opened(_)) {
            self.ends.retain(|(when, _)| now.saturating_duration_since(*when) < AT_ONCE);
            if self.ends.is_empty() {
                self.before = wires;
            }
            self.ended += 1;
            let idle = now.saturating_duration_since(line.since) > IDLE;
            let cut_short = !line.owed.is_empty() && !line.answered;
            let is_habit = !self.keeps && self.ended >= KNOWN;
            self.ends.push((now, !line.announced && (idle || cut_short || !is_habit)));
        }
    }

    /// Looks at who is left.
    pub(super) fn look<'a, R: 'a>(&mut self, mut left: impl Iterator<Item = &'a Line<R>>) {
        let strange = self.ends.iter().filter(|(_, strange)| *strange).count();
        if strange >= SEVERAL {
            self.fell = Some(self.ends.len());
        }
        let is_older = |line: &Line<R>| {
            matches!(line.peer, Peer::Opened(_)) && line.wire.is_some_and(|wire| wire.0 < self.before)
        };
        if self.ends.is_empty() || left.any(is_older) {
            return;
        }
        if strange > 0 {
            self.fell = Some(self.ends.len());
        }
        self.ends.clear();
    }

    /// How many connections ended at once, if that happened.
    pub(super) fn connections(&self) -> Option<usize> {
        self.fell
    }
}
