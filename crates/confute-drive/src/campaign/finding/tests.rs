//! Tests of findings: what is one violation, and at which level.

use confute::trace::WireConn;

use super::*;

pub(crate) const MUST: &str = "m/chunks";
pub(crate) const OTHER: &str = "m/own-answer";
pub(crate) const STORE: &str = "s/stays";
const STEADY: &str = "t/steady-tag";
const LIVE: &str = "l/answered";

fn level(rule: &str) -> Level {
    match &rule[..1] {
        "m" => Level::Must,
        "s" => Level::Store,
        "t" => Level::Steady,
        _ => Level::Live,
    }
}

fn diagnosis(rules: &[&'static str]) -> Diagnosis {
    let level = rules.iter().map(|rule| level(rule)).max().unwrap();
    Diagnosis { rules: rules.to_vec(), deviations: rules.len() as u32, level }
}

/// Creates a case of this many requests that these sets of rules explain, and no others.
pub(crate) fn case(sets: &[&[&'static str]], requests: usize) -> Finding {
    let diagnoses: Vec<_> = sets.iter().map(|rules| diagnosis(rules)).collect();
    Finding {
        number: 0,
        level: diagnoses.iter().map(|one| one.level).min(),
        diagnoses,
        incomplete: false,
        counterexample: Counterexample {
            name: format!("{sets:?} {requests}"),
            script: Vec::new(),
            trace: vec![Event::Sent(WireConn(0), AnyMessage::new(0)); requests],
            micros: vec![0; requests],
            refutation: Refutation {
                event: 0,
                seen: String::new(),
                expected: Vec::new(),
                hypotheses: 0,
                more: false,
            },
            raw: Vec::new(),
        },
        case: 0,
        seed: 0,
        relaxed: Vec::new(),
        known: false,
        times: 1,
        occurrences: Vec::new(),
        proof: None,
        shrunk: None,
        experiment: None,
        excerpt: None,
    }
}

/// Creates a case whose blame had no time to try all rules, and proved only this level.
fn incomplete(sets: &[&[&'static str]], proven: Level, requests: usize) -> Finding {
    Finding { incomplete: true, level: Some(proven), ..case(sets, requests) }
}

fn taken(cases: Vec<Finding>) -> Vec<Finding> {
    let mut findings = Findings { list: Vec::new(), smallest: false };
    for case in cases {
        findings.take(case);
    }
    findings.list
}

/// Creates a case of which experiments left only this set of rules.
fn narrowed(sets: &[&[&'static str]], left: &[&'static str], requests: usize) -> Finding {
    let left = vec![diagnosis(left)];
    let experiment = Experiment { set_aside: Vec::new(), level: left[0].level, left };
    Finding { experiment: Some(experiment), ..case(sets, requests) }
}

#[test]
fn what_experiments_name_alike_is_one_violation() {
    let merged = |mut findings: Vec<Finding>| {
        merge(&mut findings);
        let title = |one: &Finding| (one.named()[0].rules[0], one.times, one.requests());
        findings.iter().map(title).collect::<Vec<_>>()
    };
    // Named alike: the case that proves more is shown, or else the shorter one.
    let ambiguous: &[&[&str]] = &[&[MUST], &[STORE]];
    assert_eq!(merged(vec![case(&[&[MUST]], 5), narrowed(ambiguous, &[MUST], 2)]), [(MUST, 2, 5)]);
    assert_eq!(merged(vec![narrowed(ambiguous, &[MUST], 2), case(&[&[MUST]], 5)]), [(MUST, 2, 5)]);
    let [long, short] = [7, 3].map(|requests| narrowed(ambiguous, &[MUST], requests));
    assert_eq!(merged(vec![long, short]), [(MUST, 2, 3)]);
    // An ambiguous violation that a known one explains is that one.
    let explained = vec![case(&[&[MUST], &[OTHER]], 2), case(&[&[STEADY]], 3), case(&[&[OTHER]], 4)];
    assert_eq!(merged(explained), [(STEADY, 1, 3), (OTHER, 2, 4)]);
    // A weaker proof does not swallow a stronger one, and two ambiguous ones stay two.
    let kept = vec![narrowed(ambiguous, &[STORE], 2), case(&[&[MUST], &[OTHER]], 3)];
    assert_eq!(merged(kept).len(), 2);
    let both = vec![case(&[&[MUST], &[OTHER]], 2), case(&[&[OTHER], &[STORE]], 3)];
    assert_eq!(merged(both).len(), 2);
    // What is named after a weak rule by experiment only does not hide a stronger one, but a weaker one.
    let weak: &[&[&str]] = &[&[STORE], &[STEADY]];
    let hidden = |sets| vec![narrowed(weak, &[STEADY], 2), case(sets, 3)];
    assert_eq!(merged(hidden(&[&[MUST], &[STEADY]])).len(), 2);
    assert_eq!(merged(hidden(&[&[LIVE], &[STEADY]])).len(), 1);
    assert_eq!(merged(vec![narrowed(ambiguous, &[MUST], 2), case(ambiguous, 5)]), [(MUST, 2, 2)]);
}

fn named(findings: &[Finding]) -> Vec<(String, Option<Level>)> {
    let title = |finding: &Finding| {
        finding.diagnoses.iter().map(|one| one.rules.join("+")).collect::<Vec<_>>().join("|")
    };
    findings.iter().map(|finding| (title(finding), finding.level)).collect()
}

/// Returns `true` if every rule of the title explains the case that is shown.
fn fits(finding: &Finding) -> bool {
    let named = |one: &Diagnosis| finding.counterexample.name.contains(&format!("{:?}", one.rules));
    finding.diagnoses.iter().all(named)
}

#[test]
fn incomplete_blame_raises_no_level() {
    let both: &[&[&str]] = &[&[MUST], &[LIVE]];
    let found = taken(vec![case(both, 9), incomplete(&[&[MUST]], Level::Live, 3)]);
    assert_eq!(named(&found), [(format!("{MUST}|{LIVE}"), Some(Level::Live))]);
    assert_eq!(found[0].times, 2);
    assert!(!found[0].refutes(Level::Store) && !found[0].is_undecided(Level::Store) && fits(&found[0]));
    // The other way round, the complete blame decides.
    let found = taken(vec![incomplete(&[&[MUST]], Level::Live, 3), case(both, 9)]);
    assert_eq!(named(&found), [(format!("{MUST}|{LIVE}"), Some(Level::Live))]);
    assert!(fits(&found[0]) && !found[0].incomplete);
}

#[test]
fn complete_blame_does() {
    let found = taken(vec![case(&[&[MUST], &[LIVE]], 3), case(&[&[MUST]], 9)]);
    assert_eq!(named(&found), [(MUST.to_owned(), Some(Level::Must))]);
    assert!(found[0].refutes(Level::Must) && found[0].counterexample.trace.len() == 9);
    // The order makes no difference, and the level also rises if the rule is the same and the case proves
    // more.
    let found = taken(vec![case(&[&[MUST]], 9), case(&[&[MUST], &[LIVE]], 3)]);
    assert_eq!(
        (named(&found), found[0].counterexample.trace.len()),
        (vec![(MUST.to_owned(), Some(Level::Must))], 9)
    );
    let silent = Finding { level: Some(Level::Live), ..case(&[&[MUST]], 3) };
    assert_eq!(named(&taken(vec![silent, case(&[&[MUST]], 9)])), [(MUST.to_owned(), Some(Level::Must))]);
}

#[test]
fn what_is_proven_otherwise_is_not_lost() {
    // All weaker rules were relaxed, and it was still refuted: that is a proof, whatever blame left out.
    let found = taken(vec![case(&[&[MUST], &[LIVE]], 3), incomplete(&[&[MUST]], Level::Must, 9)]);
    assert_eq!(found.len(), 2);
    assert!(!found[0].refutes(Level::Store) && found[1].refutes(Level::Store));
    let silent = Finding { level: Some(Level::Live), ..case(&[&[STORE]], 3) };
    let found = taken(vec![silent, case(&[&[MUST], &[STORE]], 9)]);
    assert!(found.iter().any(|finding| finding.refutes(Level::Store)));
}

#[test]
fn no_rule_found_in_time_does_not_refute() {
    let found = incomplete(&[], Level::Must, 3);
    assert!(!found.refutes(Level::Live) && found.is_undecided(Level::Must));
    // All sets were tried, and none explains it: that refutes.
    let found = Finding { level: Some(Level::Must), ..case(&[], 3) };
    assert!(found.refutes(Level::Must) && !found.is_undecided(Level::Must));
    // A violation that cannot be more than a warning needs no decision.
    assert!(!incomplete(&[&[STEADY]], Level::Live, 3).is_undecided(Level::Store));
    assert!(incomplete(&[&[STEADY]], Level::Live, 3).is_undecided(Level::Steady));
    assert!(incomplete(&[&[MUST]], Level::Store, 3).refutes(Level::Store));
}

#[test]
fn numbers_do_not_depend_on_the_order_of_discovery() {
    let all = || {
        let unproven = Finding { level: None, ..incomplete(&[&[MUST]], Level::Live, 3) };
        let narrowed = Finding {
            experiment: Some(Experiment {
                set_aside: Vec::new(),
                left: vec![diagnosis(&[OTHER])],
                level: Level::Must,
            }),
            ..case(&[&[OTHER], &[STORE]], 3)
        };
        [
            case(&[&[STEADY]], 3),
            unproven,
            case(&[&[STORE]], 3),
            case(&[&[OTHER]], 3),
            narrowed,
            case(&[&[MUST], &[OTHER]], 3),
        ]
    };
    let title = |one: &Finding| (one.number, one.named()[0].rules[0], one.level);
    let expected = [
        (1, MUST, Some(Level::Must)),
        (2, OTHER, Some(Level::Must)),
        (3, OTHER, Some(Level::Store)),
        (4, STORE, Some(Level::Store)),
        (5, STEADY, Some(Level::Steady)),
        (6, MUST, None),
    ];
    for turned in 0..6 {
        let mut findings = Vec::from(all());
        findings.rotate_left(turned);
        number(&mut findings);
        assert_eq!(findings.iter().map(title).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_title_fits_the_case_that_is_shown() {
    let either: &[&[&str]] = &[&[MUST], &[OTHER]];
    for smallest in [false, true] {
        for (one, two) in [(3, 9), (9, 3)] {
            for cases in [
                vec![case(either, one), case(&[&[MUST]], two)],
                vec![case(&[&[MUST]], one), case(either, two)],
                vec![case(either, one), incomplete(&[&[MUST]], Level::Must, two)],
                vec![incomplete(&[&[MUST]], Level::Store, one), case(either, two)],
            ] {
                let mut findings = Findings { list: Vec::new(), smallest };
                for case in cases {
                    findings.take(case);
                }
                assert!(findings.list.iter().all(fits), "{:?}", named(&findings.list));
            }
        }
    }
    let mut found = case(either, 9);
    found.adopt(shrunk(&[&[MUST]]));
    assert_eq!(named(std::slice::from_ref(&found)), [(MUST.to_owned(), Some(Level::Must))]);
    assert_eq!(found.shown().diagnoses, found.diagnoses);
}

pub(crate) fn shrunk(sets: &[&[&'static str]]) -> Shrunk {
    let small = case(sets, 2);
    Shrunk {
        counterexample: small.counterexample,
        diagnoses: small.diagnoses,
        level: small.level,
        incomplete: small.incomplete,
        requests: (9, 2),
        runs: 1,
        again: (1, 1),
        unfinished: false,
    }
}

#[test]
fn a_weak_rule_is_relaxed_for_good_only_if_nothing_else_explains_a_case() {
    let either: &[&[&str]] = &[&[STORE], &[MUST, OTHER]];
    let times =
        |times: usize, sets: &[&[&'static str]]| (0..times).map(|_| case(sets, 5)).collect::<Vec<_>>();
    assert_eq!(taken(times(2, either))[0].remedy(&[]), Remedy::Nothing);
    let found = taken(times(3, either));
    assert_eq!(found[0].remedy(&[]), Remedy::Either([&[STORE], &[MUST, OTHER]]));
    assert_eq!(found[0].level, Some(Level::Store));
    // A case that only the weak rule explains decides, and so does one that it does not explain.
    let relaxed = |rules: &[&'static str], sets: &[&[&'static str]]| Finding {
        relaxed: rules.to_vec(),
        ..case(sets, 5)
    };
    let after_three = |sets, found| {
        let mut cases = times(3, sets);
        cases.push(found);
        taken(cases)
    };
    let found = after_three(either, relaxed(&[MUST, OTHER], &[&[STORE]]));
    assert_eq!(named(&found), [(STORE.to_owned(), Some(Level::Store))]);
    assert_eq!(found[0].remedy(&[]), Remedy::Always(&[STORE]));
    let found = after_three(either, relaxed(&[STORE], &[&[MUST]]));
    assert_eq!(found.len(), 2);
    assert!(found[1].refutes(Level::Must));
    // A weak rule that makes the violation a warning is treated alike: with that rule relaxed the
    // violation is proven.
    let either: &[&[&str]] = &[&[MUST], &[STEADY]];
    let found = taken(times(3, either));
    assert_eq!(found[0].remedy(&[]), Remedy::Either([&[STEADY], &[MUST]]));
    let found = after_three(either, relaxed(&[STEADY], &[&[MUST]]));
    assert_eq!(named(&found), [(MUST.to_owned(), Some(Level::Must))]);
}

#[test]
fn breaches_of_rules_that_are_known_are_no_further_violation() {
    let folded = |mut findings: Vec<Finding>| {
        fold_known(&mut findings);
        findings.iter().map(|one| one.times).collect::<Vec<_>>()
    };
    let both: &[&[&'static str]] = &[&[MUST, OTHER], &[STORE, STEADY]];
    let [one, other] = [&[&[MUST][..]][..], &[&[OTHER][..]][..]];
    assert_eq!(folded(vec![case(one, 2), case(other, 2), case(both, 5)]), [1, 2]);
    assert_eq!(folded(vec![case(one, 2), case(both, 5)]), [1, 1]);
    // A rule that is stronger than the known ones would not be named at all.
    let stronger: &[&[&'static str]] = &[&[STORE, STEADY], &[MUST]];
    let weak = [case(&[&[STORE]], 2), case(&[&[STEADY]], 2), case(stronger, 5)];
    assert_eq!(folded(weak.into()).len(), 3);
}
