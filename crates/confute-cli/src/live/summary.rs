//! What came of a run, for people: the violations, the verdict, and what it rests on.

use std::fmt::Debug;
use std::io::{self, Write};
use std::path::PathBuf;

use confute::lang::Rule;
use confute::trace::Event;
use confute_drive::{Conclusion, Finding, Outcome, Plan, Protocol, Spread};

use super::{Flags, Subject, said};
use crate::output::{BAD, GOOD, OPEN, STRONG};
use crate::render::{self, note};
use crate::text::{WIDTH, clip, count, elapsed, grouped, wrap};

/// How many of the last events of a case are shown.
const LAST: usize = 8;

pub(super) fn write<P: Protocol>(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome<P>,
    rules: &[Rule],
    flags: &Flags,
    paths: &[PathBuf],
    out: &mut dyn Write,
) -> io::Result<()> {
    if !flags.quiet {
        for finding in &outcome.findings {
            violation(finding, plan, rules, flags.verbose, out)?;
        }
    }
    verdict(subject, plan, outcome, out)?;
    if !flags.quiet {
        basis(subject, plan, outcome, out)?;
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        note(out, "reports", &paths)?;
    }
    Ok(())
}

/// What a finding is called: the rules that were broken.
pub(super) fn name<P: Protocol>(finding: &Finding<P>) -> String {
    let level =
        finding.level.map_or("of unknown level".to_owned(), |level| format!("level {}", render::name(level)));
    let rules: Vec<String> = finding.diagnoses.iter().map(|one| one.rules.join(" and ")).collect();
    match &rules[..] {
        [] if finding.incomplete => format!("no rule found in time ({level})"),
        [] => format!("no rule of the model explains it by being broken ({level})"),
        // What was not tried might explain it at a weaker level.
        rules if finding.incomplete => {
            format!("{} ({level} at most: not every rule could be tried)", rules.join(", or "))
        }
        rules => format!("{} ({level})", rules.join(", or ")),
    }
}

fn violation<P: Protocol>(
    finding: &Finding<P>,
    plan: &Plan,
    rules: &[Rule],
    in_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (style, what) = if finding.refutes(plan.level) { (BAD, "violation") } else { (OPEN, "warning") };
    writeln!(out, "{style}{what} {}{style:#}: {STRONG}{}{STRONG:#}", finding.number, name(finding))?;
    let broken = finding.diagnoses.iter().flat_map(|one| &one.rules);
    let mut lines = Vec::new();
    for rule in broken.filter_map(|name| rules.iter().find(|rule| rule.name == *name)) {
        lines.extend(wrap(rule.summary, WIDTH - 14));
    }
    note(out, "asked", &lines)?;
    let width = if in_full { usize::MAX } else { WIDTH - 14 };
    let from = finding.trace.len().saturating_sub(LAST);
    let events: Vec<String> = finding.trace[from..].iter().map(|event| clip(&told(event), width)).collect();
    note(out, if from > 0 { "at last" } else { "events" }, &events)?;
    let mut refutation = finding.refutation.clone();
    if !in_full {
        // A turn looks at many rules; of interest are those that are to blame.
        let blamed = |rule: &&'static str| finding.diagnoses.iter().any(|one| one.rules.contains(rule));
        refutation.expected.iter_mut().for_each(|one| one.rules.retain(blamed));
    }
    render::expected(&refutation, in_full, out)?;
    let (events, steps) = (finding.trace.len() as u64, finding.script.len() as u64);
    let met = format!(
        "met in {}; here {} of {}",
        count(finding.times, "case"),
        count(events, "event"),
        finding.name
    );
    note(out, "case", &[format!("{met}, {}", count(steps, "step"))])?;
    writeln!(out)
}

/// An event, as in the files that `confute check` shows.
fn told<M: Debug>(event: &Event<M>) -> String {
    match event {
        Event::Sent(conn, message) => format!("c{} sent      {message:?}", conn.0),
        Event::Received(conn, message) => format!("c{} received  {message:?}", conn.0),
        Event::Opened(conn) => format!("c{} opened", conn.0),
        Event::Accepted(conn) => format!("c{} accepted", conn.0),
        Event::Closed(conn) => format!("c{} closed", conn.0),
        Event::HungUp(conn) => format!("c{} ended", conn.0),
        Event::Quiescent => "nothing more comes".to_owned(),
        other => said(other),
    }
}

fn verdict<P: Protocol>(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome<P>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown = subject.shown;
    let answers = count(outcome.figures.answers, "answer");
    let over = format!("{answers} in {}, {}", count(outcome.tally.cases, "case"), elapsed(outcome.elapsed));
    let alone = match outcome.figures.outstanding.median() {
        1 if outcome.figures.requests > 0 => "; median outstanding was one: hardly anything was concurrent",
        _ => "",
    };
    match &outcome.conclusion {
        Conclusion::Refuted => {
            let refuting = outcome.findings.iter().filter(|finding| finding.refutes(plan.level)).count();
            let number = count(refuting as u64, "violation");
            writeln!(out, "{BAD}refuted{BAD:#}: {shown}: {number} ({over}{alone})")
        }
        Conclusion::Unrefuted => {
            writeln!(
                out,
                "{GOOD}unrefuted{GOOD:#}: {shown}: all explained by {} ({over}{alone})",
                subject.model
            )
        }
        Conclusion::Inconclusive(why) => {
            writeln!(out, "{OPEN}inconclusive{OPEN:#}: {shown}: {why} ({over}{alone})")
        }
    }
}

/// What the verdict rests on.
fn basis<P: Protocol>(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome<P>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (figures, tally) = (&outcome.figures, &outcome.tally);
    note(out, "seed", &[plan.seed.to_string()])?;
    note(out, "premise", &wrap(subject.premise, WIDTH - 14))?;
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
    if tally.doubtful > 0 {
        cases.push(format!("{} refuted at first, but not when judged again", grouped(tally.doubtful)));
    }
    note(out, "cases", &cases)?;
    note(
        out,
        "load",
        &[
            format!("outstanding requests at each send: {}", spread(&figures.outstanding)),
            format!("open alternatives: {}", spread(&figures.alternatives)),
        ],
    )?;
    let share =
        |part: std::time::Duration| 100.0 * part.as_secs_f64() / figures.elapsed.as_secs_f64().max(1e-9);
    let times = format!("{:.0} % thinking, {:.0} % waiting", share(figures.thinking), share(figures.waiting));
    note(out, "time", &[format!("{}, {times}", elapsed(outcome.elapsed))])?;
    let troubles = outcome.troubles.iter().flat_map(|(trouble, times)| {
        let often = if *times > 1 { format!(" ({times} times)") } else { String::new() };
        wrap(&format!("{trouble}{often}"), WIDTH - 14)
    });
    note(out, "trouble", &troubles.collect::<Vec<_>>())?;
    if !outcome.relaxed.is_empty() {
        note(out, "relaxed", &wrap(&outcome.relaxed.join(", "), WIDTH - 14))?;
    }
    Ok(())
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
