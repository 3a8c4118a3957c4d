//! JSON over HTTP/1.1: templates of requests are a method and a path, templates of responses a status.

use std::fmt::Write as _;

use confute_http1::{Body, Outgoing, RawResponse, Read as Raw, ResponseReader};
use serde_json::{Map, Value};

use super::{Read, Wire, body};
use crate::message::{self, Kind, Message, Piece, Role, kind_of};

/// JSON over HTTP/1.1; [`http_json`](super::http_json) makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpJson {
    host: String,
    fields: Vec<(String, String)>,
}

/// Fields of a message that are header fields.
const HEADERS: [(&str, &str); 5] = [
    ("etag", "ETag"),
    ("location", "Location"),
    ("retry_after", "Retry-After"),
    ("if_match", "If-Match"),
    ("if_none_match", "If-None-Match"),
];

impl HttpJson {
    pub(super) fn new(host: &str) -> Self {
        Self { host: host.to_owned(), fields: Vec::new() }
    }

    /// Adds a header field to every request.
    ///
    /// ```
    /// let wire = confute_service::wire::http_json("localhost:8080").header("Authorization", "Bearer 1234");
    /// ```
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }
}

fn header_of(field: &str) -> Option<&'static str> {
    HEADERS.iter().find(|(name, _)| *name == field).map(|(_, header)| *header)
}

/// Returns a text as a part of a path.
fn escaped(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(byte.into());
        } else {
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

/// Returns the method, the target, the header fields and the content of a request.
fn parts<M: Message>(message: &M) -> (String, String, Vec<(&'static str, String)>, Option<Value>) {
    let kind = kind_of(message);
    let texts = message::texts(message);
    let mut line = String::new();
    for piece in kind.pieces {
        match piece {
            Piece::Text(text) => line.push_str(text),
            Piece::Field(place) => line.push_str(&escaped(&texts[*place])),
        }
    }
    let (method, target) = line.split_once(' ').unwrap_or((&line, "/"));
    let (mut headers, mut content) = (Vec::new(), Map::new());
    for (name, value) in message::fields_json(message) {
        let place = kind.fields.iter().position(|field| **field == name).unwrap_or_default();
        if kind.pieces.contains(&Piece::Field(place)) || value.is_null() {
            continue;
        }
        match header_of(&name) {
            Some(header) => headers.push((header, texts[place].clone())),
            None => drop(content.insert(name, value)),
        }
    }
    let content = (!content.is_empty()).then_some(Value::Object(content));
    (method.to_owned(), target.to_owned(), headers, content)
}

/// Returns the message of a response.
fn response<M: Message>(raw: &RawResponse) -> Result<M, String> {
    let status = raw.status().ok_or("it has no status")?.to_string();
    let content = raw.content();
    let mut value = if content.is_empty() {
        Value::Object(Map::new())
    } else {
        serde_json::from_slice(&content).map_err(|error| format!("its content is no JSON: {error}"))?
    };
    if let Value::Object(fields) = &mut value {
        for (name, header) in HEADERS {
            if let Some(text) = raw.fields().all(header).next() {
                let text = String::from_utf8_lossy(&text).into_owned();
                fields.entry(name).or_insert_with(|| text.into());
            }
        }
    }
    let is_response = |kind: &Kind| kind.role == Role::Response && kind.word() == status;
    let fitting = M::KINDS.iter().enumerate().filter(|(_, kind)| is_response(kind));
    let built = fitting.clone().find_map(|(number, kind)| {
        // Content that is no object is the only field of its message.
        match (&value, kind.fields) {
            (Value::Object(_), _) => body::object(number, kind, &value),
            (other, [only]) => {
                let single: Map<String, Value> = [((*only).to_owned(), other.clone())].into_iter().collect();
                body::object(number, kind, &single.into())
            }
            _ => None,
        }
    });
    built.ok_or_else(|| {
        let known: Vec<String> = fitting.map(|(_, kind)| format!("{:?}", kind.fields)).collect();
        match known.as_slice() {
            [] => format!("the protocol has no response with status {status}"),
            _ => format!("responses with status {status} have the fields {}", known.join(" or ")),
        }
    })
}

impl<M: Message> Wire<M> for HttpJson {
    fn encode(&self, message: &M, bytes: &mut Vec<u8>) {
        let (method, target, headers, content) = parts(message);
        let mut out = Outgoing::request(method, target, &self.host).field("Accept", "application/json");
        for (name, value) in &self.fields {
            out = out.field(name, value);
        }
        for (name, value) in headers {
            out = out.field(name, value);
        }
        if let Some(content) = content {
            out = out.field("Content-Type", "application/json");
            out = out.body(Body::Sized(content.to_string().into_bytes()));
        }
        if let Ok(encoded) = out.encode() {
            bytes.extend(encoded.bytes());
        }
    }

    fn read(&self, bytes: &[u8], request: Option<&M>) -> Read<M> {
        let mut reader = ResponseReader::default();
        reader.expect(request.map(|request| parts(request).0).unwrap_or_default().as_bytes());
        reader.feed(bytes);
        loop {
            let raw = match reader.read() {
                Raw::NeedMore => return Read::More,
                Raw::Over => return Read::Nonsense("it is no HTTP response".to_owned(), bytes.len()),
                Raw::Message(raw) if raw.is_blank() || raw.is_interim() => continue,
                Raw::Message(raw) => raw,
            };
            let end = (raw.offset() as usize + raw.bytes().len()).min(bytes.len());
            if !raw.is_complete() {
                let why = raw.anomalies().first().map(ToString::to_string).unwrap_or_default();
                return Read::Nonsense(why, bytes.len());
            }
            return match response(&raw) {
                Ok(message) => Read::Message(message, end),
                Err(why) => Read::Nonsense(why, end),
            };
        }
    }

    fn check(&self) -> Result<(), String> {
        for kind in M::KINDS {
            let is_right = match kind.role {
                Role::Request => kind.word().split_once(' ').is_some_and(|(_, path)| path.starts_with('/')),
                Role::Response | Role::Push => {
                    kind.word().parse::<u16>().is_ok_and(|status| (200..600).contains(&status))
                }
                Role::Unreadable => true,
            };
            if !is_right {
                let example = if kind.role == Role::Request { "GET /things/{}" } else { "200" };
                return Err(format!(
                    "the template \"{}\" of {} does not suit HTTP: write something like \"{example}\"",
                    kind.template(),
                    kind.name
                ));
            }
        }
        Ok(())
    }
}
