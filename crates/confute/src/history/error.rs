//! Errors of reading a history: each is one line with the place, the fault, and the remedy.
//!
//! As in errors about traces, text from the file appears in a message only shortened and escaped.

use super::Phase;
use crate::trace::FileError;

/// Reason why a file could not be read as a history.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The file is empty.
    #[error(
        "the file is empty; expected EDN maps, one a line, JSON objects, one a line, or jepsen.util lines"
    )]
    Empty,
    /// The file is not text, a line is too long, or the operating system failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has none of the known formats.
    #[error(
        "line {line}, byte {offset}: neither a Confute trace, nor EDN maps, JSON objects or jepsen.util lines; \
         is it the right file? It starts with: {found}"
    )]
    UnknownForm {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
        /// The line, shortened and escaped.
        found: String,
    },
    /// The file is a Confute trace.
    #[error(
        "line {line}, byte {offset}: this is a Confute trace, not a history of operations; check it as a trace"
    )]
    IsTrace {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
    },
    /// A line is not an entry.
    #[error("line {line}, column {column} (byte {offset}): {what}; correct or remove the line")]
    Broken {
        /// Number of the line, from 1.
        line: usize,
        /// Byte in the line, from 1.
        column: usize,
        /// Byte offset of the fault in the file, from 0.
        offset: u64,
        /// Description of the fault.
        what: String,
    },
    /// The last line is incomplete.
    #[error(
        "line {line}, byte {offset}: the file ends in the middle of an entry; was the writer killed? \
         Remove this line to use the rest"
    )]
    Truncated {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
    },
    /// The file has more entries than the limit.
    #[error("line {line}, byte {offset}: more than {limit} entries; raise the limit or split the history")]
    TooManyEntries {
        /// Number of the line of the first entry above the limit, from 1.
        line: usize,
        /// Byte offset of that line in the file, from 0.
        offset: u64,
        /// The exceeded limit.
        limit: usize,
    },
    /// A completion has no invocation.
    #[error(
        "line {line}: process {process} completes an operation ({phase}) that it has not invoked; \
         is the start of the history missing?"
    )]
    NotInvoked {
        /// Number of the line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// Phase of the completion.
        phase: Phase,
    },
    /// A process invokes an operation before its last one is completed.
    #[error(
        "line {line}: process {process} invokes an operation while that of line {earlier} is still open; \
         give each concurrent operation a process of its own"
    )]
    InvokedTwice {
        /// Number of the line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// Line of the invocation that is still open.
        earlier: usize,
    },
    /// A completion names a different operation or key than its invocation.
    #[error(
        "line {line}: process {process} completes another operation or key than it invoked at line {earlier}; \
         are lines missing between the two?"
    )]
    Mismatch {
        /// Number of the line, from 1.
        line: usize,
        /// The process.
        process: u64,
        /// Line of the invocation.
        earlier: usize,
    },
    /// The format is valid, but the file contains no operation.
    #[error("the file holds no operation of any client; is it the right file?")]
    NoOperations,
}
