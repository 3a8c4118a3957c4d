//! What came of a run, for people: the violations, the verdict, and what it rests on.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::Style;
use confute::lang::Rule;
use confute_drive::{Conclusion, Figures, Outcome, Plan, Refusals, Spread, guarded};

use crate::note::note;
use crate::style::{BAD, GOOD, OPEN};
use crate::text::{WIDTH, count, elapsed, grouped, wrap};
use crate::violation::{kept, violation};
use crate::{Exit, Subject, advice};

/// So many things that were never put to the test are named.
const NEVER: usize = 8;

/// What else there is to say.
pub struct Told<'a> {
    /// What the server was found to be able to do.
    pub remarks: &'a [String],
    /// The files that were written.
    pub paths: &'a [PathBuf],
    /// Remarks of others: a label, and lines beside it.
    pub notes: &'a [(&'static str, Vec<String>)],
    /// How to have files written, where none were.
    pub hint: &'a str,
    /// Only the verdict.
    pub quiet: bool,
    /// Everything in full.
    pub verbose: bool,
}

/// Writes it all: the violations, the verdict, the figures, the paths.
pub fn write(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome,
    told: &Told<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !told.quiet {
        for finding in &outcome.findings {
            let mut next = kept(subject, finding, told.paths);
            if next.is_empty() {
                next = wrap(told.hint, WIDTH - 14);
            }
            let what = format!("violation {}", finding.number);
            part(&what, out, |out| violation(subject, finding, plan, told.verbose, &next, out))?;
        }
    }
    part("verdict", out, |out| verdict(subject, plan, outcome, told, out))?;
    if !told.quiet {
        let remarks = told.remarks.iter().flat_map(|remark| wrap(remark, WIDTH - 14));
        note(out, "server", &remarks.collect::<Vec<_>>())?;
        part("basis", out, |out| basis(subject, plan, outcome, told.verbose, out))?;
        told.notes.iter().try_for_each(|(label, lines)| note(out, label, lines))?;
        let paths: Vec<String> = told.paths.iter().map(|path| path.display().to_string()).collect();
        note(out, "reports", &paths)?;
    }
    Ok(())
}

/// Writes a part of the report. If its writer panics, what it had written stays, and a line says that the rest is missing:
/// the other parts are not to be lost with it.
pub fn part(
    what: &str,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    let ended = guarded(|| write(&mut text));
    out.write_all(&text)?;
    match ended {
        Ok(result) => result,
        Err(why) => {
            let line = format!("the rest of this report ({what}), for a defect of its writer: {why}");
            // The styles of what was begun end here.
            writeln!(out, "{OPEN:#}")?;
            note(out, "missing", &wrap(&line, WIDTH - 14))
        }
    }
}

fn verdict(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome,
    told: &Told<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = subject.shown;
    let mut say = |style: Style, what: String| {
        let word = Exit::from(&outcome.conclusion).name();
        // In a line of its own for programs, and where everything is shown as it is.
        let width = if told.quiet || told.verbose { usize::MAX } else { WIDTH - word.len() - 2 };
        writeln!(out, "{style}{word}{style:#}: {}", wrap(&format!("{shown}: {what}"), width).join("\n  "))
    };
    let answers = count(outcome.figures.answers, "answer");
    if outcome.figures.requests == 0
        && let Conclusion::Inconclusive(why) = &outcome.conclusion
    {
        return say(OPEN, format!("{why}; nothing was tested"));
    }
    let time = elapsed(outcome.elapsed).replace(' ', "\u{a0}");
    let over = match subject.bound {
        // How many there were is said already.
        Some(_) => format!("{answers}, {time}"),
        None => format!("{answers} in {}, {time}", count(outcome.tally.cases, "case")),
    };
    let alone = match outcome.figures.outstanding.median() {
        // What is tried out to the end says itself what is concurrent.
        1 if outcome.figures.requests > 0 && subject.bound.is_none() => {
            "; median outstanding was one: hardly anything was concurrent"
        }
        _ => "",
    };
    match &outcome.conclusion {
        Conclusion::Refuted => {
            let refuting = outcome.findings.iter().filter(|finding| finding.refutes(plan.level)).count();
            let number = count(refuting as u64, "violation");
            say(BAD, format!("{number} ({over}{alone})"))
        }
        Conclusion::Unrefuted => {
            let known = outcome.findings.iter().filter(|finding| finding.known).count() as u64;
            let explained = match subject.bound {
                Some(bound) if outcome.findings.is_empty() => {
                    format!("{}; nothing was refuted", bound.done(outcome))
                }
                Some(bound) => format!("{}; nothing new was refuted", bound.done(outcome)),
                None if known > 0 => format!("nothing but {}", count(known, "known violation")),
                None => format!("all explained by {}", subject.model),
            };
            say(GOOD, format!("{explained} ({over}{alone})"))
        }
        Conclusion::Inconclusive(why) => say(OPEN, format!("{why} ({over}{alone})")),
    }
}

/// What the verdict rests on.
fn basis(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome,
    in_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (figures, tally) = (&outcome.figures, &outcome.tally);
    note(out, "seed", &[plan.seed.to_string()])?;
    let mut next: Vec<&str> = outcome.troubles.iter().map(|(trouble, _)| advice::next(trouble)).collect();
    next.retain(|advice| !advice.is_empty());
    next.dedup();
    if figures.requests == 0 {
        // There are no figures of nothing.
        return note(
            out,
            "next",
            &next.iter().flat_map(|advice| wrap(advice, WIDTH - 14)).collect::<Vec<_>>(),
        );
    }
    note(out, "premise", &wrap(subject.premise, WIDTH - 14))?;
    if let Some(bound) = subject.bound {
        note(out, "scripts", &bound.notes(outcome))?;
    }
    let mut cases =
        vec![format!("{} unrefuted, {} refuted", grouped(tally.unrefuted), grouped(tally.refuted))];
    if tally.inconclusive > 0 {
        cases.push(format!("{} not judged within the budget", grouped(tally.inconclusive)));
    }
    if tally.empty > 0 {
        cases.push(format!("{} without any answer", grouped(tally.empty)));
    }
    if tally.early > 0 {
        cases.push(format!("{} ended early", grouped(tally.early)));
    }
    if tally.stopped > 0 {
        cases.push(format!("{} under way when it was time to stop", grouped(tally.stopped)));
    }
    if tally.doubtful > 0 {
        cases.push(format!("{} refuted at first, but not when judged again", grouped(tally.doubtful)));
    }
    note(out, "cases", &cases)?;
    note(
        out,
        "refusals",
        &refusals(figures).iter().flat_map(|one| wrap(one, WIDTH - 14)).collect::<Vec<_>>(),
    )?;
    let outstanding = format!("outstanding requests at each send: {}", spread(&figures.outstanding));
    let open = format!("open alternatives: {}", spread(&figures.alternatives));
    note(out, "load", &[outstanding, open].map(|one| wrap(&one, WIDTH - 14)).concat())?;
    coverage(outcome, subject.rules, in_full, out)?;
    let share =
        |part: std::time::Duration| 100.0 * part.as_secs_f64() / figures.elapsed.as_secs_f64().max(1e-9);
    let times = format!("{:.0} % thinking, {:.0} % waiting", share(figures.thinking), share(figures.waiting));
    note(out, "time", &[format!("{}, {times}", elapsed(outcome.elapsed))])?;
    let troubles = outcome.troubles.iter().flat_map(|(trouble, times)| {
        let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
        wrap(&format!("{trouble}{often}"), WIDTH - 14)
    });
    note(out, "trouble", &troubles.collect::<Vec<_>>())?;
    note(out, "next", &next.iter().flat_map(|advice| wrap(advice, WIDTH - 14)).collect::<Vec<_>>())?;
    if !outcome.relaxed.is_empty() {
        note(out, "relaxed", &wrap(&outcome.relaxed.join(", "), WIDTH - 14))?;
    }
    Ok(())
}

/// How often the server declined to serve a request, and whether the tester asked again too soon.
pub(crate) fn refusals(figures: &Figures) -> Vec<String> {
    let Refusals { retry_after, pauses, paused, ignored, .. } = &figures.refusals;
    let count = figures.refusals.count();
    if count == 0 {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "{} of {} answers: {}",
        grouped(count),
        grouped(figures.answers),
        figures.refusals.told()
    )];
    if *retry_after > 0 {
        let paused = format!("{} pauses ({} in all)", grouped(*pauses), elapsed(*paused));
        let ignored = match ignored {
            0 => "all honoured".to_owned(),
            _ => format!("{} times the tester went on sooner, because pauses are limited", grouped(*ignored)),
        };
        lines.push(format!("{} with Retry-After: {paused}; {ignored}", grouped(*retry_after)));
    } else {
        lines.push("none with Retry-After".to_owned());
    }
    lines
}

/// Which rules were never put to the test, and what was never reached: of that the verdict says nothing.
fn coverage(outcome: &Outcome, rules: &[Rule], in_full: bool, out: &mut dyn Write) -> io::Result<()> {
    let figures = &outcome.figures;
    let never: Vec<&str> =
        rules.iter().map(|rule| rule.name).filter(|name| !figures.rules.contains(name)).collect();
    let tested = rules.len() - never.len();
    let lines = [format!("{tested} of {} were put to the test", rules.len())];
    note(out, "rules", &[&lines[..], &nevers(&never, in_full)].concat())?;
    if outcome.branches.is_empty() {
        return Ok(());
    }
    let never: Vec<&str> =
        outcome.branches.iter().filter(|(_, times)| *times == 0).map(|(name, _)| &**name).collect();
    let reached = outcome.branches.len() - never.len();
    let lines = [format!("{reached} of {} were reached", outcome.branches.len())];
    note(out, "branches", &[&lines[..], &nevers(&never, in_full)].concat())
}

fn nevers(never: &[&str], in_full: bool) -> Vec<String> {
    if never.is_empty() {
        return Vec::new();
    }
    let shown = if in_full { never.len() } else { never.len().min(NEVER) };
    let more = match never.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more (-v lists them)"),
    };
    wrap(&format!("never: {}{more}", never[..shown].join(", ")), WIDTH - 14)
}

fn spread(spread: &Spread) -> String {
    let all = spread.quantiles();
    format!(
        "median {}, 10 % up to {}, 90 % up to {}, at most {}",
        grouped(all.median),
        grouped(all.p10),
        grouped(all.p90),
        grouped(all.max)
    )
}
