//! The reader of a connection: a wire with a buffer.

use std::collections::VecDeque;

use confute_drive::Reader;

use crate::message::{Message, Role, kind_of};
use crate::wire::{Read, Wire};

/// Number of bytes of nonsense that a report shows.
const SHOWN: usize = 160;

/// The reader of a connection.
pub struct WireReader<M, W> {
    wire: W,
    bytes: Vec<u8>,
    /// Requests without a response, the oldest first.
    asked: VecDeque<M>,
    /// `true` until the response to the greeting was read.
    is_greeting: bool,
}

impl<M, W> WireReader<M, W> {
    pub(crate) fn new(wire: W, is_greeting: bool) -> Self {
        Self { wire, bytes: Vec::new(), asked: VecDeque::new(), is_greeting }
    }
}

impl<M: Message, W: Wire<M>> Reader<M> for WireReader<M, W> {
    fn sent(&mut self, message: &M) {
        self.asked.push_back(message.clone());
    }

    fn feed(&mut self, bytes: &[u8], messages: &mut Vec<M>) {
        self.bytes.extend(bytes);
        let mut used = 0;
        while used < self.bytes.len() {
            let rest = &self.bytes[used..];
            let asked = self.asked.front().filter(|_| !self.is_greeting);
            let (message, length) = match self.wire.read(rest, asked) {
                Read::More => break,
                Read::Message(message, length) if (1..=rest.len()).contains(&length) => (message, length),
                Read::Message(_, length) => {
                    let why = format!(
                        "the wire took {length} of {} bytes for a message; correct its `read`",
                        rest.len()
                    );
                    (unreadable(rest, &why), rest.len())
                }
                Read::Nonsense(why, length) => {
                    // Without progress the same bytes would be read for ever.
                    let length = length.clamp(1, rest.len());
                    (unreadable(&rest[..length], &why), length)
                }
            };
            used += length;
            if std::mem::take(&mut self.is_greeting) {
                continue;
            }
            if kind_of(&message).role != Role::Push {
                self.asked.pop_front();
            }
            messages.push(message);
        }
        self.bytes.drain(..used);
    }

    /// Drops an incomplete message: a server may close a connection at any time.
    fn end(&mut self, _: bool, _: &mut Vec<M>) {
        self.bytes.clear();
    }

    fn held(&self) -> usize {
        self.bytes.len()
    }
}

/// Returns the message that stands for bytes that are no message.
fn unreadable<M: Message>(bytes: &[u8], why: &str) -> M {
    let shown = bytes[..bytes.len().min(SHOWN)].escape_ascii();
    let more = if bytes.len() > SHOWN { "…" } else { "" };
    M::unreadable(format!("unreadable \"{shown}{more}\": {why}"))
}
