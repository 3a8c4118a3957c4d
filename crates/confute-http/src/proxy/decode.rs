//! Messages as the model sees them, from the bytes of one connection.

use std::collections::VecDeque;
use std::sync::Arc;

use confute_drive::{Reader, Side};

use super::message::{Field, Fields, Frame, MARK, Message, Request, Response};
use crate::decode::{flaw, may_begin_response, retry_after};
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
        dropped: false,
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
        retry_after: retry_after(raw.fields()),
        unasked: false,
        interim: Vec::new(),
        close: !raw.persists(),
        cut: None,
        half_closed: false,
        incomplete: !raw.is_complete(),
        in_head: !raw.is_complete() && raw.framing().is_none(),
        flaws: flaws(raw.anomalies(), flaw),
        pipelined: false,
        at: 0,
        asked_at: None,
        origin_ended_at: None,
        provoked: false,
    }
}

/// Reads one connection, with a client's eyes or with an origin's.
#[derive(Clone, Debug)]
pub enum ProxyReader {
    /// Responses.
    Client(Box<ClientReader>),
    /// Requests; one that breaks off is none.
    Origin(Box<RequestReader>),
}

/// Reads responses.
#[derive(Clone, Debug, Default)]
pub struct ClientReader {
    wire: ResponseReader,
    /// When each response that is to come was asked for, and whether together with others.
    asked: VecDeque<(i64, bool)>,
    /// The interim responses before the next, and what was wrong with them.
    interim: Vec<u16>,
    flaws: Vec<Flaw>,
    /// The bytes that are there were told as surplus.
    is_told: bool,
    /// A response said that it is the last.
    is_last: bool,
    /// What comes now belongs to no message.
    is_over: bool,
}

impl ClientReader {
    fn read(&mut self, messages: &mut Vec<Message>) {
        let first = messages.len();
        while !self.is_over
            && let Read::Message(raw) = self.wire.read()
        {
            if !raw.is_blank() {
                self.take(&raw, first, messages);
            }
        }
        let unread = self.wire.unread();
        let is_due = !self.asked.is_empty() && (!self.is_last || may_begin_response(unread));
        let is_surplus = !self.is_over && !is_due && unread.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
        if is_surplus && !self.is_told && Self::blame(first, messages) {
            self.is_told = true;
        }
    }

    /// Marks the last message of this batch as one with bytes after it, if there is one.
    fn blame(first: usize, messages: &mut [Message]) -> bool {
        let Some(Message::Response(last)) = messages[first..].last_mut() else { return false };
        if !last.flaws.contains(&Flaw::Surplus) {
            Arc::make_mut(last).flaws.push(Flaw::Surplus);
        }
        true
    }

    fn take(&mut self, raw: &RawResponse, first: usize, messages: &mut Vec<Message>) {
        let mut seen = response(raw);
        // What follows the last response, and is no response, is more of that one: it answers nothing.
        if seen.flaws.contains(&Flaw::AfterClose) && seen.status == 0 {
            if !std::mem::take(&mut self.is_told) && !Self::blame(first, messages) {
                seen.flaws = vec![Flaw::Surplus];
                messages.push(Message::Response(Arc::new(seen)));
            }
            return;
        }
        if std::mem::take(&mut self.is_told) {
            seen.flaws.retain(|flaw| *flaw != Flaw::Surplus);
        }
        if raw.is_interim() && raw.is_complete() {
            self.interim.push(seen.status);
            self.flaws.append(&mut seen.flaws);
            return;
        }
        if seen.in_head && (seen.status == 0 || raw.is_interim()) {
            // It broke off before the answer began (RFC 9112, 8): that is the end of the connection, and no more.
            if !seen.flaws.contains(&Flaw::Surplus) {
                return;
            }
            (seen.status, seen.fields) = (0, Fields::default());
        }
        let Some((at, pipelined)) = self.asked.pop_front() else {
            // A server may get tired of waiting (RFC 9110, 15.5.9). Anything else nobody asked for.
            if seen.status != 408 && !Self::blame(first, messages) {
                seen.flaws = vec![Flaw::Surplus];
                messages.push(Message::Response(Arc::new(seen)));
            }
            return;
        };
        (seen.asked_at, seen.pipelined) = (Some(at), pipelined);
        seen.interim = std::mem::take(&mut self.interim);
        seen.flaws.append(&mut self.flaws);
        seen.flaws.sort_unstable();
        seen.flaws.dedup();
        // What crosses a HEAD has content, and is the last (RFC 9110, 15.5.9).
        self.is_over = seen.status == 408 && seen.close && raw.framing() == Some(Framing::None);
        self.is_last |= seen.close;
        messages.push(Message::Response(Arc::new(seen)));
    }
}

impl ProxyReader {
    /// For a connection that was opened by this side.
    pub fn new(side: Side) -> Self {
        match side {
            Side::Opened => ProxyReader::Client(Box::default()),
            Side::Accepted => ProxyReader::Origin(Box::default()),
        }
    }

    fn read(&mut self, messages: &mut Vec<Message>) {
        match self {
            ProxyReader::Client(reader) => reader.read(messages),
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
        if let (ProxyReader::Client(reader), Message::Request(request)) = (self, message) {
            reader.wire.expect(request.method.as_bytes());
            reader.asked.push_back((request.at, false));
            if reader.asked.len() > 1 {
                reader.asked.iter_mut().for_each(|(_, pipelined)| *pipelined = true);
            }
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        match self {
            ProxyReader::Client(reader) => reader.wire.feed(bytes),
            ProxyReader::Origin(reader) => reader.feed(bytes),
        }
        self.read(messages);
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Message>) {
        let first = messages.len();
        let mut is_told = false;
        match (&mut *self, orderly) {
            (ProxyReader::Client(reader), orderly) => {
                is_told = reader.is_told && reader.asked.is_empty();
                if orderly { reader.wire.eof() } else { reader.wire.broken() }
            }
            (ProxyReader::Origin(reader), true) => reader.eof(),
            (ProxyReader::Origin(reader), false) => reader.broken(),
        }
        self.read(messages);
        if is_told {
            messages.truncate(first);
        }
    }

    fn prompt(&self) -> Option<&'static [u8]> {
        let ProxyReader::Origin(reader) = self else { return None };
        reader.awaits_continue().then_some(b"HTTP/1.1 100 Continue\r\n\r\n")
    }

    fn held(&self) -> usize {
        match self {
            ProxyReader::Client(reader) if reader.is_over => 0,
            ProxyReader::Client(reader) => reader.wire.unread().len(),
            ProxyReader::Origin(reader) => reader.unread().len(),
        }
    }
}
