//! The table of all files, at the end of a run over several.

use std::io::{self, Write};
use std::time::Duration;

use confute::{Diagnosis, Verdict};
use confute_record::Exit;
use confute_report::style::{BAD, GOOD, OPEN, STRONG};
use confute_report::text::{count, elapsed, grouped};

use serde::{Deserialize, Serialize};

use super::Judged;

/// The line of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    #[serde(with = "exit_code")]
    pub(crate) exit: Exit,
    file: String,
    /// Number of events and time, if there is a verdict.
    cost: Option<(usize, Duration)>,
    /// Place and blame, if the file was refuted.
    remark: String,
}

impl Row {
    /// Returns the row of a file that was judged.
    pub(super) fn of(judged: &Judged, exit: Exit) -> Self {
        let remark = match &judged.verdict {
            Verdict::Refuted(refutation) => {
                let line = judged.case.line(refutation.event).unwrap_or(refutation.event + 1);
                let broken = |one: &Diagnosis| one.rules.join(" and ");
                let blame = judged.blame.iter().flat_map(|blame| &blame.diagnoses).map(broken);
                let blame = blame.collect::<Vec<_>>().join(" or ");
                if blame.is_empty() { format!("line {line}") } else { format!("line {line}: {blame}") }
            }
            _ => String::new(),
        };
        let cost = Some((judged.case.events(), judged.elapsed));
        Self { exit, file: judged.file.clone(), cost, remark }
    }

    /// Returns the row of a file that could not be judged.
    pub(super) fn without_verdict(file: String, exit: Exit) -> Self {
        Self { exit, file, cost: None, remark: String::new() }
    }
}

/// Exit codes as numbers.
mod exit_code {
    use confute_record::Exit;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
    pub(super) fn serialize<S: Serializer>(exit: &Exit, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(exit.code())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Exit, D::Error> {
        let code = u8::deserialize(from)?;
        let all = [Exit::Unrefuted, Exit::Refuted, Exit::Broken, Exit::Inconclusive];
        all.into_iter().find(|exit| exit.code() == code).ok_or_else(|| D::Error::custom("no exit code"))
    }
}

/// One line for each file, and a summary.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
}

impl Table {
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.rows.iter().map(|row| row.file.chars().count()).max().unwrap_or(0).clamp(4, 60);
        writeln!(out, "\n{STRONG}{:width$}  verdict           events  time{STRONG:#}", "file")?;
        for Row { exit, file, cost, remark } in &self.rows {
            let style = match exit {
                Exit::Unrefuted => GOOD,
                Exit::Refuted | Exit::Broken => BAD,
                Exit::Inconclusive => OPEN,
            };
            let (events, time) = match cost {
                Some((events, time)) => (grouped(*events as u64), elapsed(*time)),
                None => ("-".to_owned(), "-".to_owned()),
            };
            let name = exit.name();
            let time = if remark.is_empty() { time } else { format!("{time}  {remark}") };
            writeln!(out, "{file:width$}  {style}{name:12}{style:#}  {events:>10}  {time}")?;
        }
        let of = |exit: Exit| self.rows.iter().filter(|row| row.exit == exit).count();
        let all = [Exit::Unrefuted, Exit::Refuted, Exit::Inconclusive, Exit::Broken];
        let parts =
            all.into_iter().filter(|exit| of(*exit) > 0).map(|exit| format!("{} {}", of(exit), exit.name()));
        let files = count(self.rows.len() as u64, "file");
        writeln!(out, "{files}: {}", parts.collect::<Vec<_>>().join(", "))
    }
}
