//! The characters and the small rules that the rest is made of (RFC 9110, sections 5.5 and 5.6).

use std::ops::Range;

/// `tchar`.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// `token`.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| is_token_byte(*byte))
}

/// What field values and reason phrases are made of: `HTAB`, `SP`, `VCHAR`, `obs-text`.
pub(crate) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// `SP` or `HTAB`.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Without optional white space around it.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    &bytes[trim_range(bytes, 0..bytes.len())]
}

/// The part of this range that is left without optional white space around it.
pub(crate) fn trim_range(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let part = &bytes[range.clone()];
    let Some(first) = part.iter().position(|byte| !is_blank(*byte)) else { return range.end..range.end };
    let last = part.iter().rposition(|byte| !is_blank(*byte)).unwrap_or(first);
    range.start + first..range.start + last + 1
}

/// `1*DIGIT`, or the greatest number if it is greater.
pub(crate) fn decimal(bytes: &[u8]) -> Option<u64> {
    number(bytes, 10)
}

/// `1*HEXDIG`, or the greatest number if it is greater.
pub(crate) fn hexadecimal(bytes: &[u8]) -> Option<u64> {
    number(bytes, 16)
}

fn number(bytes: &[u8], radix: u32) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |sum, byte| {
        let digit = char::from(*byte).to_digit(radix)?;
        Some(sum.saturating_mul(radix.into()).saturating_add(digit.into()))
    })
}

/// How long the quoted string is that these bytes begin with, quotes included (RFC 9110, section 5.6.4).
pub(crate) fn quoted(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if is_text(*bytes.get(at + 1)?) => at += 2,
            b'\\' => return None,
            byte if is_text(byte) => at += 1,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_saturate() {
        assert_eq!(decimal(b"0042"), Some(42));
        assert_eq!(decimal(b"18446744073709551616"), Some(u64::MAX));
        assert_eq!(hexadecimal(b"fF"), Some(255));
        assert_eq!([decimal(b""), decimal(b"+1"), decimal(b"1 "), hexadecimal(b"0x1")], [None; 4]);
    }

    #[test]
    fn quoted_strings_end_where_they_should() {
        assert_eq!(quoted(br#""a\"b" c"#), Some(6));
        assert_eq!([quoted(b"a"), quoted(b"\"a"), quoted(b"\"a\\"), quoted(b"\"\n\"")], [None; 4]);
        assert_eq!((trim(b" \t "), trim(b" a b\t")), (&b""[..], &b"a b"[..]));
    }
}
