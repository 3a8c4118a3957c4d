//! Any bytes as text, so that they can be a secret's value, be compared cheaply and be read in a trace.
//!
//! Bytes that are UTF-8 are themselves. Others, and those that could be mistaken for them, are a mark and then one
//! character for each byte.

use std::borrow::Cow;
use std::sync::Arc;

/// What comes before bytes that are no text.
const MARK: char = '\u{1}';

/// The text that stands for these bytes.
pub fn text(bytes: &[u8]) -> Arc<str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.starts_with(MARK) => text.into(),
        _ => {
            std::iter::once(MARK).chain(bytes.iter().map(|byte| char::from(*byte))).collect::<String>().into()
        }
    }
}

/// The bytes that a text stands for.
pub fn bytes(text: &str) -> Cow<'_, [u8]> {
    match text.strip_prefix(MARK) {
        None => Cow::Borrowed(text.as_bytes()),
        Some(rest) => {
            let byte = |each: char| u8::try_from(u32::from(each)).unwrap_or(b'?');
            Cow::Owned(rest.chars().map(byte).collect())
        }
    }
}

/// How many bytes a text stands for.
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
