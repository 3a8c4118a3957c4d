//! Serialization of responses.

use std::io::Write as _;

use super::habits::Habits;
use super::origin::Reply;
use super::table::Oddity;
use super::validators::clock;
use crate::embedded::date;
use crate::embedded::response::reason;

/// A message is cut off once in this many.
const RARE: u64 = 120;
/// Filler byte for content that is continued wrongly.
const OTHER: u8 = b'#';

/// A serialized response.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    pub(super) bytes: Vec<u8>,
    /// Offset of the end of the final response's head.
    pub(super) head: usize,
    /// `true` if the connection is closed after the response.
    pub(super) close: bool,
    /// `true` if the response is cut off.
    pub(super) broken: bool,
}

/// The way in which content is delimited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    Length,
    Chunks,
    Close,
}

/// Serializes the response to a request of this method and minor version. If `close`, it is the last on its
/// connection.
pub(super) fn render(reply: &Reply, method: &str, minor: u8, close: bool, habits: &Habits) -> Rendered {
    let mut out = Rendered { close: close || minor == 0, ..Rendered::default() };
    let is_bare = matches!(reply.status, 204 | 304);
    let has_content = method != "HEAD" && !is_bare;
    let is_old = habits.has(Oddity::Version10);
    let frame = frame(has_content, minor > 0 && !is_old, habits);
    out.close |= is_old || frame == Frame::Close || habits.has(Oddity::AlwaysClose);
    // A head that is continued with another head is detected by the content behind it.
    let shows = has_content && !reply.content.is_empty();
    if minor > 0 && !is_old && interim(method, shows, habits, &mut out) {
        return out;
    }

    let start = out.bytes.len();
    status_line(reply.status, is_old, habits, &mut out.bytes);
    let mut fields = reply.fields.clone();
    if !habits.keeps(Oddity::NoClock) {
        fields.insert(0, ("Date".to_owned(), date::format(clock(habits)).into_bytes()));
    }
    let length = match () {
        () if has_content => Some(reply.content.len()),
        () if reply.status == 304 => reply.told,
        () if is_bare || habits.keeps(Oddity::BareHead) => None,
        () if habits.breaks(Oddity::BareHead) => Some(0),
        () => reply.told,
    };
    match (frame, length) {
        (Frame::Chunks, _) => fields.push(("Transfer-Encoding".to_owned(), b"chunked".to_vec())),
        (Frame::Length, Some(length)) => {
            let short = habits.breaks(Oddity::Pieces) && has_content && length > 0 && reply.status == 200;
            let length = length - usize::from(short);
            // The field goes before Content-Range, which must be the last.
            fields
                .insert(1.min(fields.len()), ("Content-Length".to_owned(), length.to_string().into_bytes()));
        }
        _ => {}
    }
    let mut options: Vec<&[u8]> = Vec::new();
    if habits.has(Oddity::OffersUpgrade) && minor > 0 && !is_old {
        fields.insert(0, ("Upgrade".to_owned(), b"h2c, other/1.0".to_vec()));
        options.push(b"Upgrade");
    }
    if out.close && (!is_old || habits.below(2) == 0) {
        options.push(b"close");
    }
    if !options.is_empty() {
        fields.insert(0, ("Connection".to_owned(), options.join(&b", "[..])));
    }
    if habits.has(Oddity::ManyFields) {
        many(habits, &mut fields);
    }
    for (name, value) in &fields {
        field(name, value, habits, &mut out.bytes);
    }
    out.bytes.extend_from_slice(b"\r\n");
    out.head = out.bytes.len();
    if has_content {
        content(reply, frame, habits, &mut out.bytes);
    }
    if frame == Frame::Close && habits.breaks(Oddity::UntilClose) && out.bytes.len() > out.head {
        out.bytes.pop();
    }
    // Content delimited by the end of the connection would look complete if it were cut off (RFC 9112, 8).
    let is_measured = has_content && frame != Frame::Close;
    break_off(start, reply, is_measured, habits, &mut out);
    out
}

fn frame(has_content: bool, is_new: bool, habits: &Habits) -> Frame {
    let chunks = [Oddity::Extensions, Oddity::SingleBytes, Oddity::Trailers];
    let mut frames = Vec::new();
    if has_content && is_new && chunks.iter().any(|odd| habits.has(*odd)) {
        frames.push(Frame::Chunks);
    }
    if has_content && habits.has(Oddity::UntilClose) {
        frames.push(Frame::Close);
    }
    if frames.is_empty() || habits.below(4) == 0 {
        return Frame::Length;
    }
    frames[habits.below(frames.len() as u64) as usize]
}

/// Writes interim responses. Returns `true` if the connection ends within one.
fn interim(method: &str, shows: bool, habits: &Habits, out: &mut Rendered) -> bool {
    let bytes = &mut out.bytes;
    if habits.breaks(Oddity::OffersUpgrade) {
        let switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other/1.0\r\n\r\n";
        bytes.extend_from_slice(switch);
    }
    if habits.shows(Oddity::Continue, 3) {
        let broken: &[u8] = b"HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\ncome!";
        let whole: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
        bytes.extend_from_slice(if habits.breaks(Oddity::Continue) { broken } else { whole });
    }
    if method == "PUT" && habits.shows(Oddity::Processing, 2) {
        let broken: &[u8] = b"HTTP/1.1 102 Processing\r\nContent-Length: 5\r\n\r\nwait!";
        let whole: &[u8] = b"HTTP/1.1 102 Processing\r\n\r\n";
        for _ in 0..=habits.below(3) {
            bytes.extend_from_slice(if habits.breaks(Oddity::Processing) { broken } else { whole });
        }
    }
    let hint = |bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n");
        if habits.breaks(Oddity::Hints) {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
    };
    if habits.shows(Oddity::Hints, 2) {
        for _ in 0..=habits.below(2) {
            hint(bytes);
        }
    }
    let breaks = habits.breaks(Oddity::BrokenInterim);
    if (shows || !breaks) && habits.strikes(Oddity::BrokenInterim, RARE) {
        let start = bytes.len();
        hint(bytes);
        bytes.truncate(start + 1 + habits.below((bytes.len() - start - 3) as u64) as usize);
        if !breaks {
            (out.broken, out.close) = (true, true);
            return true;
        }
    }
    false
}

fn status_line(status: u16, is_old: bool, habits: &Habits, bytes: &mut Vec<u8>) {
    let version = match () {
        () if habits.breaks(Oddity::Version10) => "http/1.0",
        () if is_old => "HTTP/1.0",
        () => "HTTP/1.1",
    };
    let _ = write!(bytes, "{version} {status}");
    if habits.breaks(Oddity::Reason) {
        bytes.extend_from_slice(b"\r\n");
        return;
    }
    bytes.push(b' ');
    match habits.below(3) {
        0 if habits.has(Oddity::Reason) => {}
        1 if habits.has(Oddity::Reason) => bytes.extend_from_slice(b"\tNa\xefve \xfc "),
        _ => bytes.extend_from_slice(reason(status).as_bytes()),
    }
    bytes.extend_from_slice(b"\r\n");
}

fn many(habits: &Habits, fields: &mut Vec<(String, Vec<u8>)>) {
    for number in 0..40 {
        let name = format!("X-Odd-{}", number % 23);
        let value = match number {
            0 => Vec::new(),
            1 if habits.breaks(Oddity::ManyFields) => b"one,\r\n two".to_vec(),
            2 => b"\"a, b\"; \xe9 \t ,, ".to_vec(),
            _ => format!("value {number}").into_bytes(),
        };
        fields.insert(0, (name, value));
    }
    fields.insert(0, ("Keep-Alive".to_owned(), b"timeout=1000, max=99999".to_vec()));
    fields.insert(0, ("Vary".to_owned(), b"Accept-Language".to_vec()));
    fields.insert(0, ("Cache-Control".to_owned(), b"no-cache".to_vec()));
}

fn field(name: &str, value: &[u8], habits: &Habits, bytes: &mut Vec<u8>) {
    if !habits.has(Oddity::Whitespace) {
        bytes.extend_from_slice(&[name.as_bytes(), b": ", value, b"\r\n"].concat());
        return;
    }
    let name = match habits.below(3) {
        0 => name.to_ascii_lowercase(),
        1 => name.to_ascii_uppercase(),
        _ => name.to_owned(),
    };
    let blank = |bytes: &mut Vec<u8>| {
        let blanks: [&[u8]; 4] = [b"", b" ", b"\t", b"  \t "];
        bytes.extend_from_slice(blanks[habits.below(4) as usize]);
    };
    bytes.extend_from_slice(name.as_bytes());
    if habits.breaks(Oddity::Whitespace) {
        bytes.push(b' ');
    }
    bytes.push(b':');
    blank(bytes);
    bytes.extend_from_slice(value);
    blank(bytes);
    bytes.extend_from_slice(b"\r\n");
}

fn content(reply: &Reply, frame: Frame, habits: &Habits, bytes: &mut Vec<u8>) {
    if frame != Frame::Chunks {
        bytes.extend_from_slice(&reply.content);
        return;
    }
    let size = if habits.has(Oddity::SingleBytes) { 1 } else { 1 + habits.below(40) as usize };
    // Chunks of one byte are limited to content of a few kilobytes.
    let size = size.max(reply.content.len() / 4096);
    for chunk in reply.content.chunks(size) {
        if habits.has(Oddity::Extensions) {
            let prefix = if habits.breaks(Oddity::Extensions) { "0x" } else { "" };
            let _ = write!(bytes, "{prefix}{:04X};a;b=c;d=\"e;, \\\"f\"\r\n", chunk.len());
        } else {
            let size = chunk.len() + usize::from(habits.breaks(Oddity::SingleBytes));
            let _ = write!(bytes, "{size:x}\r\n");
        }
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(if habits.has(Oddity::Extensions) { b"000;last\r\n" } else { b"0\r\n" });
    if habits.has(Oddity::Trailers) {
        bytes.extend_from_slice(b"X-Odd-Trailer: one\r\nX-Odd-Trailer: two\r\n");
    }
    if habits.breaks(Oddity::Trailers) {
        bytes.extend_from_slice(b"X-Odd-Trailer three\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
}

/// Cuts a response off now and then.
fn break_off(start: usize, reply: &Reply, is_measured: bool, habits: &Habits, out: &mut Rendered) {
    let cut = |out: &mut Rendered, at: usize| {
        out.bytes.truncate(at);
        out.head = out.head.min(at);
        (out.broken, out.close) = (true, true);
    };
    let (head, end) = (out.head, out.bytes.len());
    if habits.strikes(Oddity::BrokenHead, RARE) {
        let at = start + 1 + habits.below((head - start - 4) as u64) as usize;
        if habits.breaks(Oddity::BrokenHead) {
            let line = out.bytes[start..].windows(2).position(|part| part == b"\r\n").unwrap_or(0);
            let cut = b"\r\nX-Odd";
            out.bytes.splice(start + line..start + line, cut.iter().copied());
            out.head += cut.len();
        } else {
            cut(out, at);
        }
    } else if reply.status == 206 && habits.keeps(Oddity::BrokenPart) && habits.strikes(Oddity::BrokenPart, 6)
    {
        let line = b"Content-Range";
        let at = out.bytes[start..head]
            .windows(line.len())
            .position(|part| part.eq_ignore_ascii_case(line))
            .map_or(head, |at| start + at);
        cut(out, at.saturating_sub(habits.below(3) as usize));
    } else if is_measured && end > head + 2 && habits.strikes(Oddity::BrokenContent, RARE) {
        let at = head + 1 + habits.below((end - head - 2) as u64) as usize;
        if habits.breaks(Oddity::BrokenContent) {
            out.bytes[at..].fill(OTHER);
        } else {
            cut(out, at);
        }
    }
}
