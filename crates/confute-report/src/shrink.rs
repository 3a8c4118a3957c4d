//! Smaller cases for what was found, within a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute_drive::{Finding, Plan, Protocol, Shrinker, Unshrunk, evidence};

/// How long to look for what matters in a case that does not show again.
const MATTERS: Duration = Duration::from_secs(1);

/// Looks for a smaller case of each violation. They share the time: what one does not need, the others have.
pub fn all<P: Protocol>(
    protocol: &P,
    plan: &Plan,
    time: Duration,
    findings: &mut [Finding<P>],
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) {
    let end = Instant::now() + time;
    let count = findings.len();
    for (place, finding) in findings.iter_mut().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        if stop.load(Ordering::Relaxed) || left.is_zero() {
            finding.shrunk = Some(Err(Unshrunk::NoTime));
            continue;
        }
        let shrinker = Shrinker {
            protocol,
            target: plan.target,
            limits: &plan.limits,
            time: left / (count - place) as u32,
            blame_time: plan.blame_time,
            prefix: &plan.prefix,
            stop,
        };
        let number = finding.number;
        tell(&format!("shrinking violation {number} of {count}"));
        let shrunk = shrinker.shrink(finding, &mut |requests| {
            tell(&format!("shrinking violation {number} of {count}: {requests} requests are enough"));
        });
        finding.shrunk = Some(shrunk.map(Box::new));
    }
    // What does not show again is at least shown without what does not matter.
    for finding in findings.iter_mut().filter(|finding| matches!(finding.shrunk, Some(Err(_)))) {
        tell(&format!("looking for what matters in violation {} of {count}", finding.number));
        finding.evidence = evidence(protocol, finding, MATTERS, stop).map(Box::new);
    }
}
