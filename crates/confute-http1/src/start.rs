//! Status lines and request lines.
//!
//! Both are parsed leniently, split at white space, as RFC 9112 (sections 3 and 4) allows; deviations from the grammar
//! are noted as anomalies.

use std::ops::Range;

use super::anomaly::{Anomalies, AnomalyKind};
use super::grammar::{is_text, is_token};

/// HTTP version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Digit before the dot.
    pub major: u8,
    /// Digit after the dot.
    pub minor: u8,
}

impl Version {
    fn parse(bytes: &[u8], at: usize, anomalies: &mut Anomalies) -> Option<Self> {
        let version = match bytes {
            [b'H', b'T', b'T', b'P', b'/', major @ b'0'..=b'9', b'.', minor @ b'0'..=b'9'] => {
                Some(Version { major: major - b'0', minor: minor - b'0' })
            }
            _ => None,
        };
        if !matches!(version, Some(Version { major: 1, minor: 0 | 1 })) {
            anomalies.note(at, AnomalyKind::OddVersion);
        }
        version
    }
}

/// Status line of a response; ranges refer to the bytes of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    pub(super) version: Option<Version>,
    pub(super) status: Option<u16>,
    pub(super) reason: Range<usize>,
}

/// Request line; ranges refer to the bytes of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    pub(super) method: Range<usize>,
    pub(super) target: Range<usize>,
    pub(super) version: Option<Version>,
}

/// Start line of a message: [`StatusLine`] or [`RequestLine`] (sealed).
pub trait Start: sealed::Parse {}

impl Start for StatusLine {}
impl Start for RequestLine {}

pub(super) mod sealed {
    use super::{Anomalies, Version};

    pub trait Parse: Sized {
        const IS_REQUEST: bool;

        /// Returns the offset in `line` at which the start line begins.
        fn find(line: &[u8]) -> Option<usize>;

        /// Returns the number of bytes at the beginning of an incomplete line that cannot belong to a start line.
        fn garbage(line: &[u8]) -> usize;

        /// Parses a start line without its line end, which begins at offset `at` of the message.
        fn parse(line: &[u8], at: usize, anomalies: &mut Anomalies) -> Self;

        fn version(&self) -> Option<Version>;

        /// Returns the status code; `None` for a request.
        fn status(&self) -> Option<u16>;
    }
}

/// Beginning of every status line; other cases are accepted, as an anomaly.
const NAME: &[u8] = b"HTTP/";

impl sealed::Parse for StatusLine {
    const IS_REQUEST: bool = false;

    fn find(line: &[u8]) -> Option<usize> {
        line.windows(NAME.len()).position(|window| window.eq_ignore_ascii_case(NAME))
    }

    fn garbage(line: &[u8]) -> usize {
        Self::find(line).unwrap_or_else(|| {
            let begins = |at: &usize| NAME.len() > line.len() - at && NAME.starts_with(&line[*at..]);
            (line.len().saturating_sub(NAME.len())..line.len()).find(begins).unwrap_or(line.len())
        })
    }

    fn parse(line: &[u8], at: usize, anomalies: &mut Anomalies) -> Self {
        let version = word(line, 0);
        let code = word(line, gap(line, version.end));
        if &line[version.end..code.start] != b" " && !code.is_empty() {
            anomalies.note(at + version.end, AnomalyKind::OddSpacing);
        }
        let status = match &line[code.clone()] {
            digits @ [_, _, _] => super::grammar::decimal(digits).map(|status| status as u16),
            _ => None,
        };
        if !status.is_some_and(|status| (100..600).contains(&status)) {
            anomalies.note(at + code.start, AnomalyKind::BadStatus);
        }
        match line.get(code.end) {
            None => anomalies.note(at + code.end, AnomalyKind::MissingReason),
            Some(b' ') => {}
            Some(_) => anomalies.note(at + code.end, AnomalyKind::OddSpacing),
        }
        let reason = line.len().min(code.end + 1)..line.len();
        // A CR is already noted as `AnomalyKind::BareCr`.
        if let Some(odd) = line[reason.clone()].iter().position(|byte| !is_text(*byte) && *byte != b'\r') {
            anomalies.note(at + reason.start + odd, AnomalyKind::OddReason);
        }
        StatusLine {
            version: Version::parse(&line[version], at, anomalies),
            status,
            reason: at + reason.start..at + reason.end,
        }
    }

    fn version(&self) -> Option<Version> {
        self.version
    }

    fn status(&self) -> Option<u16> {
        self.status
    }
}

impl sealed::Parse for RequestLine {
    const IS_REQUEST: bool = true;

    fn find(_line: &[u8]) -> Option<usize> {
        Some(0)
    }

    fn garbage(_line: &[u8]) -> usize {
        0
    }

    fn parse(line: &[u8], at: usize, anomalies: &mut Anomalies) -> Self {
        let method = word(line, gap(line, 0));
        let rest = gap(line, method.end);
        let end = line.iter().rposition(|byte| !is_gap(*byte)).map_or(rest, |last| rest.max(last + 1));
        // The last word after the method is the version, unless it is the only one: then it is the target.
        let last = line[rest..end].iter().rposition(|byte| is_gap(*byte)).map(|last| rest + last + 1);
        let version = last.unwrap_or(end)..end;
        let target = rest..last.map_or(end, |last| {
            line[rest..last].iter().rposition(|byte| !is_gap(*byte)).map_or(rest, |byte| rest + byte + 1)
        });
        let whole = [&line[method.clone()], &line[target.clone()], &line[version.clone()]];
        if !version.is_empty() && whole.join(&b' ') != line {
            anomalies.note(at, AnomalyKind::OddSpacing);
        }
        if !is_token(whole[0]) {
            anomalies.note(at + method.start, AnomalyKind::BadMethod);
        }
        if whole[1].is_empty() || !whole[1].iter().all(u8::is_ascii_graphic) {
            anomalies.note(at + target.start, AnomalyKind::BadTarget);
        }
        RequestLine {
            version: Version::parse(whole[2], at + version.start, anomalies),
            method: at + method.start..at + method.end,
            target: at + target.start..at + target.end,
        }
    }

    fn version(&self) -> Option<Version> {
        self.version
    }

    fn status(&self) -> Option<u16> {
        None
    }
}

/// Returns `true` for the white space that a lenient recipient accepts instead of a space (RFC 9112, section 3).
fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r')
}

fn gap(line: &[u8], from: usize) -> usize {
    line[from..].iter().position(|byte| !is_gap(*byte)).map_or(line.len(), |length| from + length)
}

fn word(line: &[u8], from: usize) -> Range<usize> {
    from..line[from..].iter().position(|byte| is_gap(*byte)).map_or(line.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::sealed::Parse;
    use super::*;

    fn status(line: &str) -> (Option<u16>, &str, Vec<AnomalyKind>) {
        let mut anomalies = Anomalies::new(9);
        let parsed = StatusLine::parse(line.as_bytes(), 0, &mut anomalies);
        (parsed.status, &line[parsed.reason], anomalies.list().iter().map(|anomaly| anomaly.kind).collect())
    }

    #[test]
    fn status_lines() {
        assert_eq!(status("HTTP/1.1 200 OK"), (Some(200), "OK", vec![]));
        assert_eq!(status("HTTP/1.0 404 "), (Some(404), "", vec![]));
        assert_eq!(status("HTTP/1.1 200  O\tK "), (Some(200), " O\tK ", vec![]));
        assert_eq!(status("HTTP/1.1 200"), (Some(200), "", vec![AnomalyKind::MissingReason]));
        assert_eq!(status("HTTP/1.1\t200\tOK"), (Some(200), "OK", vec![AnomalyKind::OddSpacing; 2]));
        assert_eq!(status("HTTP/1.1 200 \0"), (Some(200), "\0", vec![AnomalyKind::OddReason]));
        assert_eq!(status("HTTP/1.1 099 "), (Some(99), "", vec![AnomalyKind::BadStatus]));
        assert_eq!(
            status("HTTP/2 600 "),
            (Some(600), "", vec![AnomalyKind::BadStatus, AnomalyKind::OddVersion])
        );
        assert_eq!(
            status("http/1.1 20x "),
            (None, "", vec![AnomalyKind::BadStatus, AnomalyKind::OddVersion])
        );
        assert_eq!(status("HTTP/1.1"), (None, "", vec![AnomalyKind::BadStatus, AnomalyKind::MissingReason]));
        assert_eq!(StatusLine::find(b"helloHTTP/1.1 200 OK"), Some(5));
        assert_eq!((StatusLine::find(b"HT"), StatusLine::find(b"hello")), (None, None));
        assert_eq!(
            ["HT", "xHTTP/", "xHTT", "hello", ""].map(|line| StatusLine::garbage(line.as_bytes())),
            [0, 1, 1, 5, 0]
        );
    }

    fn request(line: &str) -> (&str, &str, Vec<AnomalyKind>) {
        let mut anomalies = Anomalies::new(9);
        let parsed = RequestLine::parse(line.as_bytes(), 0, &mut anomalies);
        let kinds = anomalies.list().iter().map(|anomaly| anomaly.kind).collect();
        (&line[parsed.method], &line[parsed.target], kinds)
    }

    #[test]
    fn request_lines() {
        assert_eq!(request("GET /a HTTP/1.1"), ("GET", "/a", vec![]));
        assert_eq!(request("GET  /a  HTTP/1.0 "), ("GET", "/a", vec![AnomalyKind::OddSpacing]));
        assert_eq!(request("GET /a"), ("GET", "/a", vec![AnomalyKind::OddVersion]));
        assert_eq!(request("GET /a b HTTP/1.1"), ("GET", "/a b", vec![AnomalyKind::BadTarget]));
        assert_eq!(
            request("G@T /é HTTP/1.1"),
            ("G@T", "/é", vec![AnomalyKind::BadMethod, AnomalyKind::BadTarget])
        );
        assert_eq!(
            request(" "),
            ("", "", vec![AnomalyKind::BadMethod, AnomalyKind::BadTarget, AnomalyKind::OddVersion])
        );
    }
}
