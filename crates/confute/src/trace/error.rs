//! Why a file could not be read as a trace: each error is one line that says where, what, and what to do.
//!
//! Text from the file appears in a message only after [`one_line`]: no file can forge a second line.

use super::header::{EXAMPLE, VERSION};
use super::lines::{FileError, Line, one_line};
use super::validate::Misuse;

/// Why a file could not be read as a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is nothing in it.
    #[error("the file is empty; a trace starts with a header line such as {EXAMPLE}")]
    Empty,
    /// It is no text, a line is too long, or the operating system failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The first line is no header.
    #[error(
        "line {line}, byte {offset}: not a trace; expected a header line such as {EXAMPLE}, found: {found}"
    )]
    NotATrace {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
        /// The line, shortened and escaped.
        found: String,
    },
    /// The header names a version that is not ours.
    #[error(
        "line {line}, byte {offset}: trace version {found} is not supported, only version {VERSION}; \
         read it with the Confute that wrote it, or record it again"
    )]
    Version {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
        /// The version in the header, shortened and escaped.
        found: String,
    },
    /// A line is no event, or a header with something missing.
    #[error(
        "line {line}, column {column} (byte {offset}): {what}; correct the line or record the trace again"
    )]
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
        "line {line}, byte {offset}: the file ends in the middle of an event; was the writer killed? \
         Remove this line to use the rest"
    )]
    Truncated {
        /// The line, from 1.
        line: usize,
        /// Where the line starts, from 0.
        offset: u64,
    },
    /// There are more events than the limit.
    #[error("line {line}, byte {offset}: more than {limit} events; raise the limit or split the trace")]
    TooManyEvents {
        /// The line of the first event too many, from 1.
        line: usize,
        /// Where that line starts, from 0.
        offset: u64,
        /// The limit it exceeds.
        limit: usize,
    },
    /// The events make no sense together.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

impl TraceError {
    /// What is wrong with a line that serde rejects.
    pub(super) fn from_json(line: &Line<'_>, error: &serde_json::Error) -> Self {
        if line.cut || (error.is_eof() && !line.ended) {
            return TraceError::Truncated { line: line.number, offset: line.offset };
        }
        // Serde counts lines within what it was given, which is one line.
        let full = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let column = error.column().max(1);
        TraceError::Broken {
            line: line.number,
            column,
            offset: line.offset + (column as u64 - 1),
            what: one_line(full.strip_suffix(&place).unwrap_or(&full)),
        }
    }
}
