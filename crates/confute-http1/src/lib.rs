//! HTTP/1.1 messages as bytes: lossless reading and writing, and the values of fields that every model of a server needs.
//!
//! A reader is fed bytes as they arrive and yields messages. [`Raw`] is a message exactly as it was received: its bytes,
//! divided into [`MessagePiece`]s without gaps, and every [`Anomaly`]. Nothing that a server sent is normalised away.
//!
//! ```
//! use confute_http1::{Read, ResponseReader};
//!
//! let mut reader = ResponseReader::default();
//! reader.expect(b"GET");
//! reader.feed(b"HTTP/1.1 200 OK\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nhi");
//! let Read::Message(raw) = reader.read() else { panic!("all of it is there") };
//! assert_eq!(raw.anomalies()[0].to_string(), "byte 15: a line ends in LF without CR before it");
//! assert_eq!((raw.status(), &*raw.content()), (Some(200), &b"hi"[..]));
//! ```
//!
//! [`Outgoing`] writes a message, also a malformed one. [`Tag`]s, [`date`]s and ranges ([`RangeSent`]) are parsed exactly.
//! Two kits use this crate: the one for HTTP servers and the one for REST services, which know nothing of each other. The
//! crate knows no model, no socket and no clock.
//!
//! `httparse` and `hyper` are not used because they hide details that a tester must see: bare LF, leading CRLF, odd
//! reason phrases.
//!
//! The end of a message is determined by RFC 9112, section 6.3. Where the standard lets a recipient choose, the reader
//! continues and lists the anomaly. If the end of a message is unknown, the reader stops for good: a guess could accuse
//! a correct server.

mod anomaly;
mod chunk;
mod content_range;
pub mod date;
mod etag;
mod fields;
mod framing;
mod grammar;
pub mod har;
mod limits;
mod malformed;
mod message;
mod reader;
mod start;
pub mod text;
mod writer;

pub use anomaly::{Anomaly, AnomalyKind, Limit, Section};
pub use content_range::RangeSent;
pub use etag::{IfRange, Tag, Tags};
pub use fields::{Coding, FieldLine, Length, RawField, RawFields, split_list};
pub use framing::BodyFraming;
pub use limits::ReaderLimits;
pub use malformed::Malformed;
pub use message::{Ending, MessagePiece, PieceKind, Raw, RawRequest, RawResponse};
pub use reader::{MessageReader, Read, RequestReader, ResponseReader};
pub use start::{RequestLine, Start, StatusLine, Version};
pub use writer::{Body, Chunk, Encoded, Outgoing, WriteError};
