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
//! A failure prints the smallest counterexample that was found and stores it in `confute-regressions`, beside
//! `Cargo.toml`. Stored cases are run first the next time, so commit them. `CONFUTE_SEED`, `CONFUTE_MAX_TIME`
//! and `CONFUTE_CASES` override the settings of a test. [`http_through`] tests a server that requires header
//! fields or has a certificate from a private authority; [`Check::new`] tests a server of another protocol.
//!
//! [`still_passes`] replays a stored violation, for exported tests.

pub mod calls;
pub mod check;
pub mod prelude;

pub use calls::calls;
pub use check::{Check, http, http_through, memcached, rest, rest_through, service};
pub use confute_drive::Conclusion;
pub use confute_rest::plan;
pub use confute_run::kit::Reach;
pub use confute_service as service;

use std::sync::atomic::AtomicBool;

use confute_kits::KITS;
use confute_report::violation::{Extent, violation};
use confute_run::RunError;
use confute_run::replay::ReplayJob;
use confute_run::stored::File;

/// Minimum and maximum number of runs of a stored violation; the number is chosen by its reproduction rate.
const RUNS: (u32, u32) = (10, 100);

/// Replays a stored violation against the server at this URL (or `HOST:PORT`).
///
/// # Panics
///
/// If the violation reproduces, if the case shows another violation, or if most of the runs could not be judged.
#[track_caller]
pub fn still_passes(case: &str, server: &str) {
    if let Err(why) = try_case(case, server) {
        check::fail(&why.to_string());
    }
}

fn try_case(case: &str, server: &str) -> Result<(), RunError> {
    let file = File::parse("the stored case".to_owned(), case.to_owned())?;
    let runs = file.about.runs(RUNS.0, RUNS.1);
    let replay = ReplayJob { target: Some(server.to_owned()), runs, ..ReplayJob::default() };
    let came = replay.go(KITS, file, &AtomicBool::new(false))?;
    if let Some(now) = &came.now {
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = violation(&now.rules, &now.violation, Extent::Normal, &[], &mut text);
        let text = String::from_utf8_lossy(&text);
        return Err(RunError::Input(format!("{text}the stored case: {}", came.told())));
    }
    let judged = came.rate.unwrap_or_default().of;
    if judged <= runs / 2 {
        let why = came.unknown.unwrap_or_default();
        let why = format!("it could not be judged: only {judged} of {runs} runs were: {why}");
        return Err(RunError::Input(why));
    }
    Ok(())
}
