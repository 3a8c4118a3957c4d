//! Bytes to messages and back.

mod line;
mod reader;
mod writer;

pub use reader::{MOST_DATA, MOST_LINE, WireReader};
pub use writer::write;
