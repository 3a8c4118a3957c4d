//! Rows of an evaluation as JSON, CSV and Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::record::{Quartiles, Record};

/// All results for one server.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) subject: String,
    /// Number in the paper.
    pub(crate) paper: Option<usize>,
    /// Sentence about the bug.
    pub(crate) what: String,
    pub(crate) note: Option<String>,
    /// Rules, any of which is right to blame.
    pub(crate) breaks: Vec<String>,
    pub(crate) runs: usize,
    /// Number of runs that refuted the server for something that the baseline does not do.
    pub(crate) refuted: usize,
    /// Number of refuting runs that blamed a right rule.
    pub(crate) right: usize,
    pub(crate) seconds: Option<Quartiles>,
    pub(crate) messages: Option<Quartiles>,
    /// Median number of messages that the original tester needed.
    pub(crate) original: Option<u64>,
    /// Median number of requests in the shrunk cases.
    pub(crate) shrunk: Option<f64>,
    /// Sets of blamed rules, with the number of runs.
    pub(crate) blamed: Vec<(String, usize)>,
    /// Reasons of runs without a verdict.
    pub(crate) inconclusive: Vec<String>,
}

impl Row {
    /// Creates a row from these runs. A violation of a rule in `excused` is no hit.
    pub(crate) fn of(subject: &str, records: &[Record], breaks: &[String], excused: &[String]) -> Self {
        let is_hit = |record: &&Record| {
            let new = record.blamed.iter().any(|rule| !excused.contains(rule)) || record.blamed.is_empty();
            record.seconds.is_some() && new
        };
        let hits: Vec<&Record> = records.iter().filter(is_hit).collect();
        // A diagnosis of several rules is right only if each of them is.
        let is_right = |record: &&&Record| record.blamed.iter().any(|rules| is_within(rules, breaks));
        let mut blamed = BTreeMap::<String, usize>::new();
        for record in &hits {
            let rules =
                if record.blamed.is_empty() { "no rule found".to_owned() } else { record.blamed.join(" | ") };
            *blamed.entry(rules).or_default() += 1;
        }
        let mut blamed: Vec<_> = blamed.into_iter().collect();
        blamed.sort_by_key(|(rules, times)| (std::cmp::Reverse(*times), rules.clone()));
        Self {
            subject: subject.to_owned(),
            paper: None,
            what: String::new(),
            note: None,
            breaks: breaks.to_vec(),
            runs: records.len(),
            refuted: hits.len(),
            right: hits.iter().filter(is_right).count(),
            seconds: Quartiles::of(hits.iter().filter_map(|record| record.seconds)),
            messages: Quartiles::of(
                hits.iter().filter_map(|record| record.messages).map(|count| count as f64),
            ),
            original: None,
            shrunk: Quartiles::of(hits.iter().filter_map(|record| record.shrunk).map(|count| count as f64))
                .map(|it| it.median),
            blamed,
            inconclusive: records.iter().filter_map(|record| record.inconclusive.clone()).collect(),
        }
    }

    /// Returns `true` if every run refuted the server.
    pub(crate) fn is_full(&self) -> bool {
        self.refuted == self.runs
    }

    pub(crate) fn heading() -> String {
        format!(
            "{:<44} {:>7} {:>9} {:>9} {:>9} {:>8} {:>7} {:>7}  {}",
            "server", "found", "median s", "worst s", "messages", "original", "right", "shrunk", "blamed"
        )
    }

    pub(crate) fn line(&self) -> String {
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        format!(
            "{:<44} {:>7} {:>9} {:>9} {:>9} {:>8} {:>7} {:>7}  {}",
            self.subject,
            format!("{}/{}", self.refuted, self.runs),
            or_none(self.seconds.map(|it| format!("{:.3}", it.median))),
            or_none(self.seconds.map(|it| format!("{:.3}", it.most))),
            or_none(self.messages.map(|it| it.median.to_string())),
            or_none(self.original.map(|count| count.to_string())),
            self.right(),
            or_none(self.shrunk.map(|count| count.to_string())),
            self.blamed.first().map_or("", |(rules, _)| rules),
        )
    }
}

impl Row {
    /// Formats the number of runs that blamed a right rule, if any rule is known to be right.
    fn right(&self) -> String {
        let known = !self.breaks.is_empty();
        if known { format!("{}/{}", self.right, self.refuted) } else { "-".to_owned() }
    }
}

/// Returns `true` if all rules of a diagnosis are among `those`.
pub(crate) fn is_within(rules: &str, those: &[impl AsRef<str>]) -> bool {
    rules.split(" + ").all(|rule| those.iter().any(|one| one.as_ref() == rule))
}

/// Writes the rows in all three formats.
pub(crate) fn write(folder: &Path, about: &str, rows: &[Row]) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("results.json"), serde_json::to_string_pretty(rows)? + "\n")?;
    fs::write(folder.join("results.csv"), csv(rows))?;
    fs::write(folder.join("results.md"), format!("{about}\n\n{}", markdown(rows)))?;
    Ok(())
}

fn csv(rows: &[Row]) -> String {
    let mut text = "subject,paper,runs,refuted,right,seconds_least,seconds_lower,seconds_median,seconds_upper,\
                    seconds_most,messages_least,messages_lower,messages_median,messages_upper,messages_most,original,\
                    shrunk,blamed\n"
        .to_owned();
    for row in rows {
        let five = |it: Option<Quartiles>| {
            it.map_or_else(
                || ",,,,".to_owned(),
                |it| format!("{},{},{},{},{}", it.least, it.lower, it.median, it.upper, it.most),
            )
        };
        let or_none = |number: Option<String>| number.unwrap_or_default();
        let blamed: Vec<_> = row.blamed.iter().map(|(rules, times)| format!("{rules} ({times})")).collect();
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},\"{}\"",
            row.subject,
            or_none(row.paper.map(|number| number.to_string())),
            row.runs,
            row.refuted,
            row.right,
            five(row.seconds),
            five(row.messages),
            or_none(row.original.map(|count| count.to_string())),
            or_none(row.shrunk.map(|count| count.to_string())),
            blamed.join("; ").replace('"', "\"\""),
        );
    }
    text
}

fn markdown(rows: &[Row]) -> String {
    let mut text =
        "| server | what is wrong | found | s: least, quartiles, most | messages: least, quartiles, most | \
                    original | right rule | shrunk to | blamed |\n|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let five = |it: Option<Quartiles>, digits: usize| {
            it.map_or_else(
                || "-".to_owned(),
                |it| {
                    format!(
                        "{:.digits$}, {:.digits$}, **{:.digits$}**, {:.digits$}, {:.digits$}",
                        it.least, it.lower, it.median, it.upper, it.most
                    )
                },
            )
        };
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let blamed: Vec<_> = row
            .blamed
            .iter()
            .map(|(rules, times)| format!("{} ({times})", rules.replace(" | ", " or ")))
            .collect();
        let note = row.note.as_ref().map_or_else(String::new, |note| format!(" *{note}*"));
        let _ = writeln!(
            text,
            "| {} | {}{note} | {}/{} | {} | {} | {} | {} | {} | {} |",
            row.subject,
            row.what,
            row.refuted,
            row.runs,
            five(row.seconds, 3),
            five(row.messages, 0),
            or_none(row.original.map(|count| count.to_string())),
            row.right(),
            or_none(row.shrunk.map(|count| count.to_string())),
            blamed.join(", "),
        );
    }
    text
}
