//! Byte ranges (RFC 9110, 14): parsing Range and selecting the part of the content.
//!
//! A single range is served. Several ranges, or a value that does not parse, get the whole content (14.2 allows it).

use std::ops::Range;
use std::sync::Arc;

use super::bug::Bug;
use super::message::Fields;
use super::response::Response;
use super::switches::Switches;

/// Part of the content that a Range selects, given the length of the content.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Whole,
    Part { part: Range<usize>, suffix: bool },
    Nothing { first: usize },
}

/// Returns a response with the selected content: 200, 206 or 416.
pub(crate) fn respond(fields: &Fields, content: &Arc<[u8]>, bugs: &Switches) -> Response {
    let length = content.len();
    match fields.only("range").map_or(Wanted::Whole, |value| wanted(value, length)) {
        Wanted::Whole => Response::with(200, content.clone()),
        Wanted::Part { .. } if bugs.strikes(Bug::RangeDenied, 4) => {
            Response::explained(416, "not that").field("Content-Range", format!("bytes */{length}"))
        }
        Wanted::Part { mut part, suffix } => {
            if bugs.has(Bug::RangeFromStart) {
                part = 0..part.len();
            }
            let last = part.end - usize::from(!bugs.has(Bug::ContentRangeExclusive));
            let told = format!("bytes {}-{last}/{length}", part.start);
            if bugs.has(Bug::RangeOneShort) {
                part.end -= 1;
            }
            if suffix && bugs.has(Bug::SuffixFromStart) {
                part = 0..part.len();
            }
            let mut response = Response::with(206, content.clone()).field("Content-Range", told);
            response.part = part;
            response
        }
        Wanted::Nothing { first } if bugs.has(Bug::BeyondEndIs206) => {
            let mut response = Response::with(206, content.clone());
            response.part = 0..0;
            response.field("Content-Range", format!("bytes {first}-{}/{length}", length.saturating_sub(1)))
        }
        Wanted::Nothing { .. } => Response::explained(416, "there is no such part")
            .field("Content-Range", format!("bytes */{length}")),
    }
}

fn wanted(value: &str, length: usize) -> Wanted {
    parse(value, length).unwrap_or(Wanted::Whole)
}

fn parse(value: &str, length: usize) -> Option<Wanted> {
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") || set.contains(',') || length == 0 {
        return None;
    }
    let (first, last) = set.trim_matches([' ', '\t']).split_once('-')?;
    if first.is_empty() {
        let count = number(last)?.min(length);
        let nothing = Wanted::Nothing { first: length };
        return Some(if count == 0 {
            nothing
        } else {
            Wanted::Part { part: length - count..length, suffix: true }
        });
    }
    let first = number(first)?;
    let last = if last.is_empty() { usize::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    if first >= length {
        return Some(Wanted::Nothing { first });
    }
    Some(Wanted::Part { part: first..last.saturating_add(1).min(length), suffix: false })
}

/// Parses a decimal number; one that does not fit yields the largest that does.
fn number(text: &str) -> Option<usize> {
    let good = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    good.then(|| text.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_in_rfc_9110_14_1_2() {
        let part = |part, suffix| Wanted::Part { part, suffix };
        for (value, expected) in [
            ("bytes=0-4", part(0..5, false)),
            ("bytes=5-", part(5..10, false)),
            ("bytes=5-99999999999999999999999", part(5..10, false)),
            ("bytes=-3", part(7..10, true)),
            ("Bytes=-30", part(0..10, true)),
            ("bytes=-0", Wanted::Nothing { first: 10 }),
            ("bytes=10-", Wanted::Nothing { first: 10 }),
            ("bytes=5-4", Wanted::Whole),
            ("bytes=0-0,-1", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
        ] {
            assert_eq!(wanted(value, 10), expected, "{value}");
        }
    }
}
