//! The model of a gateway (a reverse proxy). The tester is both its client and its origin.
//!
//! | subject | module |
//! |---|---|
//! | behaviour of a correct gateway, and the rules that a message breaks | `spec`, with `fields` for details |
//! | behaviour of a gateway that breaks a rule | `deviations`, and the table in [`rules`] |
//!
//! The standard requires little of a gateway: RFC 9110, 3.7, defines it as an origin server towards the client, which
//! translates requests as it is configured. These requirements are rules of the levels of the standard. General
//! expectations beyond them (the same method, the same content, forwarded once) are rules of level *store*, and
//! reports print the level.

mod deviations;
#[cfg(test)]
mod every;
mod expected;
mod fields;
mod model;
pub(crate) mod queue;
pub use crate::rules::gateway as rules;
mod spec;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod traces;

pub(crate) use expected::ExpectedMessage;
pub use model::{Gateway, Mapping};
