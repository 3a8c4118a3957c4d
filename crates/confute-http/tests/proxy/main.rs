//! Tests of the gateway model against gateways.

#![allow(clippy::unwrap_used, reason = "tests")]

mod embedded;
mod lab;
mod nginx;
mod odd;
mod real;
