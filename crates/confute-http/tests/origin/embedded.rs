//! Tests against the embedded server: correct, and with bugs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use confute::network::Tcp;
use confute::trace::{Event, Header, ReadLimits, Trace, read};
use confute::{Options, Tester, Verdict, judge};
use confute_drive::{Caller, Setup as _, Talk, Target};
use confute_http::message::Message;
use confute_http::rules::RULES;
use confute_http::{Http, encode};
use confute_testbed::embedded::{Area, Bug, Config, Embedded, TagStyle};
use confute_testbed::odd::{Habits, OddServer, Oddity};

use crate::driver::{run, run_relaxed};
use crate::story::{ORIGIN, accuse, accuse_besides};

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

/// Tests a server with this bug. Returns the number of requests until it is refuted, and the rules it is blamed for.
fn hunt(bug: Bug, seed: u64) -> Option<(usize, Vec<&'static str>)> {
    let tags = if bug == Bug::IfNoneMatchStrongOnPut { TagStyle::Weak } else { TagStyle::Strong };
    let server = Embedded::start(Config::default().tags(tags).bug(bug)).unwrap();
    let mut requests = 0;
    for case in 0..12 {
        let outcome = run(server.addr(), &format!("b{case}"), seed * 100 + case, 300, 4);
        requests += outcome.requests;
        if outcome.verdict.is_refuted() {
            return Some((requests, accuse(&outcome.events)));
        }
        assert!(outcome.verdict.is_unrefuted(), "{:?}", outcome.verdict);
    }
    None
}

/// Writes a trace to the path in the environment variable `TRACE`.
fn keep(events: &[Event<Message>]) {
    if let Ok(path) = std::env::var("TRACE") {
        let trace = Trace { header: Header::new("http", "tcp"), events: events.to_vec() };
        trace.write(File::create(path).unwrap()).unwrap();
    }
}

#[test]
#[ignore = "judges the trace that the variable `TRACE` names"]
fn kept() {
    let file = BufReader::new(File::open(std::env::var("TRACE").unwrap()).unwrap());
    let trace: Trace<Message> = read(file, ReadLimits::default()).unwrap();
    replay(&trace.events);
}

/// Judges a trace as a whole, and event by event.
fn replay(events: &[Event<Message>]) {
    let network = Tcp::default();
    println!("as a whole: {:?}", judge(&ORIGIN, &network, events, &Options::default()));
    let mut tester = Tester::new(&ORIGIN, &network, Options::default());
    for (at, event) in events.iter().enumerate() {
        if !tester.observe(event.clone()).is_unrefuted() {
            println!("event by event: {at} of {}: {:?}", events.len(), tester.verdict());
            break;
        }
        let looked = tester.verdict().is_unrefuted();
        if !looked {
            println!("looked at: {at} of {}: {:?}", events.len(), tester.verdict());
            break;
        }
    }
}

#[test]
#[ignore = "takes long"]
fn the_correct_server_is_unrefuted_at_length() {
    let number =
        |name: &str, other| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(other);
    let (cases, steps, connections) = (number("CASES", 4), number("STEPS", 3000), number("CONNECTIONS", 16));
    for tags in [TagStyle::Strong, TagStyle::WeakAtFirst(Duration::from_millis(200)), TagStyle::Weak] {
        let server = Embedded::start(Config::default().tags(tags)).unwrap();
        for seed in 0..cases {
            let start = Instant::now();
            let outcome =
                run(server.addr(), &format!("l{seed}"), seed + 1000, steps as usize, connections as u32);
            let took = start.elapsed();
            println!("{tags:?} {seed}: {} requests, {} turns, {took:?}", outcome.requests, outcome.turns);
            if !outcome.verdict.is_unrefuted() {
                keep(&outcome.events);
                replay(&outcome.events);
            }
            assert!(outcome.verdict.is_unrefuted(), "{:?}: {:?}", outcome.verdict, accuse(&outcome.events));
        }
    }
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

/// Returns all rules that a server is blamed for: each blamed rule is relaxed, and the next case is run.
fn survey(address: SocketAddr, cases: u64) -> Vec<&'static str> {
    let mut relaxed = Vec::new();
    for case in 0..cases {
        let outcome = run_relaxed(address, (&format!("s{case}"), case), 300, 4, &relaxed);
        match &outcome.verdict {
            Verdict::Refuted(_) => {
                let blamed = accuse_besides(&outcome.events, &relaxed);
                println!("case {case}: {} requests: {blamed:?}", outcome.requests);
                if let Some(first) = blamed.iter().find(|rule| !relaxed.contains(rule)) {
                    relaxed.push(first);
                } else {
                    outcome.events[outcome.events.len().saturating_sub(12)..]
                        .iter()
                        .for_each(|event| println!("    {}", serde_json::to_string(event).unwrap()));
                }
            }
            Verdict::Inconclusive(why) => println!("case {case}: {why}"),
            Verdict::Unrefuted => {}
        }
    }
    relaxed
}

#[test]
#[ignore = "needs nginx"]
fn nginx() {
    let server = confute_testbed::nginx::Nginx::start().unwrap();
    let rules = survey(server.address(), 6);
    println!("{rules:#?}");
    assert!(!rules.is_empty());
}

#[test]
#[ignore = "needs nginx, and shows one case"]
fn nginx_case() {
    let server = confute_testbed::nginx::Nginx::start().unwrap();
    let relaxed = std::env::var("RELAX").unwrap_or_default();
    let relaxed: Vec<_> = RULES
        .iter()
        .map(|rule| rule.name)
        .filter(|name| relaxed.split(',').any(|each| each == *name))
        .collect();
    let seed = std::env::var("SEED").unwrap_or_default().parse().unwrap();
    let outcome = run_relaxed(server.address(), ("x", seed), 300, 4, &relaxed);
    for event in &outcome.events[outcome.events.len().saturating_sub(30)..] {
        println!("{}", serde_json::to_string(event).unwrap());
    }
    println!("{:?}: {:?}", outcome.verdict, accuse_besides(&outcome.events, &relaxed));
}

#[test]
fn bugs_name_rules_of_the_model() {
    for bug in Bug::all() {
        for name in bug.rules() {
            assert!(confute_http::all_rules().iter().any(|rule| rule.name == *name), "{bug}: {name}");
        }
    }
    let unblamed: Vec<_> = Bug::all().iter().filter(|bug| bug.rules().is_empty()).collect();
    assert_eq!(unblamed, [&Bug::ClosedUnanswered]);
}

/// Rules that no bug of the embedded server breaks, each with the reason.
const WITHOUT_BUG: [(&str, &str); 8] = [
    ("store/put-own", "the client cannot tell it from a response to another request"),
    ("store/once", "the embedded server leaves no outcome open: it never answers 202, nor 5xx to a write"),
    ("store/steady-tag", "correct servers may do without it; the odd servers of the testbed do"),
    ("store/steady-date", "correct servers may do without it; the odd servers of the testbed do"),
    ("gateway/forwarded", "correct gateways may do without it; the odd servers of the testbed do"),
    ("rfc9110-15.2/forwarded", "it binds proxies that clients choose, and the embedded one is a gateway"),
    (
        "rfc9110-5.1/fields-forwarded",
        "it binds proxies that clients choose, and the embedded one is a gateway",
    ),
    ("rfc9112-7.1/trailers-decoded", "the embedded gateway does not ask for trailer fields"),
];

#[test]
fn every_rule_has_a_bug_that_breaks_it_or_a_reason() {
    let is_broken = |name: &str| Bug::all().iter().any(|bug| bug.rules().contains(&name));
    for rule in confute_http::rules::all() {
        let is_excepted = WITHOUT_BUG.iter().any(|(name, _)| *name == rule.name);
        assert_eq!(is_broken(rule.name), !is_excepted, "{}", rule.name);
    }
    for (name, _) in WITHOUT_BUG {
        assert!(confute_http::rules::entry(name).is_some(), "there is no rule {name}");
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

/// A server that lost its data has no canary; a read-only server gets none.
#[test]
fn a_canary_is_lost_with_everything_else() {
    let server = Embedded::start(Config::default()).unwrap();
    let http = Http::origin(encode::Target::default(), "/");
    let limits = confute_drive::Limits::default();
    let talk =
        |http, address| Talk::new(http, Caller::new(Target::new(address), &limits).named("bird".to_owned()));
    assert!(http.plant(&talk(&http, server.addr())));
    let seen = http.canary(&talk(&http, server.addr())).unwrap();
    assert_eq!(seen.as_deref(), Some("bird"));
    assert_eq!(http.canary(&talk(&http, server.addr())).unwrap(), seen);
    let other = Embedded::start(Config::default()).unwrap();
    assert_eq!(http.canary(&talk(&http, other.addr())).unwrap(), None);
    let reading = http.clone().reading(vec!["/a".into()]);
    assert!(!reading.plant(&talk(&reading, server.addr())));
}

/// A server that has lost nothing may still send another tag, or code the content.
#[test]
fn a_canary_survives_new_validators() {
    for oddity in [Oddity::LateTag, Oddity::ChangingTag, Oddity::CodingTag] {
        let server = OddServer::origin(Habits::of([oddity], 1)).unwrap();
        let http = Http::origin(encode::Target::default(), "/");
        let limits = confute_drive::Limits::default();
        let talk =
            Talk::new(&http, Caller::new(Target::new(server.addr()), &limits).named("bird".to_owned()));
        assert!(http.plant(&talk));
        for _ in 0..6 {
            assert_eq!(http.canary(&talk).unwrap().as_deref(), Some("bird"), "{oddity:?}");
            thread::sleep(Duration::from_millis(15));
        }
    }
}
