//! Messages, wires and traffic of services of one's own.

#![allow(clippy::unwrap_used, reason = "a panic is a failing test")]

mod messages;
mod objects;
mod unknown;
mod wires;
