//! Remarks below what is shown: a label, and lines beside it.

use std::io::{self, Write};

use confute_record::RefutationRecord;

use crate::style::{NOTE, STRONG};
use crate::text::{WIDTH, clip_alike, differing, wrap};

/// How many expectations are shown.
const MOST: usize = 6;

/// A remark on what was drawn: a label, and lines beside it.
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

/// What was seen and what would have been right, in the same notation and cut at the same place; of messages with many fields
/// those that differ, whole.
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
        lines.push("and other things".to_owned());
    }
    note(out, "expected", &lines)
}
