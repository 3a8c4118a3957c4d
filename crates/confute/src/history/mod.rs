//! Histories of operations recorded by other tools: invocations and completions of each client, in order.
//!
//! [`read`] accepts EDN maps, one per line, or log lines of `jepsen.util`, and returns the same [`Entry`]s
//! for both. It does not interpret operations: the effect of `cas`, or of a `:fail`, is defined by the model.
//! Entries keep the order of the file, and every completion has its invocation.
//!
//! ```
//! use confute::history::{Edn, Phase, read};
//! use confute::trace::ReadLimits;
//!
//! let file = "{:process 9, :type :invoke, :f :append, :key \"0\", :value \"x\"}\n\
//!             {:process 9, :type :ok, :f :append, :key \"0\", :value \"x\"}\n";
//! let history = read(file.as_bytes(), ReadLimits::default())?;
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

use crate::trace::ReadLimits;
use crate::trace::lines::{Lines, one_line};
use form::Said;
use pair::Pairs;

pub use edn::{Edn, EdnError, MAX_DEPTH};
pub use error::HistoryError;
pub use form::{Format, sniff};

/// A recorded history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Format of the file.
    pub format: Format,
    /// Entries of the clients, in the order of the file.
    pub entries: Vec<Entry>,
    /// The entries paired into operations, in the order of invocation.
    pub operations: Vec<Operation>,
    /// Number of lines about the nemesis.
    pub nemesis: usize,
    /// Number of other lines without an operation, not counting blank lines.
    pub skipped: usize,
}

/// An entry of a history: the invocation or completion of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the line in the file, from 1.
    pub line: usize,
    /// Number of the client.
    pub process: u64,
    /// Phase of the operation: its invocation, or the kind of its completion.
    pub phase: Phase,
    /// Name of the operation, without the colon.
    pub f: Arc<str>,
    /// Key the operation applies to, if the format has one.
    pub key: Option<Edn>,
    /// Argument of an invocation; result of a completion, or its argument repeated.
    pub value: Edn,
}

/// Phase of an operation: its invocation, or the kind of its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The operation is invoked.
    Invoke,
    /// The operation completed and took effect.
    Ok,
    /// The operation failed; whether it took effect depends on the operation.
    Fail,
    /// The client gave up, but the operation may take effect at any later time or never.
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

/// An operation as a pair of indices into [`History::entries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Index of the invocation.
    pub invoke: usize,
    /// Index of the completion; an operation without one may take effect at any later time or never.
    pub end: Option<usize>,
}

/// Reads a history and detects its format.
pub fn read(reader: impl BufRead, limits: ReadLimits) -> Result<History, HistoryError> {
    let mut lines = Lines::new(reader, limits.line);
    let mut format = None;
    let (mut entries, mut pairs) = (Vec::<Entry>::new(), Pairs::default());
    let (mut nemesis, mut skipped) = (0, 0);
    // A history has few names and many entries, so each name is stored once.
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
        if entries.len() == limits.events {
            return Err(HistoryError::TooManyEntries { line: number, offset, limit: limits.events });
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
