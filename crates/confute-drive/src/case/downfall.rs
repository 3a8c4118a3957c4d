//! Detection of a server that went down and came back within a case.
//!
//! A store in memory is empty after a restart, and would be accused of losing data if the restart went
//! unnoticed. The signs of a restart: all connections end at once, unannounced, or several of them (one that
//! was just being opened may survive, as far as can be seen here). A server that keeps no connections open
//! does the same, but it never responds twice on one. Such ends alone are allowed; they count only together
//! with a refutation.
//!
//! An end was no restart if a connection that was served before it still is: a request was sent there after the
//! end was noticed, and answered. Some servers just close after certain responses. If there is a
//! [canary](crate::canary), it decides.

use std::time::{Duration, Instant};

use crate::connection::Connection;
use crate::script::Peer;

/// A connection idle this long did not close because it had just answered.
const IDLE: Duration = Duration::from_millis(20);
/// Interval within which ends count as simultaneous: a server may need a moment to end all connections.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Number of simultaneous ends that have a common cause.
const SEVERAL: usize = 3;
/// Number of ends after which it is known whether the server keeps connections open at all.
const KNOWN: u32 = 3;

/// The end of a connection, or of several at once.
struct End {
    /// Time when the last of them was noticed.
    noticed: Instant,
    /// `true` if the end is suspicious.
    strange: bool,
    /// Number of connections that had ever existed when the first of them was noticed.
    before: u32,
}

impl End {
    /// Returns `true` if the end was no restart, because a connection that was served before it, since `met`, answered a
    /// request sent after it. One that was only being opened may have been accepted after the restart.
    fn is_survived(&self, wire: u32, met: Instant, asked: Instant) -> bool {
        wire < self.before && met < self.noticed && asked > self.noticed
    }
}

#[derive(Default)]
pub(super) struct Downfall {
    /// Recent ends of connections.
    ends: Vec<End>,
    /// Number of connections that have ended in all.
    ended: u32,
    /// `true` if the server has responded twice on some connection.
    keeps: bool,
    /// Suspected restarts, and the number of connections that ended in each.
    falls: Vec<(End, usize)>,
}

impl Downfall {
    /// Notes a response on a connection, to the request sent at `asked`.
    pub(super) fn answered(&mut self, connection: &Connection, asked: Instant) {
        self.keeps |= connection.history.answers > 1;
        if let (Some(wire), Some(met)) = (connection.wire, connection.history.met) {
            self.survived(wire.0, met, asked);
        }
    }

    fn survived(&mut self, wire: u32, met: Instant, asked: Instant) {
        self.ends.retain(|end| !end.is_survived(wire, met, asked));
        self.falls.retain(|(end, _)| !end.is_survived(wire, met, asked));
    }

    /// Notes that the server has ended a connection, as found by the poll at `now`. `wires` connections have
    /// existed so far. Returns `true` if the end came unannounced, before a response or while the connection was idle.
    pub(super) fn note(&mut self, connection: &Connection, wires: u32, now: Instant) -> bool {
        if matches!(connection.peer, Peer::Opened(_)) {
            self.ended += 1;
            let idle = now.saturating_duration_since(connection.history.since) > IDLE;
            let cut_short = !connection.owed.is_empty() && !connection.history.answered;
            let is_habit = !self.keeps && self.ended >= KNOWN;
            let strange = !connection.history.announced && (idle || cut_short || !is_habit);
            // Not the time of the poll: since then a request may have been sent, and answered before the end.
            self.end(End { noticed: Instant::now(), strange, before: wires });
            return !connection.history.announced && (idle || cut_short);
        }
        false
    }

    fn end(&mut self, mut end: End) {
        let first = self.ends.iter().map(|other| other.before).min();
        self.ends.retain(|other| end.noticed.saturating_duration_since(other.noticed) < AT_ONCE);
        // Successive ends are one: connections opened since the first of them prove nothing.
        if let (Some(first), false) = (first, self.ends.is_empty()) {
            end.before = end.before.min(first);
        }
        self.ends.push(end);
    }

    /// Looks for a restart, given the connections that are left.
    pub(super) fn look<'a>(&mut self, left: impl Iterator<Item = &'a Connection>) {
        let opened = left.filter(|connection| matches!(connection.peer, Peer::Opened(_)));
        self.look_at(opened.filter_map(|connection| connection.wire.map(|wire| wire.0)));
    }

    fn look_at(&mut self, mut left: impl Iterator<Item = u32>) {
        let Some(before) = self.ends.iter().map(|end| end.before).min() else { return };
        let Some(noticed) = self.ends.iter().map(|end| end.noticed).max() else { return };
        let strange = self.ends.iter().filter(|end| end.strange).count();
        let none_left = !left.any(|wire| wire < before);
        if strange >= SEVERAL || (none_left && strange > 0) {
            // It may be the previous one, with more ends.
            self.falls.retain(|(end, _)| end.before != before);
            self.falls.push((End { noticed, strange: true, before }, self.ends.len()));
        }
        if none_left {
            self.ends.clear();
        }
    }

    /// Returns the number of connections that ended in the last suspected restart, if there was one.
    pub(super) fn connections(&self) -> Option<usize> {
        self.falls.last().map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends this many of eight connections, a millisecond apart.
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
        // A request sent before the last end may have been answered before it.
        downfall.survived(7, start, start);
        // A connection opened later proves nothing, nor one that was served for the first time.
        downfall.survived(8, start, after);
        downfall.survived(7, after, after);
        assert_eq!(downfall.connections(), Some(4));
        downfall.survived(7, start, after);
        assert_eq!(downfall.connections(), None);
        // These ends do not count later either.
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
        downfall.survived(10, start, after + Duration::from_millis(1));
        assert_eq!(downfall.connections(), Some(8));
    }
}
