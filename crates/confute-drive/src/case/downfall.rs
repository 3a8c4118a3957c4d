//! Notices when the server seems to have gone down and come back within a case.
//!
//! A store in memory is empty after a restart. Whoever does not notice the restart accuses it of forgetting. What gives
//! it away: all connections end at once, unannounced, or several of them (one that was just being opened may survive, as
//! far as can be seen here). A server that keeps no connections does the same, but it never answers twice on one. Such ends
//! alone are allowed; only together with a refutation they mean something.
//!
//! An end was no restart if a connection from before it is still served: something was asked there after the end was
//! noticed, and answered. Some servers just close after certain answers. Where there is a [canary](crate::canary), it decides.

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

/// One end, or several at once.
struct End {
    /// When the last of them was noticed.
    noticed: Instant,
    /// Whether that is strange.
    strange: bool,
    /// How many connections there had ever been when the first of them was noticed.
    before: u32,
}

impl End {
    /// Whether it is no restart, because a connection is served on which this was asked.
    fn is_survived(&self, wire: u32, asked: Instant) -> bool {
        wire < self.before && asked > self.noticed
    }
}

#[derive(Default)]
pub(super) struct Downfall {
    /// Connections that ended lately.
    ends: Vec<End>,
    /// How many have ended in all.
    ended: u32,
    /// Whether the server has answered twice on some connection.
    keeps: bool,
    /// Downfalls, and how many connections ended in each.
    falls: Vec<(End, usize)>,
}

impl Downfall {
    /// The server has answered on a connection, where it has answered before or not, what was asked then.
    pub(super) fn answered(&mut self, line: &Line, asked: Instant) {
        self.keeps |= line.history.answers > 1;
        if let Some(wire) = line.wire {
            self.survived(wire.0, asked);
        }
    }

    fn survived(&mut self, wire: u32, asked: Instant) {
        self.ends.retain(|end| !end.is_survived(wire, asked));
        self.falls.retain(|(end, _)| !end.is_survived(wire, asked));
    }

    /// The server has ended a connection, it was found then; there have been so many.
    pub(super) fn note(&mut self, line: &Line, wires: u32, now: Instant) {
        if matches!(line.peer, Peer::Opened(_)) {
            self.ended += 1;
            let idle = now.saturating_duration_since(line.history.since) > IDLE;
            let cut_short = !line.owed.is_empty() && !line.history.answered;
            let is_habit = !self.keeps && self.ended >= KNOWN;
            let strange = !line.history.announced && (idle || cut_short || !is_habit);
            // Not when it was found: since then something may have been asked, and answered before the end.
            self.end(End { noticed: Instant::now(), strange, before: wires });
        }
    }

    fn end(&mut self, mut end: End) {
        let first = self.ends.iter().map(|other| other.before).min();
        self.ends.retain(|other| end.noticed.saturating_duration_since(other.noticed) < AT_ONCE);
        // One goes over into the next: what was opened since the first of them says nothing.
        if let (Some(first), false) = (first, self.ends.is_empty()) {
            end.before = end.before.min(first);
        }
        self.ends.push(end);
    }

    /// Looks at who is left.
    pub(super) fn look<'a>(&mut self, left: impl Iterator<Item = &'a Line>) {
        let opened = left.filter(|line| matches!(line.peer, Peer::Opened(_)));
        self.look_at(opened.filter_map(|line| line.wire.map(|wire| wire.0)));
    }

    fn look_at(&mut self, mut left: impl Iterator<Item = u32>) {
        let Some(before) = self.ends.iter().map(|end| end.before).min() else { return };
        let Some(noticed) = self.ends.iter().map(|end| end.noticed).max() else { return };
        let strange = self.ends.iter().filter(|end| end.strange).count();
        let none_left = !left.any(|wire| wire < before);
        if strange >= SEVERAL || (none_left && strange > 0) {
            // It may be the same as before, with more ends.
            self.falls.retain(|(end, _)| end.before != before);
            self.falls.push((End { noticed, strange: true, before }, self.ends.len()));
        }
        if none_left {
            self.ends.clear();
        }
    }

    /// How many connections ended at once, if that happened.
    pub(super) fn connections(&self) -> Option<usize> {
        self.falls.last().map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of so many connections, of which there have been eight, a millisecond apart.
    fn fall(downfall: &mut Downfall, start: Instant, ends: u32) -> Instant {
        for number in 0..ends {
            let noticed = start + Duration::from_millis(number.into());
            downfall.end(End { noticed, strange: true, before: 8 });
            downfall.look_at(number + 1..8);
        }
        start + Duration::from_millis(ends.into())
    }

    #[test]
    fn several_or_all_are_a_downfall() {
        let start = Instant::now();
        for (ends, fell) in [(1, None), (2, None), (3, Some(3)), (8, Some(8))] {
            let mut downfall = Downfall::default();
            fall(&mut downfall, start, ends);
            assert_eq!(downfall.connections(), fell);
        }
    }

    #[test]
    fn not_if_one_from_before_is_still_served() {
        let start = Instant::now();
        let mut downfall = Downfall::default();
        let after = fall(&mut downfall, start, 4);
        // What was asked before the last end may have been answered before it.
        downfall.survived(7, start);
        // One that was opened later says nothing.
        downfall.survived(8, after);
        assert_eq!(downfall.connections(), Some(4));
        downfall.survived(7, after);
        assert_eq!(downfall.connections(), None);
        // Nor do those ends count later.
        downfall.end(End { noticed: after, strange: true, before: 9 });
        downfall.look_at(7..9);
        assert_eq!(downfall.connections(), None);
    }

    #[test]
    fn a_later_survivor_does_not_excuse_an_earlier_downfall() {
        let start = Instant::now();
        let mut downfall = Downfall::default();
        let after = fall(&mut downfall, start, 8);
        downfall.end(End { noticed: after, strange: true, before: 12 });
        downfall.look_at(9..12);
        downfall.survived(10, after + Duration::from_millis(1));
        assert_eq!(downfall.connections(), Some(8));
    }
}
