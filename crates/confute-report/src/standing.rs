//! Results of a run by rule.

use confute_record::{RuleRecord, RunRecord, Standing, Violation};

/// The result for a rule, with the numbers of its violations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleStanding {
    /// Broken, at a level that refutes the server: by proof, or because experiments set all other explanations aside.
    Violated(Vec<usize>),
    /// One of several rules that may have been broken, or blamed for a violation whose level is not decided.
    Suspected(Vec<usize>),
    /// Blamed for violations that are all listed in the baseline.
    Known(Vec<usize>),
    /// Blamed only for violations below the level that refutes the server.
    Warned(Vec<usize>),
    /// Explains violations too, but experiments set that explanation aside.
    SetAside(Vec<usize>),
    /// Not required.
    Allowed,
    /// Consulted by some hypothesis, without any violation.
    Respected,
    /// Never tested: the run provides no evidence about it.
    Never,
}

impl RuleStanding {
    /// Returns the result in a word.
    pub fn word(&self) -> &'static str {
        match self {
            RuleStanding::Violated(_) => "violated",
            RuleStanding::Suspected(_) => "suspected",
            RuleStanding::Known(_) => "known",
            RuleStanding::Warned(_) => "warning",
            RuleStanding::SetAside(_) => "set aside",
            RuleStanding::Allowed => "allowed",
            RuleStanding::Respected => "respected",
            RuleStanding::Never => "never tested",
        }
    }

    /// Returns the result of several rules: `3 respected`.
    pub(crate) fn of(&self, number: usize) -> String {
        match self {
            RuleStanding::Warned(_) => format!("{number} with a warning"),
            _ => format!("{number} {}", self.word()),
        }
    }

    /// Returns the numbers of the violations that determine the result.
    pub fn findings(&self) -> &[usize] {
        match self {
            RuleStanding::Violated(list)
            | RuleStanding::Suspected(list)
            | RuleStanding::Known(list)
            | RuleStanding::Warned(list)
            | RuleStanding::SetAside(list) => list,
            _ => &[],
        }
    }
}

/// Returns all rules with their results, in the order of the model.
pub fn all(run: &RunRecord) -> Vec<(&RuleRecord, RuleStanding)> {
    run.rules.iter().map(|rule| (rule, one(&rule.name, run))).collect()
}

/// Returns the result for a rule.
pub(crate) fn one(rule: &str, run: &RunRecord) -> RuleStanding {
    let which = |fits: &dyn Fn(&Violation) -> bool| -> Vec<usize> {
        let about = run.violations.iter().filter(|one| one.is_named_after(rule));
        about.filter(|one| fits(one)).map(|one| one.number).collect()
    };
    let counts = |one: &Violation| one.standing == Standing::Refutes;
    let violated = which(&|one| counts(one) && one.named().len() == 1);
    let suspected = which(&|one| counts(one) || one.standing == Standing::Undecided);
    let known = which(&|one| one.standing == Standing::Known);
    let warned = which(&|_| true);
    let explains = run.violations.iter().filter(|one| one.is_blamed_on(rule));
    let set_aside: Vec<usize> = explains.map(|one| one.number).collect();
    if !violated.is_empty() {
        RuleStanding::Violated(violated)
    } else if !suspected.is_empty() {
        RuleStanding::Suspected(suspected)
    } else if !known.is_empty() {
        RuleStanding::Known(known)
    } else if !warned.is_empty() {
        RuleStanding::Warned(warned)
    } else if !set_aside.is_empty() {
        RuleStanding::SetAside(set_aside)
    } else if run.plan.allowed.iter().any(|name| name == rule) {
        RuleStanding::Allowed
    } else if run.figures.answers > 0 && run.figures.rules.contains(rule) {
        RuleStanding::Respected
    } else {
        RuleStanding::Never
    }
}
