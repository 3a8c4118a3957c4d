//! Verdicts as text.
//!
//! The first line has the essentials, in a format that editors can jump to; below it are the proof, the diagnosis,
//! and advice. Each of the three is written when it is known: the diagnosis may take much longer than the verdict.

use std::io::{self, Write};

use confute::{Blame, Diagnosis, Expectation, Inconclusive, Refutation, Verdict};

use crate::args::Check;
use crate::check::Judged;
use crate::snippet;
use confute_report::note::{expected, note};
use confute_report::style::{BAD, GOOD, OPEN, STRONG};
use confute_report::text::{WIDTH, count, elapsed, wrap};

/// Maximum number of diagnoses that are shown.
const MOST: usize = 6;

/// Writes the verdict, as soon as it is known.
pub(crate) fn verdict(judged: &Judged, args: &Check, out: &mut dyn Write) -> io::Result<()> {
    let Judged { file, model, network, case, .. } = judged;
    let scene = format!("{} behind {network}", model.name());
    match &judged.verdict {
        Verdict::Unrefuted => {
            let events = count(case.events() as u64, "event");
            let without = match &judged.relaxed[..] {
                [] => String::new(),
                relaxed => format!(", with {} relaxed", relaxed.join(", ")),
            };
            let cost = cost(judged);
            writeln!(out, "{GOOD}unrefuted{GOOD:#}: {file}: {events} explained by {scene}{without} ({cost})")
        }
        Verdict::Inconclusive(reason) => {
            writeln!(out, "{OPEN}inconclusive{OPEN:#}: {file}: {reason}")?;
            if let (Inconclusive::Budget { what, .. }, false) = (reason, args.quiet) {
                let option = match *what {
                    "memory" => "--max-memory",
                    _ => "--max-time",
                };
                note(out, "next", &[format!("raise {option}; the verdict is open")])?;
            }
            Ok(())
        }
        Verdict::Refuted(refutation) => {
            let place = case.line(refutation.event).unwrap_or(refutation.event + 1);
            writeln!(
                out,
                "{BAD}refuted{BAD:#}: {STRONG}{file}:{place}{STRONG:#}: no behaviour of {scene} explains this"
            )
        }
    }
}

/// Writes the part of the case that refutes it, and what was expected instead.
pub(crate) fn proof(judged: &Judged, args: &Check, out: &mut dyn Write) -> io::Result<()> {
    let Verdict::Refuted(refutation) = &judged.verdict else { return Ok(()) };
    snippet::draw(&*judged.case, refutation.event, remark(refutation), args.verbose, out)?;
    if refutation.expected.is_empty() { Ok(()) } else { expected(&refutation.into(), args.verbose, out) }
}

/// Writes the diagnosis, and advice.
pub(crate) fn blame(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let Verdict::Refuted(refutation) = &judged.verdict else { return Ok(()) };
    if let Some(blame) = &judged.blame {
        diagnosis(blame, out)?;
    }
    let total = judged.case.events();
    let events = format!("event {} of {}", refutation.event + 1, count(total as u64, "event"));
    note(out, "search", &[format!("{events}, {}", cost(judged))])?;
    if let Some(rule) =
        judged.blame.iter().flat_map(|blame| &blame.diagnoses).find_map(|one| one.rules.first())
    {
        note(
            out,
            "next",
            &[
                format!("`confute explain {rule}` explains the rule;"),
                format!("`--allow {rule}` judges without that rule"),
            ],
        )?;
    }
    Ok(())
}

fn remark(refutation: &Refutation) -> &'static str {
    match refutation.expected.as_slice() {
        [] => "nothing explains this",
        [Expectation { message: None, .. }] => "expected no message here",
        _ => "expected a different message here",
    }
}

/// Writes the counterfactual explanation: the rules that the server must have broken.
pub(crate) fn diagnosis(blame: &Blame, out: &mut dyn Write) -> io::Result<()> {
    let Blame { diagnoses, tried, incomplete, .. } = blame;
    let mut lines = Vec::new();
    for (place, Diagnosis { rules, deviations, level, .. }) in diagnoses.iter().take(MOST).enumerate() {
        let often = if *deviations > 1 { format!(", at least {deviations} times") } else { String::new() };
        let start = if place == 0 { "explained only by breaking" } else { "or by breaking" };
        let which = rules.join(" and ");
        lines.extend(wrap(&format!("{start} {which} (level\u{a0}{}){often}:", level.name()), WIDTH - 14));
        for rule in rules {
            let summary = confute_kits::rule(rule).map_or("", |(_, rule)| rule.summary);
            lines.extend(wrap(summary, WIDTH - 16).into_iter().map(|line| format!("  {line}")));
        }
    }
    match (diagnoses.len(), incomplete) {
        (0, false) if *tried > 1 => {
            lines.push("breaking any rule of the model does not explain this,".to_owned());
            lines.push(format!("nor does breaking {tried} rules together"));
        }
        (0, false) => lines.push("breaking any rule of the model does not explain this".to_owned()),
        (0, true) => lines.push("not found within the budget".to_owned()),
        (_, true) => lines.push("(the budget ran out before every rule was tried)".to_owned()),
        _ => {}
    }
    note(out, "blame", &lines)
}

fn cost(judged: &Judged) -> String {
    let time = elapsed(judged.elapsed);
    if judged.turns == 0 { time } else { format!("{} tried, {time}", count(judged.turns, "turn")) }
}
