//! Lossless reading and writing of HTTP/1.1 messages, on two levels.
//!
//! [`Raw`] is a message exactly as it came: its bytes, cut into [`Piece`]s that tile them, and every [`Anomaly`]. On top,
//! [`Raw::validate`] gives a [`Response`] or [`Request`] if the message is whole and means one thing only.
//!
//! This is own code because `httparse` and `hyper` hide what a tester must see: bare LF, leading CRLF, odd reason phrases.
//!
//! What delimits a message follows RFC 9112, section 6.3. Where the standard lets a recipient choose, the reader goes on
//! and lists what it passed over. Where it does not know any more where a message ends, it stops for good: a guess would
//! accuse a correct server.

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
mod view;
mod writer;

pub use anomaly::{Anomaly, Kind, Limit, Section};
pub use fields::{Coding, Field, FieldLine, Fields, Length, split_list};
pub use framing::Framing;
pub use limits::Limits;
pub use malformed::Malformed;
pub use message::{Ending, Piece, PieceKind, Raw, RawRequest, RawResponse};
pub use reader::{Read, Reader, RequestReader, ResponseReader};
pub use start::{RequestLine, Start, StatusLine, Version};
pub use view::{Invalid, Request, Response};
pub use writer::{Body, Chunk, Encoded, Outgoing, WriteError};
