//! Why a file could not be read as a history: each error is one line that says where, what, and what to do.
//!
//! As with traces, text from the file appears in a message shortened and escaped only.

use super::Phase;
use crate::trace::FileError;

/// Why a file could not be read as a history.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// There is nothing in it.
    #[error("the file is empty; expected EDN maps, one a line, or jepsen.util lines")]
    Empty,
    /// It is no text, a line is too long, or the operating system failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is in none of the forms we know.
    #[error(
        "line {line}, byte {offset}: neither a Confute trace, nor EDN maps, nor jepsen.util lines; \
         is it the right file? It starts with: {found}"
    )]
    UnknownForm {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
        /// The line, shortened and escaped.
        found: String,
    },
    /// It is a trace.
    #[error(
        "line {line}, byte {offset}: this is a Confute trace, not a history of operations; check it as a trace"
    )]
    IsTrace {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
    },
    /// A line is no entry.
    #[error("line {line}, column {column} (byte {offset}): {what}; correct or remove the line")]
    Broken {
        /// The line, from 1.
        line: usize,
        /// The byte in the line, from 1.
        column: usize,
        /// The same place in the file, from 0.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// The last line stops short.
    #[error(
        "line {line}, byte {offset}: the file ends in the middle of an entry; was the writer killed? \
         Remove this line to use the rest"
    )]
    Truncated {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
    },
    /// There are more entries than the limit.
    #[error("line {line}, byte {offset}: more than {limit} entries; raise the limit or split the history")]
    TooManyEntries {
        /// The line of the first entry too many, from 1.
        line: usize,
        /// Where that line starts, from 0.
        offset: u64,
        /// The limit it exceeds.
        limit: usize,
    },
    /// An operation ends that was never begun.
    #[error(
        "line {line}: process {process} completes an operation ({phase}) that it has not invoked; \
         is the start of the history missing?"
    )]
    NotInvoked {
        /// The line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// How the operation is said to end.
        phase: Phase,
    },
    /// A process begins an operation before its last one ended.
    #[error(
        "line {line}: process {process} invokes an operation while that of line {earlier} is still open; \
         give each concurrent operation a process of its own"
    )]
    InvokedTwice {
        /// The line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// The line of the invocation that is still open.
        earlier: usize,
    },
    /// An operation ends as another than it began.
    #[error(
        "line {line}: process {process} completes another operation or key than it invoked at line {earlier}; \
         are lines missing between the two?"
    )]
    Mismatch {
        /// The line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// The line of the invocation.
        earlier: usize,
    },
    /// The form is right, but there is no operation.
    #[error("the file holds no operation of any client; is it the right file?")]
    NoOperations,
}
