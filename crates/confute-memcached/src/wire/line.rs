//! Parser for the lines of a response.

use std::str::from_utf8;

use crate::message::{Key, ResponseLine, Unique};

/// The `VALUE` line before a data block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) key: Key,
    pub(super) flags: u32,
    pub(super) len: usize,
    pub(super) unique: Option<Unique>,
}

/// Parses a response of one line, given without its line ending.
pub(super) fn read(line: &[u8]) -> Option<ResponseLine> {
    Some(match line {
        b"STORED" => ResponseLine::Stored,
        b"NOT_STORED" => ResponseLine::NotStored,
        b"EXISTS" => ResponseLine::Exists,
        b"NOT_FOUND" => ResponseLine::NotFound,
        b"DELETED" => ResponseLine::Deleted,
        b"TOUCHED" => ResponseLine::Touched,
        b"OK" => ResponseLine::Ok,
        [b'0'..=b'9', ..] => number(line)?,
        _ => return error(line),
    })
}

/// Parses an error line.
pub(super) fn error(line: &[u8]) -> Option<ResponseLine> {
    if line == b"ERROR" {
        return Some(ResponseLine::Error);
    }
    let after = |word: &[u8]| line.strip_prefix(word).filter(|rest| rest.is_empty() || rest[0] == b' ');
    if let Some(rest) = after(b"CLIENT_ERROR") {
        return Some(ResponseLine::ClientError(rest.into()));
    }
    after(b"SERVER_ERROR").map(|rest| ResponseLine::ServerError(rest.into()))
}

fn number(line: &[u8]) -> Option<ResponseLine> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let blank = line[digits..].iter().all(|byte| *byte == b' ');
    if blank { from_utf8(line).ok().map(|text| ResponseLine::Number(text.into())) } else { None }
}

/// Parses the `VALUE` line before a data block.
pub(super) fn head(line: &[u8]) -> Option<Head> {
    let mut words = from_utf8(line).ok()?.strip_prefix("VALUE ")?.split(' ');
    let key = words.next().filter(|key| !key.is_empty())?;
    let flags = decimal(words.next()?)?.parse().ok()?;
    let len = decimal(words.next()?)?.parse().ok()?;
    let unique = match words.next() {
        Some(word) => Some(word.parse::<u64>().ok().and(decimal(word))?.into()),
        None => None,
    };
    if words.next().is_some() {
        return None;
    }
    Some(Head { key: key.into(), flags, len, unique })
}

/// Returns the word if it is a decimal number without leading zeros or sign.
fn decimal(word: &str) -> Option<&str> {
    let usual = !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && (word == "0" || !word.starts_with('0'));
    usual.then_some(word)
}
