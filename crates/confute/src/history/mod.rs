//! Histories of operations that others recorded: who called what, when, and what came of it.
//!
//! [`read`] takes EDN maps, one a line, or the log lines of `jepsen.util`, and gives the same [`Entry`]s for both. It
//! attaches no meaning to operations: what `cas` does, or whether a `:fail` happened, is for the model. The order of
//! entries is that of the file, and every completion has its invocation.
//!
//! ```
//! use confute::history::{Edn, Limits, Phase, read};
//!
//! let file = "{:process 9, :type :invoke, :f :append, :key \"0\", :value \"x\"}\n\
//!             {:process 9, :type :ok, :f :append, :key \"0\", :value \"x\"}\n";
//! let history = read(file.as_bytes(), Limits::default())?;
//! assert_eq!(history.entries[1].phase, Phase::Ok);
//! assert_eq!(history.operations[0].end, Some(1));
//! # Ok::<(), confute::history::HistoryError>(())
//! ```

mod edn;
mod error;
mod form;
mod pair;

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::trace::lines::{Lines, one_line};
use form::Said;
use pair::Pairs;

pub use edn::{Edn, EdnError, MAX_DEPTH};
pub use error::HistoryError;
pub use form::{Format, sniff};

/// A recorded history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The form it was found in.
    pub format: Format,
    /// What the clients did, in order.
    pub entries: Vec<Entry>,
    /// The same in pairs, in the order of invocation.
    pub operations: Vec<Operation>,
    /// How many lines were about the nemesis.
    pub nemesis: usize,
    /// How many other lines were not about operations, blank ones aside.
    pub skipped: usize,
}

/// One line: an operation begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The line in the file, from 1.
    pub line: usize,
    /// The client.
    pub process: u64,
    /// Whether it begins or how it ends.
    pub phase: Phase,
    /// The name of the operation, without the colon.
    pub f: Arc<str>,
    /// What it is about, if the form says.
    pub key: Option<Edn>,
    /// The argument at the beginning; the result, or the argument again, at the end.
    pub value: Edn,
}

/// Whether an operation begins or how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It begins.
    Invoke,
    /// It ends and took effect.
    Ok,
    /// It ends; what that means depends on the operation.
    Fail,
    /// It ends for the client, but may take effect at any later time or never.
    Info,
}

impl Phase {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "invoke" => Some(Phase::Invoke),
            "ok" => Some(Phase::Ok),
            "fail" => Some(Phase::Fail),
            "info" => Some(Phase::Info),
            _ => None,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Phase::Invoke => ":invoke",
            Phase::Ok => ":ok",
            Phase::Fail => ":fail",
            Phase::Info => ":info",
        })
    }
}

/// An operation, as indices into [`History::entries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Where it begins.
    pub invoke: usize,
    /// Where it ends; without an end it may take effect at any later time or never.
    pub end: Option<usize>,
}

/// How much [`read`] puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest line, in bytes.
    pub line: usize,
    /// The most entries.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { line: 16 << 20, entries: 50_000_000 }
    }
}

/// Reads a history, in whichever form it is.
pub fn read(reader: impl BufRead, limits: Limits) -> Result<History, HistoryError> {
    let mut lines = Lines::new(reader, limits.line);
    let mut format = None;
    let (mut entries, mut pairs) = (Vec::<Entry>::new(), Pairs::default());
    let (mut nemesis, mut skipped) = (0, 0);
    // Few names, many entries: keep each name once.
    let mut names = FxHashSet::<Arc<str>>::default();
    while let Some(line) = lines.next()? {
        if line.is_blank() {
            continue;
        }
        let (number, offset) = (line.number, line.offset);
        if format.is_none() && line.text.trim_ascii_start().starts_with(';') {
            skipped += 1;
            continue;
        }
        let form = match format.or_else(|| sniff(line.text.as_bytes())) {
            Some(Format::Trace) => return Err(HistoryError::IsTrace { line: number, offset }),
            Some(form) => form,
            None => {
                return Err(HistoryError::UnknownForm { line: number, offset, found: one_line(line.text) });
            }
        };
        format = Some(form);
        let said = if form == Format::Jepsen {
            form::jepsen(line.text, number)
        } else {
            form::edn(line.text, number)
        };
        let mut entry = match said {
            _ if line.cut => return Err(HistoryError::Truncated { line: number, offset }),
            Err(fault) if fault.at_end && !line.ended => {
                return Err(HistoryError::Truncated { line: number, offset });
            }
            Err(fault) => {
                let (column, offset) = (fault.at + 1, offset + fault.at as u64);
                return Err(HistoryError::Broken {
                    line: number,
                    column,
                    offset,
                    what: one_line(&fault.what),
                });
            }
            Ok(Said::Nemesis) => {
                nemesis += 1;
                continue;
            }
            Ok(Said::Nothing) => {
                skipped += 1;
                continue;
            }
            Ok(Said::Entry(entry)) => entry,
        };
        if entries.len() == limits.entries {
            return Err(HistoryError::TooManyEntries { line: number, offset, limit: limits.entries });
        }
        if let Some(name) = names.get(&entry.f) {
            entry.f = Arc::clone(name);
        } else {
            names.insert(Arc::clone(&entry.f));
        }
        pairs.add(&entries, &entry)?;
        entries.push(entry);
    }
    match format {
        None => Err(HistoryError::Empty),
        Some(_) if entries.is_empty() => Err(HistoryError::NoOperations),
        Some(format) => Ok(History { format, entries, operations: pairs.operations, nemesis, skipped }),
    }
}

#[cfg(test)]
mod tests;
