//! Reads messages from bytes as they come.
//!
//! What it yields depends on the bytes only, never on how they were cut. It looks at each byte a fixed number of times,
//! and keeps no more than [`Limits`] allow and the caller has fed without calling [`Reader::read`].
//!
//! After a message whose end is unknown it reads no more: what follows is kept in [`Reader::unread`].

use std::collections::VecDeque;
use std::ops::Range;

use super::anomaly::{Kind, Limit, Section};
use super::chunk;
use super::fields::{FieldLine, Fields};
use super::framing::{self, Framing};
use super::limits::Limits;
use super::message::{Ending, Piece, PieceKind, Raw};
use super::start::{RequestLine, Start, StatusLine};

/// Reads responses.
pub type ResponseReader = Reader<StatusLine>;
/// Reads requests.
pub type RequestReader = Reader<RequestLine>;

/// What a reader has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<S> {
    /// The next message.
    Message(Box<Raw<S>>),
    /// Not before more is fed, or the end of the connection is told.
    NeedMore,
    /// No message will come any more. If [`Reader::unread`] is not empty, that is what could not be read.
    Over,
}

/// Reads messages from bytes as they come.
#[derive(Clone, Debug)]
pub struct Reader<S> {
    limits: Limits,
    /// What was fed, from some time before the message that is being read.
    buffer: Vec<u8>,
    /// Where that message begins in the buffer. Positions below count from here.
    start: usize,
    /// What comes before this is in pieces.
    at: usize,
    /// There is no LF between `at` and this.
    scanned: usize,
    /// How long the head is, once that is known.
    head: usize,
    chunks: usize,
    /// Where bytes began that are no start line.
    garbage: Option<usize>,
    phase: Phase,
    draft: Raw<S>,
    /// Whether each request without its final response was a HEAD.
    outstanding: VecDeque<bool>,
    /// Whether nobody asked for the response that is being read.
    is_unasked: bool,
    /// Whether a message said that it was the last.
    is_closing: bool,
    end: Option<Close>,
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    Orderly,
    Broken,
}

/// What is being read; numbers say where it ends.
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
    /// Nothing, ever again.
    Over,
}

enum Step {
    On,
    /// Not without more bytes.
    Blocked,
    /// The message ends there.
    End(Ending, usize),
}

struct Line {
    range: Range<usize>,
    /// Without its end.
    content: Range<usize>,
}

impl<S> Default for Reader<S> {
    fn default() -> Self {
        Reader::new(Limits::default())
    }
}

impl ResponseReader {
    /// Tells of a request, before any of it is sent; only its method matters.
    pub fn expect(&mut self, method: &[u8]) {
        self.outstanding.push_back(method == b"HEAD");
    }

    /// How many requests have not got their final response.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }
}

impl RequestReader {
    /// Whether the request that is being read waits for 100 (Continue) before it goes on (RFC 9110, 10.1.1): its head is there
    /// and promises content, of which nothing has come.
    pub fn awaits_continue(&self) -> bool {
        let is_due = matches!(self.phase, Phase::Sized(_) | Phase::ChunkLine)
            && self.at == self.head
            && self.unread().len() == self.head;
        let is_new = self.draft.version().is_some_and(|version| (version.major, version.minor) >= (1, 1));
        let fields = Fields { bytes: &self.buffer[self.start..], lines: &self.draft.fields };
        is_due
            && is_new
            && fields.list("Expect").iter().any(|member| member.eq_ignore_ascii_case(b"100-continue"))
    }
}

impl<S> Reader<S> {
    /// A reader for one connection.
    pub fn new(limits: Limits) -> Self {
        Reader {
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

    /// Takes the next bytes. Call [`read`](Reader::read) until it needs more before you feed more.
    pub fn feed(&mut self, bytes: &[u8]) {
        let room = match self.phase {
            Phase::Over => self.limits.unread.saturating_sub(self.unread().len()),
            _ => bytes.len(),
        };
        let kept = &bytes[..room.min(bytes.len())];
        self.buffer.extend_from_slice(kept);
        self.dropped += (bytes.len() - kept.len()) as u64;
    }

    /// Takes note that the peer will send no more.
    pub fn eof(&mut self) {
        self.end.get_or_insert(Close::Orderly);
    }

    /// Takes note that the connection failed: content that its end delimits is then incomplete.
    pub fn broken(&mut self) {
        self.end.get_or_insert(Close::Broken);
    }

    /// The bytes that are in no message yet, or cannot be in any.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// How many bytes were not even kept, because they came after the last message that could be read.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn byte(&self, at: usize) -> u8 {
        self.buffer[self.start + at]
    }

    fn note(&mut self, at: usize, kind: Kind) {
        self.draft.anomalies.note(at, kind);
    }

    /// Makes a piece of everything up to here.
    fn cut(&mut self, kind: PieceKind, end: usize) {
        if self.at < end {
            self.draft.pieces.push(Piece { kind, range: self.at..end });
        }
        self.at = end;
    }

    /// The next line, if all of it is within so many bytes. It is not taken yet.
    fn line(&mut self, visible: usize) -> Option<Line> {
        let from = self.scanned.max(self.at);
        let bytes = &self.buffer[self.start..self.start + visible];
        let Some(lf) = bytes.get(from..)?.iter().position(|byte| *byte == b'\n').map(|lf| from + lf) else {
            self.scanned = visible;
            return None;
        };
        let has_cr = lf > self.at && bytes[lf - 1] == b'\r';
        Some(Line { range: self.at..lf + 1, content: self.at..lf - usize::from(has_cr) })
    }

    fn note_line_ends(&mut self, line: &Line) {
        let content = &self.buffer[self.start..][line.content.clone()];
        for (at, _) in content.iter().enumerate().filter(|(_, byte)| **byte == b'\r') {
            self.draft.anomalies.note(line.content.start + at, Kind::BareCr);
        }
        if line.range.len() - line.content.len() == 1 {
            self.note(line.content.end, Kind::BareLf);
        }
    }
}

impl<S: Start> Reader<S> {
    /// The next message, if all of it is there.
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
            match self.step(there.min(most)) {
                Step::On => {}
                Step::End(ending, at) => return self.finish(ending, at),
                Step::Blocked if there > most => return self.finish(Ending::TooLong(limit), most),
                Step::Blocked => match self.end {
                    None => return Read::NeedMore,
                    Some(_) if self.phase == Phase::Start && there == 0 => return Read::Over,
                    Some(close) => return self.finish(self.ending(close), there),
                },
            }
        }
    }

    /// Reads on, within so many bytes.
    fn step(&mut self, visible: usize) -> Step {
        match self.phase {
            Phase::Start => self.start_line(visible),
            Phase::Fields => self.field_line(visible, false),
            Phase::Trailers => self.field_line(visible, true),
            Phase::Sized(end) if visible >= end => {
                self.cut(PieceKind::Body, end);
                Step::End(Ending::Complete, end)
            }
            Phase::ChunkLine => self.chunk_line(visible),
            Phase::ChunkData(end) if visible >= end => {
                self.cut(PieceKind::ChunkData, end);
                self.phase = Phase::ChunkEnd;
                Step::On
            }
            Phase::ChunkEnd => self.chunk_end(visible),
            Phase::Sized(_) | Phase::ChunkData(_) | Phase::UntilClose | Phase::Over => Step::Blocked,
        }
    }

    fn start_line(&mut self, visible: usize) -> Step {
        let Some(line) = self.line(visible) else { return Step::Blocked };
        let content = self.buffer[self.start..][line.content.clone()].to_vec();
        if content.is_empty() {
            if self.garbage.is_none() {
                self.note(self.at, Kind::LeadingEmptyLine);
                self.note_line_ends(&line);
            }
            self.at = line.range.end;
            return Step::On;
        }
        let Some(skip) = S::find(&content) else {
            self.garbage.get_or_insert(self.at);
            self.at = line.range.end;
            return Step::On;
        };
        self.end_lead(line.range.start + skip);
        let line = Line { range: self.at..line.range.end, content: self.at..line.content.end };
        self.note_line_ends(&line);
        self.draft.start = Some(S::parse(&content[skip..], self.at, &mut self.draft.anomalies));
        self.cut(PieceKind::StartLine, line.range.end);
        self.phase = Phase::Fields;
        Step::On
    }

    /// Makes a piece of what comes before the start line.
    fn end_lead(&mut self, end: usize) {
        if self.at < end {
            self.garbage.get_or_insert(self.at);
        }
        if let Some(garbage) = self.garbage.take() {
            self.note(garbage, Kind::Garbage { length: end - garbage });
        }
        self.at = 0;
        self.cut(PieceKind::Lead, end);
    }

    fn field_line(&mut self, visible: usize, is_trailer: bool) -> Step {
        let Some(line) = self.line(visible) else { return Step::Blocked };
        self.note_line_ends(&line);
        if line.content.is_empty() {
            let kind = if is_trailer { PieceKind::TrailerEnd } else { PieceKind::HeadEnd };
            self.cut(kind, line.range.end);
            return if is_trailer { Step::End(Ending::Complete, self.at) } else { self.head_end() };
        }
        let bytes = &self.buffer[self.start..];
        let anomalies = &mut self.draft.anomalies;
        let lines = if is_trailer { &mut self.draft.trailers } else { &mut self.draft.fields };
        if matches!(bytes[line.range.start], b' ' | b'\t') {
            if let (Some(last), Some(piece)) = (lines.last_mut(), self.draft.pieces.last_mut()) {
                anomalies.note(line.range.start, Kind::ObsFold);
                last.fold(bytes, &line.range, line.content, anomalies);
                piece.range.end = line.range.end;
                self.at = line.range.end;
                return Step::On;
            }
            anomalies.note(line.range.start, Kind::SpaceBeforeFields);
            lines.push(FieldLine::ignored(line.range.clone()));
        } else if lines.len() == self.limits.fields {
            return Step::End(Ending::TooLong(Limit::Fields), line.range.end);
        } else {
            lines.push(FieldLine::parse(bytes, line.range.clone(), line.content, anomalies));
        }
        self.cut(if is_trailer { PieceKind::TrailerLine } else { PieceKind::FieldLine }, line.range.end);
        Step::On
    }

    fn head_end(&mut self) -> Step {
        self.head = self.at;
        let Some(start) = &self.draft.start else { return Step::End(Ending::Unknown, self.at) };
        let is_interim = start.status().is_some_and(|status| (100..200).contains(&status) && status != 101);
        let asked = self.outstanding.front().copied();
        if !is_interim {
            self.outstanding.pop_front();
        }
        self.is_unasked = !S::IS_REQUEST && asked.is_none();
        let fields = Fields { bytes: &self.buffer[self.start..], lines: &self.draft.fields };
        let framing = framing::of(start, asked == Some(true), fields, &mut self.draft.anomalies);
        self.draft.framing = Some(framing);
        let end = |length: u64| self.at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
        self.phase = match framing {
            Framing::None | Framing::Length(0) => return Step::End(Ending::Complete, self.at),
            Framing::Unknown => return Step::End(Ending::Unknown, self.at),
            Framing::Length(length) => Phase::Sized(end(length)),
            Framing::Chunked => Phase::ChunkLine,
            Framing::UntilClose => Phase::UntilClose,
        };
        Step::On
    }

    fn chunk_line(&mut self, visible: usize) -> Step {
        let Some(line) = self.line(visible) else { return Step::Blocked };
        if self.chunks == self.limits.chunks {
            return Step::End(Ending::TooLong(Limit::Chunks), line.range.end);
        }
        self.note_line_ends(&line);
        let content = &self.buffer[self.start..][line.content];
        let size = chunk::size(content, self.at, &mut self.draft.anomalies);
        self.cut(PieceKind::ChunkLine, line.range.end);
        self.chunks += 1;
        self.phase = match size {
            None => return Step::End(Ending::Unknown, self.at),
            Some(0) => Phase::Trailers,
            Some(size) => {
                Phase::ChunkData(self.at.saturating_add(usize::try_from(size).unwrap_or(usize::MAX)))
            }
        };
        Step::On
    }

    fn chunk_end(&mut self, visible: usize) -> Step {
        let length = match visible - self.at {
            0 => return Step::Blocked,
            _ if self.byte(self.at) == b'\n' => {
                self.note(self.at, Kind::ChunkEndsInLf);
                1
            }
            1 if self.byte(self.at) == b'\r' => return Step::Blocked,
            2.. if self.byte(self.at) == b'\r' && self.byte(self.at + 1) == b'\n' => 2,
            _ => {
                self.note(self.at, Kind::BadChunkTerminator);
                return Step::End(Ending::Unknown, self.at);
            }
        };
        self.cut(PieceKind::ChunkEnd, self.at + length);
        self.phase = Phase::ChunkLine;
        Step::On
    }

    /// How the message ends if the connection does.
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

    /// Yields the message, which is everything up to here, and makes ready for the next.
    fn finish(&mut self, ending: Ending, end: usize) -> Read<S> {
        match self.phase {
            Phase::Start => {
                let cut = &self.buffer[self.start + self.at..self.start + end];
                // Empty lines that were read already are the lead, like garbage.
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
                raw.anomalies.note(0, Kind::BytesAfterClose);
            }
            if self.is_unasked || (!S::IS_REQUEST && raw.framing.is_none() && self.outstanding.is_empty()) {
                raw.anomalies.note(0, Kind::BytesAfterEnd);
            }
            match ending {
                Ending::Truncated(section) => raw.anomalies.note(end, Kind::Truncated(section)),
                Ending::TooLong(limit) => raw.anomalies.note(end, Kind::TooLong(limit)),
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
        // Not every time: then many small messages would cost the square of their number.
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
