//! A gateway (a reverse proxy): the tester is its client and its origin.
//!
//! | to find out | read |
//! |---|---|
//! | what a gateway has to do | `model`, with the demands in [`rules`] |
//! | whether a request was forwarded as it came | `forward` |
//! | whether an answer was relayed as it came | `relay` |
//! | what the model sees of the traffic | [`message`] |
//! | how that becomes bytes, and back | `encode`, `decode` |
//! | what is asked, and what the origin answers | `generate` |
//!
//! The standard asks little of a gateway (RFC 9110, 3.7, calls it an origin server towards the client, and lets it map as
//! it is configured). What it asks are rules of its own levels. What everybody expects beyond that (the same method, the
//! same content, once) is of level *store*, and reports say so.

mod breach;
pub(crate) mod decode;
mod display;
mod encode;
mod expected;
mod forward;
mod generate;
pub mod message;
mod model;
mod protocol;
pub(crate) mod queue;
mod relay;
pub mod rules;
mod smaller;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traces;

pub use decode::{ClientReader, ProxyReader};
pub use expected::Expected;
pub use generate::Passage;
pub use model::{Gateway, Mapping};
pub(crate) use protocol::note_causes;
pub use protocol::{Answer, Ask, Proxy, Question};
