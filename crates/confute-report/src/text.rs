//! Formatting of numbers, times and long texts for lines of 80 columns.

use std::time::Duration;

/// Width of a report, in columns.
pub const WIDTH: usize = 80;

/// Formats a number with separators: `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a count with its noun: `1 event`, `2 events`.
pub fn count(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Formats a duration: `0.3 ms`, `42 ms`, `1.5 s`.
pub fn elapsed(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    match milliseconds {
        ..9.95 => format!("{milliseconds:.1} ms"),
        ..999.5 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.1} s", milliseconds / 1e3),
    }
}

/// Truncates a text to at most `width` characters.
pub fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Truncates several long texts at the same place, so that their first difference is visible.
pub fn clip_alike(texts: &[String], width: usize) -> Vec<String> {
    let Some(first) = texts.first() else { return Vec::new() };
    let shared = texts
        .iter()
        .map(|text| first.chars().zip(text.chars()).take_while(|(left, right)| left == right).count());
    let shared = shared.skip(1).min().unwrap_or(0);
    // The beginning shows the kind of the message.
    let lead = 12;
    if texts.iter().all(|text| text.chars().count() <= width) || shared < width / 2 {
        return texts.iter().map(|text| clip(text, width)).collect();
    }
    let from = shared.saturating_sub(width / 4);
    let cut = |text: &String| {
        let rest: String = text.chars().skip(from).collect();
        let start: String = text.chars().take(lead).collect();
        format!("{start}…{}", clip(&rest, width.saturating_sub(lead + 1)))
    };
    texts.iter().map(cut).collect()
}

/// Shortens messages with many fields: each keeps its first part and, in full, the fields that differ from
/// those of the first message (in the first message: from those of any other). Returns `None` if they are
/// short enough, or have no fields.
pub fn differing(texts: &[String], width: usize) -> Option<Vec<String>> {
    let (first, others) = texts.split_first()?;
    // The connection is not part of the message.
    let (message, place) = first.rsplit_once(" on connection ").unwrap_or((first, ""));
    let (own, others): (Vec<_>, Vec<_>) = (fields(message), others.iter().map(|text| fields(text)).collect());
    if own.len() < 3 || texts.iter().all(|text| text.chars().count() <= width) {
        return None;
    }
    let alike: Vec<_> = others.iter().filter(|other| other.len() > 1).collect();
    let differs = |part: &&str| alike.is_empty() || alike.iter().any(|other| !other.contains(part));
    let mut seen = shorter(&own, &differs);
    if !place.is_empty() {
        seen = format!("{seen} on connection {place}");
    }
    let others = others.iter().map(|other| shorter(other, &|part: &&str| !own.contains(part)));
    Some(std::iter::once(seen).chain(others).collect())
}

/// Splits a message into its beginning and its fields.
fn fields(text: &str) -> Vec<&str> {
    let is_field = |part: &str| {
        let name =
            part.strip_prefix("after the content ").unwrap_or(part).split(": ").next().unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        // Field names of messages begin with a capital; those of a Rust value do not.
        name.len() < part.len()
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(is_name)
    };
    let mut starts: Vec<usize> = text.match_indices(", ").map(|(at, _)| at).collect();
    starts.retain(|at| is_field(&text[at + 2..]));
    let mut parts = Vec::new();
    let mut from = 0;
    for at in starts {
        parts.push(&text[from..at]);
        from = at + 2;
    }
    parts.push(&text[from..]);
    parts
}

/// Joins the first part and those selected by `counts`, with an ellipsis for the others.
fn shorter(parts: &[&str], counts: &dyn Fn(&&str) -> bool) -> String {
    let mut shown: Vec<&str> = Vec::new();
    for (place, part) in parts.iter().enumerate() {
        if place == 0 || counts(part) {
            shown.push(part);
        } else if shown.last() != Some(&"…") {
            shown.push("…");
        }
    }
    shown.join(", ")
}

/// Breaks a text into lines of this width, between words. A no-break space keeps two words together.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word.replace('\u{a0}', " "));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([count(1, "event"), count(1000, "event")], ["1 event", "1,000 events"]);
        let times = [300u64, 12_345, 1_500_000].map(|micros| elapsed(Duration::from_micros(micros)));
        assert_eq!(times, ["0.3 ms", "12 ms", "1.5 s"]);
    }

    #[test]
    fn differences_stay_in_sight() {
        let common = "value \"".to_owned() + &"x".repeat(100);
        let cut = clip_alike(&[common.clone() + "yes", common + "no"], 50);
        assert!(cut[0].ends_with("yes") && cut[1].ends_with("no"), "{cut:?}");
        assert!(cut.iter().all(|text| text.starts_with("value") && text.chars().count() <= 50));
        assert_eq!(clip_alike(&["abc".into(), "abd".into()], 50), ["abc", "abd"]);
        assert_eq!(clip("hello", 4), "hel…");
    }

    #[test]
    fn fields_that_differ_are_shown_whole() {
        let seen = "GET /confute-1234567890-r3, Host: 127.0.0.1:28000, X-Confute: confute-1234567890.1, \
                    Cache-Control: no-store, no-cache, X-End: 1 on connection 7";
        let right = "GET /confute-1234567890-r3, Host: 127.0.0.1:28000, X-Confute: confute-1234567890.1, \
                     Cache-Control: no-store, no-transform, X-End: 1, Via: 1.1 gateway";
        let texts = [seen.to_owned(), right.to_owned(), "nothing".to_owned()];
        let shown = differing(&texts, 66).expect("long, and with fields");
        assert_eq!(
            shown[0],
            "GET /confute-1234567890-r3, …, Cache-Control: no-store, no-cache, … on connection 7"
        );
        assert_eq!(
            shown[1],
            "GET /confute-1234567890-r3, …, Cache-Control: no-store, no-transform, …, Via: 1.1 gateway"
        );
        assert_eq!(shown[2], "nothing");
        // If no alternative has fields, all of them are shown; short messages and those without fields are
        // not handled here.
        assert_eq!(differing(&[seen.to_owned(), "nothing".to_owned()], 66).expect("long")[0], seen);
        assert_eq!(differing(&texts, 500), None);
        assert_eq!(differing(&["x".repeat(100), "y".repeat(100)], 66), None);
    }

    #[test]
    fn words_are_not_broken() {
        assert_eq!(wrap("a bc  def", 4), ["a bc", "def"]);
        assert_eq!(wrap("ab c\u{a0}d", 5), ["ab", "c d"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
