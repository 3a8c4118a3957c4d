//! Messages as the model sees them, from the bytes of one connection.

use std::collections::VecDeque;
use std::sync::Arc;

use confute_drive::{Reader, Side};

use super::message::{Field, Fields, Frame, MARK, Message, Request, Response};
use crate::decode::flaw;
use crate::message::Flaw;
use crate::text;
use crate::wire::{
    self, Anomaly, Ending, Framing, Kind, RawRequest, RawResponse, Read, RequestReader, ResponseReader,
};

/// The fields that are judged, besides those that the tester makes up. What else there is may be anybody's secret.
const JUDGED: [&str; 20] = [
    MARK,
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "TE",
    "Host",
    "Via",
    "Max-Forwards",
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "If-Range",
    "Range",
    "Content-Type",
    "Cache-Control",
    "ETag",
    "Last-Modified",
    "X-Hop",
    "X-End",
];

fn fields(fields: wire::Fields<'_>) -> Fields {
    let is_judged = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.starts_with("x-end")
            || lower.starts_with("x-hop")
            || JUDGED.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    let field = |field: wire::Field<'_>| {
        let name = std::str::from_utf8(field.name).ok().filter(|name| is_judged(name))?;
        Some(Field(name.into(), text::text(&field.value)))
    };
    Fields(fields.iter().filter_map(field).collect())
}

fn flaws(anomalies: &[Anomaly], of: impl Fn(Kind) -> Option<Flaw>) -> Vec<Flaw> {
    let mut flaws: Vec<Flaw> = anomalies.iter().filter_map(|anomaly| of(anomaly.kind)).collect();
    flaws.sort_unstable();
    flaws.dedup();
    flaws
}

fn request(raw: &RawRequest) -> Request {
    let part = |bytes: Option<&[u8]>| text::text(bytes.unwrap_or_default());
    let has_content = !matches!(raw.framing(), Some(Framing::None) | None);
    Request {
        method: part(raw.method()),
        target: part(raw.target()),
        minor: raw.version().map_or(0, |version| version.minor),
        fields: fields(raw.fields()),
        body: has_content.then(|| text::text(&raw.content())),
        chunked: raw.framing() == Some(Framing::Chunked),
        trailers: fields(raw.trailers()),
        flaws: flaws(raw.anomalies(), |kind| match kind {
            Kind::BadMethod | Kind::BadTarget => Some(Flaw::Grammar),
            other => flaw(other),
        }),
        at: 0,
    }
}

/// A response that came to a client.
pub(crate) fn response(raw: &RawResponse) -> Response {
    Response {
        status: raw.status().unwrap_or(0),
        fields: fields(raw.fields()),
        body: text::text(&raw.content()),
        frame: match raw.framing() {
            Some(Framing::Chunked) => Frame::Chunked,
            Some(Framing::UntilClose) => Frame::UntilClose,
            Some(Framing::None) => Frame::Bare,
            _ => Frame::Sized,
        },
        trailers: fields(raw.trailers()),
        interim: Vec::new(),
        close: !raw.persists(),
        cut: None,
        incomplete: !raw.is_complete(),
        flaws: flaws(raw.anomalies(), flaw),
        pipelined: false,
        at: 0,
        asked_at: None,
    }
}

/// Reads one connection, with a client's eyes or with an origin's.
#[derive(Clone, Debug)]
pub enum ProxyReader {
    /// Responses; when they were asked for, and whether together with others; the interim ones before the next.
    Client(ResponseReader, VecDeque<(i64, bool)>, Vec<u16>),
    /// Requests; one that breaks off is none.
    Origin(RequestReader),
    /// Nothing: what comes now belongs to no message.
    Over,
}

impl ProxyReader {
    /// For a connection that was opened by this side.
    pub fn new(side: Side) -> Self {
        match side {
            Side::Opened => ProxyReader::Client(ResponseReader::default(), VecDeque::new(), Vec::new()),
            Side::Accepted => ProxyReader::Origin(RequestReader::default()),
        }
    }

    fn read(&mut self, messages: &mut Vec<Message>) {
        match self {
            ProxyReader::Client(reader, asked, interim) => loop {
                let outstanding = reader.outstanding();
                let Read::Message(raw) = reader.read() else { return };
                let mut seen = response(&raw);
                // A server may get tired of waiting (RFC 9110, 15.5.9).
                let is_tired = outstanding == 0 && seen.status == 408;
                if raw.is_interim() && raw.is_complete() {
                    interim.push(seen.status);
                } else if !raw.is_blank() && !is_tired {
                    seen.interim = std::mem::take(interim);
                    if let Some((at, pipelined)) = asked.pop_front() {
                        (seen.asked_at, seen.pipelined) = (Some(at), pipelined);
                    }
                    // What crosses a HEAD has content, and is the last (RFC 9110, 15.5.9).
                    let is_over = seen.status == 408 && seen.close && raw.framing() == Some(Framing::None);
                    messages.push(Message::Response(Arc::new(seen)));
                    if is_over {
                        *self = ProxyReader::Over;
                        return;
                    }
                }
            },
            ProxyReader::Over => {}
            ProxyReader::Origin(reader) => {
                while let Read::Message(raw) = reader.read() {
                    if !raw.is_blank() && !matches!(raw.ending(), Ending::Truncated(_)) {
                        messages.push(Message::Request(Arc::new(request(&raw))));
                    }
                }
            }
        }
    }
}

impl Reader<Message> for ProxyReader {
    fn sent(&mut self, message: &Message) {
        if let (ProxyReader::Client(reader, asked, _), Message::Request(request)) = (self, message) {
            reader.expect(request.method.as_bytes());
            asked.push_back((request.at, false));
            if asked.len() > 1 {
                asked.iter_mut().for_each(|(_, pipelined)| *pipelined = true);
            }
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        match self {
            ProxyReader::Client(reader, ..) => reader.feed(bytes),
            ProxyReader::Origin(reader) => reader.feed(bytes),
            ProxyReader::Over => {}
        }
        self.read(messages);
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Message>) {
        match (&mut *self, orderly) {
            (ProxyReader::Client(reader, ..), true) => reader.eof(),
            (ProxyReader::Client(reader, ..), false) => reader.broken(),
            (ProxyReader::Origin(reader), true) => reader.eof(),
            (ProxyReader::Origin(reader), false) => reader.broken(),
            (ProxyReader::Over, _) => {}
        }
        self.read(messages);
    }

    fn held(&self) -> usize {
        match self {
            ProxyReader::Client(reader, ..) => reader.unread().len(),
            ProxyReader::Origin(reader) => reader.unread().len(),
            ProxyReader::Over => 0,
        }
    }
}
