//! Literals for bytes and text in the exported scripts; repetitions are abbreviated.

use std::fmt::Write as _;

/// Maximum length of a repeated unit.
const UNIT: usize = 64;

/// Divides bytes into a repeated unit, the number of repetitions, and the rest. Generated content repeats its mark.
pub(super) fn repeated(bytes: &[u8]) -> (&[u8], usize, &[u8]) {
    let fits = |unit: usize| (unit..bytes.len()).all(|at| bytes[at] == bytes[at - unit]);
    let most = UNIT.min(bytes.len() / 3);
    match (1..=most).find(|unit| fits(*unit)).filter(|_| bytes.len() > 16) {
        Some(unit) => {
            let times = bytes.len() / unit;
            (&bytes[..unit], times, &bytes[unit * times..])
        }
        None => (bytes, 1, b""),
    }
}

/// Returns the bytes escaped for a literal of Python, or for bash's `$'…'`, without the quotes.
pub(super) fn escaped(bytes: &[u8], quote: char) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\r' => out.push_str("\\r"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            _ if char::from(*byte) == quote => {
                let _ = write!(out, "\\{quote}");
            }
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out
}

/// Returns a Python expression for these bytes.
pub(super) fn python_bytes(bytes: &[u8]) -> String {
    let one = |bytes: &[u8]| format!("b\"{}\"", escaped(bytes, '"'));
    match repeated(bytes) {
        (_, 1, _) => one(bytes),
        (unit, times, b"") => format!("{} * {times}", one(unit)),
        (unit, times, rest) => format!("{} * {times} + {}", one(unit), one(rest)),
    }
}

/// Returns a Python string literal for this text.
pub(super) fn python_text(text: &str) -> String {
    let mut out = String::from("\"");
    for each in text.chars() {
        match each {
            ' '..='~' if !matches!(each, '"' | '\\') => out.push(each),
            '"' | '\\' => out.extend(['\\', each]),
            '\r' => out.push_str("\\r"),
            '\n' => out.push_str("\\n"),
            other if u32::from(other) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_itself_is_short() {
        assert_eq!(python_bytes(b"hello\r\n\"\\\x00"), r#"b"hello\r\n\"\\\x00""#);
        assert_eq!(python_bytes("<00017>".repeat(9).as_bytes()), r#"b"<00017>" * 9"#);
        assert_eq!(python_bytes("<00017><00017><00017><00".as_bytes()), r#"b"<00017>" * 3 + b"<00""#);
        assert_eq!(python_text("a\"…\r\n"), "\"a\\\"…\\r\\n\"");
    }
}
