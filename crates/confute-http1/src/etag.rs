//! Entity tags (RFC 9110, section 8.8.3).
//!
//! Parsing is exact: `W/` is in upper case, there is no white space inside, and a backslash escapes nothing.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text;

/// An entity tag whose value is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// `true` if the tag is marked as weak.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weak: bool,
    /// The characters between the quotes, as [text](crate::text).
    pub opaque: Arc<str>,
}

impl Tag {
    /// Opaque part of a tag that the tester made up. No server has it, unless it learned it from a request.
    pub const MADE_UP: &str = "confute-made-this-up";

    /// Creates a strong tag.
    pub fn strong(opaque: &str) -> Self {
        Tag { weak: false, opaque: opaque.into() }
    }

    /// Creates a weak tag.
    pub fn weak(opaque: &str) -> Self {
        Tag { weak: true, opaque: opaque.into() }
    }

    /// Parses a field value that is one entity tag.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let quoted = value.strip_prefix(b"W/");
        let opaque = quoted.unwrap_or(value).strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let is_tag = opaque.iter().all(|byte| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..));
        is_tag.then(|| Tag { weak: quoted.is_some(), opaque: text::text(opaque) })
    }

    /// Returns the tag as written on the wire.
    pub fn to_bytes(&self) -> Vec<u8> {
        [if self.weak { &b"W/\""[..] } else { b"\"" }, &text::bytes(&self.opaque), b"\""].concat()
    }
}

impl Display for Tag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}\"{}\"", if self.weak { "W/" } else { "" }, self.opaque)
    }
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tags<T = Tag> {
    /// `*`
    Any,
    /// The tags of each field line.
    Lines(Vec<Vec<T>>),
}

impl<T> Tags<T> {
    /// Creates a list of one tag.
    pub fn one(tag: T) -> Self {
        Tags::Lines(vec![vec![tag]])
    }

    /// Replaces each tag by the result of `change`. Returns `None` if there is none for one of them.
    pub fn map<U>(&self, change: impl Fn(&T) -> Option<U>) -> Option<Tags<U>> {
        Some(match self {
            Tags::Any => Tags::Any,
            Tags::Lines(lines) => {
                let line = |line: &Vec<T>| line.iter().map(&change).collect();
                Tags::Lines(lines.iter().map(line).collect::<Option<_>>()?)
            }
        })
    }

    /// Returns the tags of all lines.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let lines = if let Tags::Lines(lines) = self { &lines[..] } else { &[] };
        lines.iter().flatten()
    }
}

/// The value of `If-Range`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfRange<T = Tag, D = i64> {
    /// A tag.
    Tag(T),
    /// A date, by default in seconds since 1970.
    Date(D),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsed_exactly() {
        for text in [r#""""#, r#""xyzzy""#, r#"W/"a,b""#, r#""\""#, "\"\u{e9}\"", r#""W/""#] {
            assert_eq!(Tag::parse(text.as_bytes()).unwrap().to_string(), text);
        }
        assert_eq!(Tag::parse(b"\"\xff\"").unwrap().to_bytes(), b"\"\xff\"");
        for bad in
            ["", "x", "\"", "w/\"x\"", "W/", "W/x", "W/ \"x\"", "\"x\" ", "\"a b\"", "\"a\"b\"", "\"\x7f\""]
        {
            assert_eq!(Tag::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
