//! Elements of one long vector, `[{…} {…}]`, or JSON array, one at a time.
//!
//! A history may be written as one value. Parsing it as one would hold all of it in memory several times over, so it is
//! cut into its elements first, which needs no more than brackets, strings and comments. An element is in memory
//! until the next; a line is too, so a vector on a single line needs a limit that admits it.

use std::io::BufRead;

use crate::trace::FileError;
use crate::trace::lines::Lines;

/// Cutter of a vector into its elements.
#[derive(Default)]
pub(super) struct Elements {
    /// The present line, with its newline, and the position in it.
    line: String,
    at: usize,
    number: usize,
    offset: u64,
    state: State,
    closed: bool,
}

/// One element of a vector.
pub(super) struct Element {
    pub(super) text: String,
    /// Number of the line on which it begins, and its byte offset in the file.
    pub(super) line: usize,
    pub(super) offset: u64,
}

/// The outcome of looking for the next element.
pub(super) enum Cut {
    Element(Element),
    /// The vector has ended, and so has the file.
    End,
    /// The file has ended inside the vector.
    Truncated {
        line: usize,
        offset: u64,
    },
    /// Something follows the end of the vector.
    Trailing {
        line: usize,
        column: usize,
        offset: u64,
    },
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Plain,
    Text,
    /// Behind a backslash in a text.
    Escape,
    Comment,
    /// Behind a backslash outside of a text: the next character is meant literally.
    Char,
}

#[derive(Default)]
struct State {
    mode: Mode,
    /// Number of open brackets, that of the vector included.
    depth: usize,
    element: Option<Element>,
}

impl Elements {
    /// Begins at the line that opens the vector.
    pub(super) fn new(text: &str, number: usize, offset: u64) -> Self {
        Self { line: format!("{text}\n"), number, offset, ..Self::default() }
    }

    /// Returns the next element.
    pub(super) fn next<R: BufRead>(&mut self, lines: &mut Lines<R>) -> Result<Cut, FileError> {
        loop {
            if let Some(cut) = self.scan() {
                return Ok(cut);
            }
            let limit = lines.limit();
            if let Some(Element { text, line, offset }) = &self.state.element
                && text.len() > limit
            {
                return Err(FileError::LineTooLong { line: *line, offset: *offset, limit });
            }
            let Some(line) = lines.next()? else {
                let begun = self.state.element.as_ref().map(|element| (element.line, element.offset));
                let (line, offset) = begun.unwrap_or((self.number, self.offset));
                return Ok(if self.closed { Cut::End } else { Cut::Truncated { line, offset } });
            };
            self.line.clear();
            self.line.push_str(line.text);
            self.line.push('\n');
            (self.at, self.number, self.offset) = (0, line.number, line.offset);
        }
    }

    /// Reads on in the present line, up to the end of an element.
    fn scan(&mut self) -> Option<Cut> {
        let mut from = self.at;
        while let Some(byte) = self.line.as_bytes().get(self.at).copied() {
            let (state, place) = (&mut self.state, self.at);
            self.at += 1;
            let is_blank = byte.is_ascii_whitespace() || byte == b',';
            if self.closed {
                if !is_blank {
                    let offset = self.offset + place as u64;
                    return Some(Cut::Trailing { line: self.number, column: place + 1, offset });
                }
                continue;
            }
            let was = state.mode;
            state.mode = state.mode.after(byte);
            if state.depth == 1 && state.element.is_none() && was == Mode::Plain {
                match byte {
                    b';' => continue,
                    _ if is_blank => continue,
                    b']' => {
                        self.closed = true;
                        continue;
                    }
                    _ => {
                        let offset = self.offset + place as u64;
                        state.element = Some(Element { text: String::new(), line: self.number, offset });
                        from = place;
                    }
                }
            }
            if was != Mode::Plain {
                continue;
            }
            let was_inside = state.depth > 1;
            match byte {
                b'{' | b'[' | b'(' => state.depth += 1,
                b'}' | b']' | b')' if was_inside => state.depth -= 1,
                _ => {}
            }
            // An element ends with its bracket. Anything else, a number or a name, ends before a blank or the bracket of
            // the vector, which is then looked at again.
            let closes = matches!(byte, b'}' | b')' | b']') && was_inside;
            let ends = !was_inside && (is_blank || byte == b']');
            if state.depth == 1
                && (closes || ends)
                && let Some(mut element) = state.element.take()
            {
                self.at = if closes { self.at } else { place };
                element.text.push_str(&self.line[from..self.at]);
                return Some(Cut::Element(element));
            }
        }
        if let Some(element) = &mut self.state.element {
            element.text.push_str(&self.line[from..]);
        }
        None
    }
}

impl Mode {
    /// Returns the mode behind this byte.
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Mode::Plain, b'"') | (Mode::Escape, _) => Mode::Text,
            (Mode::Plain, b';') => Mode::Comment,
            (Mode::Plain, b'\\') => Mode::Char,
            (Mode::Text, b'\\') => Mode::Escape,
            (Mode::Text, b'"') | (Mode::Comment, b'\n') | (Mode::Char, _) => Mode::Plain,
            (mode, _) => mode,
        }
    }
}
