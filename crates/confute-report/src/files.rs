//! The files of a run: for each violation its trace and its script, as found and shrunk, and a summary. For people without
//! Confute there is what the protocol makes of it (`exports.rs`).
//!
//! A trace has the form that `confute check` reads, though `check` does not know the models of live protocols yet; a script
//! has a header like it, then a step a line.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use confute::trace::{Event, Header, Writer};
use confute_drive::{Finding, Msg, Outcome, Plan, Protocol, Step};
use serde_json::json;

use crate::{Subject, exports, lines};

const VERSION: u32 = 1;

/// Where they go.
pub struct Reports {
    root: PathBuf,
}

impl Reports {
    /// Makes the directory, and makes sure that it can be written to.
    pub fn create(root: &Path) -> Result<Self> {
        let summary = root.join("summary.json");
        fs::create_dir_all(root)
            .and_then(|()| File::create(&summary))
            .with_context(|| format!("cannot write to {}", root.display()))?;
        Ok(Self { root: root.to_owned() })
    }

    /// Writes everything; says which files.
    pub fn write<P: Protocol>(
        &self,
        protocol: &P,
        subject: &Subject<'_>,
        plan: &Plan,
        outcome: &Outcome<P>,
    ) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        let mut findings = Vec::new();
        for finding in &outcome.findings {
            let folder = self.root.join(format!("violation-{}", finding.number));
            fs::create_dir_all(&folder)?;
            let (trace, script) = (folder.join("events.jsonl"), folder.join("script.jsonl"));
            write_trace(&trace, subject, plan, finding, &finding.trace)?;
            write_script(&script, subject, plan, finding, &finding.script)?;
            let mut about = lines::finding(finding, plan);
            about["trace"] = json!(trace);
            about["script"] = json!(script);
            paths.extend([trace, script]);
            if let Some(Ok(shrunk)) = &finding.shrunk {
                let (trace, script) =
                    (folder.join("shrunk-events.jsonl"), folder.join("shrunk-script.jsonl"));
                write_trace(&trace, subject, plan, finding, &shrunk.trace)?;
                write_script(&script, subject, plan, finding, &shrunk.script)?;
                about["shrunk"]["trace"] = json!(trace);
                about["shrunk"]["script"] = json!(script);
                paths.extend([trace, script]);
            }
            let (exports, remarks) = exports::write(&folder, protocol, subject, finding)?;
            about["exports"] = json!({ "files": exports, "remarks": remarks });
            paths.extend(exports);
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

fn write_trace<P: Protocol>(
    path: &Path,
    subject: &Subject<'_>,
    plan: &Plan,
    finding: &Finding<P>,
    events: &[Event<Msg<P>>],
) -> io::Result<()> {
    let header = Header {
        seed: Some(plan.seed),
        note: Some(format!("case {} (seed {})", finding.name, finding.seed)),
        ..Header::new(subject.model, "tcp")
    };
    let mut writer = Writer::new(BufWriter::new(File::create(path)?), &header)?;
    events.iter().try_for_each(|event| writer.write(event))?;
    writer.finish().map(drop)
}

fn write_script<P: Protocol>(
    path: &Path,
    subject: &Subject<'_>,
    plan: &Plan,
    finding: &Finding<P>,
    steps: &[Step<P::Ask>],
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let header = json!({
        "confute": "script",
        "version": VERSION,
        "model": subject.model,
        "seed": plan.seed,
        "case_seed": finding.seed,
        "connections": plan.limits.connections,
        "relaxed": finding.relaxed,
    });
    writeln!(file, "{header}")?;
    for step in steps {
        serde_json::to_writer(&mut file, step)?;
        file.write_all(b"\n")?;
    }
    file.flush()
}
