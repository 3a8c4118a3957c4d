//! Smaller cases for what was found, within a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use confute_drive::{AnyProtocol, Finding, Plan, Shrinker, Unshrunk, excerpt};

/// How long to look for what matters in a case that does not show again.
const MATTERS: Duration = Duration::from_secs(1);

/// Looks for a smaller case of each violation. They share the time: what one does not need, the others have.
pub fn all(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    time: Duration,
    findings: &mut [Finding],
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) {
    let end = Instant::now() + time + MATTERS * findings.len() as u32;
    all_until(protocol, plan, (time, end), findings, stop, tell);
}

/// The same; what matters in cases that did not get smaller is looked for until `last`.
pub(crate) fn all_until(
    protocol: &dyn AnyProtocol,
    plan: &Plan,
    (time, last): (Duration, Instant),
    findings: &mut [Finding],
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
        match shrunk {
            Ok(shrunk) => finding.adopt(shrunk),
            Err(why) => finding.shrunk = Some(Err(why)),
        }
    }
    // What does not show again is at least shown without what does not matter.
    let unshrunk = |finding: &&mut Finding| matches!(finding.shrunk, Some(Err(_)));
    let mut waiting = findings.iter_mut().filter(unshrunk).count() as u32;
    for finding in findings.iter_mut().filter(unshrunk) {
        let left = last.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            break;
        }
        tell(&format!("looking for what matters in violation {} of {count}", finding.number));
        finding.excerpt = excerpt(protocol, finding, MATTERS.min(left / waiting), stop).map(Box::new);
        waiting -= 1;
    }
}
