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
//! override what a test says. A server that wants header fields, or has a certificate of its own, is reached with
//! [`http_through`]; one that speaks another protocol is tested with [`Check::new`].
//!
//! [`replay`] does stored violations again, for the command line and for exported tests.

pub mod check;
pub mod replay;
pub mod way;

pub use check::{Check, http, http_through, memcached};
pub use way::Reach;

use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use confute_report::stored::File;
use replay::Replay;

/// How often a stored violation is done, within bounds: as often as it takes to see it, going by how often it showed then.
const RUNS: (u32, u32) = (10, 100);

/// Does a stored violation again, to the server at this URL (or `HOST:PORT`).
///
/// # Panics
///
/// If it still shows, if the case shows something else that is wrong, or if most of the runs could not be judged.
#[track_caller]
pub fn still_passes(case: &str, server: &str) {
    if let Err(why) = try_case(case, server) {
        check::fail(&format!("{why:#}"));
    }
}

fn try_case(case: &str, server: &str) -> Result<()> {
    let file = File::parse("the stored case".to_owned(), case.to_owned())?;
    let runs = file.about.runs(RUNS.0, RUNS.1);
    let replay = Replay { target: Some(server.to_owned()), runs, ..Replay::default() };
    let came = replay.go(file, &AtomicBool::new(false))?;
    if let Some(now) = &came.now {
        bail!("{}it {}", now.text, came.told());
    }
    let judged = came.rate.unwrap_or_default().of;
    if judged <= runs / 2 {
        let why = came.unknown.unwrap_or_default();
        bail!("it could not be judged: only {judged} of {runs} runs were: {why}");
    }
    Ok(())
}
