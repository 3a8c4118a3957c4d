//! The report of a run for the terminal: the violations, the verdict, and its basis.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::Style;
use confute_record::{
    BrokenOff, Compared, Conclusion, Exit, Figures, Refusals, RunRecord, Spread, Standing, guarded,
};

use crate::bound;
use crate::merged;
use crate::note::note;
use crate::several;
use crate::style::{BAD, GOOD, OPEN};
use crate::text::{WIDTH, count, elapsed, grouped, wrap};

/// Maximum number of untested rules or goals that are named.
const NEVER: usize = 8;

/// Options of the report.
#[derive(Clone, Copy, Default)]
pub struct Manner<'a> {
    /// The files that were written.
    pub paths: &'a [PathBuf],
    /// Advice on writing files, for runs that wrote none.
    pub hint: &'a str,
    /// Amount of detail.
    pub detail: Detail,
}

/// Amount of detail of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The verdict only.
    Verdict,
    /// Of several violations a table, and a short text about each that decides the verdict.
    Brief,
    /// The whole proof of each violation.
    #[default]
    Whole,
    /// Also every message and every list in full.
    Full,
}

/// Writes the whole report: the violations, the verdict, the statistics, the paths.
pub fn write(run: &RunRecord, manner: Manner<'_>, out: &mut dyn Write) -> io::Result<()> {
    if manner.detail == Detail::Verdict {
        return part("verdict", out, |out| verdict(run, manner.detail, out));
    }
    several::write(run, manner, out)?;
    part("verdict", out, |out| verdict(run, manner.detail, out))?;
    let remarks = run.remarks.iter().flat_map(|remark| wrap(remark, WIDTH - 14));
    note(out, "server", &remarks.collect::<Vec<_>>())?;
    part("basis", out, |out| basis(run, manner, out))?;
    notes(run).iter().try_for_each(|(label, lines)| note(out, label, lines))?;
    note(out, "reports", &several::reports(manner))
}

/// Returns notes beside the verdict: labels, each with its lines.
pub(crate) fn notes(run: &RunRecord) -> Vec<(&'static str, Vec<String>)> {
    let wrapped = |texts: Vec<String>| texts.iter().flat_map(|text| wrap(text, WIDTH - 14)).collect();
    let budgets = run.notes.budgets.map_or_else(Vec::new, |budgets| {
        let of = |most: Option<_>| most.map(|most| format!(" of {}", elapsed(most))).unwrap_or_default();
        vec![
            format!("testing took {}{}", elapsed(budgets.tested), of(budgets.testing)),
            format!(
                "blame, shrinking, proofs and reports took {}{}",
                elapsed(budgets.took),
                of(Some(budgets.after))
            ),
        ]
    });
    vec![
        ("shards", wrapped(merged::shards(run))),
        ("causes", wrapped(merged::causes(run))),
        ("tried", wrapped(run.notes.tried.iter().map(ToString::to_string).collect())),
        ("stored", run.notes.stored.iter().map(|path| path.display().to_string()).collect()),
        ("baseline", run.notes.baseline.as_ref().map(compared).unwrap_or_default()),
        ("budgets", wrapped(budgets)),
        ("missing", wrapped(run.notes.missing.clone())),
    ]
}

/// Formats the comparison with the baseline, as lines.
fn compared(compared: &Compared) -> Vec<String> {
    let mut lines = vec![format!("{} seen again", count(compared.met as u64, "known violation"))];
    let list = |what: &str, rules: &[String]| wrap(&format!("{what}: {}", rules.join("; ")), WIDTH - 14);
    if !compared.gone.is_empty() {
        let (cases, answers) = (count(compared.cases, "case"), count(compared.answers, "response"));
        let what = format!("not seen again in {cases} with {answers}, although tested");
        lines.extend(list(&what, &compared.gone));
    }
    if !compared.open.is_empty() {
        lines.extend(list("not tested, or not completely", &compared.open));
    }
    match &compared.written {
        Some(path) => lines.push(format!("written to {}", path.display())),
        None if compared.gone.is_empty() => {}
        None => lines.push("--baseline-update removes the violations that were not seen again".to_owned()),
    }
    lines
}

/// Writes a part of the report. If its writer panics, the output up to then is kept and a line reports that
/// the rest is missing, so that the other parts are not lost with it.
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
            let line = format!("the rest of this part of the report ({what}): internal error: {why}");
            // Resets the styles of the interrupted output.
            writeln!(out, "{OPEN:#}")?;
            note(out, "missing", &wrap(&line, WIDTH - 14))
        }
    }
}

fn verdict(run: &RunRecord, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let shown = &run.server;
    let mut say = |style: Style, what: String| {
        let word = Exit::from(&run.conclusion).name();
        // One line for programs, and in the verbose report.
        let is_one_line = matches!(detail, Detail::Verdict | Detail::Full);
        let width = if is_one_line { usize::MAX } else { WIDTH - word.len() - 2 };
        writeln!(out, "{style}{word}{style:#}: {}", wrap(&format!("{shown}: {what}"), width).join("\n  "))
    };
    let answers = count(run.figures.answers, "response");
    if run.figures.requests == 0
        && let Conclusion::Inconclusive(why) = &run.conclusion
    {
        return say(OPEN, format!("{why}; nothing was tested"));
    }
    let time = elapsed(run.elapsed).replace(' ', "\u{a0}");
    let over = match run.bound {
        // The number of scripts is printed elsewhere.
        Some(_) => format!("{answers}, {time}"),
        None => format!("{answers} in {}, {time}", count(run.tally.cases, "case")),
    };
    let alone = match run.figures.outstanding.median() {
        // The concurrency of an exhaustive run is part of its scripts.
        1 if run.figures.requests > 0 && run.bound.is_none() => {
            "; the median of outstanding requests was one: the test was nearly sequential"
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
                    format!("{}; no violation", bound::done(bound, run))
                }
                Some(bound) => format!("{}; no new violation", bound::done(bound, run)),
                None if known > 0 => format!("only {}", count(known, "known violation")),
                None => format!("every response explained by {}", run.model),
            };
            say(GOOD, format!("{explained} ({over}{alone})"))
        }
        Conclusion::Inconclusive(why) => say(OPEN, format!("{why} ({over}{alone})")),
    }
}

/// Writes the basis of the verdict.
fn basis(run: &RunRecord, manner: Manner<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (figures, tally) = (&run.figures, &run.tally);
    note(out, "seed", &[run.plan.seed.to_string()])?;
    let mut next: Vec<String> = run.troubles.iter().map(|trouble| trouble.next.clone()).collect();
    next.retain(|advice| !advice.is_empty());
    next.dedup();
    let mut next: Vec<String> = next.iter().flat_map(|advice| wrap(advice, WIDTH - 14)).collect();
    // Commands are not broken.
    next.extend(several::next(run, manner));
    if figures.requests == 0 {
        // Nothing was sent, so there are no statistics.
        return note(out, "next", &next);
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
        cases.push(format!("{} without any response", grouped(tally.empty)));
    }
    if tally.early > 0 {
        cases.push(format!("{} ended early", grouped(tally.early)));
    }
    if tally.stopped > 0 {
        cases.push(format!("{} unfinished when testing ended", grouped(tally.stopped)));
    }
    if tally.doubtful > 0 {
        cases.push(format!("{} refuted online, but not when judged again offline", grouped(tally.doubtful)));
    }
    note(out, "cases", &cases)?;
    note(
        out,
        "refusals",
        &refusals(figures).iter().flat_map(|one| wrap(one, WIDTH - 14)).collect::<Vec<_>>(),
    )?;
    let broken = broken_off(figures).map_or_else(Vec::new, |broken| wrap(&broken, WIDTH - 14));
    note(out, "broken", &broken)?;
    let crowding = figures.crowding.told().map_or_else(Vec::new, |told| wrap(&told, WIDTH - 14));
    note(out, "crowding", &crowding)?;
    let outstanding = format!("outstanding requests at each send: {}", spread(&figures.outstanding));
    let open = format!("open alternatives: {}", spread(&figures.alternatives));
    note(out, "load", &[outstanding, open].map(|one| wrap(&one, WIDTH - 14)).concat())?;
    coverage(run, manner.detail, out)?;
    let share =
        |part: std::time::Duration| 100.0 * part.as_secs_f64() / figures.elapsed.as_secs_f64().max(1e-9);
    let times = format!("{:.0} % judging, {:.0} % waiting", share(figures.thinking), share(figures.waiting));
    note(out, "time", &[format!("{}, {times}", elapsed(run.elapsed))])?;
    let troubles = run.troubles.iter().flat_map(|trouble| {
        let often = if trouble.times > 1 { format!(" ({} times)", trouble.times) } else { String::new() };
        wrap(&format!("{}{often}", trouble.what), WIDTH - 14)
    });
    note(out, "trouble", &troubles.collect::<Vec<_>>())?;
    note(out, "next", &next)?;
    // A violated rule is not required of later cases, so that they can show other violations. The table has it.
    let in_table = |rule: &&String| {
        several::is_brief(run, manner.detail) && run.violations.iter().any(|one| one.is_named_after(rule))
    };
    let relaxed: Vec<&str> = run.relaxed.iter().filter(|rule| !in_table(rule)).map(|rule| &**rule).collect();
    if relaxed.is_empty() {
        return Ok(());
    }
    let text = format!("not required at the end (allowed, or violated before): {}", relaxed.join(", "));
    note(out, "relaxed", &wrap(&text, WIDTH - 14))
}

/// Describes the responses that broke off, if there are any.
pub(crate) fn broken_off(figures: &Figures) -> Option<String> {
    let BrokenOff { count, first } = &figures.broken_off;
    let (count, answers) = (grouped(*count), grouped(figures.answers));
    let first = first.as_ref()?;
    Some(format!(
        "{count} of {answers} responses broke off: the server ended the connection, as it may; the first: {first}"
    ))
}

/// Describes the refusals of the server, and the retries that were too early.
pub(crate) fn refusals(figures: &Figures) -> Vec<String> {
    let Refusals { retry_after, pauses, paused, ignored, .. } = &figures.refusals;
    let count = figures.refusals.count();
    if count == 0 {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "{} of {} responses: {}",
        grouped(count),
        grouped(figures.answers),
        figures.refusals.told()
    )];
    if *retry_after > 0 {
        let paused = format!("{} pauses ({} in all)", grouped(*pauses), elapsed(*paused));
        let ignored = match ignored {
            0 => "all honoured".to_owned(),
            _ => {
                format!("{} times the tester continued early, because pauses are limited", grouped(*ignored))
            }
        };
        lines.push(format!("{} with Retry-After: {paused}; {ignored}", grouped(*retry_after)));
    } else {
        lines.push("no Retry-After".to_owned());
    }
    lines
}

/// Writes the rules that were never tested and the coverage goals that were never reached: the verdict does
/// not cover them.
fn coverage(run: &RunRecord, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let (figures, rules, in_full) = (&run.figures, &run.rules, detail == Detail::Full);
    let never: Vec<&str> =
        rules.iter().map(|rule| &*rule.name).filter(|name| !figures.rules.contains(*name)).collect();
    let tested = rules.len() - never.len();
    let lines = [format!("{tested} of {} were tested", rules.len())];
    note(out, "rules", &[&lines[..], &nevers(&never, in_full)].concat())?;
    if run.branches.is_empty() {
        return Ok(());
    }
    let never: Vec<&str> =
        run.branches.iter().filter(|(_, times)| *times == 0).map(|(name, _)| &**name).collect();
    let reached = run.branches.len() - never.len();
    let line = format!("{reached} of {} were reached", run.branches.len());
    if several::is_brief(run, detail) && !never.is_empty() {
        return note(out, "branches", &[format!("{line} (-v lists the others)")]);
    }
    note(out, "branches", &[&[line][..], &nevers(&never, in_full)].concat())
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
