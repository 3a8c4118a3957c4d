//! What was put to the test, and what was not: of that the verdict says nothing.

use maud::{Markup, html};

use crate::files::Run;
use crate::standing::{self, Standing};
use crate::text::grouped;

/// So many branches are listed.
const BRANCHES: usize = 2_000;

/// Every rule with its standing, the worst first.
pub(super) fn rules(run: &Run<'_>) -> Markup {
    let mut rules = standing::all(run.subject, run.plan, run.outcome);
    rules.sort_by_key(|(_, standing)| rank(standing));
    let number = |fits: fn(&Standing) -> bool| rules.iter().filter(|(_, standing)| fits(standing)).count();
    let violated = number(|one| matches!(one, Standing::Violated(_) | Standing::Suspected(_)));
    let respected = number(|one| *one == Standing::Respected);
    let never = number(|one| *one == Standing::Never);
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
                                        @if let Some(clause) = (run.subject.clause)(rule.name) { " " cite { (clause) } }
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

fn rank(standing: &Standing) -> u8 {
    match standing {
        Standing::Violated(_) => 0,
        Standing::Suspected(_) => 1,
        Standing::Known(_) => 2,
        Standing::Warned(_) => 3,
        Standing::Never => 4,
        Standing::Allowed => 5,
        Standing::Respected => 6,
    }
}

/// What there was to reach, the rarest first.
pub(super) fn branches(run: &Run<'_>) -> Markup {
    let mut branches: Vec<&(String, u64)> = run.outcome.branches.iter().collect();
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
