//! What is odd about a message.
//!
//! An anomaly is not a verdict: some are legal, a few a recipient even has to put up with, and which of them a server
//! may send is for rules to say. The list is complete up to [`Limits::anomalies`](super::Limits), and says so when it is not.

use std::fmt;

/// Something odd, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The first byte it is about, counted from the start of the message.
    pub at: usize,
    /// What it is.
    pub kind: Kind,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.kind)
    }
}

/// What can be odd about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Kind {
    /// RFC 9112, section 2.2.
    #[error("an empty line before the message")]
    LeadingEmptyLine,
    /// What looks like a status line comes later.
    #[error("{length} bytes that are no status line")]
    Garbage {
        /// How many bytes.
        length: usize,
    },
    /// RFC 9112, section 2.2.
    #[error("a line ends in LF without CR before it")]
    BareLf,
    /// RFC 9112, section 2.2.
    #[error("a CR that no LF follows")]
    BareCr,
    /// Neither `HTTP/1.0` nor `HTTP/1.1` (RFC 9112, section 2.3).
    #[error("the version is neither HTTP/1.1 nor HTTP/1.0")]
    OddVersion,
    /// In a start line or a chunk's size (RFC 9112, sections 3, 4 and 7.1).
    #[error("white space where there should be one space, or none")]
    OddSpacing,
    /// Not three digits, or none of 100 to 599 (RFC 9110, section 15).
    #[error("the status code is no number from 100 to 599")]
    BadStatus,
    /// Due even before an empty reason phrase (RFC 9112, section 4).
    #[error("no space after the status code")]
    MissingReason,
    /// RFC 9112, section 4.
    #[error("a control character in the reason phrase")]
    OddReason,
    /// RFC 9112, section 3.1.
    #[error("the method is no token")]
    BadMethod,
    /// Empty, or with a byte that no URI has (RFC 9112, section 3.2).
    #[error("the request target is not one")]
    BadTarget,
    /// RFC 9112, section 5.2.
    #[error("a field value continues on the next line")]
    ObsFold,
    /// The line is ignored (RFC 9112, section 2.2).
    #[error("white space between the start line and the first field")]
    SpaceBeforeFields,
    /// The line is ignored.
    #[error("a field line without a colon")]
    NoColon,
    /// RFC 9110, section 5.1.
    #[error("a field without a name")]
    EmptyName,
    /// RFC 9112, section 5.1.
    #[error("white space between the field name and the colon")]
    SpaceBeforeColon,
    /// The first of the field (RFC 9110, section 5.1).
    #[error("byte {0:#04x} in a field name")]
    BadNameByte(u8),
    /// The first of the field (RFC 9110, section 5.5).
    #[error("byte {0:#04x} in a field value")]
    BadValueByte(u8),
    /// RFC 9112, section 6.3, item 5.
    #[error("Content-Length is not a number")]
    BadLength,
    /// RFC 9110, section 8.6.
    #[error("Content-Length more than once or as a list, always the same")]
    DuplicateLengths,
    /// RFC 9112, section 6.3, item 5.
    #[error("Content-Length more than once, and not always the same")]
    ConflictingLengths,
    /// Transfer-Encoding prevails (RFC 9112, section 6.3, item 3).
    #[error("both Transfer-Encoding and Content-Length")]
    LengthWithCoding,
    /// RFC 9112, sections 6.1 and 7.1.
    #[error("Transfer-Encoding is empty, or has chunked with parameters, twice, or not at the end")]
    BadCoding,
    /// RFC 9112, section 6.1.
    #[error("Transfer-Encoding in a message that is not HTTP/1.1")]
    CodingInOldVersion,
    /// RFC 9112, section 6.1, and RFC 9110, section 8.6.
    #[error("Transfer-Encoding or Content-Length in a response that never has content")]
    FramingForbidden,
    /// RFC 9112, section 7.1.
    #[error("a chunk whose size is no hexadecimal number")]
    BadChunkSize,
    /// RFC 9112, section 7.1.1.
    #[error("a chunk extension that is not one")]
    BadChunkExtension,
    /// RFC 9112, section 7.1.
    #[error("no CRLF after the data of a chunk")]
    BadChunkTerminator,
    /// Or the CR was taken for data, and the size is wrong by one (RFC 9112, section 7.1; section 2.2 is about other lines).
    #[error("the data of a chunk ends in LF without CR before it")]
    ChunkEndsInLf,
    /// RFC 9112, section 9.2.
    #[error("bytes after the response to the last request")]
    BytesAfterEnd,
    /// RFC 9112, section 9.6.
    #[error("bytes after a message that was said to be the last")]
    BytesAfterClose,
    /// RFC 9112, section 8.
    #[error("the connection ends inside the {0}")]
    Truncated(Section),
    /// The rest was not read.
    #[error("more than this reader takes: {0}")]
    TooLong(Limit),
    /// No silent cap.
    #[error("more anomalies than are listed")]
    TooManyAnomalies,
}

impl Kind {
    /// Whether a recipient may, or must, read on as if nothing were odd, because the message still means one thing only.
    pub(crate) fn is_tolerable(self, is_request: bool) -> bool {
        match self {
            Kind::LeadingEmptyLine
            | Kind::BareLf
            | Kind::ChunkEndsInLf
            | Kind::OddVersion
            | Kind::OddSpacing
            | Kind::BadStatus
            | Kind::MissingReason
            | Kind::OddReason
            | Kind::ObsFold
            | Kind::SpaceBeforeFields
            | Kind::DuplicateLengths
            | Kind::FramingForbidden
            | Kind::BadChunkExtension => true,
            // A server must reject it, a proxy must repair it.
            Kind::SpaceBeforeColon => !is_request,
            _ => false,
        }
    }
}

/// Where a message was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// Before the empty line that ends the header section.
    Head,
    /// In content of known length, or that an error of the connection ended.
    Body,
    /// Before the last chunk.
    Chunks,
    /// After the last chunk, before the empty line.
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

/// Which of the [`Limits`](super::Limits) was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The bytes of the head.
    Head,
    /// The fields of one section.
    Fields,
    /// The bytes after the head.
    Body,
    /// The chunks of a body.
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

/// Collects anomalies, no more than so many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anomalies {
    list: Vec<Anomaly>,
    most: usize,
}

impl Anomalies {
    pub(crate) fn new(most: usize) -> Self {
        Anomalies { list: Vec::new(), most }
    }

    pub(crate) fn note(&mut self, at: usize, kind: Kind) {
        if self.list.len() < self.most {
            self.list.push(Anomaly { at, kind });
        } else if self.list.len() == self.most {
            self.list.push(Anomaly { at, kind: Kind::TooManyAnomalies });
        }
    }

    pub(crate) fn sort(&mut self) {
        self.list.sort_by_key(|anomaly| anomaly.at);
    }

    pub(crate) fn list(&self) -> &[Anomaly] {
        &self.list
    }
}
