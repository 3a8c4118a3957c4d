//! The memcached model: by itself, as a server, and against a real one.

mod common;
mod litmus;
mod real;
mod simulated;
mod traffic;
mod wire;
