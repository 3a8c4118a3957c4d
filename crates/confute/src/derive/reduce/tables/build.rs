//! Translation of the log of a part into requests and steps.

use rustc_hash::{FxHashMap, FxHashSet};

use super::outlook::Outlook;
use super::{NEVER, Outcome, Place, Request, Step, Tables};
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::dualize::Task;
use crate::derive::hypothesis::{Delivery, Hypothesis};
use crate::derive::inquire::Effect;
use crate::derive::reduce::Reduction;
use crate::derive::search::Part;
use crate::derive::unify::Spot;
use crate::lang::{Access, Val};

impl Tables {
    /// Returns the tables of a part, still empty; `None` if a premise does not hold.
    pub(super) fn of(part: &Part, world: &Composed<'_>) -> Option<Self> {
        let [cell] = part.cells.as_slice() else { return None };
        let [start] = part.origin.hypotheses.as_slice() else { return None };
        let is_plain = part.is_plain(world)
            && world.foresees
            && world.reduces(Reduction::Tables)
            && world.reduces(Reduction::Foresight)
            && world.allowance.relaxed.is_empty()
            && world.allowance.always.is_empty()
            && !part.thorough
            && is_initial(start);
        if !is_plain {
            return None;
        }
        let mut tables = Self {
            cell: *cell,
            requests: Vec::new(),
            steps: Vec::with_capacity(part.log.len()),
            entries: Vec::with_capacity(part.log.len()),
            contents: Vec::new(),
            numbers: FxHashMap::default(),
            outcomes: FxHashMap::default(),
            outlook: Outlook::default(),
            place: Place { at: 0, content: 0, unseen_until: 0, covered_until: 0 },
            before: Vec::new(),
            behind: Vec::new(),
            handled: Vec::new(),
            print: 0,
            trail: Vec::new(),
            choices: Vec::new(),
            alternatives: Vec::new(),
            met: FxHashSet::default(),
            furthest: 0,
            retreats: 0,
            failed: false,
        };
        tables.translate(part, world)?;
        let now = start.cells.first().and_then(|cell| cell.now.as_ref());
        tables.number(now);
        let ends = tables.requests.len() as u32;
        tables.before = vec![ends; tables.requests.len() + 1];
        tables.behind = tables.before.clone();
        tables.handled = vec![false; tables.requests.len()];
        Some(tables)
    }

    fn translate(&mut self, part: &Part, world: &Composed<'_>) -> Option<()> {
        // By connection: the request that waits for its response.
        let mut waiting: FxHashMap<u32, u32> = FxHashMap::default();
        for (index, entry) in part.log.iter().enumerate() {
            let step = match &entry.task {
                Task::Given(delivery) => {
                    self.keeps_to_the_cell(delivery).then_some(())?;
                    let is_answered = matches!(world.answer(delivery), Some((_, Seen::Message(_))));
                    if delivery.foot.is_reader() && !is_answered {
                        // Nothing shows if it was handled.
                        continue;
                    }
                    let adds = matches!(delivery.foot.cells.as_slice(), [(_, Access::Grow)]);
                    let number = self.requests.len() as u32;
                    self.outlook.note(number, adds, delivery.foot.is_reader());
                    waiting.insert(delivery.wire, number);
                    self.requests.push(Request {
                        delivery: delivery.clone(),
                        called: self.steps.len() as u32,
                        answered: NEVER,
                        reads: delivery.foot.is_reader(),
                        adds,
                        fixed: delivery.foot.mute && delivery.foot.fixed,
                        mute: delivery.foot.mute,
                        print: delivery.print.0,
                    });
                    Step::Called(number)
                }
                Task::Explain(Spot::Client(conn), Seen::Message(_)) => {
                    let number = waiting.remove(&conn.wire()?)?;
                    self.requests[number as usize].answered = self.steps.len() as u32;
                    Step::Answered(number)
                }
                Task::Severed(Spot::Client(conn)) => {
                    waiting.remove(&conn.wire()?);
                    continue;
                }
                _ => return None,
            };
            self.steps.push(step);
            self.entries.push(index as u32);
        }
        Some(())
    }

    /// Returns `true` if the request is alone on its connection, opens only the cell of the part, and gets one response.
    fn keeps_to_the_cell(&self, delivery: &Delivery) -> bool {
        let foot = &delivery.foot;
        delivery.alone
            && !delivery.accepted
            && !foot.whole
            && !foot.closes
            && foot.replies == 1
            && foot.creates.is_empty()
            && !foot.lists
            && matches!(foot.cells.as_slice(), [(cell, _)] if *cell == self.cell)
    }

    /// Returns the number of a content, new or known.
    pub(super) fn number(&mut self, value: Option<&Val>) -> u32 {
        let next = self.contents.len() as u32;
        let number = *self.numbers.entry(value.map_or(1, |value| value.fingerprint.0)).or_insert(next);
        if number == next {
            self.contents.push(value.cloned());
        }
        number
    }

    /// Returns the effect of a request at a content.
    pub(super) fn outcome(&mut self, world: &Composed<'_>, request: u32, content: u32) -> Outcome {
        let key = u64::from(request) << 32 | u64::from(content);
        if let Some(outcome) = self.outcomes.get(&key) {
            return *outcome;
        }
        let value = self.contents[content as usize].clone();
        let delivery = &self.requests[request as usize].delivery;
        let outcome = match world.effect(delivery, self.cell, value.as_ref()) {
            None => {
                self.failed = true;
                Outcome::Differs
            }
            Some(Effect { never: true, .. }) => Outcome::Never,
            Some(Effect { matches: false, .. }) => Outcome::Differs,
            Some(Effect { after: None, .. }) => Outcome::Same,
            Some(Effect { after: Some(after), .. }) => match self.number(after.as_ref()) {
                number if number == content => Outcome::Same,
                number => Outcome::To(number),
            },
        };
        self.outcomes.insert(key, outcome);
        outcome
    }

    /// Estimates the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.requests.len() * (size_of::<Request>() + 9)
            + self.steps.len() * (size_of::<Step>() + 4)
            + self.contents.len() * (size_of::<Option<Val>>() + 24)
            + self.outcomes.capacity() * 18
            + self.met.capacity() * 17
            + self.outlook.bytes()
    }
}

/// Returns `true` if nothing has happened yet.
fn is_initial(start: &Hypothesis) -> bool {
    start.pending.is_empty()
        && start.out.is_empty()
        && start.facts.is_empty()
        && start.suspended.is_none()
        && start.links.is_empty()
        && start.deviations == 0
        && start.cells.iter().all(|cell| cell.past.is_none())
}
