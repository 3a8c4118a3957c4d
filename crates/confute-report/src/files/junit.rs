//! `junit.xml`, for collectors of test results: every rule of the model is a test case.
//!
//! A respected rule passes, and one that was never tested is skipped. A rule with only warnings or known
//! violations is skipped with a message: it must not fail, because these do not refute the server, but it
//! must not pass, because the rule was broken. If several sets of rules explain a violation, those of the
//! first fail and the others are skipped, so that alternatives do not add failures. Results that concern no
//! rule (a violation that none explains, an inconclusive run) are test cases of their own, so that they are
//! not overlooked.

use std::time::Duration;

use confute_record::{Conclusion, RunRecord, Standing, Violation};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::standing::{self, RuleStanding};
use crate::violation::{Extent, violation};

/// Returns the whole file.
pub(super) fn junit(run: &RunRecord) -> Result<String, quick_junit::SerializeError> {
    let mut suite = TestSuite::new(printable(&run.model));
    suite.set_time(run.elapsed);
    let properties = [
        ("server", run.server.clone()),
        ("model", run.model.clone()),
        ("seed", run.plan.seed.to_string()),
        ("level", run.plan.level.name().to_owned()),
        ("requests", run.figures.requests.to_string()),
        ("answers", run.figures.answers.to_string()),
    ];
    suite.add_properties(properties.map(|(name, value)| Property::new(name, printable(&value))));
    for (rule, standing) in standing::all(run) {
        let status = rule_status(run, &rule.name, &standing);
        suite.add_test_case(case(run, &rule.name, status));
    }
    for finding in run.violations.iter().filter(|finding| finding.diagnoses.is_empty()) {
        let status = if finding.standing == Standing::Refutes {
            told(run, NonSuccessKind::Failure, &[finding])
        } else if finding.standing == Standing::Undecided {
            told(run, NonSuccessKind::Error, &[finding])
        } else {
            skipped(&format!("a warning: {}", finding.name()))
        };
        suite.add_test_case(case(run, &format!("violation {}", finding.number), status));
    }
    if let Conclusion::Inconclusive(why) = &run.conclusion {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(printable(why)).set_type("inconclusive");
        suite.add_test_case(case(run, "conclusive", status));
    }
    let mut report = Report::new("confute");
    report.set_time(run.elapsed);
    report.add_test_suite(suite);
    report.to_string()
}

fn case(run: &RunRecord, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(printable(name), status);
    // The time of a single rule is unknown, and some readers require a time.
    case.set_classname(printable(&run.model)).set_time(Duration::ZERO);
    case
}

fn rule_status(run: &RunRecord, rule: &str, standing: &RuleStanding) -> TestCaseStatus {
    let is_first = |finding: &&Violation| {
        finding.standing == Standing::Refutes
            && finding.named().first().is_some_and(|one| one.rules.iter().any(|name| name == rule))
    };
    let failures: Vec<&Violation> = run.violations.iter().filter(is_first).collect();
    if !failures.is_empty() {
        return told(run, NonSuccessKind::Failure, &failures);
    }
    let list: Vec<String> = standing.findings().iter().map(|number| format!("violation {number}")).collect();
    let list = list.join(", ");
    match standing {
        RuleStanding::Violated(_) | RuleStanding::Suspected(_) => {
            skipped(&format!("one of several rules that may be violated: see {list}"))
        }
        RuleStanding::Known(_) => skipped(&format!("known violation (--baseline): see {list}")),
        RuleStanding::Warned(_) => {
            let level = run.plan.level.name();
            skipped(&format!("a warning, because rules count from level {level} on: see {list}"))
        }
        RuleStanding::SetAside(_) => skipped(&format!("set aside as an explanation: see {list}")),
        RuleStanding::Allowed => skipped(&format!("not required ({})", run.head.door.setting("allow"))),
        RuleStanding::Never => skipped("never tested"),
        RuleStanding::Respected => TestCaseStatus::success(),
    }
}

/// Returns a test case status with the terminal text of these violations.
fn told(run: &RunRecord, kind: NonSuccessKind, findings: &[&Violation]) -> TestCaseStatus {
    let mut text = Vec::new();
    for finding in findings {
        // Writing into memory does not fail.
        let _ = violation(&run.rules, finding, Extent::Normal, &[], &mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let text = anstream::adapter::strip_str(&text).to_string();
    let reasons: Vec<String> = findings.iter().map(|finding| reason(finding)).collect();
    let mut status = TestCaseStatus::non_success(kind);
    let level = findings.iter().filter_map(|finding| finding.level).max();
    status
        .set_message(printable(&reasons.join("; ")))
        .set_type(level.map_or("unknown", confute::lang::Level::name))
        .set_description(printable(&text));
    status
}

/// Describes a violation on one line.
fn reason(finding: &Violation) -> String {
    let refutation = finding.shown().refutation;
    let seen = if refutation.seen.is_empty() { "nothing" } else { &refutation.seen };
    let is_some = |one: &&confute_record::ExpectationRecord| one.message.is_some();
    let expected = refutation.expected.iter().find(is_some).or_else(|| refutation.expected.first());
    let expected = expected.map(|one| one.message.as_deref().unwrap_or("nothing"));
    let texts: Vec<String> = std::iter::once(seen).chain(expected).map(str::to_owned).collect();
    let texts = crate::text::differing(&texts, CLIPPED)
        .unwrap_or_else(|| texts.iter().map(|text| crate::text::clip(text, CLIPPED)).collect());
    match &texts[..] {
        [seen, right] => format!("{}: seen {seen}, expected {right}", finding.name()),
        _ => format!("{}: seen {}", finding.name(), texts.concat()),
    }
}

/// Maximum length of a message without fields.
const CLIPPED: usize = 200;

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(printable(why));
    status
}

/// Replaces control characters, which XML cannot represent.
fn printable(text: &str) -> String {
    let is_allowed = |c: char| {
        matches!(c, '\t' | '\n' | ' '..='\u{7e}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..) && c != '\u{fffe}'
    };
    text.chars().map(|c| if is_allowed(c) { c } else { '\u{fffd}' }).collect()
}
