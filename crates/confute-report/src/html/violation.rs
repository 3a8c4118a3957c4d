//! One violation on the page.

use std::path::PathBuf;

use confute_record::{RunRecord, ShrunkRecord, Violation};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::bytes::{hex, text};
use super::diagram::{moment, svg};
use super::scene::{Kind, Row, Scene};
use super::{Most, clipped};
use crate::files::folder;
use crate::text::{count, grouped};
use crate::violation::refutation;

/// All about it.
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
            (expected(finding, most))
            (case(finding, files))
            h3 { "What happened" }
            (cuts(&scene))
            div.scroll tabindex="0" role="region" aria-label={ "Diagram of violation " (finding.number) } {
                (svg(&scene, &prefix))
            }
            p.legend {
                "A bar beside the server's line lasts from a request to its answer: the request was handled at some "
                "moment in between. Bars side by side overlap: either may have been handled first. Delays are "
                "drawn ever smaller the longer they are. "
                @if scene.rows.iter().any(|row| row.open.is_some()) {
                    "Open: how many alternatives the tester had yet to rule out after the event. "
                }
                span.scripted { "Choose a message to see its bytes." }
            }
            div.panel id={ (prefix) "-panel" } tabindex="-1" role="region" aria-label="Bytes of a message" hidden {}
            (listing(&scene))
            (pieces(finding, most))
            script type="application/json" id={ (prefix) "-data" } { (PreEscaped(embedded(&data(&scene)))) }
        }
    }
}

/// The explanation in sentences, where there is one.
fn because(finding: &Violation) -> Vec<String> {
    finding.proof.as_ref().map(|proof| proof.sentences.clone()).unwrap_or_default()
}

fn asked(run: &RunRecord, finding: &Violation) -> Markup {
    let broken = finding.diagnoses.iter().flat_map(|one| &one.rules);
    let rules = broken.filter_map(|name| run.rule(name));
    html! {
        dl.rules {
            @for rule in rules.take(20) {
                dt { code { (rule.name) } " " span.level { (rule.level.name()) } }
                dd {
                    (rule.summary)
                    @if let Some(clause) = &rule.clause { " " cite { (clause) } }
                }
            }
        }
    }
}

fn expected(finding: &Violation, most: &Most) -> Markup {
    const FEW: usize = 6;
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
                @if refutation.more || refutation.expected.len() > FEW { div { "and other things" } }
            }
        }
    }
}

/// What it was, and the files that were written about it: they are in folders beside the page.
fn case(finding: &Violation, files: &[PathBuf]) -> Markup {
    let folder = folder(finding);
    let files: Vec<&str> = files
        .iter()
        .filter(|path| path.parent().is_some_and(|parent| parent.ends_with(&folder)))
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    html! {
        p {
            "Met in " (count(finding.times, "case")) "; here " (clipped(&finding.found.name, 100)) " with "
            (count(finding.found.trace.len() as u64, "event")) ". "
            @match &finding.shrunk {
                None => {}
                Some(Ok(small)) => { (smaller(small)) "." }
                Some(Err(why)) => { "Not made smaller: " (clipped(why, 300)) "." }
            }
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
        "Made smaller from " (count(before as u64, "request")) " to " (grouped(now as u64))
        @if small.unfinished { ", with more time perhaps fewer" }
        @if runs > 0 { "; the smaller case showed it again in " strong { (shown) " of " (runs) " runs" } }
    }
}

/// What is not shown.
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

/// The same as the diagram, in words.
fn listing(scene: &Scene) -> Markup {
    html! {
        details {
            summary { "The same as a list" }
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

/// The latest bytes, as they were written and read.
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

/// What the script shows when a message is chosen.
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

/// JSON that ends no element and begins none, wherever it stands.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
