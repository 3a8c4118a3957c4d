//! Parser and encoder of the wire format.

mod line;
mod reader;
mod writer;

pub use reader::{MOST_DATA, MOST_LINE, WireReader};
pub use writer::write;
