//! HTTP messages as the models see them: the parts of requests that determine the response, and the parts of responses
//! that can violate a rule.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

pub use crate::forwarded::{Field, Fields, Forwarded, ForwardedRequest, ForwardedResponse, Frame, MARK};
use crate::rules::Broken;
pub use confute_http1::RangeSent;
pub use confute_http1::{IfRange, Tag, Tags};

/// An HTTP message. Its `Display` omits the parts that rarely matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", from = "Stored")]
pub enum Message {
    /// A request from a client to the server, or from a gateway to its origin.
    Request(Arc<Request>),
    /// A response from the server to a client, or from the origin to a gateway.
    Response(Arc<Response>),
    /// A connection to the origin ended before the request on it was answered: the gateway ended it, or the origin did
    /// so after an earlier response.
    Unanswered,
}

impl Message {
    /// Returns the request, if the message is one.
    pub fn request(&self) -> Option<&Request> {
        if let Message::Request(request) = self { Some(request) } else { None }
    }

    /// Returns the response, if the message is one.
    pub fn response(&self) -> Option<&Response> {
        if let Message::Response(response) = self { Some(response) } else { None }
    }

    /// Returns the request, if the server itself serves it.
    pub(crate) fn own_request(&self) -> Option<&Request> {
        self.request().filter(|request| !request.forwarded.is_there())
    }

    /// Returns the response, if it is one of the server itself.
    pub(crate) fn own_response(&self) -> Option<&Response> {
        self.response().filter(|response| !response.forwarded.is_there())
    }

    /// Returns `true` if the message belongs to the traffic of a gateway: it is forwarded, or it is
    /// [`Message::Unanswered`].
    pub(crate) fn is_forwarded(&self) -> bool {
        match self {
            Message::Request(request) => request.forwarded.is_there(),
            Message::Response(response) => response.forwarded.is_there(),
            Message::Unanswered => true,
        }
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Message::Request(Arc::new(request))
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Message::Response(Arc::new(response))
    }
}

/// Stored form of a message. It also reads the wrappers of earlier revisions: `served` and `behind` for messages that
/// the server itself serves (`behind`: requests sent while others were outstanding), and `passed` for messages that a
/// gateway forwards.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Request(Arc<Request>),
    Response(Arc<Response>),
    Unanswered,
    Served(Box<Stored>),
    Behind(Box<Stored>),
    Passed(Box<Stored>),
}

impl From<Stored> for Message {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Request(request) => Message::Request(request),
            Stored::Response(response) => Message::Response(response),
            Stored::Unanswered => Message::Unanswered,
            Stored::Served(message) | Stored::Passed(message) => Self::from(*message),
            Stored::Behind(message) => {
                let mut message = Self::from(*message);
                if let Message::Request(request) = &mut message {
                    Arc::make_mut(request).is_behind = true;
                }
                message
            }
        }
    }
}

/// A request method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Transfers the content of the resource.
    #[default]
    Get,
    /// Transfers the fields of a GET response without the content.
    Head,
    /// Stores the content of the request.
    Put,
    /// Removes the resource.
    Delete,
    /// Requests the communication options.
    Options,
    /// Any other method, by name.
    Other(Arc<str>),
}

impl Method {
    /// Returns the name as written on the wire.
    pub fn name(&self) -> &str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Other(name) => name,
        }
    }

    /// Returns `true` if the method is known to be safe: it requests no change (RFC 9110, 9.2.1).
    pub fn is_safe(&self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options)
    }
}

impl From<&str> for Method {
    /// Returns the method with this name; an unknown name becomes [`Method::Other`].
    fn from(name: &str) -> Self {
        let known = [Method::Get, Method::Head, Method::Put, Method::Delete, Method::Options];
        known.into_iter().find(|method| method.name() == name).unwrap_or_else(|| Method::Other(name.into()))
    }
}

impl<'de> Deserialize<'de> for Method {
    /// Reads `"get"` and `{"other": "PATCH"}`, and also `"GET"` and `"PATCH"`, the form in stored cases against
    /// gateways.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Name(String),
            Tagged { other: String },
        }
        match Stored::deserialize(deserializer)? {
            Stored::Tagged { other } => Ok(Method::Other(other.into())),
            Stored::Name(name) => match Method::from(&*name.to_ascii_uppercase()) {
                Method::Other(_) => Ok(Method::Other(name.into())),
                known => Ok(known),
            },
        }
    }
}

/// A byte range of the field `Range`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// All bytes from this position on.
    From(u64),
    /// The bytes from the first to the second position, both included.
    Between(u64, u64),
    /// The last bytes: a suffix of this length.
    Last(u64),
}

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Span::From(first) => write!(f, "{first}-"),
            Span::Between(first, last) => write!(f, "{first}-{last}"),
            Span::Last(count) => write!(f, "-{count}"),
        }
    }
}

impl Span {
    /// Returns the value of `Range` for these byte ranges.
    pub(crate) fn list(spans: &[Self]) -> String {
        let spans: Vec<String> = spans.iter().map(Self::to_string).collect();
        format!("bytes={}", spans.join(","))
    }

    /// Returns the first and the last position in content of this length, or `None` if the range selects nothing of it.
    pub fn within(self, length: u64) -> Option<(u64, u64)> {
        let end = length.checked_sub(1)?;
        match self {
            Span::From(first) | Span::Between(first, _) if first > end => None,
            Span::From(first) => Some((first, end)),
            Span::Between(first, last) => Some((first, last.min(end))),
            Span::Last(0) => None,
            Span::Last(count) => Some((length - count.min(length), end)),
        }
    }
}

/// A deliberate defect of a request, or at least an unusual form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Odd {
    /// No `Host` field.
    NoHost,
    /// Two `Host` fields.
    TwoHosts,
    /// White space before the colon of a field.
    SpaceBeforeColon,
    /// Two `Content-Length` fields that differ; the first is the length of the body.
    ConflictingLengths,
    /// A `Content-Length` beside chunked coding. Its value is the length of the chunks with their framing.
    LengthBesideChunks,
    /// A chunk size beyond 32 bits: 2^32 more than the chunk has.
    HugeChunk,
    /// A chunk size beyond 64 bits: 2^64 more than the chunk has.
    VastChunk,
    /// Two equal `Content-Length` fields, which is valid.
    EqualLengths,
    /// A field that is folded onto the next line.
    Folded,
}

impl Odd {
    /// All defects. Those that a request without content can have come first.
    pub(crate) const ALL: [Odd; 9] = [
        Odd::NoHost,
        Odd::TwoHosts,
        Odd::SpaceBeforeColon,
        Odd::Folded,
        Odd::ConflictingLengths,
        Odd::LengthBesideChunks,
        Odd::EqualLengths,
        Odd::HugeChunk,
        Odd::VastChunk,
    ];

    /// Returns the defects that a request without content can have.
    pub(crate) fn without_content() -> &'static [Odd] {
        &Self::ALL[..4]
    }

    /// Returns `true` if the defect is a chunk size larger than the chunk.
    pub(crate) fn is_too_long(self) -> bool {
        matches!(self, Odd::HugeChunk | Odd::VastChunk)
    }
}

impl Display for Odd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Odd::NoHost => "no Host",
            Odd::TwoHosts => "two Hosts",
            Odd::SpaceBeforeColon => "white space before a colon",
            Odd::ConflictingLengths => "two lengths that differ",
            Odd::LengthBesideChunks => "a length beside chunks",
            Odd::HugeChunk => "a chunk size beyond 32 bits",
            Odd::VastChunk => "a chunk size beyond 64 bits",
            Odd::EqualLengths => "the same length twice",
            Odd::Folded => "a folded field",
        })
    }
}

/// A request: from a client to the server, or from a gateway to its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target in the request line: the path with the query, or the whole URL in a request to a proxy.
    #[serde(alias = "target")]
    pub path: Arc<str>,
    /// `If-Match`: the request is performed only if one of these tags is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_match: Option<Tags>,
    /// `If-None-Match`: the request is performed only if none of these tags is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<Tags>,
    /// `If-Modified-Since`, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_modified_since: Option<i64>,
    /// `If-Unmodified-Since`, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_unmodified_since: Option<i64>,
    /// `Range`: the requested byte ranges. Empty if the whole content is requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub range: Vec<Span>,
    /// `If-Range`: the ranges apply only if this validator is current; otherwise the whole content is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_range: Option<IfRange>,
    /// The content, as [text](confute_http1::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// `true` if the content is sent in chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub chunked: bool,
    /// `Expect: 100-continue`, with the number of milliseconds for which the content is held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<u32>,
    /// `Connection: close`
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// `Connection: close`, with the same request once more right behind it. The server must not answer the second one.
    #[serde(skip_serializing_if = "is_default")]
    pub close_twice: bool,
    /// The deliberate defect, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
    /// The part that only the gateway model judges, if a gateway forwards the request. The conditions above are then
    /// empty: they are among its fields.
    #[serde(flatten)]
    pub forwarded: Forwarded<ForwardedRequest>,
    /// Facts about its response that follow from the whole trace.
    #[serde(flatten)]
    pub notes: RequestNotes,
    /// `true` if the request was sent while responses to earlier ones were outstanding on its connection. Set only if
    /// the server is also a gateway: its responses of both kinds wait in one queue per connection.
    #[serde(skip_serializing_if = "is_default")]
    pub is_behind: bool,
    /// Time when its first byte was sent, or its last byte was received by the origin, in microseconds since the case
    /// began.
    #[serde(alias = "sent_at")]
    pub at: i64,
}

/// Facts about the response to a request that follow from the whole trace. They are noted after the case, for blame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestNotes {
    /// Number of unsolicited responses after the response to this request.
    #[serde(skip_serializing_if = "is_default")]
    pub unasked_after: u32,
    /// `true` if its response decides whether the request was performed, or if the trace has no response to it and no
    /// write follows it on its connection.
    #[serde(skip)]
    pub is_settled: bool,
    /// `true` if its connection ended before its response was received.
    #[serde(skip)]
    pub is_lost: bool,
    /// Time when its response was received, in microseconds since the case began, or [`i64::MAX`] if none was. `None`
    /// until the trace is annotated.
    #[serde(skip)]
    pub answered_at: Option<i64>,
    /// `true` if the response to this PUT repeats a strong tag of the resource.
    #[serde(skip)]
    pub repeats_tag: bool,
    /// `true` if a GET concurrent with this PUT was answered with content that no request put.
    #[serde(skip)]
    pub is_seen_torn: bool,
    /// `true` if responses for its resource have dates that lie more than a day apart.
    #[serde(skip)]
    pub dates_leap: bool,
}

impl Request {
    /// Returns `true` if the request has a precondition that the server itself evaluates.
    pub fn is_conditional(&self) -> bool {
        self.if_match.is_some()
            || self.if_none_match.is_some()
            || self.if_modified_since.is_some()
            || self.if_unmodified_since.is_some()
    }

    /// Returns the content, empty if there is none.
    pub fn content(&self) -> Arc<str> {
        self.body.clone().unwrap_or_default()
    }

    /// Returns the number of times that the request is written to the wire. A reader must be prepared for as many
    /// responses, although a correct server sends only one.
    pub(crate) fn responses(&self) -> usize {
        1 + usize::from(self.close_twice)
    }

    /// Returns `true` if the request may be repeated when its outcome is unknown (RFC 9110, 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        match &self.method {
            Method::Other(name) => &**name == "TRACE",
            _ => true,
        }
    }

    /// Returns `true` for GET and HEAD: a cache might answer such a request, or turn it into another one.
    pub fn is_read(&self) -> bool {
        matches!(self.method, Method::Get | Method::Head)
    }

    /// Returns `true` if the origin may answer with 304.
    pub fn allows_not_modified(&self) -> bool {
        self.is_read() && self.forwarded.fields.has("If-None-Match")
    }

    /// Returns `true` if the client announces that it does not discard trailer fields of the response (RFC 9110,
    /// 10.1.4).
    pub fn wants_trailers(&self) -> bool {
        self.forwarded.fields.list("TE").iter().any(|member| member.eq_ignore_ascii_case("trailers"))
    }

    /// Returns `true` if the target is a whole URL: the request is for a proxy, which clients choose, not for a gateway
    /// (RFC 9112, 3.2.2).
    pub fn is_to_proxy(&self) -> bool {
        !self.path.starts_with('/')
    }

    /// Returns the number of times that the request may still be forwarded, for the methods that count it (RFC 9110,
    /// 7.6.2).
    pub fn max_forwards(&self) -> Option<u64> {
        let counts = matches!(self.method.name(), "OPTIONS" | "TRACE");
        self.forwarded.fields.all("Max-Forwards").next().filter(|_| counts)?.parse().ok()
    }

    /// Returns the request with its forwarded part changed.
    #[must_use]
    pub fn forwarding(mut self, change: impl FnOnce(&mut ForwardedRequest)) -> Self {
        change(&mut self.forwarded);
        self
    }
}

/// A defect of a message on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// Bytes that belong to no response came after this one, or between its predecessor and this one.
    Surplus,
    /// The content as announced by Content-Length reaches into the next response.
    Overlong,
    /// The chunked coding is malformed.
    Chunks,
    /// The message violates the grammar.
    Grammar,
    /// Framing fields are forbidden here, or contradict each other.
    Framing,
    /// The response came after one that was announced as the last.
    AfterClose,
    /// `ETag` is not a valid entity tag.
    Tag,
    /// The response, or the rest of it, did not arrive within the timeout.
    Stalled,
    /// The response breaks this rule, whatever was requested.
    #[serde(untagged)]
    Breaks(Broken),
}

impl Display for Flaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flaw::Surplus => "surplus bytes",
            Flaw::Overlong => "Content-Length too large",
            Flaw::Chunks => "broken chunks",
            Flaw::Grammar => "broken syntax",
            Flaw::Framing => "wrong framing",
            Flaw::AfterClose => "after the last response",
            Flaw::Tag => "malformed ETag",
            Flaw::Stalled => "stalled",
            Flaw::Breaks(rule) => rule.check().shows,
        })
    }
}

/// The part of a response that was received before it broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Partial {
    /// The end that was announced.
    pub end: AnnouncedEnd,
    /// Number of bytes received: of the head if it is unfinished, otherwise of the content.
    pub came: u64,
    /// Milliseconds without a byte after which the tester gave up the rest; `None` if the connection ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<u64>,
}

/// The end of a response, as its head announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnouncedEnd {
    /// None: the head itself is unfinished.
    Unannounced,
    /// The content has this number of bytes.
    Length(u64),
    /// The content ends with the last chunk.
    LastChunk,
    /// The content ends with the connection.
    Close,
}

impl Display for Partial {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let came = self.came;
        match self.end {
            AnnouncedEnd::Unannounced if came == 0 => f.write_str("no byte came")?,
            AnnouncedEnd::Unannounced => write!(f, "{came} bytes of the head came")?,
            AnnouncedEnd::Length(length) => write!(f, "{came} of {length} bytes came")?,
            AnnouncedEnd::LastChunk => write!(f, "{came} bytes came, and no last chunk")?,
            AnnouncedEnd::Close => write!(f, "{came} bytes came")?,
        }
        match self.silence {
            None => f.write_str(", then the connection ended"),
            Some(millis) if millis < 1000 => write!(f, ", then nothing for {millis} ms"),
            Some(millis) => write!(f, ", then nothing for {} s", millis / 1000),
        }
    }
}

/// A response: from the server to a client, or from the origin to a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// The status code, or 0 if it could not be read.
    pub status: u16,
    /// The value of `ETag`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<Tag>,
    /// The value of `Last-Modified`, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<i64>,
    /// Relation of `Last-Modified` to `Date` and to the clocks of the server.
    #[serde(flatten)]
    pub dated: Dated,
    /// The value of `Content-Range`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_range: Option<RangeSent>,
    /// `true` if the response has an `Allow` field.
    #[serde(skip_serializing_if = "is_default")]
    pub allow: bool,
    /// The value of `Content-Length`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_length: Option<u64>,
    /// Number of seconds after which the client may retry, from `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The content, as [text](confute_http1::text).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Arc<str>,
    /// `true` if the content is coded and therefore cannot be compared.
    #[serde(skip_serializing_if = "is_default")]
    pub coded: bool,
    /// `true` if the content is `multipart/byteranges`.
    #[serde(skip_serializing_if = "is_default")]
    pub multipart: bool,
    /// `true` if the response is announced as the last on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// Status codes of the interim responses before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// Defects of the response on the wire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// `true` if its request was outstanding together with others on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub pipelined: bool,
    /// `true` if the end of the response was not received. The content is then the part that was.
    #[serde(skip_serializing_if = "is_default")]
    pub incomplete: bool,
    /// The part that was received, if the response broke off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// Facts that follow only from a comparison with other messages.
    #[serde(flatten)]
    pub notes: Notes,
    /// The part that only the gateway model judges, if the response came through a gateway. The validators above are
    /// then empty: they are among its fields.
    #[serde(flatten)]
    pub forwarded: Forwarded<ForwardedResponse>,
    /// Time when its last byte was received, or its first byte was sent by the origin, in microseconds since the case
    /// began.
    #[serde(alias = "received_at")]
    pub at: i64,
}

/// Relation of the `Last-Modified` of a response to its `Date` and to the clocks of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Dated {
    /// `true` if `Last-Modified` equals `Date`: then it may stand for a later date (RFC 9110, 8.8.2.1).
    #[serde(skip_serializing_if = "is_default")]
    pub is_now: bool,
    /// `true` if `Last-Modified` may stand for a later date although the content was put: nothing shows yet that the
    /// clock of the server and the clock of its storage agree.
    #[serde(skip_serializing_if = "is_default")]
    pub may_be_ahead: bool,
    /// `true` if `Last-Modified` is earlier than `Date`.
    #[serde(skip)]
    pub is_past: bool,
}

/// Facts about a response that follow only from a comparison with other messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// `true` if the response seems to belong to another request. Either its tag was seen for another resource, and for
    /// the requested one only once or less often, and its content, if any, was not put there and was not seen there
    /// with another tag; or its status is one that only writes get.
    #[serde(skip_serializing_if = "is_default")]
    pub stray: bool,
    /// `true` if its strong tag was seen with other content of the resource while no write was in progress there.
    #[serde(skip_serializing_if = "is_default")]
    pub reused: bool,
    /// `true` if a 304 since the last 200 with its tag lacked the tag, while no write was in progress there.
    #[serde(skip_serializing_if = "is_default")]
    pub untold: bool,
    /// `true` if `Content-Length` may be the length of coded content although no coding is declared.
    #[serde(skip_serializing_if = "is_default")]
    pub may_be_coded: bool,
    /// `true` if a later response is noted as [`reused`](Self::reused) or [`untold`](Self::untold) because of this one.
    /// The evidence against the later one then includes this one.
    #[serde(skip)]
    pub is_cited: bool,
}

impl Response {
    /// Returns `true` if the response does not decide whether a write was performed: 202 promises nothing (RFC 9110,
    /// 15.3.3), after most server errors a backend may still be at work, and a response without a status may be any of
    /// these.
    pub(crate) fn leaves_open(&self) -> bool {
        matches!(self.status, 0 | 202 | 500..) && !matches!(self.status, 501 | 505)
    }

    /// Returns the response with its forwarded part changed.
    #[must_use]
    pub fn forwarding(mut self, change: impl FnOnce(&mut ForwardedResponse)) -> Self {
        change(&mut self.forwarded);
        self
    }
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_earlier_revisions_are_read() {
        let read = |json: &str| serde_json::from_str::<Message>(json).unwrap();
        let own = Request { method: Method::Put, path: "/a".into(), at: 5, ..Request::default() };
        let json = r#"{"request":{"method":"put","path":"/a","sent_at":5}}"#;
        assert_eq!(read(json), own.clone().into());
        assert_eq!(read(&format!(r#"{{"served":{json}}}"#)), own.clone().into());
        let behind = Request { is_behind: true, ..own.clone() };
        assert_eq!(read(&format!(r#"{{"behind":{json}}}"#)), behind.into());
        let method = |json: &str| {
            let read = read(&format!(r#"{{"request":{{"method":{json}}}}}"#));
            read.request().unwrap().method.clone()
        };
        assert_eq!((method("\"GET\""), method("\"PATCH\"")), (Method::Get, Method::from("PATCH")));
        assert_eq!(method(r#"{"other":"get"}"#), Method::Other("get".into()));

        let part = |part: &mut ForwardedRequest| part.fields = Fields(vec![Field::new("Host", "h")]);
        let json = r#"{"request":{"method":"PUT","target":"/a","minor":1,"fields":[["Host","h"]],"at":5}}"#;
        assert_eq!(read(json), own.forwarding(part).into());
        let own = Response { status: 200, body: "b".into(), at: 7, ..Response::default() };
        assert_eq!(read(r#"{"response":{"status":200,"body":"b","received_at":7}}"#), own.clone().into());
        let json = r#"{"passed":{"response":{"status":200,"fields":[],"body":"b","frame":"bare","at":7}}}"#;
        let bare = own.forwarding(|part| part.frame = Frame::Bare);
        assert_eq!(read(json), bare.clone().into());
        assert_eq!(read(r#"{"passed":"unanswered"}"#), Message::Unanswered);
        // Messages of this revision are read as well.
        for message in [bare.into(), read(r#"{"request":{"path":"/a","is_behind":true}}"#)] {
            assert_eq!(read(&serde_json::to_string::<Message>(&message).unwrap()), message);
        }
    }
}
