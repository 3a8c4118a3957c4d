//! The shipped models as users meet them: by name, as readers of histories, and as simulated servers.
//!
//! They are tests of the public interface, because the library with its simulations would otherwise be compiled twice.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is a failing test, and long tests report counts"
)]

mod recorded;
mod registry;
mod sequences;
mod simulations;
