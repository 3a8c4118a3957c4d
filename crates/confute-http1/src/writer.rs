//! Writer of messages, which are correct unless a [`Malformed`] requests otherwise.
//!
//! The writer adds the framing fields and `Host` itself; wrong ones need a [`Malformed`]. An encoded message knows its
//! pieces, so that a driver can split it at interesting positions.

use super::grammar::{is_text, is_token, trim};
use super::malformed::Malformed;
use super::message::{MessagePiece, PieceKind};

/// A message to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    start: StartParts,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    body: Body,
    wrong: Vec<Malformed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StartParts {
    Request { method: Vec<u8>, target: Vec<u8>, host: Vec<u8> },
    Response { status: u16, reason: Vec<u8> },
}

/// Content of a message to be written, with its framing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// No content. A response that may have content gets `Content-Length: 0`; a request gets no framing field.
    #[default]
    None,
    /// Content with `Content-Length`.
    Sized(Vec<u8>),
    /// `Content-Length` without content, as in a response to HEAD or a 304.
    Announced(u64),
    /// Content in chunks, followed by trailer fields.
    Chunked(Vec<Chunk>, Vec<(Vec<u8>, Vec<u8>)>),
    /// Content of a response that is delimited by the end of the connection, with `Connection: close`.
    UntilClose(Vec<u8>),
}

impl Body {
    /// Returns content in these chunks, without extensions and trailer fields.
    pub fn chunks<'a>(data: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let chunk = |data: &[u8]| Chunk { data: data.to_vec(), extensions: Vec::new() };
        Body::Chunked(data.into_iter().map(chunk).collect(), Vec::new())
    }
}

/// A chunk to be written. The last chunk is added by the writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Data of the chunk, not empty.
    pub data: Vec<u8>,
    /// Extensions from the first semicolon on, or empty.
    pub extensions: Vec<u8>,
}

/// Reasons why a message cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A part of the message violates its grammar.
    #[error("this is no {what}: {}; use `Malformed` to send it all the same", bytes.escape_ascii())]
    Grammar {
        /// Name of the part.
        what: &'static str,
        /// Bytes of the part.
        bytes: Vec<u8>,
    },
    /// The caller added a field that the writer sets itself.
    #[error("the writer sets {0} itself; use `Malformed` to add another")]
    Reserved(String),
    /// The message may not have content, or the content would not be delimited.
    #[error("such a message cannot have such a body; use `Malformed` to send it all the same")]
    Body,
    /// The message has no part in which this defect could be introduced.
    #[error("nothing to spoil in this message with {0:?}")]
    NothingToSpoil(Malformed),
}

impl Outgoing {
    /// Returns a request. `Host` is the first field, as RFC 9110 (section 7.2) recommends.
    pub fn request(method: impl AsRef<[u8]>, target: impl AsRef<[u8]>, host: impl AsRef<[u8]>) -> Self {
        let [method, target, host] = [method.as_ref(), target.as_ref(), host.as_ref()].map(<[u8]>::to_vec);
        Outgoing::new(StartParts::Request { method, target, host })
    }

    /// Returns a response.
    pub fn response(status: u16, reason: impl AsRef<[u8]>) -> Self {
        Outgoing::new(StartParts::Response { status, reason: reason.as_ref().to_vec() })
    }

    fn new(start: StartParts) -> Self {
        Outgoing { start, fields: Vec::new(), body: Body::None, wrong: Vec::new() }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.as_ref().to_vec(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Adds a defect, which is introduced after those added before.
    #[must_use]
    pub fn wrong(mut self, wrong: Malformed) -> Self {
        self.wrong.push(wrong);
        self
    }

    /// Encodes the message.
    pub fn encode(&self) -> Result<Encoded, WriteError> {
        let mut parts = Parts::default();
        match &self.start {
            StartParts::Request { method, target, host } => {
                require(is_token(method), "method", method)?;
                let is_target = !target.is_empty() && target.iter().all(u8::is_ascii_graphic);
                require(is_target, "request target", target)?;
                parts.line(&[method, b" ", target, b" HTTP/1.1"]);
                parts.field(b"Host", host)?;
            }
            StartParts::Response { status, reason } => {
                let status = status.to_string();
                require((100..600).contains(&self.status()), "status code", status.as_bytes())?;
                require(reason.iter().all(|byte| is_text(*byte)), "reason phrase", reason)?;
                parts.line(&[b"HTTP/1.1 ", status.as_bytes(), b" ", reason]);
            }
        }
        for (name, value) in &self.fields {
            let reserved: &[&str] = match self.start {
                StartParts::Request { .. } => &["Host", "Content-Length", "Transfer-Encoding"],
                StartParts::Response { .. } => &["Content-Length", "Transfer-Encoding"],
            };
            if let Some(reserved) = reserved.iter().find(|each| name.eq_ignore_ascii_case(each.as_bytes())) {
                return Err(WriteError::Reserved((*reserved).to_owned()));
            }
            parts.field(name, value)?;
        }
        self.add_body(&mut parts)?;
        for wrong in &self.wrong {
            wrong.spoil(&mut parts)?;
        }
        Ok(parts.encode())
    }

    /// Returns the status code; 0 for a request.
    fn status(&self) -> u16 {
        match self.start {
            StartParts::Response { status, .. } => status,
            StartParts::Request { .. } => 0,
        }
    }

    fn add_body(&self, parts: &mut Parts) -> Result<(), WriteError> {
        let (status, is_request) = (self.status(), matches!(self.start, StartParts::Request { .. }));
        let has_content = !matches!(status, 100..=199 | 204 | 304);
        let length = |length: usize| length.to_string().into_bytes();
        match &self.body {
            Body::None if is_request || !has_content => {}
            Body::None => parts.field(b"Content-Length", b"0")?,
            Body::Announced(length) if !is_request && (has_content || status == 304) => {
                parts.field(b"Content-Length", length.to_string().as_bytes())?;
            }
            Body::Sized(body) if has_content => {
                parts.field(b"Content-Length", &length(body.len()))?;
                parts.body.clone_from(body);
            }
            Body::UntilClose(body) if !is_request && has_content => {
                parts.field(b"Connection", b"close")?;
                parts.body.clone_from(body);
            }
            Body::Chunked(chunks, trailers) if has_content => {
                parts.field(b"Transfer-Encoding", b"chunked")?;
                let chunks = chunks.iter().map(ChunkParts::new);
                parts.chunks = chunks.collect::<Result<_, _>>()?;
                let last = ChunkParts { size: b"0".to_vec(), ..ChunkParts::default() };
                parts.chunks.push(last);
                for (name, value) in trailers {
                    parts.trailers.push(field_line(name, value)?);
                }
                parts.trailers.push(Vec::new());
            }
            _ => return Err(WriteError::Body),
        }
        parts.line(&[]);
        Ok(())
    }
}

fn require(holds: bool, what: &'static str, bytes: &[u8]) -> Result<(), WriteError> {
    if holds { Ok(()) } else { Err(WriteError::Grammar { what, bytes: bytes.to_vec() }) }
}

fn field_line(name: &[u8], value: &[u8]) -> Result<Vec<u8>, WriteError> {
    require(is_token(name), "field name", name)?;
    require(value.iter().all(|byte| is_text(*byte)) && trim(value) == value, "field value", value)?;
    Ok([name, b": ", value].concat())
}

/// A message before encoding, in a form into which defects can be introduced.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) before: Vec<u8>,
    /// Lines and their line ends: the start line, the fields, the empty line.
    pub(super) head: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    pub(super) chunks: Vec<ChunkParts>,
    /// Trailer lines, including the empty line.
    pub(super) trailers: Vec<Vec<u8>>,
    pub(super) after: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct ChunkParts {
    pub(super) size: Vec<u8>,
    extensions: Vec<u8>,
    pub(super) data: Vec<u8>,
    pub(super) end: Vec<u8>,
}

impl ChunkParts {
    fn new(chunk: &Chunk) -> Result<Self, WriteError> {
        let line = [b"0", &chunk.extensions[..]].concat();
        let mut anomalies = super::anomaly::Anomalies::new(1);
        super::chunk::size(&line, 0, &mut anomalies);
        let is_right = anomalies.list().is_empty() && matches!(chunk.extensions.first(), None | Some(b';'));
        require(is_right, "chunk extension", &chunk.extensions)?;
        require(!chunk.data.is_empty(), "data of a chunk", &chunk.data)?;
        let (extensions, data) = (chunk.extensions.clone(), chunk.data.clone());
        Ok(ChunkParts {
            size: format!("{:x}", data.len()).into_bytes(),
            extensions,
            data,
            end: b"\r\n".to_vec(),
        })
    }
}

impl Parts {
    fn line(&mut self, parts: &[&[u8]]) {
        self.head.push((parts.concat(), b"\r\n".to_vec()));
    }

    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), WriteError> {
        let line = field_line(name, value)?;
        self.line(&[&line]);
        Ok(())
    }

    pub(super) fn encode(&self) -> Encoded {
        let mut encoded = Encoded { bytes: Vec::new(), pieces: Vec::new() };
        encoded.push(PieceKind::Lead, &[&self.before]);
        let last = self.head.len().saturating_sub(1);
        for (index, (line, end)) in self.head.iter().enumerate() {
            let kind = match index {
                0 => PieceKind::StartLine,
                _ if index == last => PieceKind::HeadEnd,
                _ => PieceKind::FieldLine,
            };
            encoded.push(kind, &[line, end]);
        }
        encoded.push(PieceKind::Body, &[&self.body]);
        for chunk in &self.chunks {
            encoded.push(PieceKind::ChunkLine, &[&chunk.size, &chunk.extensions, b"\r\n"]);
            encoded.push(PieceKind::ChunkData, &[&chunk.data]);
            encoded.push(PieceKind::ChunkEnd, &[&chunk.end]);
        }
        for line in &self.trailers {
            let kind = if line.is_empty() { PieceKind::TrailerEnd } else { PieceKind::TrailerLine };
            encoded.push(kind, &[line, b"\r\n"]);
        }
        encoded.push(PieceKind::Loose, &[&self.after]);
        encoded
    }
}

/// An encoded message: its bytes, divided into pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    bytes: Vec<u8>,
    pieces: Vec<MessagePiece>,
}

impl Encoded {
    /// Returns the bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the pieces, in order and without gaps.
    pub fn pieces(&self) -> &[MessagePiece] {
        &self.pieces
    }

    /// Returns the length of the head, including any bytes before the start line.
    pub fn head_length(&self) -> usize {
        let head = self.pieces.iter().find(|piece| piece.kind == PieceKind::HeadEnd);
        head.map_or(0, |piece| piece.range.end)
    }

    /// Returns positions at which splitting the message may confuse a server: between pieces, between CR and LF, in the
    /// middle of a piece.
    pub fn splits(&self) -> Vec<usize> {
        let cuts = self.pieces.iter().flat_map(|piece| {
            let range = piece.range.clone();
            let crlf = if self.bytes[range.clone()].ends_with(b"\r\n") { range.end - 1 } else { range.end };
            [range.start, range.start + range.len() / 2, crlf]
        });
        let mut cuts: Vec<usize> = cuts.filter(|cut| (1..self.bytes.len()).contains(cut)).collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    fn push(&mut self, kind: PieceKind, parts: &[&[u8]]) {
        let start = self.bytes.len();
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        if start < self.bytes.len() {
            self.pieces.push(MessagePiece { kind, range: start..self.bytes.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correct_by_default() {
        let put = Outgoing::request("PUT", "/a", "h:1")
            .field("If-Match", "\"x\"")
            .body(Body::Sized(b"hi".to_vec()));
        let text = b"PUT /a HTTP/1.1\r\nHost: h:1\r\nIf-Match: \"x\"\r\nContent-Length: 2\r\n\r\nhi";
        let encoded = put.encode().unwrap();
        assert_eq!(encoded.bytes(), text);
        assert_eq!(encoded.head_length(), text.len() - 2);
        assert_eq!(&encoded.splits()[..4], [8, 16, 17, 22]);
        let get = Outgoing::request("GET", "/", "h").encode().unwrap();
        assert_eq!(get.bytes(), b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        let chunk = Chunk { data: vec![b'x'; 17], extensions: b";a=b".to_vec() };
        let body = Body::Chunked(vec![chunk], vec![(b"T".to_vec(), b"1".to_vec())]);
        let chunked = Outgoing::response(200, "").body(body).encode().unwrap();
        let text = "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n11;a=b\r\nxxxxxxxxxxxxxxxxx\r\n0\r\nT: 1\r\n\r\n";
        assert_eq!(chunked.bytes(), text.as_bytes());
        assert_eq!(Outgoing::response(204, "No").encode().unwrap().bytes(), b"HTTP/1.1 204 No\r\n\r\n");
    }

    #[test]
    fn wrong_only_on_purpose() {
        let get = || Outgoing::request("GET", "/", "h");
        let grammar = |outgoing: Outgoing| match outgoing.encode().unwrap_err() {
            WriteError::Grammar { what, .. } => what,
            other => panic!("{other}"),
        };
        assert_eq!(grammar(Outgoing::request("G T", "/", "h")), "method");
        assert_eq!(grammar(Outgoing::request("GET", "/ ", "h")), "request target");
        assert_eq!(grammar(get().field("a:", "b")), "field name");
        assert_eq!(grammar(get().field("a", "b\r\nc: d")), "field value");
        assert_eq!(grammar(get().field("a", " b")), "field value");
        assert_eq!(grammar(Outgoing::response(99, "")), "status code");
        assert_eq!(grammar(get().body(Body::chunks([&b""[..]]))), "data of a chunk");
        assert_eq!(get().field("hOst", "b").encode(), Err(WriteError::Reserved("Host".to_owned())));
        assert_eq!(get().body(Body::UntilClose(vec![])).encode(), Err(WriteError::Body));
        assert_eq!(Outgoing::response(204, "").body(Body::Sized(vec![])).encode(), Err(WriteError::Body));
    }
}
