//! A real memcached, over real sockets.

mod common;

use std::time::{Duration, Instant};

use common::{Plan, Server, run};
use confute::trace::Event;
use confute_memcached::Habits;

/// How many messages: more with `CONFUTE_MEMCACHED_MESSAGES`.
fn messages() -> usize {
    std::env::var("CONFUTE_MEMCACHED_MESSAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000)
}

#[test]
fn memcached_is_unrefuted() {
    let Some(server) = Server::start(&[]) else {
        println!("no memcached here");
        return;
    };
    let (start, mut count, mut number, mut medians) = (Instant::now(), 0, 0, Vec::new());
    let (mut thinking, mut turns, mut bytes) = (Duration::ZERO, 0, 0);
    while count < messages() {
        number += 1;
        let habits = Habits { singles: 5 + (number % 4) as u32, ..Habits::default() };
        let case = format!("real-{:x}-{number}-", std::process::id());
        let plan = Plan { seed: number, connections: 32, habits, case, time: Duration::from_secs(60) };
        let ran = run(server.address, &plan);
        assert!(
            ran.verdict.is_unrefuted(),
            "case {number}: {:?}, after {} events, {} turns",
            ran.verdict,
            ran.events.len(),
            ran.turns
        );
        count +=
            ran.events.iter().filter(|event| matches!(event, Event::Sent(..) | Event::Received(..))).count();
        medians.push(ran.median_outstanding());
        if std::env::var("VERBOSE").is_ok() {
            println!("case {number}: {} events, {} turns, {:?}", ran.events.len(), ran.turns, ran.thinking);
        }
        (thinking, turns, bytes) = (thinking + ran.thinking, turns + ran.turns, bytes.max(ran.bytes));
    }
    medians.sort_unstable();
    println!(
        "{count} messages in {number} cases, {:?} in all, {thinking:?} judging, {turns} turns, {bytes} bytes, median {} outstanding",
        start.elapsed(),
        medians[medians.len() / 2]
    );
}
