//! Finding the end of a message's content (RFC 9112, 6 and 7), and reading it.

use super::bug::Bug;
use super::input::{Input, Trouble};
use super::message::{Fields, Request, Tolerance};
use super::switches::Switches;

/// Maximum length of a chunk-size line, in bytes.
const LINE: usize = 4096;
/// Maximum total length of the chunk-size lines of one message, in bytes.
const OVERHEAD: usize = 256 * 1024;

/// The way in which content is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The content has this number of bytes.
    Length(usize),
    /// The content ends with the empty chunk.
    Chunked,
    /// The content ends when the connection closes; responses only.
    Close,
}

impl Framing {
    /// Returns the framing of a request. Attempts at request smuggling are refused.
    pub(crate) fn of_request(request: &Request, limit: usize, switches: &Switches) -> Result<Self, Trouble> {
        let fields = &request.fields;
        let (coded, measured) = (fields.has("transfer-encoding"), fields.has("content-length"));
        if coded && !(measured && switches.has(Bug::LengthOverChunked)) {
            if request.minor == 0 {
                return Err(Trouble::Bad(400, "Transfer-Encoding in HTTP/1.0"));
            }
            if measured {
                return Err(Trouble::Bad(400, "Transfer-Encoding and Content-Length"));
            }
            let codings = fields.tokens("transfer-encoding");
            let chunked = codings.iter().filter(|it| *it == "chunked").count();
            return match codings.last().map(String::as_str) {
                Some("chunked") if codings.len() == 1 => Ok(Self::Chunked),
                Some("chunked") if chunked == 1 => {
                    Err(Trouble::Bad(501, "a transfer coding besides chunked"))
                }
                _ => Err(Trouble::Bad(400, "chunked is not the last transfer coding")),
            };
        }
        let length = length(fields, switches.has(Bug::ConflictingLengths))?.unwrap_or(0);
        if length > limit {
            return Err(Trouble::Bad(413, "too much content"));
        }
        Ok(Self::Length(length))
    }

    /// Returns the framing of a response that has content.
    pub(crate) fn of_response(fields: &Fields) -> Result<Self, Trouble> {
        if fields.has("transfer-encoding") {
            return match &fields.tokens("transfer-encoding")[..] {
                [only] if only == "chunked" => Ok(Self::Chunked),
                _ => Err(Trouble::Bad(502, "a transfer coding besides chunked")),
            };
        }
        Ok(length(fields, false)?.map_or(Self::Close, Self::Length))
    }

    /// Reads the content, up to `limit` bytes.
    pub(crate) fn read(self, input: &mut Input, limit: usize, truncated: bool) -> Result<Vec<u8>, Trouble> {
        match self {
            Self::Length(length) if length > limit => Err(Trouble::Bad(413, "too much content")),
            Self::Length(0) => Ok(Vec::new()),
            Self::Length(length) => input.exactly(length),
            Self::Chunked => chunks(input, limit, truncated),
            Self::Close => {
                let mut content = Vec::new();
                loop {
                    let count = input.pending().len();
                    content.append(&mut input.take(count));
                    if content.len() > limit {
                        return Err(Trouble::Bad(413, "too much content"));
                    }
                    match input.fill() {
                        Err(Trouble::Gone) => return Ok(content),
                        other => other?,
                    }
                }
            }
        }
    }
}

/// Returns the value of Content-Length. Several equal values count as one (RFC 9112, 6.3).
fn length(fields: &Fields, first_wins: bool) -> Result<Option<usize>, Trouble> {
    let bad = Err(Trouble::Bad(400, "a bad Content-Length"));
    if !fields.has("content-length") {
        return Ok(None);
    }
    let values = fields.tokens("content-length");
    let Some(first) = values.first() else { return bad };
    let digits = |it: &String| it.bytes().all(|byte| byte.is_ascii_digit());
    if !values.iter().all(digits) || !first_wins && values.iter().any(|it| it != first) {
        return bad;
    }
    // A length that does not fit exceeds any limit.
    Ok(Some(first.parse().unwrap_or(usize::MAX)))
}

fn chunks(input: &mut Input, limit: usize, truncated: bool) -> Result<Vec<u8>, Trouble> {
    let mut content = Vec::new();
    let mut overhead = 0;
    loop {
        let line = input.line(LINE)?;
        let size = chunk_size(&line, truncated)?;
        overhead += line.len();
        if overhead > OVERHEAD {
            return Err(Trouble::Bad(400, "more extensions than content"));
        }
        if size == 0 {
            input.trailers = Fields::read(input, Tolerance::default())?;
            return Ok(content);
        }
        if size > limit - content.len() {
            return Err(Trouble::Bad(413, "too much content"));
        }
        content.append(&mut input.exactly(size)?);
        if input.exactly(2)? != b"\r\n" {
            return Err(Trouble::Bad(400, "a chunk is longer than it says"));
        }
    }
}

/// Returns the size of a chunk from its first line; extensions are ignored (RFC 9112, 7.1.1).
fn chunk_size(line: &[u8], truncated: bool) -> Result<usize, Trouble> {
    let bad = Trouble::Bad(400, "a bad chunk size");
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, rest) = line.split_at(digits);
    let extension = rest.trim_ascii_start();
    let good = rest.is_empty()
        || extension.starts_with(b";") && !extension.iter().any(|&it| it.is_ascii_control() && it != b'\t');
    let text = std::str::from_utf8(size).map_err(|_| bad)?.trim_start_matches('0');
    if size.is_empty() || text.len() > 15 || !good {
        return Err(bad);
    }
    let size = if text.is_empty() { 0 } else { usize::from_str_radix(text, 16).map_err(|_| bad)? };
    Ok(if truncated { size & 0xffff_ffff } else { size })
}
