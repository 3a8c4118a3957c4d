//! The files of a run: each violation as a [case](crate::stored), shrunk and as it was found, and a summary.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use confute_drive::{Outcome, Plan, Protocol};
use serde_json::json;

use crate::stored::{File, Form, Stored};
use crate::{Subject, lines, rust_test};

/// The smallest case of a violation, and the one that was met first.
const CASE: &str = "violation.case";
/// A test that does it again.
const TEST: &str = "regression.rs";
const FOUND: &str = "as-found.case";

/// Where they go.
pub struct Reports {
    root: PathBuf,
}

impl Reports {
    /// Makes the directory, and makes sure that it can be written to.
    pub fn create(root: &Path) -> Result<Self> {
        let summary = root.join("summary.json");
        fs::create_dir_all(root)
            .and_then(|()| fs::File::create(&summary))
            .with_context(|| format!("cannot write to {}", root.display()))?;
        Ok(Self { root: root.to_owned() })
    }

    /// Writes everything; says which files.
    pub fn write<P: Protocol>(
        &self,
        subject: &Subject<'_>,
        plan: &Plan,
        outcome: &Outcome<P>,
    ) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        let mut findings = Vec::new();
        for finding in &outcome.findings {
            let folder = self.root.join(format!("violation-{}", finding.number));
            fs::create_dir_all(&folder)?;
            let mut about = lines::finding(finding, plan);
            let path = folder.join(CASE);
            Stored::new(subject, plan, finding, Form::Shrunk).write(&path)?;
            about["file"] = json!(path);
            let test = folder.join(TEST);
            fs::write(&test, rust_test(&File::open(&path).map_err(io::Error::other)?))?;
            paths.extend([path, test]);
            if let Some(Ok(_)) = &finding.shrunk {
                let path = folder.join(FOUND);
                Stored::new(subject, plan, finding, Form::Found).write(&path)?;
                about["file_as_found"] = json!(path);
                paths.push(path);
            }
            findings.push(about);
        }
        let mut summary = lines::summary(subject, plan, outcome);
        summary["findings"] = json!(findings);
        let path = self.root.join("summary.json");
        fs::write(&path, format!("{summary:#}\n"))?;
        paths.push(path);
        Ok(paths)
    }
}
