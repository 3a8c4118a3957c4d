//! A real server: correct, and with mistakes.

use std::collections::BTreeSet;
use std::time::Duration;

use confute::Verdict;
use confute_testbed::embedded::{Area, Bug, Config, Embedded, TagStyle};

use crate::driver::run;
use crate::story::accuse;

#[test]
fn the_correct_server_is_unrefuted() {
    for tags in [TagStyle::Strong, TagStyle::WeakAtFirst(Duration::from_millis(200)), TagStyle::Weak] {
        let server = Embedded::start(Config::default().tags(tags)).unwrap();
        for seed in 0..3 {
            let outcome = run(server.addr(), &format!("c{seed}"), seed, 600, 6);
            if let Verdict::Refuted(refutation) = &outcome.verdict {
                let tail: Vec<String> = outcome.events[outcome.events.len().saturating_sub(24)..]
                    .iter()
                    .map(|event| serde_json::to_string(event).unwrap())
                    .collect();
                panic!("{tags:?} {seed}: {refutation:?}\n{}\n{:?}", tail.join("\n"), accuse(&outcome.events));
            }
            assert!(outcome.verdict.is_unrefuted(), "{:?}", outcome.verdict);
            println!("{tags:?} {seed}: {} requests, {} turns", outcome.requests, outcome.turns);
        }
    }
}

/// What becomes of a server with a bug: after how many requests it is refuted, and what it is blamed for.
fn hunt(bug: Bug, seed: u64) -> Option<(usize, Vec<&'static str>)> {
    let tags = if bug == Bug::IfNoneMatchStrongOnPut { TagStyle::Weak } else { TagStyle::Strong };
    let server = Embedded::start(Config::default().tags(tags).bug(bug)).unwrap();
    let mut requests = 0;
    for case in 0..4 {
        let outcome = run(server.addr(), &format!("b{case}"), seed * 100 + case, 300, 4);
        requests += outcome.requests;
        if outcome.verdict.is_refuted() {
            return Some((requests, accuse(&outcome.events)));
        }
        assert!(outcome.verdict.is_unrefuted(), "{:?}", outcome.verdict);
    }
    None
}

#[test]
#[ignore = "a table to look at"]
fn table() {
    let number = |name: &str| std::env::var(name).ok().and_then(|seeds| seeds.parse().ok());
    let (wanted, seeds) = (std::env::var("BUG").ok(), number("SEEDS").unwrap_or(1));
    for bug in Bug::all().iter().filter(|bug| bug.area() != Area::Proxying) {
        if wanted.as_ref().is_some_and(|wanted| wanted != bug.name()) {
            continue;
        }
        let found: Vec<_> = (0..seeds).map(|seed| hunt(*bug, seed)).collect();
        let mut requests: Vec<_> = found.iter().flatten().map(|(requests, _)| *requests).collect();
        requests.sort_unstable();
        let rules: BTreeSet<_> = found.iter().flatten().map(|(_, rules)| rules.join(" | ")).collect();
        let median = requests.get(requests.len() / 2);
        println!(
            "{bug}: {} of {seeds}, {median:?} requests\n    {}",
            requests.len(),
            Vec::from_iter(rules).join("\n    ")
        );
    }
}

#[test]
fn bugs_are_found_and_named() {
    let sample = [
        (Bug::IfMatchIgnoredOnPut, "rfc9110-13.1.1/if-match"),
        (Bug::IfMatchWeak, "rfc9110-13.1.1/strong-comparison"),
        (Bug::IfNoneMatchStrongOnPut, "rfc9110-13.1.2/weak-comparison"),
        (Bug::IfModifiedSinceBesideIfNoneMatch, "rfc9110-13.1.3/beside-if-none-match"),
        (Bug::CreationUntold, "rfc9110-9.3.4/created"),
        (Bug::LostPut, "store/put-lasts"),
        (Bug::HeadLengthZero, "rfc9110-8.6/length-of-get"),
        (Bug::RangeOneShort, "rfc9110-15.3.7.1/part"),
        (Bug::BodyAfter304, "rfc9112-6.3/nothing-after-the-end"),
        (Bug::NoHost, "rfc9112-3.2/no-host"),
    ];
    for (bug, rule) in sample {
        let (requests, blamed) = hunt(bug, 7).unwrap_or_else(|| panic!("{bug} was not found"));
        println!("{bug}: {requests} requests, {blamed:?}");
        assert!(blamed.contains(&rule), "{bug}: {blamed:?}");
    }
}
