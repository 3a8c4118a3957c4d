//! Character classes and common grammar rules (RFC 9110, sections 5.5 and 5.6).

use std::ops::Range;

/// Returns `true` for a `tchar`.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns `true` for a `token`.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| is_token_byte(*byte))
}

/// Returns `true` for a byte of field values and reason phrases: `HTAB`, `SP`, `VCHAR` or `obs-text`.
pub(crate) fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..)
}

/// Returns `true` for `SP` and `HTAB`.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Removes optional white space at both ends.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    &bytes[trim_range(bytes, 0..bytes.len())]
}

/// Returns the part of `range` without optional white space at both ends.
pub(crate) fn trim_range(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let part = &bytes[range.clone()];
    let Some(first) = part.iter().position(|byte| !is_blank(*byte)) else { return range.end..range.end };
    let last = part.iter().rposition(|byte| !is_blank(*byte)).unwrap_or(first);
    range.start + first..range.start + last + 1
}

/// Parses `1*DIGIT`; a number that does not fit becomes [`u64::MAX`].
pub(crate) fn decimal(bytes: &[u8]) -> Option<u64> {
    number(bytes, 10)
}

/// Parses `1*HEXDIG`; a number that does not fit becomes [`u64::MAX`].
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

/// Returns the length of the quoted string at the start of `bytes`, quotes included (RFC 9110, section 5.6.4).
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
