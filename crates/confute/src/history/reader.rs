//! Reader of histories, one entry at a time.
//!
//! It streams: of the entries only the invocations of open operations are kept, so the memory does not grow with the
//! length of the history. After an error it yields no more entries.

use std::io::BufRead;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::elements::{Cut, Elements};
use super::form::{self, Fault, Said, opens_vector, sniff};
use super::json;
use super::pair::Pairs;
use super::{Entry, Format, HistoryError};
use crate::trace::ReadLimits;
use crate::trace::lines::{Lines, one_line};

/// Reader of the entries of a history.
pub struct Reader<R> {
    lines: Lines<R>,
    limit: usize,
    format: Option<Format>,
    /// The cutter, if the history is one vector.
    elements: Option<Elements>,
    pairs: Pairs,
    // A history has few names and many entries, so each name is stored once.
    names: FxHashSet<Arc<str>>,
    count: usize,
    /// Number of lines about the nemesis.
    pub(super) nemesis: usize,
    /// Number of other lines without an operation.
    pub(super) skipped: usize,
}

/// The place of a piece of the file that may be an entry.
struct Place {
    line: usize,
    offset: u64,
    /// `true` if the file ends right behind it.
    is_last: bool,
}

impl<R: BufRead> Reader<R> {
    /// Returns a reader of this file.
    pub fn new(reader: R, limits: ReadLimits) -> Self {
        Self {
            lines: Lines::new(reader, limits.line),
            limit: limits.events,
            format: None,
            elements: None,
            pairs: Pairs::default(),
            names: FxHashSet::default(),
            count: 0,
            nemesis: 0,
            skipped: 0,
        }
    }

    /// Returns the format of the file. Before the first entry was read, that is a guess.
    pub fn format(&self) -> Format {
        self.format.unwrap_or(Format::Edn)
    }

    /// Reads the next entry; `None` at the end of the file.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, HistoryError> {
        Ok(self.next_pair()?.map(|(entry, _)| entry))
    }

    /// Reads the next entry, with the number of its operation in the order of invocation.
    pub(super) fn next_pair(&mut self) -> Result<Option<(Entry, usize)>, HistoryError> {
        loop {
            let Some((said, place)) = self.next_piece()? else {
                return match self.format {
                    None => Err(HistoryError::Empty),
                    Some(_) if self.count == 0 => Err(HistoryError::NoOperations),
                    Some(_) => Ok(None),
                };
            };
            match said {
                Said::Nemesis => self.nemesis += 1,
                Said::Nothing => self.skipped += 1,
                Said::Entry(entry) => return self.enter(entry, &place).map(Some),
            }
        }
    }

    fn enter(&mut self, mut entry: Entry, place: &Place) -> Result<(Entry, usize), HistoryError> {
        if self.count == self.limit {
            let Place { line, offset, .. } = *place;
            return Err(HistoryError::TooManyEntries { line, offset, limit: self.limit });
        }
        self.count += 1;
        if let Some(name) = self.names.get(&entry.f) {
            entry.f = Arc::clone(name);
        } else {
            self.names.insert(Arc::clone(&entry.f));
        }
        let operation = self.pairs.add(&entry)?;
        Ok((entry, operation))
    }

    /// Reads the next piece of the file that may be an entry: a line, or an element of the vector.
    fn next_piece(&mut self) -> Result<Option<(Said, Place)>, HistoryError> {
        if self.elements.is_some() {
            return self.next_element();
        }
        while let Some(line) = self.lines.next()? {
            if line.is_blank() {
                continue;
            }
            let place = Place { line: line.number, offset: line.offset, is_last: !line.ended };
            if self.format.is_none() && line.text.trim_ascii_start().starts_with(';') {
                self.skipped += 1;
                continue;
            }
            let form = match self.format.or_else(|| sniff(line.text.as_bytes())) {
                Some(Format::Trace) => {
                    return Err(HistoryError::IsTrace { line: place.line, offset: place.offset });
                }
                // A log may begin with a name in brackets.
                Some(Format::Jepsen) => Format::Jepsen,
                // The first element of a vector decides about its format.
                _ if self.format.is_none() && opens_vector(line.text) => {
                    self.elements = Some(Elements::new(line.text, place.line, place.offset));
                    return self.next_element();
                }
                Some(form) => form,
                None => {
                    let found = one_line(line.text);
                    return Err(HistoryError::UnknownForm { line: place.line, offset: place.offset, found });
                }
            };
            self.format = Some(form);
            if line.cut {
                return Err(HistoryError::Truncated { line: place.line, offset: place.offset });
            }
            let said = parse(form, line.text, &place)?;
            return Ok(Some((said, place)));
        }
        Ok(None)
    }

    fn next_element(&mut self) -> Result<Option<(Said, Place)>, HistoryError> {
        let Some(elements) = &mut self.elements else { return Ok(None) };
        let element = match elements.next(&mut self.lines)? {
            Cut::Element(element) => element,
            Cut::End => return Ok(None),
            Cut::Truncated { line, offset } => return Err(HistoryError::Truncated { line, offset }),
            Cut::Trailing { line, column, offset } => {
                let what = "expected nothing after the end of the vector".to_owned();
                return Err(HistoryError::Broken { line, column, offset, what });
            }
        };
        let place = Place { line: element.line, offset: element.offset, is_last: false };
        let sniffed = self.format.or_else(|| sniff(element.text.as_bytes()));
        let Some(form @ (Format::Edn | Format::Json)) = sniffed else {
            let found = one_line(&element.text);
            return Err(HistoryError::UnknownForm { line: place.line, offset: place.offset, found });
        };
        self.format = Some(form);
        let said = parse(form, &element.text, &place)?;
        Ok(Some((said, place)))
    }
}

fn parse(form: Format, text: &str, place: &Place) -> Result<Said, HistoryError> {
    let said = match form {
        Format::Jepsen => form::jepsen(text, place.line),
        Format::Json => json::entry(text, place.line),
        _ => form::edn(text, place.line),
    };
    said.map_err(|Fault { at, what, at_end }| {
        if at_end && place.is_last {
            return HistoryError::Truncated { line: place.line, offset: place.offset };
        }
        // An element of a vector may span several lines.
        let before = text.get(..at).unwrap_or_default();
        let line = place.line + before.matches('\n').count();
        let column = at - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        HistoryError::Broken { line, column, offset: place.offset + at as u64, what: one_line(&what) }
    })
}
