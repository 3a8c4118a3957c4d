//! Text with cheap appends: appending costs the length of the addition, cloning and comparing take constant
//! time.
//!
//! A key-value store with `append` creates a new text for every order of appends that is tried. A plain
//! `String` would be copied and hashed whole each time; this one shares its earlier pieces. Two texts are
//! equal if their length and the 122-bit digest of their content are equal, regardless of the pieces they
//! were built from.

use std::cell::OnceCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cells::HasVars;
use crate::knowledge::Var;

/// A persistent text.
#[derive(Clone)]
pub struct Text {
    len: usize,
    digest: Digest,
    last: Option<Rc<Piece>>,
}

struct Piece {
    chunk: Box<str>,
    before: Option<Rc<Piece>>,
    /// Length and digest of the text before this piece.
    start: usize,
    digest: Digest,
    /// Digests inside the chunk, every [`MARK`] bytes, computed on first use.
    marks: OnceCell<Box<[Digest]>>,
}

/// Number of bytes between two marks.
const MARK: usize = 16;

impl Piece {
    /// Returns the digest of the text up to `into` bytes into the chunk.
    fn digest_at(&self, into: usize) -> Digest {
        let bytes = self.chunk.as_bytes();
        let mut digest = self.digest;
        let mut from = 0;
        if into >= 2 * MARK {
            let marks = self.marks.get_or_init(|| {
                let mut digest = self.digest;
                let mark = |part: &[u8]| {
                    part.iter().for_each(|byte| digest.push(*byte));
                    digest
                };
                bytes.chunks_exact(MARK).map(mark).collect()
            });
            digest = marks[into / MARK - 1];
            from = into / MARK * MARK;
        }
        bytes[from..into].iter().for_each(|byte| digest.push(*byte));
        digest
    }
}

// The derived drop would recurse, and a long chain of pieces would overflow the stack.
impl Drop for Piece {
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(piece) = next {
            match Rc::try_unwrap(piece) {
                Ok(mut owned) => next = owned.before.take(),
                Err(_) => break,
            }
        }
    }
}

/// Polynomial hash over two 61-bit prime fields: appending needs only the old digest and the new bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Digest([u64; 2]);

const PRIME: u64 = (1 << 61) - 1;
const BASES: [u64; 2] = [0x0f3a_91c7_55d2_e86b, 0x1b8e_02f4_9d6c_a753];

fn times(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    let folded = (wide as u64 & PRIME) + ((wide >> 61) as u64);
    if folded >= PRIME { folded - PRIME } else { folded }
}

impl Digest {
    fn push(&mut self, byte: u8) {
        for (lane, base) in self.0.iter_mut().zip(BASES) {
            let next = times(*lane, base) + u64::from(byte) + 1;
            *lane = if next >= PRIME { next - PRIME } else { next };
        }
    }
}

impl Text {
    /// Returns the empty text.
    pub const fn new() -> Self {
        Self { len: 0, digest: Digest([0, 0]), last: None }
    }

    /// Returns this text followed by another.
    #[must_use]
    pub fn append(&self, chunk: &Text) -> Self {
        let mut pieces = Vec::new();
        let mut at = chunk.last.as_ref();
        while let Some(piece) = at {
            pieces.push(piece);
            at = piece.before.as_ref();
        }
        pieces.iter().rev().fold(self.clone(), |text, piece| text.append_str(&piece.chunk))
    }

    /// Returns this text followed by a string.
    #[must_use]
    pub fn append_str(&self, chunk: &str) -> Self {
        if chunk.is_empty() {
            return self.clone();
        }
        let mut digest = self.digest;
        for byte in chunk.bytes() {
            digest.push(byte);
        }
        let last = Some(Rc::new(Piece {
            chunk: chunk.into(),
            before: self.last.clone(),
            start: self.len,
            digest: self.digest,
            marks: OnceCell::new(),
        }));
        Self { len: self.len + chunk.len(), digest, last }
    }

    /// Returns `true` if `other` is a prefix of this text, or equal to it.
    pub fn starts_with(&self, other: &Text) -> bool {
        if other.len >= self.len {
            return self == other;
        }
        let mut at = self.last.as_ref();
        while let Some(piece) = at {
            if piece.start <= other.len {
                return piece.digest_at(other.len - piece.start) == other.digest;
            }
            at = piece.before.as_ref();
        }
        other.is_empty()
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new().append_str(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.digest == other.digest
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        state.write_u64(self.digest.0[0]);
        state.write_u64(self.digest.0[1]);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = Vec::new();
        let mut at = self.last.as_ref();
        while let Some(piece) = at {
            pieces.push(&*piece.chunk);
            at = piece.before.as_ref();
        }
        pieces.iter().rev().try_for_each(|chunk| f.write_str(chunk))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?))
    }
}

impl HasVars for Text {
    fn vars(&self, _: &mut dyn FnMut(Var)) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_however_it_was_put_together() {
        let whole = Text::from("x 1 y x 2 y");
        let parts = Text::from("x 1 y").append(&Text::from(" x ").append_str("2 y"));
        assert_eq!(whole, parts);
        assert_eq!(parts.to_string(), "x 1 y x 2 y");
        assert_ne!(whole, Text::from("x 2 y x 1 y"));
        assert_ne!(Text::from("\0"), Text::new());
    }

    #[test]
    fn starts_with_what_it_was_made_of() {
        let numbers: Vec<String> = (0..100).map(|n| format!("{n},")).collect();
        let long = numbers.concat();
        let whole = Text::from(long.as_str());
        let pieces = (0..100).fold(Text::new(), |text, n| text.append_str(&format!("{n},")));
        for len in 0..=long.len() {
            let start = Text::from(&long[..len]);
            assert!(whole.starts_with(&start) && pieces.starts_with(&start), "{len}");
            let other = start.append_str("x");
            assert!(!whole.starts_with(&other) && !pieces.starts_with(&other), "{len}");
        }
        assert!(!Text::new().starts_with(&whole));
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let long = (0..200_000).fold(Text::new(), |text, _| text.append_str("a"));
        assert_eq!(long.len(), 200_000);
        drop(long);
    }
}
