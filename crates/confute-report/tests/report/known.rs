//! The baseline: the violations that it excuses, and the claims of a run about it.

use confute::Diagnosis;
use confute::lang::Level;
use confute_run::baseline::Baseline;

use crate::fabricated::{finding, run};
use crate::protocol::{READ_CURRENT, SAYS_OK, SET_LASTS};
use crate::{Ran, written};

/// Returns a run with one violation per set, which any rule of the set explains.
fn blamed(sets: &[&[&'static str]]) -> Ran {
    let found = sets.iter().enumerate().map(|(place, rules)| {
        let mut found = finding(place + 1, 4, 1, "", false);
        let blame =
            |rule: &&'static str| Diagnosis { rules: vec![*rule], deviations: 1, level: Level::Store };
        found.diagnoses = rules.iter().map(blame).collect();
        found
    });
    let mut ran = run(found.collect());
    ran.outcome.relaxed.clear();
    ran.outcome.troubles.clear();
    ran
}

/// Returns the baseline after such a run.
fn baseline(sets: &[&[&'static str]]) -> Baseline {
    let Ran { plan, outcome, .. } = blamed(sets);
    let nothing = Baseline::new("line");
    nothing.updated(&plan, &outcome, &nothing.compared(&plan, &outcome, false))
}

const A: &str = READ_CURRENT.name;
const B: &str = SET_LASTS.name;
const C: &str = SAYS_OK.name;

#[test]
fn what_is_not_known_for_sure_excuses_nothing_that_is() {
    for (known, found, is_known) in [
        (&[A][..], &[A][..], true),
        (&[A], &[A, B], true),
        (&[A, B], &[A, B], true),
        (&[A, B], &[A, B, C], true),
        (&[A, B, C], &[A], false),
        (&[A, B], &[A, C], false),
        (&[A], &[B], false),
    ] {
        let ran = blamed(&[found]);
        assert_eq!(baseline(&[known]).knows(&ran.outcome.findings[0]), is_known, "{known:?} {found:?}");
    }
}

#[test]
fn a_sharper_finding_takes_the_place_of_what_was_known() {
    let (Ran { plan, outcome, .. }, known) = (blamed(&[&[A]]), baseline(&[&[A, B]]));
    let compared = known.compared(&plan, &outcome, false);
    assert_eq!((compared.met, &compared.gone[..], &compared.open[..]), (0, &[][..], &[][..]));
    assert_eq!(known.updated(&plan, &outcome, &compared), baseline(&[&[A]]));
}

#[test]
fn what_is_gone_was_asked_for_to_the_end() {
    let known = baseline(&[&[A], &[B]]);
    let Ran { mut plan, mut outcome, .. } = blamed(&[&[A], &[A, B]]);
    outcome.findings.truncate(1);
    let compared = known.compared(&plan, &outcome, false);
    assert_eq!((compared.met, &compared.gone[..]), (1, &[B.to_owned()][..]));
    assert_eq!((compared.cases, compared.answers), (400, 123_455));
    let open = known.compared(&plan, &outcome, true);
    assert_eq!((&open.gone[..], &open.open[..]), (&[][..], &[B.to_owned()][..]));
    assert_eq!(known.updated(&plan, &outcome, &open), known);
    outcome.relaxed.push(B);
    assert_eq!(known.compared(&plan, &outcome, false), open);
    outcome.relaxed.clear();
    plan.allow.push(B);
    assert_eq!(known.compared(&plan, &outcome, false), open);
}

#[test]
fn what_is_known_is_told_as_such() {
    let mut ran = blamed(&[&[A]]);
    let known = baseline(&[&[A]]);
    ran.beside.baseline = Some(known.compared(&ran.plan, &ran.outcome, false));
    ran.outcome.expect_those(|finding| known.knows(finding), &ran.plan);
    let folder = written("known", &ran);
    let junit = std::fs::read_to_string(folder.join("junit.xml")).unwrap();
    assert!(junit.contains("known violation (--baseline): see violation 1"), "{junit}");
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("known violation 1: ") && !page.contains("warning 1"), "{page}");
    assert!(page.contains("1 known violation seen again"), "{page}");
    let summary = crate::files::check_summary(&folder);
    assert_eq!((&summary["known"], &summary["baseline"]["met"]), (&1.into(), &1.into()));
}
