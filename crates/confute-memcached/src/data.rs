//! Data blocks: the bytes that clients store and read back.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The data block of an item: arbitrary bytes. Serialized as text with one character per byte, which is
/// lossless and keeps ASCII readable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Data(Arc<[u8]>);
confute::plain!(Data);

impl Data {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns these bytes followed by those of `other`.
    #[must_use]
    pub fn join(&self, other: &Data) -> Data {
        Self([self.bytes(), other.bytes()].concat().into())
    }
}

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<String> for Data {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// Prints the bytes with ASCII escapes and without quotes.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// Prints the bytes as escaped text in quotes, which is easier to read than a list of numbers.
impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.iter().copied().map(char::from).collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = text.chars().map(u8::try_from).collect::<Result<Vec<u8>, _>>();
        Ok(Self(bytes.map_err(|_| de::Error::custom("data has a character that is no byte"))?.into()))
    }
}
