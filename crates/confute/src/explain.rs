//! Why a trace was refuted: what was expected instead, and which rule must have been broken.

use std::fmt::Debug;

use crate::lang::ServerModel;
use crate::network::Network;
use crate::tester::{Options, Tester, judge};
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Refutation, Verdict};

/// How many rules may be broken together before blame gives up.
const MOST_RULES: usize = 2;
/// Deviations are counted up to this.
const OFTEN: u32 = 5;

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
                    let Some(deviations) = fewest_deviations(model, network, events, options, &relaxed)
                    else {
                        blame.incomplete = true;
                        continue;
                    };
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

/// How often these rules must be broken at least; [`OFTEN`] stands for that many or more. `None` if the budget ran out
/// before that was known.
fn fewest_deviations<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
    relaxed: &[&'static str],
) -> Option<u32>
where
    S::Msg: Clone,
{
    for deviations in 1..OFTEN {
        let options = Options { relaxed: relaxed.to_vec(), deviations, ..options.clone() };
        match judge(model, network, events, &options) {
            Verdict::Unrefuted => return Some(deviations),
            Verdict::Refuted(_) => {}
            Verdict::Inconclusive(_) => return None,
        }
    }
    Some(OFTEN)
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

/// Adds to a refutation what the surviving hypotheses expected instead of what was seen.
///
/// The event that refutes is the first one that makes the trace unexplainable: the shortest refuted prefix ends in it.
pub fn explain<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    refutation: &Refutation,
    options: &Options<'_>,
) -> Refutation
where
    S::Msg: Clone + Debug,
{
    // Refuted prefixes stay refuted when they grow.
    let (mut explained, mut refuted) = (0, events.len());
    while refuted - explained > 1 {
        let middle = explained + (refuted - explained) / 2;
        match judge(model, network, &events[..middle], options) {
            Verdict::Refuted(_) => refuted = middle,
            Verdict::Unrefuted => explained = middle,
            Verdict::Inconclusive(_) => return refutation.clone(),
        }
    }
    let event = refuted.saturating_sub(1);
    let Some(fatal) = events.get(event) else { return refutation.clone() };
    let mut tester = Tester::new(model, network, options.clone());
    for event in &events[..event] {
        tester.observe(event.clone());
    }
    let (expected, hypotheses, more) = match fatal.conn() {
        Some(conn) if tester.verdict().is_unrefuted() => tester.expectations(conn),
        _ => (Vec::new(), 0, false),
    };
    let seen = match fatal {
        Event::Received(conn, message) => format!("{message:?} on connection {}", conn.0),
        Event::Closed(conn) => format!("connection {} closed", conn.0),
        Event::Quiescent => "no more answers, though some were owed".to_owned(),
        other => format!("{other:?}"),
    };
    Refutation { event, seen, expected, hypotheses, more }
}
