//! Just enough HTTP/1.1 to carry the messages of the conditional store over one connection without pipelining.
//!
//! A **stopgap**: the real reader will be lossless and list anomalies; this one calls [`HttpError`] whatever it does not
//! need. It never guesses, because a misread answer would accuse a correct server.

use std::fmt::Write;
use std::sync::Arc;

use confute_models::conditional::{Message, Tag};

/// The most bytes of an answer before its body.
pub const MOST_HEAD: usize = 16 << 10;
/// The most bytes of a body, and of chunks with their frames.
pub const MOST_BODY: usize = 1 << 20;

/// What cannot be sent, or was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// Not a request, or one whose key or tag has no place in HTTP.
    #[error("cannot send this over HTTP: {0}")]
    Unsendable(String),
    /// Not HTTP/1.1, or not the part of it that is understood here.
    #[error("not understood as HTTP/1.1: {0}")]
    Garbled(String),
    /// HTTP, but no answer that the conditional store gives.
    #[error("an answer that the conditional store does not know: {0}")]
    Unknown(String),
}

fn garbled<T>(what: impl Into<String>) -> Result<T, HttpError> {
    Err(HttpError::Garbled(what.into()))
}

/// The bytes of a request for a key under this prefix (which begins and ends with a slash).
pub fn request(message: &Message, host: &str, prefix: &str) -> Result<Vec<u8>, HttpError> {
    let unsendable = || HttpError::Unsendable(format!("{message:?}"));
    let (method, key, condition, body) = match message {
        Message::Get { key, if_none_match } => {
            ("GET", key, if_none_match.as_ref().map(|t| ("If-None-Match", t)), None)
        }
        Message::Put { key, if_match, body } => {
            ("PUT", key, if_match.as_ref().map(|t| ("If-Match", t)), Some(body))
        }
        _ => return Err(unsendable()),
    };
    let is_plain = |key: &str| !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !is_plain(key) || condition.is_some_and(|(_, tag)| !is_etag(&tag.opaque)) {
        return Err(unsendable());
    }
    let mut text = format!("{method} {prefix}{key} HTTP/1.1\r\nHost: {host}\r\n");
    if let Some((name, tag)) = condition {
        let weak = if tag.weak { "W/" } else { "" };
        let _ = write!(text, "{name}: {weak}\"{}\"\r\n", tag.opaque);
    }
    if let Some(body) = body {
        let _ = write!(text, "Content-Length: {}\r\n", body.len());
    }
    text += "\r\n";
    text += body.map_or("", |body| body);
    Ok(text.into_bytes())
}

fn is_etag(opaque: &str) -> bool {
    opaque.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x7e))
}

/// The first whole answer to this request in these bytes and its length; `None` if it is not all there.
pub fn answer(request: &Message, bytes: &[u8]) -> Result<Option<(Message, usize)>, HttpError> {
    let Some(end) = bytes.windows(4).take(MOST_HEAD).position(|window| window == b"\r\n\r\n") else {
        if bytes.len() >= MOST_HEAD {
            return garbled(format!("no end of the head within {MOST_HEAD} bytes"));
        }
        // Say so at once if this can never become an answer, instead of waiting for its end.
        let start = &bytes[..bytes.len().min(9)];
        return if b"HTTP/1.1 ".starts_with(start) { Ok(None) } else { garbled(excerpt(bytes)) };
    };
    let head = Head::parse(&bytes[..end])?;
    let rest = &bytes[end + 4..];
    let Some((body, length)) = head.body(rest)? else { return Ok(None) };
    Ok(Some((head.message(request, body)?, end + 4 + length)))
}

struct Head<'a> {
    status: u16,
    fields: Vec<(String, &'a str)>,
}

impl<'a> Head<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, HttpError> {
        let Ok(text) = std::str::from_utf8(bytes) else { return garbled(excerpt(bytes)) };
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| {
            let code = rest.split(' ').next().filter(|code| code.len() == 3)?;
            code.bytes().all(|byte| byte.is_ascii_digit()).then(|| code.parse().ok())?
        });
        let Some(status) = status else { return garbled(excerpt(first.as_bytes())) };
        let mut fields = Vec::new();
        for line in lines {
            match line.split_once(':') {
                Some((name, value)) if !name.is_empty() && !name.contains([' ', '\t']) => {
                    fields.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])));
                }
                _ => return garbled(excerpt(line.as_bytes())),
            }
        }
        Ok(Self { status, fields })
    }

    /// A field that may occur once.
    fn field(&self, name: &str) -> Result<Option<&'a str>, HttpError> {
        let mut values = self.fields.iter().filter(|(field, _)| field == name).map(|(_, value)| *value);
        let value = values.next();
        if values.next().is_some() { garbled(format!("{name} occurs twice")) } else { Ok(value) }
    }

    /// The body at the start of these bytes, and how many of them it takes.
    fn body(&self, bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, HttpError> {
        if matches!(self.status, 204 | 304) {
            return Ok(Some((Vec::new(), 0)));
        }
        let length = match (self.field("content-length")?, self.field("transfer-encoding")?) {
            (Some(length), None) => number(length, 10)?,
            (None, Some("chunked")) => return chunks(bytes),
            (None, None) => return garbled(format!("a {} whose body has no length", self.status)),
            (length, coding) => {
                return garbled(format!("Content-Length {length:?}, Transfer-Encoding {coding:?}"));
            }
        };
        Ok(bytes.get(..length).map(|body| (body.to_vec(), length)))
    }

    /// What the answer says, if a store could say it to this request. HTTP knows more answers than the model (a put may
    /// be told 200 or 404): those are not the model's to judge.
    fn message(&self, request: &Message, body: Vec<u8>) -> Result<Message, HttpError> {
        let is_get = matches!(request, Message::Get { .. });
        Ok(match self.status {
            200 if is_get => {
                let Some(tag) = self.field("etag")? else {
                    return Err(HttpError::Unknown("200 without an ETag".into()));
                };
                let Ok(body) = String::from_utf8(body) else { return garbled("a body that is not text") };
                Message::Ok { tag: tag_of(tag)?, body: body.into() }
            }
            201 if !is_get => Message::Created,
            204 if !is_get => Message::NoContent,
            304 if is_get => Message::NotModified,
            404 if is_get => Message::NotFound,
            412 if !is_get => Message::PreconditionFailed,
            status => {
                let body = String::from_utf8_lossy(&body).into_owned();
                return Err(HttpError::Unknown(format!("status {status}, {}", excerpt(body.as_bytes()))));
            }
        })
    }
}

fn tag_of(value: &str) -> Result<Tag, HttpError> {
    let (weak, quoted) = value.strip_prefix("W/").map_or((false, value), |rest| (true, rest));
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|opaque| is_etag(opaque)) {
        Some(opaque) => Ok(Tag { weak, opaque: Arc::from(opaque) }),
        None => garbled(format!("ETag {value:?}")),
    }
}

fn number(text: &str, radix: u32) -> Result<usize, HttpError> {
    match usize::from_str_radix(text, radix) {
        Ok(number) if text.bytes().all(|byte| byte.is_ascii_hexdigit()) && number <= MOST_BODY => Ok(number),
        _ => garbled(format!("length {text:?} (the most is {MOST_BODY})")),
    }
}

/// A chunked body without trailers.
fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, HttpError> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let Some(end) = rest.windows(2).take(64).position(|window| window == b"\r\n") else {
            return if rest.len() > 64 || at > MOST_BODY {
                garbled("a chunk's length has no end")
            } else {
                Ok(None)
            };
        };
        let text = String::from_utf8_lossy(&rest[..end]);
        let length = number(text.split(';').next().unwrap_or_default().trim_end(), 16)?;
        let Some(chunk) = rest.get(end + 2..end + 2 + length + 2) else { return Ok(None) };
        if !chunk.ends_with(b"\r\n") {
            return garbled("a chunk does not end where it said, or has trailers");
        }
        body.extend_from_slice(&chunk[..length]);
        at += end + 2 + length + 2;
        if length == 0 {
            return Ok(Some((body, at)));
        }
        if body.len() > MOST_BODY {
            return garbled(format!("a body of more than {MOST_BODY} bytes"));
        }
    }
}

fn excerpt(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(weak: bool, opaque: &str) -> Tag {
        Tag { weak, opaque: opaque.into() }
    }

    fn get() -> Message {
        Message::Get { key: "k".into(), if_none_match: None }
    }

    fn put() -> Message {
        Message::Put { key: "k".into(), if_match: None, body: "".into() }
    }

    #[test]
    fn requests() {
        let put = Message::Put { key: "k0".into(), if_match: Some(tag(true, "a-1")), body: "xyz".into() };
        let text = "PUT /p/k0 HTTP/1.1\r\nHost: h\r\nIf-Match: W/\"a-1\"\r\nContent-Length: 3\r\n\r\nxyz";
        assert_eq!(request(&put, "h", "/p/").unwrap(), text.as_bytes());
        let get = Message::Get { key: "k0".into(), if_none_match: Some(tag(false, "")) };
        let text = "GET /p/k0 HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"\"\r\n\r\n";
        assert_eq!(request(&get, "h", "/p/").unwrap(), text.as_bytes());
        for key in ["", "..", "a b", "a\r\nb"] {
            let get = Message::Get { key: key.into(), if_none_match: None };
            assert!(matches!(request(&get, "h", "/"), Err(HttpError::Unsendable(_))), "{key}");
        }
        let get = Message::Get { key: "k".into(), if_none_match: Some(tag(false, "a\"b")) };
        assert!(request(&get, "h", "/").is_err());
        assert!(request(&Message::NotFound, "h", "/").is_err());
    }

    #[test]
    fn answers_byte_by_byte() {
        let ok = Message::Ok { tag: tag(true, "a\\b"), body: "hello".into() };
        let head = "HTTP/1.1 200 OK\r\neTag: W/\"a\\b\"";
        for (request, text, message) in [
            (get(), format!("{head}\r\nContent-Length:5 \r\n\r\nhello"), ok.clone()),
            (
                get(),
                format!("{head}\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
                ok,
            ),
            (get(), "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".into(), Message::NotModified),
            (get(), "HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\nx".into(), Message::NotFound),
            (put(), "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".into(), Message::Created),
        ] {
            for length in 0..text.len() {
                assert_eq!(
                    answer(&request, &text.as_bytes()[..length]),
                    Ok(None),
                    "{length} bytes of {text}"
                );
            }
            let more = format!("{text}HTTP");
            assert_eq!(answer(&request, more.as_bytes()), Ok(Some((message, text.len()))));
        }
    }

    #[test]
    fn garbage() {
        for text in [
            "hello",
            "HTTP/1.0 200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 404 No\r\nno colon\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 404 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
            "HTTP/1.1 404 No\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 404 No\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "HTTP/1.1 404 No\r\nContent-Length: +1\r\n\r\nx",
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz",
            "HTTP/1.1 200 OK\r\nETag: unquoted\r\nContent-Length: 0\r\n\r\n",
        ] {
            assert!(matches!(answer(&get(), text.as_bytes()), Err(HttpError::Garbled(_))), "{text:?}");
        }
        assert!(matches!(answer(&get(), "HTTP/1.1 ".repeat(3_000).as_bytes()), Err(HttpError::Garbled(_))));
        for (request, line) in
            [(get(), "500 Oh"), (get(), "200 OK"), (get(), "412 No"), (put(), "200 OK"), (put(), "404 No")]
        {
            let text = format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n");
            assert!(matches!(answer(&request, text.as_bytes()), Err(HttpError::Unknown(_))), "{text:?}");
        }
    }
}
