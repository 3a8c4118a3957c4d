//! The memcached text protocol: wire format, server model, rules and traffic.
//!
//! The standard is `protocol.txt` of memcached. [`MemcachedModel`] is a server with one copy of every item,
//! which may lose any item at any time; [`rules`] names each of its requirements. [`Memcached`] implements
//! the driver's protocol traits.
//!
//! A get of several keys is one message on the wire but one message per key for the model
//! ([`Message::parts`]), because the server may read each key at a different moment. The reader emits one
//! response per key.

mod ask;
mod branch;
mod data;
mod display;
mod generate;
mod kit;
mod message;
mod model;
mod protocol;
pub mod rules;
mod survey;
pub mod wire;

pub use ask::{Ask, StoreKind, TokenRef};
pub use data::Data;
pub use generate::{Habits, Traffic};
pub use kit::{MemcachedKit, server};
pub use message::{Answer, Command, Key, Message, Request, ResponseLine, Store, Unique};
pub use model::{MemcachedModel, Reply};
pub use protocol::Memcached;
