//! Entity tags and lists of them (RFC 9110, 8.8.3).
//!
//! A list is parsed leniently: a member that is no entity tag matches nothing, and the rest of the list still counts.

use std::fmt;

/// An entity tag: its opaque part, without quotes, and its weakness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) weak: bool,
    pub(crate) opaque: Vec<u8>,
}

impl Tag {
    /// Parses a tag at the start of a value and returns it with the rest of the value.
    fn read(value: &[u8]) -> Option<(Self, &[u8])> {
        let (weak, rest) = match value.strip_prefix(b"W/") {
            Some(rest) => (true, rest),
            None => (false, value),
        };
        let rest = rest.strip_prefix(b"\"")?;
        let end = rest.iter().position(|&byte| byte == b'"')?;
        Some((Self { weak, opaque: rest[..end].to_vec() }, &rest[end + 1..]))
    }

    /// Parses a value that consists of one tag.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        Self::read(value).filter(|(_, rest)| rest.is_empty()).map(|(tag, _)| tag)
    }

    /// Returns `true` if neither tag is weak and their opaque parts are equal.
    pub(crate) fn matches_strongly(&self, other: &Self) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Returns `true` if the opaque parts are equal, weak or not.
    pub(crate) fn matches_weakly(&self, other: &Self) -> bool {
        self.opaque == other.opaque
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weak = if self.weak { "W/" } else { "" };
        write!(f, "{weak}\"{}\"", String::from_utf8_lossy(&self.opaque))
    }
}

/// The combined value of all lines of If-Match or If-None-Match.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tags {
    /// The value `*`.
    Any,
    /// A list of tags.
    List(Vec<Tag>),
}

impl Tags {
    pub(crate) fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut tags = Vec::new();
        for line in lines {
            if line == b"*" {
                return Self::Any;
            }
            list(line, &mut tags);
        }
        Self::List(tags)
    }
}

fn list(mut line: &[u8], tags: &mut Vec<Tag>) {
    loop {
        while let [b' ' | b'\t' | b',', rest @ ..] = line {
            line = rest;
        }
        if line.is_empty() {
            return;
        }
        let (tag, rest) = Tag::read(line).map_or((None, line), |(tag, rest)| (Some(tag), rest));
        let comma = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
        // A member with more than blanks between the tag and the next comma is no entity tag.
        if rest[..comma].trim_ascii().is_empty() {
            tags.extend(tag);
        }
        line = &rest[comma..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        match Tags::parse([line.as_bytes()]) {
            Tags::Any => "*".to_owned(),
            Tags::List(tags) => tags.iter().map(Tag::to_string).collect::<Vec<_>>().join(" "),
        }
    }

    #[test]
    fn lists_as_in_rfc_9110_13_1_2() {
        assert_eq!(read("*"), "*");
        assert_eq!(read(r#""xyzzy""#), r#""xyzzy""#);
        assert_eq!(read(r#"W/"xyzzy", "r2d2,xxxx" ,,"c3piozzzz""#), r#"W/"xyzzy" "r2d2,xxxx" "c3piozzzz""#);
        assert_eq!(read(r#"xyzzy, "b", "c"d, "e" "f", w/"g", "h""#), r#""b" "h""#);
        assert_eq!(read(r#"""#), "");
        assert_eq!(read(r#""""#), r#""""#);
    }

    #[test]
    fn comparison_as_in_the_table_of_rfc_9110_8_8_3_2() {
        let tag = |text: &str| Tag::parse(text.as_bytes()).unwrap();
        for (a, b, strongly, weakly) in [
            (r#"W/"1""#, r#"W/"1""#, false, true),
            (r#"W/"1""#, r#"W/"2""#, false, false),
            (r#"W/"1""#, r#""1""#, false, true),
            (r#""1""#, r#""1""#, true, true),
        ] {
            assert_eq!(tag(a).matches_strongly(&tag(b)), strongly);
            assert_eq!(tag(a).matches_weakly(&tag(b)), weakly);
        }
    }
}
