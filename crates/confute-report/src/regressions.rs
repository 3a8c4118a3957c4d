//! A folder of violations that were met before: they are tried first, and new ones are added.
//!
//! A file is called by the rule that was broken. Of several cases for the same rule the one with the fewest requests is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use confute_drive::{Again, Deed, Finding, Limits, Net, Plan, Protocol, Rerun, Step};

use crate::Subject;
use crate::stored::{About, File, Form, Stored};

/// How the names of the files end.
pub const ENDING: &str = "case";
/// How often a case is done that showed each time.
const SURE: u32 = 2;
/// How often at most one is done that did not show each time.
const UNSURE: u32 = 20;

/// What came of doing a stored case again.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The file.
    pub path: PathBuf,
    /// What it was blamed on when it was stored.
    pub rule: String,
    /// In how many runs it showed.
    pub shown: u32,
    /// How many runs were judged.
    pub runs: u32,
    /// Why a run was not judged, if one was not.
    pub unknown: Option<String>,
}

impl Tried {
    /// In one line.
    pub fn told(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let Self { rule, shown, runs, .. } = self;
        match (shown, runs, &self.unknown) {
            (1.., ..) => format!("{name}: still fails ({rule})"),
            (0, 1.., _) => format!("{name}: no longer fails in {runs} runs ({rule})"),
            (0, 0, Some(why)) => format!("{name}: not judged: {why}"),
            (0, 0, None) => format!("{name}: not tried"),
        }
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

/// Does what is stored in a folder once more. What shows again, and what came of each file. Files for other models are
/// left alone; one that cannot be read is an error, because somebody counts on it.
pub fn try_all<P: Protocol>(
    protocol: &P,
    subject: &Subject<'_>,
    plan: &Plan,
    folder: &Path,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> Result<(Vec<Finding<P>>, Vec<Tried>)> {
    let (mut found, mut tried) = (Vec::new(), Vec::new());
    let mut cases = Vec::new();
    for path in files(folder)? {
        let file = File::open(&path)?;
        if file.about.model == subject.model {
            cases.push((path, Stored::<P>::read(file)?));
        }
    }
    let many = cases.len();
    for (place, (path, case)) in cases.into_iter().enumerate() {
        tell(&format!("regression {} of {many}: {}", place + 1, case.about.blamed_on()));
        let mut one = Tried { path, rule: case.about.blamed_on(), shown: 0, runs: 0, unknown: None };
        if stop.load(Ordering::Relaxed) {
            tried.push(one);
            continue;
        }
        found.extend(try_one(protocol, plan, &case, &mut one, stop));
        tried.push(one);
    }
    Ok((found, tried))
}

/// Does it until it shows, or often enough.
fn try_one<P: Protocol>(
    protocol: &P,
    plan: &Plan,
    case: &Stored<P>,
    tried: &mut Tried,
    stop: &AtomicBool,
) -> Option<Finding<P>> {
    let again = runner(protocol, plan, &case.about, stop);
    let (mut relaxed, _) = case.relaxed(protocol);
    relaxed.extend(&plan.allow);
    let deed =
        Deed { script: &case.script, name: &case.about.name, seed: case.about.seed, relaxed: &relaxed };
    let mut net = match Net::new(plan.target.listen) {
        Ok(net) => net,
        Err(trouble) => {
            tried.unknown = Some(trouble.to_string());
            return None;
        }
    };
    let most = if case.about.again.0 == case.about.again.1 { SURE } else { UNSURE };
    for _ in 0..most {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match again.once(&mut net, &deed) {
            Ok(Rerun::Refuted(finding)) => {
                tried.runs += 1;
                tried.shown += 1;
                return Some(*finding);
            }
            Ok(Rerun::Explained) => tried.runs += 1,
            Ok(Rerun::Unknown(why)) => tried.unknown = Some(why),
            Err(trouble) => {
                tried.unknown = Some(trouble.to_string());
                break;
            }
        }
    }
    None
}

/// Runs a stored case like the one it was.
pub fn runner<'a, P: Protocol>(
    protocol: &'a P,
    plan: &'a Plan,
    about: &'a About,
    stop: &'a AtomicBool,
) -> Again<'a, P> {
    let limits = Limits { connections: about.connections, ..plan.limits.clone() };
    let blame_time = plan.blame_time;
    Again { protocol, target: plan.target, limits, blame_time, prefix: &about.prefix, stop }
}

/// Adds what refutes to the folder. Which files were written.
pub fn store<P: Protocol>(
    subject: &Subject<'_>,
    plan: &Plan,
    findings: &[Finding<P>],
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for finding in findings.iter().filter(|finding| finding.refutes(plan.level)) {
        let case = Stored::new(subject, plan, finding, Form::Shrunk);
        let path = folder.join(format!("{}.{ENDING}", file_name(&case.about)));
        if path.exists() && requests::<P>(&path)? <= asks(&case.script) {
            continue;
        }
        fs::create_dir_all(folder)
            .and_then(|()| case.write(&path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
    }
    Ok(written)
}

fn requests<P: Protocol>(path: &Path) -> Result<usize> {
    Ok(asks(&Stored::<P>::read(File::open(path)?)?.script))
}

fn asks<A>(script: &[Step<A>]) -> usize {
    script.iter().filter(|step| matches!(step, Step::Ask { .. })).count()
}

/// What a file is called: after the rules that were broken.
fn file_name(about: &About) -> String {
    let rules = about.blame.first().map_or_else(|| "unexplained".to_owned(), |rules| rules.join("+"));
    format!("{}-{}", about.model, rules.replace(['/', ' '], "-"))
}
