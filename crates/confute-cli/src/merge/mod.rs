//! `confute merge`: one record and one set of reports from those of many runs.
//!
//! Folders are read one after the other, so memory holds one record and the union of all before it.

mod checks;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use confute_kits::KITS;
use confute_record::journal::{self, JOURNAL};
use confute_record::merge::Merge;
use confute_record::{Exit, RunRecord};
use confute_report::files::{RECORD, Reports, Written, read_record};
use confute_report::lines;
use confute_report::summary::{self, Manner};
use confute_run::{merged, rejudge};

use crate::args::{self, Color, Format};
use crate::check::folder::ROWS;
use crate::{live, output};

/// Advice on writing report files.
const HINT: &str = "`--report-dir DIR` stores it for `confute replay`, with scripts where possible";

pub(crate) fn run(args: &args::Merge, color: Color, out: &mut dyn Write) -> Result<Exit> {
    if args.folders.iter().any(|folder| folder.join(ROWS).is_file()) {
        return checks::run(args, color, out);
    }
    let mut merge = Merge::default();
    for folder in &args.folders {
        let shown = folder.display().to_string();
        match read(folder) {
            Ok((record, remark)) => {
                if let Some(remark) = remark {
                    output::complain(color, &format!("{shown}: {remark}"));
                }
                if let Err(why) = merge.add(record, &shown) {
                    output::complain(color, &format!("{shown}: not a merged record: {why}"));
                    merge.add_unread(&shown, &why);
                }
            }
            Err(why) => {
                output::complain(color, &format!("{shown}: {why}"));
                merge.add_unread(&shown, &why);
            }
        }
    }
    let Some(mut record) = merge.record(&rejudge::judge(KITS)) else {
        bail!("nothing to merge: no folder has a record or a journal that can be read");
    };
    drop(merge);
    merged::keep(&mut record, args.regressions.as_deref(), args.baseline.as_deref(), args.baseline_update)?;
    publish(&record, args, color, out)
}

/// Writes and prints the merged record. Returns the exit code.
fn publish(record: &RunRecord, args: &args::Merge, color: Color, out: &mut dyn Write) -> Result<Exit> {
    let reports = args.report_dir.as_deref().map(Reports::create).transpose()?;
    let written = reports.map(|reports| reports.write(record)).unwrap_or_default();
    let Written { paths, missing } = written;
    match args.format {
        Format::Json => lines::write(record, args.verbose, out)?,
        Format::Human => {
            let manner = Manner { paths: &paths, hint: HINT, detail: live::detail(args.quiet, args.verbose) };
            summary::write(record, manner, out)?;
        }
    }
    out.flush()?;
    let mut exit = Exit::from(&record.conclusion);
    for one in &missing {
        output::complain(color, &format!("cannot write the reports: {}", one.told()));
        exit = if exit == Exit::Refuted { exit } else { Exit::Broken };
    }
    Ok(exit)
}

/// Reads the run in a folder: its record, or otherwise its journal. Returns a remark if the record is broken.
fn read(folder: &Path) -> Result<(RunRecord, Option<String>), String> {
    if !folder.is_dir() {
        return Err("no such folder".to_owned());
    }
    let path: PathBuf = folder.join(RECORD);
    let broken = match read_record(&path) {
        Ok(record) => return Ok((record, None)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("{RECORD}: {error}")),
    };
    let log = folder.join(JOURNAL);
    match (journal::read(&log), broken) {
        (Ok(progress), None) => Ok((progress.record, None)),
        (Ok(progress), Some(broken)) => {
            Ok((progress.record, Some(format!("{broken}; its journal is used instead"))))
        }
        (Err(_), Some(broken)) => Err(broken),
        (Err(_), None) if fs::metadata(&log).is_err() => {
            Err(format!("neither {RECORD} nor {JOURNAL} is there"))
        }
        (Err(error), None) => Err(format!("{JOURNAL}: {error}")),
    }
}
