//! Merging is a union: the order, the grouping and the repetition of merges do not matter, and nothing is lost.

use confute::lang::Level;
use proptest::prelude::*;

use super::evidence::Evidence;
use super::fabricated::{record, violation};
use super::{Judge, Merge, PartState, Question};
use crate::{Conclusion, Exit, ExperimentRecord, RunRecord, Shard, Standing, Tally};

/// Merges records, each from a folder of its own.
fn merged(records: &[(RunRecord, String)]) -> Merge {
    let mut merge = Merge::default();
    for (record, folder) in records {
        merge.add(record.clone(), folder).unwrap();
    }
    merge
}

/// Judge that knows no model.
fn nothing(_: &Question<'_>) -> bool {
    false
}

/// Judge for whom a rule explains the cases of some lengths, and two rules together those of others.
fn some(question: &Question<'_>) -> bool {
    let has = |rule| question.broken.contains(rule);
    match question.evidence.events {
        2 => has("rule/0"),
        4 => has("rule/1"),
        _ => has("rule/0") && has("rule/2"),
    }
}

/// Returns the record of a merge as text.
fn text(merge: &Merge, judge: Judge<'_>) -> String {
    serde_json::to_string(&merge.record(judge)).unwrap()
}

/// Stores the record of a merge, reads it, and adds it to another merge.
fn add_again(to: &mut Merge, from: &Merge, judge: Judge<'_>) {
    let Some(record) = from.record(judge) else { return };
    let stored = serde_json::to_string(&record).unwrap();
    to.add(serde_json::from_str(&stored).unwrap(), "merged").unwrap();
}

fn records() -> impl Strategy<Value = Vec<(RunRecord, String)>> {
    // Few identities, shards and rules, so that runs meet in all ways: the same run in two states, a shard twice, two
    // campaigns, one rule that explains what another one is also named after.
    let found = (
        prop::collection::vec(0_usize..3, 1..3),
        1_usize..4,
        prop::collection::vec(0_u64..9, 1..4),
        0_usize..3,
    );
    let run =
        (0..6, prop::option::of(0_u64..3), 7_u64..9, 0..3, prop::collection::vec(found, 0..3), 0_u64..5);
    prop::collection::vec(run, 0..7).prop_map(|runs| {
        runs.into_iter()
            .map(|(id, shard, seed, state, found, cases)| {
                let shard = shard.map(|index| Shard { index, of: 3 });
                let mut record = record(&format!("run-{id}"), shard, seed);
                for (number, (mut rules, requests, cases, standing)) in found.into_iter().enumerate() {
                    rules.sort_unstable();
                    rules.dedup();
                    let mut one = violation(number + 1, &rules, requests, &cases);
                    one.standing = [Standing::Refutes, Standing::Known, Standing::Undecided][standing];
                    record.violations.push(one);
                }
                record.notes.stopped = state == 0;
                record.tally.cases += cases;
                record.conclusion = match state {
                    0 => Conclusion::Inconclusive("stopped".to_owned()),
                    _ if record.standing(Standing::Refutes).next().is_some() => Conclusion::Refuted,
                    _ => Conclusion::Unrefuted,
                };
                record.remarks.push(format!("remark {cases}"));
                (record, format!("folder-{id}-{cases}"))
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_a_union(
        all in records(),
        first in 0_usize..7,
        second in 0_usize..7,
        order in any::<u64>(),
        knows in any::<bool>(),
    ) {
        let judge: Judge<'_> = if knows { &some } else { &nothing };
        let whole = text(&merged(&all), judge);
        // Commutative: another order, which follows from a number.
        let mut shuffled = all.clone();
        shuffled.sort_by_key(|(record, folder)| {
            let bytes = record.head.id.bytes().chain(folder.bytes());
            bytes.fold(order, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
        });
        prop_assert_eq!(&text(&merged(&shuffled), judge), &whole);
        // Associative, through stored records: parts that overlap are merged by themselves first.
        let (first, second) = (first.min(all.len()), second.min(all.len()));
        let (low, high) = (first.min(second), first.max(second));
        let mut grouped = Merge::default();
        for part in [&all[low..], &all[..high]] {
            add_again(&mut grouped, &merged(part), judge);
        }
        prop_assert_eq!(&text(&grouped, judge), &whole);
        // Idempotent: everything again, as it was and as merged.
        let mut twice = merged(&all);
        add_again(&mut twice, &merged(&all), judge);
        twice.merge(merged(&shuffled));
        prop_assert_eq!(&text(&twice, judge), &whole);
    }

    /// Nothing that a run of the campaign found is missing in the list: one of the rules is named, or all rules of the list
    /// together explain it.
    #[test]
    fn nothing_found_is_lost(all in records(), knows in any::<bool>()) {
        let judge: Judge<'_> = if knows { &some } else { &nothing };
        let Some(record) = merged(&all).record(judge) else { return Ok(()) };
        let broken = record.violations.iter().filter(|one| one.named().len() == 1);
        let broken = broken.flat_map(|one| &one.named()[0].rules).map(|rule| &**rule).collect();
        let main = Merge::campaign_of(&all.iter().find(|(one, _)| {
            let key = Merge::campaign_of(one);
            record.merged.as_ref().unwrap().campaigns[0].key == key
        }).unwrap().0);
        for (run, _) in all.iter().filter(|(run, _)| Merge::campaign_of(run) == main) {
            for one in &run.violations {
                let named = |other: &crate::Violation| {
                    other.named().iter().all(|set| one.named().iter().any(|own| own.rules == set.rules))
                };
                let evidence = Evidence::of(one);
                let (model, settings) = (&*record.model, &record.settings);
                let question =
                    Question { model, settings, server: "", evidence: &evidence, broken: &broken };
                prop_assert!(record.violations.iter().any(named) || judge(&question), "{:?}", one.named());
                if one.standing == Standing::Refutes {
                    prop_assert_eq!(&record.conclusion, &Conclusion::Refuted);
                }
            }
        }
    }
}

fn shard(index: u64) -> RunRecord {
    let mut record = record(&format!("run-{index}"), Some(Shard { index, of: 4 }), 7);
    record.plan.cases = Some(40);
    record
}

/// Merges shards, each from a folder named after its number.
fn merge_of(shards: &[RunRecord]) -> RunRecord {
    let all: Vec<_> =
        shards.iter().enumerate().map(|(place, one)| (one.clone(), format!("out/{place}"))).collect();
    merged(&all).record(&nothing).unwrap()
}

#[test]
fn counts_are_added() {
    let all = merge_of(&[0, 1, 2, 3].map(shard));
    assert_eq!((all.tally.cases, all.figures.answers, all.branches[0].1), (40, 120, 12));
    assert_eq!(all.conclusion, Conclusion::Unrefuted);
    assert_eq!(all.merged.unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_missing_shard_makes_the_whole_inconclusive_unless_something_refutes() {
    let mut shards = [0, 2].map(shard).to_vec();
    let all = merge_of(&shards);
    assert_eq!(all.conclusion, Conclusion::Inconclusive("missing: shards 1, 3 of 4".to_owned()));
    shards[0].violations.push(violation(1, &[4], 2, &[8]));
    shards[0].conclusion = Conclusion::Refuted;
    let all = merge_of(&shards);
    assert_eq!(Exit::from(&all.conclusion), Exit::Refuted);
    assert_eq!(all.merged.unwrap().problems, ["missing: shards 1, 3 of 4"]);
}

/// A shard whose time was over before it had run its cases is named; the verdict stands, as in a run of all cases.
#[test]
fn a_shard_that_ran_some_of_its_cases_is_named() {
    let mut shards = [0, 1, 2, 3].map(shard);
    shards[2].tally = Tally { cases: 7, unrefuted: 7, stopped: 1, ..Tally::default() };
    let all = merge_of(&shards);
    assert_eq!(all.conclusion, Conclusion::Unrefuted);
    let expected =
        "shortened: shard 2 of 4 (out/2) ran 6 of its 10 cases: its time was over, or it had found enough";
    assert_eq!(all.merged.unwrap().problems, [expected]);
}

#[test]
fn interrupted_doubled_and_foreign_runs_are_named() {
    let mut shards = [0, 1, 2, 3].map(shard).to_vec();
    shards[2].notes.stopped = true;
    shards[2].tally.cases = 4;
    let mut again = shard(1);
    again.head.id = "another".to_owned();
    // A violation that only the run showed that is not counted.
    again.notes.stopped = true;
    again.violations.push(violation(1, &[5], 2, &[1]));
    shards.push(again);
    let mut foreign = shard(3);
    (foreign.plan.seed, foreign.head.id) = (8, "foreign".to_owned());
    foreign.violations.push(violation(1, &[6], 2, &[3]));
    shards.push(foreign);
    let all = merge_of(&shards);
    let merged = all.merged.as_ref().unwrap();
    assert_eq!(
        merged.problems,
        [
            "interrupted: shard 2 of 4 (out/2) after 4 cases; its command with `--resume` completes it",
            "doubled: shard 1 of 4 was run 2 times, and out/1 counts (of the others only violations): out/4",
            "foreign: out/5: of another campaign (seed 8 instead of 7); not counted",
        ]
    );
    assert_eq!(all.violations.iter().map(|one| one.named_rules()).collect::<Vec<_>>(), [["rule/5"]]);
    assert_eq!(all.tally.cases, 34);
    assert_eq!(merged.parts.iter().filter(|part| part.own.state == PartState::Interrupted).count(), 2);
}

/// The proven rule explains the occurrences that it explains among others.
#[test]
fn the_same_cause_is_one_violation() {
    let mut shards = [0, 1, 2, 3].map(shard);
    shards[0].violations.push(violation(1, &[1, 2], 1, &[0]));
    shards[1].violations.push(violation(1, &[2], 3, &[1, 5]));
    shards[2].violations.push(violation(1, &[2], 2, &[2]));
    let all = merge_of(&shards);
    let [one] = &all.violations[..] else { panic!("{:?}", all.violations.len()) };
    assert_eq!((one.named_rules(), one.requests(), one.times), (vec!["rule/2"], 2, 4));
    let places: Vec<_> = one.occurrences.iter().map(|one| (one.run.unwrap(), one.case.unwrap())).collect();
    assert_eq!(places, [(0, 0), (1, 1), (1, 5), (2, 2)]);
    let shapes: Vec<_> = all.merged.unwrap().causes.iter().flat_map(|one| one.shapes.clone()).collect();
    let shapes: Vec<_> = shapes.iter().map(|one| &*one.shape).collect();
    assert_eq!(shapes, ["c0: PUT 204", "c0: PUT 204 PUT 204", "c0: PUT 204 PUT 204 PUT 204"]);
}

/// Merges shards by this judge. Returns the rules of the violations with the numbers of their cases, and what is explained.
fn judged(shards: &[RunRecord], judge: Judge<'_>) -> (Vec<(String, u64)>, Vec<String>) {
    let all: Vec<_> = shards.iter().map(|one| (one.clone(), one.head.id.clone())).collect();
    let all = merged(&all).record(judge).unwrap();
    let told = all.violations.iter().map(|one| (one.named_rules().join(" | "), one.times)).collect();
    (told, all.merged.unwrap().explained)
}

/// A shard does not know which rules others found broken. The merge does, as a single run would.
#[test]
fn rules_that_other_shards_found_broken_explain_a_violation() {
    let mut shards = [0, 1, 2, 3].map(shard);
    shards[0].violations.push(violation(1, &[3], 2, &[0]));
    for (index, shard) in (0..).zip(&mut shards).skip(1) {
        shard.violations.push(violation(1, &[1], 1, &[index]));
    }
    let list = |told: &[(&str, u64)]| {
        told.iter().map(|(name, times)| (String::from(*name), *times)).collect::<Vec<_>>()
    };
    let by_first = |question: &Question<'_>| question.broken.contains("rule/1");
    let (told, explained) = judged(&shards, &by_first);
    assert_eq!(told, list(&[("rule/1", 4)]));
    let expected = "rule/3 (level must): explained by rule/1, which other cases show to be broken";
    assert_eq!(explained, [expected]);
    // Of two that explain each other the one stays that more runs showed.
    let by_any = |_: &Question<'_>| true;
    assert_eq!(judged(&shards, &by_any).0, list(&[("rule/1", 4)]));
    let by_third = |question: &Question<'_>| question.broken.contains("rule/3");
    let both = list(&[("rule/1", 3), ("rule/3", 1)]);
    assert_eq!(judged(&shards, &by_third).0, both);
    assert_eq!(judged(&shards, &nothing).0, both);
    // A violation that is known, or proves less, does not hide one that refutes.
    for spoil in [
        |one: &mut crate::Violation| one.standing = Standing::Known,
        |one: &mut crate::Violation| one.level = Some(Level::Store),
        |one: &mut crate::Violation| one.incomplete = true,
    ] {
        let mut shards = shards.clone();
        shards[1..].iter_mut().flat_map(|shard| &mut shard.violations).for_each(spoil);
        assert_eq!(judged(&shards, &by_first).0.len(), 2);
    }
    // Nor does one that only experiments narrowed hide one that a single rule explains, but it explains one with alternatives.
    let narrow = |one: &mut crate::Violation| {
        let left = one.diagnoses.clone();
        one.diagnoses.push(violation(1, &[2], 1, &[0]).diagnoses.remove(0));
        one.experiment = Some(ExperimentRecord { set_aside: Vec::new(), left, level: Level::Must });
    };
    let mut narrowed = shards.clone();
    narrowed[1..].iter_mut().flat_map(|shard| &mut shard.violations).for_each(narrow);
    assert_eq!(judged(&narrowed, &by_first).0.len(), 2);
    narrowed[0].violations = vec![violation(1, &[3, 4], 2, &[0])];
    assert_eq!(judged(&narrowed, &by_first).0.len(), 1);
    // All rules of a set are broken: no judge is needed.
    let mut two = violation(1, &[3], 2, &[0]);
    two.diagnoses[0].rules = vec!["rule/1".to_owned(), "rule/2".to_owned()];
    shards[0].violations = vec![two];
    shards[2].violations.push(violation(2, &[2], 1, &[6]));
    assert_eq!(judged(&shards, &nothing).0, list(&[("rule/1", 4), ("rule/2", 1)]));
}

/// What many runs showed is listed: the evidence of some of them was not kept, and may not be explained.
#[test]
fn what_many_runs_showed_is_listed() {
    for (runs, listed) in [(8, 1), (9, 2)] {
        let mut shards = Vec::new();
        for index in 0..30 {
            let mut run = record(&format!("run-{index}"), Some(Shard { index, of: 30 }), 7);
            let rule = if index < runs { 3 } else { 1 };
            run.violations.push(violation(1, &[rule], 2, &[index]));
            shards.push(run);
        }
        let by_first = |question: &Question<'_>| question.broken.contains("rule/1");
        assert_eq!(judged(&shards, &by_first).0.len(), listed);
    }
}

/// A small version of `cargo xtask scale merge`: of many occurrences of few causes all are listed, and one case of each is kept.
#[test]
fn many_runs_of_few_causes() {
    let (runs, causes) = (300_u64, 12);
    let mut merge = Merge::default();
    for index in 0..runs {
        let mut run = record(&format!("run-{index}"), Some(Shard { index, of: runs }), 7);
        for number in 0..10 {
            let cause = (index as usize + number) % causes;
            let case = index + runs * number as u64;
            run.violations.push(violation(number + 1, &[cause], 2 + (index as usize + cause) % 3, &[case]));
        }
        merge.add(run, &index.to_string()).unwrap();
    }
    let all = merge.record(&nothing).unwrap();
    assert_eq!(all.violations.len(), causes);
    assert_eq!(all.violations.iter().map(|one| one.times).sum::<u64>(), runs * 10);
    assert_eq!(all.violations.iter().map(|one| one.occurrences.len()).sum::<usize>(), runs as usize * 10);
    assert!(all.violations.iter().all(|one| one.requests() == 2));
    assert!(all.merged.unwrap().causes.iter().all(|one| one.smallest.is_none() && one.shapes.len() == 3));
}

/// A model that breaks the rules of the language proves nothing, in any shard.
#[test]
fn a_mistake_of_the_model_takes_precedence() {
    let mut shards = [0, 1, 2, 3].map(shard);
    shards[0].violations.push(violation(1, &[4], 2, &[8]));
    shards[3].notes.mistake = Some("turn opened a cell after a read".to_owned());
    let all = merge_of(&shards);
    assert_eq!(all.conclusion, Conclusion::Inconclusive("out/3: turn opened a cell after a read".to_owned()));
}
