//! Notes below a diagram: a label, and lines beside it.

use std::io::{self, Write};

use confute_record::RefutationRecord;

use crate::style::{NOTE, STRONG};
use crate::text::{WIDTH, clip_alike, differing, wrap};

/// Maximum number of expectations that are shown.
const MOST: usize = 6;

/// Writes a note: a label, and lines beside it.
pub fn note(out: &mut dyn Write, label: &str, lines: &[String]) -> io::Result<()> {
    for (place, line) in lines.iter().enumerate() {
        if place == 0 {
            let label = format!("{label}:");
            writeln!(out, "  {NOTE}={NOTE:#} {STRONG}{label:<9}{STRONG:#} {line}")?;
        } else {
            writeln!(out, "    {:<9} {line}", "")?;
        }
    }
    Ok(())
}

/// Returns the observed message and the expected ones, in at most two lines each, and all in one line if they are short.
/// Long messages are truncated at the same place.
pub(crate) fn in_brief(refutation: &RefutationRecord) -> (Vec<String>, Vec<String>) {
    const NOTE: usize = WIDTH - 14;
    let seen = refutation.seen.trim().to_owned();
    let mut expected: Vec<String> = Vec::new();
    for one in &refutation.expected {
        let text = one.message.as_deref().unwrap_or("nothing").trim();
        if !expected.iter().any(|known| known == text) {
            expected.push(text.to_owned());
        }
    }
    let others = refutation.more.then(|| "others".to_owned());
    let joined = expected.iter().cloned().chain(others).collect::<Vec<_>>().join("; or ");
    let both = format!("{seen}; expected {joined}");
    if !seen.is_empty() && !joined.is_empty() && both.chars().count() <= NOTE {
        return (vec![both], Vec::new());
    }
    let lines = wrap(&joined, NOTE);
    if lines.len() <= 2 && seen.chars().count() <= NOTE {
        return ([seen].into_iter().filter(|seen| !seen.is_empty()).collect(), lines);
    }
    let is_more = refutation.more || expected.len() > 2;
    expected.truncate(2);
    let texts: Vec<String> = [seen].into_iter().chain(expected).collect();
    let mut lines = clip_alike(&texts, NOTE - 2);
    let mut expected = lines.split_off(1);
    if let (Some(last), true) = (expected.last_mut(), is_more) {
        last.push_str(" …");
    }
    lines.retain(|line| !line.is_empty());
    (lines, expected)
}

/// Writes the observed message and the expected ones, in the same notation and truncated at the same place;
/// messages with many fields are reduced to those that differ, in full.
pub fn expected(refutation: &RefutationRecord, in_full: bool, out: &mut dyn Write) -> io::Result<()> {
    let shown = &refutation.expected[..refutation.expected.len().min(MOST)];
    let told = shown.iter().map(|one| one.message.clone().unwrap_or_else(|| "nothing".to_owned()));
    let messages: Vec<String> = std::iter::once(refutation.seen.clone()).chain(told).collect();
    let messages: Vec<Vec<String>> = if in_full {
        messages.into_iter().map(|message| vec![message]).collect()
    } else if let Some(messages) = differing(&messages, WIDTH - 14) {
        messages.iter().map(|message| wrap(message, WIDTH - 14)).collect()
    } else {
        clip_alike(&messages, WIDTH - 14).into_iter().map(|message| vec![message]).collect()
    };
    if !refutation.seen.is_empty() {
        note(out, "seen", &messages[0])?;
    }
    let mut lines = Vec::new();
    for (one, message) in shown.iter().zip(&messages[1..]) {
        lines.extend(message.iter().cloned());
        if !one.rules.is_empty() {
            let rules = wrap(&one.rules.join(", "), WIDTH - 19);
            lines.extend(
                rules
                    .iter()
                    .enumerate()
                    .map(|(place, rules)| format!("  {} {rules}", if place == 0 { "by" } else { "  " })),
            );
        }
    }
    if refutation.more || shown.len() < refutation.expected.len() {
        lines.push("and others".to_owned());
    }
    note(out, "expected", &lines)
}
