//! Errors of reading a trace: each is one line with the place, the fault, and the remedy.
//!
//! Text from the file appears in a message only after [`one_line`]: no file can forge a second line.

use super::header::{EXAMPLE, VERSION};
use super::lines::{FileError, Line, one_line};
use super::validate::Misuse;

/// Reason why a file could not be read as a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file is empty.
    #[error("the file is empty; a trace starts with a header line such as {EXAMPLE}")]
    Empty,
    /// The file is not text, a line is too long, or the operating system failed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The first line is not a header.
    #[error(
        "line {line}, byte {offset}: not a trace; expected a header line such as {EXAMPLE}, found: {found}"
    )]
    NotATrace {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
        /// The line, shortened and escaped.
        found: String,
    },
    /// The header names an unsupported version.
    #[error(
        "line {line}, byte {offset}: trace version {found} is not supported, only version {VERSION}; \
         read it with the Confute that wrote it, or record it again"
    )]
    Version {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
        /// The version in the header, shortened and escaped.
        found: String,
    },
    /// A line is not an event, or the header lacks a field.
    #[error(
        "line {line}, column {column} (byte {offset}): {what}; correct the line or record the trace again"
    )]
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
        "line {line}, byte {offset}: the file ends in the middle of an event; was the writer killed? \
         Remove this line to use the rest"
    )]
    Truncated {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
    },
    /// The file has more events than the limit.
    #[error("line {line}, byte {offset}: more than {limit} events; raise the limit or split the trace")]
    TooManyEvents {
        /// Number of the line of the first event above the limit, from 1.
        line: usize,
        /// Byte offset of that line in the file, from 0.
        offset: u64,
        /// The exceeded limit.
        limit: usize,
    },
    /// The events are inconsistent.
    #[error(transparent)]
    Misuse(#[from] Misuse),
}

impl TraceError {
    /// Returns the error for a line that serde rejects.
    pub(super) fn from_json(line: &Line<'_>, error: &serde_json::Error) -> Self {
        if line.cut || (error.is_eof() && !line.ended) {
            return TraceError::Truncated { line: line.number, offset: line.offset };
        }
        // Serde counts lines within its input, which is one line.
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
