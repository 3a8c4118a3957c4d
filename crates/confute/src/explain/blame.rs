//! Blame: finds the rules that must have been broken.

use std::ops::ControlFlow;
use std::rc::Rc;

use crate::engine::{Options, judge};
use crate::erased::{self, Message, Model};
use crate::lang::{Level, Rule, ServerModel};
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Inconclusive, Verdict};

/// Maximum number of rules that are assumed to be broken together.
const MOST_RULES: usize = 2;
/// Number up to which deviations are counted; it stands for any number.
pub(super) const OFTEN: u32 = 5;
/// Maximum number of turns for one set of rules, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;
/// Number of deviations from weaker rules that must be ruled out before a stronger one is blamed.
const SURE: u32 = 2;
/// Maximum number of searches for two stronger rules, each without the rules that were found to explain the trace
/// alone.
const MOST_PASSES: u32 = 3;
/// Maximum number of turns to rule out more than [`SURE`] deviations, or to find out if one of several rules is
/// needed.
const MORE_TURNS: u64 = 4_000;
/// Factor on [`MOST_TURNS`] for sets that are tried only if something is blamed already.
const LARGE: u64 = 10;

/// Finds the rules that, relaxed, make a refuted trace explainable: the smallest sets, all of them that need the
/// fewest deviations, and larger ones that need fewer still. So if one rule would have to be broken three times, two
/// that were broken once each are reported too. Deviations from rules that are relaxed already cost nothing.
///
/// The trace is judged again from its start, once for each set of rules. A set is a diagnosis if some behaviour that
/// deviates from exactly these rules explains all observations: a counterfactual, not a guess.
///
/// If weaker rules explain the trace too, though they would have to be broken more often, a set of them is reported
/// as well: a violation has the level of the weakest explanation.
///
/// A rule that is broken out of habit ([`ServerModel::is_habitual`]) and no stronger than the weakest of these is
/// reported beside them if it explains the trace, however often it was broken: two requests that a busy server
/// refused are no sign that a tag changed.
///
/// If only weaker rules are blamed, two stronger ones that the last response broke at once are reported beside them.
/// A weak rule is a cheap excuse: one deviation from "what is there stays there" explains a PUT that was performed
/// against its condition *and* got the response 201 instead of 204. The level stays that of the weakest.
pub fn blame<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
) -> Blame
where
    S::Msg: Clone,
{
    blame_by_parts(model, network, &[events], options, Depth::Level)
}

/// The extent of blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The smallest sets of rules with the fewest deviations, and no more. The level of the result is an upper bound:
    /// weaker rules that would have to be broken more often may explain the trace too. For shrinking, which blames
    /// many traces.
    Names,
    /// Weaker and stronger sets beside these, so that the level of the result is that of the violation.
    Level,
}

/// Blames the last of these traces. The others contain less of the same evidence: whatever explains the last explains
/// them with no more deviations, so a set that does not explain one of them need not be tried on the next.
pub fn blame_by_parts<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    parts: &[&[Event<S::Msg>]],
    options: &Options<'_>,
    depth: Depth,
) -> Blame
where
    S::Msg: Clone,
{
    let parts: Vec<_> = parts.iter().map(|events| erased::events(events)).collect();
    let parts: Vec<&[Event<Rc<Message>>]> = parts.iter().map(Vec::as_slice).collect();
    blame_erased(model, network, &parts, options, depth)
}

pub(crate) fn blame_erased(
    model: &dyn Model,
    network: &dyn Network,
    parts: &[&[Event<Rc<Message>>]],
    options: &Options<'_>,
    depth: Depth,
) -> Blame {
    let rules = concerned(model, parts.last().copied().unwrap_or_default(), &options.relaxed);
    let bench = Bench { model, network, rules: &rules, parts, options };
    let mut blame = bench.least();
    if depth == Depth::Level {
        bench.habitual(&mut blame);
        bench.weaker(&mut blame);
        bench.stronger(&mut blame);
    }
    blame
}

/// Returns the rules that may have been broken, as far as the messages show.
fn concerned(
    model: &dyn Model,
    events: &[Event<Rc<Message>>],
    relaxed: &[&'static str],
) -> Vec<&'static Rule> {
    // A missing response leaves no message by which to exclude a rule.
    let is_silent = events.iter().any(|event| matches!(event, Event::Quiescent));
    let shows = |rule: &&Rule| {
        is_silent
            || events.iter().any(|event| match event {
                Event::Sent(_, message) | Event::Received(_, message) => model.concerns(rule, &**message),
                _ => false,
            })
    };
    model.rules().iter().filter(|rule| !relaxed.contains(&rule.name)).filter(shows).collect()
}

/// The traces to explain, and the rules to try.
struct Bench<'a> {
    model: &'a dyn Model,
    network: &'a dyn Network,
    rules: &'a [&'static Rule],
    parts: &'a [&'a [Event<Rc<Message>>]],
    options: &'a Options<'a>,
}

impl Bench<'_> {
    /// Returns the smallest sets that explain the trace, with the fewest deviations.
    fn least(&self) -> Blame {
        let mut blame = Blame { diagnoses: Vec::new(), tried: 0, incomplete: false };
        for size in 1..=MOST_RULES.min(self.rules.len()) {
            let least = blame.diagnoses.iter().map(|one| one.deviations).min().unwrap_or(OFTEN + 1);
            if least <= size as u32 {
                break;
            }
            blame.tried = size;
            // With fewer deviations there is less to search, and the explanation is better.
            for deviations in size as u32..least {
                let known = blame.diagnoses.len();
                if self.each(&mut blame, size, deviations).is_break() {
                    return blame;
                }
                if blame.diagnoses.len() > known {
                    break;
                }
            }
        }
        blame
    }

    /// Returns the verdict if this many deviations from these rules are allowed, and any number from rules that are
    /// relaxed already.
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

    /// Adds the sets of this size that explain the trace with this many deviations. Breaks if the time is up.
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
        // Further diagnoses beside these are worth more turns.
        for set in unclear {
            match self.verdict(&set, deviations, LARGE * MOST_TURNS) {
                Verdict::Unrefuted => found.push(Diagnosis::of(&set, deviations)),
                Verdict::Refuted(_) => {}
                Verdict::Inconclusive(reason) => {
                    blame.incomplete = true;
                    if matches!(reason, Inconclusive::Budget { what: "time", .. }) {
                        break;
                    }
                }
            }
        }
        blame.diagnoses.append(&mut found);
        ControlFlow::Continue(())
    }

    /// Adds each habitual rule that is as weak as the weakest of those blamed, and explains the trace alone with more
    /// deviations. [`weaker`](Self::weaker) tries those that are weaker still.
    fn habitual(&self, blame: &mut Blame) {
        let Some(level) = blame.level() else { return };
        let least = blame.diagnoses.iter().map(|one| one.deviations).min().unwrap_or(OFTEN);
        let is_told = |rule: &Rule| blame.diagnoses.iter().any(|one| one.rules == [rule.name]);
        let habits = self.rules.iter().copied().filter(|rule| rule.level == level);
        let habits: Vec<_> =
            habits.filter(|rule| self.model.is_habitual(rule)).filter(|rule| !is_told(rule)).collect();
        for rule in habits {
            for deviations in least + 1..=OFTEN {
                match self.verdict(&[rule], deviations, MOST_TURNS) {
                    Verdict::Refuted(_) => continue,
                    Verdict::Unrefuted => blame.diagnoses.push(Diagnosis::of(&[rule], deviations)),
                    // It would only add one more name.
                    Verdict::Inconclusive(_) => {}
                }
                break;
            }
        }
    }

    /// Adds a set of rules that are all weaker than those blamed, if it explains the trace; and again, until nothing
    /// weaker explains it. So the weakest diagnosis has the level of the violation. The rules may be broken as often
    /// as the turns suffice to try, any number of times if few turns are needed, but at least [`SURE`] times;
    /// otherwise blame is incomplete.
    fn weaker(&self, blame: &mut Blame) {
        while let Some(level) = blame.level() {
            let mut set: Vec<_> = self.rules.iter().copied().filter(|rule| rule.level < level).collect();
            if set.is_empty() {
                return;
            }
            // With fewer deviations there is less to search: with each more it grows many times over.
            let mut least = None;
            for deviations in 1..=OFTEN {
                let turns = if deviations <= SURE { LARGE * MOST_TURNS } else { MORE_TURNS };
                match self.verdict(&set, deviations, turns) {
                    Verdict::Unrefuted => {
                        least = Some(deviations);
                        break;
                    }
                    Verdict::Refuted(_) => {}
                    Verdict::Inconclusive(_) => {
                        blame.incomplete |= deviations <= SURE;
                        break;
                    }
                }
            }
            let Some(least) = least else { return };
            let explains =
                |set: &[&Rule], deviations| self.verdict(set, deviations, MOST_TURNS).is_unrefuted();
            let mut place = 0;
            while place < set.len() {
                let rule = set.remove(place);
                if set.is_empty() || !explains(&set, least) {
                    set.insert(place, rule);
                    place += 1;
                }
            }
            // More are left only if there was no time to determine which of them are needed.
            if set.len() as u32 > least {
                blame.incomplete = true;
                return;
            }
            blame.diagnoses.push(Diagnosis::of(&set, least));
        }
    }
}

impl Bench<'_> {
    /// Adds two rules that are stronger than all those blamed, if the last response broke each of them once and that
    /// explains the trace.
    fn stronger(&self, blame: &mut Blame) {
        let Some(level) = blame.diagnoses.iter().map(|one| one.level).max() else { return };
        // A violation weaker than that is a warning, and hides nothing: later cases are judged for the rest.
        if level != Level::Store {
            return;
        }
        // This concerns servers that respond by themselves. The rules that a server which opens connections breaks in
        // one request show in several messages, and it would take too long to separate them here.
        let opens = self.parts.iter().any(|events| events.iter().any(|it| matches!(it, Event::Accepted(_))));
        if opens {
            return;
        }
        let mut strong: Vec<_> = self.rules.iter().copied().filter(|rule| rule.level > level).collect();
        for _ in 0..MOST_PASSES {
            if strong.len() < MOST_RULES {
                return;
            }
            match self.least_at_last(&strong) {
                Ok(set) => match set[..] {
                    [_, _] => return blame.diagnoses.push(Diagnosis::of(&set, MOST_RULES as u32)),
                    // One rule that counts twice is no plain violation, and was tried before.
                    [only] => strong.retain(|rule| rule.name != only.name),
                    _ => return,
                },
                Err(Verdict::Inconclusive(Inconclusive::Budget { what: "time", .. })) => {
                    blame.incomplete = true;
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Returns those of these rules that are needed to explain the trace by at most two deviations in handling the
    /// request to which the last event responds. Returns the verdict if all of them together do not explain the
    /// trace.
    fn least_at_last<'r>(&self, rules: &[&'r Rule]) -> Result<Vec<&'r Rule>, Verdict> {
        let mut set = rules.to_vec();
        self.explained_at_last(&set, MOST_TURNS)?;
        // From the end: of rules that explain the trace equally well the specific ones are kept, and they stand
        // first.
        for place in (0..set.len()).rev() {
            let rule = set.remove(place);
            match self.explained_at_last(&set, MORE_TURNS) {
                Ok(()) => {}
                Err(Verdict::Refuted(_)) => set.insert(place, rule),
                Err(verdict) => return Err(verdict),
            }
        }
        Ok(set)
    }

    fn explained_at_last(&self, set: &[&Rule], turns: u64) -> Result<(), Verdict> {
        let free = &self.options.relaxed;
        for events in self.parts {
            let options = Options {
                relaxed: free.iter().copied().chain(set.iter().map(|rule| rule.name)).collect(),
                free: free.clone(),
                deviations: MOST_RULES as u32,
                // If the last event is no response, no rule was broken there.
                at: Some(answered_last(events).unwrap_or(events.len())),
                turns: self.options.turns.min(turns + 200 * events.len() as u64),
                ..self.options.clone()
            };
            match judge(self.model, self.network, events, &options) {
                Verdict::Unrefuted => {}
                other => return Err(other),
            }
        }
        Ok(())
    }
}

/// Returns the index of the request to which the last event responds, if each request on its connection has one
/// response.
fn answered_last<M>(events: &[Event<M>]) -> Option<usize> {
    let Some(Event::Received(last, _)) = events.last() else { return None };
    let answers =
        events.iter().filter(|event| matches!(event, Event::Received(conn, _) if conn == last)).count();
    let mut sent =
        events.iter().enumerate().filter(|(_, event)| matches!(event, Event::Sent(conn, _) if conn == last));
    sent.nth(answers - 1).map(|(place, _)| place)
}

impl Diagnosis {
    fn of(set: &[&Rule], deviations: u32) -> Self {
        let level = set.iter().map(|rule| rule.level).max().expect("a set has a rule");
        Self { rules: set.iter().map(|rule| rule.name).collect(), deviations, level }
    }
}

/// Returns the number of deviations to allow.
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
