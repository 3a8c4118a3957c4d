//! A folder of violations that were met before: they are tried first, and new ones are added.
//!
//! A file is called by the rule that was broken. Of several cases that break the same rule today the one with the fewest
//! requests is kept; one that no longer fails is kept as well.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};
use confute_drive::{Again, AnyProtocol, Finding, Limits, Net, PastRun, Plan, Rerun, Step};
use serde::Serialize;

use crate::Subject;
use crate::stored::{About, File, Form, Stored};
use crate::violation;

/// How the names of the files end.
pub const ENDING: &str = "case";
/// How often a case is done that showed each time,
const SURE: u32 = 2;
/// and how often at most one that did not, or that nobody has measured.
const UNSURE: u32 = 20;

/// What came of doing a stored case again.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The file.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// What it was blamed on when it was stored.
    pub rule: String,
    /// In how many runs it showed.
    pub shown: u32,
    /// How many runs were judged.
    pub runs: u32,
    /// What a run was refuted for instead, if one was.
    pub otherwise: Option<String>,
    /// Why a run was not judged, if one was not.
    pub unknown: Option<String>,
    /// Whether it is none of this run's: it is about a server that is tested in another way.
    pub foreign: bool,
}

impl Tried {
    /// What the file is called.
    fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// In one line.
    pub fn told(&self) -> String {
        let (name, Self { rule, shown, runs, .. }) = (self.name(), self);
        match (shown, runs, &self.otherwise, &self.unknown) {
            (1.., ..) => format!("{name}: still fails ({rule})"),
            (0, _, Some(other), _) => format!("{name}: fails, but not as it did ({rule}): {other}"),
            (0, 1.., None, None) => format!("{name}: no longer fails in {runs} runs ({rule})"),
            (0, 1.., None, Some(why)) => {
                format!("{name}: no longer fails in {runs} runs ({rule}); others were not judged: {why}")
            }
            (0, 0, None, Some(why)) => format!("{name}: not judged: {why}"),
            (0, 0, None, None) => format!("{name}: not tried"),
        }
    }

    /// Why the run owes an answer, if it does: what somebody counts on was not judged at all.
    pub fn owed(&self) -> Option<String> {
        (self.runs == 0 && !self.foreign).then(|| self.told())
    }
}

/// The files of a folder, by name. A folder that is not there has none.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.with_context(|| format!("{}: cannot be read", folder.display()))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("{}: cannot be read", folder.display()))?.path();
        if path.extension().is_some_and(|ending| ending == ENDING) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Does what is stored in a folder once more. What is refuted again, and what came of each file. Files for other models are
/// left alone; one that cannot be read is an error, because somebody counts on it.
pub fn try_all(
    protocol: &dyn AnyProtocol,
    subject: &Subject<'_>,
    plan: &Plan,
    folder: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<Finding>, Vec<Tried>)> {
    let (mut found, mut tried) = (Vec::new(), Vec::new());
    let mut cases = Vec::new();
    for path in files(folder)? {
        let file = File::open(&path)?;
        if file.about.model == subject.model {
            cases.push((path, Stored::read(protocol, file)?));
        }
    }
    let many = cases.len();
    let mut surveyed = None;
    for (place, (path, case)) in cases.into_iter().enumerate() {
        tell(&format!("regression {} of {many}: {}", place + 1, case.about.blamed_on()));
        let rule = case.about.blamed_on();
        let (otherwise, unknown) = (None, None);
        let mut one = Tried { path, rule, shown: 0, runs: 0, otherwise, unknown, foreign: false };
        let again = runner(protocol, plan, &case.about, stop);
        if stop.load(Ordering::Relaxed) {
            one.unknown = Some("it was time to stop".to_owned());
        } else if is_late(plan) {
            one.unknown = Some("there was no time left for it; give --max-time more".to_owned());
        } else if case.about.settings["resources"] != subject.settings["resources"] {
            // Done all the same, it would write to what is only to be read.
            one.foreign = true;
            one.unknown = Some("it was met with other resources (--path)".to_owned());
        } else if case.about.is_allowed(&plan.allow) {
            one.foreign = true;
            one.unknown = Some("what it breaks is allowed".to_owned());
        } else if let Err(trouble) = surveyed.get_or_insert_with(|| again.survey(&case.about.name)) {
            one.unknown = Some(trouble.to_string());
        } else {
            found.extend(try_one(&again, plan, &case, &mut one));
        }
        tried.push(one);
    }
    Ok((found, tried))
}

/// Whether the time for stored cases is over.
fn is_late(plan: &Plan) -> bool {
    plan.limits.end.is_some_and(|end| Instant::now() >= end)
}

/// Does it until it shows, or often enough.
fn try_one(again: &Again<'_>, plan: &Plan, case: &Stored, tried: &mut Tried) -> Option<Finding> {
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
                tried.otherwise = Some(violation::name(&finding));
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

/// Runs a stored case like the one it was.
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

/// Adds what refutes to the folder, in which these were tried before. Which files were written.
pub fn store(
    protocol: &dyn AnyProtocol,
    subject: &Subject<'_>,
    plan: &Plan,
    findings: &[Finding],
    tried: &[Tried],
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    // One that did not show does not stand for what was met now.
    let is_other = |path: &PathBuf| tried.iter().any(|one| one.path == *path && one.shown == 0);
    let mut written = Vec::new();
    for finding in findings.iter().filter(|finding| finding.refutes(plan.level)) {
        let case = Stored::new(subject, plan, finding, Form::Shrunk);
        let name = file_name(&case.about);
        let first = folder.join(format!("{name}.{ENDING}"));
        let more = (2..).map(|number| folder.join(format!("{name}-{number}.{ENDING}")));
        let Some(path) = std::iter::once(first).chain(more).find(|path| !is_other(path)) else { continue };
        if path.exists() && requests(protocol, &path)? <= asks(&case.script) {
            continue;
        }
        fs::create_dir_all(folder)
            .and_then(|()| case.write(&path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn requests(protocol: &dyn AnyProtocol, path: &Path) -> Result<usize> {
    Ok(asks(&Stored::read(protocol, File::open(path)?)?.script))
}

fn asks<A>(script: &[Step<A>]) -> usize {
    script.iter().filter(|step| matches!(step, Step::Ask { .. })).count()
}

/// What a file is called: after the rules that were broken.
fn file_name(about: &About) -> String {
    let rules = about.blame.first().map_or_else(|| "unexplained".to_owned(), |rules| rules.join("+"));
    format!("{}-{}", about.model, rules.replace(['/', ' '], "-"))
}
