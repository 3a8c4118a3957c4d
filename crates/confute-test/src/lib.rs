//! Tests a server from `cargo test`.
//!
//! ```no_run
//! # fn start_my_server() -> String { String::new() }
//! #[test]
//! fn keeps_to_the_standard() {
//!     let url = start_my_server();
//!     confute_test::http(&url).run();
//! }
//! ```
//!
//! A failure prints the smallest counterexample that was found and stores it in `confute-regressions`, beside `Cargo.toml`;
//! what is stored there is tried first the next time, so commit it. `CONFUTE_SEED`, `CONFUTE_MAX_TIME` and `CONFUTE_CASES`
//! override what a test says. A server that speaks another protocol is tested with [`Check::new`].
//!
//! [`replay`] does stored violations again, for the command line and for exported tests.

pub mod check;
pub mod replay;
pub mod way;

pub use check::{Check, http, memcached};

use confute_report::stored::File;
use replay::Replay;
use std::sync::atomic::AtomicBool;

/// Does a stored violation again, to the server at this URL (or `HOST:PORT`).
///
/// # Panics
///
/// If it still shows, or if that cannot be found out.
#[track_caller]
pub fn still_passes(case: &str, server: &str) {
    let replay = Replay { target: Some(server.to_owned()), ..Replay::default() };
    let came = File::parse("the stored case".to_owned(), case.to_owned())
        .and_then(|file| replay.go(file, &AtomicBool::new(false)));
    match came {
        Ok(came) => {
            let rate = came.rate.unwrap_or_default();
            if let Some(now) = &came.now {
                check::fail(&format!("{}it still fails in {rate}: {}", now.text, now.name));
            }
            if let Some(why) = came.unknown.filter(|_| rate.of == 0) {
                check::fail(&format!("it could not be judged: {why}"));
            }
        }
        Err(why) => check::fail(&format!("{why:#}")),
    }
}
