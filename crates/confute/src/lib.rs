//! Confute.

pub mod fingerprint;
pub mod knowledge;
pub mod trace;
