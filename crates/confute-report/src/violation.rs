//! One violation, for people: the rule, the messages, what was expected, and what to do next.

use std::fmt::Debug;
use std::io::{self, Write};

use confute::trace::Event;
use confute_drive::{Finding, Plan, Protocol, Shrunk, Unshrunk};

use crate::because::number;
use crate::note::{self, note};
use crate::style::{BAD, OPEN, STRONG};
use crate::text::{WIDTH, clip, count, grouped, wrap};
use crate::{Subject, ladder, said};

/// How many of the last events of a case are shown.
const LAST: usize = 8;
/// Up to so many are drawn.
const DRAWN: usize = 24;

/// What a finding is called: the rules that were broken.
pub fn name<P: Protocol>(finding: &Finding<P>) -> String {
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

/// Shows it, in full or fit for 80 columns.
pub fn violation<P: Protocol>(
    subject: &Subject<'_>,
    finding: &Finding<P>,
    plan: &Plan,
    in_full: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (style, what) = match (finding.refutes(plan.level), finding.known) {
        (true, _) => (BAD, "violation"),
        (false, true) => (OPEN, "known violation"),
        (false, false) => (OPEN, "warning"),
    };
    writeln!(out, "{style}{what} {}{style:#}: {STRONG}{}{STRONG:#}", finding.number, name(finding))?;
    let broken = finding.diagnoses.iter().flat_map(|one| &one.rules);
    let mut lines = Vec::new();
    for rule in broken.filter_map(|name| subject.rules.iter().find(|rule| rule.name == *name)) {
        lines.extend(wrap(rule.summary, WIDTH - 14));
        if let Some(clause) = (subject.clause)(rule.name) {
            lines.extend(wrap(&format!("({clause})"), WIDTH - 14));
        }
    }
    note(out, "asked", &lines)?;
    let (trace, mut refutation) = match &finding.shrunk {
        Some(Ok(shrunk)) => (&shrunk.trace, shrunk.refutation.clone()),
        _ => (&finding.trace, finding.refutation.clone()),
    };
    let is_drawn = !in_full && trace.len() <= DRAWN;
    if is_drawn {
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
    note::expected(&refutation, in_full, out)?;
    if let Some(proof) = &finding.proof {
        let mut lines = Vec::new();
        if !is_drawn {
            // Nobody knows the numbers otherwise.
            let one = |event: &usize| format!("({}) {}", number(trace, *event), told(&trace[*event]));
            lines.extend(proof.matter.iter().map(|event| clip(&one(event), WIDTH - 14)));
        }
        lines.extend(proof.sentences.iter().flat_map(|sentence| wrap(sentence, WIDTH - 14)));
        note(out, "because", &lines)?;
    }
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
