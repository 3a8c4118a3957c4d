//! Correct servers, as models.
//!
//! | to find out | read |
//! |---|---|
//! | what a request does | `origin` for reads, `write` for the rest, `late` for writes whose outcome is open |
//! | when a condition is true | `precondition` |
//! | what is hidden | `validators` |
//! | which answers are right | `expected`, with `reply`, `show` and `debug` |

mod display;
mod expected;
mod late;
mod lax;
mod origin;
mod precondition;
mod reply;
mod show;
mod validators;
mod write;

pub use expected::Expected;
pub use origin::{Origin, TagStyle};
