//! Which rule must have been broken.

use std::ops::ControlFlow;

use crate::lang::{Rule, ServerModel};
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
/// So many times as many for what is tried only where something is blamed already.
const LARGE: u64 = 10;

/// Which rules, relaxed, make a refuted trace explainable: the smallest sets, all of them that need the fewest
/// deviations, and larger ones that need fewer still. So where one rule would have to be broken three times, two that were
/// broken once each are told too. Deviations from rules that are relaxed already cost nothing.
///
/// The trace is judged again from its start, once for each set of rules. A set is a diagnosis if some behaviour that
/// deviates from just these rules explains everything that was seen: a counterfactual, not a guess.
///
/// Where one deviation is not enough, a larger set of weaker rules may need no more of them: then it is told too. An
/// accusation is worth no more than the least that explains what was seen, and a rule that explains almost everything, and
/// that a model therefore counts several times, would otherwise be blamed alone.
pub fn blame<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
) -> Blame
where
    S::Msg: Clone,
{
    blame_by_parts(model, network, &[events], options)
}

/// The same for the last of these traces. The others are less of the same evidence: what explains the last explains them
/// with no more deviations, so a set that does not explain one of them need not be tried on the next.
pub fn blame_by_parts<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    parts: &[&[Event<S::Msg>]],
    options: &Options<'_>,
) -> Blame
where
    S::Msg: Clone,
{
    let rules = concerned(model, parts.last().copied().unwrap_or_default(), &options.relaxed);
    let bench = Bench { model, network, rules: &rules, parts, options };
    let mut blame = Blame { diagnoses: Vec::new(), tried: 0, incomplete: false };
    for size in 1..=MOST_RULES.min(rules.len()) {
        let least = blame.diagnoses.iter().map(|one| one.deviations).min().unwrap_or(OFTEN + 1);
        if least <= size as u32 {
            break;
        }
        blame.tried = size;
        // The fewer deviations, the less there is to search, and the better the explanation.
        for deviations in size as u32..least {
            let known = blame.diagnoses.len();
            if bench.each(&mut blame, size, deviations).is_break() {
                return blame;
            }
            if blame.diagnoses.len() > known {
                break;
            }
        }
    }
    bench.weaker(&mut blame);
    blame
}

/// The rules that may have been broken, as far as the messages tell.
fn concerned<S: ServerModel>(
    model: &S,
    events: &[Event<S::Msg>],
    relaxed: &[&'static str],
) -> Vec<&'static Rule> {
    // Of what did not come there is no message.
    let is_silent = events.iter().any(|event| matches!(event, Event::Quiescent));
    let shows = |rule: &&Rule| {
        is_silent
            || events.iter().any(|event| match event {
                Event::Sent(_, message) | Event::Received(_, message) => model.concerns(rule, message),
                _ => false,
            })
    };
    model.rules().iter().filter(|rule| !relaxed.contains(&rule.name)).filter(shows).collect()
}

/// What is to be explained.
struct Bench<'a, S: ServerModel> {
    model: &'a S,
    network: &'a dyn Network,
    rules: &'a [&'static Rule],
    parts: &'a [&'a [Event<S::Msg>]],
    options: &'a Options<'a>,
}

impl<S: ServerModel> Bench<'_, S>
where
    S::Msg: Clone,
{
    /// The verdict where so many deviations from these rules are allowed, and any from what is relaxed already.
    fn verdict(&self, set: &[&Rule], deviations: u32, turns: u64) -> Verdict {
        let free = &self.options.relaxed;
        let mut verdict = Verdict::Unrefuted;
        for events in self.parts {
            let options = Options {
                relaxed: free.iter().copied().chain(set.iter().map(|rule| rule.name)).collect(),
                free: free.clone(),
                deviations: most(deviations),
                turns: self.options.turns.min(turns + 200 * events.len() as u64),
                ..self.options.clone()
            };
            verdict = judge(self.model, self.network, events, &options);
            if verdict.is_refuted() {
                break;
            }
        }
        verdict
    }

    /// Adds the sets of this size that explain the trace with so many deviations. It is over if time is.
    fn each(&self, blame: &mut Blame, size: usize, deviations: u32) -> ControlFlow<()> {
        let (mut found, mut unclear) = (Vec::new(), Vec::new());
        for set in subsets(self.rules.len(), size) {
            let set: Vec<_> = set.into_iter().map(|index| self.rules[index]).collect();
            match self.verdict(&set, deviations, MOST_TURNS) {
                Verdict::Unrefuted => found.push(Diagnosis::of(&set, deviations)),
                Verdict::Refuted(_) => {}
                Verdict::Inconclusive(reason) => {
                    if matches!(reason, Inconclusive::Budget { what: "time", .. }) {
                        blame.incomplete = true;
                        blame.diagnoses.append(&mut found);
                        return ControlFlow::Break(());
                    }
                    unclear.push(set);
                }
            }
        }
        if found.is_empty() {
            blame.incomplete |= !unclear.is_empty();
            return ControlFlow::Continue(());
        }
        // What would be told beside these is worth more turns.
        for set in unclear {
            match self.verdict(&set, deviations, LARGE * MOST_TURNS) {
                Verdict::Unrefuted => found.push(Diagnosis::of(&set, deviations)),
                Verdict::Refuted(_) => {}
                Verdict::Inconclusive(_) => blame.incomplete = true,
            }
        }
        blame.diagnoses.append(&mut found);
        ControlFlow::Continue(())
    }

    /// Adds a set of rules that are all weaker than those blamed, if it explains the trace with as few deviations.
    fn weaker(&self, blame: &mut Blame) {
        let Some(level) = blame.level() else { return };
        let deviations = blame.diagnoses.iter().map(|one| one.deviations).min().unwrap_or(0);
        let mut set: Vec<_> = self.rules.iter().copied().filter(|rule| rule.level < level).collect();
        // With one deviation it would be the rule alone, and that was tried.
        if deviations < 2 || set.is_empty() {
            return;
        }
        match self.verdict(&set, deviations, LARGE * MOST_TURNS) {
            Verdict::Unrefuted => {}
            Verdict::Refuted(_) => return,
            Verdict::Inconclusive(_) => {
                blame.incomplete = true;
                return;
            }
        }
        let mut place = 0;
        while place < set.len() {
            let rule = set.remove(place);
            if set.is_empty() || !self.verdict(&set, deviations, LARGE * MOST_TURNS).is_unrefuted() {
                set.insert(place, rule);
                place += 1;
            }
        }
        // Each of them deviates at least once. More are left only if there was no time to see which of them matter.
        if set.len() as u32 <= deviations {
            blame.diagnoses.push(Diagnosis::of(&set, deviations));
        } else {
            blame.incomplete = true;
        }
    }
}

impl Diagnosis {
    fn of(set: &[&Rule], deviations: u32) -> Self {
        let level = set.iter().map(|rule| rule.level).min().expect("a set has a rule");
        Self { rules: set.iter().map(|rule| rule.name).collect(), deviations, level }
    }
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
