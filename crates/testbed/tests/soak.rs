//! scratch
#![allow(clippy::all, clippy::pedantic)]
use std::time::Duration;
use confute::network::Tcp;
use confute::{Options, blame, judge, Verdict};
use confute_models::conditional::*;
use confute_testbed::driver::*;
use confute_testbed::nginx::*;
use confute_testbed::traffic::Habits;
#[test]
fn soak() {
    let nginx = Nginx::start().unwrap();
    let mut kinds = std::collections::BTreeMap::<String, u32>::new();
    let mut reqs = vec![]; let mut times = vec![]; let mut alone = 0; let mut blame_time = Duration::ZERO;
    for seed in 0..400 {
        let r = run(nginx.address(), &Plan { seed, habits: Habits { keys: 3, conditional_puts: true, equal_lengths: false }, requests: 5000, time: Duration::from_secs(5), silence: Duration::from_secs(2) });
        assert!(r.verdict.is_refuted(), "{seed} {:?} {:?} {:?}", r.verdict, r.trouble, r.elapsed);
        assert!(judge(&Conditional, &Tcp::default(), &r.events, &Options::default()).is_refuted(), "offline differs {seed}");
        if judge(&Conditional, &Tcp::default(), &r.events, &Options { relaxed: vec![IF_MATCH_CHECKED.name], ..Options::default() }).is_unrefuted() { alone += 1 } else { println!("NOT ALONE {seed}"); for e in &r.events { println!("{e:?}"); } }
        let t = std::time::Instant::now();
        let b = blame(&Conditional, &Tcp::default(), &r.events, &Options::default());
        blame_time = blame_time.max(t.elapsed());
        *kinds.entry(format!("{:?}", b.diagnoses.iter().map(|d| (d.rules.clone(), d.deviations)).collect::<Vec<_>>())).or_default() += 1;
        reqs.push(r.requests); times.push(r.elapsed);
    }
    reqs.sort(); times.sort();
    println!("alone {alone} requests min/med/max {} {} {} time {:?} {:?} {:?} blame max {blame_time:?}", reqs[0], reqs[200], reqs[399], times[0], times[200], times[399]);
    for (k, n) in kinds { println!("{n} {k}"); }
}
#[test]
fn control() {
    let nginx = Nginx::start().unwrap();
    for (seed, keys, requests) in [(100, 1, 5000), (101, 1, 5000), (102, 2, 5000), (103, 2, 5000), (104, 3, 10000), (105, 3, 20000), (106, 8, 5000), (107, 1, 5000), (108, 2, 5000)] {
        let r = run(nginx.address(), &Plan { seed, habits: Habits { keys, conditional_puts: false, equal_lengths: false }, requests, time: Duration::from_secs(100), silence: Duration::from_secs(2) });
        println!("control seed {seed} keys {keys}: {:?} {:?} requests {} elapsed {:?} thinking {:?} turns {}", r.verdict, r.trouble, r.requests, r.elapsed, r.thinking, r.turns);
        if r.verdict != Verdict::Unrefuted { let mut f = std::fs::File::create(format!("/tmp/control-{seed}.jsonl")).unwrap(); confute::trace::Trace { header: confute::trace::Header::new("conditional", "tcp"), events: r.events.clone() }.write(&mut f).unwrap(); }
        let t = std::time::Instant::now();
        let v = judge(&Conditional, &Tcp::default(), &r.events, &Options { turns: 50_000_000, ..Options::default() });
        println!("    offline {:?} in {:?}", v, t.elapsed());
    }
}
