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
//! [`still_passes`] does a stored violation again, for exported tests.

pub mod check;

pub use check::{Check, http, http_through, memcached};
pub use confute_run::kit::Reach;

use std::sync::atomic::AtomicBool;

use confute_kits::KITS;
use confute_report::violation::violation;
use confute_run::RunError;
use confute_run::replay::Replay;
use confute_run::stored::File;

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
        check::fail(&why.to_string());
    }
}

fn try_case(case: &str, server: &str) -> Result<(), RunError> {
    let file = File::parse("the stored case".to_owned(), case.to_owned())?;
    let runs = file.about.runs(RUNS.0, RUNS.1);
    let replay = Replay { target: Some(server.to_owned()), runs, ..Replay::default() };
    let came = replay.go(KITS, file, &AtomicBool::new(false))?;
    if let Some(now) = &came.now {
        let mut text = Vec::new();
        // Nothing fails to be written into memory.
        let _ = violation(&now.rules, &now.violation, false, &[], &mut text);
        let text = String::from_utf8_lossy(&text);
        return Err(RunError::Input(format!("{text}it {}", came.told())));
    }
    let judged = came.rate.unwrap_or_default().of;
    if judged <= runs / 2 {
        let why = came.unknown.unwrap_or_default();
        let why = format!("it could not be judged: only {judged} of {runs} runs were: {why}");
        return Err(RunError::Input(why));
    }
    Ok(())
}
