//! Explanation of a refuted trace: the expected responses, the rule that must have been broken, and the proof.

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
pub use reasons::{Bar, Counterfactual, Ground, Reasons, reasons};
pub(crate) use reasons::{core_of, reasons_of};
pub use say::Names;
