//! The model of an origin server (RFC 9110 and 9112).
//!
//! | subject | module |
//! |---|---|
//! | behaviour of a correct server, and its correct responses | `spec`; details in `condition`, `content`, `late` |
//! | behaviour of a server that breaks a rule | `deviations`, and the table in [`rules`](crate::rules) |
//! | state of a resource, and the secret values in it | `entry` |
//! | expected responses as text, and as sent by a simulated server | `display`, `show` |

mod condition;
mod content;
mod deviations;
mod display;
mod entry;
mod expected;
mod late;
mod origin;
mod show;
mod spec;
#[cfg(test)]
mod tests;
mod transaction;

pub(crate) use deviations::ROUNDED;
pub(crate) use expected::ExpectedResponse;
pub use origin::Origin;
pub use transaction::TagStyle;
