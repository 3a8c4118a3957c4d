//! The violations of a run on a terminal: the table, the texts, the advice about all of them, and the written files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use confute_record::{Conclusion, RunRecord, Standing, Violation};

use crate::files::CASE;
use crate::summary::{Detail, Manner, part};
use crate::table;
use crate::text::{WIDTH, count, wrap};
use crate::violation::{Extent, kept, quoted, violation};

/// File name of the page.
const PAGE: &str = "report.html";

/// Returns `true` if there are several violations, so that a table lists them.
fn has_table(run: &RunRecord) -> bool {
    run.violations.len() > 1
}

/// Returns `true` if the violation is only in the table, unless everything is printed: it does not matter for the
/// verdict.
fn is_row_only(run: &RunRecord, violation: &Violation) -> bool {
    match violation.standing {
        Standing::Refutes => false,
        Standing::Known | Standing::Warning => true,
        Standing::Undecided => run.conclusion == Conclusion::Refuted,
    }
}

/// Returns `true` if the texts about the violations are short, because a table lists them.
pub(crate) fn is_brief(run: &RunRecord, detail: Detail) -> bool {
    has_table(run) && detail == Detail::Brief
}

/// Writes the violations: of several a table, and then each; in brief only those that matter for the verdict.
pub(crate) fn write(run: &RunRecord, manner: Manner<'_>, out: &mut dyn Write) -> io::Result<()> {
    if has_table(run) {
        part("table", out, |out| table::write(run, out))?;
    }
    let extent = match manner.detail {
        Detail::Full => Extent::Full,
        detail if is_brief(run, detail) => Extent::Brief,
        _ => Extent::Normal,
    };
    let is_told = |one: &&Violation| extent != Extent::Brief || !is_row_only(run, one);
    for finding in run.violations.iter().filter(is_told) {
        let mut next = kept(run, finding, manner.paths);
        if extent == Extent::Brief {
            // The verdict is followed by the advice that is the same for all.
            next = next.pop().into_iter().collect();
        } else if next.is_empty() && manner.paths.is_empty() {
            next = wrap(manner.hint, WIDTH - 14);
        }
        let what = format!("violation {}", finding.number);
        part(&what, out, |out| violation(&run.rules, finding, extent, &next, out))?;
    }
    Ok(())
}

/// Returns advice that concerns several violations, or their number.
pub(crate) fn next(run: &RunRecord, manner: Manner<'_>) -> Vec<String> {
    let mut next = Vec::new();
    next.extend(only_by_experiment(run));
    if !is_brief(run, manner.detail) {
        return next;
    }
    let root = root(manner.paths).filter(|_| run.is_shipped());
    match root {
        Some(root) => {
            let case = quoted(&root.join("violation-N").join(CASE).display().to_string());
            next.push(format!("`confute replay {case} {}` replays violation N", quoted(&run.server)));
        }
        None if manner.paths.is_empty() => next.extend(wrap(manner.hint, WIDTH - 14)),
        None => {}
    }
    next.extend(run.is_shipped().then(|| "`confute explain RULE` explains a rule".to_owned()));
    let more = if run.violations.iter().any(|one| is_row_only(run, one)) {
        "everything, also what is only in the table"
    } else {
        "whole proofs, and messages in full"
    };
    next.push(format!("`-v` prints {more}"));
    next.retain(|line| !line.is_empty());
    next
}

/// Returns advice on violations whose level is high enough only by experiment.
fn only_by_experiment(run: &RunRecord) -> Option<String> {
    let counts = |one: &&Violation| {
        let by_experiment =
            one.experiment.as_ref().is_some_and(|experiment| experiment.level >= run.plan.level);
        one.standing == Standing::Warning && by_experiment
    };
    let numbers: Vec<String> =
        run.violations.iter().filter(counts).map(|one| one.number.to_string()).collect();
    let warnings = if numbers.len() == 1 { "warning" } else { "warnings" };
    let flag = run.head.door.setting("by-experiment");
    (!numbers.is_empty()).then(|| format!("`{flag}` also counts {warnings} {}", numbers.join(", ")))
}

/// Returns the directory of the reports.
fn root(paths: &[PathBuf]) -> Option<&Path> {
    paths.iter().filter_map(|path| path.parent()).min_by_key(|folder| folder.components().count())
}

/// Returns the written files: in brief the page, and the number of the others.
pub(crate) fn reports(manner: Manner<'_>) -> Vec<String> {
    let paths = manner.paths;
    if manner.detail != Detail::Brief {
        return paths.iter().map(|path| path.display().to_string()).collect();
    }
    let Some(root) = root(paths) else { return Vec::new() };
    let page = paths.iter().find(|path| path.ends_with(PAGE) && path.parent() == Some(root));
    let mut lines: Vec<String> = page.iter().map(|path| path.display().to_string()).collect();
    let others = (paths.len() - lines.len()) as u64;
    let files = count(others, if lines.is_empty() { "file" } else { "more file" });
    lines.push(format!("{}: {files} (-v lists them)", root.display()));
    lines
}
