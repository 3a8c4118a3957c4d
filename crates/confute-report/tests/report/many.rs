//! Reports of several violations: the table, brief texts, and experiments.

use confute::Diagnosis;
use confute::lang::Level;
use confute::trace::Event;
use confute_drive::{Experiment, Finding, SetAside};
use confute_record::{ExperimentKind, Standing};
use confute_report::summary::{self, Detail, Manner};
use confute_report::violation::BRIEF;
use confute_run::Secrets;
use serde_json::json;

use crate::fabricated::{HOSTILE, finding, run};
use crate::files::{check_junit, check_summary, of};
use crate::protocol::{READ_CURRENT, SAYS_OK, SERVES, SET_LASTS};
use crate::{Ran, written};

fn diagnosis(rule: &'static str, level: Level) -> Diagnosis {
    Diagnosis { rules: vec![rule], deviations: 1, level }
}

/// Returns a violation of two rules, the weaker of which an experiment set aside.
fn narrowed(number: usize, kind: ExperimentKind) -> Finding {
    let found = finding(number, 6, 1, "", true);
    let weak = diagnosis(READ_CURRENT.name, Level::Store);
    let strong = diagnosis(SET_LASTS.name, Level::Must);
    let set_aside = SetAside {
        rules: weak.rules.clone(),
        kind,
        exchange: "get case.0 → value 5".to_owned(),
        trace: found.counterexample.trace.clone(),
    };
    let experiment =
        Experiment { set_aside: vec![set_aside], left: vec![strong.clone()], level: Level::Must };
    Finding { diagnoses: vec![strong, weak], experiment: Some(experiment), ..found }
}

/// Returns a violation of this rule and level.
fn of_level(number: usize, rule: &'static str, level: Level) -> Finding {
    Finding { diagnoses: vec![diagnosis(rule, level)], level: Some(level), ..finding(number, 6, 2, "", true) }
}

fn text_of(ran: &Ran, detail: Detail) -> String {
    let manner = Manner { detail, ..Manner::default() };
    let mut text = Vec::new();
    summary::write(&ran.record(), manner, &mut text).unwrap();
    anstream::adapter::strip_str(&String::from_utf8(text).unwrap()).to_string()
}

/// Joins all lines into one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text about each violation, without the table, the verdict and what follows.
fn each(text: &str) -> Vec<&str> {
    let (_, rest) = text.split_once("\n\n").unwrap();
    let (violations, _) = rest.rsplit_once("\n\n").unwrap();
    violations.split("\n\n").collect()
}

#[test]
fn an_experiment_is_a_statement_of_its_own() {
    let comparison = ExperimentKind::Comparison(5);
    let ran = run(vec![narrowed(1, comparison)]);
    let text = flat(&text_of(&ran, Detail::Brief));
    assert!(text.starts_with("violation 1: line/set-lasts (level store, must by experiment)"), "{text}");
    assert!(text.contains("= required: A set that was confirmed stays."), "{text}");
    assert!(!text.contains("A get answers with the current value."), "{text}");
    let sentence = "= narrowed: By experiment, in a variant of the case: get case.0 → value 5, in 5 of 5 runs. A server that \
                    breaks line/read-current would have responded otherwise here too, so this explanation is set aside.";
    assert!(text.contains(sentence), "{text}");
    // Everything is there with -v.
    let text = flat(&text_of(&ran, Detail::Full));
    assert!(text.contains("A get answers with the current value.") && text.contains(sentence), "{text}");

    // An experiment that leaves the level as it is.
    let mut same = narrowed(1, ExperimentKind::Extension);
    same.level = Some(Level::Must);
    let text = flat(&text_of(&run(vec![same]), Detail::Brief));
    assert!(text.starts_with("violation 1: line/set-lasts (level must, narrowed by experiment)"), "{text}");
    assert!(text.contains("= narrowed: By experiment, behind the case: get case.0 → value 5."), "{text}");
    let control = text_of(&run(vec![narrowed(1, ExperimentKind::Control(20))]), Detail::Brief);
    let sentence = "By experiment: the case failed in 20 of 20 runs; with get case.0 → value 5 in place of the suspicious \
                    request, nothing had changed in any of 20. So it did not change by itself, and line/read-current is \
                    set aside.";
    assert!(flat(&control).contains(sentence), "{control}");
}

#[test]
fn what_other_cases_exclude_is_no_experiment() {
    let mut races = narrowed(1, ExperimentKind::OtherCases(3));
    races.level = Some(Level::Must);
    let ran = run(vec![races]);
    let text = flat(&text_of(&ran, Detail::Brief));
    assert!(text.starts_with("violation 1: line/set-lasts (level must, narrowed by other cases)"), "{text}");
    let sentence = "3 further races, one of which ended with get case.0 → value 5, are explained by the other explanations, and \
                    not by line/read-current: one cause is enough for all, so this explanation is set aside.";
    assert!(text.contains(sentence) && !text.contains("xperiment"), "{text}");
    let summary = check_summary(&written("races", &ran));
    let out = &summary["findings"][0]["experiment"]["set_aside"][0];
    assert_eq!((&out["kind"], &out["runs"]), (&json!("other_cases"), &json!(3)));
}

#[test]
fn programs_read_experiments_too() {
    let folder = written("narrowed", &run(vec![narrowed(1, ExperimentKind::Control(20))]));
    let summary = check_summary(&folder);
    let about = &summary["findings"][0];
    assert_eq!((&about["level"], &about["blame"][1]["level"]), (&json!("store"), &json!("store")));
    let experiment = &about["experiment"];
    assert_eq!(
        (&experiment["level"], &experiment["left"][0]["rules"]),
        (&json!("must"), &json!(["line/set-lasts"]))
    );
    let out = &experiment["set_aside"][0];
    assert_eq!((&out["kind"], &out["runs"]), (&json!("control"), &json!(20)));
    assert_eq!(
        (&out["rules"], &out["exchange"]),
        (&json!(["line/read-current"]), &json!("get case.0 → value 5"))
    );
    assert!(out["events"].as_array().is_some_and(|events| events.len() > 2), "{out:#}");
    assert_eq!((&summary["by_experiment"], &about["command"]), (&json!(false), &json!(null)));
    // The rule that is left fails; the other is not reported as respected.
    let cases = check_junit(&folder);
    let (what, message) = of(SET_LASTS.name, &cases);
    assert!(what == "failure" && message.contains("must by experiment"), "{message}");
    let (what, message) = of(READ_CURRENT.name, &cases);
    assert!(what == "skipped" && message.contains("set aside as an explanation"), "{message}");
    // On the page the evidence is beside the proof.
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for part in [
        "violation 1: line/set-lasts (level store, must by experiment)",
        "Experiments",
        "the case failed in 20 of 20 runs",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn secrets_are_in_no_experiment() {
    let mut found = narrowed(1, ExperimentKind::Extension);
    let experiment = found.experiment.as_mut().unwrap();
    let sent = experiment.set_aside[0].trace.iter().find(|event| matches!(event, Event::Sent(..))).unwrap();
    let secret =
        sent.to_string().split_whitespace().find(|word| word.starts_with("case.")).unwrap().to_owned();
    experiment.set_aside[0].exchange = format!("get {secret} → value 5");
    Secrets::new([&*secret].into_iter()).clean_finding(&mut found);
    let out = &found.experiment.unwrap().set_aside[0];
    assert_eq!(out.exchange, "get [secret] → value 5");
    assert!(out.trace.len() > 2 && out.trace.iter().all(|event| !event.to_string().contains(&secret)));
}

/// The proven level decides, unless the plan says otherwise; a warning of the proof stays one by default.
#[test]
fn experiments_refute_only_if_asked_to() {
    let all = || vec![narrowed(1, ExperimentKind::Comparison(5)), of_level(2, SAYS_OK.name, Level::Should)];
    let mut ran = run(all());
    ran.plan.level = Level::Must;
    ran.outcome.conclude_again(&ran.plan);
    let record = ran.record();
    assert_eq!(record.violations[0].standing, Standing::Warning);
    let text = text_of(&ran, Detail::Brief);
    assert!(!text.contains("refuted: "), "{text}");
    assert!(text.contains("`--by-experiment` also counts warning 1"), "{text}");
    ran.plan.by_experiment = true;
    ran.outcome.conclude_again(&ran.plan);
    let record = ran.record();
    assert!(record.plan.by_experiment);
    assert_eq!(
        record.violations.iter().map(|one| one.standing).collect::<Vec<_>>(),
        [Standing::Refutes, Standing::Warning]
    );
    let text = text_of(&ran, Detail::Brief);
    assert!(text.contains("refuted: ") && !text.contains("also counts"), "{text}");
    assert_eq!(check_summary(&written("by-experiment", &ran))["by_experiment"], json!(true));
}

#[test]
fn several_violations_are_a_table() {
    let found = vec![
        of_level(1, SET_LASTS.name, Level::Must),
        narrowed(2, ExperimentKind::Comparison(5)),
        Finding { known: true, ..of_level(3, READ_CURRENT.name, Level::Store) },
        of_level(4, SERVES.name, Level::Steady),
        Finding {
            incomplete: true,
            level: Some(Level::Live),
            shrunk: None,
            ..of_level(5, SET_LASTS.name, Level::Must)
        },
    ];
    let ran = run(found);
    let text = text_of(&ran, Detail::Brief);
    let table = "\
2 violations, 1 known violation, 1 undecided violation and 1 warning, the
strongest level first:
  no  rule, and what it requires               level         requests reproduced
   1  line/set-lasts                           must                 2    9 of 10
      A set that was confirmed stays.
   2  line/set-lasts                           store, must*         2    9 of 10
      A set that was confirmed stays.
   3  line/read-current                        store                2    9 of 10
      known: A get answers with the current value.
   4  line/serves                              steady               2    9 of 10
      warning: Nobody is told that the server is busy.
   5  line/set-lasts                           ≥ live               5          -
      undecided: A set that was confirmed stays.
      *: level by experiment, beside the proven one
      ≥: proven so far; not every rule was tried
      -: the case was not run again
";
    assert!(text.starts_with(table), "{text}");
    // Only those that decide the verdict are told in detail.
    let titles: Vec<&str> = each(&text).iter().map(|text| text.lines().next().unwrap()).collect();
    assert_eq!(
        titles,
        [
            "violation 1: line/set-lasts (level must)",
            "violation 2: line/set-lasts (level store, must by experiment)"
        ]
    );
    assert!(text.contains("by experiment, not line/read-current: in 5 of 5 runs get case.0"), "{text}");
    assert!(text.contains("`-v` prints everything, also what is only in the table"), "{text}");
    // With -v all of them are.
    let text = text_of(&ran, Detail::Full);
    for title in ["\nknown violation 3: ", "\nwarning 4: ", "\nundecided violation 5: "] {
        assert!(text.starts_with(table) && text.contains(title), "{title}: {text}");
    }
    // Where there is no -v, the whole proofs are below the table, and those that do not decide too.
    let text = text_of(&ran, Detail::Whole);
    for part in ["\nviolation 2: ", "\n  = required: ", "\nwarning 4: ", "so this explanation is"] {
        assert!(text.starts_with(table) && text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("`-v`"), "{text}");
    // A single one needs no table.
    let text = text_of(&run(vec![of_level(1, SET_LASTS.name, Level::Must)]), Detail::Brief);
    assert!(text.starts_with("violation 1: line/set-lasts (level must)\n"), "{text}");
}

/// However long the messages, the cases and the lists of rules are, each text is short.
#[test]
fn each_of_several_is_short() {
    let many: Vec<Finding> = (1..=9)
        .map(|number| {
            let text = if number % 2 == 0 { HOSTILE.repeat(3) } else { "some text ".repeat(20) };
            let mut found = finding(number, 3 + 17 * number, number as u32 * 4, &text, number % 3 == 0);
            for rule in [SET_LASTS.name, SAYS_OK.name, SERVES.name].into_iter().take(number % 4) {
                found.diagnoses.push(diagnosis(rule, Level::Must));
            }
            if number > 5 {
                let mut out = narrowed(number, ExperimentKind::Control(20)).experiment.unwrap();
                out.set_aside[0].exchange = format!("get {text} → value {text}");
                found.experiment = Some(out);
            }
            found
        })
        .collect();
    let ran = run(many);
    let text = text_of(&ran, Detail::Brief);
    let each = each(&text);
    assert_eq!(each.len(), 9, "{text}");
    for one in each {
        // An empty line follows each.
        assert!(one.lines().count() < BRIEF, "{} lines: {one}", one.lines().count());
        assert!(one.contains("nothing explains this"), "{one}");
    }
    let long = text.lines().filter(|line| line.chars().count() > 80);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
}
