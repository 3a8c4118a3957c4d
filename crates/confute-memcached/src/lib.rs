//! The memcached text protocol: how its messages look on the wire, what a correct server does, and what to ask it.
//!
//! The standard is `protocol.txt` of memcached. [`MemcachedModel`] is a server with one copy of every item, which may
//! lose any item at any time; [`rules`] names each of its demands. [`Memcached`] is what the driver needs to know.
//!
//! A get of several keys is one message on the wire and one message a key for the model ([`Message::parts`]): each key is
//! read at a moment of its own. The reader gives every key an answer of its own.

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
pub use message::{Answer, Command, Key, Line, Message, Request, Store, Unique};
pub use model::{MemcachedModel, Reply};
pub use protocol::Memcached;
