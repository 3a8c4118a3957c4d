//! One violation as terminal text: the rule, the messages, the expected alternatives, and advice.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use confute::trace::Event;
use confute_record::{
    MessageRecord, RefutationRecord, RuleRecord, RunRecord, ShrunkRecord, Standing, Violation, numbered,
};

use crate::experiment;
use crate::files::{CASE, folder};
use crate::ladder;
use crate::note::{self, note};
use crate::style::{BAD, OPEN, STRONG};
use crate::text::{WIDTH, clip, count, grouped, wrap};

/// Maximum number of events in a list, counted from the end of a case.
const LAST: usize = 8;
/// Maximum number of events in a ladder.
const DRAWN: usize = 24;

/// Returns the refutation of the displayed case without duplicate expectations. Unless `in_full`, only blamed
/// rules are kept, because a turn consults many others.
pub(crate) fn refutation(finding: &Violation, in_full: bool) -> RefutationRecord {
    let mut refutation = finding.shown().refutation.clone();
    let blamed = |rule: &String| finding.is_named_after(rule);
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

/// Returns advice on using the files about a violation. `confute replay` is included only if the binary has the model.
pub(crate) fn kept(run: &RunRecord, finding: &Violation, paths: &[PathBuf]) -> Vec<String> {
    let (folder, server) = (folder(finding), quoted(&run.server));
    let find = |name: &str| paths.iter().find(|path| path.ends_with(Path::new(&folder).join(name)));
    let command = |with: &str, path: &PathBuf, what: &str| {
        format!("`{with} {} {server}` {what}", quoted(&path.display().to_string()))
    };
    let replay = find(CASE).filter(|_| run.is_shipped());
    let replay = replay.map(|path| command("confute replay", path, "replays it"));
    let script = find("reproduce.sh").map(|path| command("bash", path, "reproduces it with curl"));
    replay.into_iter().chain(script).collect()
}

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-._~/:%+,=@".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// The extent of the text about a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// At most [`BRIEF`] lines: one violation of several.
    Brief,
    /// The whole proof, fitted to 80 columns.
    Normal,
    /// Also every message in full, and the rules that experiments set aside.
    Full,
}

/// Maximum number of lines about one violation of several.
pub const BRIEF: usize = 25;

/// Writes a violation. `next` is advice that follows the one on explaining the rule, or replaces it in a brief text.
pub fn violation(
    rules: &[RuleRecord],
    finding: &Violation,
    extent: Extent,
    next: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    if extent == Extent::Brief {
        return brief(rules, finding, next, out);
    }
    let in_full = extent == Extent::Full;
    title(finding, &wrap(&finding.name(), title_width(finding)), out)?;
    let names = if in_full { finding.blamed_rules() } else { finding.named_rules() };
    let mut lines = Vec::new();
    for rule in names.iter().filter_map(|name| rules.iter().find(|rule| rule.name == *name)) {
        lines.extend(wrap(&rule.summary, NOTE));
        if let Some(clause) = &rule.clause {
            lines.extend(wrap(&format!("({clause})"), NOTE));
        }
    }
    note(out, "required", &lines)?;
    let trace = finding.shown().trace;
    let is_drawn = numbered(trace).len() <= DRAWN;
    if is_drawn {
        ladder::draw(&texts(trace), UNEXPLAINED, out)?;
    }
    if !is_drawn || in_full {
        let width = if in_full { usize::MAX } else { NOTE };
        let from = if is_drawn { 0 } else { trace.len().saturating_sub(LAST) };
        let events: Vec<String> = trace[from..].iter().map(|event| clip(&told(event), width)).collect();
        note(out, if from > 0 { "at last" } else { "events" }, &events)?;
    }
    note::expected(&refutation(finding, in_full), in_full, out)?;
    if let Some(proof) = &finding.proof {
        let mut lines = Vec::new();
        if !is_drawn {
            // Without a ladder the event numbers are shown nowhere else.
            let one = |event: &usize| format!("({}) {}", number(trace, *event), told(&trace[*event]));
            lines.extend(proof.matter.iter().map(|event| clip(&one(event), NOTE)));
        }
        lines.extend(proof.sentences.iter().flat_map(|sentence| wrap(sentence, NOTE)));
        note(out, "because", &lines)?;
    }
    if let Some(experiment) = &finding.experiment {
        let sentences = experiment::sentences(experiment, true);
        note(out, "narrowed", &sentences.iter().flat_map(|one| wrap(one, NOTE)).collect::<Vec<_>>())?;
    }
    let (events, steps) = (finding.found.trace.len() as u64, finding.found.steps as u64);
    let seen = format!(
        "seen in {}; shown here: {} ({}, {})",
        count(finding.times, "case"),
        finding.found.name,
        count(events, "event"),
        count(steps, "step")
    );
    note(out, "case", &wrap(&seen, NOTE))?;
    if let Some(shrunk) = &finding.shrunk {
        let others = others(finding).map(|others| format!("; {others}")).unwrap_or_default();
        let part = excerpt(finding).map(|part| format!("; {part}")).unwrap_or_default();
        note(out, "shrunk", &wrap(&format!("{}{others}{part}", how_small(shrunk)), NOTE))?;
    }
    let one_line = finding.command.iter().map(|command| format!("`{command}` shows it"));
    let advice = explain(rules, finding).into_iter().chain(one_line).chain(next.iter().cloned());
    note(out, "next", &advice.collect::<Vec<_>>())?;
    writeln!(out)
}

/// Width of a line of a note.
const NOTE: usize = WIDTH - 14;
/// Remark at the event that no hypothesis explains.
const UNEXPLAINED: &str = "nothing explains this";

fn title_width(finding: &Violation) -> usize {
    WIDTH - finding.standing.title().len() - finding.number.to_string().len() - 3
}

fn title(finding: &Violation, name: &[String], out: &mut dyn Write) -> io::Result<()> {
    let style = if finding.standing == Standing::Refutes { BAD } else { OPEN };
    let what = format!("{} {}", finding.standing.title(), finding.number);
    writeln!(out, "{style}{what}{style:#}: {STRONG}{}{STRONG:#}", name.join("\n  "))
}

fn texts(trace: &[Event<MessageRecord>]) -> Vec<Event<String>> {
    trace.iter().map(|event| event.as_ref().map(|message| message.text.clone())).collect()
}

/// Returns advice on explaining the first rule that the violation is named after.
fn explain(rules: &[RuleRecord], finding: &Violation) -> Option<String> {
    let name = *finding.named_rules().first()?;
    let command = rules.iter().find(|rule| rule.name == name)?.more.as_ref()?;
    Some(format!("`{command}` explains the rule"))
}

/// Writes a violation in at most [`BRIEF`] lines: each note has a few, and the ladder has the rest.
fn brief(rules: &[RuleRecord], finding: &Violation, next: &[String], out: &mut dyn Write) -> io::Result<()> {
    let required =
        finding.named_rules().into_iter().filter_map(|name| rules.iter().find(|rule| rule.name == name));
    let required = required.flat_map(|rule| {
        let clause = rule.clause.as_ref().map(|clause| format!(" ({})", clause.replace(' ', "\u{a0}")));
        wrap(&format!("{}{}", rule.summary, clause.unwrap_or_default()), WIDTH - 2)
    });
    let required = few(required.collect(), 3, WIDTH - 2);
    let main = finding.proof.as_ref().and_then(|proof| proof.sentences.get(proof.main));
    let because = main.map(|sentence| wrap(sentence, NOTE)).unwrap_or_default();
    let sentences = finding.experiment.iter().flat_map(|experiment| experiment::sentences(experiment, false));
    let narrowed = sentences.flat_map(|one| wrap(&one, NOTE));
    // The table has the size of a case that was shrunk.
    let shrunk = finding.shrunk.as_ref().filter(|shrunk| shrunk.as_ref().is_ok_and(|small| small.unfinished));
    let shrunk = finding.shrunk.as_ref().filter(|shrunk| shrunk.is_err()).or(shrunk).map(|shrunk| {
        let part = excerpt(finding).map(|part| format!("; {part}")).unwrap_or_default();
        wrap(&format!("{}{part}", how_small(shrunk)), NOTE)
    });
    let next = next.first().cloned().or_else(|| explain(rules, finding));
    let (seen, expected) = note::in_brief(&refutation(finding, false));
    let width = title_width(finding);
    let name = few(wrap(&finding.name(), width), 2, width);
    let notes = [
        ("seen", seen),
        ("expected", expected),
        ("because", few(because, 3, NOTE)),
        ("narrowed", few(narrowed.collect(), 3, NOTE)),
        ("shrunk", few(shrunk.unwrap_or_default(), 2, NOTE)),
        ("next", next.into_iter().collect()),
    ];
    // An empty line follows.
    let used = 1 + name.len() + required.len() + notes.iter().map(|(_, lines)| lines.len()).sum::<usize>();
    title(finding, &name, out)?;
    required.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    let matter = finding.proof.as_ref().map(|proof| &proof.matter[..]).unwrap_or_default();
    let trace = texts(finding.shown().trace);
    ladder::draw_within(BRIEF.saturating_sub(used), &trace, matter, UNEXPLAINED, out)?;
    notes.iter().try_for_each(|(label, lines)| note(out, label, lines))?;
    writeln!(out)
}

/// Truncates to this many lines, which are at most `width` wide. An ellipsis says so.
pub(crate) fn few(mut lines: Vec<String>, most: usize, width: usize) -> Vec<String> {
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let short: String = last.chars().take(width - 2).collect();
            *last = format!("{} …", short.trim_end());
        }
    }
    lines
}

/// Returns a remark on rules that explain the smaller case, but not other cases of the violation.
fn others(finding: &Violation) -> Option<String> {
    let Some(Ok(shrunk)) = &finding.shrunk else { return None };
    let known = |rules: &Vec<String>| finding.diagnoses.iter().any(|one| one.rules == *rules);
    let others = shrunk.case.diagnoses.iter().filter(|one| !known(&one.rules));
    let others: Vec<String> = others.map(|one| one.rules.join(" and ")).collect();
    (!others.is_empty()).then(|| format!("on its own it could also be blamed on {}", others.join(", or ")))
}

/// Returns a remark on the part of the case that is shown.
fn excerpt(finding: &Violation) -> Option<String> {
    let part = finding.excerpt.as_ref()?;
    let (enough, all) = (grouped(part.trace.len() as u64), count(finding.found.trace.len() as u64, "event"));
    Some(format!("the {enough} shown, of {all}, contradict each other"))
}

/// Describes the result of shrinking.
fn how_small(shrunk: &Result<ShrunkRecord, String>) -> String {
    match shrunk {
        Ok(shrunk) => {
            let (before, now) = shrunk.requests;
            let more = if shrunk.unfinished { "; more time may shrink it further" } else { "" };
            let (shown, runs) = shrunk.again;
            let again =
                if runs == 0 { String::new() } else { format!("; reproduced in {shown} of {runs} runs") };
            format!("{} to {}{more}{again}", count(before as u64, "request"), grouped(now as u64))
        }
        Err(why) => format!("no: {why}"),
    }
}

/// Returns the number of an event in reports.
fn number<M>(trace: &[Event<M>], event: usize) -> usize {
    numbered(trace).iter().filter(|place| **place <= event).count()
}

/// Formats an event on one line, as `confute check` does.
fn told(event: &Event<MessageRecord>) -> String {
    event.as_ref().map(|message| &message.text).to_string()
}
