//! The steps of a search as lines: the first ones and the latest ones, with the number of those between them.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

use super::Note;
use crate::Reduction;

/// Maximum number of characters of a line.
const WIDTH: usize = 160;

/// Lines of bounded number.
pub(super) struct Steps {
    /// Number of lines that are kept at each end.
    half: usize,
    first: Vec<String>,
    last: VecDeque<String>,
    dropped: u64,
    /// Moves that were left out since the last line.
    left_out: [u32; Reduction::ALL.len()],
}

impl Steps {
    pub(super) fn new(lines: usize) -> Self {
        Self {
            half: lines / 2,
            first: Vec::new(),
            last: VecDeque::new(),
            dropped: 0,
            left_out: [0; Reduction::ALL.len()],
        }
    }

    pub(super) fn note(&mut self, turns: u64, note: &Note<'_>) {
        match *note {
            Note::Part { number, cells, entries } => {
                self.push(format_args!("part {number}: {entries} entries to explain; {cells}"));
            }
            Note::Taken { event, action, depth, open } => {
                let event = event + 1;
                let conjectured = Conjectured(depth);
                self.push(format_args!("  event {event}, turn {turns}: {action}{conjectured}; {open} open"));
            }
            Note::LeftOut(reduction) => self.left_out[reduction as usize] += 1,
            Note::Outcome { event, outcome } => {
                self.push(format_args!("  event {event}, turn {turns}: {outcome}"));
            }
            Note::Enter(_) | Note::Leave => {}
        }
    }

    fn push(&mut self, line: fmt::Arguments<'_>) {
        self.push_left_out();
        self.keep(line);
    }

    fn push_left_out(&mut self) {
        if self.left_out.iter().all(|count| *count == 0) {
            return;
        }
        let counts = std::mem::replace(&mut self.left_out, [0; Reduction::ALL.len()]);
        let times = |(reduction, count): (&Reduction, u32)| match count {
            0 => None,
            1 => Some(reduction.to_string()),
            _ => Some(format!("{reduction} ({count} times)")),
        };
        let parts: Vec<_> = Reduction::ALL.iter().zip(counts).filter_map(times).collect();
        self.keep(format_args!("    left out: {}", parts.join(", ")));
    }

    fn keep(&mut self, line: fmt::Arguments<'_>) {
        if self.half == 0 {
            self.dropped += 1;
            return;
        }
        let mut text = Short(String::new(), 0);
        // It ends with an error where the line is long enough.
        let _ = text.write_fmt(line);
        if self.first.len() < self.half {
            self.first.push(text.0);
            return;
        }
        if self.last.len() == self.half {
            self.last.pop_front();
            self.dropped += 1;
        }
        self.last.push_back(text.0);
    }

    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.first.len() as u64 + self.last.len() as u64 + self.dropped;
        writeln!(f, "steps ({all} lines)")?;
        self.first.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        if self.dropped > 0 {
            writeln!(f, "  [{} lines are left out here: the log is limited]", self.dropped)?;
        }
        self.last.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// The number of conjectured deliveries, if there are any.
struct Conjectured(usize);

impl fmt::Display for Conjectured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, " ({} conjectured)", self.0) }
    }
}

/// A text of bounded length.
struct Short(String, usize);

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.1 == WIDTH {
                self.0.push('…');
                return Err(fmt::Error);
            }
            self.0.push(c);
            self.1 += 1;
        }
        Ok(())
    }
}
