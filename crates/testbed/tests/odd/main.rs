//! The odd servers, seen through raw sockets: each oddity alone keeps the promises of a store, and does what its entry says.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod client;
mod gateways;
mod origins;
