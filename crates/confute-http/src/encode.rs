//! Requests as bytes, with whatever is wrong with them on purpose.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::date::Date;
use crate::etag::EntityTag;
use crate::message::{IfRange, Odd, Request, Span, Tag, Tags};
use crate::text;
use crate::wire::{Body, Malformed, Outgoing};

/// Where requests go, and what every one of them has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The value of `Host`.
    pub host: String,
    /// Fields besides those that the request needs.
    pub fields: Vec<(String, String)>,
}

impl Target {
    /// Overwrites the values of the [fields](Self::fields), wherever they are in these bytes: they may be secrets.
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

/// The chunks, with their frames, that this content is sent in.
pub fn framed(content: &str) -> Arc<str> {
    let content = text::bytes(content);
    let size = format!("{:x}\r\n", content.len());
    let chunk = if content.is_empty() { Vec::new() } else { [size.as_bytes(), &content, b"\r\n"].concat() };
    text::text(&[&chunk[..], b"0\r\n\r\n"].concat())
}

/// The bytes of a request. What no request can say (a path with a space in it) becomes nothing at all.
pub fn request(request: &Request, target: &Target) -> Vec<u8> {
    let once = outgoing(request, target).encode().map(|encoded| encoded.bytes().to_vec()).unwrap_or_default();
    if request.close_twice { once.repeat(2) } else { once }
}

fn outgoing(request: &Request, target: &Target) -> Outgoing {
    let mut out = Outgoing::request(request.method.name(), request.path.as_bytes(), &target.host);
    for (name, value) in &target.fields {
        out = out.field(name, value);
    }
    if !target.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("Accept-Encoding")) {
        out = out.field("Accept-Encoding", "identity");
    }
    for (name, value) in conditions(request) {
        out = out.field(name, value);
    }
    if request.expect.is_some() {
        out = out.field("Expect", "100-continue");
    }
    if request.close || request.close_twice {
        out = out.field("Connection", "close");
    }
    let content = request.body.as_ref().map(|body| text::bytes(body).into_owned());
    let chunks = |content: &[u8]| Body::chunks(Some(content).filter(|content| !content.is_empty()));
    let is_chunked = request.chunked
        || matches!(request.odd, Some(Odd::LengthBesideChunks | Odd::HugeChunk | Odd::VastChunk));
    let length = content.as_ref().map_or(0, Vec::len);
    out = match content {
        None => out,
        Some(content) if is_chunked => out.body(chunks(&content)),
        Some(content) => out.body(Body::Sized(content)),
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
                let line = |tags: &Vec<Tag>| tags.iter().map(tag).collect::<Vec<_>>().join(&b", "[..]);
                fields.extend(lines.iter().map(|tags| (name, line(tags))));
            }
        }
    }
    let dates = [
        ("If-Modified-Since", request.if_modified_since),
        ("If-Unmodified-Since", request.if_unmodified_since),
    ];
    fields.extend(dates.into_iter().filter_map(|(name, date)| Some((name, date_bytes(date?)))));
    if !request.range.is_empty() {
        fields.push(("Range", Span::list(&request.range).into_bytes()));
    }
    match &request.if_range {
        None => {}
        Some(IfRange::Tag(value)) => fields.push(("If-Range", tag(value))),
        Some(IfRange::Date(date)) => fields.push(("If-Range", date_bytes(*date))),
    }
    fields
}

fn tag(tag: &Tag) -> Vec<u8> {
    EntityTag { weak: tag.weak, opaque: text::bytes(&tag.opaque).into_owned() }.to_bytes()
}

/// A date as it is written.
pub(crate) fn date(seconds: i64) -> String {
    String::from_utf8_lossy(&date_bytes(seconds)).into_owned()
}

/// The last date that can be written, in seconds since 1970.
pub(crate) const LAST_DATE: i64 = 253_402_300_799;

/// Dates before 1970, or too late to be written, become the nearest that can be.
fn date_bytes(seconds: i64) -> Vec<u8> {
    let seconds = seconds.clamp(0, LAST_DATE).unsigned_abs();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    Date::format(time).unwrap_or_default().into_bytes()
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
}
