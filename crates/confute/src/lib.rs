//! Confute proves networked servers wrong.

mod derive;
pub mod fingerprint;
pub mod history;
pub mod knowledge;
pub mod lang;
pub mod network;
pub mod random;
pub mod simulate;
mod tester;
pub mod trace;
mod verdict;

mod explain;

pub use explain::{blame, explain};
pub use tester::{Options, Pulse, Tester, judge};
pub use verdict::{Blame, Diagnosis, Expectation, Inconclusive, Refutation, Verdict};
