//! The field `Content-Range` (RFC 9110, section 14.4).

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::grammar::decimal;

/// The value of `Content-Range`. Numbers that do not fit are [`u64::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RangeSent {
    /// The first and the last position, and the complete length if it is known.
    Part(u64, u64, Option<u64>),
    /// `*`: no range, with the complete length.
    Nothing(u64),
    /// An invalid value.
    Invalid,
}

impl RangeSent {
    /// Parses a field value. A range that ends before it starts, or reaches beyond the complete length, is invalid, and
    /// so is any unit other than bytes.
    pub fn parse(value: &[u8]) -> Self {
        Self::read(value).unwrap_or(RangeSent::Invalid)
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (unit, rest) = split_once(value, b' ')?;
        let (range, complete) = split_once(rest, b'/')?;
        let sent = if range == b"*" {
            RangeSent::Nothing(decimal(complete)?)
        } else {
            let (first, last) = split_once(range, b'-')?;
            let complete = if complete == b"*" { None } else { Some(decimal(complete)?) };
            RangeSent::Part(decimal(first)?, decimal(last)?, complete)
        };
        let is_valid = match sent {
            RangeSent::Part(first, last, complete) => first <= last && complete.is_none_or(|it| last < it),
            _ => true,
        };
        (unit.eq_ignore_ascii_case(b"bytes") && is_valid).then_some(sent)
    }
}

impl Display for RangeSent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RangeSent::Part(first, last, Some(complete)) => write!(f, "bytes {first}-{last}/{complete}"),
            RangeSent::Part(first, last, None) => write!(f, "bytes {first}-{last}/*"),
            RangeSent::Nothing(complete) => write!(f, "bytes */{complete}"),
            RangeSent::Invalid => f.write_str("(invalid)"),
        }
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
        let parse = |text: &str| RangeSent::parse(text.as_bytes());
        assert_eq!(parse("bytes 0-9/100"), RangeSent::Part(0, 9, Some(100)));
        assert_eq!(parse("Bytes 42-1233/*"), RangeSent::Part(42, 1233, None));
        assert_eq!(parse("bytes */100"), RangeSent::Nothing(100));
        let bad = "|bytes|bytes 0-9|bytes=0-9/10|bytes 9-0/10|bytes 0-9/9|bytes */*|bytes  0-9/10|bytes 0-9/10 |\
                   bytes -9/10|bytes 0-/10|bytes 0-9/| 0-9/10|bytes +0-9/10|lines 0-9/10";
        for bad in bad.split('|') {
            assert_eq!(parse(bad), RangeSent::Invalid, "{bad}");
        }
    }
}
