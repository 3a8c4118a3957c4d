//! Tests of the model of an origin server: traces that it refutes, traces that it allows, and cases against real
//! servers.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests are tests")]

mod conditions;
mod driver;
mod embedded;
mod every;
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
