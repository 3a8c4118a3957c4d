//! Why a trace was refuted: what was expected instead, which rule must have been broken, and what proves it.

mod blame;
mod exchange;
mod expected;
mod orders;
mod reasons;
mod say;

pub use blame::{Depth, blame, blame_by_parts};
pub use expected::explain;
pub use reasons::{Bar, Deviation, Ground, Reasons, reasons};
pub use say::Names;
