//! RESP, the protocol of Redis.

use super::{Read, Wire, body};
use crate::message::{self, Message, Piece, kind_of};

/// Longest line of RESP, in bytes.
const LINE: usize = 64 << 10;
/// Deepest nesting of arrays.
const DEPTH: u32 = 16;

/// RESP: see [`resp`](super::resp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resp;

/// A value of RESP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RespValue {
    /// `+`: a simple string.
    Simple(String),
    /// `-`: an error.
    Error(String),
    /// `:`: an integer.
    Integer(i64),
    /// `$`: a string. Bytes that are not UTF-8 are escaped.
    Bulk(String),
    /// `$-1` or `*-1`: nothing.
    Nil,
    /// `*`: values.
    Array(Vec<RespValue>),
}

impl RespValue {
    /// Reads the first value in these bytes, and returns it with the number of its bytes. `Ok(None)` if it is not complete; the
    /// error says why it is none.
    pub fn read(bytes: &[u8]) -> Result<Option<(Self, usize)>, String> {
        Self::nested(bytes, DEPTH)
    }

    fn nested(bytes: &[u8], depth: u32) -> Result<Option<(Self, usize)>, String> {
        let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") else {
            return if bytes.len() > LINE { Err("its first line does not end".to_owned()) } else { Ok(None) };
        };
        let line =
            std::str::from_utf8(&bytes[..end]).map_err(|_| "its first line is not UTF-8".to_owned())?;
        let head = end + 2;
        let number =
            |text: &str| text.parse::<i64>().map_err(|_| format!("`{}` has no number", line.escape_debug()));
        let Some(sigil) = line.chars().next().filter(char::is_ascii) else {
            return Err("a value begins with its type, and here is an empty line".to_owned());
        };
        let rest = &line[1..];
        Ok(Some(match sigil {
            '+' => (Self::Simple(rest.to_owned()), head),
            '-' => (Self::Error(rest.to_owned()), head),
            ':' => (Self::Integer(number(rest)?), head),
            '_' => (Self::Nil, head),
            '$' | '*' if rest == "-1" => (Self::Nil, head),
            '$' => {
                let length =
                    usize::try_from(number(rest)?).map_err(|_| format!("the length {rest} is negative"))?;
                let Some(content) = bytes.get(head..head.saturating_add(length).saturating_add(2)) else {
                    return Ok(None);
                };
                let Some(content) = content.strip_suffix(b"\r\n") else {
                    return Err(format!("the string of {length} bytes does not end where its length says"));
                };
                let text = std::str::from_utf8(content)
                    .map_or_else(|_| content.escape_ascii().to_string(), str::to_owned);
                (Self::Bulk(text), head + length + 2)
            }
            '*' => {
                let count =
                    usize::try_from(number(rest)?).map_err(|_| format!("the length {rest} is negative"))?;
                let Some(depth) = depth.checked_sub(1) else {
                    return Err("it is nested too deeply".to_owned());
                };
                let (mut values, mut used) = (Vec::new(), head);
                for _ in 0..count {
                    let Some((value, length)) = Self::nested(&bytes[used..], depth)? else { return Ok(None) };
                    values.push(value);
                    used += length;
                }
                (Self::Array(values), used)
            }
            _ => return Err(format!("no type of RESP begins with `{}`", sigil.escape_debug())),
        }))
    }

    /// Appends the bytes of a request: an array of strings.
    pub fn request(words: &[impl AsRef<str>], bytes: &mut Vec<u8>) {
        bytes.extend(format!("*{}\r\n", words.len()).bytes());
        for word in words {
            let word = word.as_ref();
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
    }

    /// Returns the value as templates write it: `+OK`, `:1`, `$text`, `_`. Arrays have no template.
    pub fn text(&self) -> Option<String> {
        Some(match self {
            Self::Simple(text) => format!("+{text}"),
            Self::Error(text) => format!("-{text}"),
            Self::Integer(number) => format!(":{number}"),
            Self::Bulk(text) => format!("${text}"),
            Self::Nil => "_".to_owned(),
            Self::Array(_) => return None,
        })
    }
}

/// Returns the words of a request. Only the text of the template is split at blanks, not that of the fields.
pub(crate) fn words<M: Message>(message: &M) -> Vec<String> {
    let texts = message::texts(message);
    let (mut words, mut open) = (Vec::new(), None::<String>);
    for piece in kind_of(message).pieces {
        match piece {
            Piece::Field(place) => open.get_or_insert_default().push_str(&texts[*place]),
            Piece::Text(text) => {
                for letter in text.chars() {
                    if letter == ' ' {
                        words.extend(open.take());
                    } else {
                        open.get_or_insert_default().push(letter);
                    }
                }
            }
        }
    }
    words.extend(open);
    words
}

impl<M: Message> Wire<M> for Resp {
    fn encode(&self, message: &M, bytes: &mut Vec<u8>) {
        RespValue::request(&words(message), bytes);
    }

    fn read(&self, bytes: &[u8], _: Option<&M>) -> Read<M> {
        match RespValue::read(bytes) {
            Ok(None) => Read::More,
            Ok(Some((value, length))) => match value.text().map(|text| body::parsed(&text)) {
                Some(Ok(message)) => Read::Message(message, length),
                Some(Err(why)) => Read::Nonsense(why, length),
                None => Read::Nonsense(
                    "templates have no arrays; write a wire that reads `RespValue`".to_owned(),
                    length,
                ),
            },
            // What follows cannot be told apart from it.
            Err(why) => Read::Nonsense(why, bytes.len()),
        }
    }

    fn check(&self) -> Result<(), String> {
        body::complete::<M>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_when_they_are_complete() {
        let bytes = b"*3\r\n:-7\r\n$4\r\na\r\nb\r\n*1\r\n$-1\r\n+OK\r\n";
        let array = RespValue::Array(vec![
            RespValue::Integer(-7),
            RespValue::Bulk("a\r\nb".to_owned()),
            RespValue::Array(vec![RespValue::Nil]),
        ]);
        let whole = bytes.len() - 5;
        for cut in 0..whole {
            assert_eq!(RespValue::read(&bytes[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(RespValue::read(bytes), Ok(Some((array, whole))));
        assert_eq!(RespValue::read(&bytes[whole..]), Ok(Some((RespValue::Simple("OK".to_owned()), 5))));
    }

    #[test]
    fn nonsense_has_a_reason() {
        for (bytes, why) in [
            (&b"hello\r\n"[..], "no type of RESP begins with `h`"),
            (b"$3\r\nabcd\r\n", "does not end where its length says"),
            (b":x\r\n", "has no number"),
            (b"\r\n", "an empty line"),
            (b"$-2\r\n", "the length -2 is negative"),
        ] {
            assert!(RespValue::read(bytes).unwrap_err().contains(why), "{why}");
        }
    }
}
