//! Raw bytes by message. Reads and writes are recorded by connection and time, not by message: a received
//! message is given the bytes read on its connection since the previous message, a sent one those written
//! until the next.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use confute::trace::{Event, WireConn};
use confute_record::ByteRecord;

/// The raw bytes of a message.
pub(super) struct Bytes {
    /// The bytes to show, truncated.
    pub(super) shown: Vec<u8>,
    /// Number of all bytes.
    pub(super) whole: usize,
    /// `true` if other messages are in the same chunk.
    pub(super) shared: bool,
}

/// Returns the bytes of the events in `shown`, where they were recorded.
pub(super) fn by_event<M>(
    trace: &[Event<M>],
    micros: &[u64],
    raw: &[ByteRecord],
    shown: &[usize],
    most: usize,
) -> BTreeMap<usize, Bytes> {
    let mut lines: BTreeMap<(WireConn, bool), Vec<usize>> = BTreeMap::new();
    for (place, event) in trace.iter().enumerate().take(micros.len()) {
        match event {
            Event::Sent(conn, _) => lines.entry((*conn, true)).or_default().push(place),
            Event::Received(conn, _) => lines.entry((*conn, false)).or_default().push(place),
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    for ((conn, sent), places) in lines {
        let pieces: Vec<&ByteRecord> =
            raw.iter().filter(|piece| piece.conn == conn && piece.sent == sent).collect();
        let mut latest: Option<&ByteRecord> = None;
        for (turn, &place) in places.iter().enumerate() {
            let at = micros[place];
            let (from, to) = if sent {
                (at, places.get(turn + 1).map_or(u64::MAX, |next| micros[*next]))
            } else {
                // The last byte was read before the message was recorded.
                (if turn == 0 { 0 } else { micros[places[turn - 1]] }, at)
            };
            let is_within = |piece: &&&ByteRecord| {
                if sent {
                    (from..to).contains(&piece.micros)
                } else {
                    piece.micros >= from && piece.micros <= to
                }
            };
            let mut own: Vec<&ByteRecord> = pieces.iter().filter(is_within).copied().collect();
            let mut shared = false;
            if own.is_empty() {
                // The message arrived in the same chunk as the one before.
                own.extend(latest.filter(|_| !sent));
                shared = true;
            } else {
                latest = own.last().copied();
            }
            if own.is_empty() || shown.binary_search(&place).is_err() {
                continue;
            }
            let whole = own.iter().map(|piece| piece.bytes.len()).sum();
            let bytes = own.iter().flat_map(|piece| &piece.bytes).copied().take(most).collect();
            found.insert(place, Bytes { shown: bytes, whole, shared });
        }
    }
    found
}

/// Formats bytes as text: unprintable ones are escaped, line breaks are kept.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    text
}

/// Formats bytes as hexadecimal digits, two per byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(sent: bool, micros: u64, bytes: &[u8]) -> ByteRecord {
        ByteRecord { conn: WireConn(0), sent, micros, bytes: bytes.to_vec() }
    }

    #[test]
    fn pieces_find_their_messages() {
        let c = WireConn(0);
        let trace = [
            Event::Sent(c, 'a'),
            Event::Sent(c, 'b'),
            Event::Received(c, 'A'),
            Event::Received(c, 'B'),
            Event::Received(WireConn(1), 'C'),
        ];
        let raw = [
            piece(true, 10, b"a"),
            piece(true, 12, b"a2"),
            piece(true, 20, b"b"),
            piece(false, 25, b"A, "),
            piece(false, 30, b"B"),
        ];
        let found = by_event(&trace, &[10, 20, 31, 32, 40], &raw, &[0, 1, 2, 3, 4], 3);
        let of = |place: usize| found.get(&place).map(|one| (text(&one.shown), one.whole, one.shared));
        assert_eq!(of(0), Some(("aa2".into(), 3, false)));
        assert_eq!(of(1), Some(("b".into(), 1, false)));
        assert_eq!(of(2), Some(("A, ".into(), 4, false)));
        // In the same chunk as the message before.
        assert_eq!(of(3), Some(("B".into(), 1, true)));
        assert_eq!(of(4), None);
    }

    #[test]
    fn what_cannot_be_printed_is_escaped() {
        assert_eq!(text(b"a\r\n\0\xff\\"), "a\\r\\n\n\\x00\\xff\\\\");
        assert_eq!(hex(b"\0\xff"), "00ff");
    }
}
