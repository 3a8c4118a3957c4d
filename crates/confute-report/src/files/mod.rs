//! The files of a run: each violation as a [case](crate::stored), shrunk and as it was found; the run as JSON Lines, as a
//! summary with its schema, for collectors of test results, and as a page for people.
//!
//! Every file is there as a whole or not at all; the summary comes last.

mod junit;
mod put;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use confute_drive::{Finding, Outcome, Plan, Protocol};
use serde_json::json;

use crate::lines::{self, Lines, SUMMARY_SCHEMA};
use crate::session::Beside;
use crate::stored::{File, Form, Stored};
use crate::{Subject, exports, html, rust_test};
pub(crate) use put::put;

/// How the folders of violations are called, before their numbers.
const FOLDER: &str = "violation-";
/// The smallest case of a violation, and the one that was met first.
pub(crate) const CASE: &str = "violation.case";
/// A test that does it again.
const TEST: &str = "regression.rs";
const FOUND: &str = "as-found.case";

/// What is written about a violation, also by protocols.
const EACH: [&str; 6] = [CASE, TEST, FOUND, "reproduce.py", "reproduce.sh", "traffic.har"];
/// What is written about the whole run. The summary is the last: where it is, the others are too.
const WHOLE: [&str; 5] = ["events.jsonl", "junit.xml", "report.html", "summary.schema.json", "summary.json"];

/// All there is to say about a run.
pub struct Run<'a, P: Protocol> {
    /// What was spoken.
    pub protocol: &'a P,
    /// What was tested.
    pub subject: &'a Subject<'a>,
    /// How.
    pub plan: &'a Plan,
    /// What came of it.
    pub outcome: &'a Outcome<P>,
    /// What happened on the way.
    pub lines: &'a Lines,
    /// What the server was found to be able to do.
    pub remarks: &'a [String],
    /// What came of the rest.
    pub beside: &'a Beside,
}

/// The folder of a violation.
pub(crate) fn folder<P: Protocol>(finding: &Finding<P>) -> String {
    format!("{FOLDER}{}", finding.number)
}

/// Whether an earlier run wrote it about a violation.
fn is_ours(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let number = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
        && entry.path().join(CASE).is_file()
}

/// Where they go.
pub struct Reports {
    root: PathBuf,
}

impl Reports {
    /// Makes the directory, and makes sure that it can be written to. What an earlier run said there is taken away: if this one
    /// does not come to its end, nobody is to take the one for the other.
    pub fn create(root: &Path) -> Result<Self> {
        let probe = root.join("summary.json");
        fs::create_dir_all(root)
            .and_then(|()| fs::File::create(&probe))
            .with_context(|| format!("cannot write to {}", root.display()))?;
        for name in WHOLE {
            let _ = fs::remove_file(root.join(name));
        }
        for folder in fs::read_dir(root).into_iter().flatten().flatten().filter(is_ours) {
            for name in EACH {
                let _ = fs::remove_file(folder.path().join(name));
            }
            // Whatever else somebody put there stays, and so does the folder then.
            let _ = fs::remove_dir(folder.path());
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Writes everything; says which files.
    pub fn write<P: Protocol>(&self, run: &Run<'_, P>) -> io::Result<Vec<PathBuf>> {
        let Run { subject, plan, outcome, .. } = *run;
        let mut paths = Vec::new();
        let mut findings = Vec::new();
        for finding in &outcome.findings {
            let folder = self.root.join(folder(finding));
            fs::create_dir_all(&folder)?;
            let mut about = lines::finding(finding, plan);
            let path = folder.join(CASE);
            Stored::new(subject, plan, finding, Form::Shrunk).write(&path)?;
            about["file"] = json!(path);
            let test = folder.join(TEST);
            let stored = File::open(&path).map_err(io::Error::other)?;
            put(&test, |file| file.write_all(rust_test(&stored).as_bytes()))?;
            paths.extend([path, test]);
            if let Some(Ok(_)) = &finding.shrunk {
                let path = folder.join(FOUND);
                Stored::new(subject, plan, finding, Form::Found).write(&path)?;
                about["file_as_found"] = json!(path);
                paths.push(path);
            }
            let (exports, remarks) = exports::write(&folder, run.protocol, subject, finding)?;
            about["exports"] = json!({ "files": exports, "remarks": remarks });
            paths.extend(exports);
            findings.push(about);
        }
        let mut summary = lines::summary(subject, plan, outcome, run.beside);
        summary["$schema"] = json!("summary.schema.json");
        summary["findings"] = json!(findings);
        for name in WHOLE {
            let path = self.root.join(name);
            put(&path, |file| match name {
                "events.jsonl" => run.lines.end(subject, plan, outcome, run.beside, true, file),
                "junit.xml" => file.write_all(junit::junit(run).map_err(io::Error::other)?.as_bytes()),
                "report.html" => file.write_all(html::page(run, &paths).as_bytes()),
                "summary.schema.json" => file.write_all(SUMMARY_SCHEMA.as_bytes()),
                _ => writeln!(file, "{summary:#}"),
            })?;
            paths.push(path);
        }
        Ok(paths)
    }
}
