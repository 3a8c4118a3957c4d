//! HTTP/1.1 as a tester needs it: every byte kept, every oddity listed.
//!
//! [`wire`] reads and writes messages. A reader is fed bytes as they come and yields messages, with the bytes they were
//! made of and a list of [`wire::Anomaly`]s; nothing that the server sent is normalised away. [`etag`], [`date`] and
//! [`content_range`] read the field values that conditional and partial requests turn on.
//!
//! ```
//! use confute_http::wire::{Read, ResponseReader};
//!
//! let mut reader = ResponseReader::default();
//! reader.expect(b"GET");
//! reader.feed(b"HTTP/1.1 200 OK\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nhi");
//! let Read::Message(raw) = reader.read() else { panic!("all of it is there") };
//! assert_eq!(raw.anomalies()[0].to_string(), "byte 15: a line ends in LF without CR before it");
//! let response = raw.validate().expect("a recipient may tolerate that");
//! assert_eq!((response.status, &*response.content), (200, &b"hi"[..]));
//! ```
//!
//! [`Origin`] is the model of a correct origin server, [`rules`] are its demands, and [`message`] is what it sees of the
//! traffic: [`encode`] and [`decode`] lie between that and the bytes.
//!
//! [`Http`] is what a driver needs to know of all this; [`Traffic`] makes up what to ask, and [`Reads`] does so where nothing
//! may be written. [`Exhaust`] is every script of up to so many requests.
//!
//! [`proxy`] is the same for gateways: the model, its rules, the protocol and the traffic. [`dual`] puts both together, for
//! one server that is both.
//!
//! This crate has no sockets and no clock.

mod alone;
mod ask;
mod branch;
pub mod content_range;
pub mod date;
pub mod decode;
mod display;
pub mod dual;
pub mod encode;
pub mod etag;
mod exhaust;
mod export;
mod generate;
mod kit;
mod mark;
pub mod message;
mod model;
mod notice;
mod protocol;
pub mod proxy;
pub mod rules;
mod settled;
mod smaller;
mod stray;
mod survey;
pub mod text;
mod way;
pub mod wire;

pub use exhaust::Exhaust;
pub use generate::{Reads, Traffic};
pub use kit::{HttpKit, origin};
pub use model::{Expected, Origin, TagStyle};
pub use protocol::{Ask, AskDate, AskIfRange, AskTag, AskTags, Http};
