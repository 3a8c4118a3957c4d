//! `report.html`: a run as one page that needs nothing else. No network, no build; light and dark; readable without scripts,
//! but for the bytes of a message that is clicked.
//!
//! Whatever a server sent is hostile. All text goes through maud, which escapes it; what the script reads is JSON without a
//! `<`; and the page's own policy runs no script but the one that carries a name nobody could foresee. The page stays
//! below [`LARGEST`] bytes, however long the run: what is left out is said.

mod bytes;
mod coverage;
mod diagram;
mod scene;
mod violation;

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;

use confute_record::{Conclusion, Exit, RunRecord, Standing};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::summary;
use crate::text::{count, elapsed, grouped};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// How many bytes the page may have.
const LARGEST: usize = 5_000_000;
/// How many of them are for the violations.
const VIOLATIONS: usize = 4_000_000;
/// How many violations are shown; of more there are files.
const SHOWN: usize = 40;

/// How much of a violation is shown.
#[derive(Clone, Copy)]
struct Most {
    /// Events.
    rows: usize,
    /// Bytes of a message.
    bytes: usize,
    /// Characters of a text.
    text: usize,
    /// Pieces of raw bytes.
    pieces: usize,
}

impl Most {
    const FULL: Self = Self { rows: 200, bytes: 2048, text: 2000, pieces: 32 };

    /// Half of it, down to what is needed to say anything at all; `None` there.
    fn half(self) -> Option<Self> {
        (self.rows > 8).then_some(Self {
            rows: (self.rows / 2).max(8),
            bytes: (self.bytes / 2).max(64),
            text: (self.text / 2).max(120),
            pieces: (self.pieces / 2).max(2),
        })
    }
}

/// The whole page. It leads to these files of the violations.
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
                    (violations(run, files))
                    (troubles(run))
                    (coverage::rules(run))
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

fn header(run: &RunRecord) -> Markup {
    let (figures, tally, plan) = (&run.figures, &run.tally, &run.plan);
    let word = Exit::from(&run.conclusion).name();
    let number = |standing: Standing| run.standing(standing).count();
    let (refuting, known) = (number(Standing::Refutes), number(Standing::Known));
    let (undecided, others) = (number(Standing::Undecided), number(Standing::Warning));
    let refusals = summary::refusals(figures);
    let load = figures.outstanding.quantiles();
    html! {
        p.verdict.(word) { (word) }
        h1 { (clipped(&run.server, 300)) }
        @if let Conclusion::Inconclusive(why) = &run.conclusion { p { (clipped(why, 1000)) } }
        dl.facts {
            dt { "Found" }
            dd {
                (count(refuting as u64, "violation"))
                @if known > 0 { ", " (count(known as u64, "known violation")) }
                @if undecided > 0 { ", " (count(undecided as u64, "undecided violation")) }
                @if others > 0 { ", " (count(others as u64, "warning")) }
            }
            dt { "Model" } dd { (run.model) ", rules count from level " (plan.level.name()) " on" }
            dt { "Seed" } dd { code { (plan.seed) } }
            dt { "Traffic" }
            dd {
                (count(figures.requests, "request")) ", " (count(figures.answers, "answer")) ", "
                (count(figures.opened, "connection")) " in " (elapsed(run.elapsed))
            }
            dt { "Cases" }
            dd {
                (grouped(tally.cases)) ": " (grouped(tally.unrefuted)) " unrefuted, " (grouped(tally.refuted)) " refuted"
                @for (number, what) in [
                    (tally.inconclusive, "not judged within the budget"),
                    (tally.empty, "without any answer"),
                    (tally.early, "ended early"),
                    (tally.doubtful, "refuted at first, but not when judged again"),
                ] {
                    @if number > 0 { ", " (grouped(number)) " " (what) }
                }
            }
            @if !refusals.is_empty() {
                dt { "Refusals" } dd { (refusals.join("; ")) }
            }
            dt { "Load" }
            dd { "outstanding requests at each send: median " (grouped(load.median)) ", at most " (grouped(load.max)) }
            dt { "Premise" } dd { (run.premise) }
            @if !run.remarks.is_empty() {
                dt { "Server" }
                dd { @for remark in run.remarks.iter().take(20) { (clipped(remark, 300)) br; } }
            }
            @if !run.relaxed.is_empty() {
                dt { "Relaxed" } dd { "no longer asked for at the end: " (run.relaxed.join(", ")) }
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

/// Each as large as its share of the page allows.
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

/// The most that fits.
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
                p { "Trouble is no violation: it says what happened, not that it was wrong." }
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

/// At most so many characters; says how many are missing.
fn clipped(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let start: String = text.chars().take(most).collect();
    format!("{start}… ({} more characters)", grouped((all - most) as u64))
}
