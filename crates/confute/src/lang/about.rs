//! The values that exchanges are about, for models in which values do not mind each other.

use std::hash::Hash;

use crate::fingerprint::Fingerprint;

/// The value that an exchange is about: see [`ServerModel::about`](super::ServerModel::about).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Perhaps several values, or the model promises nothing.
    Anything,
    /// No value: the exchange changes nothing, and the others do not depend on it.
    Nothing,
    /// The value with this fingerprint.
    Value(Fingerprint),
}

impl About {
    /// Returns the name of a value.
    pub fn value(value: &impl Hash) -> Self {
        About::Value(Fingerprint::of(value))
    }
}
