//! The table of all violations at the top of the page, linked to their sections.

use confute_record::{RunRecord, Standing};
use maud::{Markup, html};

use super::{SHOWN, clipped};
use crate::table::{Row, counts, legend, rows};

/// Maximum number of rows: with the violations that have no section, the table is not complete.
const MOST: usize = 200;

/// Returns the table, or a sentence if there is no violation.
pub(super) fn table(run: &RunRecord) -> Markup {
    let rows = rows(run);
    let has_command = rows.iter().any(|row| row.violation.command.is_some());
    html! {
        p { (counts(run)) @if rows.len() > 1 { ", the strongest level first" } }
        @if !rows.is_empty() {
            div.scroll.all tabindex="0" role="region" aria-label="All violations" {
                table.violations {
                    thead { tr { th { "No" } th { "Rule, and what it requires" } th { "Level" } th { "Requests" } th { "Reproduced" } } }
                    tbody { @for (place, row) in rows.iter().take(MOST).enumerate() { (line(row, place < SHOWN)) } }
                }
            }
            @if rows.len() > MOST { p.cut { "And " (rows.len() - MOST) " more: they are in summary.json." } }
            @for note in legend(&rows) { p.legend { (note) } }
            @if has_command { p.legend { "A command stands where a single request shows the violation." } }
        }
    }
}

/// Returns the sets of rules that a violation is named after.
fn rules(row: &Row<'_>) -> Markup {
    html! {
        @if row.violation.named().is_empty() { (row.rules) }
        @for (place, set) in row.violation.named().iter().take(20).enumerate() {
            @if place > 0 { ", or " }
            @for (place, rule) in set.rules.iter().enumerate() {
                @if place > 0 { " and " }
                code { (rule) }
            }
        }
    }
}

/// Returns a row, linked to the section of the violation if it has one.
fn line(row: &Row<'_>, has_section: bool) -> Markup {
    let number = row.violation.number;
    let refutes = row.violation.standing == Standing::Refutes;
    html! {
        tr.refutes[refutes] {
            td.number { @if has_section { a href={ "#v" (number) } { (number) } } @else { (number) } }
            td {
                @if let Some(standing) = row.standing() { span.badge { (standing) } " " }
                (rules(row))
                div.words { (clipped(&row.words, 300)) }
                @if let Some(command) = &row.violation.command { code.command { (clipped(command, 500)) } }
            }
            td.level { (row.level) }
            td.count { (row.requests) }
            td.count { (row.again) }
        }
    }
}
