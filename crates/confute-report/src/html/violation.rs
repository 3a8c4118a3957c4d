//! The section of one violation on the page.

use std::path::PathBuf;

use confute_record::{RunRecord, SetAsideRecord, ShrunkRecord, Violation};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::bytes::{hex, text};
use super::diagram::{moment, svg};
use super::scene::{Kind, Row, Scene};
use super::{Most, clipped};
use crate::experiment::sentences;
use crate::files::folder;
use crate::text::{count, grouped};
use crate::violation::refutation;

/// Maximum number of expected messages, and of experiments.
const FEW: usize = 6;

/// Returns the section of a violation.
pub(super) fn section(run: &RunRecord, finding: &Violation, files: &[PathBuf], most: &Most) -> Markup {
    let prefix = format!("v{}", finding.number);
    let scene = Scene::new(finding, most);
    let because = because(finding);
    html! {
        section.violation id=(prefix) {
            h2 { (finding.standing.title()) " " (finding.number) ": " (finding.name()) }
            (asked(run, finding))
            @if !because.is_empty() {
                h3 { "Why nothing explains it" }
                @for sentence in &because { p { (clipped(sentence, most.text)) } }
            }
            @if let Some(experiment) = &finding.experiment {
                h3 { "Experiments" }
                p.legend { "Evidence beside the proof: further runs of nearby cases on the same server." }
                @for sentence in sentences(experiment, true).iter().take(FEW) { p { (clipped(sentence, most.text)) } }
                @for one in experiment.set_aside.iter().take(FEW) { (run_of(one, most)) }
            }
            (expected(finding, most))
            (case(finding, files))
            h3 { "What happened" }
            (cuts(&scene))
            div.scroll tabindex="0" role="region" aria-label={ "Diagram of violation " (finding.number) } {
                (svg(&scene, &prefix))
            }
            p.legend {
                "A bar beside the server's line spans the time from a request to its response: the request was handled at some "
                "moment in between. If two bars overlap, either request may have been handled first. Long delays are "
                "compressed. "
                @if scene.rows.iter().any(|row| row.open.is_some()) {
                    "Open: number of alternatives that the tester had not ruled out after the event. "
                }
                span.scripted { "Select a message to see its bytes." }
            }
            div.panel id={ (prefix) "-panel" } tabindex="-1" role="region" aria-label="Bytes of a message" hidden {}
            (listing(&scene))
            (pieces(finding, most))
            script type="application/json" id={ (prefix) "-data" } { (PreEscaped(embedded(&data(&scene)))) }
        }
    }
}

/// Returns the proof in sentences, if there is one.
fn because(finding: &Violation) -> Vec<String> {
    finding.proof.as_ref().map(|proof| proof.sentences.clone()).unwrap_or_default()
}

fn asked(run: &RunRecord, finding: &Violation) -> Markup {
    let rules = finding.blamed_rules().into_iter().filter_map(|name| run.rule(name));
    html! {
        dl.rules {
            @for rule in rules.take(20) {
                dt {
                    code { (rule.name) } " " span.level {
                        (rule.level.name())
                        @if !finding.is_named_after(&rule.name) { ", set aside" }
                    }
                }
                dd {
                    (rule.summary)
                    @if let Some(clause) = &rule.clause { " " cite { (clause) } }
                }
            }
        }
    }
}

/// Shows the last run of an experiment.
fn run_of(one: &SetAsideRecord, most: &Most) -> Markup {
    let from = one.trace.len().saturating_sub(most.rows);
    html! {
        details {
            summary { "The last run that sets " (one.rules.join(" and ")) " aside" }
            @if from > 0 { p.cut { (count(from as u64, "earlier event")) " left out." } }
            pre {
                @for event in &one.trace[from..] {
                    @let line = event.as_ref().map(|message| &message.text).to_string();
                    (clipped(&line, most.text)) "\n"
                }
            }
        }
    }
}

fn expected(finding: &Violation, most: &Most) -> Markup {
    let refutation = refutation(finding, false);
    html! {
        dl.compare {
            dt { "Seen" }
            dd.seen { code { @if refutation.seen.is_empty() { "nothing" } @else { (clipped(&refutation.seen, most.text)) } } }
            dt { "Expected" }
            dd {
                @for one in refutation.expected.iter().take(FEW) {
                    div {
                        code { @if let Some(message) = &one.message { (clipped(message, most.text)) } @else { "nothing" } }
                        @if !one.rules.is_empty() { " " small { "by " (one.rules.join(", ")) } }
                    }
                }
                @if refutation.more || refutation.expected.len() > FEW { div { "and others" } }
            }
        }
    }
}

/// Describes the case, with links to its files, which are in folders beside the page.
fn case(finding: &Violation, files: &[PathBuf]) -> Markup {
    let folder = folder(finding);
    let files: Vec<&str> = files
        .iter()
        .filter(|path| path.parent().is_some_and(|parent| parent.ends_with(&folder)))
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    html! {
        p {
            "Seen in " (count(finding.times, "case")) "; shown here: "(clipped(&finding.found.name, 100)) " with "
            (count(finding.found.trace.len() as u64, "event")) ". "
            @match &finding.shrunk {
                None => {}
                Some(Ok(small)) => { (smaller(small)) "." }
                Some(Err(why)) => { "Not shrunk: " (clipped(why, 300)) "." }
            }
            @if let Some(command) = &finding.command { " One request shows it: " code { (clipped(command, 500)) } "." }
            @for (place, name) in files.iter().enumerate() {
                @if place == 0 { " Files: " } @else { ", " }
                a href={ (folder) "/" (name) } { (name) }
            }
        }
    }
}

fn smaller(small: &ShrunkRecord) -> Markup {
    let ((before, now), (shown, runs)) = (small.requests, small.again);
    html! {
        "Shrunk from " (count(before as u64, "request")) " to " (grouped(now as u64))
        @if small.unfinished { "; more time may shrink it further" }
        @if runs > 0 { "; the shrunk case reproduced it in " strong { (shown) " of " (runs) " runs" } }
    }
}

/// Describes the omitted events.
fn cuts(scene: &Scene) -> Markup {
    html! {
        @if scene.before + scene.after > 0 {
            p.cut {
                "Only a part is shown: " (count(scene.rows.len() as u64, "event")) " around the one that nothing explains; "
                (grouped(scene.before as u64)) " before and " (grouped(scene.after as u64)) " after are left out."
            }
        }
    }
}

fn way(row: &Row) -> &'static str {
    match row.kind {
        Kind::Sent => "sent",
        Kind::Received => "received",
        Kind::Other => "",
    }
}

/// Lists the events of the diagram in a table.
fn listing(scene: &Scene) -> Markup {
    html! {
        details {
            summary { "Events as a list" }
            div.scroll tabindex="0" role="region" aria-label="Events as a list" {
                table {
                    thead { tr { th { "No" } th { "Time" } th { "On" } th { "What" } th { "Message" } } }
                    tbody {
                        @for row in &scene.rows {
                            tr.fatal[row.fatal] {
                                td { (row.number) }
                                td.time { @if let Some(micros) = row.micros { (moment(micros)) } }
                                td { (row.lane()) }
                                td { (way(row)) }
                                td { code { (clipped(&row.text, 300)) } @if row.fatal { " " strong { "nothing explains this" } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Shows the last bytes on the wire, by read or write.
fn pieces(finding: &Violation, most: &Most) -> Markup {
    let raw = finding.shown().raw;
    let skipped = raw.len().saturating_sub(most.pieces);
    html! {
        @if !raw.is_empty() {
            details {
                summary { "The latest bytes on the wire" }
                @if skipped > 0 { p.cut { (count(skipped as u64, "earlier piece")) " left out." } }
                @for piece in &raw[skipped..] {
                    @let shown = &piece.bytes[..piece.bytes.len().min(most.bytes)];
                    p.piece {
                        "c" (piece.conn.0) @if piece.sent { " written" } @else { " read" } " at " (moment(piece.micros))
                        ", " (count(piece.bytes.len() as u64, "byte"))
                        @if shown.len() < piece.bytes.len() { " (the first " (grouped(shown.len() as u64)) " shown)" }
                    }
                    pre { (text(shown)) }
                }
            }
        }
    }
}

/// Returns the data that the script shows for a selected message.
fn data(scene: &Scene) -> Value {
    let rows = scene.rows.iter().filter(|row| row.kind != Kind::Other);
    let rows = rows.map(|row| {
        json!({
            "number": row.number,
            "lane": row.lane(),
            "way": way(row),
            "time": row.micros.map(moment),
            "text": row.text,
            "json": row.json,
            "hex": row.bytes.as_ref().map(|bytes| hex(&bytes.shown)),
            "whole": row.bytes.as_ref().map(|bytes| bytes.whole),
            "shared": row.bytes.as_ref().is_some_and(|bytes| bytes.shared),
        })
    });
    rows.collect()
}

/// Serializes JSON without characters that could begin or end an HTML element.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
