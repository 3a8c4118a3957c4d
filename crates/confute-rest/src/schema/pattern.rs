//! Strings that match a regular expression.
//!
//! The expression is parsed as one of Rust's. Where ECMA's mean something else, or have more (look-around, references), the
//! validator finds out, and the sampler reports that it cannot satisfy the schema.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Number of repetitions beyond the minimum, at most, of a part that may be repeated.
const MORE: u32 = 4;

/// Maximum length of a string in bytes.
const LONG: usize = 100_000;

/// Makes a string that matches an expression, with a number of characters in the range if that is in its power.
pub(super) fn matching(
    expression: &str,
    lengths: (u64, u64),
    pick: &mut dyn FnMut(u64) -> u64,
) -> Result<String, String> {
    let hir = regex_syntax::parse(expression)
        .map_err(|_| format!("the pattern {expression} is beyond the sampler"))?;
    let mut best = None;
    for more in [MORE, 0, 16, 64] {
        let mut text = String::new();
        write(&hir, &mut text, more, pick)?;
        let length = text.chars().count() as u64;
        if (lengths.0..=lengths.1).contains(&length) {
            return Ok(text);
        }
        if length < lengths.0 && !is_anchored_at_end(&hir) {
            text.extend(std::iter::repeat_n('a', (lengths.0 - length) as usize));
            return Ok(text);
        }
        best = Some(text);
    }
    best.ok_or_else(|| format!("no string matches {expression}"))
}

fn is_anchored_at_end(hir: &Hir) -> bool {
    hir.properties().look_set_suffix().contains(Look::End)
}

fn write(hir: &Hir, text: &mut String, more: u32, pick: &mut dyn FnMut(u64) -> u64) -> Result<(), String> {
    if text.len() > LONG {
        return Err(format!("the pattern asks for more than {LONG} bytes"));
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(part) => text.push_str(part),
            Err(_) => return Err("the pattern asks for bytes that are no text".to_owned()),
        },
        HirKind::Class(class) => text.push(character(class, pick)?),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX).min(repetition.min.saturating_add(more));
            let times = repetition.min + pick(u64::from(most - repetition.min) + 1) as u32;
            for _ in 0..times {
                write(&repetition.sub, text, more, pick)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, text, more, pick)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, text, more, pick))?,
        HirKind::Alternation(parts) => {
            let chosen = &parts[pick(parts.len() as u64) as usize];
            write(chosen, text, more, pick)?;
        }
    }
    Ok(())
}

/// Chooses a character of a class: a letter or digit of ASCII if there is one.
fn character(class: &Class, pick: &mut dyn FnMut(u64) -> u64) -> Result<char, String> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
    };
    let within = |low: char, high: char| {
        let (low, high) = (u32::from(low), u32::from(high));
        ranges
            .iter()
            .map(move |(start, end)| ((*start).max(low), (*end).min(high)))
            .filter(|(start, end)| start <= end)
    };
    let mut possible: Vec<(u32, u32)> =
        within('a', 'z').chain(within('0', '9')).chain(within('A', 'Z')).collect();
    if possible.is_empty() {
        possible = within('!', '~').collect();
    }
    if possible.is_empty() {
        possible.clone_from(&ranges);
    }
    let total: u64 = possible.iter().map(|(start, end)| u64::from(end - start) + 1).sum();
    if total == 0 {
        return Err("the pattern contains an empty class".to_owned());
    }
    let mut index = pick(total);
    for (start, end) in possible {
        let many = u64::from(end - start) + 1;
        if index < many {
            return char::from_u32(start + index as u32).ok_or_else(|| "no such character".to_owned());
        }
        index -= many;
    }
    Err("the pattern contains an empty class".to_owned())
}
