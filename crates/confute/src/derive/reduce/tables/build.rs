//! Translation of the log of a part into requests and steps.

use rustc_hash::{FxHashMap, FxHashSet};

use super::effects::Effects;
use super::outlook::Outlook;
use super::project::Projections;
use super::{NEVER, Outcome, Place, Request, Step, Tables};
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::dualize::Task;
use crate::derive::hypothesis::{Delivery, Hypothesis};
use crate::derive::reduce::Reduction;
use crate::derive::search::Part;
use crate::derive::unify::Spot;
use crate::lang::Access;

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
            requests: Vec::new(),
            steps: Vec::with_capacity(part.log.len()),
            entries: Vec::with_capacity(part.log.len()),
            effects: Effects::new(*cell),
            outlook: Outlook::default(),
            place: Place { at: 0, content: 0, unseen_until: 0, covered_until: 0 },
            before: Vec::new(),
            behind: Vec::new(),
            handled_at: Vec::new(),
            print: 0,
            trail: Vec::new(),
            choices: Vec::new(),
            alternatives: Vec::new(),
            met: FxHashSet::default(),
            furthest: 0,
            retreats: 0,
            projections: None,
        };
        tables.translate(part, world, *cell)?;
        let now = start.cells.first().and_then(|cell| cell.now.as_ref());
        tables.effects.number(now);
        if world.reduces(Reduction::Projections) {
            tables.projections = Projections::of(&tables.requests, world, (*cell, now)).map(Box::new);
        }
        let ends = tables.requests.len() as u32;
        tables.before = vec![ends; tables.requests.len() + 1];
        tables.behind = tables.before.clone();
        tables.handled_at = vec![NEVER; tables.requests.len()];
        Some(tables)
    }

    fn translate(&mut self, part: &Part, world: &Composed<'_>, cell: u32) -> Option<()> {
        // By connection: the request that waits for its response.
        let mut waiting: FxHashMap<u32, u32> = FxHashMap::default();
        for (index, entry) in part.log.iter().enumerate() {
            let step = match &entry.task {
                Task::Given(delivery) => {
                    keeps_to(cell, delivery).then_some(())?;
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

    /// Returns the effect of a request at a content.
    pub(super) fn outcome(&mut self, world: &Composed<'_>, request: u32, content: u32) -> Outcome {
        self.effects.outcome(world, &self.requests, request, content)
    }

    /// Returns `true` if a turn was not a function of the content.
    pub(super) fn has_failed(&self) -> bool {
        self.effects.failed || self.projections.as_ref().is_some_and(|projections| projections.has_failed())
    }

    /// Estimates the number of bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.requests.len() * (size_of::<Request>() + 12)
            + self.steps.len() * (size_of::<Step>() + 4)
            + self.effects.bytes()
            + self.projections.as_ref().map_or(0, |projections| projections.bytes())
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

/// Returns `true` if the request is alone on its connection, opens only this cell, and gets one response.
fn keeps_to(cell: u32, delivery: &Delivery) -> bool {
    let foot = &delivery.foot;
    delivery.alone
        && !delivery.accepted
        && !foot.whole
        && !foot.closes
        && foot.replies == 1
        && foot.creates.is_empty()
        && !foot.lists
        && matches!(foot.cells.as_slice(), [(other, _)] if *other == cell)
}
