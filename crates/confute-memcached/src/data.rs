//! Bytes that are stored and sent back.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Unstructured data: any bytes. Written to files as text with one character a byte, so nothing is lost and ASCII stays
/// readable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Data(Arc<[u8]>);
confute::plain!(Data);

impl Data {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This, then another.
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

/// Shows the bytes with escapes, without quotes.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// For programmers a text in quotes is easier to read than a list of bytes.
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
