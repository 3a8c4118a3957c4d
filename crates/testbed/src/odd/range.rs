//! Byte ranges (RFC 9110, 14): a single range is served, several are ignored.

use std::ops::Range;

use super::habits::Habits;
use super::table::Oddity;

/// Part of the content to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// The whole content.
    Whole,
    /// These bytes, with this Content-Range.
    Some(Range<usize>, Option<String>),
    /// No content: 416, with this Content-Range.
    Nothing(Option<String>),
}

/// Returns the part that the value of Range selects from content of this length.
pub(super) fn part(value: Option<&str>, length: usize, habits: &Habits) -> Part {
    let Some((wanted, is_suffix)) = value.and_then(|value| wanted(value, length)) else { return Part::Whole };
    if habits.keeps(Oddity::Ignored) || habits.has(Oddity::SuffixOnly) && !is_suffix {
        return Part::Whole;
    }
    let Some(mut range) = wanted else {
        return match () {
            () if habits.keeps(Oddity::Unsatisfied200) => Part::Whole,
            () if habits.breaks(Oddity::Unsatisfied200) => {
                Part::Nothing(Some(format!("bytes */{}", length + 1)))
            }
            () if habits.keeps(Oddity::Bare416) => Part::Nothing(None),
            () => Part::Nothing(Some(format!("bytes */{length}"))),
        };
    };
    if habits.breaks(Oddity::Ignored) {
        return Part::Some(0..length, None);
    }
    if habits.keeps(Oddity::ShortPart) {
        range.end = range.start + range.len().div_ceil(2);
    }
    let complete = match () {
        () if habits.breaks(Oddity::UnknownLength) => (length + 1).to_string(),
        () if habits.has(Oddity::UnknownLength) => "*".to_owned(),
        () => length.to_string(),
    };
    let off = usize::from(habits.breaks(Oddity::ShortPart) && range.end < length);
    let told = format!("bytes {}-{}/{complete}", range.start + off, range.end - 1 + off);
    if is_suffix && habits.breaks(Oddity::SuffixOnly) {
        range = 0..range.len();
    }
    Part::Some(range, Some(told).filter(|_| !habits.breaks(Oddity::BrokenPart)))
}

/// Parses a range into the selected bytes, `None` if it is not satisfiable, and `true` if it is a suffix range.
/// Returns `None` if Range is to be ignored.
fn wanted(value: &str, length: usize) -> Option<(Option<Range<usize>>, bool)> {
    let (unit, set) = value.split_once('=')?;
    if !unit.eq_ignore_ascii_case("bytes") || set.contains(',') || length == 0 {
        return None;
    }
    let (first, last) = set.trim().split_once('-')?;
    if first.is_empty() {
        let count = number(last)?.min(length);
        return Some(((count > 0).then(|| length - count..length), true));
    }
    let first = number(first)?;
    let last = if last.is_empty() { usize::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    Some(((first < length).then(|| first..last.saturating_add(1).min(length)), false))
}

/// Parses a decimal number; one that does not fit yields the largest that does.
fn number(text: &str) -> Option<usize> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str, oddities: &[Oddity]) -> Part {
        part(Some(value), 10, &Habits::of(oddities.iter().copied(), 1))
    }

    #[test]
    fn ranges_are_served_as_rfc_9110_14_1_2_has_them() {
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(of("bytes=2-4", &[]), Part::Some(2..5, told("bytes 2-4/10")));
        assert_eq!(of("bytes=-3", &[]), Part::Some(7..10, told("bytes 7-9/10")));
        assert_eq!(of("bytes=10-", &[]), Part::Nothing(told("bytes */10")));
        assert_eq!(of("bytes=5-4", &[]), Part::Whole);
        assert_eq!(of("bytes=0-1,3-4", &[]), Part::Whole);
    }

    #[test]
    fn oddities_change_what_is_sent_and_what_is_told_alike() {
        let told = |text: &str| Some(text.to_owned());
        assert_eq!(of("bytes=2-5", &[Oddity::ShortPart]), Part::Some(2..4, told("bytes 2-3/10")));
        assert_eq!(of("bytes=2-4", &[Oddity::UnknownLength]), Part::Some(2..5, told("bytes 2-4/*")));
        assert_eq!(of("bytes=2-4", &[Oddity::SuffixOnly]), Part::Whole);
        assert_eq!(of("bytes=10-", &[Oddity::Bare416]), Part::Nothing(None));
        assert_eq!(of("bytes=10-", &[Oddity::Unsatisfied200]), Part::Whole);
    }
}
