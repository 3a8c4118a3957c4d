//! Bytes that wait to be written on one connection, with pauses at cuts.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The unwritten bytes of one connection.
#[derive(Default)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// Copy of the bytes for reports, with secrets overwritten.
    shown: Vec<u8>,
    /// Number of bytes that are written.
    done: usize,
    /// Cuts in order: offset, and duration of the pause there.
    cuts: VecDeque<(usize, Duration)>,
    /// End of the pause at `done`.
    pause: Option<Instant>,
}

impl Outbox {
    /// Adds a message, cut at these offsets (counted from its start) with pauses in milliseconds. `conceal`
    /// overwrites the secrets in the copy for reports.
    pub(crate) fn push(
        &mut self,
        cuts: &[(usize, u64)],
        encode: impl FnOnce(&mut Vec<u8>),
        conceal: impl FnOnce(&mut [u8]),
    ) {
        if self.is_empty() {
            self.bytes.clear();
            self.shown.clear();
            self.done = 0;
        }
        let start = self.bytes.len();
        encode(&mut self.bytes);
        self.shown.extend_from_slice(&self.bytes[start..]);
        conceal(&mut self.shown[start..]);
        let length = self.bytes.len() - start;
        // A cut at either end of the message cuts nothing.
        let inner = cuts.iter().filter(|(at, _)| (1..length).contains(at));
        let from = self.cuts.len();
        self.cuts.extend(inner.map(|(at, millis)| (start + at, Duration::from_millis(*millis))));
        self.cuts.make_contiguous()[from..].sort_unstable();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.done == self.bytes.len()
    }

    /// Returns the bytes that may be written now; none during a pause.
    pub(crate) fn ready(&mut self, now: impl FnOnce() -> Instant) -> &[u8] {
        if let Some(pause) = self.pause {
            if now() < pause {
                return &[];
            }
            self.pause = None;
        }
        let end = self.cuts.front().map_or(self.bytes.len(), |(at, _)| *at);
        &self.bytes[self.done..end]
    }

    /// Returns the next `count` bytes, as they may be reported.
    pub(crate) fn shown(&self, count: usize) -> &[u8] {
        &self.shown[self.done..self.done + count]
    }

    /// Notes that `count` bytes were written.
    pub(crate) fn wrote(&mut self, count: usize, now: impl FnOnce() -> Instant) {
        self.done += count;
        if self.cuts.front().is_some_and(|(at, _)| *at == self.done)
            && let Some((_, pause)) = self.cuts.pop_front()
        {
            // Without a pause there is nothing to wait for: the pieces are still written one by one.
            self.pause = (!pause.is_zero()).then(|| now() + pause);
        }
    }

    /// Ends the pause. Returns `true` if there was one.
    pub(crate) fn resume(&mut self) -> bool {
        self.pause.take().is_some()
    }

    /// Returns the end of the pause, before which nothing may be written.
    pub(crate) fn pause(&self) -> Option<Instant> {
        self.pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_where_it_is_cut() {
        let start = Instant::now();
        let mut outbox = Outbox::default();
        outbox.push(
            &[(4, 0), (2, 10), (0, 5), (6, 5)],
            |bytes| bytes.extend_from_slice(b"abcdef"),
            |bytes| bytes[2] = b'*',
        );
        outbox.push(&[], |bytes| bytes.extend_from_slice(b"gh"), |_| {});
        assert_eq!(outbox.ready(|| start), b"ab");
        outbox.wrote(1, || start);
        assert_eq!(outbox.ready(|| start), b"b");
        outbox.wrote(1, || start);
        assert_eq!(outbox.ready(|| start), b"");
        let later = start + Duration::from_millis(10);
        assert_eq!(outbox.pause(), Some(later));
        assert_eq!(outbox.ready(|| later), b"cd");
        assert_eq!(outbox.shown(2), b"*d");
        outbox.wrote(2, || later);
        assert_eq!(outbox.ready(|| later), b"efgh");
        outbox.wrote(4, || later);
        assert!(outbox.is_empty());
        outbox.push(&[], |bytes| bytes.push(b'i'), |_| {});
        assert_eq!(outbox.ready(|| later), b"i");
        outbox.wrote(1, || later);
        outbox.push(&[(1, 10)], |bytes| bytes.extend_from_slice(b"jk"), |_| {});
        outbox.wrote(1, || later);
        assert!(outbox.ready(|| later).is_empty() && outbox.resume() && !outbox.resume());
        assert_eq!(outbox.ready(|| later), b"k");
    }
}
