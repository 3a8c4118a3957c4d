//! Incremental reader of messages.
//!
//! The messages depend only on the bytes, never on how they were divided among calls of [`MessageReader::feed`]. The reader
//! examines each byte a bounded number of times, and keeps no more bytes than [`ReaderLimits`] allow plus those that
//! were fed without a call of [`MessageReader::read`].
//!
//! After a message whose end is unknown the reader stops: the following bytes stay in [`MessageReader::unread`].

use std::collections::VecDeque;
use std::ops::Range;

use super::anomaly::{AnomalyKind, Limit, Section};
use super::chunk;
use super::fields::{FieldLine, RawFields};
use super::framing::{self, BodyFraming};
use super::limits::ReaderLimits;
use super::message::{Ending, MessagePiece, PieceKind, Raw};
use super::start::{RequestLine, Start, StatusLine};

/// Reader of the responses on a connection.
pub type ResponseReader = MessageReader<StatusLine>;
/// Reader of the requests on a connection.
pub type RequestReader = MessageReader<RequestLine>;

/// Result of [`MessageReader::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<S> {
    /// The next message.
    Message(Box<Raw<S>>),
    /// The next message is incomplete: the reader needs more bytes, or the end of the connection.
    NeedMore,
    /// No message will follow. [`MessageReader::unread`] holds the bytes that could not be read, if any.
    Over,
}

/// Incremental reader of the messages on one connection.
#[derive(Clone, Debug)]
pub struct MessageReader<S> {
    limits: ReaderLimits,
    /// Bytes that were fed: the current message, and perhaps messages before it that are not yet removed.
    buffer: Vec<u8>,
    /// Index in the buffer at which the current message begins. The positions below count from here.
    start: usize,
    /// End of the bytes that are already divided into pieces.
    at: usize,
    /// Position up to which there is no LF after `at`, so that no byte is searched twice.
    scanned: usize,
    /// Length of the head, once it is known.
    head: usize,
    chunks: usize,
    /// Start of the bytes before the start line that are garbage.
    garbage: Option<usize>,
    phase: Phase,
    draft: Raw<S>,
    /// For each request without a final response, `true` if its method is HEAD.
    outstanding: VecDeque<bool>,
    /// `true` if the current response belongs to no request.
    is_unasked: bool,
    /// `true` once a message announced that it is the last one of the connection.
    is_closing: bool,
    end: Option<Close>,
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    Orderly,
    Broken,
}

/// The part of a message that is read next; the numbers are end positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Start,
    Fields,
    Sized(usize),
    ChunkLine,
    ChunkData(usize),
    ChunkEnd,
    Trailers,
    UntilClose,
    /// The reader has stopped.
    Over,
}

/// Result of an attempt to read the next part of a message.
enum Progress {
    /// A part was read.
    Advanced,
    /// More bytes are needed.
    Blocked,
    /// The message ends at this position.
    End(Ending, usize),
}

/// Position of a line in the current message.
struct LineRange {
    range: Range<usize>,
    /// Range of the line without its line end.
    content: Range<usize>,
}

impl<S> Default for MessageReader<S> {
    fn default() -> Self {
        MessageReader::new(ReaderLimits::default())
    }
}

impl ResponseReader {
    /// Registers a request by its method, before any byte of it is sent.
    pub fn expect(&mut self, method: &[u8]) {
        self.outstanding.push_back(method == b"HEAD");
    }

    /// Returns the number of requests without a final response.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }
}

impl RequestReader {
    /// Returns `true` if the sender of the current request waits for 100 (Continue) (RFC 9110, 10.1.1): the head is
    /// complete and announces content, of which no byte was received.
    pub fn awaits_continue(&self) -> bool {
        let is_due = matches!(self.phase, Phase::Sized(_) | Phase::ChunkLine)
            && self.at == self.head
            && self.unread().len() == self.head;
        let is_new = self.draft.version().is_some_and(|version| (version.major, version.minor) >= (1, 1));
        let fields = RawFields { bytes: &self.buffer[self.start..], lines: &self.draft.fields };
        is_due
            && is_new
            && fields.list("Expect").iter().any(|member| member.eq_ignore_ascii_case(b"100-continue"))
    }
}

impl<S> MessageReader<S> {
    /// Returns a reader for one connection.
    pub fn new(limits: ReaderLimits) -> Self {
        MessageReader {
            limits,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            scanned: 0,
            head: 0,
            chunks: 0,
            garbage: None,
            phase: Phase::Start,
            draft: Raw::new(0, limits.anomalies),
            outstanding: VecDeque::new(),
            is_unasked: false,
            is_closing: false,
            end: None,
            dropped: 0,
        }
    }

    /// Returns `true` if the head of the current message was read, and its end is still to come.
    pub fn is_in_content(&self) -> bool {
        !matches!(self.phase, Phase::Start | Phase::Fields | Phase::Over)
    }

    /// Adds the next bytes of the connection. Call [`read`](MessageReader::read) until it returns [`Read::NeedMore`] before
    /// feeding more.
    pub fn feed(&mut self, bytes: &[u8]) {
        let room = match self.phase {
            Phase::Over => self.limits.unread.saturating_sub(self.unread().len()),
            _ => bytes.len(),
        };
        let kept = &bytes[..room.min(bytes.len())];
        self.buffer.extend_from_slice(kept);
        self.dropped += (bytes.len() - kept.len()) as u64;
    }

    /// Records that the peer closed its side of the connection in an orderly way.
    pub fn eof(&mut self) {
        self.end.get_or_insert(Close::Orderly);
    }

    /// Records that the connection failed: content that is delimited by the end of the connection is then incomplete.
    pub fn broken(&mut self) {
        self.end.get_or_insert(Close::Broken);
    }

    /// Returns the bytes that belong to no message yet, or to none at all once the reader has stopped.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Returns the number of bytes that were discarded, because they exceeded the limit for bytes after the last
    /// message.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn byte(&self, at: usize) -> u8 {
        self.buffer[self.start + at]
    }

    fn note(&mut self, at: usize, kind: AnomalyKind) {
        self.draft.anomalies.note(at, kind);
    }

    /// Adds a piece that ends at `end`.
    fn cut(&mut self, kind: PieceKind, end: usize) {
        if self.at < end {
            self.draft.pieces.push(MessagePiece { kind, range: self.at..end });
        }
        self.at = end;
    }

    /// Returns the next line if it is complete within the first `visible` bytes, without consuming it.
    fn line(&mut self, visible: usize) -> Option<LineRange> {
        let from = self.scanned.max(self.at);
        let bytes = &self.buffer[self.start..self.start + visible];
        let Some(lf) = bytes.get(from..)?.iter().position(|byte| *byte == b'\n').map(|lf| from + lf) else {
            self.scanned = visible;
            return None;
        };
        let has_cr = lf > self.at && bytes[lf - 1] == b'\r';
        Some(LineRange { range: self.at..lf + 1, content: self.at..lf - usize::from(has_cr) })
    }

    fn note_line_ends(&mut self, line: &LineRange) {
        let content = &self.buffer[self.start..][line.content.clone()];
        for (at, _) in content.iter().enumerate().filter(|(_, byte)| **byte == b'\r') {
            self.draft.anomalies.note(line.content.start + at, AnomalyKind::BareCr);
        }
        if line.range.len() - line.content.len() == 1 {
            self.note(line.content.end, AnomalyKind::BareLf);
        }
    }
}

impl<S: Start> MessageReader<S> {
    /// Returns the next message if it is complete.
    pub fn read(&mut self) -> Read<S> {
        if self.phase == Phase::Over {
            return Read::Over;
        }
        loop {
            let there = self.unread().len();
            let (most, limit) = match self.phase {
                Phase::Start | Phase::Fields => (self.limits.head, Limit::Head),
                _ => (self.head.saturating_add(self.limits.body), Limit::Body),
            };
            match self.advance(there.min(most)) {
                Progress::Advanced => {}
                Progress::End(ending, at) => return self.finish(ending, at),
                Progress::Blocked if there > most => return self.finish(Ending::TooLong(limit), most),
                Progress::Blocked => match self.end {
                    None => return Read::NeedMore,
                    Some(_) if self.phase == Phase::Start && there == 0 => return Read::Over,
                    Some(close) => return self.finish(self.ending(close), there),
                },
            }
        }
    }

    /// Reads the next part of the message within the first `visible` bytes.
    fn advance(&mut self, visible: usize) -> Progress {
        match self.phase {
            Phase::Start => self.start_line(visible),
            Phase::Fields => self.field_line(visible, false),
            Phase::Trailers => self.field_line(visible, true),
            Phase::Sized(end) if visible >= end => {
                self.cut(PieceKind::Body, end);
                Progress::End(Ending::Complete, end)
            }
            Phase::ChunkLine => self.chunk_line(visible),
            Phase::ChunkData(end) if visible >= end => {
                self.cut(PieceKind::ChunkData, end);
                self.phase = Phase::ChunkEnd;
                Progress::Advanced
            }
            Phase::ChunkEnd => self.chunk_end(visible),
            Phase::Sized(_) | Phase::ChunkData(_) | Phase::UntilClose | Phase::Over => Progress::Blocked,
        }
    }

    fn start_line(&mut self, visible: usize) -> Progress {
        let Some(line) = self.line(visible) else { return Progress::Blocked };
        let content = self.buffer[self.start..][line.content.clone()].to_vec();
        if content.is_empty() {
            if self.garbage.is_none() {
                self.note(self.at, AnomalyKind::LeadingEmptyLine);
                self.note_line_ends(&line);
            }
            self.at = line.range.end;
            return Progress::Advanced;
        }
        let Some(skip) = S::find(&content) else {
            self.garbage.get_or_insert(self.at);
            self.at = line.range.end;
            return Progress::Advanced;
        };
        self.end_lead(line.range.start + skip);
        let line = LineRange { range: self.at..line.range.end, content: self.at..line.content.end };
        self.note_line_ends(&line);
        self.draft.start = Some(S::parse(&content[skip..], self.at, &mut self.draft.anomalies));
        self.cut(PieceKind::StartLine, line.range.end);
        self.phase = Phase::Fields;
        Progress::Advanced
    }

    /// Makes one piece of the bytes before the start line.
    fn end_lead(&mut self, end: usize) {
        if self.at < end {
            self.garbage.get_or_insert(self.at);
        }
        if let Some(garbage) = self.garbage.take() {
            self.note(garbage, AnomalyKind::Garbage { length: end - garbage });
        }
        self.at = 0;
        self.cut(PieceKind::Lead, end);
    }

    fn field_line(&mut self, visible: usize, is_trailer: bool) -> Progress {
        let Some(line) = self.line(visible) else { return Progress::Blocked };
        self.note_line_ends(&line);
        if line.content.is_empty() {
            let kind = if is_trailer { PieceKind::TrailerEnd } else { PieceKind::HeadEnd };
            self.cut(kind, line.range.end);
            return if is_trailer { Progress::End(Ending::Complete, self.at) } else { self.head_end() };
        }
        let bytes = &self.buffer[self.start..];
        let anomalies = &mut self.draft.anomalies;
        let lines = if is_trailer { &mut self.draft.trailers } else { &mut self.draft.fields };
        if matches!(bytes[line.range.start], b' ' | b'\t') {
            if let (Some(last), Some(piece)) = (lines.last_mut(), self.draft.pieces.last_mut()) {
                anomalies.note(line.range.start, AnomalyKind::ObsFold);
                last.fold(bytes, &line.range, line.content, anomalies);
                piece.range.end = line.range.end;
                self.at = line.range.end;
                return Progress::Advanced;
            }
            anomalies.note(line.range.start, AnomalyKind::SpaceBeforeFields);
            lines.push(FieldLine::ignored(line.range.clone()));
        } else if lines.len() == self.limits.fields {
            return Progress::End(Ending::TooLong(Limit::Fields), line.range.end);
        } else {
            lines.push(FieldLine::parse(bytes, line.range.clone(), line.content, anomalies));
        }
        self.cut(if is_trailer { PieceKind::TrailerLine } else { PieceKind::FieldLine }, line.range.end);
        Progress::Advanced
    }

    fn head_end(&mut self) -> Progress {
        self.head = self.at;
        let Some(start) = &self.draft.start else { return Progress::End(Ending::Unknown, self.at) };
        let is_interim = start.status().is_some_and(|status| (100..200).contains(&status) && status != 101);
        let asked = self.outstanding.front().copied();
        if !is_interim {
            self.outstanding.pop_front();
        }
        self.is_unasked = !S::IS_REQUEST && asked.is_none();
        let fields = RawFields { bytes: &self.buffer[self.start..], lines: &self.draft.fields };
        let framing = framing::of(start, asked == Some(true), fields, &mut self.draft.anomalies);
        self.draft.framing = Some(framing);
        let end = |length: u64| self.at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        self.phase = match framing {
            BodyFraming::None | BodyFraming::Length(0) => return Progress::End(Ending::Complete, self.at),
            BodyFraming::Unknown => return Progress::End(Ending::Unknown, self.at),
            BodyFraming::Length(length) => Phase::Sized(end(length)),
            BodyFraming::Chunked => Phase::ChunkLine,
            BodyFraming::UntilClose => Phase::UntilClose,
        };
        Progress::Advanced
    }

    fn chunk_line(&mut self, visible: usize) -> Progress {
        let Some(line) = self.line(visible) else { return Progress::Blocked };
        if self.chunks == self.limits.chunks {
            return Progress::End(Ending::TooLong(Limit::Chunks), line.range.end);
        }
        self.note_line_ends(&line);
        let content = &self.buffer[self.start..][line.content];
        let size = chunk::size(content, self.at, &mut self.draft.anomalies);
        self.cut(PieceKind::ChunkLine, line.range.end);
        self.chunks += 1;
        self.phase = match size {
            None => return Progress::End(Ending::Unknown, self.at),
            Some(0) => Phase::Trailers,
            Some(size) => {
                Phase::ChunkData(self.at.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)))
            }
        };
        Progress::Advanced
    }

    fn chunk_end(&mut self, visible: usize) -> Progress {
        let length = match visible - self.at {
            0 => return Progress::Blocked,
            _ if self.byte(self.at) == b'\n' => {
                self.note(self.at, AnomalyKind::ChunkEndsInLf);
                1
            }
            1 if self.byte(self.at) == b'\r' => return Progress::Blocked,
            2.. if self.byte(self.at) == b'\r' && self.byte(self.at + 1) == b'\n' => 2,
            _ => {
                self.note(self.at, AnomalyKind::BadChunkTerminator);
                return Progress::End(Ending::Unknown, self.at);
            }
        };
        self.cut(PieceKind::ChunkEnd, self.at + length);
        self.phase = Phase::ChunkLine;
        Progress::Advanced
    }

    /// Returns the ending of the current message if the connection ends now.
    fn ending(&self, close: Close) -> Ending {
        match (self.phase, close) {
            (Phase::UntilClose, Close::Orderly) => Ending::Complete,
            (Phase::Start | Phase::Fields, _) => Ending::Truncated(Section::Head),
            (Phase::ChunkLine | Phase::ChunkData(_) | Phase::ChunkEnd, _) => {
                Ending::Truncated(Section::Chunks)
            }
            (Phase::Trailers, _) => Ending::Truncated(Section::Trailers),
            _ => Ending::Truncated(Section::Body),
        }
    }

    /// Returns the current message, which ends at `end`, and prepares for the next one.
    fn finish(&mut self, ending: Ending, end: usize) -> Read<S> {
        match self.phase {
            Phase::Start => {
                let cut = &self.buffer[self.start + self.at..self.start + end];
                // Empty lines before it belong to the lead, like garbage.
                let lead = self.at + S::garbage(cut);
                self.end_lead(lead);
                self.cut(PieceKind::Loose, end);
            }
            Phase::Sized(_) | Phase::UntilClose => self.cut(PieceKind::Body, end),
            Phase::ChunkData(_) => self.cut(PieceKind::ChunkData, end),
            _ => self.cut(PieceKind::Loose, end),
        }
        let next = Raw::new(self.draft.offset + end as u64, self.limits.anomalies);
        let mut raw = std::mem::replace(&mut self.draft, next);
        raw.bytes = self.buffer[self.start..self.start + end].to_vec();
        raw.ending = ending;
        if !raw.is_blank() {
            if self.is_closing {
                raw.anomalies.note(0, AnomalyKind::BytesAfterClose);
            }
            if self.is_unasked || (!S::IS_REQUEST && raw.framing.is_none() && self.outstanding.is_empty()) {
                raw.anomalies.note(0, AnomalyKind::BytesAfterEnd);
            }
            match ending {
                Ending::Truncated(section) => raw.anomalies.note(end, AnomalyKind::Truncated(section)),
                Ending::TooLong(limit) => raw.anomalies.note(end, AnomalyKind::TooLong(limit)),
                Ending::Complete | Ending::Unknown => {}
            }
        }
        raw.anomalies.sort();

        let status = raw.start.as_ref().and_then(S::status);
        let is_last = !raw.is_complete() || self.phase == Phase::UntilClose || status == Some(101);
        self.is_closing |= !matches!(status, Some(100..200)) && !raw.persists();
        self.is_unasked = false;
        self.phase = if is_last { Phase::Over } else { Phase::Start };
        self.start += end;
        (self.at, self.scanned, self.head, self.chunks) = (0, 0, 0, 0);
        // Not after every message: removing each of many small messages in one buffer would take quadratic time.
        if self.start > self.buffer.len() / 2 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if is_last {
            let surplus = self.unread().len().saturating_sub(self.limits.unread);
            self.buffer.truncate(self.buffer.len() - surplus);
            self.buffer.shrink_to_fit();
            self.dropped += surplus as u64;
        }
        Read::Message(Box::new(raw))
    }
}
