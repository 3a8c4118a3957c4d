//! Where each rule of the model stands at the end of a run.

use confute_record::{RuleRecord, RunRecord, Standing, Violation};

/// What became of a rule. Numbers are those of findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleStanding {
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

impl RuleStanding {
    /// In a word.
    pub fn word(&self) -> &'static str {
        match self {
            RuleStanding::Violated(_) => "violated",
            RuleStanding::Suspected(_) => "suspected",
            RuleStanding::Known(_) => "known",
            RuleStanding::Warned(_) => "warning",
            RuleStanding::Allowed => "allowed",
            RuleStanding::Respected => "respected",
            RuleStanding::Never => "never tested",
        }
    }

    /// The findings that say so.
    pub fn findings(&self) -> &[usize] {
        match self {
            RuleStanding::Violated(list)
            | RuleStanding::Suspected(list)
            | RuleStanding::Known(list)
            | RuleStanding::Warned(list) => list,
            _ => &[],
        }
    }
}

/// Every rule with its standing, in the model's order.
pub fn all(run: &RunRecord) -> Vec<(&RuleRecord, RuleStanding)> {
    run.rules.iter().map(|rule| (rule, one(&rule.name, run))).collect()
}

fn one(rule: &str, run: &RunRecord) -> RuleStanding {
    let which = |fits: &dyn Fn(&Violation) -> bool| -> Vec<usize> {
        let about = run.violations.iter().filter(|one| one.is_blamed_on(rule));
        about.filter(|one| fits(one)).map(|one| one.number).collect()
    };
    let counts = |one: &Violation| one.standing == Standing::Refutes;
    let violated = which(&|one| counts(one) && one.diagnoses.len() == 1);
    let suspected = which(&|one| counts(one) || one.standing == Standing::Undecided);
    let known = which(&|one| one.standing == Standing::Known);
    let warned = which(&|_| true);
    if !violated.is_empty() {
        RuleStanding::Violated(violated)
    } else if !suspected.is_empty() {
        RuleStanding::Suspected(suspected)
    } else if !known.is_empty() {
        RuleStanding::Known(known)
    } else if !warned.is_empty() {
        RuleStanding::Warned(warned)
    } else if run.plan.allowed.iter().any(|name| name == rule) {
        RuleStanding::Allowed
    } else if run.figures.answers > 0 && run.figures.rules.contains(rule) {
        RuleStanding::Respected
    } else {
        RuleStanding::Never
    }
}
