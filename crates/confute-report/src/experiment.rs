//! Experiments in sentences: the request, the response, and the explanations that it sets aside.

use confute_record::{ExperimentKind, ExperimentRecord, SetAsideRecord};

/// Returns a sentence for each experiment. Unless `in_full`, the sentences do not say why it decides.
pub(crate) fn sentences(experiment: &ExperimentRecord, in_full: bool) -> Vec<String> {
    let mut groups: Vec<(&SetAsideRecord, Vec<String>)> = Vec::new();
    for one in &experiment.set_aside {
        let rules = one.rules.join(" and ");
        let same =
            |(other, _): &&mut (&SetAsideRecord, _)| other.kind == one.kind && other.exchange == one.exchange;
        match groups.iter_mut().find(same) {
            Some((_, list)) => list.push(rules),
            None => groups.push((one, vec![rules])),
        }
    }
    groups.iter().map(|(one, sets)| sentence(one, sets, in_full)).collect()
}

fn sentence(one: &SetAsideRecord, sets: &[String], in_full: bool) -> String {
    let (exchange, rules) = (&one.exchange, sets.join(", or "));
    let are = if sets.len() == 1 { "is" } else { "are" };
    if !in_full {
        // The result comes first: the exchange may be long.
        let seen = match one.kind {
            ExperimentKind::Extension => format!("after the case {exchange}"),
            ExperimentKind::Comparison(runs) => format!("in {runs} of {runs} runs {exchange}"),
            ExperimentKind::Control(runs) => {
                format!(
                    "the case failed in {runs} of {runs} runs, and in none of {runs} with {exchange} in place of the \
                     suspicious request"
                )
            }
            ExperimentKind::OtherCases(cases) => {
                format!(
                    "the other explanations also explain {cases} further races, one of which ended with {exchange}"
                )
            }
        };
        let how = if matches!(one.kind, ExperimentKind::OtherCases(_)) {
            "by other cases"
        } else {
            "by experiment"
        };
        return format!("{how}, not {rules}: {seen}");
    }
    let this = if sets.len() == 1 { "this explanation is" } else { "these explanations are" };
    match one.kind {
        ExperimentKind::Extension => format!(
            "By experiment, behind the case: {exchange}. With as few violations, {rules} explains the case but not this \
             response, so {this} set aside."
        ),
        ExperimentKind::Comparison(runs) => format!(
            "By experiment, in a variant of the case: {exchange}, in {runs} of {runs} runs. A server that breaks {rules} \
             would have responded otherwise here too, so {this} set aside."
        ),
        ExperimentKind::Control(runs) => format!(
            "By experiment: the case failed in {runs} of {runs} runs; with {exchange} in place of the suspicious request, \
             nothing had changed in any of {runs}. So it did not change by itself, and {rules} {are} set aside."
        ),
        ExperimentKind::OtherCases(cases) => format!(
            "{cases} further races, one of which ended with {exchange}, are explained by the other explanations, and not by \
             {rules}: one cause is enough for all, so {this} set aside."
        ),
    }
}
