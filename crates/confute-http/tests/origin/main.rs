//! The model of an origin server: what it accuses, what it allows, and what it makes of real servers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests are tests")]

mod conditions;
mod driver;
mod embedded;
mod named;
mod open;
mod ranges;
mod robbed;
mod simulated;
mod steady;
mod storage;
mod story;
mod traps;
mod wire;
