//! One violation, for people: the rule, the messages, what was expected, and what to do next.

use std::fmt::Debug;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use confute::Refutation;
use confute::trace::Event;
use confute_drive::{Finding, Plan, Shrunk, Unshrunk};

use crate::because::number;
use crate::files::{CASE, folder};
use crate::note::{self, note};
use crate::style::{BAD, OPEN, STRONG};
use crate::text::{WIDTH, clip, count, grouped, wrap};
use crate::{Subject, ladder, said};

/// How many of the last events of a case are shown.
const LAST: usize = 8;
/// Up to so many are drawn.
const DRAWN: usize = 24;

/// What a finding is called: the rules that were broken.
pub fn name(finding: &Finding) -> String {
    // What was not tried might explain it too, so only so much was proven.
    let at_least = if finding.incomplete { " at least" } else { "" };
    let level = finding
        .level
        .map_or("of unknown level".to_owned(), |level| format!("level {}{at_least}", level.name()));
    let rules: Vec<String> = finding.diagnoses.iter().map(|one| one.rules.join(" and ")).collect();
    match &rules[..] {
        [] if finding.incomplete => format!("no rule found in time ({level})"),
        [] => format!("no rule of the model explains it by being broken ({level})"),
        rules if finding.incomplete => {
            format!("{} ({level}: not every rule could be tried)", rules.join(", or "))
        }
        rules => format!("{} ({level})", rules.join(", or ")),
    }
}

/// What kind of finding it is.
pub(crate) fn title(finding: &Finding, plan: &Plan) -> &'static str {
    if finding.refutes(plan.level) {
        "violation"
    } else if finding.known {
        "known violation"
    } else if finding.is_undecided(plan.level) {
        "undecided violation"
    } else {
        "warning"
    }
}

/// What was seen in the case that is shown, and what was expected: each thing once, and in brief only by rules that are to blame.
/// A turn looks at many others.
pub(crate) fn refutation(finding: &Finding, in_full: bool) -> Refutation {
    let mut refutation = finding.shown().refutation.clone();
    let blamed = |rule: &&'static str| finding.diagnoses.iter().any(|one| one.rules.contains(rule));
    let mut told = Vec::new();
    refutation.expected.retain_mut(|one| {
        if !in_full {
            one.rules.retain(blamed);
        }
        let one = (one.message.clone(), one.rules.clone());
        let is_new = !told.contains(&one);
        told.push(one);
        is_new
    });
    refutation
}

/// What to do with the files that were written about it.
pub(crate) fn kept(subject: &Subject<'_>, finding: &Finding, paths: &[PathBuf]) -> Vec<String> {
    let (folder, server) = (folder(finding), quoted(subject.shown));
    let find = |name: &str| paths.iter().find(|path| path.ends_with(Path::new(&folder).join(name)));
    let command = |with: &str, path: &PathBuf, what: &str| {
        format!("`{with} {} {server}` {what}", quoted(&path.display().to_string()))
    };
    let replay = find(CASE).map(|path| command("confute replay", path, "does it again"));
    let script = find("reproduce.sh").map(|path| command("bash", path, "does it with curl alone"));
    replay.into_iter().chain(script).collect()
}

/// As a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-._~/:%+,=@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Shows it, in full or fit for 80 columns; and what can be done next, besides reading about the rule.
pub fn violation(
    subject: &Subject<'_>,
    finding: &Finding,
    plan: &Plan,
    in_full: bool,
    next: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = if finding.refutes(plan.level) { BAD } else { OPEN };
    let what = format!("{} {}", title(finding, plan), finding.number);
    let called = wrap(&name(finding), WIDTH - what.len() - 2).join("\n  ");
    writeln!(out, "{style}{what}{style:#}: {STRONG}{called}{STRONG:#}")?;
    let broken = finding.diagnoses.iter().flat_map(|one| &one.rules);
    let mut lines = Vec::new();
    for rule in broken.filter_map(|name| subject.rules.iter().find(|rule| rule.name == *name)) {
        lines.extend(wrap(rule.summary, WIDTH - 14));
        if let Some(clause) = (subject.clause)(rule.name) {
            lines.extend(wrap(&format!("({clause})"), WIDTH - 14));
        }
    }
    note(out, "asked", &lines)?;
    let trace = finding.shown().trace;
    let is_drawn = !in_full && ladder::drawn(trace).len() <= DRAWN;
    if is_drawn {
        ladder::draw(&trace.iter().map(in_words).collect::<Vec<_>>(), "nothing explains this", out)?;
    } else {
        let width = if in_full { usize::MAX } else { WIDTH - 14 };
        let from = trace.len().saturating_sub(LAST);
        let events: Vec<String> = trace[from..].iter().map(|event| clip(&told(event), width)).collect();
        note(out, if from > 0 { "at last" } else { "events" }, &events)?;
    }
    note::expected(&refutation(finding, in_full), in_full, out)?;
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
    if let Some(part) = &finding.excerpt {
        let enough = grouped(part.trace.len() as u64);
        small = format!("{small}; of its {} the {enough} that are shown are enough", count(events, "event"));
    }
    if finding.shrunk.is_some() {
        note(out, "shrunk", &wrap(&small, WIDTH - 14))?;
    }
    let rule = finding.diagnoses.iter().find_map(|one| one.rules.first());
    let explain = rule.map(|rule| format!("`confute explain {rule}` says what it asks"));
    note(out, "next", &explain.into_iter().chain(next.iter().cloned()).collect::<Vec<_>>())?;
    writeln!(out)
}

/// What came of shrinking.
fn how_small(shrunk: &Result<Box<Shrunk>, Unshrunk>) -> String {
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
