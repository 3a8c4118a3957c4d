//! Answers from the bytes of one connection.
//!
//! What a line means depends on what was asked, so the reader is told of every request. Items that answer a `get` are
//! collected until `END`, in any order, and then every key gets its answer. What cannot be read is the answer, as
//! [`Line::Garbage`], and reading goes on with the next line.

use std::collections::VecDeque;

use confute_drive::Reader;

use super::line::{self, Head};
use crate::data::Data;
use crate::message::{Command, Key, Line, Message};

/// The longest line that is read; of a longer one this much is kept.
pub const MOST_LINE: usize = 2048;
/// The largest data block that is read, and the most that the items of one answer may hold together.
pub const MOST_DATA: usize = 16 << 20;

/// What will be answered next.
#[derive(Debug)]
enum Owed {
    /// A line.
    Line,
    /// Items.
    Items(Items),
}

#[derive(Debug, Default)]
struct Items {
    keys: Vec<Key>,
    found: Vec<Line>,
    size: usize,
    /// How many keys were answered with garbage.
    given: usize,
}

/// Reads the answers on one connection.
#[derive(Debug, Default)]
pub struct WireReader {
    owed: VecDeque<Owed>,
    bytes: Vec<u8>,
    /// How far there is no end of a line.
    searched: usize,
    /// The line that was read before the data block that comes now.
    head: Option<(Head, Vec<u8>)>,
    /// In the rest of a line that is too long.
    skips: bool,
}

impl Reader<Message> for WireReader {
    fn sent(&mut self, message: &Message) {
        let Message::Ask(request) = message else { return };
        match &request.command {
            Command::Get { key, more, .. } => {
                let keys = std::iter::once(key).chain(more).cloned().collect();
                self.owed.push_back(Owed::Items(Items { keys, ..Items::default() }));
            }
            _ if request.noreply => {}
            _ => self.owed.push_back(Owed::Line),
        }
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        self.bytes.extend(bytes);
        let mut used = 0;
        while let Some(more) = self.step(used, messages) {
            used += more;
        }
        self.bytes.drain(..used);
        self.searched = self.searched.saturating_sub(used);
    }

    /// An answer that was cut short is no answer.
    fn end(&mut self, _orderly: bool, _messages: &mut Vec<Message>) {
        self.bytes.clear();
        self.head = None;
    }

    fn held(&self) -> usize {
        let items = match self.owed.front() {
            Some(Owed::Items(items)) => items.size,
            _ => 0,
        };
        self.bytes.len() + items
    }
}

impl WireReader {
    /// Reads one line or one data block; how many bytes it took.
    fn step(&mut self, from: usize, messages: &mut Vec<Message>) -> Option<usize> {
        if let Some((head, _)) = &self.head {
            let rest = &self.bytes[from..];
            let whole = rest.get(..head.len + 2)?;
            let block = whole.strip_suffix(b"\r\n").map(Data::from);
            let Some(data) = block else {
                // The data does not end where it should: what comes is read as lines again.
                let (_, bytes) = self.head.take()?;
                self.garbage(&bytes, messages);
                return Some(0);
            };
            let taken = whole.len();
            let (head, bytes) = self.head.take()?;
            self.item(head, data, bytes, messages);
            return Some(taken);
        }
        let start = from.max(self.searched);
        let Some(end) = self.bytes[start..].iter().position(|byte| *byte == b'\n') else {
            return self.unfinished(from, messages);
        };
        let end = start + end;
        self.searched = end + 1;
        let bytes = self.bytes[from..=end].to_vec();
        if std::mem::take(&mut self.skips) {
            return Some(bytes.len());
        }
        match bytes.strip_suffix(b"\r\n") {
            Some(text) if text.len() <= MOST_LINE => self.line(text, messages),
            _ => self.garbage(&bytes[..bytes.len().min(MOST_LINE)], messages),
        }
        Some(bytes.len())
    }

    /// The rest is no line yet; it must not grow for ever.
    fn unfinished(&mut self, from: usize, messages: &mut Vec<Message>) -> Option<usize> {
        self.searched = self.bytes.len();
        let rest = self.bytes.len() - from;
        if rest == 0 || (rest <= MOST_LINE && !self.skips) {
            return None;
        }
        if !std::mem::replace(&mut self.skips, true) {
            let start = self.bytes[from..from + MOST_LINE].to_vec();
            self.garbage(&start, messages);
        }
        Some(rest)
    }

    fn line(&mut self, text: &[u8], messages: &mut Vec<Message>) {
        let whole = [text, b"\r\n"].concat();
        match self.owed.front() {
            None => messages.push(line::read(text).unwrap_or_else(|| Line::Garbage((&*whole).into())).into()),
            Some(Owed::Line) => match line::read(text) {
                Some(line) => {
                    self.owed.pop_front();
                    messages.push(line.into());
                }
                None => self.garbage(&whole, messages),
            },
            Some(Owed::Items(items)) => {
                let room = MOST_DATA - items.size.min(MOST_DATA);
                if text == b"END" {
                    self.finish(None, messages);
                } else if let Some(error) = line::error(text) {
                    self.finish(Some(error), messages);
                } else if let Some(head) = line::head(text).filter(|head| head.len <= room) {
                    self.head = Some((head, whole));
                } else {
                    self.garbage(&whole, messages);
                }
            }
        }
    }

    fn item(&mut self, head: Head, data: Data, mut bytes: Vec<u8>, messages: &mut Vec<Message>) {
        let Some(Owed::Items(items)) = self.owed.front_mut() else { return };
        let same = |line: &&Line| matches!(line, Line::Value { key, .. } if *key == head.key);
        let asked = items.keys.iter().filter(|key| **key == head.key).count();
        if items.found.iter().filter(same).count() < asked {
            items.size += data.len() + bytes.len();
            let Head { key, flags, unique, .. } = head;
            items.found.push(Line::Value { key, flags, data, unique });
        } else {
            // Nobody asked for that, or not so often.
            bytes.extend(&data.bytes()[..data.len().min(MOST_LINE)]);
            self.garbage(&bytes, messages);
        }
    }

    /// All items have come, or an error instead.
    fn finish(&mut self, error: Option<Line>, messages: &mut Vec<Message>) {
        let Some(Owed::Items(mut items)) = self.owed.pop_front() else { return };
        for key in items.keys.iter().skip(items.given) {
            let same = |line: &Line| matches!(line, Line::Value { key: found, .. } if found == key);
            let line = match (&error, items.found.iter().position(same)) {
                (Some(error), _) => error.clone(),
                (None, Some(place)) => items.found.remove(place),
                (None, None) => Line::Miss,
            };
            messages.push(line.into());
        }
    }

    /// What cannot be read stands for the next answer.
    fn garbage(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        messages.push(Line::Garbage(bytes.into()).into());
        match self.owed.front_mut() {
            Some(Owed::Items(items)) => items.given += 1,
            Some(Owed::Line) => drop(self.owed.pop_front()),
            None => {}
        }
    }
}
