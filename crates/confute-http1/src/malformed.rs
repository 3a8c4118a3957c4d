//! Deliberately malformed messages: each [`Malformed`] introduces one defect into an otherwise correct message.

use super::writer::{Encoded, Parts, WriteError};

/// A defect to introduce into a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// `Host` is missing.
    NoHost,
    /// An additional field, which may contradict another: a second `Host`, another `Content-Length`, a
    /// `Transfer-Encoding` besides it. Neither name nor value is checked.
    ExtraField(Vec<u8>, Vec<u8>),
    /// An additional line among the fields, verbatim; CRLF is appended.
    ExtraLine(Vec<u8>),
    /// White space before the colon of the first field of this name.
    SpaceBeforeColon(Vec<u8>),
    /// Another line end for the start line (0), a field line (from 1), or the empty line after them.
    LineEnd(usize, Vec<u8>),
    /// Replacement of the start line; CRLF is appended.
    StartLine(Vec<u8>),
    /// Bytes before the start line.
    Before(Vec<u8>),
    /// Replacement of the size of a chunk. Chunks count from 0 and include the last one.
    ChunkSize(usize, Vec<u8>),
    /// Replacement of the CRLF after the data of a chunk. Chunks count from 0.
    ChunkEnd(usize, Vec<u8>),
    /// The last chunk and everything after it are missing.
    NoLastChunk,
    /// Bytes after the end of the message.
    After(Vec<u8>),
}

impl Malformed {
    /// Returns a bare LF as the end of this line, counted as in [`Malformed::LineEnd`].
    pub fn bare_lf(line: usize) -> Self {
        Malformed::LineEnd(line, b"\n".to_vec())
    }

    pub(super) fn spoil(&self, parts: &mut Parts) -> Result<(), WriteError> {
        let is_named = |line: &Vec<u8>, name: &[u8]| {
            line.len() > name.len()
                && line[..name.len()].eq_ignore_ascii_case(name)
                && line[name.len()] == b':'
        };
        let find =
            |parts: &Parts, name: &[u8]| parts.head[1..].iter().position(|(line, _)| is_named(line, name));
        let crlf = || b"\r\n".to_vec();
        let last = parts.head.len() - 1;
        let done = match self {
            Malformed::NoHost => find(parts, b"Host").map(|host| drop(parts.head.remove(host + 1))),
            Malformed::ExtraField(name, value) => {
                let line = [&name[..], b": ", &value[..]].concat();
                parts.head.insert(last, (line, crlf()));
                Some(())
            }
            Malformed::ExtraLine(line) => {
                parts.head.insert(last, (line.clone(), crlf()));
                Some(())
            }
            Malformed::SpaceBeforeColon(name) => {
                find(parts, name).map(|line| parts.head[line + 1].0.insert(name.len(), b' '))
            }
            Malformed::LineEnd(line, end) => parts.head.get_mut(*line).map(|line| line.1.clone_from(end)),
            Malformed::StartLine(line) => {
                parts.head[0] = (line.clone(), crlf());
                Some(())
            }
            Malformed::Before(bytes) => {
                parts.before.extend(bytes);
                Some(())
            }
            Malformed::ChunkSize(chunk, size) => {
                parts.chunks.get_mut(*chunk).map(|chunk| chunk.size.clone_from(size))
            }
            Malformed::ChunkEnd(chunk, end) => {
                let with_data = parts.chunks.iter_mut().filter(|chunk| !chunk.data.is_empty());
                with_data.skip(*chunk).map(|chunk| chunk.end.clone_from(end)).next()
            }
            Malformed::NoLastChunk => {
                parts.trailers.clear();
                parts.chunks.pop().map(drop)
            }
            Malformed::After(bytes) => {
                parts.after.extend(bytes);
                Some(())
            }
        };
        done.ok_or_else(|| WriteError::NothingToSpoil(self.clone()))
    }
}

impl Encoded {
    /// Returns arbitrary bytes as one message.
    pub fn raw(bytes: Vec<u8>) -> Self {
        Parts { after: bytes, ..Parts::default() }.encode()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnomalyKind, Body, Outgoing, Read, RequestReader};

    fn kinds(wrong: Malformed) -> Vec<AnomalyKind> {
        let chunks = Body::chunks([&b"hello"[..], b"world"]);
        let chunky =
            matches!(wrong, Malformed::ChunkSize(..) | Malformed::ChunkEnd(..) | Malformed::NoLastChunk);
        let body = if chunky { chunks } else { Body::Sized(b"hello".to_vec()) };
        let encoded =
            Outgoing::request("PUT", "/", "a").field("X", "y").body(body).wrong(wrong).encode().unwrap();
        let mut reader = RequestReader::default();
        reader.feed(encoded.bytes());
        reader.eof();
        let Read::Message(raw) = reader.read() else { panic!("no message") };
        raw.anomalies().iter().map(|anomaly| anomaly.kind).collect()
    }

    #[test]
    fn what_is_spoilt_is_seen() {
        let field = |name: &str, value: &str| Malformed::ExtraField(name.into(), value.into());
        assert_eq!(kinds(Malformed::NoHost), []);
        assert_eq!(kinds(field("Host", "b")), []);
        assert_eq!(kinds(field("Content-Length", "6")), [AnomalyKind::ConflictingLengths]);
        assert_eq!(kinds(field("Content-Length", "5")), [AnomalyKind::DuplicateLengths]);
        let both = kinds(field("Transfer-Encoding", "chunked"));
        assert_eq!(both[..1], [AnomalyKind::LengthWithCoding]);
        assert_eq!(kinds(Malformed::SpaceBeforeColon(b"x".to_vec())), [AnomalyKind::SpaceBeforeColon]);
        assert_eq!(kinds(Malformed::ExtraLine(b"no colon".to_vec())), [AnomalyKind::NoColon]);
        assert_eq!(kinds(Malformed::ExtraLine(b" ".to_vec())), [AnomalyKind::ObsFold]);
        for line in 0..5 {
            assert_eq!(kinds(Malformed::bare_lf(line)), [AnomalyKind::BareLf]);
        }
        assert_eq!(kinds(Malformed::StartLine(b"PUT / HTTP/3.0".to_vec())), [AnomalyKind::OddVersion]);
        assert_eq!(kinds(Malformed::Before(b"\r\n".to_vec())), [AnomalyKind::LeadingEmptyLine]);
        assert_eq!(kinds(Malformed::ChunkSize(1, b"x".to_vec())), [AnomalyKind::BadChunkSize]);
        assert_eq!(kinds(Malformed::ChunkEnd(0, b"x".to_vec())), [AnomalyKind::BadChunkTerminator]);
        assert_eq!(kinds(Malformed::NoLastChunk), [AnomalyKind::Truncated(crate::Section::Chunks)]);
    }

    #[test]
    fn what_is_not_there_cannot_be_spoilt() {
        for wrong in [Malformed::NoHost, Malformed::LineEnd(9, vec![]), Malformed::NoLastChunk] {
            let result = Outgoing::response(200, "OK").wrong(wrong.clone()).encode();
            assert_eq!(result, Err(WriteError::NothingToSpoil(wrong)));
        }
        assert_eq!(Encoded::raw(b"any\0".to_vec()).bytes(), b"any\0");
    }
}
