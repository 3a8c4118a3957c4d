//! Which rule must have been broken.

use crate::lang::ServerModel;
use crate::network::Network;
use crate::tester::{Options, judge};
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Inconclusive, Verdict};

/// How many rules may be broken together before blame gives up.
const MOST_RULES: usize = 2;
/// Deviations are counted up to this, which stands for any number.
pub(super) const OFTEN: u32 = 5;
/// How many turns one set of rules may take, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;

/// Which rules, relaxed, make a refuted trace explainable: the smallest sets, all of them that need the fewest
/// deviations. Deviations from rules that are relaxed already cost nothing.
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
        let sets: Vec<_> = subsets(rules.len(), size)
            .into_iter()
            .map(|set| set.into_iter().map(|index| &rules[index]).collect::<Vec<_>>())
            .filter(|set| set.iter().all(|rule| !options.relaxed.contains(&rule.name)))
            .collect();
        // The fewer deviations, the less there is to search, and the better the explanation.
        for deviations in size as u32..=OFTEN {
            for set in &sets {
                let mut relaxed = options.relaxed.clone();
                relaxed.extend(set.iter().map(|rule| rule.name));
                let options = Options {
                    relaxed,
                    free: options.relaxed.clone(),
                    deviations: most(deviations),
                    turns: options.turns.min(MOST_TURNS + 200 * events.len() as u64),
                    ..options.clone()
                };
                match judge(model, network, events, &options) {
                    Verdict::Unrefuted => {
                        let names = set.iter().map(|rule| rule.name).collect();
                        let level = set.iter().map(|rule| rule.level).min().expect("a set has a rule");
                        blame.diagnoses.push(Diagnosis { rules: names, deviations, level });
                    }
                    Verdict::Refuted(_) => {}
                    Verdict::Inconclusive(reason) => {
                        blame.incomplete = true;
                        if matches!(reason, Inconclusive::Budget { what: "time", .. }) {
                            return blame;
                        }
                    }
                }
            }
            if !blame.diagnoses.is_empty() {
                return blame;
            }
        }
    }
    blame
}

/// How many deviations to allow.
pub(super) fn most(deviations: u32) -> u32 {
    if deviations >= OFTEN { u32::MAX } else { deviations }
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
