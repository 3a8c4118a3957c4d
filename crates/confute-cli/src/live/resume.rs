//! The folder of a run: its journal, and the interrupted run that is continued there.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use confute_drive::Plan;
use confute_record::RunRecord;
use confute_record::journal::{self, JOURNAL, Progress};
use confute_record::merge::Merge;
use confute_report::files::{RECORD, Reports, read_record};
use confute_run::keeper::Keeper;
use confute_run::{Subject, record};

use super::Flags;

/// Work that is left in a folder.
pub(super) enum Before {
    /// A new run begins.
    Nothing,
    /// An interrupted run is continued.
    Progress(Box<Progress>),
    /// The run is complete: its record.
    Complete(Box<RunRecord>),
}

/// Finds out how far the run in a folder got, if it is to be resumed. The seed of the plan becomes that of the run, unless
/// the user named another one.
pub(super) fn before(subject: &Subject, plan: &mut Plan, flags: &Flags) -> Result<Before> {
    let Some(folder) = &flags.scale.resume else { return Ok(Before::Nothing) };
    let found = found(folder)?;
    let Some(record) = found.record() else { return Ok(Before::Nothing) };
    if flags.seed.is_none() {
        plan.seed = record.plan.seed;
    }
    let shown = folder.display();
    let blank = record::blank(subject, plan, &record.head.id);
    let differ = Merge::difference(record, &blank);
    if !differ.is_empty() {
        bail!(
            "--resume {shown}: the run there is another one: {differ}\n  use an empty folder, or the flags of that run"
        );
    }
    if record.plan.shard != blank.plan.shard {
        let shard = record.plan.shard.map_or_else(|| "all shards".to_owned(), |shard| shard.to_string());
        bail!("--resume {shown}: the run there is of {shard}, and this one of {}", plan.shard);
    }
    if (record.plan.seed, record.plan.cases) != (blank.plan.seed, blank.plan.cases) {
        bail!("--resume {shown}: the run there has seed {} and other limits of cases", record.plan.seed);
    }
    Ok(found)
}

impl Before {
    fn record(&self) -> Option<&RunRecord> {
        match self {
            Before::Nothing => None,
            Before::Progress(progress) => Some(&progress.record),
            Before::Complete(record) => Some(record),
        }
    }

    /// Returns the interrupted run.
    pub(super) fn progress(&self) -> Option<&Progress> {
        match self {
            Before::Progress(progress) => Some(progress),
            Before::Nothing | Before::Complete(_) => None,
        }
    }
}

/// Looks for a complete run, and otherwise for the journal of one.
fn found(folder: &Path) -> Result<Before> {
    // A record that is broken was lost with its machine: the journal has everything.
    if let Ok(record) = read_record(&folder.join(RECORD)) {
        if record.merged.is_some() {
            bail!("--resume {}: the folder has a merged report, and no run", folder.display());
        }
        if !record.notes.stopped {
            return Ok(Before::Complete(Box::new(record)));
        }
    }
    let path = folder.join(JOURNAL);
    match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Before::Nothing),
        // The process died before its first line.
        Ok(metadata) if metadata.len() == 0 => return Ok(Before::Nothing),
        _ => {}
    }
    match journal::read(&path) {
        Ok(progress) => Ok(Before::Progress(Box::new(progress))),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(Before::Nothing),
        Err(error) => Err(error).with_context(|| format!("{}: cannot be resumed", path.display())),
    }
}

/// The folder of a run that writes reports.
pub(super) struct Place<'a> {
    pub(super) reports: Reports,
    pub(super) keeper: Keeper<'a>,
    pub(super) id: String,
}

/// Prepares the folder, before the server is contacted: a run whose report cannot be written is useless.
pub(super) fn prepare<'a>(
    subject: &'a Subject,
    plan: &'a Plan,
    folder: &Path,
    progress: Option<&Progress>,
) -> Result<Place<'a>> {
    let random = format!("{:016x}", RandomState::new().hash_one(plan.seed));
    let id = progress.map_or(random, |progress| progress.record.head.id.clone());
    let cannot = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    let path: PathBuf = folder.join(JOURNAL);
    let blank = record::blank(subject, plan, &id);
    // The journal is locked before the reports of an earlier run are removed: they may be those of a run that goes on.
    let keeper = Keeper::open(subject, plan, &path, (&blank, progress)).with_context(cannot)?;
    Ok(Place { reports: Reports::create(folder)?, keeper, id })
}
