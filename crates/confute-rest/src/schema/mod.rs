//! JSON Schema: valid values made of a schema, and values checked against one.
//!
//! Schemas are of draft 2020-12 and self-contained: every reference stays inside. Nothing is fetched. A value that was made
//! is checked with the same validator that judges answers, so a schema that the sampler does not understand ends in an
//! error, never in a request that the document forbids.

mod merge;
mod number;
mod object;
mod pattern;
mod sample;
mod word;

use std::sync::Arc;

use jsonschema::{Draft, Validator};
use serde_json::Value;

pub(crate) use merge::{flat, merge, types};
pub(crate) use object::is_stable;
pub use sample::Sampler;

/// A schema that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The schema is no valid schema.
    #[error("this is no valid JSON Schema: {reason}, at {place}")]
    Invalid {
        /// The fault.
        reason: String,
        /// JSON pointer into the schema.
        place: String,
    },
    /// No value was found that the schema allows.
    #[error("cannot be satisfied: {reason}, at {place}")]
    Unsatisfiable {
        /// The contradiction, or the last attempt that failed.
        reason: String,
        /// JSON pointer to the part of the value that fails.
        place: String,
    },
}

impl Error {
    fn unsatisfiable(place: &str, reason: impl Into<String>) -> Self {
        let place = if place.is_empty() { "the whole".to_owned() } else { place.to_owned() };
        Self::Unsatisfiable { reason: reason.into(), place }
    }
}

/// A schema that answers are checked against. Formats are annotations, as in draft 2020-12, and not checked.
#[derive(Clone, Debug)]
pub struct Compiled(Arc<Validator>);

impl Compiled {
    /// Compiles a schema.
    pub fn new(schema: &Value) -> Result<Self, Error> {
        compile(schema, false).map(|validator| Self(Arc::new(validator)))
    }

    /// Checks a value. Returns the first error with its place, or `None` if the value is valid.
    pub fn check(&self, value: &Value) -> Option<String> {
        first_error(&self.0, value)
    }
}

fn compile(schema: &Value, formats: bool) -> Result<Validator, Error> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(formats)
        .should_ignore_unknown_formats(true)
        .build(schema)
        .map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "its root".to_owned() } else { place };
            Error::Invalid { reason: short(&error.to_string()), place }
        })
}

fn first_error(validator: &Validator, value: &Value) -> Option<String> {
    let error = validator.validate(value).err()?;
    let place = error.instance_path().to_string();
    let reason = short(&error.masked_with("the value").to_string());
    Some(if place.is_empty() { reason } else { format!("{reason}, at {place}") })
}

/// Cuts a message that quotes a long value.
fn short(text: &str) -> String {
    const LONG: usize = 200;
    if text.chars().count() <= LONG {
        return text.to_owned();
    }
    text.chars().take(LONG).chain(['…']).collect()
}

/// Makes a valid value of a schema. `pick(n)` returns a number below `n`; zeros lead to a small value. For many values of
/// one schema, a [`Sampler`] compiles it once.
pub fn sample(schema: &Value, pick: &mut dyn FnMut(u64) -> u64) -> Result<Value, Error> {
    Sampler::new(schema)?.sample(pick)
}

#[cfg(test)]
mod tests;
