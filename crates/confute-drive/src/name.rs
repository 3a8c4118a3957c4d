//! Short names of resources and keys, for reports.

use std::borrow::Cow;

/// Shortens the name of a resource or key for reports: `/x/7-1f-2-r0` becomes `…r0`.
///
/// A protocol names a resource or key by the name of the case, a hyphen, and a word of its own without
/// hyphens. Everything before the word is the same in all messages of a case, so it carries no information. A
/// name without a hyphen stays unchanged.
pub fn short_name(name: &str) -> Cow<'_, str> {
    match name.rsplit_once('-') {
        Some((_, word)) => Cow::Owned(format!("…{word}")),
        None => Cow::Borrowed(name),
    }
}
