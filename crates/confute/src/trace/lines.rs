//! Lines of an untrusted text file, one at a time and never longer than a set limit.
//!
//! This module handles bytes, newlines and UTF-8; its callers, the readers of traces and histories, interpret
//! the lines. At most one line is in memory, and never more of it than the limit: a file without newlines
//! costs no more.

use std::io::{self, BufRead, Read as _};

/// Error in a file, detected before its lines are interpreted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file is binary, or has another encoding.
    #[error(
        "line {line}, byte {offset}: not a text file ({what}); decompress it or convert it to UTF-8 first"
    )]
    NotText {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the offending byte in the file, from 0.
        offset: u64,
        /// Evidence that the file is not text.
        what: &'static str,
    },
    /// A line is longer than the limit.
    #[error(
        "line {line}, byte {offset}: the line is longer than {limit} bytes; raise the limit if that is meant"
    )]
    LineTooLong {
        /// Number of the line, from 1.
        line: usize,
        /// Byte offset of the line in the file, from 0.
        offset: u64,
        /// The exceeded limit.
        limit: usize,
    },
    /// The operating system failed to read the file.
    #[error("line {line}, byte {offset}: cannot read on: {}", one_line(&source.to_string()))]
    Io {
        /// Number of the line that was being read, from 1.
        line: usize,
        /// Byte offset of that line in the file, from 0.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// One line, without its newline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Number of the line, from 1.
    pub(crate) number: usize,
    /// Byte offset of `text` in the file, from 0.
    pub(crate) offset: u64,
    pub(crate) text: &'a str,
    /// `true` if a newline follows; only the last line of a file may lack it.
    pub(crate) ended: bool,
    /// `true` if the file ends inside a character, which `text` then omits.
    pub(crate) cut: bool,
}

impl Line<'_> {
    pub(crate) fn is_blank(&self) -> bool {
        !self.cut && self.text.trim_ascii().is_empty()
    }
}

/// Reader of [`Line`]s.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    limit: usize,
    buffer: Vec<u8>,
    number: usize,
    offset: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Lines { reader, limit, buffer: Vec::new(), number: 0, offset: 0 }
    }

    /// Returns the number of the line read last; 0 before the first.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Returns the maximum length of a line, in bytes.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, FileError> {
        let (line, offset, limit) = (self.number + 1, self.offset, self.limit);
        self.buffer.clear();
        let most = (limit as u64).saturating_add(1);
        let length = self
            .reader
            .by_ref()
            .take(most)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|source| FileError::Io { line, offset, source })?;
        if length == 0 {
            return Ok(None);
        }
        self.number = line;
        self.offset += length as u64;

        let (bytes, ended) = match self.buffer.strip_suffix(b"\n") {
            Some(bytes) => (bytes.strip_suffix(b"\r").unwrap_or(bytes), true),
            None => (&self.buffer[..], false),
        };
        let not_text = |at: usize, what| FileError::NotText { line, offset: offset + at as u64, what };
        if bytes.contains(&0) {
            let at = bytes.iter().position(|&byte| byte == 0).unwrap_or(0);
            return Err(not_text(at, "it has a NUL byte"));
        }
        let (text, cut) = match std::str::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) if error.error_len().is_some() || ended => {
                return Err(not_text(error.valid_up_to(), "invalid UTF-8"));
            }
            Err(error) => (std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(), true),
        };
        // After the checks for text, because for a binary file that is the better error message.
        if !ended && length as u64 == most {
            return Err(FileError::LineTooLong { line, offset, limit });
        }
        // Some editors begin a file with a byte order mark.
        let (text, offset) = match text.strip_prefix('\u{feff}') {
            Some(text) if line == 1 => (text, offset + 3),
            _ => (text, offset),
        };
        Ok(Some(Line { number: line, offset, text, ended, cut }))
    }
}

/// Returns text from outside in a form for error messages: on one line, with special characters escaped, and
/// shortened.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let mut shown = String::new();
    for (count, c) in text.trim_end().chars().enumerate() {
        if count == LONGEST {
            shown.push('…');
            break;
        }
        // Besides control characters: line separators, and characters that reorder the text around them.
        let odd = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
        if c.is_control() || odd { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number, offset, text, ended, cut.
    type Seen = (usize, u64, String, bool, bool);

    fn all(bytes: &[u8], limit: usize) -> Result<Vec<Seen>, FileError> {
        let mut lines = Lines::new(bytes, limit);
        let mut seen = Vec::new();
        while let Some(line) = lines.next()? {
            seen.push((line.number, line.offset, line.text.to_owned(), line.ended, line.cut));
        }
        Ok(seen)
    }

    #[test]
    fn positions_and_ends() {
        assert_eq!(
            all("\u{feff}a\r\n\nbé".as_bytes(), 10).unwrap(),
            [
                (1, 3, "a".into(), true, false),
                (2, 6, String::new(), true, false),
                (3, 7, "bé".into(), false, false),
            ]
        );
        assert_eq!(all(b"a\xc3", 10).unwrap(), [(1, 0, "a".into(), false, true)]);
    }

    #[test]
    fn limit_excludes_the_newline() {
        assert_eq!(all(b"abc\nabc", 3).unwrap().len(), 2);
        assert!(matches!(
            all(b"abc\nabcd\n", 3),
            Err(FileError::LineTooLong { line: 2, offset: 4, limit: 3 })
        ));
        assert_eq!(all(b"abc", usize::MAX).unwrap().len(), 1);
    }

    #[test]
    fn binary_is_not_text() {
        assert!(matches!(all(b"a\nb\0c", 9), Err(FileError::NotText { line: 2, offset: 3, .. })));
        assert!(matches!(all(b"\x1f\x8b\x08\n", 9), Err(FileError::NotText { line: 1, offset: 1, .. })));
        assert!(matches!(all(b"a\xc3\n", 9), Err(FileError::NotText { offset: 1, .. })));
        assert!(matches!(all(&[0; 100], 9), Err(FileError::NotText { offset: 0, .. })));
    }

    #[test]
    fn shown_on_one_line() {
        assert_eq!(one_line("a\n\u{1b}[31m\u{2028}é\n"), "a\\n\\u{1b}[31m\\u{2028}é");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), 161);
    }
}
