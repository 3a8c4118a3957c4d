//! The HTTP kit: models of a correct origin server and of a correct gateway, their rules, and traffic for them.
//!
//! [`confute_http1`] reads and writes the bytes. [`message`] defines the form in which the models see messages, and
//! [`encode`] and [`decode`] convert between that form and the bytes.
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
pub mod decode;
mod discovery;
mod display;
pub mod encode;
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

pub use ask::{Ask, AskDate, AskIfRange, AskRequest, AskResponse, AskTag, AskTags};
pub use exhaust::Exhaust;
pub use generate::{Mixture, Passage, Reads, Traffic};
pub use kit::{HttpKit, origin};
pub use model::{Origin, TagStyle};
pub use protocol::{GatewaySide, Http, OriginSide};
pub use server::{Expected, Server, all_rules};
