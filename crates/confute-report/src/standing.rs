//! Where each rule of the model stands at the end of a run.

use confute::lang::Rule;
use confute_drive::{Finding, Outcome, Plan};

use crate::Subject;

/// What became of a rule. Numbers are those of findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Proven broken, at a level that counts.
    Violated(Vec<usize>),
    /// One of several that may be what was broken, or what it is worth is not known: nobody can say more.
    Suspected(Vec<usize>),
    /// Broken, or perhaps, as was to be expected.
    Known(Vec<usize>),
    /// Broken, or perhaps, but at a level that does not count.
    Warned(Vec<usize>),
    /// Not asked for.
    Allowed,
    /// Put to the test, or at least considered, and nothing spoke against it.
    Respected,
    /// Never put to the test: nothing is known of it.
    Never,
}

impl Standing {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Violated(_) => "violated",
            Standing::Suspected(_) => "suspected",
            Standing::Known(_) => "known",
            Standing::Warned(_) => "warning",
            Standing::Allowed => "allowed",
            Standing::Respected => "respected",
            Standing::Never => "never tested",
        }
    }

    /// The findings that say so.
    pub fn findings(&self) -> &[usize] {
        match self {
            Standing::Violated(list)
            | Standing::Suspected(list)
            | Standing::Known(list)
            | Standing::Warned(list) => list,
            _ => &[],
        }
    }
}

/// Every rule, in the model's order.
pub fn all(subject: &Subject<'_>, plan: &Plan, outcome: &Outcome) -> Vec<(&'static Rule, Standing)> {
    subject.rules.iter().map(|rule| (rule, one(rule.name, plan, outcome))).collect()
}

fn one(rule: &'static str, plan: &Plan, outcome: &Outcome) -> Standing {
    let which = |fits: &dyn Fn(&Finding) -> bool| -> Vec<usize> {
        let about = outcome.findings.iter().filter(|finding| is_blamed(finding, rule));
        about.filter(|finding| fits(finding)).map(|finding| finding.number).collect()
    };
    let counts = |finding: &Finding| finding.refutes(plan.level);
    let violated = which(&|finding| counts(finding) && finding.diagnoses.len() == 1);
    let suspected = which(&|finding| counts(finding) || finding.is_undecided(plan.level));
    let known = which(&|finding| finding.known);
    let warned = which(&|_| true);
    if !violated.is_empty() {
        Standing::Violated(violated)
    } else if !suspected.is_empty() {
        Standing::Suspected(suspected)
    } else if !known.is_empty() {
        Standing::Known(known)
    } else if !warned.is_empty() {
        Standing::Warned(warned)
    } else if plan.allow.contains(&rule) {
        Standing::Allowed
    } else if outcome.figures.answers > 0 && outcome.figures.rules.contains(rule) {
        Standing::Respected
    } else {
        Standing::Never
    }
}

/// Whether a rule is among those that may have been broken.
fn is_blamed(finding: &Finding, rule: &'static str) -> bool {
    finding.diagnoses.iter().any(|one| one.rules.contains(&rule))
}
