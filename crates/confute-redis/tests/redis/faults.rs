//! A proxy with faults in front of a real Redis: each fault is refuted by its rule, and its smallest case is small.

use std::time::Duration;

use confute_redis::{Millis, Redis, expiring_traffic, server, traffic};
use confute_service::Mix;
use confute_test::{Check, Conclusion};
use confute_testbed::redis::{Fault, Faulty};

use super::start;

fn check(proxy: &Faulty, traffic: Mix<Redis>) -> Check {
    let subject = server(&proxy.address().to_string(), None, traffic);
    Check::of(subject).seed(1).connections(16).regressions(None)
}

/// Tests Redis behind a proxy with this fault. The rule is among the explanations, and the smallest case is small.
fn refutes(fault: Fault, rule: &str, most: usize) {
    refutes_with(traffic(), fault, rule, most);
}

fn refutes_with(traffic: Mix<Redis>, fault: Fault, rule: &str, most: usize) {
    let Some(redis) = start(&[]) else { return };
    let proxy = Faulty::start(redis.address(), Some(fault)).unwrap();
    let check = check(&proxy, traffic).max_failures(1).max_time(Duration::from_secs(30));
    let (outcome, text) = check.shrink_time(Duration::from_secs(20)).try_run().unwrap();
    assert_eq!(outcome.conclusion, Conclusion::Refuted, "{fault:?}: {text}");
    let title = text.lines().find(|line| line.starts_with("violation 1: ")).unwrap();
    assert!(title.contains(rule), "{fault:?}: {text}");
    let shrunk = text.split_once("shrunk:").and_then(|(_, rest)| rest.split_once(" requests to ")).unwrap().1;
    let requests: usize = shrunk.split(|one: char| !one.is_ascii_digit()).next().unwrap().parse().unwrap();
    println!("{fault:?}: {title}, {requests} requests");
    assert!(requests <= most, "{text}");
}

#[test]
fn a_stale_read_is_refuted() {
    refutes(Fault::StaleRead, "redis/reads-latest", 6);
}

#[test]
fn a_lost_write_is_refuted() {
    refutes(Fault::LostWrite, "redis/keeps-writes", 6);
}

#[test]
fn an_increment_that_is_not_atomic_is_refuted() {
    // Counters only: an APPEND that such an INCR overwrites is as well explained as one that is lost.
    let counters = Mix::new()
        .names(2)
        .kind(3, |draw| Redis::Incr(draw.name()))
        .kind(1, |draw| Redis::Get(draw.name()))
        .last(Redis::Del);
    refutes_with(counters, Fault::IncrNotAtomic, "redis/incr-atomic", 6);
}

#[test]
fn an_ignored_watch_is_refuted() {
    refutes(Fault::WatchIgnored, "redis/watch-aborts", 6);
}

#[test]
fn an_element_that_is_given_twice_is_refuted() {
    refutes(Fault::PopTwice, "redis/pops-once", 8);
}

#[test]
fn keys_that_never_expire_are_refuted() {
    // Little else, because every run of a case takes a nap.
    let short = Mix::new()
        .names(2)
        .requests(6)
        .kind(1, |draw| Redis::Get(draw.name()))
        .kind(1, |draw| Redis::Ttl(draw.name()))
        .sequence(2, |draw| {
            let key = draw.name();
            let nap = Redis::Nap(Millis(1_200));
            vec![Redis::Set(key.clone(), draw.text()), Redis::Mortal(key.clone(), 20), nap, Redis::Aged(key)]
        })
        .last(Redis::Del);
    refutes_with(short, Fault::NeverExpires, "redis/expires", 6);
}

#[test]
fn the_proxy_without_a_fault_is_not_refuted() {
    let Some(redis) = start(&[]) else { return };
    let proxy = Faulty::start(redis.address(), None).unwrap();
    check(&proxy, expiring_traffic()).cases(6).max_time(Duration::from_secs(30)).run();
}
