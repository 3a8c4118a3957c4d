//! Responses as the model sees them, from the bytes of one connection.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use confute_drive::Reader;

use crate::content_range::ContentRange;
use crate::date::Date;
use crate::etag::EntityTag;
use crate::message::{Dated, Flaw, Msg, Notes, Response, Tag, Told};
use crate::text;
use crate::wire::{Ending, Fields, Framing, Kind, Length, Limit, RawResponse, Read, ResponseReader, Section};

/// Two clocks of a server may differ by so much: one is updated after the other.
const CLOCKS: Duration = Duration::from_secs(1);

/// What is wrong with a message that has such an anomaly, if anything is.
pub(crate) fn flaw(kind: Kind) -> Option<Flaw> {
    match kind {
        Kind::Garbage { .. } | Kind::BytesAfterEnd => Some(Flaw::Surplus),
        Kind::BytesAfterClose => Some(Flaw::AfterClose),
        Kind::BadChunkSize | Kind::BadChunkTerminator | Kind::ChunkEndsInLf => Some(Flaw::Chunks),
        Kind::BadLength
        | Kind::ConflictingLengths
        | Kind::LengthWithCoding
        | Kind::BadCoding
        | Kind::CodingInOldVersion
        | Kind::FramingForbidden => Some(Flaw::Framing),
        Kind::BareLf
        | Kind::BareCr
        | Kind::OddVersion
        | Kind::OddSpacing
        | Kind::BadStatus
        | Kind::MissingReason
        | Kind::OddReason
        | Kind::ObsFold
        | Kind::SpaceBeforeFields
        | Kind::NoColon
        | Kind::EmptyName
        | Kind::SpaceBeforeColon
        | Kind::BadNameByte(_)
        | Kind::BadValueByte(_)
        | Kind::BadChunkExtension => Some(Flaw::Grammar),
        // The same length twice is valid, empty lines may be discarded, and what is cut off is not wrong.
        Kind::DuplicateLengths
        | Kind::LeadingEmptyLine
        | Kind::Truncated(_)
        | Kind::TooLong(_)
        | Kind::TooManyAnomalies
        | Kind::BadMethod
        | Kind::BadTarget => None,
    }
}

/// The date in the field of this name, since 1970.
fn time(fields: Fields<'_>, name: &str) -> Option<Duration> {
    let date = Date::parse(&fields.only(name)?).ok()?;
    date.time.duration_since(SystemTime::UNIX_EPOCH).ok()
}

/// Seconds after which `Retry-After` asks the client to repeat its request; a date counts from that of the response.
pub(crate) fn retry_after(fields: Fields<'_>) -> Option<u64> {
    match text::text(&fields.only("Retry-After")?).trim().parse() {
        Ok(seconds) => Some(seconds),
        Err(_) => Some(time(fields, "Retry-After")?.checked_sub(time(fields, "Date")?)?.as_secs()),
    }
}

fn flaws(raw: &RawResponse) -> Vec<Flaw> {
    let mut flaws: Vec<Flaw> = raw.anomalies().iter().filter_map(|anomaly| flaw(anomaly.kind)).collect();
    flaws.sort_unstable();
    flaws.dedup();
    flaws
}

impl From<&RawResponse> for Response {
    fn from(raw: &RawResponse) -> Self {
        let fields = raw.fields();
        let mut flaws = flaws(raw);
        let etag = fields.combined("ETag").and_then(|value| match EntityTag::parse(&value) {
            Ok(tag) => Some(Tag { weak: tag.weak, opaque: text::text(&tag.opaque) }),
            Err(_) => {
                flaws.push(Flaw::Tag);
                None
            }
        });
        let time = |name| time(fields, name);
        let last_modified = time("Last-Modified");
        let is_later = |date: Duration| last_modified.is_some_and(|modified| modified > date + CLOCKS);
        if time("Date").is_some_and(is_later) {
            flaws.push(Flaw::Later);
        }
        let content_range = fields.combined("Content-Range").map(|value| match ContentRange::parse(&value) {
            Ok(ContentRange { unit, range, complete }) if unit == b"bytes" => match (range, complete) {
                (Some((first, last)), complete) => Told::Part(first, last, complete),
                (None, Some(complete)) => Told::Nothing(complete),
                (None, None) => Told::Invalid,
            },
            _ => Told::Invalid,
        });
        let codings = fields.transfer_codings().unwrap_or_default();
        let is_coded =
            fields.list("Content-Encoding").iter().any(|name| !name.eq_ignore_ascii_case(b"identity"))
                || codings.iter().any(|coding| coding.name != b"chunked");
        let kind = fields.combined("Content-Type").unwrap_or_default().to_ascii_lowercase();
        Response {
            status: raw.status().unwrap_or(0),
            etag,
            last_modified: last_modified.and_then(|time| i64::try_from(time.as_secs()).ok()),
            dated: Dated {
                is_now: last_modified.is_some() && last_modified == time("Date"),
                may_be_ahead: false,
                is_past: last_modified.is_some() && last_modified < time("Date"),
            },
            content_range,
            allow: fields.all("Allow").next().is_some(),
            content_length: match fields.content_length() {
                Length::One(length) | Length::Repeated(length) => Some(length),
                _ => None,
            },
            retry_after: retry_after(fields),
            body: text::text(&raw.content()),
            coded: is_coded,
            may_be_coded: false,
            multipart: kind.starts_with(b"multipart/byteranges"),
            close: !raw.persists(),
            notes: Notes::default(),
            interim: Vec::new(),
            flaws,
            pipelined: false,
            incomplete: !matches!(raw.ending(), Ending::Complete),
            received_at: 0,
        }
    }
}

/// Whether these bytes are a response, or the beginning of one, as far as can be seen.
pub(crate) fn may_begin_response(bytes: &[u8]) -> bool {
    let version = b"HTTP/";
    bytes.starts_with(version) || version.starts_with(bytes)
}

/// Reads the responses on one connection.
///
/// Interim responses are told with the final one. Bytes that belong to no response are a flaw of the response they come
/// after, if they come with it, or else of the next.
#[derive(Clone, Debug, Default)]
pub struct HttpReader {
    wire: ResponseReader,
    /// The requests without their final response: whether there were others at the same time.
    outstanding: VecDeque<bool>,
    interim: Vec<u16>,
    /// What was wrong with interim responses.
    flaws: Vec<Flaw>,
    /// Whether the bytes that are there were told as surplus.
    is_told: bool,
    /// Whether a response said that it is the last.
    is_last: bool,
    /// Whether a 408 came that nobody asked for: the server has given the connection up.
    is_given_up: bool,
    /// Whether the last response had no end within sight: what comes now is the rest of it.
    is_lost: bool,
    /// Whether that is because it was too long to be read.
    is_overlong: bool,
    /// What the latest messages were made of, for those who want to know.
    raws: Option<Vec<RawResponse>>,
}

impl HttpReader {
    /// One that remembers what messages were made of.
    pub(crate) fn remembering() -> Self {
        Self { raws: Some(Vec::new()), ..Self::default() }
    }

    /// What the messages of the last call were made of, in their order; nothing for one that only says that it stalled.
    pub(crate) fn raws(&mut self) -> Vec<RawResponse> {
        self.raws.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn tell(&mut self, response: Response, raw: &RawResponse, messages: &mut Vec<Msg>) {
        if let Some(raws) = &mut self.raws {
            raws.push(raw.clone());
        }
        messages.push(Msg::Response(response));
    }

    /// Nothing has come for so long that nothing will: the response that is due is one that says so.
    pub fn stalled(&mut self, messages: &mut Vec<Msg>) {
        if self.outstanding.is_empty() {
            return;
        }
        let first = messages.len();
        self.end(false, messages);
        if messages.len() == first {
            let pipelined = self.outstanding.pop_front().unwrap_or_default();
            messages.push(Msg::Response(Response { pipelined, incomplete: true, ..Response::default() }));
        }
        if let Some(Msg::Response(response)) = messages.get_mut(first) {
            response.flaws.push(Flaw::Stalled);
        }
    }

    fn read(&mut self, messages: &mut Vec<Msg>) {
        let first = messages.len();
        while let Read::Message(raw) = self.wire.read() {
            if !raw.is_blank() {
                self.take(&raw, first, messages);
            }
        }
        let unread = self.wire.unread();
        let is_due = !self.outstanding.is_empty() && (!self.is_last || may_begin_response(unread));
        // What begins like a response is told when all of it is there.
        let is_loose = !may_begin_response(unread) || self.is_last;
        let is_surplus =
            !self.is_lost && !is_due && is_loose && unread.iter().any(|byte| !matches!(byte, b'\r' | b'\n'));
        if is_surplus && !self.is_told && Self::blame(first, messages) {
            self.is_told = true;
        }
    }

    /// Marks the last message of this batch as one with bytes after it, if there is one.
    fn blame(first: usize, messages: &mut [Msg]) -> bool {
        let Some(Msg::Response(last)) = messages[first..].last_mut() else { return false };
        if !last.flaws.contains(&Flaw::Surplus) {
            last.flaws.push(Flaw::Surplus);
        }
        true
    }

    fn take(&mut self, raw: &RawResponse, first: usize, messages: &mut Vec<Msg>) {
        if self.is_lost {
            return;
        }
        self.is_overlong = matches!(raw.ending(), Ending::TooLong(_));
        self.is_lost = self.is_overlong;
        if matches!(raw.ending(), Ending::TooLong(Limit::Head | Limit::Fields)) && raw.framing().is_none() {
            // Without the end of its head it is no answer yet.
            return;
        }
        let mut response = Response::from(raw);
        // A head that was cut off by the end of the connection conveys nothing (RFC 9112, 8): the request has no answer, and
        // an interim response is not the final one. Unless what came of it is wrong already.
        if matches!(raw.ending(), Ending::Truncated(Section::Head)) && response.flaws.is_empty() {
            return;
        }
        // What follows the last response, and is no response, is more of that one: it answers nothing.
        if response.flaws.contains(&Flaw::AfterClose) && response.status == 0 {
            Self::blame(first, messages);
            return;
        }
        if std::mem::take(&mut self.is_told) {
            response.flaws.retain(|flaw| *flaw != Flaw::Surplus);
        }
        if raw.is_interim() && raw.is_complete() {
            self.interim.push(response.status);
            self.flaws.append(&mut response.flaws);
            return;
        }
        let Some(pipelined) = self.outstanding.pop_front() else {
            // Nobody asked for this. A server may say that it has waited too long, and close (RFC 9110, 15.5.9).
            if response.status == 408 {
                self.is_given_up = true;
                return;
            }
            // A whole response is told as one: what it answers may be what was left of a request. Loose bytes are a flaw of the
            // response before them.
            if response.status != 0 || !Self::blame(first, messages) {
                response.flaws = vec![Flaw::Surplus];
                self.tell(response, raw, messages);
            }
            return;
        };
        // What crosses a request is framed as if there were none, and is the last (RFC 9110, 15.5.9).
        self.is_lost |= response.status == 408 && response.close && raw.framing() == Some(Framing::None);
        self.is_last |= response.close;
        response.pipelined = pipelined;
        response.interim = std::mem::take(&mut self.interim);
        response.flaws.append(&mut self.flaws);
        if std::mem::take(&mut self.is_given_up) {
            // It has not: then the 408 was a response too many.
            response.flaws.push(Flaw::Surplus);
        }
        response.flaws.sort_unstable();
        response.flaws.dedup();
        self.tell(response, raw, messages);
    }
}

impl Reader<Msg> for HttpReader {
    fn sent(&mut self, message: &Msg) {
        let Msg::Request(request) = message else { return };
        for _ in 0..if request.close_twice { 2 } else { 1 } {
            self.wire.expect(request.method.name().as_bytes());
            self.outstanding.push_back(false);
        }
        if self.outstanding.len() > 1 {
            self.outstanding.iter_mut().for_each(|pipelined| *pipelined = true);
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Msg>) {
        self.wire.feed(bytes);
        self.read(messages);
    }

    fn end(&mut self, orderly: bool, messages: &mut Vec<Msg>) {
        if orderly {
            self.wire.eof();
        } else {
            self.wire.broken();
        }
        let is_told = self.is_told && self.outstanding.is_empty();
        let first = messages.len();
        self.read(messages);
        if is_told {
            messages.truncate(first);
        }
    }

    fn stalled(&mut self, messages: &mut Vec<Msg>) {
        HttpReader::stalled(self, messages);
    }

    fn goes_on(&self) -> bool {
        self.interim.contains(&100)
    }

    fn held(&self) -> usize {
        self.wire.unread().len()
    }

    #[expect(clippy::misnamed_getters, reason = "what else is lost here is told, and the connection goes on")]
    fn is_lost(&self) -> bool {
        self.is_overlong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Method, Request};

    fn read(methods: &[Method], feeds: &[&str]) -> Vec<Response> {
        let mut reader = HttpReader::default();
        for method in methods {
            reader.sent(&Msg::Request(Request { method: method.clone(), ..Request::default() }));
        }
        let mut messages = Vec::new();
        for feed in feeds {
            reader.feed(feed.replace('|', "\r\n").as_bytes(), &mut messages);
        }
        reader.end(true, &mut messages);
        let response =
            |message| if let Msg::Response(response) = message { response } else { panic!("a request") };
        messages.into_iter().map(response).collect()
    }

    #[test]
    fn content_that_is_held_back_may_go_on() {
        let mut reader = HttpReader::default();
        reader.sent(&Msg::Request(Request { method: Method::Put, ..Request::default() }));
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
            content_range: Some(Told::Part(0, 1, Some(5))),
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
        assert_eq!(told("36"), (vec![], false, true));
        assert_eq!(told("37"), (vec![], true, false));
        assert_eq!(told("38"), (vec![], false, false));
        assert_eq!(told("39"), (vec![Flaw::Later], false, false));
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
        // A whole response that nobody asked for is one of its own, however it comes.
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
        reader.sent(&Msg::Request(Request::default()));
        let mut messages = Vec::new();
        reader.feed(b"HTTP/1.1 500 No\r\nX: ", &mut messages);
        for _ in 0..40 {
            reader.feed(&[b'x'; 16 << 10], &mut messages);
            assert!(reader.held() < 1 << 20);
        }
        assert!(messages.is_empty(), "{messages:?}");
        let mut reader = HttpReader::default();
        reader.sent(&Msg::Request(Request::default()));
        reader.feed(b"HTTP/1.1 500 No\r\n\r\n", &mut messages);
        for _ in 0..1100 {
            reader.feed(&[b'x'; 16 << 10], &mut messages);
        }
        let [Msg::Response(response)] = &messages[..] else { panic!("{messages:?}") };
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
        // It knew of no HEAD when it said so.
        let tired = "HTTP/1.1 408 Late|Connection: close|Content-Length: 11||Too late.||";
        let [crossed] = &read(&[Method::Head], &[tired])[..] else { panic!() };
        assert!(crossed.status == 408 && crossed.flaws.is_empty(), "{:?}", crossed.flaws);
        let stays = "HTTP/1.1 408 Late|Content-Length: 11||Too late.||";
        assert_eq!(read(&[Method::Head], &[stays])[0].flaws, [Flaw::Surplus]);
        // Who has given the connection up does not go on.
        let mut reader = HttpReader::default();
        let mut messages = Vec::new();
        reader.feed(b"HTTP/1.1 408 Late\r\nContent-Length: 0\r\n\r\n", &mut messages);
        assert!(messages.is_empty());
        reader.sent(&Msg::Request(Request::default()));
        reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &mut messages);
        let [Msg::Response(next)] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!(next.flaws, [Flaw::Surplus]);
    }

    #[test]
    fn many_fields_are_read_and_too_many_are_not_judged() {
        let head =
            |fields: usize| format!("HTTP/1.1 200 OK|{}Content-Length: 2||he", "X-A: b|".repeat(fields));
        let [long] = &read(&[Method::Get], &[&head(3000)])[..] else { panic!() };
        assert!(&*long.body == "he" && !long.incomplete && long.flaws.is_empty(), "{long:?}");
        // More than anybody keeps: it may be any answer.
        let mut reader = HttpReader::default();
        reader.sent(&Msg::Request(Request::default()));
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
        // A head that is not whole says nothing, and an interim one is not the answer.
        for head in ["HTTP/1.1 206 Part|ETag: \"x\"|Cont", "HTTP/1.1 103 Early|Link: <", "HTTP/1.1 2", "HT"] {
            assert_eq!(read(&[Method::Get], &[head]), [], "{head}");
        }
        let hinted = read(&[Method::Get], &["HTTP/1.1 100 Go on||HTTP/1.1 204 No"]);
        assert_eq!(hinted, []);
        // What is wrong with it is wrong all the same.
        assert_eq!(read(&[Method::Get], &["HTTP/1.1 200 OK|X : y|Z"])[0].flaws, [Flaw::Grammar]);
    }
}
