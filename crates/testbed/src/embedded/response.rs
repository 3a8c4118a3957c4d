//! A response, and the bytes it becomes.
//!
//! Whoever makes a [`Response`] says what the content is; whether it is sent is decided here, from the method and the
//! status (RFC 9112, 6.3). So a HEAD is answered like a GET until the very end.

use std::fmt::Write as _;
use std::sync::Arc;

use super::bug::Bug;
use super::date;
use super::switches::Switches;

/// What Content-Length says where there is no content to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// To HEAD, the length of what GET would be sent; with 304, nothing.
    Usual,
    /// This: somebody else has measured it.
    This(usize),
    /// Nothing.
    Nothing,
}

/// An answer, before it is put into bytes.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) content: Arc<[u8]>,
    /// The part of the content that is sent.
    pub(crate) part: std::ops::Range<usize>,
    /// The length to tell where no content is sent.
    pub(crate) told: Told,
    /// Interim responses that come before, as bytes.
    pub(crate) interim: Vec<u8>,
    /// The connection ends after it.
    pub(crate) close: bool,
}

impl Response {
    /// One without content.
    pub(crate) fn empty(status: u16) -> Self {
        Self::with(status, Arc::from([]))
    }

    pub(crate) fn with(status: u16, content: Arc<[u8]>) -> Self {
        let part = 0..content.len();
        let fields = Vec::new();
        Self { status, fields, content, part, told: Told::Usual, interim: Vec::new(), close: false }
    }

    /// One that says why.
    pub(crate) fn explained(status: u16, why: &str) -> Self {
        let text = format!("{status} {}: {why}\n", reason(status));
        Self::with(status, Arc::from(text.into_bytes())).field("Content-Type", "text/plain")
    }

    pub(crate) fn field(mut self, name: &str, value: impl Into<String>) -> Self {
        self.fields.push((name.to_owned(), value.into().into_bytes()));
        self
    }

    pub(crate) fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(it, _)| it.eq_ignore_ascii_case(name))
    }

    fn length(&self, plain: bool, bare: bool) -> Option<usize> {
        match self.told {
            _ if plain => Some(self.part.len()),
            _ if self.status == 204 => None,
            Told::Usual => (!bare).then_some(self.part.len()),
            Told::This(length) => Some(length),
            Told::Nothing => None,
        }
    }

    /// Appends the bytes that answer a request of this method and minor version.
    pub(crate) fn render(&self, method: &str, minor: u8, options: &Options<'_>, out: &mut Vec<u8>) {
        let bugs = options.switches;
        let part = &self.content[self.part.clone()];
        let bare = matches!(self.status, 204 | 304);
        let head = method == "HEAD";
        let plain = !head && !bare;
        let chunked_badly =
            self.status == 200 && plain && minor > 0 && bugs.strikes(Bug::LastChunkMissing, 4);
        let chunked =
            chunked_badly || self.status == 200 && !bare && minor > 0 && part.len() >= options.chunks_from;

        if minor > 0 {
            out.extend_from_slice(&self.interim);
        }
        let mut text = Text(out);
        let _ = write!(text, "HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        if !self.has("date") {
            let _ = write!(text, "Date: {}\r\n", date::format(date::now()));
        }
        for (name, value) in &self.fields {
            let _ = write!(text, "{name}: ");
            text.0.extend_from_slice(value);
            let _ = text.write_str("\r\n");
        }
        if chunked {
            let _ = text.write_str("Transfer-Encoding: chunked\r\n");
        } else if let Some(mut length) = self.length(plain, bare) {
            if head && bugs.has(Bug::HeadLengthZero) {
                length = 0;
            }
            if self.status == 200 && plain && !part.is_empty() {
                length -= usize::from(bugs.strikes(Bug::LengthOneShort, 6));
                length += usize::from(bugs.strikes(Bug::LengthOneLong, 6));
            }
            let _ = write!(text, "Content-Length: {length}\r\n");
        }
        let _ = text.write_str(if self.close { "Connection: close\r\n\r\n" } else { "\r\n" });

        if plain && chunked {
            for chunk in part.chunks(options.chunks_from.clamp(1, 4096)) {
                let _ = write!(Text(out), "{:x}\r\n", chunk.len());
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\r\n");
            }
            if !chunked_badly {
                out.extend_from_slice(b"0\r\n\r\n");
            }
        } else if plain
            || head && !bare && bugs.strikes(Bug::BodyAfterHead, 3)
            || self.status == 304 && bugs.strikes(Bug::BodyAfter304, 3)
        {
            out.extend_from_slice(part);
        } else if self.status == 204 && bugs.strikes(Bug::BodyAfter204, 4) {
            out.extend_from_slice(b"done\n");
        }
    }
}

/// What a server always does in the same way.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Content of at least this length is sent in chunks.
    pub(crate) chunks_from: usize,
    pub(crate) switches: &'a Switches,
}

/// Lets text be written to bytes without a detour.
struct Text<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// What a status is called.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        206 => "Partial Content",
        304 => "Not Modified",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}
