//! Why a trace was refuted: what was expected instead, which rule must have been broken, and what proves it.

mod blame;
mod exchange;
mod expected;
mod orders;
mod reasons;
mod say;

pub(crate) use blame::blame_erased;
pub use blame::{Depth, blame, blame_by_parts};
pub use expected::explain;
pub(crate) use expected::explain_erased;
pub(crate) use reasons::reasons_of;
pub use reasons::{Bar, Deviation, Ground, Reasons, reasons};
pub use say::Names;
