//! Tests of the public interface of `wire`: given messages, losslessness, independence of the division of the bytes,
//! and a comparison with `httparse`.

mod common;
mod differential;
mod fuzz;
mod properties;
mod reading;
mod steps;
