//! The latest bytes on the wire, in both directions, for reports. Their number is bounded, and no message
//! needs an allocation of its own.

use confute::trace::WireConn;
use confute_record::ByteRecord;

/// Buffer of the latest bytes of a case.
#[derive(Default)]
pub(crate) struct Raw {
    limit: usize,
    bytes: Vec<u8>,
    /// Chunks: connection, direction (`true` if sent), time, and the end of the chunk in `bytes`.
    marks: Vec<(WireConn, bool, u64, usize)>,
    /// Number of bytes that were dropped.
    lost: u64,
}

impl Raw {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(crate) fn keep(&mut self, conn: WireConn, sent: bool, micros: u64, bytes: &[u8]) {
        let tail = &bytes[bytes.len().saturating_sub(self.limit)..];
        self.lost += (bytes.len() - tail.len()) as u64;
        if tail.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(tail);
        self.marks.push((conn, sent, micros, self.bytes.len()));
        if self.bytes.len() > 2 * self.limit {
            self.shorten();
        }
    }

    /// Drops whole chunks from the start until the limit is kept.
    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.limit);
        if surplus == 0 {
            return;
        }
        let Some(last) = self.marks.iter().position(|(.., end)| *end >= surplus) else { return };
        let cut = self.marks[last].3;
        self.marks.drain(..=last);
        self.marks.iter_mut().for_each(|(.., end)| *end -= cut);
        self.bytes.drain(..cut);
        self.lost += cut as u64;
    }

    /// Returns the chunks that are kept, and the number of bytes that were dropped.
    pub(crate) fn into_chunks(mut self) -> (Vec<ByteRecord>, u64) {
        self.shorten();
        let mut start = 0;
        let chunks = self.marks.iter().map(|(conn, sent, micros, end)| {
            let bytes = self.bytes[start..*end].to_vec();
            start = *end;
            ByteRecord { conn: *conn, sent: *sent, micros: *micros, bytes }
        });
        (chunks.collect(), self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept() {
        let mut raw = Raw::new(10);
        for number in 0..100u8 {
            raw.keep(WireConn(u32::from(number)), number % 2 == 0, u64::from(number), &[number; 3]);
        }
        let (chunks, lost) = raw.into_chunks();
        assert_eq!(chunks.last().map(|chunk| chunk.bytes.clone()), Some(vec![99; 3]));
        assert_eq!(chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>() as u64 + lost, 300);
        assert!(chunks.len() <= 3 && chunks.iter().all(|chunk| chunk.bytes.len() == 3));
        let mut raw = Raw::new(2);
        raw.keep(WireConn(0), true, 0, b"abcdef");
        assert_eq!(
            raw.into_chunks(),
            (vec![ByteRecord { conn: WireConn(0), sent: true, micros: 0, bytes: b"ef".to_vec() }], 4)
        );
    }
}
