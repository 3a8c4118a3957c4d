//! One server that is an origin below one prefix and a gateway below another, as in the paper's first example.
//!
//! Nothing about HTTP is said here. The two models are put together: a turn goes to the one that the target of the request
//! belongs to, with the rules and the state of both, and answers leave a connection in the order of its requests, whichever
//! of the two they come from.
//!
//! | to find out | read |
//! |---|---|
//! | how one model is run inside another | `model` |
//! | what travels | `message` |
//! | which answer on a connection is whose | `reader` |
//! | what the driver needs to know | `protocol` |
//! | what is asked | `generate` |

mod generate;
mod message;
mod model;
mod protocol;
mod reader;
#[cfg(test)]
mod tests;

pub use generate::Mixture;
pub use message::{Expected, Message};
pub use model::{Server, rules};
pub use protocol::{Ask, Dual};
pub use reader::DualReader;
