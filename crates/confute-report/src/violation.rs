//! One violation, for people: the rule, the messages, what was expected, and what to do next.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use confute::trace::Event;
use confute_record::{
    MessageRecord, RefutationRecord, RuleRecord, RunRecord, ShrunkRecord, Standing, Violation, numbered,
};

use crate::files::{CASE, folder};
use crate::ladder;
use crate::note::{self, note};
use crate::style::{BAD, OPEN, STRONG};
use crate::text::{WIDTH, clip, count, grouped, wrap};

/// How many of the last events of a case are shown.
const LAST: usize = 8;
/// Up to so many are drawn.
const DRAWN: usize = 24;

/// What was seen in the case that is shown, and what was expected: each thing once, and in brief only by rules that are to blame.
/// A turn looks at many others.
pub(crate) fn refutation(finding: &Violation, in_full: bool) -> RefutationRecord {
    let mut refutation = finding.shown().refutation.clone();
    let blamed = |rule: &String| finding.is_blamed_on(rule);
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

/// What to do with the files that were written about it. The binary replays cases whose model it has.
pub(crate) fn kept(run: &RunRecord, finding: &Violation, paths: &[PathBuf]) -> Vec<String> {
    let (folder, server) = (folder(finding), quoted(&run.server));
    let find = |name: &str| paths.iter().find(|path| path.ends_with(Path::new(&folder).join(name)));
    let command = |with: &str, path: &PathBuf, what: &str| {
        format!("`{with} {} {server}` {what}", quoted(&path.display().to_string()))
    };
    let replay = find(CASE).filter(|_| run.is_shipped());
    let replay = replay.map(|path| command("confute replay", path, "does it again"));
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
    rules: &[RuleRecord],
    finding: &Violation,
    in_full: bool,
    next: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = if finding.standing == Standing::Refutes { BAD } else { OPEN };
    let what = format!("{} {}", finding.standing.title(), finding.number);
    let called = wrap(&finding.name(), WIDTH - what.len() - 2).join("\n  ");
    writeln!(out, "{style}{what}{style:#}: {STRONG}{called}{STRONG:#}")?;
    let broken = finding.diagnoses.iter().flat_map(|one| &one.rules);
    let mut lines = Vec::new();
    for rule in broken.filter_map(|name| rules.iter().find(|rule| rule.name == *name)) {
        lines.extend(wrap(&rule.summary, WIDTH - 14));
        if let Some(clause) = &rule.clause {
            lines.extend(wrap(&format!("({clause})"), WIDTH - 14));
        }
    }
    note(out, "asked", &lines)?;
    let trace = finding.shown().trace;
    let is_drawn = !in_full && numbered(trace).len() <= DRAWN;
    if is_drawn {
        let events: Vec<_> =
            trace.iter().map(|event| event.as_ref().map(|message| message.text.clone())).collect();
        ladder::draw(&events, "nothing explains this", out)?;
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
    let (events, steps) = (finding.found.trace.len() as u64, finding.found.steps as u64);
    let met = format!(
        "met in {}; here {} of {}",
        count(finding.times, "case"),
        count(events, "event"),
        finding.found.name
    );
    note(out, "case", &wrap(&format!("{met}, {}", count(steps, "step")), WIDTH - 14))?;
    let mut small = finding.shrunk.as_ref().map(how_small).unwrap_or_default();
    if let Some(Ok(shrunk)) = &finding.shrunk {
        let known = |rules: &Vec<String>| finding.diagnoses.iter().any(|one| one.rules == *rules);
        let others: Vec<String> = shrunk
            .case
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
    let more = rule.and_then(|name| rules.iter().find(|rule| rule.name == *name)?.more.as_ref());
    let explain = more.map(|command| format!("`{command}` says what it asks"));
    note(out, "next", &explain.into_iter().chain(next.iter().cloned()).collect::<Vec<_>>())?;
    writeln!(out)
}

/// What came of shrinking.
fn how_small(shrunk: &Result<ShrunkRecord, String>) -> String {
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

/// The number that reports give an event.
fn number<M>(trace: &[Event<M>], event: usize) -> usize {
    numbered(trace).iter().filter(|place| **place <= event).count()
}

/// An event in a line, as in the files that `confute check` shows.
fn told(event: &Event<MessageRecord>) -> String {
    event.as_ref().map(|message| &message.text).to_string()
}
