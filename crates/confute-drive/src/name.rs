//! Names of resources and keys, for people.

use std::borrow::Cow;

/// Shortens the name of a resource or key for people: `/x/7-1f-2-r0` becomes `…r0`.
///
/// A protocol names what a case uses by the name of the case, a hyphen, and a word of its own without hyphens. All but the word
/// is the same in all messages of a case, so it says nothing. A name without a hyphen stays as it is.
pub fn short_name(name: &str) -> Cow<'_, str> {
    match name.rsplit_once('-') {
        Some((_, word)) => Cow::Owned(format!("…{word}")),
        None => Cow::Borrowed(name),
    }
}
