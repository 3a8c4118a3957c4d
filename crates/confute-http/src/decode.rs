//! Reader of messages as the models see them, from the bytes of one connection: responses on the side of a client,
//! requests on the side of an origin.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use confute_drive::{Reader, Side};

use crate::message::{
    AnnouncedEnd, Dated, Field, Fields, Flaw, ForwardedRequest, ForwardedResponse, Frame, MARK, Message,
    Method, Notes, Partial, RangeSent, Request, Response, Tag,
};
use crate::rules;
use confute_http1::{
    Anomaly, AnomalyKind, BodyFraming, Ending, Length, Limit, RawField, RawFields, RawRequest, RawResponse,
    Read, RequestReader, ResponseReader, Section,
};
use confute_http1::{date, text};

/// Returns the flaw of a message that an anomaly of this kind amounts to, if it does.
pub(crate) fn flaw(kind: AnomalyKind) -> Option<Flaw> {
    match kind {
        AnomalyKind::Garbage { .. } | AnomalyKind::BytesAfterEnd => Some(Flaw::Surplus),
        AnomalyKind::BytesAfterClose => Some(Flaw::AfterClose),
        AnomalyKind::BadChunkSize | AnomalyKind::BadChunkTerminator | AnomalyKind::ChunkEndsInLf => {
            Some(Flaw::Chunks)
        }
        AnomalyKind::BadLength
        | AnomalyKind::ConflictingLengths
        | AnomalyKind::LengthWithCoding
        | AnomalyKind::BadCoding
        | AnomalyKind::CodingInOldVersion
        | AnomalyKind::FramingForbidden => Some(Flaw::Framing),
        AnomalyKind::BareLf
        | AnomalyKind::BareCr
        | AnomalyKind::OddVersion
        | AnomalyKind::OddSpacing
        | AnomalyKind::BadStatus
        | AnomalyKind::MissingReason
        | AnomalyKind::OddReason
        | AnomalyKind::ObsFold
        | AnomalyKind::SpaceBeforeFields
        | AnomalyKind::NoColon
        | AnomalyKind::EmptyName
        | AnomalyKind::SpaceBeforeColon
        | AnomalyKind::BadNameByte(_)
        | AnomalyKind::BadValueByte(_)
        | AnomalyKind::BadChunkExtension => Some(Flaw::Grammar),
        // Equal lengths are valid, empty lines may be discarded, a message that is cut off is not malformed, and bad
        // methods and targets occur only in requests.
        AnomalyKind::DuplicateLengths
        | AnomalyKind::LeadingEmptyLine
        | AnomalyKind::Truncated(_)
        | AnomalyKind::TooLong(_)
        | AnomalyKind::TooManyAnomalies
        | AnomalyKind::BadMethod
        | AnomalyKind::BadTarget => None,
    }
}

/// Returns the date in the only field of this name, as the time since 1970.
fn time(fields: RawFields<'_>, name: &str) -> Option<Duration> {
    date::parse(&fields.only(name)?)
}

/// Returns the number of seconds in `Retry-After`; a date is relative to the `Date` of the response.
pub(crate) fn retry_after(fields: RawFields<'_>) -> Option<u64> {
    match text::text(&fields.only("Retry-After")?).trim().parse() {
        Ok(seconds) => Some(seconds),
        Err(_) => Some(time(fields, "Retry-After")?.checked_sub(time(fields, "Date")?)?.as_secs()),
    }
}

fn flaws(anomalies: &[Anomaly], of: impl Fn(AnomalyKind) -> Option<Flaw>) -> Vec<Flaw> {
    let mut flaws: Vec<Flaw> = anomalies.iter().filter_map(|anomaly| of(anomaly.kind)).collect();
    flaws.sort_unstable();
    flaws.dedup();
    flaws
}

/// Fields that the gateway model judges, besides those that the tester makes up. No other field is kept, because it may
/// be a secret.
const JUDGED: [&str; 18] = [
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
];

fn judged(fields: RawFields<'_>) -> Fields {
    let is_judged = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.starts_with("x-end")
            || lower.starts_with("x-hop")
            || JUDGED.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    let field = |field: RawField<'_>| {
        let name = std::str::from_utf8(field.name).ok().filter(|name| is_judged(name))?;
        Some(Field(name.into(), text::text(&field.value)))
    };
    Fields(fields.iter().filter_map(field).collect())
}

/// Returns a request that arrived at the origin.
fn forwarded_request(raw: &RawRequest) -> Request {
    let part = |bytes: Option<&[u8]>| text::text(bytes.unwrap_or_default());
    let has_content = !matches!(raw.framing(), Some(BodyFraming::None) | None);
    Request {
        method: Method::from(&*part(raw.method())),
        path: part(raw.target()),
        body: has_content.then(|| text::text(&raw.content())),
        chunked: raw.framing() == Some(BodyFraming::Chunked),
        forwarded: ForwardedRequest {
            minor: raw.version().map_or(0, |version| version.minor),
            fields: judged(raw.fields()),
            trailers: judged(raw.trailers()),
            flaws: flaws(raw.anomalies(), |kind| match kind {
                AnomalyKind::BadMethod | AnomalyKind::BadTarget => Some(Flaw::Grammar),
                other => flaw(other),
            }),
            dropped: false,
        }
        .into(),
        ..Request::default()
    }
}

/// Returns how far a response came, if it broke off.
fn partial(raw: &RawResponse) -> Option<Partial> {
    let Ending::Truncated(section) = raw.ending() else { return None };
    let (end, came) = match (section, raw.framing()) {
        (Section::Head, _) | (_, None) => (AnnouncedEnd::Unannounced, raw.bytes().len()),
        (_, Some(BodyFraming::Length(length))) => (AnnouncedEnd::Length(length), raw.content().len()),
        (_, Some(BodyFraming::Chunked)) => (AnnouncedEnd::LastChunk, raw.content().len()),
        (_, Some(_)) => (AnnouncedEnd::Close, raw.content().len()),
    };
    Some(Partial { end, came: came as u64, silence: None })
}

/// Returns the parts of a response that both models judge.
fn response(raw: &RawResponse) -> Response {
    Response {
        status: raw.status().unwrap_or(0),
        retry_after: retry_after(raw.fields()),
        body: text::text(&raw.content()),
        close: !raw.persists(),
        flaws: flaws(raw.anomalies(), flaw),
        incomplete: !raw.is_complete(),
        partial: partial(raw),
        ..Response::default()
    }
}

/// Returns a response that a gateway sent to a client, to a request that was sent at this time.
fn forwarded_response(raw: &RawResponse, asked_at: Option<i64>) -> Response {
    let forwarded = ForwardedResponse {
        fields: judged(raw.fields()),
        frame: match raw.framing() {
            Some(BodyFraming::Chunked) => Frame::Chunked,
            Some(BodyFraming::UntilClose) => Frame::UntilClose,
            Some(BodyFraming::None) => Frame::Bare,
            _ => Frame::Sized,
        },
        trailers: judged(raw.trailers()),
        unasked: false,
        cut: None,
        half_closed: false,
        in_head: !raw.is_complete() && raw.framing().is_none(),
        asked_at,
        origin_ended_at: None,
        provoked: false,
    };
    Response { forwarded: forwarded.into(), ..response(raw) }
}

/// Returns a response of an origin server.
fn own_response(raw: &RawResponse) -> Response {
    let fields = raw.fields();
    let mut response = response(raw);
    let etag = fields.combined("ETag").map(|value| Tag::parse(&value));
    if etag == Some(None) {
        response.flaws.push(Flaw::Tag);
    }
    // A head that was cut off may lack the field that a check is about.
    if raw.framing().is_some() {
        response.flaws.extend(rules::broken_by(raw).map(Flaw::Breaks));
    }
    let time = |name| time(fields, name);
    let last_modified = time("Last-Modified");
    let codings = fields.transfer_codings().unwrap_or_default();
    let is_coded = fields.list("Content-Encoding").iter().any(|name| !name.eq_ignore_ascii_case(b"identity"))
        || codings.iter().any(|coding| coding.name != b"chunked");
    let kind = fields.combined("Content-Type").unwrap_or_default().to_ascii_lowercase();
    Response {
        etag: etag.flatten(),
        last_modified: last_modified.and_then(|time| i64::try_from(time.as_secs()).ok()),
        dated: Dated {
            is_now: last_modified.is_some() && last_modified == time("Date"),
            may_be_ahead: false,
            is_past: last_modified.is_some() && last_modified < time("Date"),
        },
        content_range: fields.combined("Content-Range").map(|value| RangeSent::parse(&value)),
        allow: fields.all("Allow").next().is_some(),
        content_length: match fields.content_length() {
            Length::One(length) | Length::Repeated(length) => Some(length),
            _ => None,
        },
        coded: is_coded,
        multipart: kind.starts_with(b"multipart/byteranges"),
        notes: Notes::default(),
        ..response
    }
}

/// Returns `true` if these bytes, as far as they go, are a response or the beginning of one.
fn may_begin_response(bytes: &[u8]) -> bool {
    let version = b"HTTP/";
    bytes.starts_with(version) || version.starts_with(bytes)
}

/// Number of bytes by which content is searched for the beginning of another response.
const OVERLAP: usize = 4096;

/// Returns `true` if the end of the content and the bytes behind it form the beginning of a response: then the content
/// ends before that, and its length is wrong.
fn reaches_over(response: &Response, behind: &[u8]) -> bool {
    let content = text::bytes(&response.body);
    let tail = &content[content.len().saturating_sub(OVERLAP)..];
    let line = b"HTTP/1.? ???";
    let all: Vec<u8> = tail.iter().chain(behind.iter().take(line.len())).copied().collect();
    let is_line = |bytes: &[u8]| {
        bytes
            .iter()
            .zip(line)
            .all(|(byte, sample)| byte == sample || (*sample == b'?' && byte.is_ascii_digit()))
    };
    all.windows(line.len()).take(tail.len()).any(is_line)
}

/// Reader of the messages on one connection, on the side of a client or of an origin.
#[derive(Clone, Debug)]
pub enum HttpReader {
    /// Reader of responses, for connections that the tester opened.
    Client(Box<ResponsesReader>),
    /// Reader of requests, for connections that the tester accepted. A request that is cut off is dropped.
    Origin(Box<RequestReader>),
}

impl Default for HttpReader {
    fn default() -> Self {
        HttpReader::Client(Box::default())
    }
}

/// A request whose response is outstanding.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// `true` if other requests were outstanding on the connection at the same time.
    pipelined: bool,
    /// Time when the request was sent, if a gateway forwards it.
    forwarded: Option<i64>,
}

/// Reader of the responses on one connection.
///
/// Interim responses are part of the final one. Bytes that belong to no response are a flaw of the response that they
/// follow, if they arrive together with it, and otherwise of the next one: bytes that cannot begin the response that is due
/// belong to none. Whether a response is the server's own or a
/// forwarded one follows from the requests, which are answered in order.
#[derive(Clone, Debug, Default)]
pub struct ResponsesReader {
    wire: ResponseReader,
    due: VecDeque<Due>,
    interim: Vec<u16>,
    /// Flaws of interim responses.
    flaws: Vec<Flaw>,
    /// `true` if the last response was a forwarded one.
    was_forwarded: bool,
    /// `true` if the unread bytes were already reported as surplus.
    is_reported: bool,
    /// `true` if a response was announced as the last.
    is_last: bool,
    /// `true` if an unsolicited 408 came: the server has given up the connection.
    is_given_up: bool,
    /// `true` if the end of the last response cannot be found: the bytes that follow are the rest of it.
    is_lost: bool,
    /// `true` if the end cannot be found because the response is too long to be read.
    is_overlong: bool,
}

impl ResponsesReader {
    /// Handles a timeout: the outstanding response becomes one with [`Flaw::Stalled`]. A forwarded response is exempt
    /// until it has begun: the gateway may have nothing to forward.
    fn stalled(&mut self, silence: Duration, messages: &mut Vec<Message>) {
        let Some(due) = self.due.front().copied() else { return };
        let (first, came) = (messages.len(), self.wire.unread().len() as u64);
        self.wire.broken();
        self.end(messages);
        if messages.len() == first && due.forwarded.is_none() {
            self.due.pop_front();
            let partial = Some(Partial { end: AnnouncedEnd::Unannounced, came, silence: None });
            let pipelined = due.pipelined;
            messages.push(Response { pipelined, incomplete: true, partial, ..Response::default() }.into());
        }
        if let Some(Message::Response(response)) = messages.get_mut(first) {
            let response = Arc::make_mut(response);
            response.flaws.push(Flaw::Stalled);
            if let Some(partial) = &mut response.partial {
                partial.silence = u64::try_from(silence.as_millis()).ok();
            }
        }
    }

    /// Reads the rest at the end of the connection.
    fn end(&mut self, messages: &mut Vec<Message>) {
        let is_reported = self.is_reported && self.due.is_empty();
        let first = messages.len();
        self.read(messages);
        if is_reported {
            messages.truncate(first);
        }
    }

    fn read(&mut self, messages: &mut Vec<Message>) {
        let first = messages.len();
        while let Read::Message(raw) = self.wire.read() {
            if !raw.is_blank() {
                self.take(&raw, first, messages);
            }
        }
        // Empty lines before a response may be discarded.
        let unread = self.wire.unread().trim_ascii_start();
        // Bytes that begin like a response are reported once the response is complete.
        let is_response = may_begin_response(unread) && !(self.is_last && self.due.is_empty());
        let is_surplus = !self.is_lost && !is_response && !unread.is_empty();
        if is_surplus && !self.is_reported && Self::blame(first, messages, unread) {
            self.is_reported = true;
        }
    }

    /// Marks the last response of this batch as one with surplus bytes after it: these. Returns `false` if there is none,
    /// or if its end is unknown.
    fn blame(first: usize, messages: &mut [Message], surplus: &[u8]) -> bool {
        let Some(Message::Response(last)) = messages[first..].last_mut() else { return false };
        if last.incomplete {
            return false;
        }
        let flaw = if reaches_over(last, surplus) { Flaw::Overlong } else { Flaw::Surplus };
        if !last.flaws.contains(&flaw) {
            Arc::make_mut(last).flaws.push(flaw);
        }
        true
    }

    fn take(&mut self, raw: &RawResponse, first: usize, messages: &mut Vec<Message>) {
        if self.is_lost {
            return;
        }
        self.is_overlong = matches!(raw.ending(), Ending::TooLong(_));
        self.is_lost = self.is_overlong;
        if matches!(raw.ending(), Ending::TooLong(Limit::Head | Limit::Fields)) && raw.framing().is_none() {
            // A response without the end of its head is not a response yet.
            return;
        }
        let due = self.due.front().copied();
        self.was_forwarded = due.map_or(self.was_forwarded, |due| due.forwarded.is_some());
        let mut seen = if self.was_forwarded {
            forwarded_response(raw, due.and_then(|due| due.forwarded))
        } else {
            own_response(raw)
        };
        // Bytes after the last response that are no response themselves are part of it: they answer no request.
        if seen.flaws.contains(&Flaw::AfterClose) && seen.status == 0 {
            self.take_rest(seen, raw.bytes(), first, messages);
            return;
        }
        // A head that was cut off by the end of the connection conveys nothing (RFC 9112, 8): the request has no
        // response, and an interim response is not the final one. A head that is malformed already is reported
        // nevertheless.
        let is_cut = matches!(raw.ending(), Ending::Truncated(Section::Head));
        if is_cut && !self.was_forwarded && seen.flaws.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_reported) {
            seen.flaws.retain(|flaw| *flaw != Flaw::Surplus);
        }
        if raw.is_interim() && raw.is_complete() {
            self.interim.push(seen.status);
            self.flaws.append(&mut seen.flaws);
            return;
        }
        // The fields of a forwarded response are judged as far as they arrived: they must be the origin's.
        if seen.forwarded.in_head && (seen.status == 0 || raw.is_interim()) {
            if !seen.flaws.contains(&Flaw::Surplus) {
                return;
            }
            seen.status = 0;
            seen.forwarded.fields = Fields::default();
        }
        let Some(due) = self.due.pop_front() else {
            // No request is outstanding. A server may report that it has waited too long, and close (RFC 9110, 15.5.9).
            if seen.status == 408 {
                self.is_given_up = true;
                return;
            }
            // A whole response is reported as one: it may answer the rest of an earlier request. Loose bytes are a flaw
            // of the response before them.
            if seen.status != 0 || !Self::blame(first, messages, raw.bytes()) {
                self.surplus(seen, messages);
            }
            return;
        };
        // A 408 that crosses a request is framed as if there were no request, and is the last response (RFC 9110,
        // 15.5.9).
        self.is_lost |= seen.status == 408 && seen.close && raw.framing() == Some(BodyFraming::None);
        self.is_last |= seen.close;
        seen.pipelined = due.pipelined;
        seen.interim = std::mem::take(&mut self.interim);
        seen.flaws.append(&mut self.flaws);
        if std::mem::take(&mut self.is_given_up) && due.forwarded.is_none() {
            // The server did not give up the connection, so the 408 was a surplus response.
            seen.flaws.push(Flaw::Surplus);
        }
        seen.flaws.sort_unstable();
        seen.flaws.dedup();
        messages.push(seen.into());
    }

    /// Adds a response, or bytes, without a request.
    fn surplus(&mut self, mut seen: Response, messages: &mut Vec<Message>) {
        seen.flaws = vec![Flaw::Surplus];
        if self.was_forwarded {
            seen.forwarded.asked_at = None;
        }
        messages.push(seen.into());
    }

    /// Handles bytes after the last response.
    fn take_rest(&mut self, seen: Response, bytes: &[u8], first: usize, messages: &mut Vec<Message>) {
        if !self.was_forwarded {
            Self::blame(first, messages, bytes);
        } else if !std::mem::take(&mut self.is_reported) && !Self::blame(first, messages, bytes) {
            self.surplus(seen, messages);
        }
    }
}

impl HttpReader {
    /// Creates the reader for a connection that the tester opened or accepted. `is_gateway` is `true` if the server is
    /// nothing but a gateway: then an unsolicited response before all others counts as a forwarded one.
    pub fn new(side: Side, is_gateway: bool) -> Self {
        match side {
            Side::Opened => {
                HttpReader::Client(Box::new(ResponsesReader { was_forwarded: is_gateway, ..<_>::default() }))
            }
            Side::Accepted => HttpReader::Origin(Box::default()),
        }
    }

    fn read_requests(reader: &mut RequestReader, messages: &mut Vec<Message>) {
        while let Read::Message(raw) = reader.read() {
            if !raw.is_blank() && !matches!(raw.ending(), Ending::Truncated(_)) {
                messages.push(forwarded_request(&raw).into());
            }
        }
    }
}

impl Reader<Message> for HttpReader {
    fn sent(&mut self, message: &Message) {
        let (HttpReader::Client(reader), Message::Request(request)) = (self, message) else { return };
        for _ in 0..request.responses() {
            reader.wire.expect(request.method.name().as_bytes());
            let forwarded = request.forwarded.is_there().then_some(request.at);
            reader.due.push_back(Due { pipelined: false, forwarded });
        }
        if reader.due.len() > 1 {
            reader.due.iter_mut().for_each(|due| due.pipelined = true);
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        match self {
            HttpReader::Client(reader) => {
                reader.wire.feed(bytes);
                reader.read(messages);
            }
            HttpReader::Origin(reader) => {
                reader.feed(bytes);
                Self::read_requests(reader, messages);
            }
        }
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Message>) {
        match self {
            HttpReader::Client(reader) => {
                if orderly {
                    reader.wire.eof();
                } else {
                    reader.wire.broken();
                }
                reader.end(messages);
            }
            HttpReader::Origin(reader) => {
                if orderly {
                    reader.eof();
                } else {
                    reader.broken();
                }
                Self::read_requests(reader, messages);
            }
        }
    }

    fn stalled(&mut self, silence: Duration, messages: &mut Vec<Message>) {
        if let HttpReader::Client(reader) = self {
            reader.stalled(silence, messages);
        }
    }

    fn prompt(&self) -> Option<&'static [u8]> {
        let HttpReader::Origin(reader) = self else { return None };
        reader.awaits_continue().then_some(b"HTTP/1.1 100 Continue\r\n\r\n")
    }

    fn goes_on(&self) -> bool {
        matches!(self, HttpReader::Client(reader) if reader.interim.contains(&100))
    }

    fn has_head(&self) -> bool {
        matches!(self, HttpReader::Client(reader) if reader.wire.is_in_content())
    }

    fn held(&self) -> usize {
        match self {
            HttpReader::Client(reader) => reader.wire.unread().len(),
            HttpReader::Origin(reader) => reader.unread().len(),
        }
    }

    fn is_lost(&self) -> bool {
        matches!(self, HttpReader::Client(reader) if reader.is_overlong)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the responses that a client reads after these requests from these bytes, which arrive in parts.
    pub(crate) fn read_after(asked: &[Message], parts: &[&str], is_gateway: bool) -> Vec<Response> {
        let mut reader = HttpReader::new(Side::Opened, is_gateway);
        asked.iter().for_each(|message| reader.sent(message));
        let mut messages = Vec::new();
        parts.iter().for_each(|part| reader.feed(part.replace('|', "\r\n").as_bytes(), &mut messages));
        reader.end(true, &mut messages);
        messages.iter().map(|message| message.response().expect("a response").clone()).collect()
    }

    fn read(methods: &[Method], feeds: &[&str]) -> Vec<Response> {
        let asked = |method: &Method| Request { method: method.clone(), ..Request::default() }.into();
        read_after(&methods.iter().map(asked).collect::<Vec<_>>(), feeds, false)
    }

    #[test]
    fn content_that_is_held_back_may_go_on() {
        let mut reader = HttpReader::default();
        reader.sent(&Message::from(Request { method: Method::Put, ..Request::default() }));
        let mut messages = Vec::new();
        let mut goes_on = |bytes: &str| {
            reader.feed(bytes.as_bytes(), &mut messages);
            reader.goes_on()
        };
        assert!(!goes_on("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n"));
        assert!(goes_on("\r\n"));
        assert!(!goes_on("HTTP/1.1 204 No Content\r\n\r\n"));
    }

    #[test]
    fn what_matters_is_read() {
        let head = "HTTP/1.1 206 OK|ETag: W/\"x\"|Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT|Content-Range: bytes 0-1/5|";
        let seen =
            read(&[Method::Get], &["HTTP/1.1 100 Go on||", head, "Content-Length: 2|Connection: close||he"]);
        let expected = Response {
            status: 206,
            etag: Some(Tag::weak("x")),
            last_modified: Some(784_111_777),
            content_range: Some(RangeSent::Part(0, 1, Some(5))),
            content_length: Some(2),
            body: "he".into(),
            close: true,
            interim: vec![100],
            ..Response::default()
        };
        assert_eq!(seen, [expected]);
    }

    #[test]
    fn a_date_that_is_later_than_now() {
        let told = |modified: &str| {
            let dates = format!(
                "Date: Sun, 06 Nov 1994 08:49:37 GMT|Last-Modified: Sun, 06 Nov 1994 08:49:{modified} GMT"
            );
            let seen = read(&[Method::Get], &[&format!("HTTP/1.1 204 No|{dates}||")]).remove(0);
            (seen.flaws, seen.dated.is_now, seen.dated.is_past)
        };
        let later = Flaw::Breaks(rules::Broken::named(rules::NOT_LATER.name).unwrap());
        assert_eq!(told("36"), (vec![], false, true));
        assert_eq!(told("37"), (vec![], true, false));
        assert_eq!(told("38"), (vec![], false, false));
        assert_eq!(told("39"), (vec![later], false, false));
    }

    #[test]
    fn surplus_is_told_once() {
        let flawed = |seen: &[Response]| seen.iter().map(|each| each.flaws.clone()).collect::<Vec<_>>();
        let not_modified = "HTTP/1.1 304 No|ETag: \"x\"||";
        let next = "HTTP/1.1 204 No||";
        let with = read(&[Method::Get], &[&format!("{not_modified}content")]);
        assert_eq!(flawed(&with), [vec![Flaw::Surplus]]);
        let two = read(&[Method::Get, Method::Get], &[&format!("{not_modified}content{next}")]);
        assert_eq!(flawed(&two), [vec![], vec![Flaw::Surplus]]);
        assert!(two.iter().all(|each| each.pipelined));
        // A whole unsolicited response is reported separately, however its bytes arrive.
        let (unasked, half) = (format!("{not_modified}{next}"), next.split_at(7));
        for parts in [vec![&unasked[..]], vec![not_modified, next], vec![not_modified, half.0, half.1]] {
            assert_eq!(flawed(&read(&[Method::Get], &parts)), [vec![], vec![Flaw::Surplus]], "{parts:?}");
        }
    }

    #[test]
    fn what_follows_the_last_response_answers_nothing() {
        let last = "HTTP/1.1 502 No|Connection: close|Content-Length: 6||<html>";
        let seen = read(&[Method::Head, Method::Get], &[last]);
        let [only] = &seen[..] else { panic!("{seen:?}") };
        assert_eq!((only.status, &only.flaws[..]), (502, &[Flaw::Surplus][..]));
    }

    #[test]
    fn what_has_no_end_is_not_wrong_for_it() {
        let mut reader = HttpReader::default();
        reader.sent(&Message::from(Request::default()));
        let mut messages = Vec::new();
        reader.feed(b"HTTP/1.1 500 No\r\nX: ", &mut messages);
        for _ in 0..40 {
            reader.feed(&[b'x'; 16 << 10], &mut messages);
            assert!(reader.held() < 1 << 20);
        }
        assert!(messages.is_empty(), "{messages:?}");
        let mut reader = HttpReader::default();
        reader.sent(&Message::from(Request::default()));
        reader.feed(b"HTTP/1.1 500 No\r\n\r\n", &mut messages);
        for _ in 0..1100 {
            reader.feed(&[b'x'; 16 << 10], &mut messages);
        }
        let [Message::Response(response)] = &messages[..] else { panic!("{messages:?}") };
        assert!(
            response.incomplete && response.flaws.is_empty() && response.status == 500,
            "{:?}",
            response.flaws
        );
    }

    #[test]
    fn a_server_may_get_tired_of_waiting() {
        let tired = "HTTP/1.1 408 Late|Connection: close|Content-Length: 0||";
        assert_eq!(read(&[], &[tired]), []);
        assert_eq!(read(&[Method::Get], &[tired])[0].status, 408);
        // The server had not seen the HEAD when it sent the 408.
        let tired = "HTTP/1.1 408 Late|Connection: close|Content-Length: 11||Too late.||";
        let [crossed] = &read(&[Method::Head], &[tired])[..] else { panic!() };
        assert!(crossed.status == 408 && crossed.flaws.is_empty(), "{:?}", crossed.flaws);
        let stays = "HTTP/1.1 408 Late|Content-Length: 11||Too late.||";
        assert_eq!(read(&[Method::Head], &[stays])[0].flaws, [Flaw::Surplus]);
        // A server that has given up the connection sends no further response.
        let mut reader = HttpReader::default();
        let mut messages = Vec::new();
        reader.feed(b"HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n", &mut messages);
        assert!(messages.is_empty());
        reader.sent(&Message::from(Request::default()));
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &mut messages);
        let [Message::Response(next)] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!(next.flaws, [Flaw::Surplus]);
    }

    #[test]
    fn many_fields_are_read_and_too_many_are_not_judged() {
        let head =
            |fields: usize| format!("HTTP/1.1 200 OK|{}Content-Length: 2||he", "X-A: b|".repeat(fields));
        let [long] = &read(&[Method::Get], &[&head(3000)])[..] else { panic!() };
        assert!(&*long.body == "he" && !long.incomplete && long.flaws.is_empty(), "{long:?}");
        // The head exceeds the limit: it may be any response.
        let mut reader = HttpReader::default();
        reader.sent(&Message::from(Request::default()));
        let mut messages = Vec::new();
        reader.feed(head(20_000).replace('|', "\r\n").as_bytes(), &mut messages);
        assert!(messages.is_empty() && reader.is_lost(), "{messages:?}");
    }

    #[test]
    fn what_breaks_off_is_incomplete() {
        let cut = read(&[Method::Get], &["HTTP/1.1 200 OK|Content-Length: 5||he"]);
        assert!(cut[0].incomplete && cut[0].flaws.is_empty() && &*cut[0].body == "he");
        let chunk =
            read(&[Method::Get], &["HTTP/1.1 200 OK|Transfer-Encoding: chunked||2|he|HTTP/1.1 200 OK||"]);
        assert_eq!(chunk[0].flaws, [Flaw::Chunks]);
        assert_eq!(read(&[Method::Get], &[]), []);
        // An incomplete head conveys nothing, and an interim response is not the final one.
        for head in ["HTTP/1.1 206 Part|ETag: \"x\"|Cont", "HTTP/1.1 103 Early|Link: <", "HTTP/1.1 2", "HT"] {
            assert_eq!(read(&[Method::Get], &[head]), [], "{head}");
        }
        let hinted = read(&[Method::Get], &["HTTP/1.1 100 Go on||HTTP/1.1 204 No"]);
        assert_eq!(hinted, []);
        // A flaw in the part that arrived counts nevertheless.
        assert_eq!(read(&[Method::Get], &["HTTP/1.1 200 OK|X : y|Z"])[0].flaws, [Flaw::Grammar]);
    }
}
