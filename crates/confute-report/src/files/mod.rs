//! The files of a run: each violation as a [case](crate::stored), shrunk and as it was found; the run as JSON Lines, as a
//! summary with its schema, for collectors of test results, and as a page for people.
//!
//! Every file is there as a whole or not at all, whenever the process ends. A writer that fails or panics costs its own
//! file and no other. The summary comes last and names what is missing.

mod junit;
mod put;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use confute_drive::{AnyProtocol, Exports, Finding, Outcome, Plan, guarded};
use serde_json::{Value, json};

use crate::lines::{self, Lines, SUMMARY_SCHEMA};
use crate::session::Beside;
use crate::stored::{File, Form, Stored};
use crate::{Subject, exports, html, rust_test};
pub(crate) use put::{make_executable, put};

/// How the folders of violations are called, before their numbers.
const FOLDER: &str = "violation-";
/// The smallest case of a violation, and the one that was met first.
pub(crate) const CASE: &str = "violation.case";
/// A test that does it again.
const TEST: &str = "regression.rs";
const FOUND: &str = "as-found.case";

/// What is written about a violation, also by protocols.
const EACH: [&str; 6] = [CASE, TEST, FOUND, "reproduce.py", "reproduce.sh", "traffic.har"];
/// What is written about the whole run. The summary is the last: where it is, the others are too, but for those it names.
const WHOLE: [&str; 5] = ["events.jsonl", "junit.xml", "report.html", "summary.schema.json", "summary.json"];

/// All there is to say about a run.
pub struct Run<'a> {
    /// What was spoken.
    pub protocol: &'a dyn AnyProtocol,
    /// What was tested.
    pub subject: &'a Subject<'a>,
    /// How.
    pub plan: &'a Plan,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// What happened on the way.
    pub lines: &'a Lines,
    /// What the server was found to be able to do.
    pub remarks: &'a [String],
    /// What came of the rest.
    pub beside: &'a Beside,
}

/// The folder of a violation.
pub(crate) fn folder(finding: &Finding) -> String {
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

/// What came of writing.
#[derive(Debug, Default)]
pub struct Written {
    /// The files that are there, each of them whole.
    pub paths: Vec<PathBuf>,
    /// Those that are not.
    pub missing: Vec<Missing>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct Missing {
    /// Its path.
    pub path: PathBuf,
    /// What the system says, or the panic.
    pub why: String,
    /// The writer panicked: that is a defect of the writer, and no matter of the disk.
    pub is_defect: bool,
}

impl Missing {
    /// In a line.
    pub fn told(&self) -> String {
        let Self { path, why, is_defect } = self;
        let kind = if *is_defect { "a defect of its writer: " } else { "" };
        format!("{}: {kind}{why}", path.display())
    }
}

impl Written {
    /// Runs one writer, apart from the others. Whether it came to its end.
    fn try_to(&mut self, path: &Path, write: impl FnOnce() -> io::Result<()>) -> bool {
        let (why, is_defect) = match guarded(write) {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => (error.to_string(), false),
            Err(panic) => (panic, true),
        };
        self.missing.push(Missing { path: path.to_owned(), why, is_defect });
        false
    }

    /// Runs the writer of a file.
    fn file(&mut self, path: PathBuf, write: impl FnOnce(&Path) -> io::Result<()>) -> bool {
        let is_there = self.try_to(&path, || write(&path));
        self.paths.extend(is_there.then_some(path));
        is_there
    }
}

/// Where they go.
pub struct Reports {
    root: PathBuf,
}

impl Reports {
    /// Makes the directory, and makes sure that it can be written to. What an earlier run said there is taken away: if this one
    /// does not come to its end, nobody is to take the one for the other.
    pub fn create(root: &Path) -> Result<Self> {
        // Not under a name of ours: whoever ends the process here must not leave an empty report behind.
        let probe = root.join("summary.json.part");
        fs::create_dir_all(root)
            .and_then(|()| fs::File::create(&probe))
            .with_context(|| format!("cannot write to {}", root.display()))?;
        let remove = |path: &Path| {
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(put::part(path));
        };
        // The summary first: where it is, the others are.
        WHOLE.iter().rev().for_each(|name| remove(&root.join(name)));
        for folder in fs::read_dir(root).into_iter().flatten().flatten().filter(is_ours) {
            // The case last, by which the folder is known to be ours.
            EACH.iter().rev().for_each(|name| remove(&folder.path().join(name)));
            // Whatever else somebody put there stays, and so does the folder then.
            let _ = fs::remove_dir(folder.path());
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Writes everything that can be written.
    pub fn write(&self, run: &Run<'_>) -> Written {
        let Run { subject, plan, outcome, .. } = *run;
        let mut written = Written::default();
        let findings: Vec<Value> =
            outcome.findings.iter().filter_map(|finding| self.finding(run, finding, &mut written)).collect();
        for name in WHOLE {
            // What is missing is known by the time the summary is made.
            let (paths, missing): (_, Vec<String>) =
                (written.paths.clone(), written.missing.iter().map(Missing::told).collect());
            let summary = || {
                let mut summary = lines::summary(subject, plan, outcome, run.beside);
                summary["$schema"] = json!("summary.schema.json");
                summary["findings"] = json!(findings);
                summary["missing"] = json!([&run.beside.missing[..], &missing].concat());
                summary
            };
            let whole = |path: &Path| {
                put(path, |file| match name {
                    "events.jsonl" => run.lines.end(subject, plan, outcome, run.beside, true, file),
                    "junit.xml" => file.write_all(junit::junit(run).map_err(io::Error::other)?.as_bytes()),
                    "report.html" => file.write_all(html::page(run, &paths).as_bytes()),
                    "summary.schema.json" => file.write_all(SUMMARY_SCHEMA.as_bytes()),
                    _ => writeln!(file, "{:#}", summary()),
                })
            };
            written.file(self.root.join(name), whole);
        }
        written
    }

    /// Writes the files about one violation. What the summary says of it is handed back.
    fn finding(&self, run: &Run<'_>, finding: &Finding, written: &mut Written) -> Option<Value> {
        let Run { subject, plan, protocol, .. } = *run;
        let folder = self.root.join(folder(finding));
        let mut about = None;
        // The summary says nothing of a violation that cannot be put into words, but it names what is missing.
        written.try_to(&self.root.join("summary.json"), || {
            about = Some(lines::finding(finding, plan));
            Ok(())
        });
        let mut note = |key: &str, value: Value| {
            if let Some(about) = &mut about {
                about[key] = value;
            }
        };
        // So that the fields are there whatever fails.
        note("file", Value::Null);
        note("exports", json!({ "files": [], "remarks": [] }));
        if written.try_to(&folder, || fs::create_dir_all(&folder)) {
            let store = |form: Form| move |path: &Path| Stored::new(subject, plan, finding, form).write(path);
            let path = folder.join(CASE);
            if written.file(path.clone(), store(Form::Shrunk)) {
                let test = |to: &Path| {
                    let stored = File::open(&path).map_err(io::Error::other)?;
                    put(to, |file| file.write_all(rust_test(&stored).as_bytes()))
                };
                written.file(folder.join(TEST), test);
                note("file", json!(path));
            }
            if let Some(Ok(_)) = &finding.shrunk {
                let path = folder.join(FOUND);
                if written.file(path.clone(), store(Form::Found)) {
                    note("file_as_found", json!(path));
                }
            }
            let left = run.outcome.findings.iter().filter(|other| other.number >= finding.number).count();
            let time = run.beside.budgets.map(|budgets| budgets.share(left));
            let mut exports = Exports::default();
            written.try_to(&folder.join("exports"), || {
                exports = exports::of(protocol, subject, finding, time);
                Ok(())
            });
            let mut files = Vec::new();
            for file in &exports.files {
                let path = folder.join(file.name);
                if written.file(path.clone(), |path| exports::write(path, file, subject)) {
                    files.push(path);
                }
            }
            note("exports", json!({ "files": files, "remarks": exports.remarks }));
        }
        about
    }
}
