//! Tests of the embedded server through raw sockets: its correct behaviour, clause by clause, and the symptom of
//! every bug.

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
