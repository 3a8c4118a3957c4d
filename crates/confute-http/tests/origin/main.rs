//! The model of an origin server: what it accuses, what it allows, and what it makes of real servers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests are tests")]

mod conditions;
mod driver;
mod embedded;
mod ranges;
mod simulated;
mod storage;
mod story;
mod traps;
mod wire;
