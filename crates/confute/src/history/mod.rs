//! Histories of operations recorded by other tools: invocations and completions of each client, in order.
//!
//! [`read`] accepts EDN maps, one per line or in one vector, log lines of `jepsen.util`, and JSON objects, one per line
//! or in one array, and returns the same [`Entry`]s for all. It does not interpret operations: the effect of `cas`, or
//! of a `:fail`, is defined by the model. Entries keep the order of the file, and every completion has its invocation.
//! A [`Reader`] returns one entry after the other, and keeps those of open operations only.
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
mod elements;
mod error;
mod form;
mod json;
mod pair;
mod reader;
mod translate;

use std::fmt;
use std::io::BufRead;
use std::sync::Arc;

use crate::trace::ReadLimits;

pub use edn::{Edn, EdnError, MAX_DEPTH};
pub use error::HistoryError;
pub use form::{Format, sniff};
pub use reader::Reader;
pub use translate::{Misfit, Reading, Recorded, Recorder, Translated};

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
    /// Error of a completion, if the file has one.
    pub error: Option<Edn>,
}

/// Phase of an operation: its invocation, or the kind of its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The operation is invoked.
    Invoke,
    /// The operation completed and took effect.
    Ok,
    /// The operation failed: by Jepsen's definition it certainly did not take place. Some operations return their result
    /// by failing, as a compare-and-swap whose comparison failed.
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

/// Reads a history and detects its format. For a long one, use a [`Reader`], which keeps no entries.
pub fn read(reader: impl BufRead, limits: ReadLimits) -> Result<History, HistoryError> {
    let mut reader = Reader::new(reader, limits);
    let (mut entries, mut operations) = (Vec::new(), Vec::<Operation>::new());
    while let Some((entry, operation)) = reader.next_pair()? {
        match operations.get_mut(operation) {
            Some(operation) => operation.end = Some(entries.len()),
            None => operations.push(Operation { invoke: entries.len(), end: None }),
        }
        entries.push(entry);
    }
    let Reader { nemesis, skipped, .. } = reader;
    Ok(History { format: reader.format(), entries, operations, nemesis, skipped })
}

#[cfg(test)]
mod tests;
