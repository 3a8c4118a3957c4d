//! Reports of runs: real ones against small servers, and fabricated ones that are too large or hostile.

#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, shared with those of the driver")]

mod browser;
mod defects;
mod fabricated;
mod files;
mod killed;
mod known;
mod many;
mod page;
mod proofs;
#[path = "../../../confute-drive/tests/drive/protocol.rs"]
mod protocol;
#[path = "../../../confute-drive/tests/drive/server.rs"]
mod server;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::Level;
use confute_drive::{AnyGenerator, Limits, Outcome, Plan, Target, campaign};
use confute_record::RunRecord;
use confute_report::files::{Reports, Written, read_record};
use confute_run::session::{Beside, Recorder};
use confute_run::{Subject, record, shrink};

use protocol::{Busy, Lines};
use server::Server;

/// A completed run, with all data of its record.
struct Ran {
    plan: Plan,
    outcome: Outcome,
    recorder: Recorder,
    beside: Beside,
}

impl Ran {
    fn record(&self) -> RunRecord {
        let Self { plan, outcome, recorder, beside } = self;
        let remarks = &["it <i>can</i> do things".to_owned()];
        record::of(&subject(plan.target), plan, outcome, beside, &recorder.log, remarks)
    }
}

/// Tests a server for this many cases.
fn ran(server: &Server, level: Level, cases: u64) -> Ran {
    let limits = Limits { patience: Duration::from_millis(300), ..Limits::default() };
    let target = Target::new(server.address);
    let plan = Plan { limits, seed: 3, cases: Some(cases), level, ..Plan::new(target) };
    let make = |_| AnyGenerator::new(Busy { most: 1, ..Busy::new(200) });
    let mut recorder = Recorder::default();
    let stop = AtomicBool::new(false);
    let mut outcome = campaign(&Lines::default(), &plan, &make, &mut recorder, &stop);
    let (protocol, time) = (Lines::default(), Duration::from_secs(30));
    shrink::all(&protocol, &plan, time, &mut outcome.findings, &stop, &mut |_| {});
    Ran { plan, outcome, recorder, beside: Beside::default() }
}

fn subject(target: Target) -> Subject {
    let traffic = |_| AnyGenerator::new(Busy::new(200));
    Subject {
        premise: "nobody else writes".to_owned(),
        shown: "127.0.0.1:1 <b>\u{1}".to_owned(),
        clause: |rule| (rule == "line/set-lasts").then_some("RFC 1 <section> 2"),
        ..Subject::new("line", Lines::default(), target, traffic)
    }
}

/// Writes the files of a run into a folder of this name, which is kept for inspection.
fn written(name: &str, ran: &Ran) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let record = ran.record();
    let Written { paths, missing } = Reports::create(&folder).unwrap().write(&record);
    assert!(missing.is_empty() && paths.iter().all(|path| path.is_file()), "{paths:?} {missing:?}");
    assert_eq!(record.notes.missing, Vec::<String>::new());
    are_made_again(&folder);
    folder
}

/// Checks that every report is a function of the stored record alone.
fn are_made_again(folder: &Path) {
    let again = folder.with_extension("again");
    let record = read_record(&folder.join("record.json")).unwrap();
    Reports::create(&again).unwrap().write(&record);
    for name in ["record.json", "events.jsonl"] {
        let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
        assert!(read(folder) == read(&again), "{name}");
    }
    std::fs::remove_dir_all(&again).unwrap();
}
