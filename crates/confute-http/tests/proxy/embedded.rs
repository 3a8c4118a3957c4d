//! The embedded server as a gateway: correct, and with bugs.

use confute::Verdict;
use confute_testbed::embedded::{Area, Bug, Config, Embedded};

use crate::lab::{accuse, net, proxy, run, tail, tour};

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

/// Tests a gateway with this bug until it is refuted, and returns the rules it is blamed for.
fn hunt(bug: Bug, seed: u64) -> Vec<String> {
    let origin = net().1;
    let server = Embedded::start(Config::default().proxy("/proxy/", origin).bug(bug)).unwrap();
    let outcome = tour((server.addr(), "/proxy/", origin), seed, 40, 1);
    let Some(finding) = outcome.findings.first() else {
        return vec![format!("nothing: {:?} {:?}", outcome.tally, outcome.troubles)];
    };
    finding.diagnoses.iter().map(|one| one.rules.join(" ")).collect()
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
            if !found.iter().any(|rule| bug.rules().contains(&rule.as_str())) {
                wrong.push((bug.name(), seed, found));
            }
        }
    }
    assert_eq!(wrong, []);
}
