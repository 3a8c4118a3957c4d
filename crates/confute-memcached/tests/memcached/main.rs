//! The memcached model: on its own, as a simulated server, and against a real one.

mod common;
mod litmus;
mod real;
mod simulated;
mod traffic;
mod wire;
