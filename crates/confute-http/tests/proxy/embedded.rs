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

/// What becomes of a gateway with a bug: after how many requests it is refuted, and what it is blamed for.
fn hunt(bug: Bug, seed: u64) -> Option<(u64, Vec<Vec<&'static str>>)> {
    let (mut net, origin) = net();
    let server = Embedded::start(Config::default().proxy("/proxy/", origin).bug(bug)).unwrap();
    let protocol = proxy(server.addr(), "/proxy/", origin);
    let mut requests = 0;
    for case in 0..8 {
        let most = if case % 2 == 0 { 2 } else { 5 };
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
fn culprit(bug: Bug) -> &'static str {
    match bug {
        Bug::HopByHopLeak => "rfc9110-7.6.1/connection",
        Bug::NamedFieldLeak => "rfc9110-7.6.1/named-fields",
        Bug::ViaMissing => "rfc9110-7.6.3/via",
        Bug::ProxyHostWithoutPort => "rfc9112-3.2/host-of-origin",
        Bug::ProxyDropsQuery => "gateway/target",
        Bug::ProxyDropsConditions => "rfc9110-13.2.1/conditions-forwarded",
        Bug::MaxForwardsIgnored => "rfc9110-7.6.2/zero",
        Bug::ProxyCutsRequest => "gateway/request-content",
        Bug::ProxyCutsResponse => "rfc9111-5.2.2.6/no-transform",
        Bug::ProxyMixUp => "rfc9112-9.2/own-answer",
        Bug::ProxySendsTwice | Bug::ProxyReplaysPut => "gateway/once",
        Bug::ProxyKeepsOld => "rfc9111-5.2.2.5/no-store",
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
            if !found.is_some_and(|(_, blamed)| blamed.contains(&vec![culprit(*bug)])) {
                wrong.push((bug.name(), seed));
            }
        }
    }
    assert_eq!(wrong, []);
}
