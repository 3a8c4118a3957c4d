//! Differential test against `httparse`, on heads of responses.
//!
//! Every head that `httparse` accepts is read with the same status, reason, names, values and length of the head. Every
//! head without an anomaly is accepted by `httparse`. The known exception, checked below: `httparse` omits a reason
//! phrase that is not ASCII.

use confute_http1::{AnomalyKind, PieceKind, RawResponse, Read, ReaderLimits};

use crate::common::responses;

const MOST: usize = 300;

/// Compares both parsers on the first head. Returns whether `httparse` accepted it, and whether it has no anomaly.
pub(crate) fn compare(bytes: &[u8], seed: u64) -> (bool, bool) {
    let mut reader = responses("GET", ReaderLimits { fields: MOST, ..ReaderLimits::default() });
    reader.feed(bytes);
    reader.eof();
    let ours = match reader.read() {
        Read::Message(raw) => Some(raw),
        _ => None,
    };
    let mut headers = [httparse::EMPTY_HEADER; MOST];
    let mut theirs = httparse::Response::new(&mut headers);
    let result = theirs.parse(bytes);
    let input = bytes.escape_ascii();

    if let Ok(httparse::Status::Complete(length)) = result {
        let raw = ours.as_deref().unwrap_or_else(|| panic!("{seed}: only httparse reads {input}"));
        assert_eq!(raw.status(), theirs.code, "{seed}: {input}");
        assert_eq!(raw.version().map(|version| version.minor), theirs.version, "{seed}: {input}");
        let reason = raw.reason().unwrap_or_default();
        assert_eq!(
            if reason.is_ascii() { reason } else { b"" },
            theirs.reason.unwrap_or_default().as_bytes(),
            "{seed}: {input}"
        );
        let fields: Vec<_> =
            raw.fields().iter().map(|field| (field.name, field.value.into_owned())).collect();
        let headers: Vec<_> =
            theirs.headers.iter().map(|header| (header.name.as_bytes(), header.value.to_vec())).collect();
        assert_eq!(fields, headers, "{seed}: {input}");
        assert_eq!(head_length(raw), Some(length), "{seed}: {input}");
    }
    let is_clean = ours.is_some_and(|raw| {
        head_length(&raw).is_some() && raw.anomalies().iter().all(|a| !is_about_syntax(a.kind))
    });
    let is_accepted = matches!(result, Ok(httparse::Status::Complete(_)));
    assert!(!is_clean || is_accepted, "{seed}: httparse says {result:?} to {input}");
    (is_accepted, is_clean)
}

fn head_length(raw: &RawResponse) -> Option<usize> {
    raw.pieces().iter().find(|piece| piece.kind == PieceKind::HeadEnd).map(|piece| piece.range.end)
}

/// Returns `true` for an anomaly of syntax, which is all that `httparse` checks.
fn is_about_syntax(kind: AnomalyKind) -> bool {
    !matches!(
        kind,
        AnomalyKind::BadLength
            | AnomalyKind::DuplicateLengths
            | AnomalyKind::ConflictingLengths
            | AnomalyKind::LengthWithCoding
            | AnomalyKind::BadCoding
            | AnomalyKind::CodingInOldVersion
            | AnomalyKind::FramingForbidden
            | AnomalyKind::BadChunkSize
            | AnomalyKind::BadChunkExtension
            | AnomalyKind::BadChunkTerminator
            | AnomalyKind::Truncated(_)
    )
}

#[test]
fn the_exceptions_are_what_they_are_said_to_be() {
    assert_eq!(compare(b"HTTP/1.1 200 \xe9\r\n\r\n", 0), (true, true));
    // `httparse` accepts these anomalies without reporting them.
    for odd in [
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 999 \r\n\r\n",
    ] {
        assert_eq!(compare(odd.as_bytes(), 0), (true, false), "{odd}");
    }
}
