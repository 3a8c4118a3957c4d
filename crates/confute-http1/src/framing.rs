//! Message body length: RFC 9112, section 6.3, item by item.

use super::anomaly::{Anomalies, AnomalyKind};
use super::fields::{Length, RawFields};
use super::start::{Start, Version};

/// Delimitation of the content of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyFraming {
    /// The message has no content.
    None,
    /// The content has this number of bytes.
    Length(u64),
    /// The content is sent in chunks and ends with the last one.
    Chunked,
    /// The content ends with the connection.
    UntilClose,
    /// The framing fields are invalid or contradictory, so the end of the content is unknown.
    Unknown,
}

/// Returns the framing of the content after this head; `is_head` is `true` for the response to a HEAD request.
pub(super) fn of<S: Start>(
    start: &S,
    is_head: bool,
    fields: RawFields<'_>,
    anomalies: &mut Anomalies,
) -> BodyFraming {
    let (length, codings) = (fields.content_length(), fields.transfer_codings());
    let length_at = fields.position("Content-Length").unwrap_or(0);
    let coding_at = fields.position("Transfer-Encoding").unwrap_or(0);
    match length {
        Length::Absent | Length::One(_) => {}
        Length::Repeated(_) => anomalies.note(length_at, AnomalyKind::DuplicateLengths),
        Length::Conflicting => anomalies.note(length_at, AnomalyKind::ConflictingLengths),
        Length::Malformed => anomalies.note(length_at, AnomalyKind::BadLength),
    }
    let is_chunked = codings.as_ref().is_some_and(|codings| {
        let chunked = |coding: &&super::Coding| coding.name == b"chunked";
        let last = codings.last().filter(chunked);
        let times = codings.iter().filter(chunked).count();
        // If chunked is not the last coding, the content of a response ends with the connection; that of a request has
        // no known end.
        let ends_well = if times == 0 { !S::IS_REQUEST } else { last.is_some() };
        if codings.is_empty() || !ends_well || times > 1 || last.is_some_and(|last| last.has_parameters) {
            anomalies.note(coding_at, AnomalyKind::BadCoding);
        }
        last.is_some()
    });
    if codings.is_some() {
        if length != Length::Absent {
            anomalies.note(length_at.min(coding_at), AnomalyKind::LengthWithCoding);
        }
        if start.version().is_none_or(|version| version < Version { major: 1, minor: 1 }) {
            anomalies.note(coding_at, AnomalyKind::CodingInOldVersion);
        }
    }

    // Item 1.
    if matches!(start.status(), Some(100..=199 | 204)) && (codings.is_some() || length != Length::Absent) {
        let at = if codings.is_some() { coding_at } else { length_at };
        anomalies.note(at, AnomalyKind::FramingForbidden);
    }
    if is_head || matches!(start.status(), Some(100..=199 | 204 | 304)) {
        return BodyFraming::None;
    }
    // Item 2 concerns CONNECT, which no tester sends. Items 3 and 4:
    if codings.is_some() {
        return match (is_chunked, S::IS_REQUEST) {
            (true, _) => BodyFraming::Chunked,
            (false, false) => BodyFraming::UntilClose,
            (false, true) => BodyFraming::Unknown,
        };
    }
    match length {
        // Item 5.
        Length::Conflicting | Length::Malformed => BodyFraming::Unknown,
        // Items 5 and 6.
        Length::One(length) | Length::Repeated(length) => BodyFraming::Length(length),
        // Item 7.
        Length::Absent if S::IS_REQUEST => BodyFraming::None,
        // Item 8.
        Length::Absent => BodyFraming::UntilClose,
    }
}

#[cfg(test)]
mod tests {
    use super::BodyFraming::{Chunked, Length, None, Unknown, UntilClose};
    use super::*;
    use crate::{AnomalyKind, Read, RequestReader, ResponseReader};

    fn response(method: &str, status: &str, fields: &str) -> (BodyFraming, Vec<AnomalyKind>) {
        let mut reader = ResponseReader::default();
        reader.expect(method.as_bytes());
        reader.feed(format!("{status} \r\n{}\r\n\r\n", fields.replace('|', "\r\n")).as_bytes());
        reader.eof();
        let Read::Message(raw) = reader.read() else { panic!("no message") };
        let kinds = raw.anomalies().iter().map(|anomaly| anomaly.kind);
        (raw.framing().unwrap(), kinds.filter(|kind| !matches!(kind, AnomalyKind::Truncated(_))).collect())
    }

    #[test]
    fn responses() {
        let ok = |fields| response("GET", "HTTP/1.1 200", fields);
        assert_eq!(ok("Content-Length: 5"), (Length(5), vec![]));
        assert_eq!(ok("X: y"), (UntilClose, vec![]));
        assert_eq!(ok("Transfer-Encoding: Chunked"), (Chunked, vec![]));
        assert_eq!(ok("Transfer-Encoding: gzip|Transfer-Encoding: , chunked"), (Chunked, vec![]));
        assert_eq!(ok("Transfer-Encoding: gzip"), (UntilClose, vec![]));
        assert_eq!(ok("Transfer-Encoding: chunked, gzip"), (UntilClose, vec![AnomalyKind::BadCoding]));
        assert_eq!(ok("Transfer-Encoding: chunked, chunked"), (Chunked, vec![AnomalyKind::BadCoding]));
        assert_eq!(ok("Transfer-Encoding: chunked;a=b"), (Chunked, vec![AnomalyKind::BadCoding]));
        assert_eq!(ok("Transfer-Encoding:"), (UntilClose, vec![AnomalyKind::BadCoding]));
        assert_eq!(ok("Transfer-Encoding: xchunked"), (UntilClose, vec![]));
        assert_eq!(
            ok("Content-Length: 5|Transfer-Encoding: chunked"),
            (Chunked, vec![AnomalyKind::LengthWithCoding])
        );
        assert_eq!(
            ok("Content-Length: 5|Content-Length: 5"),
            (Length(5), vec![AnomalyKind::DuplicateLengths])
        );
        assert_eq!(
            ok("Content-Length: 5|Content-Length: 6"),
            (Unknown, vec![AnomalyKind::ConflictingLengths])
        );
        assert_eq!(ok("Content-Length: five"), (Unknown, vec![AnomalyKind::BadLength]));
        let old = response("GET", "HTTP/1.0 200", "Transfer-Encoding: chunked");
        assert_eq!(old, (Chunked, vec![AnomalyKind::CodingInOldVersion]));
    }

    #[test]
    fn responses_without_content() {
        assert_eq!(response("HEAD", "HTTP/1.1 200", "Content-Length: 5"), (None, vec![]));
        assert_eq!(response("GET", "HTTP/1.1 304", "Transfer-Encoding: chunked"), (None, vec![]));
        assert_eq!(response("GET", "HTTP/1.1 204", "X: y"), (None, vec![]));
        assert_eq!(
            response("GET", "HTTP/1.1 204", "Content-Length: 0"),
            (None, vec![AnomalyKind::FramingForbidden])
        );
        assert_eq!(
            response("GET", "HTTP/1.1 103", "Transfer-Encoding: a"),
            (None, vec![AnomalyKind::FramingForbidden])
        );
        // Methods are case-sensitive.
        assert_eq!(response("head", "HTTP/1.1 200", "Content-Length: 5"), (Length(5), vec![]));
    }

    #[test]
    fn requests() {
        let request = |fields: &str| {
            let mut reader = RequestReader::default();
            reader.feed(format!("PUT / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n").as_bytes());
            reader.eof();
            let Read::Message(raw) = reader.read() else { panic!("no message") };
            raw.framing().unwrap()
        };
        assert_eq!(request("X: y"), None);
        assert_eq!(request("Content-Length: 5"), Length(5));
        assert_eq!(request("Transfer-Encoding: chunked"), Chunked);
        assert_eq!(request("Transfer-Encoding: gzip"), Unknown);
        assert_eq!(request("Content-Length: 5, 6"), Unknown);
    }
}
