//! `report.html`: the run as one self-contained page. It needs no network and no build, supports light and
//! dark mode, and is readable without scripts, except for the bytes of a clicked message.
//!
//! All text from a server is treated as hostile. Text goes through maud, which escapes it; the script reads
//! JSON without a `<`; and the content security policy of the page runs only the script with an unpredictable
//! nonce. The page stays below [`LARGEST`] bytes regardless of the length of the run, and says what was omitted.

mod bytes;
mod coverage;
mod diagram;
mod scene;
mod table;
mod violation;

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;

use confute_record::{Conclusion, Exit, RunRecord};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::summary;
use crate::text::{count, elapsed, grouped};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Maximum size of the page, in bytes.
const LARGEST: usize = 5_000_000;
/// Maximum size of all violations on the page, in bytes.
const VIOLATIONS: usize = 4_000_000;
/// Maximum number of violations on the page; the others are in their files.
const SHOWN: usize = 40;

/// Limits on the details of one violation.
#[derive(Clone, Copy)]
struct Most {
    /// Maximum number of events.
    rows: usize,
    /// Maximum number of bytes of a message.
    bytes: usize,
    /// Maximum number of characters of a text.
    text: usize,
    /// Maximum number of chunks of raw bytes.
    pieces: usize,
}

impl Most {
    const FULL: Self = Self { rows: 200, bytes: 2048, text: 2000, pieces: 32 };

    /// Returns half of these limits, or `None` if they are at their minimum.
    fn half(self) -> Option<Self> {
        (self.rows > 8).then_some(Self {
            rows: (self.rows / 2).max(8),
            bytes: (self.bytes / 2).max(64),
            text: (self.text / 2).max(120),
            pieces: (self.pieces / 2).max(2),
        })
    }
}

/// Returns the whole page, with links to these files about the violations.
pub(crate) fn page(run: &RunRecord, files: &[PathBuf]) -> String {
    let nonce = format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'"
    );
    let word = Exit::from(&run.conclusion).name();
    let title = format!("Confute: {} {word}", clipped(&run.server, 80));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style nonce=(nonce) { (PreEscaped(STYLE)) }
            }
            body {
                header { (header(run)) }
                main {
                    (coverage::rules(run))
                    (facts(run))
                    (violations(run, files))
                    (troubles(run))
                    (coverage::branches(run))
                }
                script nonce=(nonce) { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let page = page.into_string();
    debug_assert!(page.len() < LARGEST, "{} bytes", page.len());
    page
}

/// Shows the verdict and the table of all violations.
fn header(run: &RunRecord) -> Markup {
    let word = Exit::from(&run.conclusion).name();
    html! {
        p.verdict.(word) { (word) }
        h1 { (clipped(&run.server, 300)) }
        @if let Conclusion::Inconclusive(why) = &run.conclusion { p { (clipped(why, 1000)) } }
        (table::table(run))
    }
}

/// Shows the parameters of the run and the basis of the verdict.
fn facts(run: &RunRecord) -> Markup {
    let (figures, tally, plan) = (&run.figures, &run.tally, &run.plan);
    let refusals = summary::refusals(figures);
    let load = figures.outstanding.quantiles();
    html! {
        section {
        h2 { "The run" }
        dl.facts {
            dt { "Model" } dd {
                (run.model) ", rules count from level " (plan.level.name()) " on"
                @if plan.by_experiment { ", proven or by experiment" }
            }
            dt { "Seed" } dd { code { (plan.seed) } }
            dt { "Traffic" }
            dd {
                (count(figures.requests, "request")) ", " (count(figures.answers, "response")) ", "
                (count(figures.opened, "connection")) " in " (elapsed(run.elapsed))
            }
            dt { "Cases" }
            dd {
                (grouped(tally.cases)) ": " (grouped(tally.unrefuted)) " unrefuted, " (grouped(tally.refuted)) " refuted"
                @for (number, what) in [
                    (tally.inconclusive, "not judged within the budget"),
                    (tally.empty, "without any response"),
                    (tally.early, "ended early"),
                    (tally.doubtful, "refuted online, but not when judged again offline"),
                ] {
                    @if number > 0 { ", " (grouped(number)) " " (what) }
                }
            }
            @if !refusals.is_empty() {
                dt { "Refusals" } dd { (refusals.join("; ")) }
            }
            @if let Some(broken) = summary::broken_off(figures) {
                dt { "Broken off" } dd { (clipped(&broken, 1000)) }
            }
            @if let Some(crowding) = figures.crowding.told() {
                dt { "Connections" } dd { (clipped(&crowding, 1000)) }
            }
            dt { "Load" }
            dd { "outstanding requests at each send: median " (grouped(load.median)) ", at most " (grouped(load.max)) }
            dt { "Premise" } dd { (run.premise) }
            @if !run.remarks.is_empty() {
                dt { "Server" }
                dd { @for remark in run.remarks.iter().take(20) { (clipped(remark, 300)) br; } }
            }
            @if !run.relaxed.is_empty() {
                dt { "Relaxed" } dd { "not required at the end (allowed, or violated before): " (run.relaxed.join(", ")) }
            }
            @for (label, lines) in summary::notes(run) {
                @if !lines.is_empty() {
                    dt { (label) }
                    dd { @for line in lines.iter().take(20) { (clipped(line, 300)) br; } }
                }
            }
            dt { "Files" }
            dd {
                a href="summary.json" { "summary.json" } ", " a href="events.jsonl" { "events.jsonl" } ", "
                a href="junit.xml" { "junit.xml" } ", " a href="record.json" { "record.json" }
            }
        }
        }
    }
}

/// Shows the violations, each limited to its share of the page.
fn violations(run: &RunRecord, files: &[PathBuf]) -> Markup {
    let findings = &run.violations;
    let share = VIOLATIONS / findings.len().clamp(1, SHOWN);
    html! {
        @for finding in findings.iter().take(SHOWN) {
            (fitting(share, |most| violation::section(run, finding, files, most)))
        }
        @if findings.len() > SHOWN {
            p.cut { "And " (findings.len() - SHOWN) " more: they are in summary.json and in their folders." }
        }
    }
}

/// Returns the largest version that fits into `share` bytes, or the smallest one.
fn fitting(share: usize, show: impl Fn(&Most) -> Markup) -> Markup {
    let mut most = Most::FULL;
    loop {
        let shown = show(&most);
        match most.half() {
            Some(less) if shown.0.len() > share => most = less,
            _ => return shown,
        }
    }
}

fn troubles(run: &RunRecord) -> Markup {
    html! {
        @if !run.troubles.is_empty() {
            section {
                h2 { "Trouble" }
                p { "Trouble is not a violation: these events ended a case, but prove nothing wrong." }
                ul {
                    @for trouble in &run.troubles {
                        li {
                            (clipped(&trouble.what, 1000))
                            @if trouble.times > 1 { " (" (grouped(trouble.times)) " times)" }
                            @if !trouble.next.is_empty() { br; span.next { "Next: " (trouble.next) } }
                        }
                    }
                }
            }
        }
    }
}

/// Truncates a text to `most` characters, and appends the number of the omitted ones.
fn clipped(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{start}… ({} more characters)", grouped((all - most) as u64))
}
