//! Responses and their serialization.
//!
//! A [`Response`] always has content; `render` decides from the method and the status if it is sent (RFC 9112, 6.3).
//! So a HEAD is handled like a GET up to serialization.

use std::fmt::Write as _;
use std::sync::Arc;

use super::bug::Bug;
use super::date;
use super::switches::Switches;

/// Value of Content-Length in a response whose content is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnnouncedLength {
    /// In a response to HEAD, the length of the content that GET would return; with 304, no Content-Length.
    Usual,
    /// This length, which the origin has reported.
    This(usize),
    /// No Content-Length.
    Nothing,
}

/// A response before serialization.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) content: Arc<[u8]>,
    /// Part of the content that is sent.
    pub(crate) part: std::ops::Range<usize>,
    /// Content-Length if no content is sent.
    pub(crate) announced: AnnouncedLength,
    /// Serialized interim responses that are sent first.
    pub(crate) interim: Vec<u8>,
    /// `true` if the connection is closed after the response.
    pub(crate) close: bool,
}

impl Response {
    /// Creates a response without content.
    pub(crate) fn empty(status: u16) -> Self {
        Self::with(status, Arc::from([]))
    }

    pub(crate) fn with(status: u16, content: Arc<[u8]>) -> Self {
        let part = 0..content.len();
        let fields = Vec::new();
        Self {
            status,
            fields,
            content,
            part,
            announced: AnnouncedLength::Usual,
            interim: Vec::new(),
            close: false,
        }
    }

    /// Creates a response whose content is the reason as plain text.
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
        match self.announced {
            _ if plain => Some(self.part.len()),
            _ if self.status == 204 => None,
            AnnouncedLength::Usual => (!bare).then_some(self.part.len()),
            AnnouncedLength::This(length) => Some(length),
            AnnouncedLength::Nothing => None,
        }
    }

    /// Appends the serialized response to a request of this method and minor version.
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
        let head_at = out.len();
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
            length += usize::from(plain && bugs.has(Bug::LengthOneTooLarge));
            let _ = write!(text, "Content-Length: {length}\r\n");
        } else if self.status == 204 && bugs.has(Bug::LengthWith204) {
            let _ = text.write_str("Content-Length: 0\r\n");
        }
        let _ = text.write_str(if self.close { "Connection: close\r\n\r\n" } else { "\r\n" });
        bugs.rewrite(out, head_at);

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

/// Settings of the server that serialization depends on.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Minimum length of content that is sent in chunks.
    pub(crate) chunks_from: usize,
    pub(crate) switches: &'a Switches,
}

/// Adapter that formats text directly into a byte buffer.
struct Text<'a>(&'a mut Vec<u8>);

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Returns the reason phrase of a status.
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
        411 => "Length Required",
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
