//! A writer that panics costs its own report, and no other.

use std::fs;
use std::path::Path;

use confute_record::ProofRecord;
use confute_report::files::Reports;
use confute_report::summary;

use crate::fabricated::{finding, run};
use crate::files::check_summary;

/// All files below a folder, by their names from there.
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
    // A record that was damaged: its proof points to events that are not there. The terminal and JUnit show these.
    let mut record = ran.record();
    for one in &mut record.violations {
        let shown = one.shown().trace.last().unwrap().clone();
        one.shrunk = None;
        one.found.trace = vec![shown; 99];
        one.proof = Some(ProofRecord { matter: vec![9_999], sentences: Vec::new() });
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
    // And nothing that is half written.
    assert_eq!(below(&folder), there);
    assert_eq!(written.paths.len(), there.len());
    let told: Vec<String> = written.missing.iter().map(confute_report::files::Missing::told).collect();
    let [junit] = &told[..] else { panic!("{told:#?}") };
    assert!(junit.contains("junit.xml: a defect of its writer: index out of bounds"), "{told:#?}");
    assert!(written.missing[0].is_defect);
    // The summary, which comes last, says so.
    assert_eq!(check_summary(&folder)["missing"], serde_json::json!(told));

    let mut text = Vec::new();
    summary::write(&record, summary::Manner::default(), &mut text).unwrap();
    let text = anstream::adapter::strip_str(&String::from_utf8(text).unwrap()).to_string();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for number in [1, 2] {
        assert!(flat.contains(&format!("violation {number}: line/read-current")), "{text}");
        let lost =
            format!("= missing: the rest of this report (violation {number}), for a defect of its writer");
        assert!(flat.contains(&lost), "{text}");
    }
    assert!(flat.contains("refuted: ") && flat.contains("= seed: 42"), "{text}");
}
