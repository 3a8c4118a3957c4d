//! A published map is not refuted, and every race of the small cache is.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a panic is a failing test, and the figures are worth a look"
)]

mod small;

use std::time::Duration;

use cache::{Map, Op};
use confute_test::prelude::*;
use dashmap::DashMap;
use small::{Race, Small};

/// The traffic: few keys, and values that mostly differ.
fn mix() -> Mix<Op> {
    Mix::new()
        .names(3)
        .kind(3, |draw| Op::Get(draw.name()))
        .kind(2, |draw| Op::Put(draw.name(), draw.below(1_000).cast_signed()))
        .kind(2, |draw| Op::GetOrPut(draw.name(), draw.below(1_000).cast_signed()))
        .kind(2, |draw| Op::Add(draw.name(), 1_000 + draw.below(1_000).cast_signed()))
        .kind(2, |draw| Op::Remove(draw.name()))
}

/// Performs a call on a map of the crate `dashmap`.
fn on_dashmap(map: &DashMap<Name, i64>, op: &Op) -> Op {
    Op::from(match op {
        Op::Get(key) => map.get(key).map(|value| *value),
        Op::Put(key, value) => map.insert(key.clone(), *value),
        Op::GetOrPut(key, value) => Some(*map.entry(key.clone()).or_insert(*value)),
        Op::Add(key, more) => {
            let mut entry = map.entry(key.clone()).or_insert(0);
            *entry += more;
            Some(*entry)
        }
        Op::Remove(key) => map.remove(key).map(|(_, value)| value),
        other => return other.clone(),
    })
}

fn dashmap(calls: u64) {
    let called = confute_test::calls(Map, mix(), DashMap::new, on_dashmap).count(calls).run();
    println!("{called:?}");
    assert!(called.calls >= calls && called.unjudged == 0, "{called:?}");
    assert!(called.overlapping > calls / 1_000, "the threads hardly met: {called:?}");
}

#[test]
fn dashmap_is_not_refuted() {
    dashmap(20_000);
}

#[test]
#[ignore = "a million calls take minutes"]
fn dashmap_is_not_refuted_in_a_million_calls() {
    dashmap(1_000_000);
}

#[test]
fn the_small_cache_is_not_refuted() {
    let called = confute_test::calls(Map, mix(), || Small::new(None), Small::call).count(5_000).run();
    assert_eq!(called.unjudged, 0, "{called:?}");
}

/// Checks that a race is found, blamed on this rule, and reduced. On a busy machine a race shows too rarely to be reduced each
/// time.
fn refutes(race: Race, rule: &str) {
    let is_reduced = (1..=3).any(|seed| {
        let test = confute_test::calls(Map, mix(), move || Small::new(Some(race)), Small::call);
        let refuted = test.seed(seed).max_time(Duration::from_mins(1)).try_run().unwrap().unwrap_err();
        println!("{refuted}");
        assert!(refuted.rules().contains(&rule), "{refuted}");
        refuted.size() <= 4
    });
    assert!(is_reduced, "the race was found, but not reduced");
}

#[test]
fn two_winners_are_refuted() {
    refutes(Race::TwoWinners, "cache/one-winner");
}

#[test]
fn a_lost_addition_is_refuted() {
    refutes(Race::LostAddition, "cache/counts-all");
}

#[test]
fn a_stale_entry_is_refuted() {
    refutes(Race::StaleEntry, "cache/fresh");
}

/// A call that panics ends the test with the request, and no thread is left waiting.
#[test]
fn a_call_that_panics() {
    let call = |full: &bool, op: &Op| {
        assert!(!*full || !matches!(op, Op::Put(..)), "no room");
        Op::Nothing
    };
    let why = confute_test::calls(Map, mix(), || true, call).try_run().err().unwrap();
    assert!(why.contains("put") && why.contains("no room"), "{why}");
}
