//! Counterexamples for people without Confute: a script for Python, one for curl, and a recording (HAR).
//!
//! The scripts decide, though they have no model: what they compare was found out with the model ([`criterion`]).

mod criterion;
mod curl;
#[cfg(test)]
mod engines;
mod har;
mod head;
mod literal;
mod program;
mod python;

use confute::trace::Event;
use confute_drive::{Export, Exports, Kept, KeptCase, guarded};

use crate::protocol::Http;
use criterion::criterion;
use har::{Recording, har};
use program::Program;

/// How often a script tries what does not show each time.
const OFTEN: u32 = 100;
/// How wide a comment may be.
const WIDTH: usize = 76;

/// What both scripts begin with.
struct Top {
    /// The violation, in short.
    what: String,
    /// The violation, what was seen and expected, and what to know about the script.
    comment: Vec<String>,
    /// What Host says, if not what the URL does.
    host: Option<String>,
    /// How often to try.
    runs: u32,
}

/// The files for a counterexample against an origin server.
pub(crate) fn exports(http: &Http, kept: &Kept<'_, Http>) -> Exports {
    let mut exports = recorded(kept);
    // A defect in one of the writers costs its file only.
    let program = match guarded(|| Program::new(http, kept)).unwrap_or_else(|why| Err(defect(&why))) {
        Ok(program) => program,
        Err(why) => {
            exports.remarks.push(format!("no scripts: {why}"));
            return exports;
        }
    };
    let criterion =
        guarded(|| criterion(kept, &program)).unwrap_or(Err("there is a defect in what finds out how"));
    if let Err(why) = &criterion {
        exports.remarks.push(format!("the script cannot decide, and leaves that to whoever reads it: {why}"));
    }
    let top = top(http, kept, &program, &exports.remarks);
    let known = criterion.as_ref().map_err(|why| *why);
    match guarded(|| python::script(http, kept, &program, known, &top)) {
        Ok(Some(content)) => exports.files.push(Export { name: "reproduce.py", content, executable: true }),
        Ok(None) => exports.remarks.push("no reproduce.py: a request cannot be written down".to_owned()),
        Err(why) => exports.remarks.push(format!("no reproduce.py: {}", defect(&why))),
    }
    match guarded(|| curl::script(http, kept, &program, known, &top)) {
        Ok(Ok(content)) => exports.files.push(Export { name: "reproduce.sh", content, executable: true }),
        Ok(Err(why)) => exports.remarks.push(format!("no reproduce.sh: {why}")),
        Err(why) => exports.remarks.push(format!("no reproduce.sh: {}", defect(&why))),
    }
    exports
}

fn defect(why: &str) -> String {
    format!("a defect of its writer: {why}")
}

/// The recording alone. Whoever tests a gateway is its origin too, and no short script is that.
pub(crate) fn recorded<A, M>(kept: &KeptCase<'_, A, M>) -> Exports {
    if kept.raw.is_empty() {
        return Exports { files: Vec::new(), remarks: vec!["no traffic.har: no bytes were kept".to_owned()] };
    }
    let has_come = |conn| move |event: &&Event<_>| matches!(event, Event::Received(on, _) if *on == conn);
    let count = |conn| (conn, kept.trace.iter().filter(has_come(conn)).count());
    let recording = Recording {
        raw: kept.raw,
        fatal: kept.trace.last().and_then(Event::conn).map(count),
        url: kept.url,
        about: kept.about,
        now: kept.now,
    };
    match guarded(|| har(&recording)) {
        Ok(content) => {
            let file = Export { name: "traffic.har", content, executable: false };
            Exports { files: vec![file], remarks: Vec::new() }
        }
        Err(why) => Exports { files: Vec::new(), remarks: vec![format!("no traffic.har: {}", defect(&why))] },
    }
}

/// The same, with the reason why there is nothing else.
pub(crate) fn of_gateway<A, M>(kept: &KeptCase<'_, A, M>) -> Exports {
    let mut exports = recorded(kept);
    let why =
        "no reproduce.sh, no reproduce.py: the tester was also the origin, which these scripts cannot be";
    exports.remarks.push(why.to_owned());
    exports
}

fn top(http: &Http, kept: &Kept<'_, Http>, program: &Program, remarks: &[String]) -> Top {
    let rules: Vec<String> = kept.diagnoses.iter().map(|one| one.rules.join(" and ")).collect();
    let what = if rules.is_empty() { "a case that no rule explains".to_owned() } else { rules.join(", or ") };
    // Dates come in seconds, and one may begin in the middle of a run; and another tester has another pace.
    let is_delicate = program.has_dates() || program.is_concurrent();
    let runs = match kept.again {
        Some((shown, runs)) if shown == runs && runs > 0 && !is_delicate => 1,
        _ => OFTEN,
    };
    let mut comment: Vec<String> = kept.about.iter().flat_map(|line| wrapped(line)).collect();
    comment.push(String::new());
    comment.extend(wrapped(&format!("seen:     {}", kept.refutation.seen)));
    for one in kept.refutation.expected.iter().take(6) {
        let message = one.message.as_deref().unwrap_or("nothing");
        comment.extend(wrapped(&format!("expected: {message}")));
    }
    comment.push(String::new());
    let again = match kept.again {
        Some((shown, of)) if of > 0 => format!(" It showed in {shown} of {of} runs when it was found."),
        _ => String::new(),
    };
    comment.extend(wrapped(&format!(
        "This does again what refuted the server.{again} Exit code: 1 if the server still does it, 0 if not, 3 if that \
         cannot be told. What is compared was found out with the model: only answers that cannot be right are called a fault, \
         and answers that differ from those may be wrong for another reason."
    )));
    comment.extend(remarks.iter().flat_map(|remark| wrapped(remark)));
    let in_url = kept.url.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let host = (in_url != Some(&*http.target.host)).then(|| http.target.host.clone());
    Top { what, comment, host, runs }
}

/// Words in lines. Nothing in a comment may end it.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.replace(char::is_control, " ").split(' ') {
        let width = |line: &String| line.chars().count();
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if width(line) + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}
