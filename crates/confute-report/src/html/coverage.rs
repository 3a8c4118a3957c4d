//! Coverage of the run: tested and untested rules and goals. The verdict does not cover the untested ones.

use maud::{Markup, html};

use confute_record::{RuleRecord, RunRecord};

use crate::standing::{self, RuleStanding};
use crate::text::{count, grouped};

/// Maximum number of coverage goals in the list.
const BRANCHES: usize = 2_000;

/// A document and its sections, or a group of rules that no standard states: each with its rules.
struct Chapter<'a> {
    title: String,
    sections: Vec<Section<'a>>,
}

/// The rules of a section, or of a group without sections.
struct Section<'a> {
    number: Option<&'a str>,
    rules: Vec<(&'a RuleRecord, RuleStanding)>,
}

/// Returns the rules by document and section: documents in order, then the groups as in the model.
fn chapters(run: &RunRecord) -> Vec<Chapter<'_>> {
    let mut chapters: Vec<Chapter<'_>> = Vec::new();
    for (rule, standing) in standing::all(run) {
        let (title, number) = rule.place();
        let at = chapters.iter().position(|chapter| chapter.title == title).unwrap_or_else(|| {
            chapters.push(Chapter { title, sections: Vec::new() });
            chapters.len() - 1
        });
        let sections = &mut chapters[at].sections;
        match sections.iter_mut().find(|section| section.number == number) {
            Some(section) => section.rules.push((rule, standing)),
            None => sections.push(Section { number, rules: vec![(rule, standing)] }),
        }
    }
    for chapter in &mut chapters {
        chapter.sections.sort_by_key(|section| section.number.map(parts));
    }
    chapters.sort_by_key(|chapter| {
        let is_standard = chapter.sections.iter().any(|section| section.number.is_some());
        (!is_standard, is_standard.then(|| chapter.title.clone()))
    });
    chapters
}

/// Returns the numbers of a section, so that 9.2 comes before 13.1.
fn parts(section: &str) -> Vec<u64> {
    section.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect()
}

/// Shows all rules with their results, as a tree: document, section, rule.
pub(super) fn rules(run: &RunRecord) -> Markup {
    let chapters = chapters(run);
    html! {
        section {
            h2 { "Rules" }
            p { (tally(&run.rules.iter().map(|rule| standing::one(&rule.name, run)).collect::<Vec<_>>())) }
            p.legend {
                "Respected: tested without a violation. Never tested: the verdict makes no claim about it. Sections with a "
                "violation are open."
            }
            div.tree { @for chapter in &chapters { (of_chapter(chapter)) } }
        }
    }
}

fn of_chapter(chapter: &Chapter<'_>) -> Markup {
    let all: Vec<RuleStanding> = chapter
        .sections
        .iter()
        .flat_map(|section| &section.rules)
        .map(|(_, standing)| standing.clone())
        .collect();
    html! {
        details open[all.iter().any(is_bad)] {
            summary { strong { (chapter.title) } " " (marks(&all)) }
            @for section in &chapter.sections {
                @match section.number {
                    None => (list(&section.rules)),
                    Some(number) => {
                        @let standings: Vec<RuleStanding> =
                            section.rules.iter().map(|(_, standing)| standing.clone()).collect();
                        details open[standings.iter().any(is_bad)] {
                            summary { (number) " " (marks(&standings)) }
                            (list(&section.rules))
                        }
                    }
                }
            }
        }
    }
}

/// Lists rules with their results, and links to their violations.
fn list(rules: &[(&RuleRecord, RuleStanding)]) -> Markup {
    html! {
        ul {
            @for (rule, standing) in rules {
                li {
                    span.(class(standing)) { (mark(standing)) " " (standing.word()) }
                    @for finding in standing.findings().iter().take(8) { " " a href={ "#v" (finding) } { (finding) } }
                    " " code { (rule.name) } " " span.level { (rule.level.name()) }
                    div.words { (rule.summary) @if let Some(clause) = &rule.clause { " " cite { (clause) } } }
                }
            }
        }
    }
}

/// Counts the results: `3 violated, 12 respected, 1 never tested`.
fn tally(standings: &[RuleStanding]) -> String {
    let all = counted(standings).into_iter().map(|(standing, number)| standing.of(number));
    let rules = count(standings.len() as u64, "rule");
    format!("{rules}: {}.", all.collect::<Vec<_>>().join(", "))
}

/// Shows the number of each result in a coloured form.
fn marks(standings: &[RuleStanding]) -> Markup {
    html! {
        span.marks {
            @for (standing, number) in counted(standings) {
                span.(class(standing)) { (mark(standing)) " " (standing.of(number)) }
            }
        }
    }
}

/// Returns each result that occurs, the worst first, with its number.
fn counted(standings: &[RuleStanding]) -> Vec<(&RuleStanding, usize)> {
    let mut counted: Vec<(&RuleStanding, usize)> = Vec::new();
    for standing in standings {
        match counted.iter_mut().find(|(other, _)| rank(other) == rank(standing)) {
            Some((_, number)) => *number += 1,
            None => counted.push((standing, 1)),
        }
    }
    counted.sort_by_key(|(standing, _)| rank(standing));
    counted
}

/// Returns the place of a result in lists: the worst comes first.
fn rank(standing: &RuleStanding) -> u8 {
    match standing {
        RuleStanding::Violated(_) => 0,
        RuleStanding::Suspected(_) => 1,
        RuleStanding::Known(_) => 2,
        RuleStanding::Warned(_) => 3,
        RuleStanding::Respected => 4,
        RuleStanding::SetAside(_) => 5,
        RuleStanding::Allowed => 6,
        RuleStanding::Never => 7,
    }
}

fn is_bad(standing: &RuleStanding) -> bool {
    matches!(
        standing,
        RuleStanding::Violated(_)
            | RuleStanding::Suspected(_)
            | RuleStanding::Known(_)
            | RuleStanding::Warned(_)
    )
}

fn class(standing: &RuleStanding) -> &'static str {
    match standing {
        RuleStanding::Violated(_) | RuleStanding::Suspected(_) => "refuted",
        RuleStanding::Known(_) | RuleStanding::Warned(_) => "inconclusive",
        RuleStanding::Respected => "unrefuted",
        RuleStanding::SetAside(_) | RuleStanding::Never | RuleStanding::Allowed => "untested",
    }
}

fn mark(standing: &RuleStanding) -> &'static str {
    match class(standing) {
        "refuted" => "✗",
        "inconclusive" => "!",
        "unrefuted" => "✓",
        _ => "–",
    }
}

/// Lists the coverage goals, the rarest first.
pub(super) fn branches(run: &RunRecord) -> Markup {
    let mut branches: Vec<&(String, u64)> = run.branches.iter().collect();
    branches.sort_by_key(|(_, times)| *times);
    let reached = branches.iter().filter(|(_, times)| *times > 0).count();
    html! {
        @if !branches.is_empty() {
            section {
                h2 { "Branches" }
                p { (reached) " of " (branches.len()) " were reached." }
                details {
                    summary { "All branches" }
                    table {
                        thead { tr { th { "Times" } th { "Branch" } } }
                        tbody {
                            @for (name, times) in branches.iter().take(BRANCHES) {
                                tr { td.time { @if *times == 0 { "never" } @else { (grouped(*times)) } } td { (super::clipped(name, 200)) } }
                            }
                        }
                    }
                    @if branches.len() > BRANCHES { p.cut { "" (branches.len() - BRANCHES) " more were reached more often." } }
                }
            }
        }
    }
}
