//! The embedded server as a gateway: correct, and with mistakes.

use confute::Verdict;
use confute_testbed::embedded::{Area, Bug, Config, Embedded};

use crate::lab::{accuse, net, proxy, run, tail};

#[test]
fn the_correct_gateway_is_unrefuted() {
    let (mut net, origin) = net();
    let server = Embedded::start(Config::default().proxy("/proxy/", origin)).unwrap();
    let protocol = proxy(server.addr(), "/proxy/", origin);
    for seed in 0..4 {
        let most = if seed % 2 == 0 { 1 } else { 6 };
        let start = std::time::Instant::now();
        let run = run(&mut net, &protocol, server.addr(), (&format!("c{seed}"), seed), (120, most), &[]);
        println!(
            "{seed}: {} requests, {} answers, {} turns, {:?}, at most {} alternatives, outstanding {:?}",
            run.figures.requests,
            run.figures.answers,
            run.figures.turns,
            start.elapsed(),
            run.figures.alternatives.quantiles().max,
            run.figures.outstanding.quantiles()
        );
        assert_eq!(
            run.verdict,
            Verdict::Unrefuted,
            "{:?}\n{}\n{:?}",
            run.trouble,
            tail(&run),
            accuse(&protocol, &run, &[])
        );
        assert_eq!(run.trouble, None, "{}", tail(&run));
        assert!(run.figures.answers > 200, "{:?}", run.figures);
    }
}

#[test]
#[ignore = "takes long"]
fn the_correct_gateway_is_unrefuted_at_length() {
    let number =
        |name: &str, other| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(other);
    let (cases, requests, most) = (number("CASES", 50), number("REQUESTS", 200), number("MOST", 6));
    let (mut net, origin) = net();
    let server = Embedded::start(Config::default().proxy("/proxy/", origin)).unwrap();
    let protocol = proxy(server.addr(), "/proxy/", origin);
    let (start, mut messages, mut inconclusive) = (std::time::Instant::now(), 0, 0);
    for seed in 0..cases {
        let name = format!("l{seed}");
        let run = run(
            &mut net,
            &protocol,
            server.addr(),
            (&name, seed + 1000),
            (requests as usize, most as usize),
            &[],
        );
        messages += run.figures.requests + run.figures.answers;
        inconclusive += u64::from(matches!(run.verdict, Verdict::Inconclusive(_)));
        assert!(
            !run.verdict.is_refuted(),
            "{:?}\n{}\n{:?}",
            run.trouble,
            tail(&run),
            accuse(&protocol, &run, &[])
        );
        assert_eq!(run.trouble, None, "{}", tail(&run));
    }
    println!("{cases} cases, {messages} messages, {inconclusive} inconclusive, {:?}", start.elapsed());
}

/// What becomes of a gateway with a bug: after how many requests it is refuted, and what it is blamed for.
fn hunt(bug: Bug, seed: u64) -> Option<(u64, Vec<Vec<&'static str>>)> {
    let (mut net, origin) = net();
    let server = Embedded::start(Config::default().proxy("/proxy/", origin).bug(bug)).unwrap();
    let protocol = proxy(server.addr(), "/proxy/", origin);
    let mut requests = 0;
    for case in 0..8 {
        let most = if case % 2 == 0 { 2 } else { 4 };
        let name = format!("b{seed}-{case}");
        let run = run(&mut net, &protocol, server.addr(), (&name, seed * 100 + case), (60, most), &[]);
        requests += run.figures.requests;
        if run.verdict.is_refuted() {
            return Some((requests, accuse(&protocol, &run, &[])));
        }
        assert!(
            run.verdict.is_unrefuted() && run.trouble.is_none(),
            "{:?} {:?}\n{}",
            run.verdict,
            run.trouble,
            tail(&run)
        );
    }
    None
}

/// What a bug of the gateway is to be blamed on.
fn culprits(bug: Bug) -> &'static [&'static str] {
    match bug {
        // An option, a field, or `close` where the connection goes on: each gives it away.
        Bug::HopByHopLeak => {
            &["rfc9110-7.6.1/connection", "rfc9110-7.6.1/known-fields", "rfc9112-9.6/nothing-after-close"]
        }
        Bug::NamedFieldLeak => &["rfc9110-7.6.1/named-fields"],
        Bug::ViaMissing => &["rfc9110-7.6.3/via"],
        Bug::ProxyHostWithoutPort => &["rfc9112-3.2/host-of-origin"],
        Bug::ProxyDropsQuery => &["gateway/target"],
        Bug::ProxyDropsConditions => &["rfc9110-13.2.1/conditions-forwarded"],
        Bug::MaxForwardsIgnored => &["rfc9110-7.6.2/zero"],
        Bug::ProxyCutsRequest => &["gateway/request-content"],
        Bug::ProxyCutsResponse => &["rfc9111-5.2.2.6/no-transform"],
        Bug::ProxyMixUp => &["rfc9112-9.2/own-answer"],
        Bug::ProxySendsTwice | Bug::ProxyReplaysPut => &["gateway/once"],
        Bug::ProxyKeepsOld => &["rfc9111-5.2.2.5/no-store"],
        other => panic!("{other:?} is no bug of a gateway"),
    }
}

#[test]
fn every_bug_is_found_and_blamed() {
    let wanted = std::env::var("BUG").ok();
    let seeds: u64 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1);
    let mut wrong = Vec::new();
    for bug in Bug::all().iter().filter(|bug| bug.area() == Area::Proxying) {
        if wanted.as_ref().is_some_and(|wanted| wanted != bug.name()) {
            continue;
        }
        for seed in 0..seeds {
            let start = std::time::Instant::now();
            let found = hunt(*bug, seed);
            println!("{:24} {seed}: {:?} {found:?}", bug.name(), start.elapsed());
            let right =
                |blamed: &Vec<&'static str>| matches!(&blamed[..], [one] if culprits(*bug).contains(one));
            if !found.is_some_and(|(_, blamed)| blamed.iter().any(right)) {
                wrong.push((bug.name(), seed));
            }
        }
    }
    assert_eq!(wrong, []);
}
