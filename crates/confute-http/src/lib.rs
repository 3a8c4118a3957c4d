//! HTTP/1.1 for testing: every byte is kept, every anomaly is listed.
//!
//! [`wire`] reads and writes messages. A reader is fed bytes as they arrive and yields messages, with the bytes they
//! were made of and a list of [`wire::Anomaly`]s; nothing that the server sent is normalised away. [`message`] defines
//! the form in which the models see them, and [`encode`] and [`decode`] convert between that form and the bytes.
//!
//! ```
//! use confute_http::wire::{Read, ResponseReader};
//!
//! let mut reader = ResponseReader::default();
//! reader.expect(b"GET");
//! reader.feed(b"HTTP/1.1 200 OK\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nhi");
//! let Read::Message(raw) = reader.read() else { panic!("all of it is there") };
//! assert_eq!(raw.anomalies()[0].to_string(), "byte 15: a line ends in LF without CR before it");
//! assert_eq!((raw.status(), &*raw.content()), (Some(200), &b"hi"[..]));
//! ```
//!
//! [`Origin`] is the model of a correct origin server, and [`rules`] are its rules; [`proxy`] is the counterpart for
//! gateways. [`Server`] is the model of a server that is either, or both at once.
//!
//! [`Http`] is the protocol for the driver. [`Traffic`] generates requests to an origin server, [`Reads`] to one that
//! is only read, [`Passage`] to a gateway, and [`Mixture`] to a server that is both. [`Exhaust`] enumerates all scripts
//! up to a number of requests.
//!
//! This crate has no sockets and no clock.

mod alone;
mod ask;
mod branch;
mod content_range;
pub mod date;
pub mod decode;
mod discovery;
mod display;
pub mod encode;
mod etag;
mod exhaust;
mod experiment;
mod export;
mod forwarded;
mod generate;
mod kit;
mod mark;
pub mod message;
mod model;
mod notice;
mod pairs;
mod protocol;
pub mod proxy;
pub mod rules;
mod server;
mod settled;
mod smaller;
mod stray;
mod survey;
pub mod text;
mod way;
pub mod wire;

pub use ask::{Ask, AskDate, AskIfRange, AskRequest, AskResponse, AskTag, AskTags};
pub use exhaust::Exhaust;
pub use generate::{Mixture, Passage, Reads, Traffic};
pub use kit::{HttpKit, origin};
pub use model::{Origin, TagStyle};
pub use protocol::{GatewaySide, Http, OriginSide};
pub use server::{Expected, Server, all_rules};
