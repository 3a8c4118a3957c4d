//! Data as a number.

use super::Content;

/// What incr and decr make of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numeric {
    /// It is this number.
    Is(u64),
    /// Written oddly: this number, or none.
    Perhaps(u64),
    /// No number.
    Not,
}

/// What a server may take this for. "The decimal representation of a 64-bit unsigned integer": digits, and blanks after
/// them, which the server itself may have added. Other blanks, a sign, needless zeros or words after a blank are taken
/// by some and not by others.
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
