//! Requests of clients and answers of the origin as bytes.

use super::message::{Field, Fields, Frame, Message, Request, Response};
use super::protocol::FORBIDDEN;
use crate::encode::Target;
use crate::text;
use crate::wire::{Body, Outgoing, RawResponse, Read, ResponseReader};

/// The bytes of a message. What nobody can say becomes nothing at all.
pub(super) fn message(message: &Message, target: &Target) -> Vec<u8> {
    match message {
        Message::Request(asked) => request(asked, target),
        Message::Response(answer) => response(answer),
        Message::Unanswered => Vec::new(),
    }
}

fn chunks(content: &str, trailers: &Fields) -> Body {
    let content = text::bytes(content);
    // Two chunks: a border in the middle is where mistakes are made.
    let (one, two) = content.split_at(content.len() / 2);
    let mut body = Body::chunks([one, two].into_iter().filter(|part| !part.is_empty()));
    if let Body::Chunked(_, after) = &mut body {
        let field = |field: &Field| (field.0.as_bytes().to_vec(), text::bytes(&field.1).into_owned());
        after.extend(trailers.0.iter().map(field));
    }
    body
}

fn request(asked: &Request, target: &Target) -> Vec<u8> {
    let host = asked.fields.all("Host").next().unwrap_or(&target.host);
    let mut out = Outgoing::request(&*asked.method, &*asked.target, host);
    for (name, value) in &target.fields {
        out = out.field(name, value);
    }
    for field in asked.fields.0.iter().filter(|field| !field.0.eq_ignore_ascii_case("Host")) {
        out = out.field(&*field.0, text::bytes(&field.1));
    }
    out = match &asked.body {
        None => out,
        Some(body) if asked.chunked => out.body(chunks(body, &asked.trailers)),
        Some(body) => out.body(Body::Sized(text::bytes(body).into_owned())),
    };
    out.encode().map(|encoded| encoded.bytes().to_vec()).unwrap_or_default()
}

fn response(answer: &Response) -> Vec<u8> {
    let mut out = Outgoing::response(answer.status, "As the tester says");
    for field in &answer.fields.0 {
        out = out.field(&*field.0, text::bytes(&field.1));
    }
    if answer.close && answer.frame != Frame::UntilClose {
        out = out.field("Connection", "close");
    }
    let content = text::bytes(&answer.body).into_owned();
    out = match answer.frame {
        Frame::Sized => out.body(Body::Sized(content)),
        Frame::Chunked => out.body(chunks(&answer.body, &answer.trailers)),
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
    if let Some(cut) = answer.cut {
        // The last chunk makes it complete (RFC 9112, 8), whether or not the last line is there.
        let least = if answer.frame == Frame::Chunked { LAST_CHUNK.len() } else { 1 };
        bytes.truncate(bearable(cut, &bytes).min(bytes.len().saturating_sub(least)));
    }
    bytes
}

/// Whether an answer of the origin has its whole head, wherever it breaks off.
pub(super) fn has_head(answer: &Response) -> bool {
    final_response(answer).is_some()
}

/// The content that an answer of the origin has, up to where it breaks off.
pub(super) fn content_before_cut(answer: &Response) -> Vec<u8> {
    final_response(answer).map(|raw| raw.content().to_vec()).unwrap_or_default()
}

/// An answer of the origin as a recipient reads it, if its head is whole.
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

/// Where to break off instead. A server that takes half a head for a whole one must find there that it is not to keep it, or
/// else what it does later is no longer wrong: so a status is never told without that.
fn bearable(cut: usize, bytes: &[u8]) -> usize {
    const NO_STATUS: usize = "HTTP/1.1 ".len();
    let forbidden = bytes.windows(FORBIDDEN.len()).position(|window| window == FORBIDDEN.as_bytes());
    let told = forbidden.map_or(0, |start| start + FORBIDDEN.len() + "\r\n".len());
    if cut <= NO_STATUS { cut } else { cut.max(told) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
