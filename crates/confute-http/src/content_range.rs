//! The field `Content-Range` (RFC 9110, section 14.4).

use crate::wire::grammar::{decimal, is_token};

/// A value of `Content-Range`. Numbers that are too large to count are [`u64::MAX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// In lower case, because units are compared without regard to case.
    pub unit: Vec<u8>,
    /// The first and the last position, or `None` if the range could not be satisfied.
    pub range: Option<(u64, u64)>,
    /// How long the whole is, if the sender knew.
    pub complete: Option<u64>,
}

/// Not a value of `Content-Range`, or an invalid one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid Content-Range: {}", .0.escape_ascii())]
pub struct BadContentRange(pub Vec<u8>);

impl ContentRange {
    /// Reads a field value. One that ends before it starts, or reaches beyond the whole, is invalid.
    pub fn parse(value: &[u8]) -> Result<Self, BadContentRange> {
        Self::read(value).ok_or_else(|| BadContentRange(value.to_vec()))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (unit, rest) = split_once(value, b' ')?;
        let (range, complete) = split_once(rest, b'/')?;
        let range = match range {
            b"*" => None,
            _ => {
                let (first, last) = split_once(range, b'-')?;
                Some((decimal(first)?, decimal(last)?))
            }
        };
        let complete = match complete {
            b"*" if range.is_some() => None,
            _ => Some(decimal(complete)?),
        };
        let is_valid = range
            .is_none_or(|(first, last)| first <= last && complete.is_none_or(|complete| last < complete));
        (is_token(unit) && is_valid).then(|| ContentRange {
            unit: unit.to_ascii_lowercase(),
            range,
            complete,
        })
    }
}

fn split_once(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let index = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..index], &bytes[index + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_as_written() {
        let parse = |text: &str| {
            let range = ContentRange::parse(text.as_bytes()).unwrap();
            assert_eq!(range.unit, b"bytes");
            (range.range, range.complete)
        };
        assert_eq!(parse("bytes 0-9/100"), (Some((0, 9)), Some(100)));
        assert_eq!(parse("Bytes 42-1233/*"), (Some((42, 1233)), None));
        assert_eq!(parse("bytes */100"), (None, Some(100)));
        for bad in [
            "",
            "bytes",
            "bytes 0-9",
            "bytes=0-9/10",
            "bytes 9-0/10",
            "bytes 0-9/9",
            "bytes */*",
            "bytes  0-9/10",
            "bytes 0-9/10 ",
            "bytes -9/10",
            "bytes 0-/10",
            "bytes 0-9/",
            " 0-9/10",
            "bytes +0-9/10",
        ] {
            assert!(ContentRange::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
