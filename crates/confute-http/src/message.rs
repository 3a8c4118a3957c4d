//! What travels, as the model sees it: of a request what it asks, of a response what can be held against the server.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What travels. It is shown without what hardly ever matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Msg {
    /// From the tester.
    Request(Request),
    /// From the server.
    Response(Response),
}

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Transfer the content.
    #[default]
    Get,
    /// Tell about the content.
    Head,
    /// Store this.
    Put,
    /// Remove it.
    Delete,
    /// Tell what can be done.
    Options,
    /// Anything else.
    Other(Arc<str>),
}

impl Method {
    /// As it is written.
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

    /// Whether it asks for no change.
    pub fn is_safe(&self) -> bool {
        matches!(self, Method::Get | Method::Head | Method::Options)
    }
}

/// An entity tag in plain sight.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Whether it is marked as weak.
    #[serde(default, skip_serializing_if = "is_default")]
    pub weak: bool,
    /// What is between the quotes, as [text](crate::text).
    pub opaque: Arc<str>,
}

impl Tag {
    /// What is between the quotes of a tag that the tester made up. No server has it unless it was told.
    pub const MADE_UP: &str = "confute-made-this-up";

    /// A strong tag.
    pub fn strong(opaque: &str) -> Self {
        Tag { weak: false, opaque: opaque.into() }
    }

    /// A weak tag.
    pub fn weak(opaque: &str) -> Self {
        Tag { weak: true, opaque: opaque.into() }
    }
}

/// The value of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tags {
    /// `*`
    Any,
    /// These, line by line.
    Lines(Vec<Vec<Tag>>),
}

impl Tags {
    /// One tag.
    pub fn one(tag: Tag) -> Self {
        Tags::Lines(vec![vec![tag]])
    }
}

/// A part of some content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// All from this position on.
    From(u64),
    /// From the first to the second position, both included.
    Between(u64, u64),
    /// The last bytes, so many.
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
    /// Several of them, as `Range` has it.
    pub(crate) fn list(spans: &[Self]) -> String {
        let spans: Vec<String> = spans.iter().map(Self::to_string).collect();
        format!("bytes={}", spans.join(","))
    }

    /// The first and the last position in content of this length, or `None` if there is nothing of it.
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

/// The value of `If-Range`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IfRange {
    /// A tag.
    Tag(Tag),
    /// A date, in seconds since 1970.
    Date(i64),
}

/// Something about a request that is wrong, or at least unusual, on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Odd {
    /// No `Host`.
    NoHost,
    /// Two of them.
    TwoHosts,
    /// White space before a colon.
    SpaceBeforeColon,
    /// Two lengths that differ; the first is that of the body.
    ConflictingLengths,
    /// A length beside chunks: the length of the chunks with their frames.
    LengthBesideChunks,
    /// A chunk that claims to be longer than 32 bits can tell, by so much as it is.
    HugeChunk,
    /// The same, with 2^64 more than it has.
    VastChunk,
    /// The same length twice, which is valid.
    EqualLengths,
    /// A field continued on the next line.
    Folded,
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

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    /// What is asked for.
    pub method: Method,
    /// Of which resource.
    pub path: Arc<str>,
    /// Only if one of these is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_match: Option<Tags>,
    /// Only if none of these is current.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_none_match: Option<Tags>,
    /// Only if changed after this second since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_modified_since: Option<i64>,
    /// Only if not changed after this second since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_unmodified_since: Option<i64>,
    /// Only these parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub range: Vec<Span>,
    /// The parts only if this is current, or else all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_range: Option<IfRange>,
    /// The content, as [text](crate::text).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Arc<str>>,
    /// Whether the content is sent in chunks.
    #[serde(skip_serializing_if = "is_default")]
    pub chunked: bool,
    /// `Expect: 100-continue`, and the content is held back for so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect: Option<u32>,
    /// `Connection: close`
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// `Connection: close`, and the same request once more right behind it: nobody may answer that.
    #[serde(skip_serializing_if = "is_default")]
    pub close_twice: bool,
    /// What is wrong on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
    /// The number of responses that nobody asked for behind the one to this request. Noted after the fact, for blame.
    #[serde(skip_serializing_if = "is_default")]
    pub unasked_after: u32,
    /// Its response does not leave open what became of it, or there is none in the trace. Noted after the fact, for blame.
    #[serde(skip)]
    pub is_settled: bool,
    /// Its connection ended before its response came. Noted after the fact, for blame.
    #[serde(skip)]
    pub is_lost: bool,
    /// When its response was received, in microseconds since the case began, or [`i64::MAX`] if none was. Noted after the fact,
    /// for blame.
    #[serde(skip)]
    pub answered_at: Option<i64>,
    /// A GET that was under way together with this PUT was answered with content that nobody put. Noted after the fact, for blame.
    #[serde(skip)]
    pub is_seen_torn: bool,
    /// When its first byte was sent, in microseconds since the case began.
    pub sent_at: i64,
}

impl Request {
    /// Whether anything about it is a condition.
    pub fn is_conditional(&self) -> bool {
        self.if_match.is_some()
            || self.if_none_match.is_some()
            || self.if_modified_since.is_some()
            || self.if_unmodified_since.is_some()
    }

    /// The content, empty if there is none.
    pub fn content(&self) -> Arc<str> {
        self.body.clone().unwrap_or_default()
    }
}

/// What `Content-Range` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// From the first to the last position of so many bytes, if that is known.
    Part(u64, u64, Option<u64>),
    /// Nothing of so many bytes.
    Nothing(u64),
    /// Something invalid.
    Invalid,
}

impl Display for Told {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Told::Part(first, last, Some(complete)) => write!(f, "bytes {first}-{last}/{complete}"),
            Told::Part(first, last, None) => write!(f, "bytes {first}-{last}/*"),
            Told::Nothing(complete) => write!(f, "bytes */{complete}"),
            Told::Invalid => f.write_str("(invalid)"),
        }
    }
}

/// What is wrong with a response on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// Bytes that belong to no response came after it, or before it and after the one before.
    Surplus,
    /// The chunks are broken.
    Chunks,
    /// Not as the grammar has it.
    Grammar,
    /// Framing fields that must not be sent, or that contradict each other.
    Framing,
    /// It came after a response that was said to be the last.
    AfterClose,
    /// `ETag` is no entity tag.
    Tag,
    /// It, or the rest of it, did not come, however long one waited.
    Stalled,
    /// `Last-Modified` is later than `Date`, by more than a second.
    Later,
}

impl Display for Flaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Flaw::Surplus => "surplus bytes",
            Flaw::Chunks => "broken chunks",
            Flaw::Grammar => "broken syntax",
            Flaw::Framing => "wrong framing",
            Flaw::AfterClose => "after the last response",
            Flaw::Tag => "malformed ETag",
            Flaw::Stalled => "stalled",
            Flaw::Later => "Last-Modified after Date",
        })
    }
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// The status, or 0 if it could not be read.
    pub status: u16,
    /// The tag told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<Tag>,
    /// The date told, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<i64>,
    /// What the date told may mean.
    #[serde(flatten)]
    pub dated: Dated,
    /// The part told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_range: Option<Told>,
    /// Whether there is an `Allow`.
    #[serde(skip_serializing_if = "is_default")]
    pub allow: bool,
    /// The length told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_length: Option<u64>,
    /// After how many seconds to ask again, as `Retry-After` tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// The content, as [text](crate::text).
    #[serde(skip_serializing_if = "str::is_empty")]
    pub body: Arc<str>,
    /// Whether the content is coded, so that it cannot be compared.
    #[serde(skip_serializing_if = "is_default")]
    pub coded: bool,
    /// Whether the length that it tells may be that of coded content, though it says nothing of a coding.
    #[serde(skip_serializing_if = "is_default")]
    pub may_be_coded: bool,
    /// Whether the content is several parts.
    #[serde(skip_serializing_if = "is_default")]
    pub multipart: bool,
    /// Whether it was said to be the last on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub close: bool,
    /// The statuses of interim responses before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interim: Vec<u16>,
    /// What is wrong with it on the wire.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
    /// Whether its request was outstanding together with others on its connection.
    #[serde(skip_serializing_if = "is_default")]
    pub pipelined: bool,
    /// Whether it ended before its end: then the content is as much as came.
    #[serde(skip_serializing_if = "is_default")]
    pub incomplete: bool,
    /// What it shows only together with other messages.
    #[serde(flatten)]
    pub notes: Notes,
    /// When its last byte was received, in microseconds since the case began.
    pub received_at: i64,
}

/// What the date that a response tells may mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Dated {
    /// Whether that is the date of the response itself: then it may stand for a later one (RFC 9110, 8.8.2.1).
    #[serde(skip_serializing_if = "is_default")]
    pub is_now: bool,
    /// Whether it may stand for a later one though the content was put: nothing yet says that the server's clock and that of
    /// its storage agree.
    #[serde(skip_serializing_if = "is_default")]
    pub may_be_ahead: bool,
    /// Whether the date told lies before that of the response itself.
    #[serde(skip)]
    pub is_past: bool,
}

/// What a response shows only together with other messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// Whether it looks like an answer to somebody else: its tag was told of something else, and never of what was asked for, nor
    /// was its content ever put or seen there; or only writes get such a status.
    #[serde(skip_serializing_if = "is_default")]
    pub stray: bool,
    /// Whether its strong tag was seen with other content of the resource, while nothing was being written there.
    #[serde(skip_serializing_if = "is_default")]
    pub reused: bool,
    /// Whether a 304 since the last 200 with its tag lacked the tag, while nothing was being written there.
    #[serde(skip_serializing_if = "is_default")]
    pub untold: bool,
    /// A later response is noted as [`reused`](Self::reused) or [`untold`](Self::untold) on account of this one, so the evidence
    /// against the later one includes this one.
    #[serde(skip)]
    pub is_cited: bool,
}

impl Response {
    /// Whether it leaves open what became of a write: 202 promises nothing (RFC 9110, 15.3.3), after most errors of the server a
    /// backend may still be at work, and a response without a status may be any of these.
    pub(crate) fn leaves_open(&self) -> bool {
        matches!(self.status, 0 | 202 | 500..) && !matches!(self.status, 501 | 505)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
