//! Counterexamples for people without Confute: scripts for curl and for Python, and a recording (HAR).

mod curl;
mod python;

use confute::trace::Event;
use confute_drive::{Export, Exports, Kept, guarded};
use confute_http1::har::{Chunk, Recording, har};

use crate::protocol::Rest;

/// Returns the files for a counterexample.
pub(crate) fn exports(rest: &Rest, kept: &Kept<'_, Rest>) -> Exports {
    let mut exports = Exports::default();
    let mut add = |name: &'static str, executable: bool, content: Result<String, String>| match content {
        Ok(content) => exports.files.push(Export { name, content, executable }),
        Err(why) => exports.remarks.push(format!("no {name}: {why}")),
    };
    // A panic in one of the exporters must not affect the other files.
    let defect = |why: String| format!("the exporter failed (a defect of Confute): {why}");
    add("requests.sh", true, guarded(|| curl::script(rest, kept)).map_err(defect));
    let python = guarded(|| python::script(rest, kept)).map_err(defect);
    add("reproduce.py", true, python.and_then(|script| script.map_err(ToOwned::to_owned)));
    add("traffic.har", false, recording(kept));
    if !rest.access.fields.is_empty() {
        let names: Vec<String> = rest.access.fields.iter().map(|(name, _)| python::variable(name)).collect();
        exports.remarks.push(format!(
            "requests.sh leaves out the fields of -H and --bearer-env: add them; reproduce.py takes them from {}",
            names.join(", ")
        ));
    }
    exports
}

/// Returns the bytes on the wire as a HAR file.
fn recording(kept: &Kept<'_, Rest>) -> Result<String, String> {
    if kept.raw.is_empty() {
        return Err("no bytes were recorded".to_owned());
    }
    let fatal = kept.trace.last().and_then(Event::conn).map(|conn| {
        let is_on = |event: &&Event<_>| matches!(event, Event::Received(on, _) if *on == conn);
        (conn.0, kept.trace.iter().filter(is_on).count())
    });
    let chunks = kept.raw.iter().map(|one| Chunk {
        conn: one.conn.0,
        sent: one.sent,
        micros: one.micros,
        bytes: &one.bytes,
    });
    let raw: Vec<Chunk<'_>> = chunks.collect();
    let recording = Recording { raw: &raw, fatal, url: kept.url, about: kept.about, now: kept.now };
    guarded(|| har(&recording))
}
