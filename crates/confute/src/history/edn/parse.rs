//! Parser of one EDN value from text in memory.
//!
//! Recursive descent is safe because the depth is checked before each descent. An error records whether it is
//! at the end of the text, where more text could have corrected it: this distinguishes a truncated file from
//! a wrong one.

use std::collections::{BTreeMap, BTreeSet};

use super::{ESCAPES, Edn, EdnError, MAX_DEPTH, NAMED};

/// Parses the one value in a text, or returns `None` if the text has only white space and comments.
pub(super) fn parse(text: &str) -> Result<Option<Edn>, EdnError> {
    let mut parser = Parser { text, at: 0 };
    parser.skip(0)?;
    if parser.at == text.len() {
        return Ok(None);
    }
    let value = parser.value(0)?;
    parser.skip(0)?;
    if parser.at == text.len() { Ok(Some(value)) } else { parser.fault("expected nothing after the value") }
}

/// Parses the first value in a text, and returns it with its length. The rest is ignored, but must be separated from the
/// value by white space.
pub(super) fn parse_first(text: &str) -> Result<(Edn, usize), EdnError> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    match parser.peek() {
        Some(next) if !next.is_whitespace() => parser.fault("expected a blank after the value"),
        _ => Ok((value, parser.at)),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn fault<T>(&self, what: impl Into<String>) -> Result<T, EdnError> {
        Err(EdnError { at: self.at, what: what.into(), at_end: self.at == self.text.len() })
    }

    fn fault_at<T>(at: usize, what: impl Into<String>) -> Result<T, EdnError> {
        Err(EdnError { at, what: what.into(), at_end: false })
    }

    /// Skips white space, comments and discarded values.
    fn skip(&mut self, depth: usize) -> Result<(), EdnError> {
        loop {
            let blank = self.rest().find(|c: char| c != ',' && !c.is_whitespace());
            self.at += blank.unwrap_or(self.rest().len());
            if self.rest().starts_with(';') {
                self.at += self.rest().find('\n').unwrap_or(self.rest().len());
            } else if self.rest().starts_with("#_") {
                self.at += 2;
                self.value(depth + 1)?;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Edn, EdnError> {
        if depth > MAX_DEPTH {
            return Self::fault_at(self.at, format!("nested deeper than {MAX_DEPTH}"));
        }
        self.skip(depth)?;
        let start = self.at;
        match self.peek() {
            None => self.fault("expected a value"),
            Some('[') => Ok(Edn::Vector(self.sequence(1, ']', depth)?)),
            Some('(') => Ok(Edn::List(self.sequence(1, ')', depth)?)),
            Some('{') => {
                let values = self.sequence(1, '}', depth)?;
                if values.len() % 2 == 1 {
                    return Self::fault_at(start, "a map with a key that has no value");
                }
                let (half, mut map, mut values) = (values.len() / 2, BTreeMap::new(), values.into_iter());
                while let (Some(key), Some(value)) = (values.next(), values.next()) {
                    map.insert(key, value);
                }
                if map.len() == half {
                    Ok(Edn::Map(map))
                } else {
                    Self::fault_at(start, "a map with a key twice")
                }
            }
            Some('#') if self.rest().starts_with("#{") => {
                let values = self.sequence(2, '}', depth)?;
                let (length, set) = (values.len(), BTreeSet::from_iter(values));
                if set.len() == length {
                    Ok(Edn::Set(set))
                } else {
                    Self::fault_at(start, "a set with a value twice")
                }
            }
            Some('#') => {
                self.at += 1;
                match self.token()? {
                    Edn::Symbol(tag) => Ok(Edn::Tagged(tag, Box::new(self.value(depth + 1)?))),
                    _ => Self::fault_at(start, "expected a tag, a set or a discarded value after `#`"),
                }
            }
            Some('"') => self.string(),
            Some('\\') => self.character(),
            Some(']' | ')' | '}') => Self::fault_at(start, "a closing bracket that nothing opened"),
            Some(_) => self.token(),
        }
    }

    /// Parses the values up to the closing bracket, after an opening bracket of `opening` bytes.
    fn sequence(&mut self, opening: usize, closing: char, depth: usize) -> Result<Vec<Edn>, EdnError> {
        self.at += opening;
        let mut values = Vec::new();
        loop {
            self.skip(depth)?;
            match self.peek() {
                None => return self.fault(format!("expected `{closing}`")),
                Some(c) if c == closing => {
                    self.at += 1;
                    return Ok(values);
                }
                Some(_) => values.push(self.value(depth + 1)?),
            }
        }
    }

    fn string(&mut self) -> Result<Edn, EdnError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = self.rest().find(['"', '\\']).unwrap_or(self.rest().len());
            text.push_str(&self.rest()[..plain]);
            self.at += plain;
            let start = self.at;
            match self.bump() {
                None => return self.fault("a string without its closing quote"),
                Some('"') => return Ok(Edn::Str(text.into())),
                Some(_) => match self.bump() {
                    None => return self.fault("a string without its closing quote"),
                    Some('u') => text.push(self.unicode(start)?),
                    Some(letter) => match ESCAPES.iter().find(|(escape, _)| *escape == letter) {
                        Some((_, c)) => text.push(*c),
                        None => return Self::fault_at(start, "an unknown escape in a string"),
                    },
                },
            }
        }
    }

    /// Parses the rest of `\uXXXX`, or of two escapes that form a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<char, EdnError> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).map_or_else(|| Self::fault_at(start, "half a surrogate pair"), Ok);
        }
        for expected in ['\\', 'u'] {
            match self.bump() {
                Some(c) if c == expected => {}
                None => return self.fault("half a surrogate pair"),
                Some(_) => return Self::fault_at(start, "half a surrogate pair"),
            }
        }
        let second = self.hex()?;
        if !(0xdc00..0xe000).contains(&second) {
            return Self::fault_at(start, "half a surrogate pair");
        }
        let c = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(c).map_or_else(|| Self::fault_at(start, "half a surrogate pair"), Ok)
    }

    fn hex(&mut self) -> Result<u32, EdnError> {
        let mut value = 0;
        for _ in 0..4 {
            match self.peek().map(|c| c.to_digit(16)) {
                Some(Some(digit)) => value = value * 16 + digit,
                _ => return self.fault("expected four hexadecimal digits after `\\u`"),
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn character(&mut self) -> Result<Edn, EdnError> {
        let start = self.at;
        self.at += 1;
        let Some(first) = self.peek() else { return self.fault("expected a character after `\\`") };
        let rest = self.rest();
        // The first character may be a delimiter, as in `\(`.
        let length = first.len_utf8() + length_of_token(&rest[first.len_utf8()..]);
        let name = &rest[..length];
        if name.len() == first.len_utf8() && !first.is_whitespace() {
            self.at += length;
            return Ok(Edn::Char(first));
        }
        if let Some((_, c)) = NAMED.iter().find(|(named, _)| *named == name) {
            self.at += length;
            return Ok(Edn::Char(*c));
        }
        if first == 'u' && length == 5 {
            self.at += 1;
            let code = self.hex()?;
            return char::from_u32(code)
                .map_or_else(|| Self::fault_at(start, "half a surrogate pair"), |c| Ok(Edn::Char(c)));
        }
        let at_end = start + 1 + length == self.text.len();
        Err(EdnError { at: start, what: "an unknown character name".to_owned(), at_end })
    }

    /// Parses a number, a keyword, a symbol, or one of `nil`, `true` and `false`.
    fn token(&mut self) -> Result<Edn, EdnError> {
        let start = self.at;
        let token = &self.rest()[..length_of_token(self.rest())];
        let is_plain = |c: char| {
            let signs =
                matches!(c, '.' | '*' | '+' | '!' | '-' | '_' | '?' | '$' | '%' | '&' | '=' | '<' | '>');
            c.is_alphanumeric() || signs || matches!(c, '/' | ':' | '#' | '\'' | '|')
        };
        if let Some((index, _)) = token.char_indices().find(|(_, c)| !is_plain(*c)) {
            return Self::fault_at(start + index, "a character that EDN does not allow here");
        }
        self.at += token.len();
        let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
        if digits.starts_with(|c: char| c.is_ascii_digit()) {
            return self.number(token, digits, start);
        }
        match token {
            "nil" => Ok(Edn::Nil),
            "true" => Ok(Edn::Bool(true)),
            "false" => Ok(Edn::Bool(false)),
            "" => self.fault("expected a name"),
            _ => match token.strip_prefix(':') {
                None if token.starts_with(['#', '\'']) => Self::fault_at(start, "a name that starts oddly"),
                None => Ok(Edn::Symbol(token.into())),
                Some("") => self.fault("expected a name after `:`"),
                Some(name) => Ok(Edn::Keyword(name.into())),
            },
        }
    }

    fn number(&self, token: &str, digits: &str, start: usize) -> Result<Edn, EdnError> {
        let whole = digits.strip_suffix('N').unwrap_or(digits);
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let signed = token.strip_prefix('+').unwrap_or(token);
        let bad = |what: &str| {
            Err(EdnError { at: start, what: what.to_owned(), at_end: self.at == self.text.len() })
        };
        if whole.len() > 1 && whole.starts_with('0') && whole.as_bytes()[1].is_ascii_digit() {
            return bad("a number with a leading zero");
        }
        if is_digits(whole) {
            let signed = signed.strip_suffix('N').unwrap_or(signed);
            return Ok(signed.parse().map_or_else(|_| Edn::Number(signed.into()), Edn::Int));
        }
        let float = digits.strip_suffix('M').unwrap_or(digits);
        let (mantissa, exponent) = float.split_once(['e', 'E']).map_or((float, "0"), |(m, e)| (m, e));
        let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let ratio = digits.split_once('/').is_some_and(|(n, d)| is_digits(n) && is_digits(d));
        if ratio || (is_digits(before) && is_digits(after) && is_digits(exponent)) {
            Ok(Edn::Number(signed.into()))
        } else {
            bad("not a number, and no name may start with a digit")
        }
    }
}

/// Returns the length in bytes of the token at the start of the text.
fn length_of_token(text: &str) -> usize {
    let ends = |c: char| match c {
        ',' | ';' | '"' | '\\' | '(' | ')' | '[' | ']' | '{' | '}' => true,
        _ => c.is_whitespace(),
    };
    text.find(ends).unwrap_or(text.len())
}
