//! Parser for the responses on one connection.
//!
//! The meaning of a line depends on the request, so the reader is notified of every request. The items in
//! response to a `get` are collected until `END`, in any order, and then one response per key is emitted.
//! Malformed input is emitted as the response, as [`ResponseLine::Garbage`], and parsing continues at the next line.

use std::collections::VecDeque;

use confute_drive::Reader;

use super::line::{self, Head};
use crate::data::Data;
use crate::message::{Command, Key, Message, ResponseLine};

/// Longest line that is accepted, in bytes; longer ones are truncated to this length.
pub const MOST_LINE: usize = 2048;
/// Largest data block that is accepted, and the limit for all items of one response together, in bytes.
pub const MOST_DATA: usize = 16 << 20;

/// An expected response.
#[derive(Debug)]
enum Owed {
    /// A response of one line.
    ResponseLine,
    /// The items of a get.
    Items(Items),
}

#[derive(Debug, Default)]
struct Items {
    keys: Vec<Key>,
    found: Vec<ResponseLine>,
    size: usize,
    /// Number of keys whose response was garbage.
    given: usize,
}

/// Parser for the responses on one connection.
#[derive(Debug, Default)]
pub struct WireReader {
    owed: VecDeque<Owed>,
    bytes: Vec<u8>,
    /// Number of buffered bytes that were already searched for a line ending.
    searched: usize,
    /// The `VALUE` line of the data block that is being read, parsed and as bytes.
    head: Option<(Head, Vec<u8>)>,
    /// `true` while the rest of an overlong line is discarded.
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
            _ => self.owed.push_back(Owed::ResponseLine),
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

    /// Discards an incomplete response.
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
    /// Consumes one line or one data block; returns its length in bytes.
    fn step(&mut self, from: usize, messages: &mut Vec<Message>) -> Option<usize> {
        if let Some((head, _)) = &self.head {
            let rest = &self.bytes[from..];
            let whole = rest.get(..head.len + 2)?;
            let block = whole.strip_suffix(b"\r\n").map(Data::from);
            let Some(data) = block else {
                // The data block does not end where its length says: the bytes after the `VALUE` line are
                // parsed as lines.
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

    /// Handles input without a line ending: waits for more, and discards an overlong line so that the buffer
    /// stays bounded.
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
            None => messages
                .push(line::read(text).unwrap_or_else(|| ResponseLine::Garbage((&*whole).into())).into()),
            Some(Owed::ResponseLine) => match line::read(text) {
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
        let same = |line: &&ResponseLine| matches!(line, ResponseLine::Value { key, .. } if *key == head.key);
        let asked = items.keys.iter().filter(|key| **key == head.key).count();
        if items.found.iter().filter(same).count() < asked {
            items.size += data.len() + bytes.len();
            let Head { key, flags, unique, .. } = head;
            items.found.push(ResponseLine::Value { key, flags, data, unique });
        } else {
            // The item was not requested, or not this many times.
            bytes.extend(&data.bytes()[..data.len().min(MOST_LINE)]);
            self.garbage(&bytes, messages);
        }
    }

    /// Emits one response per key, from the collected items or an error.
    fn finish(&mut self, error: Option<ResponseLine>, messages: &mut Vec<Message>) {
        let Some(Owed::Items(mut items)) = self.owed.pop_front() else { return };
        for key in items.keys.iter().skip(items.given) {
            let same =
                |line: &ResponseLine| matches!(line, ResponseLine::Value { key: found, .. } if found == key);
            let line = match (&error, items.found.iter().position(same)) {
                (Some(error), _) => error.clone(),
                (None, Some(place)) => items.found.remove(place),
                (None, None) => ResponseLine::Miss,
            };
            messages.push(line.into());
        }
    }

    /// Emits malformed input as the next expected response.
    fn garbage(&mut self, bytes: &[u8], messages: &mut Vec<Message>) {
        messages.push(ResponseLine::Garbage(bytes.into()).into());
        match self.owed.front_mut() {
            Some(Owed::Items(items)) => items.given += 1,
            Some(Owed::ResponseLine) => drop(self.owed.pop_front()),
            None => {}
        }
    }
}
