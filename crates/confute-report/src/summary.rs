//! What came of a run, for people: the violations, the verdict, and what it rests on.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::Style;
use confute_record::{Compared, Conclusion, Exit, Figures, Refusals, RunRecord, Spread, Standing, guarded};

use crate::bound;
use crate::note::note;
use crate::style::{BAD, GOOD, OPEN};
use crate::text::{WIDTH, count, elapsed, grouped, wrap};
use crate::violation::{kept, violation};

/// So many things that were never put to the test are named.
const NEVER: usize = 8;

/// How a run is to be shown.
#[derive(Clone, Copy, Default)]
pub struct Manner<'a> {
    /// The files that were written.
    pub paths: &'a [PathBuf],
    /// How to have files written, where none were.
    pub hint: &'a str,
    /// Only the verdict.
    pub quiet: bool,
    /// Everything in full.
    pub verbose: bool,
}

/// Writes the whole report: the violations, the verdict, the figures, the paths.
pub fn write(run: &RunRecord, manner: Manner<'_>, out: &mut dyn Write) -> io::Result<()> {
    if !manner.quiet {
        for finding in &run.violations {
            let mut next = kept(run, finding, manner.paths);
            if next.is_empty() && manner.paths.is_empty() {
                next = wrap(manner.hint, WIDTH - 14);
            }
            let what = format!("violation {}", finding.number);
            part(&what, out, |out| violation(&run.rules, finding, manner.verbose, &next, out))?;
        }
    }
    part("verdict", out, |out| verdict(run, manner, out))?;
    if !manner.quiet {
        let remarks = run.remarks.iter().flat_map(|remark| wrap(remark, WIDTH - 14));
        note(out, "server", &remarks.collect::<Vec<_>>())?;
        part("basis", out, |out| basis(run, manner.verbose, out))?;
        notes(run).iter().try_for_each(|(label, lines)| note(out, label, lines))?;
        let paths: Vec<String> = manner.paths.iter().map(|path| path.display().to_string()).collect();
        note(out, "reports", &paths)?;
    }
    Ok(())
}

/// Remarks beside the verdict: a label, and lines beside it.
pub(crate) fn notes(run: &RunRecord) -> Vec<(&'static str, Vec<String>)> {
    let wrapped = |texts: Vec<String>| texts.iter().flat_map(|text| wrap(text, WIDTH - 14)).collect();
    let budgets = run.notes.budgets.map_or_else(Vec::new, |budgets| {
        let of = |most: Option<_>| most.map(|most| format!(" of {}", elapsed(most))).unwrap_or_default();
        vec![
            format!("testing took {}{}", elapsed(budgets.tested), of(budgets.testing)),
            format!(
                "blame, smaller cases, proofs and reports took {}{}",
                elapsed(budgets.took),
                of(Some(budgets.after))
            ),
        ]
    });
    vec![
        ("tried", wrapped(run.notes.tried.iter().map(ToString::to_string).collect())),
        ("stored", run.notes.stored.iter().map(|path| path.display().to_string()).collect()),
        ("baseline", run.notes.baseline.as_ref().map(compared).unwrap_or_default()),
        ("budgets", wrapped(budgets)),
        ("missing", wrapped(run.notes.missing.clone())),
    ]
}

/// The comparison with the baseline, in lines.
fn compared(compared: &Compared) -> Vec<String> {
    let mut lines = vec![format!("{} met again", count(compared.met as u64, "known violation"))];
    let list = |what: &str, rules: &[String]| wrap(&format!("{what}: {}", rules.join("; ")), WIDTH - 14);
    if !compared.gone.is_empty() {
        let (cases, answers) = (count(compared.cases, "case"), count(compared.answers, "answer"));
        let what = format!("no longer met in {cases} with {answers}, though put to the test");
        lines.extend(list(&what, &compared.gone));
    }
    if !compared.open.is_empty() {
        lines.extend(list("not put to the test, or not to the end", &compared.open));
    }
    match &compared.written {
        Some(path) => lines.push(format!("written to {}", path.display())),
        None if compared.gone.is_empty() => {}
        None => lines.push("--baseline-update removes what is no longer met".to_owned()),
    }
    lines
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

fn verdict(run: &RunRecord, manner: Manner<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shown = &run.server;
    let mut say = |style: Style, what: String| {
        let word = Exit::from(&run.conclusion).name();
        // In a line of its own for programs, and where everything is shown as it is.
        let width = if manner.quiet || manner.verbose { usize::MAX } else { WIDTH - word.len() - 2 };
        writeln!(out, "{style}{word}{style:#}: {}", wrap(&format!("{shown}: {what}"), width).join("\n  "))
    };
    let answers = count(run.figures.answers, "answer");
    if run.figures.requests == 0
        && let Conclusion::Inconclusive(why) = &run.conclusion
    {
        return say(OPEN, format!("{why}; nothing was tested"));
    }
    let time = elapsed(run.elapsed).replace(' ', "\u{a0}");
    let over = match run.bound {
        // How many there were is said already.
        Some(_) => format!("{answers}, {time}"),
        None => format!("{answers} in {}, {time}", count(run.tally.cases, "case")),
    };
    let alone = match run.figures.outstanding.median() {
        // What is tried out to the end says itself what is concurrent.
        1 if run.figures.requests > 0 && run.bound.is_none() => {
            "; median outstanding was one: hardly anything was concurrent"
        }
        _ => "",
    };
    match &run.conclusion {
        Conclusion::Refuted => {
            let refuting = run.standing(Standing::Refutes).count();
            let number = count(refuting as u64, "violation");
            say(BAD, format!("{number} ({over}{alone})"))
        }
        Conclusion::Unrefuted => {
            let known = run.standing(Standing::Known).count() as u64;
            let explained = match run.bound {
                Some(bound) if run.violations.is_empty() => {
                    format!("{}; nothing was refuted", bound::done(bound, run))
                }
                Some(bound) => format!("{}; nothing new was refuted", bound::done(bound, run)),
                None if known > 0 => format!("nothing but {}", count(known, "known violation")),
                None => format!("all explained by {}", run.model),
            };
            say(GOOD, format!("{explained} ({over}{alone})"))
        }
        Conclusion::Inconclusive(why) => say(OPEN, format!("{why} ({over}{alone})")),
    }
}

/// What the verdict rests on.
fn basis(run: &RunRecord, in_full: bool, out: &mut dyn Write) -> io::Result<()> {
    let (figures, tally) = (&run.figures, &run.tally);
    note(out, "seed", &[run.plan.seed.to_string()])?;
    let mut next: Vec<&str> = run.troubles.iter().map(|trouble| &*trouble.next).collect();
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
    note(out, "premise", &wrap(&run.premise, WIDTH - 14))?;
    if let Some(bound) = run.bound {
        note(out, "scripts", &bound::notes(bound, run))?;
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
    coverage(run, in_full, out)?;
    let share =
        |part: std::time::Duration| 100.0 * part.as_secs_f64() / figures.elapsed.as_secs_f64().max(1e-9);
    let times = format!("{:.0} % thinking, {:.0} % waiting", share(figures.thinking), share(figures.waiting));
    note(out, "time", &[format!("{}, {times}", elapsed(run.elapsed))])?;
    let troubles = run.troubles.iter().flat_map(|trouble| {
        let often = if trouble.times > 1 { format!(" ({} times)", trouble.times) } else { String::new() };
        wrap(&format!("{}{often}", trouble.what), WIDTH - 14)
    });
    note(out, "trouble", &troubles.collect::<Vec<_>>())?;
    note(out, "next", &next.iter().flat_map(|advice| wrap(advice, WIDTH - 14)).collect::<Vec<_>>())?;
    if !run.relaxed.is_empty() {
        note(out, "relaxed", &wrap(&run.relaxed.join(", "), WIDTH - 14))?;
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
fn coverage(run: &RunRecord, in_full: bool, out: &mut dyn Write) -> io::Result<()> {
    let (figures, rules) = (&run.figures, &run.rules);
    let never: Vec<&str> =
        rules.iter().map(|rule| &*rule.name).filter(|name| !figures.rules.contains(*name)).collect();
    let tested = rules.len() - never.len();
    let lines = [format!("{tested} of {} were put to the test", rules.len())];
    note(out, "rules", &[&lines[..], &nevers(&never, in_full)].concat())?;
    if run.branches.is_empty() {
        return Ok(());
    }
    let never: Vec<&str> =
        run.branches.iter().filter(|(_, times)| *times == 0).map(|(name, _)| &**name).collect();
    let reached = run.branches.len() - never.len();
    let lines = [format!("{reached} of {} were reached", run.branches.len())];
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
