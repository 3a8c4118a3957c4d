//! The Redis model: on recorded exchanges, and against a real server. Tests of a server are skipped with a message if Redis is not
//! installed.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of a test")]

mod faults;
mod litmus;
mod real;

use confute_testbed::ServerError;
use confute_testbed::redis::Redis;

/// Starts a Redis with these arguments. `None` if it is not installed.
fn start(arguments: &[&str]) -> Option<Redis> {
    match Redis::start(arguments) {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) => {
            println!("{error}: nothing was tested");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
