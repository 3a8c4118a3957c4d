//! Entity tags (RFC 9110, section 8.8.3).
//!
//! Read exactly: `W/` in upper case, no white space inside, and a backslash escapes nothing.

use std::fmt;

use crate::wire::grammar::{is_blank, trim};

/// An entity tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityTag {
    /// Whether it is marked as weak.
    pub weak: bool,
    /// What is between the quotes.
    pub opaque: Vec<u8>,
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntityTags {
    /// `*`
    Any,
    /// These.
    List(Vec<EntityTag>),
}

/// Not an entity tag, or not a list of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not as entity tags should be written: {}", .0.escape_ascii())]
pub struct BadEntityTag(pub Vec<u8>);

impl EntityTag {
    /// Reads a field value that is one entity tag.
    pub fn parse(value: &[u8]) -> Result<Self, BadEntityTag> {
        match Self::prefix(value) {
            Some((tag, [])) => Ok(tag),
            _ => Err(BadEntityTag(value.to_vec())),
        }
    }

    /// The entity tag that these bytes begin with, and what follows it.
    fn prefix(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let quoted = bytes.strip_prefix(b"W/");
        let rest = quoted.unwrap_or(bytes).strip_prefix(b"\"")?;
        let length = rest.iter().position(|byte| !matches!(byte, 0x21 | 0x23..=0x7e | 0x80..))?;
        let after = rest[length..].strip_prefix(b"\"")?;
        Some((EntityTag { weak: quoted.is_some(), opaque: rest[..length].to_vec() }, after))
    }

    /// Whether neither is weak and both are the same.
    pub fn matches_strongly(&self, other: &Self) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Whether both are the same, weak or not.
    pub fn matches_weakly(&self, other: &Self) -> bool {
        self.opaque == other.opaque
    }

    /// As it is written.
    pub fn to_bytes(&self) -> Vec<u8> {
        [if self.weak { &b"W/\""[..] } else { b"\"" }, &self.opaque, b"\""].concat()
    }
}

impl fmt::Display for EntityTag {
    /// Bytes that are no UTF-8 are replaced; see [`EntityTag::to_bytes`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_bytes()))
    }
}

impl EntityTags {
    /// Reads the combined value of a field.
    pub fn parse(value: &[u8]) -> Result<Self, BadEntityTag> {
        if value == b"*" {
            return Ok(EntityTags::Any);
        }
        Self::list(value).map(EntityTags::List).ok_or_else(|| BadEntityTag(value.to_vec()))
    }

    fn list(value: &[u8]) -> Option<Vec<EntityTag>> {
        let mut tags = Vec::new();
        let mut rest = trim(value);
        while !rest.is_empty() {
            if rest[0] != b',' {
                let (tag, after) = EntityTag::prefix(rest)?;
                tags.push(tag);
                rest = &after[after.iter().take_while(|byte| is_blank(**byte)).count()..];
            }
            match rest.split_first() {
                None => {}
                Some((b',', after)) => rest = trim(after),
                Some(_) => return None,
            }
        }
        Some(tags)
    }

    /// Whether this tag is among them, by strong comparison as for `If-Match`.
    pub fn match_strongly(&self, tag: &EntityTag) -> bool {
        match self {
            EntityTags::Any => true,
            EntityTags::List(tags) => tags.iter().any(|each| each.matches_strongly(tag)),
        }
    }

    /// Whether this tag is among them, by weak comparison as for `If-None-Match`.
    pub fn match_weakly(&self, tag: &EntityTag) -> bool {
        match self {
            EntityTags::Any => true,
            EntityTags::List(tags) => tags.iter().any(|each| each.matches_weakly(tag)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(text: &str) -> EntityTag {
        EntityTag::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn parsed_exactly() {
        for text in [r#""""#, r#""xyzzy""#, r#"W/"a,b""#, r#""\""#, "\"\u{e9}\"", r#""W/""#] {
            assert_eq!(tag(text).to_string(), text);
        }
        assert_eq!(EntityTag::parse(b"\"\xff\"").unwrap().to_bytes(), b"\"\xff\"");
        for bad in
            ["", "x", "\"", "w/\"x\"", "W/", "W/x", "W/ \"x\"", "\"x\" ", "\"a b\"", "\"a\"b\"", "\"\x7f\""]
        {
            assert!(EntityTag::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn compared_as_the_table_says() {
        let rows = [
            (r#"W/"1""#, r#"W/"1""#, false, true),
            (r#"W/"1""#, r#"W/"2""#, false, false),
            (r#"W/"1""#, r#""1""#, false, true),
            (r#""1""#, r#""1""#, true, true),
        ];
        for (one, two, strong, weak) in rows {
            let (one, two) = (tag(one), tag(two));
            assert_eq!((one.matches_strongly(&two), one.matches_weakly(&two)), (strong, weak));
        }
    }

    #[test]
    fn lists() {
        let list = |text: &str| EntityTags::parse(text.as_bytes());
        assert_eq!(list("*"), Ok(EntityTags::Any));
        let three = list(r#" "a,b" ,, W/"c","\" , "#).unwrap();
        assert_eq!(three, EntityTags::List(vec![tag(r#""a,b""#), tag(r#"W/"c""#), tag(r#""\""#)]));
        assert!(three.match_weakly(&tag(r#""c""#)) && !three.match_strongly(&tag(r#""c""#)));
        assert_eq!(list(""), Ok(EntityTags::List(vec![])));
        for bad in ["*, \"a\"", "\"a\" \"b\"", "a", "\"a\",b"] {
            assert!(list(bad).is_err(), "{bad}");
        }
    }
}
