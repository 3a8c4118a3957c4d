//! One cause is one violation: what turns out to be the same after it was investigated is merged.
//!
//! A race often shows in several ways: two conditional writes that both succeed may look like a lost write, a wrong status, or
//! two winners. Each case names what explains it, "A or B" and "B or C", and experiments that need the same race again rarely
//! tell these apart. If none of the cases proves more than a breach of B does, B is all that has to be wrong with the server,
//! so they are one violation ([`merge_races`]).

use confute::lang::Level;
use confute::trace::Event;
use confute::{Diagnosis, Refutation};
use confute_record::ExperimentKind;

use super::finding::Finding;
use crate::experiment::{Experiment, SetAside};

/// Merges each finding with those that everything it is named after explains as well, and that prove no more: that anything
/// else was broken is not proven. If experiments left these explanations, a finding that also names a stronger rule is kept:
/// experiments are no proof, and the stronger rule would not be named at all.
pub(super) fn merge(findings: &mut Vec<Finding>) {
    let mut place = 0;
    while place < findings.len() {
        if findings[place].named().is_empty() {
            place += 1;
            continue;
        }
        let one = findings.remove(place);
        let named: Vec<Diagnosis> = one.named().to_vec();
        let strongest = named.iter().map(|set| set.level).max();
        let is_proven = one.diagnoses.len() == named.len();
        let is_same = |other: &Finding| {
            let explains = |set: &Diagnosis| other.named().iter().any(|known| known.rules == set.rules);
            let names_stronger = other.named().iter().any(|set| Some(set.level) > strongest);
            let proves_no_more = other.level <= one.level && !other.incomplete && !one.incomplete;
            named.iter().all(explains) && proves_no_more && (is_proven || !names_stronger)
        };
        let before = findings[..place].iter().filter(|other| is_same(other)).count();
        let (same, others): (Vec<_>, Vec<_>) = std::mem::take(findings).into_iter().partition(is_same);
        let (occurrences, times) = one.with_occurrences_of(&same);
        // Of the cases that prove as much, the one with the fewest requests is shown.
        let as_good = same.into_iter().filter(|other| {
            other.level == one.level
                && other.named().len() == named.len()
                && other.shown_requests() < one.shown_requests()
        });
        let best = as_good.min_by_key(Finding::shown_requests).unwrap_or(one);
        *findings = others;
        place -= before;
        findings.insert(place, Finding { times, occurrences, ..best });
        place += 1;
    }
}

/// Drops each finding that breaches of several rules explain, if each of these rules is what another finding is named
/// after: that anything else was broken is not proven. The other one of the strongest level counts its cases.
pub(super) fn fold_known(findings: &mut Vec<Finding>) {
    let is_named_after = |one: &Finding, rule: &str| {
        matches!(one.named(), [only] if only.rules == [rule]) && !one.incomplete && !one.known
    };
    for place in (0..findings.len()).rev() {
        let one = &findings[place];
        let others = |rule: &&str| {
            (0..findings.len()).find(|other| *other != place && is_named_after(&findings[*other], rule))
        };
        let known = one.named().iter().filter(|set| set.rules.len() > 1).find_map(|set| {
            set.rules.iter().map(others).collect::<Option<Vec<usize>>>().filter(|_| !one.incomplete)
        });
        let strongest = known.and_then(|known| known.into_iter().max_by_key(|other| findings[*other].level));
        // A rule that is stronger than all of these would not be named at all.
        let hides_none =
            |other: &usize| one.named().iter().all(|set| Some(set.level) <= findings[*other].level);
        if let Some(strongest) = strongest.filter(hides_none) {
            findings[strongest].times += findings[place].times;
            findings.remove(place);
        }
    }
}

/// Merges races of level store that several rules explain, if one rule of that level explains them all. They are named after
/// what explains every one of them.
///
/// Sequential violations are left alone: experiments tell their explanations apart.
pub(super) fn merge_races(findings: &mut Vec<Finding>) {
    while let Some(same) = commonest(findings) {
        let mut races = Vec::new();
        for place in same.iter().rev() {
            races.push(findings.remove(*place));
        }
        races.reverse();
        findings.insert(same[0], merged(races));
    }
}

/// Returns the indexes of the races that the most common rule explains, if there are several.
fn commonest(findings: &[Finding]) -> Option<Vec<usize>> {
    let open: Vec<usize> = (0..findings.len()).filter(|place| is_open_race(&findings[*place])).collect();
    let explained = |set: &Diagnosis| -> Vec<usize> {
        open.iter().copied().filter(|place| findings[*place].is_named_after(set)).collect()
    };
    let sets = open.iter().flat_map(|place| findings[*place].named());
    let groups = sets.filter(|set| set.level == Level::Store && set.rules.len() == 1).map(explained);
    // Of groups of the same size the first one is taken.
    let most = groups.reduce(|most, other| if other.len() > most.len() { other } else { most });
    most.filter(|most| most.len() > 1)
}

/// Returns `true` if the violation is a race that several rules explain and that proves no more than level store.
fn is_open_race(finding: &Finding) -> bool {
    let by_experiment = finding.experiment.as_ref().map(|experiment| experiment.level);
    let is_store =
        finding.level == Some(Level::Store) && by_experiment.is_none_or(|level| level <= Level::Store);
    is_store && !finding.known && !finding.incomplete && finding.named().len() > 1 && is_race(finding)
}

/// Returns `true` if two requests of the case that is shown were under way at the same time.
fn is_race(finding: &Finding) -> bool {
    let mut open = 0_u32;
    finding.shown().trace.iter().any(|event| {
        match event {
            Event::Sent(..) => open += 1,
            Event::Received(..) => open = open.saturating_sub(1),
            _ => {}
        }
        open > 1
    })
}

/// Merges these races. Of their cases, one that showed again is kept, and of those the smallest.
fn merged(mut races: Vec<Finding>) -> Finding {
    let merit = |one: &Finding| {
        let shows = one.shown().again.is_some_and(|(shown, _)| shown > 0);
        (!shows, one.shown_requests())
    };
    let best = (0..races.len()).min_by_key(|place| merit(&races[*place])).unwrap_or(0);
    let best = races.remove(best);
    let explains_all = |set: &&Diagnosis| races.iter().all(|other| other.is_named_after(set));
    let (left, out): (Vec<&Diagnosis>, Vec<&Diagnosis>) = best.named().iter().partition(explains_all);
    let level = left.iter().map(|set| set.level).min().unwrap_or(Level::Store);
    let (occurrences, times) = best.with_occurrences_of(&races);
    let mut set_aside = best.experiment.as_ref().map(|one| one.set_aside.clone()).unwrap_or_default();
    set_aside.extend(out.into_iter().filter_map(|set| {
        let unexplained = || races.iter().filter(|other| !other.is_named_after(set));
        Some(SetAside {
            rules: set.rules.clone(),
            kind: ExperimentKind::OtherCases(unexplained().map(|other| other.times as u32).sum()),
            exchange: seen(unexplained().next()?),
            trace: unexplained().next()?.shown().trace.to_vec(),
        })
    }));
    let left = left.into_iter().cloned().collect();
    Finding { experiment: Some(Experiment { set_aside, left, level }), times, occurrences, ..best }
}

/// Returns what was seen in the case that is shown.
fn seen(finding: &Finding) -> String {
    let Refutation { seen, .. } = finding.shown().refutation;
    seen.clone()
}

#[cfg(test)]
mod tests {
    use super::super::finding::tests::{MUST, OTHER, STORE, case};
    use super::*;

    const WINNER: &str = "s/one-winner";
    const LASTS: &str = "s/put-lasts";

    fn titles(findings: &[Finding]) -> Vec<(Vec<&str>, u64)> {
        let title = |one: &Finding| (one.named().iter().map(|set| set.rules[0]).collect(), one.times);
        findings.iter().map(title).collect()
    }

    fn merged(mut findings: Vec<Finding>) -> Vec<Finding> {
        merge_races(&mut findings);
        findings
    }

    #[test]
    fn races_that_one_rule_explains_are_one_violation() {
        let created = case(&[&[MUST], &[WINNER]], 7);
        let lost = case(&[&[OTHER], &[LASTS], &[WINNER], &[STORE]], 2);
        let gone = case(&[&[WINNER], &[STORE]], 92);
        let found = merged(vec![created.clone(), lost.clone(), gone.clone()]);
        assert_eq!(titles(&found), [(vec![WINNER], 3)]);
        let experiment = found[0].experiment.as_ref().unwrap();
        assert_eq!((found[0].requests(), experiment.level), (2, Level::Store));
        let out: Vec<_> = experiment.set_aside.iter().map(|one| (one.rules[0], one.kind)).collect();
        let others = ExperimentKind::OtherCases;
        assert_eq!(out, [(OTHER, others(2)), (LASTS, others(2)), (STORE, others(1))]);
        // What every case is explained by stays.
        assert_eq!(titles(&merged(vec![lost.clone(), gone])), [(vec![WINNER, STORE], 2)]);
        // The largest group is merged first, and what is left is compared again.
        let other = case(&[&[LASTS], &[MUST]], 4);
        let found = merged(vec![other.clone(), lost.clone(), created.clone(), other, lost]);
        assert_eq!(titles(&found), [(vec![LASTS], 4), (vec![MUST, WINNER], 1)]);
    }

    #[test]
    fn what_proves_more_or_is_sequential_is_left_alone() {
        let race = case(&[&[MUST], &[STORE]], 5);
        let sequential = case(&[&[OTHER], &[STORE]], 1);
        assert_eq!(merged(vec![race.clone(), sequential]).len(), 2);
        let incomplete = Finding { incomplete: true, ..case(&[&[OTHER], &[STORE]], 5) };
        assert_eq!(merged(vec![race.clone(), incomplete]).len(), 2);
        // That a rule of level must explains both is no reason: the weakest rule is what is proven.
        assert_eq!(merged(vec![race.clone(), case(&[&[MUST], &[LASTS]], 5)]).len(), 2);
        let sharp = Finding {
            experiment: Some(Experiment {
                set_aside: Vec::new(),
                left: vec![race.diagnoses[0].clone()],
                level: Level::Must,
            }),
            ..case(&[&[MUST], &[STORE]], 5)
        };
        assert_eq!(merged(vec![race, sharp]).len(), 2);
    }
}
