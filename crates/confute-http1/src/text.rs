//! Text form of arbitrary bytes, so that they can be the value of a secret, be compared cheaply and be read in a trace.
//!
//! UTF-8 is its own text form. Other bytes, and UTF-8 that could be mistaken for their text form, become a mark
//! followed by one character per byte.

use std::borrow::Cow;
use std::sync::Arc;

/// Prefix of the text form of bytes that are not UTF-8.
const MARK: char = '\u{1}';

/// Returns the text form of these bytes.
pub fn text(bytes: &[u8]) -> Arc<str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(MARK) => text.into(),
        _ => {
            std::iter::once(MARK).chain(bytes.iter().map(|byte| char::from(*byte))).collect::<String>().into()
        }
    }
}

/// Returns the bytes that a text represents.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    match text.strip_prefix(MARK) {
        None => Cow::Borrowed(text.as_bytes()),
        Some(rest) => {
            let byte = |each: char| u8::try_from(u32::from(each)).unwrap_or(b'?');
            Cow::Owned(rest.chars().map(byte).collect())
        }
    }
}

/// Returns the number of bytes that a text represents.
pub fn length(text: &str) -> usize {
    text.strip_prefix(MARK).map_or(text.len(), |rest| rest.chars().count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost(content: Vec<u8>) {
            let there = text(&content);
            prop_assert_eq!(&*bytes(&there), &content[..]);
            prop_assert_eq!(length(&there), content.len());
        }
    }

    #[test]
    fn text_is_itself() {
        assert_eq!(&*text("grün".as_bytes()), "grün");
        assert_eq!(&*bytes(&text(b"\x01a")), b"\x01a");
        assert_ne!(text(b"\x01a"), text(b"a"));
    }
}
