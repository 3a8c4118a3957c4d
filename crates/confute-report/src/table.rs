//! The table of all violations of a run, as terminal text and on the page.

use std::io::{self, Write};

use confute_record::{RunRecord, Standing, Violation};

use crate::style::{BAD, OPEN, STRONG};
use crate::text::{WIDTH, clip, count, grouped, wrap};
use crate::violation::few;

/// Width of the column of rules.
const RULES: usize = 40;
/// Maximum number of lines of rules.
const MOST: usize = 3;
/// Columns before the rules.
const MARGIN: usize = 6;

/// A row of the table.
pub(crate) struct Row<'a> {
    pub(crate) violation: &'a Violation,
    /// The sets of rules that it is named after.
    pub(crate) rules: String,
    /// The proven level, and the level by experiment with a star, if that is another.
    pub(crate) level: String,
    /// Number of requests of the smallest case.
    pub(crate) requests: String,
    /// Number of runs in which the smallest case failed again, and of all runs.
    pub(crate) again: String,
    /// The violation in words.
    pub(crate) words: String,
}

impl<'a> Row<'a> {
    pub(crate) fn new(run: &RunRecord, violation: &'a Violation) -> Self {
        let sets: Vec<String> = violation.named().iter().map(|one| one.rules.join(" and ")).collect();
        let rules = match &sets[..] {
            [] if violation.incomplete => "no rule found within the time budget".to_owned(),
            [] => "breaking any rule does not explain it".to_owned(),
            sets => sets.join(", or "),
        };
        let requirement = violation.named_rules().first().and_then(|name| run.rule(name));
        let seen = &violation.shown().refutation.seen;
        let words = match requirement {
            Some(rule) => rule.summary.clone(),
            None if seen.is_empty() => "not explained: nothing more arrived".to_owned(),
            None => format!("not explained: {seen}"),
        };
        let again = match &violation.shrunk {
            Some(Ok(shrunk)) if shrunk.again.1 > 0 => format!("{} of {}", shrunk.again.0, shrunk.again.1),
            _ => "-".to_owned(),
        };
        let requests = grouped(violation.requests() as u64);
        Self { violation, rules, level: level(violation), requests, again, words }
    }

    /// Returns the standing, if it is not that of a violation that refutes the server.
    pub(crate) fn standing(&self) -> Option<&'static str> {
        match self.violation.standing {
            Standing::Refutes => None,
            Standing::Known => Some("known"),
            Standing::Undecided => Some("undecided"),
            Standing::Warning => Some("warning"),
        }
    }
}

/// Returns the rows of a run.
pub(crate) fn rows(run: &RunRecord) -> Vec<Row<'_>> {
    run.violations.iter().map(|one| Row::new(run, one)).collect()
}

fn level(violation: &Violation) -> String {
    let proven = match violation.level {
        None => "unknown".to_owned(),
        // Rule sets that were not tried might explain it too.
        Some(level) if violation.incomplete => format!("≥ {}", level.name()),
        Some(level) => level.name().to_owned(),
    };
    match by_experiment(violation) {
        Some(level) => format!("{proven}, {level}*"),
        None => proven,
    }
}

/// Returns the level by experiment, if it is not the proven one.
fn by_experiment(violation: &Violation) -> Option<&'static str> {
    let experiment = violation.experiment.as_ref()?;
    (Some(experiment.level) != violation.level).then(|| experiment.level.name())
}

/// Counts the violations by standing: `8 violations, 1 known violation and 4 warnings`.
pub(crate) fn counts(run: &RunRecord) -> String {
    let all = [Standing::Refutes, Standing::Known, Standing::Undecided, Standing::Warning];
    let number = |standing: &Standing| (run.standing(*standing).count() as u64, standing.title());
    let parts: Vec<String> = all
        .iter()
        .map(number)
        .filter(|(number, _)| *number > 0)
        .map(|(number, title)| count(number, title))
        .collect();
    match &parts[..] {
        [] => count(0, Standing::Refutes.title()),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Returns notes on the columns, as far as the table has what they are about.
pub(crate) fn legend(rows: &[Row<'_>]) -> Vec<&'static str> {
    let has = |fits: fn(&Row<'_>) -> bool| rows.iter().any(fits);
    let mut legend = Vec::new();
    if has(|row| by_experiment(row.violation).is_some()) {
        legend.push("*: level by experiment, beside the proven one");
    }
    if has(|row| row.violation.incomplete) {
        legend.push("≥: proven so far; not every rule was tried");
    }
    if has(|row| row.again == "-") {
        legend.push("-: the case was not run again");
    }
    legend
}

/// Writes the table for a terminal of 80 columns. Commands are not broken.
pub(crate) fn write(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let rows = rows(run);
    let line = |rules: &str, level: &str, requests: &str, again: &str| {
        format!("{rules:<RULES$} {level:<13} {requests:>8} {again:>10}")
    };
    let title = wrap(&format!("{}, the strongest level first:", counts(run)), WIDTH).join("\n");
    writeln!(out, "{STRONG}{title}{STRONG:#}")?;
    writeln!(out, "{:>4}  {}", "no", line("rule, and what it requires", "level", "requests", "reproduced"))?;
    for row in &rows {
        let style = if row.violation.standing == Standing::Refutes { BAD } else { OPEN };
        let number = row.violation.number;
        for (place, rules) in few(wrap(&row.rules, RULES), MOST, RULES).iter().enumerate() {
            if place == 0 {
                let line = line(rules, &row.level, &row.requests, &row.again);
                writeln!(out, "{style}{number:>4}{style:#}  {}", line.trim_end())?;
            } else {
                writeln!(out, "{:MARGIN$}{rules}", "")?;
            }
        }
        let standing = row.standing().map(|word| format!("{word}: ")).unwrap_or_default();
        writeln!(out, "{:MARGIN$}{}", "", clip(&format!("{standing}{}", row.words), WIDTH - MARGIN))?;
        if let Some(command) = &row.violation.command {
            writeln!(out, "{:MARGIN$}{command}", "")?;
        }
    }
    for note in legend(&rows) {
        for line in wrap(note, WIDTH - MARGIN) {
            writeln!(out, "{:MARGIN$}{line}", "")?;
        }
    }
    writeln!(out)
}
