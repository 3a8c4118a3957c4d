//! What came of a run, for people: the violations, the verdict, and what it rests on.

use std::fmt::Debug;
use std::io::{self, Write};
use std::path::PathBuf;

use confute::lang::Rule;
use confute::trace::Event;
use confute_drive::{Conclusion, Finding, Outcome, Plan, Protocol, Shrunk, Spread, Unshrunk};

use super::{Flags, Subject, advice, said};
use crate::output::{BAD, GOOD, OPEN, STRONG};
use crate::render::{self, note};
use crate::text::{WIDTH, clip, count, elapsed, grouped, wrap};
use crate::{catalogue, ladder};

/// How many of the last events of a case are shown.
const LAST: usize = 8;
/// So many things that were never put to the test are named.
const NEVER: usize = 8;
/// Up to so many are drawn.
const DRAWN: usize = 24;

/// What else there is to say.
pub(super) struct Told<'a> {
    /// What the server was found to be able to do.
    pub(super) remarks: &'a [String],
    /// The files that were written.
    pub(super) paths: &'a [PathBuf],
}

pub(super) fn write<P: Protocol>(
    subject: &Subject<'_>,
    plan: &Plan,
    outcome: &Outcome<P>,
    rules: &[Rule],
    flags: &Flags,
    told: &Told<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !flags.quiet {
        for finding in &outcome.findings {
            violation(finding, plan, rules, flags.verbose, out)?;
        }
    }
    verdict(subject, plan, outcome, out)?;
    if !flags.quiet {
        let remarks = told.remarks.iter().flat_map(|remark| wrap(remark, WIDTH - 14));
        note(out, "server", &remarks.collect::<Vec<_>>())?;
        basis(subject, plan, outcome, rules, flags.verbose, out)?;
        let paths: Vec<String> = told.paths.iter().map(|path| path.display().to_string()).collect();
        note(out, "reports", &paths)?;
    }
    Ok(())
}

/// What a finding is called: the rules that were broken.
pub(super) fn name<P: Protocol>(finding: &Finding<P>) -> String {
    let level =
        finding.level.map_or("of unknown level".to_owned(), |level| format!("level {}", level.name()));
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

pub(crate) fn violation<P: Protocol>(
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
        if let Some((clause, _)) = catalogue::standard(rule.name).filter(|(clause, _)| !clause.is_empty()) {
            lines.extend(wrap(&format!("({clause})"), WIDTH - 14));
        }
    }
    note(out, "asked", &lines)?;
    let (trace, mut refutation) = match &finding.shrunk {
        Some(Ok(shrunk)) => (&shrunk.trace, shrunk.refutation.clone()),
        _ => (&finding.trace, finding.refutation.clone()),
    };
    if !in_full && trace.len() <= DRAWN {
        ladder::draw(&trace.iter().map(in_words).collect::<Vec<_>>(), "nothing explains this", out)?;
    } else {
        let width = if in_full { usize::MAX } else { WIDTH - 14 };
        let from = trace.len().saturating_sub(LAST);
        let events: Vec<String> = trace[from..].iter().map(|event| clip(&told(event), width)).collect();
        note(out, if from > 0 { "at last" } else { "events" }, &events)?;
    }
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
    note(out, "case", &wrap(&format!("{met}, {}", count(steps, "step")), WIDTH - 14))?;
    let mut small = finding.shrunk.as_ref().map(how_small).unwrap_or_default();
    if let Some(Ok(shrunk)) = &finding.shrunk {
        let known = |rules: &Vec<&str>| finding.diagnoses.iter().any(|one| one.rules == *rules);
        let others: Vec<String> = shrunk
            .diagnoses
            .iter()
            .filter(|one| !known(&one.rules))
            .map(|one| one.rules.join(" and "))
            .collect();
        if !others.is_empty() {
            small = format!("{small}; by itself it could be blamed on {} too", others.join(", or "));
        }
    }
    if finding.shrunk.is_some() {
        note(out, "shrunk", &wrap(&small, WIDTH - 14))?;
    }
    if let Some(rule) = finding.diagnoses.iter().find_map(|one| one.rules.first()) {
        note(out, "next", &[format!("`confute explain {rule}` says what it asks")])?;
    }
    writeln!(out)
}

/// What came of shrinking.
fn how_small<P: Protocol>(shrunk: &Result<Box<Shrunk<P>>, Unshrunk>) -> String {
    match shrunk {
        Ok(shrunk) => {
            let (before, now) = shrunk.requests;
            let more = if shrunk.unfinished { "; with more time perhaps fewer" } else { "" };
            let (shown, runs) = shrunk.again;
            let again =
                if runs == 0 { String::new() } else { format!("; shown again in {shown} of {runs} runs") };
            format!("from {} to {}{more}{again}", count(before as u64, "request"), grouped(now as u64))
        }
        Err(why) => format!("no: {why}"),
    }
}

/// An event whose message is text.
fn in_words<M: Debug>(event: &Event<M>) -> Event<String> {
    match event {
        Event::Sent(conn, message) => Event::Sent(*conn, said(message)),
        Event::Received(conn, message) => Event::Received(*conn, said(message)),
        Event::Opened(conn) => Event::Opened(*conn),
        Event::Accepted(conn) => Event::Accepted(*conn),
        Event::Closed(conn) => Event::Closed(*conn),
        Event::HungUp(conn) => Event::HungUp(*conn),
        _ => Event::Quiescent,
    }
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
    if outcome.figures.requests == 0
        && let Conclusion::Inconclusive(why) = &outcome.conclusion
    {
        return writeln!(out, "{OPEN}inconclusive{OPEN:#}: {shown}: {why}; nothing was tested");
    }
    let over = match subject.bound {
        // How many there were is said already.
        Some(_) => format!("{answers}, {}", elapsed(outcome.elapsed)),
        None => format!("{answers} in {}, {}", count(outcome.tally.cases, "case"), elapsed(outcome.elapsed)),
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
            writeln!(out, "{BAD}refuted{BAD:#}: {shown}: {number} ({over}{alone})")
        }
        Conclusion::Unrefuted => {
            let explained = match subject.bound {
                Some(bound) if outcome.findings.is_empty() => {
                    format!("{}; nothing was refuted", bound.done(outcome))
                }
                Some(bound) => format!("{}; there were warnings only", bound.done(outcome)),
                None => format!("all explained by {}", subject.model),
            };
            writeln!(out, "{GOOD}unrefuted{GOOD:#}: {shown}: {explained} ({over}{alone})")
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
    rules: &[Rule],
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
        "load",
        &[
            format!("outstanding requests at each send: {}", spread(&figures.outstanding)),
            format!("open alternatives: {}", spread(&figures.alternatives)),
        ],
    )?;
    coverage(outcome, rules, in_full, out)?;
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

/// Which rules were never put to the test, and what was never reached: of that the verdict says nothing.
fn coverage<P: Protocol>(
    outcome: &Outcome<P>,
    rules: &[Rule],
    in_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
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
