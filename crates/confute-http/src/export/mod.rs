//! Exports of counterexamples for people without Confute: a script for Python, one for curl, and a recording (HAR).
//!
//! The scripts decide without a model whether a violation is reproduced, by a [`criterion`] that was found with the
//! model.

mod criterion;
mod curl;
#[cfg(test)]
mod engines;
mod head;
mod literal;
mod program;
mod python;

use confute::trace::{Event, WireConn};
use confute_drive::{Export, Exports, Kept, KeptCase, guarded};

use crate::protocol::Http;
use confute_http1::har::{Chunk, Recording, har};
use criterion::criterion;
use program::Program;

/// Default number of runs of a script for a violation that is not reproduced in every run.
const OFTEN: u32 = 100;
/// Maximum width of a comment line.
const WIDTH: usize = 76;

/// The beginning that both scripts share.
struct Top {
    /// Short name of the violation.
    what: String,
    /// Description of the violation, the observed and expected messages, and notes on the script.
    comment: Vec<String>,
    /// Value of `Host`, if it differs from the URL.
    host: Option<String>,
    /// Number of runs.
    runs: u32,
}

/// Returns the files for a counterexample against an origin server.
pub(crate) fn exports(http: &Http, kept: &Kept<'_, Http>) -> Exports {
    let mut exports = recorded(kept);
    // A panic in one of the exporters must not affect the other files.
    let program = match guarded(|| Program::new(http, kept)).unwrap_or_else(|why| Err(defect(&why))) {
        Ok(program) => program,
        Err(why) => {
            exports.remarks.push(format!("no scripts: {why}"));
            return exports;
        }
    };
    let criterion = guarded(|| criterion(kept, &program))
        .unwrap_or(Err("the search for a criterion failed (a defect of Confute)"));
    if let Err(why) = &criterion {
        let remark =
            "the script cannot decide whether the violation is reproduced, so a person must judge its output";
        exports.remarks.push(format!("{remark}: {why}"));
    }
    let top = top(http, kept, &program, &exports.remarks);
    let known = criterion.as_ref().map_err(|why| *why);
    exports.command = guarded(|| curl::command(http, kept, &program, known, &top)).ok().flatten();
    match guarded(|| python::script(http, kept, &program, known, &top)) {
        Ok(Some(content)) => exports.files.push(Export { name: "reproduce.py", content, executable: true }),
        Ok(None) => {
            exports.remarks.push("no reproduce.py: a request cannot be expressed as a template".to_owned());
        }
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
    format!("the exporter failed (a defect of Confute): {why}")
}

/// Returns the recording alone.
pub(crate) fn recorded<A, M>(kept: &KeptCase<'_, A, M>) -> Exports {
    if kept.raw.is_empty() {
        return Exports {
            remarks: vec!["no traffic.har: no bytes were recorded".to_owned()],
            ..Exports::default()
        };
    }
    let has_come = |conn| move |event: &&Event<_>| matches!(event, Event::Received(on, _) if *on == conn);
    let count = |conn: WireConn| (conn.0, kept.trace.iter().filter(has_come(conn)).count());
    let chunks = kept.raw.iter().map(|one| Chunk {
        conn: one.conn.0,
        sent: one.sent,
        micros: one.micros,
        bytes: &one.bytes,
    });
    let raw: Vec<Chunk<'_>> = chunks.collect();
    let recording = Recording {
        raw: &raw,
        fatal: kept.trace.last().and_then(Event::conn).map(count),
        url: kept.url,
        about: kept.about,
        now: kept.now,
    };
    match guarded(|| har(&recording)) {
        Ok(content) => {
            let file = Export { name: "traffic.har", content, executable: false };
            Exports { files: vec![file], ..Exports::default() }
        }
        Err(why) => {
            Exports { remarks: vec![format!("no traffic.har: {}", defect(&why))], ..Exports::default() }
        }
    }
}

/// Returns the files for a counterexample against a gateway: the recording, and the reason why there are no scripts.
/// The tester of a gateway is also its origin, which a short script cannot be.
pub(crate) fn of_gateway<A, M>(kept: &KeptCase<'_, A, M>) -> Exports {
    let mut exports = recorded(kept);
    let why = "no reproduce.sh, no reproduce.py: the tester also acted as the origin, which these scripts cannot do";
    exports.remarks.push(why.to_owned());
    exports
}

fn top(http: &Http, kept: &Kept<'_, Http>, program: &Program, remarks: &[String]) -> Top {
    let rules: Vec<String> = kept.diagnoses.iter().map(|one| one.rules.join(" and ")).collect();
    let what =
        if rules.is_empty() { "a violation that no rule explains".to_owned() } else { rules.join(", or ") };
    // Dates are in seconds, and a second may begin in the middle of a run; and a race depends on the timing, which
    // differs between the driver and a script.
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
        Some((shown, of)) if of > 0 => {
            format!(" It was reproduced in {shown} of {of} runs when it was found.")
        }
        _ => String::new(),
    };
    comment.extend(wrapped(&format!(
        "This script tries to reproduce the violation.{again} Exit code: 1 if it is reproduced, 0 if not, 3 if \
         undecided. The compared properties were determined with the model: only responses that a correct server \
         cannot send count as a violation, and responses that differ from those may still be wrong for another reason."
    )));
    comment.extend(remarks.iter().flat_map(|remark| wrapped(remark)));
    let in_url = kept.url.split("://").nth(1).and_then(|rest| rest.split('/').next());
    let host = (in_url != Some(&*http.target.host)).then(|| http.target.host.clone());
    Top { what, comment, host, runs }
}

/// Wraps text for a comment. Control characters become spaces, because a line end would end the comment.
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
