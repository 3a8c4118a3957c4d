//! Values in Clojure's notation, EDN, as far as recorded histories use it.
//!
//! The parser reads one value at a time from text in memory, and stores a number as `i64` or as its digits.
//! Values are made for comparison: maps and sets are equal regardless of the order in which they were
//! written, so no history is refuted for the order of a map. Nesting is bounded by [`MAX_DEPTH`], and so is
//! the stack.

mod parse;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Maximum depth of nested values.
pub const MAX_DEPTH: usize = 64;

/// A value in Clojure's notation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Edn {
    /// `nil`
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// An integer that fits into an `i64`.
    Int(i64),
    /// Any other number, as written (without a leading `+` and a trailing `N`).
    Number(Arc<str>),
    /// `\a` or `\newline`
    Char(char),
    /// `"…"`
    Str(Arc<str>),
    /// `:name`, without the colon.
    Keyword(Arc<str>),
    /// `name`
    Symbol(Arc<str>),
    /// `(…)`
    List(Vec<Edn>),
    /// `[…]`
    Vector(Vec<Edn>),
    /// `{…}`
    Map(BTreeMap<Edn, Edn>),
    /// `#{…}`
    Set(BTreeSet<Edn>),
    /// `#tag value`
    Tagged(Arc<str>, Box<Edn>),
}

/// Reason why a text is not one EDN value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {what}", at + 1)]
pub struct EdnError {
    /// Position of the error, in bytes from 0.
    pub at: usize,
    /// Description of the error, on one line.
    pub what: String,
    /// `true` if the error is at the end of the text, so that more text could have corrected it.
    pub at_end: bool,
}

impl Edn {
    /// Parses the one value in a text; white space and comments may surround it.
    pub fn parse(text: &str) -> Result<Edn, EdnError> {
        Self::parse_if_any(text)?.ok_or_else(|| EdnError {
            at: text.len(),
            what: "expected a value".to_owned(),
            at_end: true,
        })
    }

    /// Parses the one value in a text, or returns `None` if the text has only white space and comments.
    pub(super) fn parse_if_any(text: &str) -> Result<Option<Edn>, EdnError> {
        parse::parse(text)
    }

    /// Parses the first value in a text, and returns it with its length. White space has to follow, and then anything.
    pub(super) fn parse_first(text: &str) -> Result<(Edn, usize), EdnError> {
        parse::parse_first(text)
    }

    /// Returns the keyword `:name`.
    pub fn keyword(name: &str) -> Edn {
        Edn::Keyword(name.into())
    }
}

/// Writes EDN that parses to an equal value.
impl fmt::Display for Edn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn spaced<'a>(f: &mut fmt::Formatter<'_>, values: impl IntoIterator<Item = &'a Edn>) -> fmt::Result {
            values
                .into_iter()
                .enumerate()
                .try_for_each(|(index, value)| write!(f, "{}{value}", if index == 0 { "" } else { " " }))
        }
        match self {
            Edn::Nil => f.write_str("nil"),
            Edn::Bool(value) => write!(f, "{value}"),
            Edn::Int(value) => write!(f, "{value}"),
            Edn::Number(text) | Edn::Symbol(text) => f.write_str(text),
            Edn::Char(c) => match NAMED.iter().find(|(_, named)| named == c) {
                Some((name, _)) => write!(f, "\\{name}"),
                None if c.is_control() || c.is_whitespace() => write!(f, "\\u{:04x}", u32::from(*c)),
                None => write!(f, "\\{c}"),
            },
            Edn::Str(text) => {
                f.write_str("\"")?;
                for c in text.chars() {
                    match ESCAPES.iter().find(|(_, escaped)| *escaped == c) {
                        Some((letter, _)) => write!(f, "\\{letter}")?,
                        None if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                        None => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"")
            }
            Edn::Keyword(name) => write!(f, ":{name}"),
            Edn::List(values) => {
                f.write_str("(").and_then(|()| spaced(f, values)).and_then(|()| f.write_str(")"))
            }
            Edn::Vector(values) => {
                f.write_str("[").and_then(|()| spaced(f, values)).and_then(|()| f.write_str("]"))
            }
            Edn::Set(values) => {
                f.write_str("#{").and_then(|()| spaced(f, values)).and_then(|()| f.write_str("}"))
            }
            Edn::Map(map) => {
                f.write_str("{")?;
                for (index, (key, value)) in map.iter().enumerate() {
                    write!(f, "{}{key} {value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Edn::Tagged(tag, value) => write!(f, "#{tag} {value}"),
        }
    }
}

const ESCAPES: [(char, char); 7] =
    [('t', '\t'), ('r', '\r'), ('n', '\n'), ('b', '\u{8}'), ('f', '\u{c}'), ('\\', '\\'), ('"', '"')];

const NAMED: [(&str, char); 6] = [
    ("newline", '\n'),
    ("return", '\r'),
    ("space", ' '),
    ("tab", '\t'),
    ("backspace", '\u{8}'),
    ("formfeed", '\u{c}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Edn {
        Edn::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn one_of_each() {
        let text = r#"{:a/b [nil true -4 +7N 99999999999999999999 1.5e-3 1/2], "s\t\"\u00e9\ud83d\ude00" (x.y/z - ->) ; end"#;
        let map = parse(&format!("{text}\n #_(gone) \\a #{{\\newline #t [\\u0041]}}}}"));
        let Edn::Map(map) = map else { panic!("a map") };
        let number = |text: &str| Edn::Number(text.into());
        assert_eq!(
            map[&Edn::keyword("a/b")],
            Edn::Vector(vec![
                Edn::Nil,
                Edn::Bool(true),
                Edn::Int(-4),
                Edn::Int(7),
                number("99999999999999999999"),
                number("1.5e-3"),
                number("1/2")
            ])
        );
        let names = ["x.y/z", "-", "->"].map(|name| Edn::Symbol(name.into()));
        assert_eq!(map[&Edn::Str("s\t\"é😀".into())], Edn::List(names.into()));
        let tagged = Edn::Tagged("t".into(), Box::new(Edn::Vector(vec![Edn::Char('A')])));
        assert_eq!(map[&Edn::Char('a')], Edn::Set([Edn::Char('\n'), tagged].into()));
    }

    #[test]
    fn equal_whatever_the_order() {
        assert_eq!(parse("{:a 1, :b #{1 2}}"), parse("{:b #{2 1} :a 1}"));
        assert_eq!(parse("#_#_ 1 2 3"), Edn::Int(3));
    }

    #[test]
    fn prints_what_it_reads() {
        for text in [
            "{:a [1 2 nil], :b #{\"x\\n\\u0007\"}}",
            "#t (\\space \\( \\u0085 sym)",
            "[-1.5M 12345678901234567890]",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn more_text_would_help() {
        let text = r#"{:a [1 #{"x\u0041"} (\newline)], :b #t {}}"#;
        for length in 0..text.len() {
            assert!(Edn::parse(&text[..length]).unwrap_err().at_end, "{}", &text[..length]);
        }
    }

    #[test]
    fn or_not() {
        for text in [
            "]",
            "{:a}",
            "{1 2 1 3}",
            "#{1 1}",
            "1 2",
            "\"\\q\"",
            "\"\\ud800x\"",
            "\"\\udc00\"",
            "@x",
            "[}",
            "01 ",
            "1x ",
            ": ",
        ] {
            assert!(!Edn::parse(text).unwrap_err().at_end, "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(Edn::parse(&nested(MAX_DEPTH)).is_ok());
        for text in
            [nested(1_000_000), "#_".repeat(1_000_000), "#a ".repeat(1_000_000), "{[".repeat(1_000_000)]
        {
            assert!(Edn::parse(&text).unwrap_err().what.starts_with("nested deeper"));
        }
    }
}
