//! What the model of a gateway sees of the traffic: requests and responses with the fields that it judges.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::Flaw;

/// A field that tells one request, or one answer, from any other.
pub const MARK: &str = "X-Confute";

/// What travels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// From the client, and on to the origin.
    Request(Arc<Request>),
    /// From the origin, and back to the client.
    Response(Arc<Response>),
    /// A connection to the origin ended before the request on it was answered: the gateway ended it, or the origin did so
    /// after an earlier answer.
    Unanswered,
}

/// Name and value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field(pub Arc<str>, pub Arc<str>);

impl Field {
    /// A field.
    pub fn new(name: &str, value: &str) -> Self {
        Field(name.into(), value.into())
    }
}

/// The fields of a message, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub Vec<Field>);

impl Fields {
    /// The values of the fields of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |field| field.0.eq_ignore_ascii_case(name)).map(|field| &*field.1)
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// The members of the lists that the fields of this name are, without those that are empty (RFC 9110, 5.6.1).
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = |each: &[u8]| String::from_utf8_lossy(each).trim().to_owned();
        self.all(name)
            .flat_map(|value| crate::wire::split_list(value.as_bytes()).map(text).collect::<Vec<_>>())
            .filter(|each| !each.is_empty())
            .collect()
    }

    /// What `Connection` lists, in lower case.
    pub fn connection(&self) -> Vec<String> {
        self.list("Connection").iter().map(|each| each.to_ascii_lowercase()).collect()
    }

    /// What tells the message from any other.
    pub fn mark(&self) -> Option<&str> {
        self.all(MARK).next()
    }
}

/// A request: one that a client sent, or one that came to the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// Its method.
    pub method: Arc<str>,
    /// Its target, as it stands in the first line.
    pub target: Arc<str>,
    /// HTTP/1.this
    pub minor: u8,
    /// Its fields, without those that delimit the content.
    pub fields: Fields,
    /// Its content, as [text](crate::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// Whether the content is in chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub chunked: bool,
    /// The fields after the chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub trailers: Fields,
    /// What is wrong with it on the wire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// It came to the origin on a connection that the origin had ended, and is not answered.
    #[serde(skip_serializing_if = "is_default")]
    pub dropped: bool,
    /// When its first byte was sent, or its last received, in microseconds since the case began.
    pub at: i64,
}

impl Request {
    /// Whether it may be sent again if nobody knows what became of it (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        matches!(&*self.method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
    }

    /// Whether it is one that a cache might answer, or make another of.
    pub fn is_read(&self) -> bool {
        matches!(&*self.method, "GET" | "HEAD")
    }

    /// Whether it may be answered 304.
    pub fn is_conditional(&self) -> bool {
        self.is_read() && self.fields.has("If-None-Match")
    }

    /// Whether it says that trailer fields of the answer will not be discarded (RFC 9110, 10.1.4).
    pub fn wants_trailers(&self) -> bool {
        self.fields.list("TE").iter().any(|member| member.eq_ignore_ascii_case("trailers"))
    }

    /// Whether a proxy is asked, which clients choose, and not a gateway: it is asked for a whole URL (RFC 9112, 3.2.2).
    pub fn is_to_proxy(&self) -> bool {
        !self.target.starts_with('/')
    }

    /// Whether the answer to it has no content.
    pub fn is_head(&self) -> bool {
        &*self.method == "HEAD"
    }

    /// Its content, empty if there is none.
    pub fn content(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// How often it may still be forwarded, where that counts (RFC 9110, 7.6.2).
    pub fn max_forwards(&self) -> Option<u64> {
        let counts = matches!(&*self.method, "OPTIONS" | "TRACE");
        self.fields.all("Max-Forwards").next().filter(|_| counts)?.parse().ok()
    }
}

/// What delimits the content of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// `Content-Length`
    #[default]
    Sized,
    /// Chunks.
    Chunked,
    /// The end of the connection.
    UntilClose,
    /// There is none: it answers HEAD, or is 204 or 304.
    Bare,
}

/// A response: one that the origin sent, or one that came to a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// Its status, or 0 if there was none.
    pub status: u16,
    /// Its fields, without those that delimit the content.
    pub fields: Fields,
    /// Its content, as [text](crate::text).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Arc<str>,
    /// What delimits it.
    pub frame: Frame,
    /// The fields after its chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub trailers: Fields,
    /// Seconds after which `Retry-After` asks the client to repeat its request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The origin sends trailer fields though the request did not ask for them.
    #[serde(skip_serializing_if = "is_default")]
    pub unasked: bool,
    /// The statuses of interim responses before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// The origin says that it is the last on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// The origin ends the connection after so many bytes of it, and before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<usize>,
    /// The gateway had ended its side of the connection before the origin answered: it may still read the answer, or not.
    #[serde(skip_serializing_if = "is_default")]
    pub half_closed: bool,
    /// It ended before its end.
    #[serde(skip_serializing_if = "is_default")]
    pub incomplete: bool,
    /// It ended within its head: fields that are not there may have been to come.
    #[serde(skip_serializing_if = "is_default")]
    pub in_head: bool,
    /// What is wrong with it on the wire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// Whether its request was outstanding together with others on its connection, if it came to a client.
    #[serde(skip_serializing_if = "is_default")]
    pub pipelined: bool,
    /// When its first byte was sent, or its last received, in microseconds since the case began.
    pub at: i64,
    /// When the first byte of its request was sent, if it came to a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<i64>,
    /// When the origin last ended a connection of the gateway's before this came, an idle one included, if this is an error of
    /// the gateway's own; in microseconds since the case began, below zero if that was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_ended_at: Option<i64>,
    /// This is an error of the gateway's own, and before it the origin had answered the request in full, with interim responses
    /// or trailer fields: what the gateway failed at is known.
    #[serde(skip_serializing_if = "is_default")]
    pub provoked: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
