//! A message exactly as it came.
//!
//! Its pieces tile its bytes: put together in order, they are what was read, however broken.

use std::borrow::Cow;
use std::ops::Range;

use super::anomaly::{Anomalies, Anomaly, Limit, Section};
use super::fields::{FieldLine, Fields};
use super::framing::Framing;
use super::start::{RequestLine, Start, StatusLine, Version};

/// A response exactly as it came.
pub type RawResponse = Raw<StatusLine>;
/// A request exactly as it came.
pub type RawRequest = Raw<RequestLine>;

/// A message exactly as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<S> {
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    pub(super) start: Option<S>,
    pub(super) fields: Vec<FieldLine>,
    pub(super) trailers: Vec<FieldLine>,
    pub(super) framing: Option<Framing>,
    pub(super) anomalies: Anomalies,
    pub(super) ending: Ending,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Which bytes of the message it is.
    pub range: Range<usize>,
}

/// What a part of a message is. Lines are with their ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PieceKind {
    /// Whatever came before the start line: empty lines, garbage.
    Lead,
    /// The status line or request line.
    StartLine,
    /// A field line, with those that continue it.
    FieldLine,
    /// The empty line after the fields.
    HeadEnd,
    /// Content that is not in chunks.
    Body,
    /// A chunk's size and extensions.
    ChunkLine,
    /// The data of a chunk.
    ChunkData,
    /// The end of line after the data of a chunk.
    ChunkEnd,
    /// A field line after the last chunk.
    TrailerLine,
    /// The empty line that ends a chunked message.
    TrailerEnd,
    /// Bytes of no known place: a line that was cut off, or what a writer added on purpose.
    Loose,
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// Where it should.
    Complete,
    /// With the connection, inside this section.
    Truncated(Section),
    /// Nowhere before this limit of the reader.
    TooLong(Limit),
    /// Nobody knows: its length is contradictory, or a chunk is broken.
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

    /// Where in the stream it began.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its parts, in order and without gaps.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What is odd about it, by position.
    pub fn anomalies(&self) -> &[Anomaly] {
        self.anomalies.list()
    }

    /// The first line as it came, or `None` if there was nothing like it.
    pub fn start_line(&self) -> Option<&[u8]> {
        self.parts(PieceKind::StartLine).next()
    }

    /// Its header fields.
    pub fn fields(&self) -> Fields<'_> {
        Fields { bytes: &self.bytes, lines: &self.fields }
    }

    /// Its trailer fields.
    pub fn trailers(&self) -> Fields<'_> {
        Fields { bytes: &self.bytes, lines: &self.trailers }
    }

    /// Its content, or as much of it as came, without the chunks' frames; other transfer codings are left alone.
    pub fn content(&self) -> Cow<'_, [u8]> {
        let is_content = |piece: &&Piece| matches!(piece.kind, PieceKind::Body | PieceKind::ChunkData);
        let mut data = self.pieces.iter().filter(is_content).map(|piece| &self.bytes[piece.range.clone()]);
        match (data.next(), data.next()) {
            (None, _) => Cow::Borrowed(&[]),
            (Some(one), None) => Cow::Borrowed(one),
            (Some(one), Some(two)) => {
                Cow::Owned([one, two].into_iter().chain(data).collect::<Vec<_>>().concat())
            }
        }
    }

    /// What delimits its content, or `None` if its head did not come to an end.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// How it ended.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Whether all of it is there.
    pub fn is_complete(&self) -> bool {
        self.ending == Ending::Complete
    }

    /// Whether it is nothing but empty lines, which anybody may discard (RFC 9112, section 9.2).
    pub fn is_blank(&self) -> bool {
        let mut lines = self.bytes.split(|byte| *byte == b'\n');
        self.bytes.ends_with(b"\n") && lines.all(|line| matches!(line, b"" | b"\r"))
    }

    /// The bytes of its pieces of this kind, in order.
    pub fn parts(&self, kind: PieceKind) -> impl Iterator<Item = &[u8]> {
        self.pieces
            .iter()
            .filter(move |piece| piece.kind == kind)
            .map(|piece| &self.bytes[piece.range.clone()])
    }
}

impl<S: Start> Raw<S> {
    /// Its version, if that is one.
    pub fn version(&self) -> Option<Version> {
        self.start.as_ref()?.version()
    }

    /// Whether the connection may go on after it, as far as it says (RFC 9112, section 9.3).
    pub fn persists(&self) -> bool {
        let options = self.fields().connection_options();
        let has = |option: &[u8]| options.iter().any(|each| each == option);
        let is_old = self.version().is_none_or(|version| version < Version { major: 1, minor: 1 });
        self.framing != Some(Framing::UntilClose)
            && !has(b"close")
            && if is_old { has(b"keep-alive") && self.fields().transfer_codings().is_none() } else { true }
    }
}

impl RawResponse {
    /// Its status code, if that has three digits.
    pub fn status(&self) -> Option<u16> {
        self.start.as_ref()?.status
    }

    /// Its reason phrase.
    pub fn reason(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.reason.clone()])
    }

    /// Whether another response to the same request follows (RFC 9110, section 15.2); 101 is the last of HTTP.
    pub fn is_interim(&self) -> bool {
        self.status().is_some_and(|status| (100..200).contains(&status) && status != 101)
    }
}

impl RawRequest {
    /// Its method, whatever it is.
    pub fn method(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.method.clone()])
    }

    /// Its target, whatever it is.
    pub fn target(&self) -> Option<&[u8]> {
        self.start.as_ref().map(|start| &self.bytes[start.target.clone()])
    }
}
