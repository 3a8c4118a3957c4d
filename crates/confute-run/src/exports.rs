//! Exports: files that the protocol makes of a counterexample for people without Confute.

use std::time::{Duration, Instant};

use confute::trace::Event;
use confute_drive::{AnyMessage, Exports, Finding, KeptAny, is_refuted};

use crate::{Subject, record};

/// Returns the files that the protocol makes of a finding. It may have traces judged within this time;
/// afterwards they stay undecided, and files that need a judgement are left out.
pub(crate) fn of(subject: &Subject, finding: &Finding, time: Option<Duration>) -> Exports {
    let end = time.map(|time| Instant::now() + time);
    let mut about = vec![format!("Violation {}: {}", finding.number, record::name(finding))];
    for name in finding.diagnoses.iter().flat_map(|one| &one.rules) {
        if let Some(rule) = subject.rules().iter().find(|rule| rule.name == *name) {
            let clause = (subject.clause)(name).map(|clause| format!(" ({clause})")).unwrap_or_default();
            about.push(format!("{name}: {}{clause}", rule.summary));
        }
    }
    let judge = |trace: &[Event<AnyMessage>], also: &[&'static str]| {
        let late = end.is_some_and(|end| Instant::now() >= end);
        if late { None } else { is_refuted(&*subject.protocol, trace, [&finding.relaxed, also].concat()) }
    };
    subject.protocol.exports(&KeptAny::new(finding, &subject.shown, &about, &judge))
}
