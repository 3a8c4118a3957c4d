//! Numeric interpretation of data.

use super::Content;

/// The interpretation of data as a number for incr and decr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numeric {
    /// A number in canonical form.
    Is(u64),
    /// A number in unusual form: servers may accept or reject it.
    Perhaps(u64),
    /// Not a number.
    Not,
}

/// Returns the number that a server may read in this data. `protocol.txt` requires "the decimal
/// representation of a 64-bit unsigned integer": digits, followed by blanks that the server itself may have
/// added. Some servers also accept other blanks, a sign, leading zeros or words after a blank, and others do not.
pub(super) fn numeric(content: &Content) -> Numeric {
    let bytes = match content {
        Content::Padded { number, .. } => return Numeric::Is(*number),
        Content::Exact(data) => data.bytes(),
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return Numeric::Not };
    let bare = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let bare = bare.strip_prefix(['+', '-']).unwrap_or(bare);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = bare.split_at(digits);
    let Ok(number) = number.parse::<u64>() else { return Numeric::Not };
    let odd = bare.len() < text.len() || (digits > 1 && bare.starts_with('0'));
    if !odd && rest.bytes().all(|byte| byte == b' ') {
        Numeric::Is(number)
    } else if rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace() || c == '\0') {
        Numeric::Perhaps(number)
    } else {
        Numeric::Not
    }
}
