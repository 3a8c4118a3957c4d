//! What was put to the test, and what was not: of that the verdict says nothing.

use maud::{Markup, html};

use confute_record::RunRecord;

use crate::standing::{self, RuleStanding};
use crate::text::grouped;

/// So many branches are listed.
const BRANCHES: usize = 2_000;

/// Every rule with its standing, the worst first.
pub(super) fn rules(run: &RunRecord) -> Markup {
    let mut rules = standing::all(run);
    rules.sort_by_key(|(_, standing)| rank(standing));
    let number =
        |fits: fn(&RuleStanding) -> bool| rules.iter().filter(|(_, standing)| fits(standing)).count();
    let violated = number(|one| matches!(one, RuleStanding::Violated(_) | RuleStanding::Suspected(_)));
    let respected = number(|one| *one == RuleStanding::Respected);
    let never = number(|one| *one == RuleStanding::Never);
    html! {
        section {
            h2 { "Rules" }
            p {
                (rules.len()) " rules: " (violated) " violated or suspected, " (respected) " respected, " (never) " never put to the test."
                " Respected means that nothing spoke against it."
            }
            details {
                summary { "All rules" }
                div.scroll tabindex="0" role="region" aria-label="Rules" {
                    table {
                        thead { tr { th { "Standing" } th { "Rule" } th { "Level" } th { "What it asks" } } }
                        tbody {
                            @for (rule, standing) in &rules {
                                tr {
                                    td.standing {
                                        (standing.word())
                                        @for finding in standing.findings().iter().take(8) {
                                            " " a href={ "#v" (finding) } { (finding) }
                                        }
                                    }
                                    td { code { (rule.name) } }
                                    td { (rule.level.name()) }
                                    td {
                                        (rule.summary)
                                        @if let Some(clause) = &rule.clause { " " cite { (clause) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rank(standing: &RuleStanding) -> u8 {
    match standing {
        RuleStanding::Violated(_) => 0,
        RuleStanding::Suspected(_) => 1,
        RuleStanding::Known(_) => 2,
        RuleStanding::Warned(_) => 3,
        RuleStanding::Never => 4,
        RuleStanding::Allowed => 5,
        RuleStanding::Respected => 6,
    }
}

/// What there was to reach, the rarest first.
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
                    @if branches.len() > BRANCHES { p.cut { "And " (branches.len() - BRANCHES) " that were reached more often." } }
                }
            }
        }
    }
}
