//! Framings: where a message ends.

use super::{Body, Read, Wire};
use crate::message::Message;

/// A rule for where one message ends and the next begins.
///
/// ```
/// use confute_service::wire::{Framed, Framing, Words};
///
/// /// Messages end in a semicolon.
/// #[derive(Clone)]
/// struct Semicolons;
///
/// impl Framing for Semicolons {
///     fn wrap(&self, body: &[u8], bytes: &mut Vec<u8>) {
///         bytes.extend(body);
///         bytes.push(b';');
///     }
///
///     fn unwrap<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], usize)> {
///         let end = bytes.iter().position(|byte| *byte == b';')?;
///         Some((&bytes[..end], end + 1))
///     }
/// }
///
/// // Their content is written by the templates of the messages.
/// let wire = Framed::new(Semicolons, Words);
/// ```
pub trait Framing: Clone + Send + Sync + 'static {
    /// Appends the bytes of a body with its frame.
    fn wrap(&self, body: &[u8], bytes: &mut Vec<u8>);

    /// Returns the first body in the bytes, and the number of its bytes with the frame. `None` if it is not complete.
    fn unwrap<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], usize)>;
}

/// Lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// They end in a line feed.
    Lf,
    /// They end in a carriage return and a line feed.
    CrLf,
}

impl Lines {
    fn end(self) -> &'static [u8] {
        match self {
            Lines::Lf => b"\n",
            Lines::CrLf => b"\r\n",
        }
    }
}

impl Framing for Lines {
    fn wrap(&self, body: &[u8], bytes: &mut Vec<u8>) {
        bytes.extend(body);
        bytes.extend(self.end());
    }

    fn unwrap<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], usize)> {
        let end = self.end();
        let at = bytes.windows(end.len()).position(|window| window == end)?;
        Some((&bytes[..at], at + end.len()))
    }
}

/// A length in front of a message, without its own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// One byte.
    U8,
    /// Two bytes, the most significant first.
    U16,
    /// Four bytes, the most significant first.
    U32,
    /// Four bytes, the least significant first.
    U32Le,
}

impl Framing for Prefix {
    fn wrap(&self, body: &[u8], bytes: &mut Vec<u8>) {
        // A longer body would be a mistake of the traffic; its length is cut, and the server will say so.
        match self {
            Prefix::U8 => bytes.push(body.len() as u8),
            Prefix::U16 => bytes.extend((body.len() as u16).to_be_bytes()),
            Prefix::U32 => bytes.extend((body.len() as u32).to_be_bytes()),
            Prefix::U32Le => bytes.extend((body.len() as u32).to_le_bytes()),
        }
        bytes.extend(body);
    }

    fn unwrap<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], usize)> {
        let (length, head) = match self {
            Prefix::U8 => (usize::from(*bytes.first()?), 1),
            Prefix::U16 => (usize::from(u16::from_be_bytes(*bytes.first_chunk()?)), 2),
            Prefix::U32 => (u32::from_be_bytes(*bytes.first_chunk()?) as usize, 4),
            Prefix::U32Le => (u32::from_le_bytes(*bytes.first_chunk()?) as usize, 4),
        };
        Some((bytes.get(head..head + length)?, head + length))
    }
}

/// A wire made of a framing and a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed<F, B> {
    framing: F,
    body: B,
}

impl<F, B> Framed<F, B> {
    /// Returns the wire of this framing and this body.
    pub fn new(framing: F, body: B) -> Self {
        Self { framing, body }
    }
}

impl<M: Message, F: Framing, B: Body<M>> Wire<M> for Framed<F, B> {
    fn encode(&self, message: &M, bytes: &mut Vec<u8>) {
        self.framing.wrap(&self.body.write(message), bytes);
    }

    fn read(&self, bytes: &[u8], request: Option<&M>) -> Read<M> {
        let Some((body, length)) = self.framing.unwrap(bytes) else { return Read::More };
        match self.body.parse(body, request) {
            Ok(message) => Read::Message(message, length),
            Err(why) => Read::Nonsense(why, length),
        }
    }

    fn check(&self) -> Result<(), String> {
        self.body.check()
    }
}
