//! The files of a run: for each violation its trace and its script, as found and shrunk; the run as JSON Lines, as a summary with
//! its schema, for collectors of test results, and as a page for people.
//!
//! A trace has the form that `confute check` reads, though `check` does not know the models of live protocols yet; a script
//! has a header like it, then a step a line. Every file is there as a whole or not at all; the summary comes last.

mod junit;
mod put;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use confute::trace::{Event, Header, Writer};
use confute_drive::{Finding, Msg, Outcome, Plan, Protocol, Step};
use serde_json::json;

use crate::lines::{self, Lines, SUMMARY_SCHEMA};
use crate::{Subject, html};
use put::put;

const VERSION: u32 = 1;

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
            .and_then(|()| File::create(&probe))
            .with_context(|| format!("cannot write to {}", root.display()))?;
        for name in WHOLE {
            let _ = fs::remove_file(root.join(name));
        }
        Ok(Self { root: root.to_owned() })
    }

    /// Writes everything; says which files.
    pub fn write<P: Protocol>(&self, run: &Run<'_, P>) -> io::Result<Vec<PathBuf>> {
        let Run { subject, plan, outcome, .. } = *run;
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
            findings.push(about);
        }
        let mut summary = lines::summary(subject, plan, outcome);
        summary["$schema"] = json!("summary.schema.json");
        summary["findings"] = json!(findings);
        for name in WHOLE {
            let path = self.root.join(name);
            put(&path, |file| match name {
                "events.jsonl" => run.lines.end(subject, plan, outcome, true, file),
                "junit.xml" => file.write_all(junit::junit(run).map_err(io::Error::other)?.as_bytes()),
                "report.html" => file.write_all(html::page(run).as_bytes()),
                "summary.schema.json" => file.write_all(SUMMARY_SCHEMA.as_bytes()),
                _ => writeln!(file, "{summary:#}"),
            })?;
            paths.push(path);
        }
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
    put(path, |file| {
        let mut writer = Writer::new(file, &header)?;
        events.iter().try_for_each(|event| writer.write(event))?;
        writer.finish().map(drop)
    })
}

fn write_script<P: Protocol>(
    path: &Path,
    subject: &Subject<'_>,
    plan: &Plan,
    finding: &Finding<P>,
    steps: &[Step<P::Ask>],
) -> io::Result<()> {
    let header = json!({
        "confute": "script",
        "version": VERSION,
        "model": subject.model,
        "seed": plan.seed,
        "case_seed": finding.seed,
        "connections": plan.limits.connections,
        "relaxed": finding.relaxed,
    });
    put(path, |file| {
        writeln!(file, "{header}")?;
        steps.iter().try_for_each(|step| {
            serde_json::to_writer(&mut *file, step)?;
            file.write_all(b"\n")
        })
    })
}
