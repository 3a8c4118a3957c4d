//! Exporter of a recording for browsers and other tools: HAR 1.2, from the bytes on the wire.
//!
//! The recording serves tests of origin servers and of gateways: on a connection where the tester was the origin, the
//! tester sends the responses. Cases contain only elapsed times; the times of day are computed backwards from the time
//! of export, and the recording states so.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::date;
use crate::{RawFields, RawRequest, RawResponse, Read, RequestReader, ResponseReader};

/// Note on the times in the recording.
const TIMES: &str = "Only differences of times were measured: the times of day are those at which this file was written, less \
                     the time from each message to the end of the case.";

/// Bytes that were written or read at once.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Number of the connection.
    pub conn: u32,
    /// `true` if the tester wrote them.
    pub sent: bool,
    /// Time in microseconds since the case began.
    pub micros: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// Input of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// All bytes, in the order of their times.
    pub raw: &'a [Chunk<'a>],
    /// Connection of the event that nothing explains, and the number of messages received on it up to then.
    pub fatal: Option<(u32, usize)>,
    /// URL of the server.
    pub url: &'a str,
    /// Description of the violation.
    pub about: &'a [String],
    /// Time of the export.
    pub now: SystemTime,
}

/// One direction of a connection: bytes and their times.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// End positions of the parts that were written or read at once, with their times in microseconds.
    ends: Vec<(usize, u64)>,
}

impl Stream {
    fn add(&mut self, chunk: &Chunk<'_>) {
        self.bytes.extend_from_slice(chunk.bytes);
        self.ends.push((self.bytes.len(), chunk.micros));
    }

    /// Returns the time of the byte at this position.
    fn at(&self, place: usize) -> u64 {
        let found = self.ends.iter().find(|(end, _)| place < *end);
        found.or(self.ends.last()).map_or(0, |(_, micros)| *micros)
    }
}

/// Times of the first and the last byte of a message.
#[derive(Clone, Copy)]
struct Span(u64, u64);

fn span(stream: &Stream, offset: u64, length: usize) -> Span {
    let start = usize::try_from(offset).unwrap_or(0);
    Span(stream.at(start), stream.at((start + length).saturating_sub(1)))
}

/// Returns the contents of the HAR file.
pub fn har(recording: &Recording<'_>) -> String {
    let mut lines: BTreeMap<u32, (Stream, Stream)> = BTreeMap::new();
    for chunk in recording.raw {
        let (sent, received) = lines.entry(chunk.conn).or_default();
        if chunk.sent { sent.add(chunk) } else { received.add(chunk) }
    }
    let end = recording.raw.iter().map(|chunk| chunk.micros).max().unwrap_or(0);
    let mut entries: Vec<(u64, Value)> = Vec::new();
    for (conn, (sent, received)) in &lines {
        let is_origin =
            sent.bytes.starts_with(b"HTTP/") || (sent.bytes.is_empty() && is_request(&received.bytes));
        let (asked, told) = if is_origin { (received, sent) } else { (sent, received) };
        let pairs = pairs(asked, told);
        // Exchanges after the violation were recorded too. A response without a request is attributed to the last
        // exchange.
        let came = recording.fatal.filter(|(on, _)| on == conn).map(|(_, came)| came.min(pairs.len()));
        for (place, (request, response)) in pairs.iter().enumerate() {
            let is_fatal = came == Some(place + 1);
            let (start, mut entry) = entry(recording, end, request, response.as_ref());
            entry["connection"] = json!(conn.to_string());
            entry["_confute"] = json!({
                "connection": conn,
                "opened_by": if is_origin { "server" } else { "tester" },
                "fatal": is_fatal,
                "micros": start,
            });
            entries.push((start, entry));
        }
    }
    entries.sort_by_key(|(start, _)| *start);
    let entries: Vec<Value> = entries.into_iter().map(|(_, entry)| entry).collect();
    let comment = format!("{} {TIMES}", recording.about.join(" "));
    let har = json!({ "log": {
        "version": "1.2",
        "creator": { "name": "Confute", "version": env!("CARGO_PKG_VERSION") },
        "entries": entries,
        "comment": comment,
    } });
    format!("{har:#}\n")
}

fn is_request(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_uppercase) && !bytes.starts_with(b"HTTP/")
}

type Pair = ((Box<RawRequest>, Span), Option<(Box<RawResponse>, Span)>);

/// Returns the requests with their final responses.
fn pairs(asked: &Stream, told: &Stream) -> Vec<Pair> {
    let mut reader = RequestReader::default();
    reader.feed(&asked.bytes);
    reader.eof();
    let mut requests = Vec::new();
    while let Read::Message(raw) = reader.read() {
        if !raw.is_blank() && raw.method().is_some() {
            let when = span(asked, raw.offset(), raw.bytes().len());
            requests.push((raw, when));
        }
    }
    let mut reader = ResponseReader::default();
    requests.iter().for_each(|(raw, _)| reader.expect(raw.method().unwrap_or(b"GET")));
    reader.feed(&told.bytes);
    reader.eof();
    let mut responses = Vec::new();
    while let Read::Message(raw) = reader.read() {
        if !raw.is_blank() && !raw.is_interim() {
            let when = span(told, raw.offset(), raw.bytes().len());
            responses.push((raw, when));
        }
    }
    let mut responses = responses.into_iter();
    requests.into_iter().map(|request| (request, responses.next())).collect()
}

/// Returns the HAR entry of an exchange, and its start time.
fn entry(
    recording: &Recording<'_>,
    end: u64,
    (request, asked): &(Box<RawRequest>, Span),
    response: Option<&(Box<RawResponse>, Span)>,
) -> (u64, Value) {
    let (first, last) =
        response.map_or((asked.1, asked.1), |(_, told)| (told.0.max(asked.1), told.1.max(asked.1)));
    let millis = |from: u64, to: u64| Duration::from_micros(to.saturating_sub(from)).as_secs_f64() * 1000.0;
    let started = recording.now - Duration::from_micros(end.saturating_sub(asked.0));
    let value = json!({
        "startedDateTime": iso(started),
        "time": millis(asked.0, asked.1) + millis(asked.1, first) + millis(first, last),
        "request": self::request(recording, request),
        "response": self::response(response.map(|(raw, _)| &**raw)),
        "cache": {},
        "timings": {
            "send": millis(asked.0, asked.1),
            "wait": millis(asked.1, first),
            "receive": millis(first, last),
        },
    });
    (asked.0, value)
}

/// Returns text verbatim, and other content in base64; the flag is `true` for base64.
fn content(bytes: &[u8]) -> (String, bool) {
    let is_plain = |text: &str| text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t'));
    match std::str::from_utf8(bytes) {
        Ok(text) if is_plain(text) => (text.to_owned(), false),
        _ => (STANDARD.encode(bytes), true),
    }
}

fn headers(fields: RawFields<'_>) -> Vec<Value> {
    let text = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect::<String>();
    fields.iter().map(|field| json!({ "name": text(field.name), "value": text(&field.value) })).collect()
}

fn media_type(fields: RawFields<'_>) -> String {
    let told = fields.combined("Content-Type").unwrap_or_else(|| b"application/octet-stream".to_vec());
    String::from_utf8_lossy(&told).into_owned()
}

fn request(recording: &Recording<'_>, raw: &RawRequest) -> Value {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let (scheme, rest) = recording.url.split_once("://").unwrap_or(("http", recording.url));
    let target = text(raw.target());
    let host = raw.fields().only("Host").map(|host| String::from_utf8_lossy(&host).into_owned());
    let host = host.unwrap_or_else(|| rest.split('/').next().unwrap_or_default().to_owned());
    let url = if target.starts_with('/') { format!("{scheme}://{host}{target}") } else { target };
    let body = raw.content();
    let mut value = json!({
        "method": text(raw.method()),
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(raw.fields()),
        "queryString": query(&url),
        "headersSize": head_size(raw.bytes()),
        "bodySize": body.len(),
    });
    if !body.is_empty() {
        let (text, is_coded) = content(&body);
        value["postData"] = json!({ "mimeType": media_type(raw.fields()), "text": text });
        if is_coded {
            value["postData"]["_encoding"] = json!("base64");
        }
    }
    value
}

fn query(url: &str) -> Vec<Value> {
    let pairs = url.split_once('?').map(|(_, query)| query.split('&')).into_iter().flatten();
    pairs
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            json!({ "name": name, "value": value })
        })
        .collect()
}

/// Returns the HAR object of a response, with status 0 if none was recorded.
fn response(raw: Option<&RawResponse>) -> Value {
    let Some(raw) = raw else {
        return json!({
            "status": 0, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
            "content": { "size": 0, "mimeType": "x-unknown" },
            "redirectURL": "", "headersSize": -1, "bodySize": -1,
            "comment": "no response was recorded",
        });
    };
    let body = raw.content();
    let (text, is_coded) = content(&body);
    let mut told = json!({ "size": body.len(), "mimeType": media_type(raw.fields()), "text": text });
    if is_coded {
        told["encoding"] = json!("base64");
    }
    let location = raw.fields().only("Location").map(|value| String::from_utf8_lossy(&value).into_owned());
    let wrong: Vec<String> = raw.anomalies().iter().map(ToString::to_string).collect();
    let mut value = json!({
        "status": raw.status().unwrap_or(0),
        "statusText": String::from_utf8_lossy(raw.reason().unwrap_or_default()),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(raw.fields()),
        "content": told,
        "redirectURL": location.unwrap_or_default(),
        "headersSize": head_size(raw.bytes()),
        "bodySize": body.len(),
    });
    if !wrong.is_empty() {
        value["_anomalies"] = json!(wrong);
    }
    value
}

/// Returns the length of the head including the empty line, or -1 if there is none, as HAR specifies.
fn head_size(bytes: &[u8]) -> i64 {
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
    end.and_then(|at| i64::try_from(at + 4).ok()).unwrap_or(-1)
}

/// Formats a time as ISO 8601 specifies.
fn iso(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let written = date::format(i64::try_from(since.as_secs()).unwrap_or(0));
    // Sun, 06 Nov 1994 08:49:37 GMT
    let parts: Vec<&str> = written.split(' ').collect();
    let [_, day, month, year, clock, _] = parts[..] else { return "1970-01-01T00:00:00.000Z".to_owned() };
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.find(month).unwrap_or(0) / 3 + 1;
    format!("{year}-{month:02}-{day}T{clock}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(conn: u32, sent: bool, micros: u64, bytes: &str) -> Chunk<'static> {
        Chunk { conn, sent, micros, bytes: bytes.replace('|', "\r\n").into_bytes().leak() }
    }

    #[test]
    fn what_came_later_is_not_fatal() {
        let raw = [
            chunk(0, true, 0, "GET /1 HTTP/1.1|Host: h||GET /2 HTTP/1.1|Host: h||GET /3 HTTP/1.1|Host: h||"),
            chunk(0, false, 1, "HTTP/1.1 204 No||HTTP/1.1 204 No||HTTP/1.1 204 No||"),
        ];
        let fatal = |came: usize| {
            let fatal = Some((0, came));
            let now = SystemTime::UNIX_EPOCH;
            let recording = Recording { raw: &raw, fatal, url: "http://h/", about: &[], now };
            let har: Value = serde_json::from_str(&har(&recording)).unwrap();
            let is_fatal = |entry: &Value| entry["_confute"]["fatal"] == true;
            har["log"]["entries"].as_array().unwrap().iter().map(is_fatal).collect::<Vec<_>>()
        };
        assert_eq!(fatal(2), [false, true, false]);
        // A fourth response belongs to no request.
        assert_eq!(fatal(4), [false, false, true]);
        assert_eq!(fatal(0), [false; 3]);
    }

    #[test]
    fn exchanges_are_recorded() {
        let raw = [
            chunk(0, true, 1000, "PUT /a?x=1&y HTTP/1.1|Host: h|Content-Length: 2||"),
            chunk(0, true, 2000, "\u{1}b"),
            chunk(0, false, 5000, "HTTP/1.1 100 Continue||HTTP/1.1 201 Created|ETag: \"x\"|Content-"),
            chunk(0, false, 6500, "Length: 2||hi"),
            chunk(0, true, 7000, "HEAD /a HTTP/1.1|Host: h||"),
            chunk(1, false, 1500, "GET /b HTTP/1.1|Host: o||"),
            chunk(1, true, 1700, "HTTP/1.1 204 No||"),
        ];
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_007);
        let recording = Recording { raw: &raw, fatal: Some((0, 1)), url: "http://h/", about: &[], now };
        let har: Value = serde_json::from_str(&har(&recording)).unwrap();
        let log = &har["log"];
        assert_eq!((&log["version"], log["creator"]["name"].is_string()), (&json!("1.2"), true));
        let [put, passed, head] = &log["entries"].as_array().unwrap()[..] else { panic!("{har:#}") };
        assert_eq!(put["startedDateTime"], "1994-11-06T08:49:37.001Z");
        assert_eq!(put["timings"], json!({ "send": 1.0, "wait": 3.0, "receive": 1.5 }));
        assert_eq!(put["time"], 5.5);
        assert_eq!(put["request"]["url"], "http://h/a?x=1&y");
        assert_eq!(put["request"]["queryString"][0], json!({ "name": "x", "value": "1" }));
        assert_eq!(put["request"]["postData"]["text"], "AWI=");
        assert_eq!(put["response"]["status"], 201);
        assert_eq!(put["response"]["headers"][0], json!({ "name": "ETag", "value": "\"x\"" }));
        assert_eq!(put["response"]["content"]["text"], "hi");
        assert_eq!((&put["_confute"]["fatal"], &head["_confute"]["fatal"]), (&json!(true), &json!(false)));
        assert_eq!(
            (&passed["_confute"]["opened_by"], &passed["response"]["status"]),
            (&json!("server"), &json!(204))
        );
        assert_eq!(head["response"]["status"], 0);
        for entry in [put, passed, head] {
            for name in ["startedDateTime", "time", "request", "response", "cache", "timings"] {
                assert!(!entry[name].is_null(), "{name}");
            }
            for name in [
                "method",
                "url",
                "httpVersion",
                "cookies",
                "headers",
                "queryString",
                "headersSize",
                "bodySize",
            ] {
                assert!(!entry["request"][name].is_null(), "{name}");
            }
            for name in [
                "status",
                "statusText",
                "httpVersion",
                "cookies",
                "headers",
                "content",
                "redirectURL",
                "headersSize",
                "bodySize",
            ] {
                assert!(!entry["response"][name].is_null(), "{name}");
            }
        }
    }
}
