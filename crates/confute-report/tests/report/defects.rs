//! A writer that panics affects only its own report, and a panic elsewhere ends the run.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute_drive::{CaseReport, Plan, Sink, Target};
use confute_record::{ProofRecord, guarded};
use confute_report::files::Reports;
use confute_report::summary;
use confute_run::session::{self, Job, RunObserver};

use crate::fabricated::{finding, run};
use crate::files::check_summary;
use crate::server::{Manner, Server};
use crate::subject;

/// Returns all files below a folder, by relative path.
pub(crate) fn below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                names.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    names.sort();
    names
}

#[test]
fn the_other_reports_are_written() {
    let ran = run(vec![finding(1, 4, 1, "", true), finding(2, 6, 2, "", false)]);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("defects");
    let _ = fs::remove_dir_all(&folder);
    // A damaged record: its proof points to events that do not exist. Terminal text and JUnit print these events.
    let mut record = ran.record();
    for one in &mut record.violations {
        let shown = one.shown().trace.last().unwrap().clone();
        one.shrunk = None;
        one.found.trace = vec![shown; 99];
        one.proof = Some(ProofRecord { matter: vec![9_999], ..ProofRecord::default() });
    }
    let written = Reports::create(&folder).unwrap().write(&record);
    let there = [
        "events.jsonl",
        "record.json",
        "report.html",
        "summary.json",
        "summary.schema.json",
        "violation-1/as-found.case",
        "violation-1/regression.rs",
        "violation-1/violation.case",
        "violation-2/regression.rs",
        "violation-2/violation.case",
    ];
    // There are no partially written files.
    assert_eq!(below(&folder), there);
    assert_eq!(written.paths.len(), there.len());
    let told: Vec<String> = written.missing.iter().map(confute_report::files::Missing::told).collect();
    let [junit] = &told[..] else { panic!("{told:#?}") };
    assert!(junit.contains("junit.xml: internal error: index out of bounds"), "{told:#?}");
    assert!(written.missing[0].is_defect);
    // The summary, which comes last, names the missing file.
    assert_eq!(check_summary(&folder)["missing"], serde_json::json!(told));

    let mut text = Vec::new();
    summary::write(&record, summary::Manner::default(), &mut text).unwrap();
    let text = anstream::adapter::strip_str(&String::from_utf8(text).unwrap()).to_string();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for number in [1, 2] {
        assert!(flat.contains(&format!("violation {number}: line/read-current")), "{text}");
        let lost =
            format!("= missing: the rest of this part of the report (violation {number}): internal error");
        assert!(flat.contains(&lost), "{text}");
    }
    assert!(flat.contains("refuted: ") && flat.contains("= seed: 42"), "{text}");
}

/// An observer with a defect.
struct Panics;

impl Sink for Panics {
    fn ended(&mut self, _: &CaseReport) {
        panic!("a defect");
    }
}

impl RunObserver for Panics {}

#[test]
fn a_panic_beside_the_campaign_ends_the_run() {
    // The threads that shrink violations while the campaign goes on are not waited for.
    let server = Server::start(Manner::ReadsNothing(5));
    let subject = subject(Target::new(server.address));
    let plan = Plan { cases: Some(2), seed: 3, ..Plan::new(subject.target) };
    let time = Some(Duration::from_secs(5));
    let job = Job {
        subject: &subject,
        plan: &plan,
        shrink_time: time,
        regressions: None,
        baseline: None,
        progress: None,
    };
    let ended = guarded(|| session::run(&job, &mut Panics, &AtomicBool::new(false)).map(drop));
    assert_eq!(ended.map(|_| ()).unwrap_err(), "a defect");
}
