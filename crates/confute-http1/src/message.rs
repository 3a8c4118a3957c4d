//! Messages exactly as they were received.
//!
//! The pieces of a message cover its bytes without gaps: concatenated in order they are the bytes that were read,
//! however malformed.

use std::borrow::Cow;
use std::ops::Range;

use super::anomaly::{Anomalies, Anomaly, Limit, Section};
use super::fields::{FieldLine, RawFields};
use super::framing::BodyFraming;
use super::start::{RequestLine, Start, StatusLine, Version};

/// A response exactly as it was received.
pub type RawResponse = Raw<StatusLine>;
/// A request exactly as it was received.
pub type RawRequest = Raw<RequestLine>;

/// A message exactly as it was received, with its pieces and anomalies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<S> {
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<MessagePiece>,
    pub(super) start: Option<S>,
    pub(super) fields: Vec<FieldLine>,
    pub(super) trailers: Vec<FieldLine>,
    pub(super) framing: Option<BodyFraming>,
    pub(super) anomalies: Anomalies,
    pub(super) ending: Ending,
}

/// A contiguous part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessagePiece {
    /// Kind of the piece.
    pub kind: PieceKind,
    /// Range of its bytes in the message.
    pub range: Range<usize>,
}

/// Kinds of pieces. Lines include their line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Bytes before the start line: empty lines, garbage.
    Lead,
    /// The status line or request line.
    StartLine,
    /// A field line, with the lines that continue it.
    FieldLine,
    /// The empty line after the fields.
    HeadEnd,
    /// Content that is not chunked.
    Body,
    /// The size and the extensions of a chunk.
    ChunkLine,
    /// The data of a chunk.
    ChunkData,
    /// The line end after the data of a chunk.
    ChunkEnd,
    /// A field line after the last chunk.
    TrailerLine,
    /// The empty line that ends a chunked message.
    TrailerEnd,
    /// Bytes that belong to no other kind: a truncated line, or bytes that a writer added deliberately.
    Loose,
}

/// The manner in which a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The message ended where its framing requires.
    Complete,
    /// The connection ended inside this section of the message.
    Truncated(Section),
    /// The message exceeds this limit of the reader.
    TooLong(Limit),
    /// The end is unknown: the length is contradictory, or a chunk is malformed.
    Unknown,
}

impl<S> Raw<S> {
    pub(super) fn new(offset: u64, most_anomalies: usize) -> Self {
        Raw {
            offset,
            bytes: Vec::new(),
            pieces: Vec::new(),
            start: None,
            fields: Vec::new(),
            trailers: Vec::new(),
            framing: None,
            anomalies: Anomalies::new(most_anomalies),
            ending: Ending::Complete,
        }
    }

    /// Returns the offset of the message in the stream.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns all bytes of the message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the pieces of the message, in order and without gaps.
    pub fn pieces(&self) -> &[MessagePiece] {
        &self.pieces
    }

    /// Returns the anomalies, sorted by position.
    pub fn anomalies(&self) -> &[Anomaly] {
        self.anomalies.list()
    }

    /// Returns the start line with its line end, or `None` if the message has none.
    pub fn start_line(&self) -> Option<&[u8]> {
        self.parts(PieceKind::StartLine).next()
    }

    /// Returns the header fields.
    pub fn fields(&self) -> RawFields<'_> {
        RawFields { bytes: &self.bytes, lines: &self.fields }
    }

    /// Returns the trailer fields.
    pub fn trailers(&self) -> RawFields<'_> {
        RawFields { bytes: &self.bytes, lines: &self.trailers }
    }

    /// Returns the content, or the part of it that was received, without chunk framing; other transfer codings are not
    /// decoded.
    pub fn content(&self) -> Cow<'_, [u8]> {
        let is_content = |piece: &&MessagePiece| matches!(piece.kind, PieceKind::Body | PieceKind::ChunkData);
        let mut data = self.pieces.iter().filter(is_content).map(|piece| &self.bytes[piece.range.clone()]);
        match (data.next(), data.next()) {
            (None, _) => Cow::Borrowed(&[]),
            (Some(one), None) => Cow::Borrowed(one),
            (Some(one), Some(two)) => {
                Cow::Owned([one, two].into_iter().chain(data).collect::<Vec<_>>().concat())
            }
        }
    }

    /// Returns the delimitation of the content, or `None` if the head is incomplete.
    pub fn framing(&self) -> Option<BodyFraming> {
        self.framing
    }

    /// Returns the manner in which the message ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Returns `true` if the whole message was received.
    pub fn is_complete(&self) -> bool {
        self.ending == Ending::Complete
    }

    /// Returns `true` if the message consists only of empty lines, which a recipient may discard (RFC 9112, section
    /// 9.2).
    pub fn is_blank(&self) -> bool {
        let mut lines = self.bytes.split(|byte| *byte == b'\n');
        self.bytes.ends_with(b"\n") && lines.all(|line| matches!(line, b"" | b"\r"))
    }

    /// Returns the bytes of the pieces of this kind, in order.
    pub fn parts(&self, kind: PieceKind) -> impl Iterator<Item = &[u8]> {
        self.pieces
            .iter()
            .filter(move |piece| piece.kind == kind)
            .map(|piece| &self.bytes[piece.range.clone()])
    }
}

impl<S: Start> Raw<S> {
    /// Returns the HTTP version, or `None` if it is malformed.
    pub fn version(&self) -> Option<Version> {
        self.start.as_ref()?.version()
    }

    /// Returns `true` if this message permits the connection to persist (RFC 9112, section 9.3).
    pub fn persists(&self) -> bool {
        let options = self.fields().connection_options();
        let has = |option: &[u8]| options.iter().any(|each| each == option);
        let is_old = self.version().is_none_or(|version| version < Version { major: 1, minor: 1 });
        self.framing != Some(BodyFraming::UntilClose)
            && !has(b"close")
            && if is_old { has(b"keep-alive") && self.fields().transfer_codings().is_none() } else { true }
    }
}

impl RawResponse {
    /// Returns the status code, or `None` if it does not consist of three digits.
    pub fn status(&self) -> Option<u16> {
        self.start.as_ref()?.status
    }

    /// Returns the reason phrase.
    pub fn reason(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.reason.clone()])
    }

    /// Returns `true` for an interim response: another response to the same request follows (RFC 9110, section 15.2).
    /// 101 is final, because no HTTP message follows it.
    pub fn is_interim(&self) -> bool {
        self.status().is_some_and(|status| (100..200).contains(&status) && status != 101)
    }
}

impl RawRequest {
    /// Returns the method, even if it is malformed.
    pub fn method(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.method.clone()])
    }

    /// Returns the request target, even if it is malformed.
    pub fn target(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.target.clone()])
    }
}
