//! What is written about runs: real ones against small servers, and made-up ones that are too large or hostile.

#![allow(clippy::unwrap_used, dead_code, reason = "helpers of tests, shared with those of the driver")]

mod browser;
mod defects;
mod fabricated;
mod files;
mod killed;
mod known;
mod page;
#[path = "../../../confute-drive/tests/drive/protocol.rs"]
mod protocol;
#[path = "../../../confute-drive/tests/drive/server.rs"]
mod server;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute::lang::{Level, ServerModel as _};
use confute_drive::{AnyGenerator, CaseReport, Limits, Outcome, Plan, Sink, Target, Trouble, campaign};
use confute_report::files::{Reports, Run, Written};
use confute_report::lines::Lines as Told;
use confute_report::session::Beside;
use confute_report::{Secrets, Subject, shrink};

use protocol::{Busy, Lines, Store};
use server::Server;

/// A run that is over, and all that is needed to tell of it.
struct Ran {
    plan: Plan,
    outcome: Outcome,
    told: Told,
    beside: Beside,
}

/// Tests a server for a few cases.
fn ran(server: &Server, level: Level, cases: u64) -> Ran {
    let limits = Limits { patience: Duration::from_millis(300), ..Limits::default() };
    let target = Target::new(server.address);
    let plan = Plan { limits, seed: 3, cases: Some(cases), level, ..Plan::new(target) };
    let make = |_| -> AnyGenerator<'_> { AnyGenerator::new(Busy { most: 1, ..Busy::new(200) }) };
    let mut hearer = Hearer(Told::new());
    let stop = AtomicBool::new(false);
    let mut outcome = campaign(&Lines::default(), &plan, &make, &mut hearer, &stop);
    let (protocol, time) = (Lines::default(), Duration::from_secs(5));
    shrink::all(&protocol, &plan, time, &mut outcome.findings, &stop, &mut |_| {});
    Ran { plan, outcome, told: hearer.0, beside: Beside::default() }
}

struct Hearer(Told);

impl Sink for Hearer {
    fn ended(&mut self, case: &CaseReport) {
        self.0.case(case);
    }

    fn trouble(&mut self, trouble: &Trouble) {
        self.0.trouble(trouble);
    }
}

fn subject(target: Target) -> Subject<'static> {
    Subject {
        model: "line",
        premise: "nobody else writes",
        shown: "127.0.0.1:1 <b>\u{1}",
        target,
        rules: Store.rules(),
        clause: |rule| (rule == "line/set-lasts").then_some("RFC 1 <section> 2"),
        settings: serde_json::Value::Null,
        secrets: Secrets::default(),
        bound: None,
    }
}

/// Writes the files of a run into a folder of this name, which is left there to be looked at.
fn written(name: &str, ran: &Ran) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let subject = subject(ran.plan.target);
    let (protocol, remarks) = (&Lines::default(), &["it <i>can</i> do things".to_owned()][..]);
    let (plan, outcome, lines) = (&ran.plan, &ran.outcome, &ran.told);
    let beside = &ran.beside;
    let run = Run { protocol, subject: &subject, plan, outcome, lines, remarks, beside };
    let Written { paths, missing } = Reports::create(&folder).unwrap().write(&run);
    assert!(missing.is_empty() && paths.iter().all(|path| path.is_file()), "{paths:?} {missing:?}");
    folder
}
