//! Test against an external gateway, given by the environment variables `GATEWAY` (a URL) and `ORIGIN` (the address
//! that it forwards to); with `FORWARD` it is a forward proxy.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use confute_drive::{AnyGenerator, Limits, Plan, Target, campaign};
use confute_http::{Http, Passage, encode};

#[test]
#[ignore = "needs a gateway"]
fn named() {
    let number =
        |name: &str, other| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(other);
    let (url, origin) = (std::env::var("GATEWAY").unwrap(), std::env::var("ORIGIN").unwrap());
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let (address, origin): (SocketAddr, SocketAddr) = (host.parse().unwrap(), origin.parse().unwrap());
    let target = encode::Target { host: host.to_owned(), fields: Vec::new() };
    let prefix = format!("/{path}");
    let proxy = match std::env::var("FORWARD") {
        Ok(_) => Http::proxy(target, origin),
        Err(_) => Http::gateway(target, &prefix, origin, &prefix),
    };
    let proxy = proxy.discovered(Target::new(address), &Limits::default());
    let plan = Plan {
        seed: number("SEED", 1),
        max_time: Some(Duration::from_secs(number("SECONDS", 10))),
        limits: Limits { connections: 12, ..Limits::default() },
        ..Plan::new(Target { listen: Some(origin), ..Target::new(address) })
    };
    let most = number("MOST", 4);
    let make = |case: u64| -> AnyGenerator<'_> {
        AnyGenerator::new(Passage::new(60, if case < 6 { 1 } else { 1 + (case % most) as usize }))
    };
    let outcome = campaign(&proxy, &plan, &make, &mut (), &AtomicBool::new(false));
    println!("{:?}\n{:?} {:?}\n{:?}", outcome.conclusion, outcome.tally, outcome.troubles, outcome.figures);
    let mut rules = BTreeMap::new();
    for finding in &outcome.findings {
        let blamed: Vec<_> = finding.diagnoses.iter().map(|one| &one.rules).collect();
        println!("{:?} {blamed:?} in {} cases", finding.level, finding.times);
        finding.counterexample.trace[finding.counterexample.trace.len().saturating_sub(12)..]
            .iter()
            .for_each(|event| println!("    {event}"));
        rules.insert(format!("{blamed:?}"), finding.times);
    }
    println!("{rules:#?}");
}
