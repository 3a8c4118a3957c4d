//! Anomalies: deviations of a message from the grammar and the framing rules of HTTP/1.1.
//!
//! An anomaly is not a verdict: some are legal, a recipient even has to accept a few, and the rules of the model decide
//! which of them a server may send. The list is complete up to
//! [`ReaderLimits::anomalies`](super::ReaderLimits::anomalies), and ends in [`AnomalyKind::TooManyAnomalies`] when it is not.

use std::fmt;

/// An anomaly and its position in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// Offset of the first byte concerned, counted from the start of the message.
    pub at: usize,
    /// Kind of the anomaly.
    pub kind: AnomalyKind,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.kind)
    }
}

/// Kinds of anomalies. The enum is exhaustive, so that whoever judges messages has to judge a new kind too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnomalyKind {
    /// An empty line precedes the start line (RFC 9112, section 2.2).
    #[error("an empty line before the message")]
    LeadingEmptyLine,
    /// Bytes that are no status line precede something that looks like one.
    #[error("{length} bytes that are no status line")]
    Garbage {
        /// Number of these bytes.
        length: usize,
    },
    /// A line ends in LF without a preceding CR (RFC 9112, section 2.2).
    #[error("a line ends in LF without CR before it")]
    BareLf,
    /// A CR is not followed by LF (RFC 9112, section 2.2).
    #[error("a CR that no LF follows")]
    BareCr,
    /// The version is neither `HTTP/1.0` nor `HTTP/1.1` (RFC 9112, section 2.3).
    #[error("the version is neither HTTP/1.1 nor HTTP/1.0")]
    OddVersion,
    /// A start line or a chunk size contains other white space than the grammar (RFC 9112, sections 3, 4 and 7.1).
    #[error("white space where there should be one space, or none")]
    OddSpacing,
    /// The status code does not have three digits, or is not between 100 and 599 (RFC 9110, section 15).
    #[error("the status code is no number from 100 to 599")]
    BadStatus,
    /// The space after the status code is missing; it is required even before an empty reason phrase
    /// (RFC 9112, section 4).
    #[error("no space after the status code")]
    MissingReason,
    /// The reason phrase contains a control character (RFC 9112, section 4).
    #[error("a control character in the reason phrase")]
    OddReason,
    /// The method is not a token (RFC 9112, section 3.1).
    #[error("the method is no token")]
    BadMethod,
    /// The request target is empty, or contains a byte that is not allowed in a URI (RFC 9112, section 3.2).
    #[error("the request target is not one")]
    BadTarget,
    /// A field value continues on the next line (`obs-fold`; RFC 9112, section 5.2).
    #[error("a field value continues on the next line")]
    ObsFold,
    /// A line between the start line and the first field begins with white space; it is ignored (RFC 9112, section
    /// 2.2).
    #[error("white space between the start line and the first field")]
    SpaceBeforeFields,
    /// A field line has no colon; it is ignored.
    #[error("a field line without a colon")]
    NoColon,
    /// A field has an empty name (RFC 9110, section 5.1).
    #[error("a field without a name")]
    EmptyName,
    /// White space separates the field name and the colon (RFC 9112, section 5.1).
    #[error("white space between the field name and the colon")]
    SpaceBeforeColon,
    /// The first byte of a field name that is not allowed there (RFC 9110, section 5.1).
    #[error("byte {0:#04x} in a field name")]
    BadNameByte(u8),
    /// The first byte of a field value that is not allowed there (RFC 9110, section 5.5).
    #[error("byte {0:#04x} in a field value")]
    BadValueByte(u8),
    /// `Content-Length` is not a number (RFC 9112, section 6.3, item 5).
    #[error("Content-Length is not a number")]
    BadLength,
    /// `Content-Length` occurs more than once or as a list, always with the same value (RFC 9110, section 8.6).
    #[error("Content-Length more than once or as a list, always the same")]
    DuplicateLengths,
    /// `Content-Length` occurs more than once, with different values (RFC 9112, section 6.3, item 5).
    #[error("Content-Length more than once, and not always the same")]
    ConflictingLengths,
    /// The message has both framing fields; `Transfer-Encoding` overrides (RFC 9112, section 6.3, item 3).
    #[error("both Transfer-Encoding and Content-Length")]
    LengthWithCoding,
    /// The list of transfer codings is invalid (RFC 9112, sections 6.1 and 7.1).
    #[error("Transfer-Encoding is empty, or has chunked with parameters, twice, or not at the end")]
    BadCoding,
    /// A message of another version than HTTP/1.1 has `Transfer-Encoding` (RFC 9112, section 6.1).
    #[error("Transfer-Encoding in a message that is not HTTP/1.1")]
    CodingInOldVersion,
    /// A response that never has content has a framing field (RFC 9112, section 6.1, and RFC 9110, section 8.6).
    #[error("Transfer-Encoding or Content-Length in a response that never has content")]
    FramingForbidden,
    /// The size of a chunk is not a hexadecimal number (RFC 9112, section 7.1).
    #[error("a chunk whose size is no hexadecimal number")]
    BadChunkSize,
    /// A chunk extension violates its grammar (RFC 9112, section 7.1.1).
    #[error("a chunk extension that is not one")]
    BadChunkExtension,
    /// The data of a chunk is not followed by CRLF (RFC 9112, section 7.1).
    #[error("no CRLF after the data of a chunk")]
    BadChunkTerminator,
    /// The data of a chunk is followed by a bare LF (RFC 9112, section 7.1; section 2.2 permits a bare LF only in other
    /// lines). Either the CR is missing, or the size is wrong by one and counts the CR as data.
    #[error("the data of a chunk ends in LF without CR before it")]
    ChunkEndsInLf,
    /// Bytes follow the response to the last request (RFC 9112, section 9.2).
    #[error("bytes after the response to the last request")]
    BytesAfterEnd,
    /// Bytes follow a message that announced the end of the connection (RFC 9112, section 9.6).
    #[error("bytes after a message that was said to be the last")]
    BytesAfterClose,
    /// The connection ended inside this section of the message (RFC 9112, section 8).
    #[error("the connection ends inside the {0}")]
    Truncated(Section),
    /// The message exceeds this limit of the reader; the rest was not read.
    #[error("more than this reader takes: {0}")]
    TooLong(Limit),
    /// Further anomalies were omitted, because their number exceeds the limit.
    #[error("more anomalies than are listed")]
    TooManyAnomalies,
}

/// Sections of a message in which it can be truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// The head: the empty line that ends the header section is missing.
    Head,
    /// Content that is shorter than its announced length, or was ended by a connection error.
    Body,
    /// Chunked content: the last chunk is missing.
    Chunks,
    /// The trailer section: the empty line after the last chunk is missing.
    Trailers,
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Section::Head => "head",
            Section::Body => "body",
            Section::Chunks => "chunks",
            Section::Trailers => "trailers",
        })
    }
}

/// The limits of [`ReaderLimits`](super::ReaderLimits) that a message can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Number of bytes of the head.
    Head,
    /// Number of field lines of one section.
    Fields,
    /// Number of bytes after the head.
    Body,
    /// Number of chunks of a body.
    Chunks,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Head => "bytes of the head",
            Limit::Fields => "field lines",
            Limit::Body => "bytes after the head",
            Limit::Chunks => "chunks",
        })
    }
}

/// List of anomalies, limited to `most` entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    list: Vec<Anomaly>,
    most: usize,
}

impl Anomalies {
    pub(crate) fn new(most: usize) -> Self {
        Anomalies { list: Vec::new(), most }
    }

    pub(crate) fn note(&mut self, at: usize, kind: AnomalyKind) {
        if self.list.len() < self.most {
            self.list.push(Anomaly { at, kind });
        } else if self.list.len() == self.most {
            self.list.push(Anomaly { at, kind: AnomalyKind::TooManyAnomalies });
        }
    }

    pub(crate) fn sort(&mut self) {
        self.list.sort_by_key(|anomaly| anomaly.at);
    }

    pub(crate) fn list(&self) -> &[Anomaly] {
        &self.list
    }
}
