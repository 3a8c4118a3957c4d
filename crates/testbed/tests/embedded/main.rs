//! The embedded server, seen through raw sockets: what it does right, feature by feature with the clause, and that every
//! bug shows.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod bugs;
mod client;
mod conditions;
mod framing;
mod methods;
mod mixed;
mod proxy;
mod ranges;
mod trouble;
