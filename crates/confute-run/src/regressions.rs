//! Regressions: a folder of violations that were met before. They are tried first, and new ones are added.
//!
//! A file is named after the rule that was broken. Of several cases that break the same rule today, the one
//! with the fewest requests is kept; a case that no longer fails is kept as well.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use confute_drive::{Again, AnyProtocol, Finding, Limits, Net, PastRun, Plan, Rerun, Step};
use confute_record::Tried;

use crate::error::While as _;
use crate::record::name;
use crate::stored::{About, File, Form, StoredCase};
use crate::{RunError, Subject};

/// Extension of the files.
pub const ENDING: &str = "case";
/// Minimum number of runs: for a case that failed each time when it was stored.
const SURE: u32 = 2;
/// Maximum number of runs: for a case that did not fail each time, or whose failures were not counted.
const UNSURE: u32 = 20;

/// Returns the case files of a folder, by name. A folder that does not exist has none.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>, RunError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.reading(format!("{}: cannot be read", folder.display()))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.reading(format!("{}: cannot be read", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs the stored cases of a folder again: a shard runs its part of them. Returns the violations that showed, and the result of each file.
/// Files for other models are skipped; one that cannot be read is an error, because somebody relies on it.
pub fn try_all(
    subject: &Subject,
    plan: &Plan,
    folder: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<Finding>, Vec<Tried>), RunError> {
    let (mut found, mut tried) = (Vec::new(), Vec::new());
    let mut cases = Vec::new();
    let own = |(place, _): &(usize, PathBuf)| plan.shard.takes(*place as u64);
    for (_, path) in files(folder)?.into_iter().enumerate().filter(own) {
        let file = File::open(&path)?;
        if file.about.model == subject.model {
            cases.push((path, StoredCase::read(&*subject.protocol, file)?));
        }
    }
    let many = cases.len();
    let mut surveyed = None;
    for (place, (path, case)) in cases.into_iter().enumerate() {
        tell(&format!("regression {} of {many}: {}", place + 1, case.about.blamed_on()));
        let rule = case.about.blamed_on();
        let (otherwise, unknown) = (None, None);
        let mut one = Tried { path, rule, shown: 0, runs: 0, otherwise, unknown, foreign: false };
        let again = runner(&*subject.protocol, plan, &case.about, stop);
        if stop.load(Ordering::Relaxed) {
            one.unknown = Some("the run was stopped".to_owned());
        } else if is_late(plan) {
            one.unknown = Some(format!("no time left for it; raise {}", subject.door.setting("max-time")));
        } else if case.about.settings["resources"] != subject.settings["resources"] {
            // Running it would write to resources that are only to be read.
            one.foreign = true;
            one.unknown = Some("it was recorded with other resources".to_owned());
        } else if case.about.is_allowed(&plan.allow) {
            one.foreign = true;
            one.unknown = Some(format!("its rules are allowed ({})", subject.door.setting("allow")));
        } else if let Err(trouble) = surveyed.get_or_insert_with(|| again.survey(&case.about.name)) {
            one.unknown = Some(trouble.to_string());
        } else {
            found.extend(try_one(&again, plan, &case, &mut one));
        }
        tried.push(one);
    }
    Ok((found, tried))
}

/// Returns `true` if the time for stored cases is over.
fn is_late(plan: &Plan) -> bool {
    plan.limits.end.is_some_and(|end| Instant::now() >= end)
}

/// Runs a case until its violation shows, or often enough. Returns that violation, or else another one that
/// showed.
fn try_one(again: &Again<'_>, plan: &Plan, case: &StoredCase, tried: &mut Tried) -> Option<Finding> {
    let ready = case.relaxed(again.protocol).and_then(|relaxed| {
        Ok((relaxed, Net::new(plan.target.listen).map_err(|trouble| trouble.to_string())?))
    });
    let (mut relaxed, mut net) = ready.map_err(|why| tried.unknown = Some(why)).ok()?;
    relaxed.extend(&plan.allow);
    let deed =
        PastRun { script: &case.script, name: &case.about.name, seed: case.about.seed, relaxed: &relaxed };
    let mut other = None;
    for _ in 0..case.about.runs(SURE, UNSURE) {
        if again.stop.load(Ordering::Relaxed) || is_late(plan) {
            break;
        }
        match again.once(&mut net, &deed) {
            Ok(Rerun::Refuted(finding)) => {
                tried.runs += 1;
                if case.about.is_about(&finding) {
                    tried.shown += 1;
                    return Some(*finding);
                }
                tried.otherwise = Some(name(&finding));
                other = Some(*finding);
            }
            Ok(Rerun::Explained) => tried.runs += 1,
            Ok(Rerun::Unknown(why)) => tried.unknown = Some(why),
            Err(trouble) => {
                tried.unknown = Some(trouble.to_string());
                break;
            }
        }
    }
    other
}

/// Creates a runner with the settings under which a case was stored.
pub fn runner<'a>(
    protocol: &'a dyn AnyProtocol,
    plan: &'a Plan,
    about: &'a About,
    stop: &'a AtomicBool,
) -> Again<'a> {
    let limits = Limits { connections: about.connections, ..plan.limits.clone() };
    let blame_time = plan.blame_time;
    Again { protocol, target: plan.target, limits, blame_time, prefix: &about.prefix, stop }
}

/// Stores the violations that refute in the folder whose cases were tried before. Returns the files that were
/// written.
pub fn store(
    subject: &Subject,
    plan: &Plan,
    findings: &[Finding],
    tried: &[Tried],
    folder: &Path,
) -> Result<Vec<PathBuf>, RunError> {
    // A stored case that did not show is not the violation that was met now.
    let is_other = |path: &PathBuf| tried.iter().any(|one| one.path == *path && one.shown == 0);
    let mut written = Vec::new();
    for finding in findings.iter().filter(|finding| plan.refuted_by(finding)) {
        let case = StoredCase::new(subject, plan, finding, Form::Shrunk);
        let name = file_name(&case.about);
        let first = folder.join(format!("{name}.{ENDING}"));
        let more = (2..).map(|number| folder.join(format!("{name}-{number}.{ENDING}")));
        let Some(path) = std::iter::once(first).chain(more).find(|path| !is_other(path)) else { continue };
        if path.exists() && requests(&*subject.protocol, &path)? <= asks(&case.script) {
            continue;
        }
        fs::create_dir_all(folder)
            .and_then(|()| case.write(&path))
            .writing(format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn requests(protocol: &dyn AnyProtocol, path: &Path) -> Result<usize, RunError> {
    Ok(asks(&StoredCase::read(protocol, File::open(path)?)?.script))
}

fn asks<A>(script: &[Step<A>]) -> usize {
    script.iter().filter(|step| matches!(step, Step::Ask { .. })).count()
}

/// Returns the name of a file: the model, and the rules that were broken.
pub(crate) fn file_name(about: &About) -> String {
    let rules = about.blame.first().map_or_else(|| "unexplained".to_owned(), |rules| rules.join("+"));
    format!("{}-{}", about.model, rules.replace(['/', ' '], "-"))
}
