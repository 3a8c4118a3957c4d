//! Lossless reading and writing of HTTP/1.1 messages.
//!
//! [`Raw`] is a message exactly as it was received: its bytes, divided into [`Piece`]s without gaps, and every
//! [`Anomaly`].
//!
//! `httparse` and `hyper` are not used because they hide details that a tester must see: bare LF, leading CRLF, odd
//! reason phrases.
//!
//! The end of a message is determined by RFC 9112, section 6.3. Where the standard lets a recipient choose, the reader
//! continues and lists the anomaly. If the end of a message is unknown, the reader stops for good: a guess could accuse
//! a correct server.

mod anomaly;
mod chunk;
mod fields;
mod framing;
pub(crate) mod grammar;
mod limits;
mod malformed;
mod message;
mod reader;
mod start;
mod writer;

pub use anomaly::{Anomaly, Kind, Limit, Section};
pub use fields::{Coding, FieldLine, Length, RawField, RawFields, split_list};
pub use framing::Framing;
pub use limits::ReaderLimits;
pub use malformed::Malformed;
pub use message::{Ending, Piece, PieceKind, Raw, RawRequest, RawResponse};
pub use reader::{Read, Reader, RequestReader, ResponseReader};
pub use start::{RequestLine, Start, StatusLine, Version};
pub use writer::{Body, Chunk, Encoded, Outgoing, WriteError};
