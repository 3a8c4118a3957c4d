//! Redis: messages, wire, the model of a correct server, rules, and traffic.
//!
//! This crate is the worked example of a protocol crate on [`confute_service`]. [`Redis`] declares the messages, from which
//! scripts, encoding, comparison, shrinking and reports follow; [`Resp`] is a wire with transactions; [`RedisModel`] is a correct
//! server; [`traffic()`] lists the requests and the sequences of requests that belong together; `survey` finds out whether the server
//! can be tested. [`RedisKit`] makes a command of the binary of it.
//!
//! Limits: one database, RESP version 2, strings, integers and lists, no scripts, no publish/subscribe, no cluster.

mod explain;
mod kit;
mod message;
mod model;
pub mod rules;
mod survey;
mod traffic;
mod wire;

pub use kit::{Password, RedisKit, server};
pub use message::{Batch, Millis, Redis, Timeout};
pub use model::{Answer, RedisModel};
pub use traffic::{expiring_traffic, traffic};
pub use wire::Resp;

/// Redis as a service.
pub type RedisService = confute_service::Service<RedisModel, Resp>;
