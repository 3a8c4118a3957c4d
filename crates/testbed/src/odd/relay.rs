//! Serialization of forwarded messages: the request upstream, the response to the client.

use std::io::Write as _;

use super::habits::Habits;
use super::table::Oddity;
use super::upstream::Received;
use crate::embedded::message::{Fields, Request};
use crate::embedded::response::reason;

/// Connection-specific fields, which are removed even if Connection does not list them.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "transfer-encoding"];
/// Pseudonym of the gateway in Via.
const NAME: &str = "odd";
/// Maximum of Max-Forwards where it is capped.
const FORWARDS: u64 = 3;

/// A response as it is sent to the client.
#[derive(Debug, Default)]
pub(super) struct Relayed {
    pub(super) bytes: Vec<u8>,
    /// `true` if the connection is closed after the response.
    pub(super) close: bool,
}

type Lines = Vec<(String, Vec<u8>)>;

/// Returns the fields that are not connection-specific (RFC 9110, 7.6.1), without Content-Length.
fn end_to_end(fields: &Fields, leaks: bool) -> Lines {
    let named = fields.tokens("connection");
    let is_hop = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "transfer-encoding" || !leaks && (HOP_BY_HOP.contains(&&name[..]) || named.contains(&name))
    };
    let kept =
        fields.iter().filter(|(name, _)| !is_hop(name) && !name.eq_ignore_ascii_case("content-length"));
    kept.map(|(name, value)| (name.to_owned(), value.to_vec())).collect()
}

/// Joins field lines of the same name if [`Oddity::JoinsLines`] is active (RFC 9110, 5.3).
fn joined(lines: Lines, habits: &Habits) -> Lines {
    if !habits.has(Oddity::JoinsLines) {
        return lines;
    }
    let mut all: Lines = Vec::new();
    for (name, value) in lines {
        match all.iter_mut().find(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            Some((_, before)) if habits.breaks(Oddity::JoinsLines) => {
                *before = [&value[..], b", ", &before[..]].concat();
            }
            Some((_, before)) => before.extend_from_slice(&[b", ", &value[..]].concat()),
            None => all.push((name, value)),
        }
    }
    all
}

fn write_lines(lines: &Lines, bytes: &mut Vec<u8>) {
    for (name, value) in lines {
        bytes.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
}

fn write_chunks(content: &[u8], bytes: &mut Vec<u8>) {
    for chunk in content.chunks(1000) {
        let _ = write!(bytes, "{:x}\r\n", chunk.len());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
}

/// Returns the method of the forwarded request.
pub(super) fn method<'a>(request: &'a Request, habits: &Habits) -> &'a str {
    match &request.method[..] {
        "HEAD" if habits.keeps(Oddity::HeadAsGet) => "GET",
        "POST" if habits.breaks(Oddity::HeadAsGet) => "PUT",
        method => method,
    }
}

/// Serializes the request for the origin.
pub(super) fn forwarded(request: &Request, target: &str, host: &str, habits: &Habits) -> Vec<u8> {
    let is_old = habits.has(Oddity::Upstream10);
    let version = if is_old { "HTTP/1.0" } else { "HTTP/1.1" };
    let mut bytes =
        format!("{} {target} {version}\r\nHost: {host}\r\n", method(request, habits)).into_bytes();
    let limited = matches!(&request.method[..], "OPTIONS" | "TRACE");
    let leaks = habits.breaks(Oddity::NewEach);
    let mut lines = joined(end_to_end(&request.fields, leaks), habits);
    lines.retain(|(name, _)| !["host", "expect"].iter().any(|other| name.eq_ignore_ascii_case(other)));
    for (name, value) in &mut lines {
        let hops = std::str::from_utf8(value).ok().and_then(|value| value.parse::<u64>().ok());
        if let (true, Some(hops)) = (limited && name.eq_ignore_ascii_case("max-forwards"), hops)
            && !habits.breaks(Oddity::CapsForwards)
        {
            let most = if habits.has(Oddity::CapsForwards) { FORWARDS } else { u64::MAX };
            *value = hops.saturating_sub(1).min(most).to_string().into_bytes();
        }
    }
    write_lines(&lines, &mut bytes);
    if !habits.breaks(Oddity::Upstream10) {
        let _ = write!(bytes, "Via: 1.{} {NAME}\r\n", request.minor);
    }
    if habits.has(Oddity::AddsFields) {
        bytes.extend_from_slice(
            b"X-Forwarded-For: 127.0.0.1\r\nForwarded: for=127.0.0.1\r\nX-Request-Id: 7\r\n",
        );
    }
    if (habits.has(Oddity::NewEach) && !leaks) || is_old || habits.has(Oddity::HalfClose) {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    let mut content = &request.content[..];
    let was_chunked = request.fields.has("transfer-encoding");
    if was_chunked && habits.breaks(Oddity::Refuses411) || habits.breaks(Oddity::HalfClose) {
        content = &[];
    }
    if !was_chunked && !request.fields.has("content-length") {
        bytes.extend_from_slice(b"\r\n");
        return bytes;
    }
    let in_chunks = habits.has(Oddity::ToChunks) && !is_old;
    if habits.breaks(Oddity::ToChunks) {
        content = &content[..content.len().saturating_sub(1)];
    }
    let both = was_chunked && habits.breaks(Oddity::BothFramings);
    if !in_chunks {
        let _ = write!(bytes, "Content-Length: {}\r\n", content.len());
    }
    if in_chunks || both {
        bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
        write_chunks(content, &mut bytes);
        bytes.extend_from_slice(b"0\r\n\r\n");
    } else {
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(content);
    }
    bytes
}

/// Creates a response of the gateway itself.
pub(super) fn own(status: u16, why: &str, method: &str, close: bool) -> Relayed {
    let text = format!("{status} {why}\n");
    let mut bytes =
        format!("HTTP/1.1 {status} {}\r\nContent-Length: {}\r\n", reason(status), text.len()).into_bytes();
    if close {
        bytes.extend_from_slice(b"Connection: close\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    if method != "HEAD" {
        bytes.extend_from_slice(text.as_bytes());
    }
    Relayed { bytes, close }
}

/// Creates a response of the gateway itself that consists of a status and no content.
pub(super) fn bare(status: u16, close: bool) -> Relayed {
    let field = if close { "Connection: close\r\n" } else { "" };
    let bytes = format!("HTTP/1.1 {status} {}\r\n{field}\r\n", reason(status)).into_bytes();
    Relayed { bytes, close }
}

/// Serializes the response of the origin for the client.
pub(super) fn relayed(received: &Received, request: &Request, habits: &Habits) -> Relayed {
    let mut out = Relayed { close: request.wants_close(), ..Relayed::default() };
    let is_new = request.minor > 0;
    let mut interim = Vec::new();
    if is_new && habits.has(Oddity::ForwardsInterim) {
        for (status, fields) in &received.interim {
            if habits.breaks(Oddity::ForwardsInterim) {
                interim.extend_from_slice(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                continue;
            }
            let _ = write!(interim, "HTTP/1.1 {status} {}\r\n", reason(*status));
            write_lines(&end_to_end(fields, false), &mut interim);
            interim.extend_from_slice(b"\r\n");
        }
        if habits.below(4) == 0 {
            interim.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n");
        }
    }
    out.bytes.append(&mut interim);
    let _ = write!(out.bytes, "HTTP/1.1 {} {}\r\n", received.status, reason(received.status));
    let mut lines = joined(end_to_end(&received.fields, habits.breaks(Oddity::ForwardsTrailers)), habits);
    if habits.breaks(Oddity::AddsFields) {
        lines.retain(|(name, _)| !name.starts_with("X-End"));
    }
    if habits.breaks(Oddity::DropsTrailers) {
        lines.extend(end_to_end(&received.trailers, false));
    }
    write_lines(&lines, &mut out.bytes);
    if habits.has(Oddity::AddsFields) {
        let _ = write!(out.bytes, "Via: 1.{} {NAME}\r\nX-Cache: MISS\r\nServer: odd\r\n", received.minor);
    }
    content(received, request, habits, &mut out);
    out
}

/// Writes the framing fields, the end of the head, and the content.
fn content(received: &Received, request: &Request, habits: &Habits, out: &mut Relayed) {
    let is_bare = matches!(received.status, 204 | 304);
    let has_content = request.method != "HEAD" && !is_bare;
    let told = received.fields.only("content-length").and_then(|length| length.parse::<usize>().ok());
    let mut content = received.content.clone();
    let is_short = habits.breaks(Oddity::ResponseUntilClose) && habits.below(2) == 0;
    if is_short {
        content.pop();
    }
    if habits.breaks(Oddity::ResponseChunks) {
        content.push(b'\n');
    }
    // A response that was cut off must not look complete.
    let is_cut = has_content && !received.whole && !habits.breaks(Oddity::Buffers);
    let is_new = request.minor > 0;
    let trailers = habits.keeps(Oddity::ForwardsTrailers) && received.trailers.iter().next().is_some();
    let chunks = has_content
        && is_new
        && (habits.has(Oddity::ResponseChunks)
            || trailers
            || is_cut && received.fields.has("transfer-encoding"));
    let until_close = has_content && !chunks && !is_cut && habits.has(Oddity::ResponseUntilClose);
    let is_filled = is_cut && habits.breaks(Oddity::Streams);
    if let (true, Some(told)) = (is_filled, told) {
        content.resize(told, 0);
    }
    let is_cut = is_cut && !is_filled;
    out.close |= until_close || is_cut;
    let length = match () {
        () if has_content && is_cut => told.or(Some(content.len() + 1)),
        () if has_content => Some(content.len()),
        () if received.status == 204 => None,
        // A HEAD that was forwarded as GET knows the length from the content received.
        () => told.or_else(|| (!received.content.is_empty() && received.whole).then_some(content.len())),
    };
    if chunks {
        out.bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    } else if let Some(length) = length.filter(|_| !until_close) {
        let _ = write!(out.bytes, "Content-Length: {length}\r\n");
    }
    if out.close {
        out.bytes.extend_from_slice(b"Connection: close\r\n");
    }
    out.bytes.extend_from_slice(b"\r\n");
    if chunks {
        write_chunks(&content, &mut out.bytes);
        if !is_cut {
            out.bytes.extend_from_slice(b"0\r\n");
            if trailers {
                write_lines(&end_to_end(&received.trailers, false), &mut out.bytes);
            }
            out.bytes.extend_from_slice(b"\r\n");
        }
    } else if has_content {
        out.bytes.extend_from_slice(&content);
    }
}
