//! Encoder of messages: requests of clients, with their deliberate defects, and responses of the tester as origin.

use std::sync::Arc;

use crate::message::{Field, Fields, Frame, IfRange, Message, Odd, Request, Response, Span, Tag, Tags};
use confute_http1::date;
use confute_http1::text;
use confute_http1::{Body, Malformed, Outgoing, RawResponse, Read, ResponseReader};

/// Cache directives of every response of the origin, so that neither storing nor transforming excuses a change.
pub(crate) const FORBIDDEN: &str = "no-store, no-transform";

/// `Host` and additional fields of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The value of `Host`.
    pub host: String,
    /// Fields in addition to those that the request needs.
    pub fields: Vec<(String, String)>,
}

impl Target {
    /// Overwrites the values of the [fields](Self::fields) wherever they occur in these bytes, because they may be
    /// secrets.
    pub fn conceal(&self, bytes: &mut [u8]) {
        for (name, value) in &self.fields {
            let line = format!("\r\n{name}: {value}\r\n").into_bytes();
            let mut from = 0;
            while let Some(at) = bytes[from..].windows(line.len()).position(|part| part == line) {
                let end = from + at + line.len() - 2;
                bytes[end - value.len()..end].fill(b'*');
                from = end;
            }
        }
    }
}

/// Returns this content in chunked coding, framing included.
pub fn framed(content: &str) -> Arc<str> {
    let content = text::bytes(content);
    let size = format!("{:x}\r\n", content.len());
    let chunk = if content.is_empty() { Vec::new() } else { [size.as_bytes(), &content, b"\r\n"].concat() };
    text::text(&[&chunk[..], b"0\r\n\r\n"].concat())
}

/// Encodes a message. A message that cannot be expressed on the wire becomes no bytes at all.
pub fn message(message: &Message, target: &Target) -> Vec<u8> {
    match message {
        Message::Request(asked) => request(asked, target),
        Message::Response(answer) => response(answer),
        Message::Unanswered => Vec::new(),
    }
}

/// Encodes a request. A request that cannot be expressed (a path with a space in it) becomes no bytes at all.
pub fn request(request: &Request, target: &Target) -> Vec<u8> {
    let once = outgoing(request, target).encode().map(|encoded| encoded.bytes().to_vec()).unwrap_or_default();
    if request.close_twice { once.repeat(2) } else { once }
}

fn outgoing(request: &Request, target: &Target) -> Outgoing {
    let fields = &request.forwarded.fields;
    let host = fields.all("Host").next().unwrap_or(&target.host);
    let mut out = Outgoing::request(request.method.name(), request.path.as_bytes(), host);
    for (name, value) in &target.fields {
        out = out.field(name, value);
    }
    let has_coding = target.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("Accept-Encoding"));
    if !has_coding && !request.forwarded.is_there() {
        out = out.field("Accept-Encoding", "identity");
    }
    for (name, value) in conditions(request) {
        out = out.field(name, value);
    }
    for Field(name, value) in fields.0.iter().filter(|field| !field.0.eq_ignore_ascii_case("Host")) {
        out = out.field(&**name, text::bytes(value));
    }
    if request.expect.is_some() {
        out = out.field("Expect", "100-continue");
    }
    if request.close || request.close_twice {
        out = out.field("Connection", "close");
    }
    let is_chunked = request.chunked
        || matches!(request.odd, Some(Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk));
    let length = request.body.as_ref().map_or(0, |body| text::length(body));
    out = match &request.body {
        None => out,
        Some(body) if is_chunked => {
            let is_split = request.forwarded.is_there();
            out.body(chunks(body, is_split, &request.forwarded.trailers))
        }
        Some(body) => out.body(Body::Sized(text::bytes(body).into_owned())),
    };
    let extra = |name: &str, value: String| Malformed::ExtraField(name.into(), value.into_bytes());
    match request.odd {
        None => out,
        Some(Odd::NoHost) => out.wrong(Malformed::NoHost),
        Some(Odd::TwoHosts) => out.wrong(extra("Host", "elsewhere.invalid".to_owned())),
        Some(Odd::SpaceBeforeColon) => {
            out.field("X-Spaced", "1").wrong(Malformed::SpaceBeforeColon(b"X-Spaced".to_vec()))
        }
        Some(Odd::ConflictingLengths) => {
            out.wrong(extra("Content-Length", length.checked_sub(1).unwrap_or(1).to_string()))
        }
        Some(Odd::EqualLengths) => out.wrong(extra("Content-Length", length.to_string())),
        Some(Odd::LengthBesideChunks) => {
            let framed = framed(request.body.as_deref().unwrap_or_default());
            out.wrong(extra("Content-Length", text::length(&framed).to_string()))
        }
        Some(Odd::HugeChunk) => out.wrong(Malformed::ChunkSize(0, format!("1{length:08x}").into_bytes())),
        Some(Odd::VastChunk) => out.wrong(Malformed::ChunkSize(0, format!("1{length:016x}").into_bytes())),
        Some(Odd::Folded) => out.wrong(Malformed::ExtraLine(b"X-Folded: a\r\n b".to_vec())),
    }
}

fn conditions(request: &Request) -> Vec<(&'static str, Vec<u8>)> {
    let mut fields = Vec::new();
    for (name, tags) in [("If-Match", &request.if_match), ("If-None-Match", &request.if_none_match)] {
        match tags {
            None => {}
            Some(Tags::Any) => fields.push((name, b"*".to_vec())),
            Some(Tags::Lines(lines)) => {
                let line =
                    |tags: &Vec<Tag>| tags.iter().map(Tag::to_bytes).collect::<Vec<_>>().join(&b", "[..]);
                fields.extend(lines.iter().map(|tags| (name, line(tags))));
            }
        }
    }
    let dates = [
        ("If-Modified-Since", request.if_modified_since),
        ("If-Unmodified-Since", request.if_unmodified_since),
    ];
    fields
        .extend(dates.into_iter().filter_map(|(name, date)| Some((name, date::format(date?).into_bytes()))));
    if !request.range.is_empty() {
        fields.push(("Range", Span::list(&request.range).into_bytes()));
    }
    match &request.if_range {
        None => {}
        Some(IfRange::Tag(value)) => fields.push(("If-Range", value.to_bytes())),
        Some(IfRange::Date(date)) => fields.push(("If-Range", date::format(*date).into_bytes())),
    }
    fields
}

/// Returns content in chunks, with trailer fields. Content that a gateway forwards is split into two chunks, because a
/// boundary within the content is where gateways make mistakes.
fn chunks(content: &str, is_split: bool, trailers: &Fields) -> Body {
    let content = text::bytes(content);
    let (one, two) = content.split_at(if is_split { content.len() / 2 } else { 0 });
    let mut body = Body::chunks([one, two].into_iter().filter(|part| !part.is_empty()));
    if let Body::Chunked(_, after) = &mut body {
        let field = |field: &Field| (field.0.as_bytes().to_vec(), text::bytes(&field.1).into_owned());
        after.extend(trailers.0.iter().map(field));
    }
    body
}

fn response(answer: &Response) -> Vec<u8> {
    let mut out = Outgoing::response(answer.status, "As the tester says");
    for field in &answer.forwarded.fields.0 {
        out = out.field(&*field.0, text::bytes(&field.1));
    }
    if answer.close && answer.forwarded.frame != Frame::UntilClose {
        out = out.field("Connection", "close");
    }
    let content = text::bytes(&answer.body).into_owned();
    out = match answer.forwarded.frame {
        Frame::Sized => out.body(Body::Sized(content)),
        Frame::Chunked => out.body(chunks(&answer.body, true, &answer.forwarded.trailers)),
        Frame::UntilClose => out.body(Body::UntilClose(content)),
        Frame::Bare if matches!(answer.status, 204 | 304) => out,
        Frame::Bare => out.body(Body::Announced(content.len() as u64)),
    };
    let interim =
        |status: &u16| format!("HTTP/1.1 {status} Not yet\r\nX-End-Early: hint\r\n\r\n").into_bytes();
    let mut bytes: Vec<u8> = answer.interim.iter().flat_map(interim).collect();
    if let Ok(encoded) = out.encode() {
        bytes.extend(encoded.bytes());
    }
    if let Some(cut) = answer.forwarded.cut {
        // The cut lies before the last chunk, which makes a response complete (RFC 9112, 8) even without the final
        // empty line.
        let least = if answer.forwarded.frame == Frame::Chunked { LAST_CHUNK.len() } else { 1 };
        bytes.truncate(bearable(cut, &bytes).min(bytes.len().saturating_sub(least)));
    }
    bytes
}

/// Returns `true` if a response of the origin has its whole head, wherever it is cut off.
pub(crate) fn has_head(answer: &Response) -> bool {
    final_response(answer).is_some()
}

/// Returns the content of a response of the origin, up to its cut.
pub(crate) fn content_before_cut(answer: &Response) -> Vec<u8> {
    final_response(answer).map(|raw| raw.content().to_vec()).unwrap_or_default()
}

/// Reads a response of the origin as a recipient does. Returns `None` if its head is incomplete.
fn final_response(answer: &Response) -> Option<Box<RawResponse>> {
    let mut reader = ResponseReader::default();
    reader.feed(&response(answer));
    reader.eof();
    let mut messages = std::iter::from_fn(|| match reader.read() {
        Read::Message(raw) => Some(raw),
        Read::NeedMore | Read::Over => None,
    });
    messages.find(|raw| !raw.is_interim() && raw.framing().is_some())
}

const LAST_CHUNK: &str = "0\r\n\r\n";

/// Returns the position at which to cut instead of `cut`. A server that takes half a head for a whole one must find in
/// it that the response is not to be stored; otherwise its later use of the response would not be a violation. So a
/// status is never sent without these directives.
fn bearable(cut: usize, bytes: &[u8]) -> usize {
    const NO_STATUS: usize = "HTTP/1.1 ".len();
    let forbidden = bytes.windows(FORBIDDEN.len()).position(|window| window == FORBIDDEN.as_bytes());
    let told = forbidden.map_or(0, |start| start + FORBIDDEN.len() + "\r\n".len());
    if cut <= NO_STATUS { cut } else { cut.max(told) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Method;

    fn lines(asked: &Request) -> Vec<String> {
        let target = Target { host: "h".to_owned(), fields: vec![("X".to_owned(), "y".to_owned())] };
        let bytes = String::from_utf8(request(asked, &target)).unwrap();
        bytes.split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn everything_is_written() {
        let asked = Request {
            method: Method::Put,
            path: "/a".into(),
            if_match: Some(Tags::Lines(vec![vec![Tag::strong("x"), Tag::weak("y")], vec![Tag::strong("")]])),
            if_none_match: Some(Tags::Any),
            if_modified_since: Some(784_111_777),
            range: vec![Span::From(1), Span::Between(2, 3), Span::Last(4)],
            if_range: Some(IfRange::Tag(Tag::strong("z"))),
            body: Some("hello".into()),
            close: true,
            ..Request::default()
        };
        assert_eq!(
            lines(&asked),
            [
                "PUT /a HTTP/1.1",
                "Host: h",
                "X: y",
                "Accept-Encoding: identity",
                "If-Match: \"x\", W/\"y\"",
                "If-Match: \"\"",
                "If-None-Match: *",
                "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
                "Range: bytes=1-,2-3,-4",
                "If-Range: \"z\"",
                "Connection: close",
                "Content-Length: 5",
                "",
                "hello"
            ]
        );
    }

    #[test]
    fn secrets_are_overwritten() {
        let fields =
            vec![("Authorization".to_owned(), "Bearer abc".to_owned()), ("X".to_owned(), "1".to_owned())];
        let target = Target { host: "h1".to_owned(), fields };
        let mut bytes =
            request(&Request { path: "/a".into(), close_twice: true, ..Request::default() }, &target);
        assert_eq!(String::from_utf8_lossy(&bytes).matches("Bearer abc").count(), 2);
        target.conceal(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("Authorization: **********\r\nX: *\r\n").count(), 2);
        assert!(text.contains("Host: h1") && !text.contains("abc"));
    }

    #[test]
    fn oddities_are_written() {
        let odd = |odd| {
            let body = Some("hello".into());
            lines(&Request {
                method: Method::Put,
                path: "/a".into(),
                body,
                odd: Some(odd),
                ..Request::default()
            })[4..]
                .join("|")
        };
        assert_eq!(odd(Odd::ConflictingLengths), "Content-Length: 5|Content-Length: 4||hello");
        assert_eq!(
            odd(Odd::LengthBesideChunks),
            "Transfer-Encoding: chunked|Content-Length: 15||5|hello|0||"
        );
        assert_eq!(text::length(&framed("hello")), 15);
        assert_eq!(odd(Odd::HugeChunk), "Transfer-Encoding: chunked||100000005|hello|0||");
        assert_eq!(odd(Odd::VastChunk), "Transfer-Encoding: chunked||10000000000000005|hello|0||");
        assert_eq!(odd(Odd::Folded), "Content-Length: 5|X-Folded: a| b||hello");
        assert_eq!(odd(Odd::SpaceBeforeColon), "X-Spaced : 1|Content-Length: 5||hello");
    }

    #[test]
    fn half_a_head_still_forbids_to_keep_it() {
        let head = format!("HTTP/1.1 200 Fine\r\nCache-Control: {FORBIDDEN}\r\nX-A: closed\r\n\r\n");
        let kept = |cut: usize| &head[..bearable(cut, head.as_bytes())];
        assert_eq!(kept(0), "");
        assert_eq!(kept(9), "HTTP/1.1 ", "no status");
        for cut in 10..head.len() {
            assert!(kept(cut).contains("no-transform\r\n"), "{}", kept(cut));
        }
        assert!(kept(head.len() - 7).ends_with("X-A: clo"));
    }
}
