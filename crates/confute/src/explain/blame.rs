//! Which rule must have been broken.

use std::ops::ControlFlow;
use std::rc::Rc;

use crate::engine::{Options, judge};
use crate::erased::{self, Message, Model};
use crate::lang::{Level, Rule, ServerModel};
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Blame, Diagnosis, Inconclusive, Verdict};

/// How many rules may be broken together before blame gives up.
const MOST_RULES: usize = 2;
/// Deviations are counted up to this, which stands for any number.
pub(super) const OFTEN: u32 = 5;
/// How many turns one set of rules may take, besides two hundred for each event.
const MOST_TURNS: u64 = 20_000;
/// So many deviations from weaker rules have to be ruled out before a stronger one is blamed.
const SURE: u32 = 2;
/// How often two stronger rules are looked for, each time without one that explains the trace alone.
const MOST_PASSES: u32 = 3;
/// How many turns it may take to rule out more of them.
const MORE_TURNS: u64 = 4_000;
/// So many times as many for what is tried only where something is blamed already.
const LARGE: u64 = 10;

/// Which rules, relaxed, make a refuted trace explainable: the smallest sets, all of them that need the fewest
/// deviations, and larger ones that need fewer still. So where one rule would have to be broken three times, two that were
/// broken once each are told too. Deviations from rules that are relaxed already cost nothing.
///
/// The trace is judged again from its start, once for each set of rules. A set is a diagnosis if some behaviour that
/// deviates from just these rules explains everything that was seen: a counterfactual, not a guess.
///
/// If weaker rules explain it too, though they would have to be broken more often, a set of them is told as well: an accusation is
/// worth no more than the least that explains what was seen.
///
/// A rule that is broken out of habit ([`ServerModel::is_habitual`]) and no stronger than the weakest of these is told beside them
/// if it explains the trace, however often: two requests that a busy server refused are no sign that a tag changed.
///
/// Where only weaker rules are blamed, two stronger ones that the last answer broke at once are told beside them. A weak rule
/// is a cheap excuse: one deviation from "what is there stays there" explains a PUT that was performed against its condition
/// *and* answered 201 instead of 204. The level stays that of the weakest.
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

/// How far blame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The smallest sets of rules with the fewest deviations, and no more. The level of the result is an upper bound: weaker
    /// rules that would have to be broken more often may explain the trace too. For shrinking, which blames many traces.
    Names,
    /// Weaker and stronger sets beside these, so that the level of the result is that of the accusation.
    Level,
}

/// Blames the last of these traces. The others are less of the same evidence: what explains the last explains them with no
/// more deviations, so a set that does not explain one of them need not be tried on the next.
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

/// The rules that may have been broken, as far as the messages tell.
fn concerned(
    model: &dyn Model,
    events: &[Event<Rc<Message>>],
    relaxed: &[&'static str],
) -> Vec<&'static Rule> {
    // Of what did not come there is no message.
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

/// What is to be explained.
struct Bench<'a> {
    model: &'a dyn Model,
    network: &'a dyn Network,
    rules: &'a [&'static Rule],
    parts: &'a [&'a [Event<Rc<Message>>]],
    options: &'a Options<'a>,
}

impl Bench<'_> {
    /// The smallest sets that explain it, with the fewest deviations.
    fn least(&self) -> Blame {
        let mut blame = Blame { diagnoses: Vec::new(), tried: 0, incomplete: false };
        for size in 1..=MOST_RULES.min(self.rules.len()) {
            let least = blame.diagnoses.iter().map(|one| one.deviations).min().unwrap_or(OFTEN + 1);
            if least <= size as u32 {
                break;
            }
            blame.tried = size;
            // The fewer deviations, the less there is to search, and the better the explanation.
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

    /// Adds each habitual rule that is as weak as the weakest of those blamed, and explains the trace alone with more deviations.
    /// [`weaker`](Self::weaker) tries those that are weaker still.
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
                    // It would only be one more name.
                    Verdict::Inconclusive(_) => {}
                }
                break;
            }
        }
    }

    /// Adds a set of rules that are all weaker than those blamed, if it explains the trace; and again, until nothing weaker
    /// explains it. So the weakest diagnosis says what the accusation is worth. They may be broken as often as there are turns to
    /// try it, any number of times where that is few, but at least [`SURE`] times, or blame is incomplete.
    fn weaker(&self, blame: &mut Blame) {
        while let Some(level) = blame.level() {
            let mut set: Vec<_> = self.rules.iter().copied().filter(|rule| rule.level < level).collect();
            if set.is_empty() {
                return;
            }
            // The fewer deviations, the less there is to search: with each more it grows many times over.
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
            // More are left only if there was no time to see which of them matter.
            if set.len() as u32 > least {
                blame.incomplete = true;
                return;
            }
            blame.diagnoses.push(Diagnosis::of(&set, least));
        }
    }
}

impl Bench<'_> {
    /// Adds two rules that are stronger than all those blamed, if the last answer broke each of them once and that explains
    /// the trace.
    fn stronger(&self, blame: &mut Blame) {
        let Some(level) = blame.diagnoses.iter().map(|one| one.level).max() else { return };
        // What is weaker than that is a warning, and swallows nothing: later cases are judged for the rest.
        if level != Level::Store {
            return;
        }
        // It is about servers that answer by themselves. What one that opens connections breaks in one request shows in several
        // messages, and would take too long to take apart here.
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
                    // One rule that counts twice is no plain breach, and was looked at before.
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

    /// Those of these rules that are needed to explain the trace by one deviation from each of at most two of them, in handling
    /// the request that the last event answers. If all of them do not explain it: the verdict.
    fn least_at_last<'r>(&self, rules: &[&'r Rule]) -> Result<Vec<&'r Rule>, Verdict> {
        let mut set = rules.to_vec();
        self.explained_at_last(&set, MOST_TURNS)?;
        // From the end: of rules that explain it equally well the special ones are kept, and they stand first.
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
                // Where nothing was answered last, nobody broke anything there.
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

/// The place of the request that the last event answers, where each request on its connection has one answer.
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
