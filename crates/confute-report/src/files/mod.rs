//! The files of a run: those of each violation; the record; the run as JSON Lines, as a summary with its
//! schema, as `JUnit` results, and as an HTML page.
//!
//! Every file is complete or absent, whenever the process ends. A writer that fails or panics affects only
//! its own file. The summary comes last and names the missing files.

mod junit;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use confute_record::put::{make_executable, part, put};
use confute_record::{FileRecord, RunRecord, Violation, guarded};
use serde_json::{Value, json};

use crate::html;
use crate::lines::{self, SUMMARY_SCHEMA};

/// Prefix of the folders of violations, before their numbers.
const FOLDER: &str = "violation-";
/// The smallest case of a violation. This file identifies its folder as written by Confute.
pub(crate) const CASE: &str = "violation.case";
/// The case in which the violation was found first.
const FOUND: &str = "as-found.case";
/// The record from which all reports are made.
pub const RECORD: &str = "record.json";

/// Names of the files about a violation, including those that protocols add.
const EACH: [&str; 7] =
    [CASE, "regression.rs", FOUND, "reproduce.py", "reproduce.sh", "requests.sh", "traffic.har"];
/// Names of the files about the whole run. The summary is the last: if it exists, so do the others, except
/// those it names as missing.
const WHOLE: [&str; 6] =
    [RECORD, "events.jsonl", "junit.xml", "report.html", "summary.schema.json", "summary.json"];

/// Returns the name of the folder of a violation.
pub(crate) fn folder(finding: &Violation) -> String {
    format!("{FOLDER}{}", finding.number)
}

/// Returns `true` if the entry is the folder of a violation, written by an earlier run. A run that was killed may have
/// left the folder empty, or with nothing but the temporary file of the case.
fn is_ours(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let number = name.to_str().and_then(|name| name.strip_prefix(FOLDER));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
        && entry.file_type().is_ok_and(|kind| kind.is_dir())
        && {
            let case = entry.path().join(CASE);
            case.is_file() || part(&case).is_file() || is_empty(&entry.path())
        }
}

/// Returns `true` if the folder has no entries.
fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The result of writing files.
#[derive(Debug, Default)]
pub struct Written {
    /// The files that were written, each of them complete.
    pub paths: Vec<PathBuf>,
    /// The files that could not be written.
    pub missing: Vec<Missing>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct Missing {
    /// The path of the file.
    pub path: PathBuf,
    /// Error message of the system, or of the panic.
    pub why: String,
    /// `true` if the writer panicked, which is a defect of the writer and not an error of the disk.
    pub is_defect: bool,
}

impl Missing {
    /// Formats the missing file and the reason on one line.
    pub fn told(&self) -> String {
        let Self { path, why, is_defect } = self;
        let kind = if *is_defect { "internal error: " } else { "" };
        format!("{}: {kind}{why}", path.display())
    }
}

impl Written {
    /// Runs one writer, isolated from the others. Returns `true` if it succeeded.
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

/// The directory of the reports.
pub struct Reports {
    root: PathBuf,
}

impl Reports {
    /// Creates the directory, and checks that it is writable. Reports of an earlier run are removed, so that
    /// they cannot be mistaken for those of this one if it is interrupted.
    pub fn create(root: &Path) -> io::Result<Self> {
        // A temporary name: if the process ends here, it must not leave an empty report.
        let probe = root.join("summary.json.part");
        fs::create_dir_all(root)
            .and_then(|()| fs::File::create(&probe))
            .map_err(|error| io::Error::other(format!("cannot write to {}: {error}", root.display())))?;
        let remove = |path: &Path| {
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(part(path));
        };
        // The summary is removed first: if it exists, so do the others.
        WHOLE.iter().rev().for_each(|name| remove(&root.join(name)));
        for folder in fs::read_dir(root).into_iter().flatten().flatten().filter(is_ours) {
            // The case is removed last, because it identifies the folder.
            EACH.iter().rev().for_each(|name| remove(&folder.path().join(name)));
            // Other files that the user put there are kept, and with them the folder.
            let _ = fs::remove_dir(folder.path());
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Writes all files. A file that fails is listed as missing.
    pub fn write(&self, run: &RunRecord) -> Written {
        let mut written = Written::default();
        let mut findings: Vec<Value> =
            run.violations.iter().filter_map(|finding| self.violation(finding, &mut written)).collect();
        for name in WHOLE {
            // The missing files are known by the time the summary is written.
            let (paths, missing): (_, Vec<String>) =
                (written.paths.clone(), written.missing.iter().map(Missing::told).collect());
            let mut summary = || {
                let mut summary = lines::summary(run);
                summary["$schema"] = json!("summary.schema.json");
                // Moved and not copied: a merged run may list many occurrences.
                summary["findings"] = Value::Array(std::mem::take(&mut findings));
                summary["missing"] = json!([&run.notes.missing[..], &missing].concat());
                summary
            };
            let whole = |path: &Path| {
                put(path, |file| match name {
                    RECORD => serde_json::to_writer(file, run).map_err(io::Error::other),
                    "events.jsonl" => lines::write(run, true, file),
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

    /// Writes the files about one violation. Returns its entry in the summary.
    fn violation(&self, finding: &Violation, written: &mut Written) -> Option<Value> {
        let folder = self.root.join(folder(finding));
        let mut about = None;
        // A violation that cannot be formatted is left out of the summary, which names it as missing.
        written.try_to(&self.root.join("summary.json"), || {
            about = Some(lines::violation(finding));
            Ok(())
        });
        let mut note = |key: &str, value: Value| {
            if let Some(about) = &mut about {
                about[key] = value;
            }
        };
        // The field exists even if writing fails.
        note("file", Value::Null);
        let mut exports = Vec::new();
        if written.try_to(&folder, || fs::create_dir_all(&folder)) {
            for file in &finding.files {
                let path = folder.join(&file.name);
                if !written.file(path.clone(), |path| write_file(path, file)) {
                    continue;
                }
                match &*file.name {
                    CASE => note("file", json!(path)),
                    FOUND => note("file_as_found", json!(path)),
                    "regression.rs" => {}
                    _ => exports.push(path),
                }
            }
        }
        note("exports", json!({ "files": exports, "remarks": finding.remarks }));
        about
    }
}

fn write_file(path: &Path, file: &FileRecord) -> io::Result<()> {
    put(path, |out| {
        out.write_all(file.content.as_bytes())?;
        if file.executable { make_executable(out.get_ref()) } else { Ok(()) }
    })
}

/// Reads the record of a run that [`Reports::write`] stored.
pub fn read_record(path: &Path) -> io::Result<RunRecord> {
    let record: RunRecord = serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)?;
    if record.head.confute != "record" || record.head.version != confute_record::VERSION {
        let (is, known) = (record.head.version, confute_record::VERSION);
        return Err(io::Error::other(format!("version {is} of records is not known here, only {known}")));
    }
    Ok(record)
}
