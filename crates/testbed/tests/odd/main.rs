//! Tests of the odd servers through raw sockets: with each oddity alone, the server keeps the promises of a store and
//! behaves as its table entry says.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod client;
mod gateways;
mod origins;
