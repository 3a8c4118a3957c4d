//! Queries about a part that the search itself does not ask: for messages to people, for generators, for budgets.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::compose::{Brood, Composed};
use super::dualize::{Entry, Task};
use super::hypothesis::{Hypothesis, Outgoing};
use super::reduce::late::versions;
use super::search::Part;
use crate::engine::Pulse;
use crate::lang::Conn;

impl Part {
    /// Returns `true` if no hypothesis has a delivery of this connection in flight, and none will have.
    pub(crate) fn is_clear_of(&self, wire: u32) -> bool {
        let given = |entry: &Entry| matches!(&entry.task, Task::Given(delivery) if delivery.wire == wire);
        let holds = |hypothesis: &Hypothesis| hypothesis.pending.iter().any(|it| it.delivery.wire == wire);
        let joins = |entry: &Entry| matches!(&entry.task, Task::Join(others) if others.iter().any(holds));
        !self.log.iter().any(|entry| given(entry) || joins(entry))
            && !self.stack.nodes().any(|node| holds(&node.hypothesis))
            && !self.front.live.iter().any(holds)
    }

    /// Returns `true` if the part holds nothing worth keeping but its cells.
    pub(crate) fn is_idle(&self) -> bool {
        (self.stack.len == 0)
            && self.front.horizon == self.log.len()
            && self
                .front
                .live
                .iter()
                .all(|it| it.pending.is_empty() && it.out.is_empty() && it.suspended.is_none())
    }

    /// Returns the hypotheses that explain the log, as far as they are found without undue effort, and `true` if
    /// alternatives are left.
    pub(crate) fn survey(&mut self, world: &Composed<'_>, most: usize) -> (Vec<Hypothesis>, bool) {
        let most_runs = world.tally.runs.get() + 64 * most as u64;
        while self.front.live.len() < most && world.tally.runs.get() < most_runs {
            let Some(node) = self.stack.pop_latest() else { break };
            self.forward(world, node);
        }
        let mut seen = FxHashSet::default();
        self.front.live.retain(|hypothesis| seen.insert(hypothesis.fingerprint(0, true).0));
        (self.front.live.clone(), self.stack.len > 0)
    }

    /// Returns the possible next messages to this connection, after at most a few deliveries, each with the
    /// hypothesis that sends it. Without a connection: to any that the server opened and the tester has not seen yet.
    pub(crate) fn prospects(
        &self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        conn: Option<Conn>,
        place: u64,
    ) -> Vec<(Hypothesis, Outgoing)> {
        let mut found = Vec::new();
        let mut todo = vec![(hypothesis.clone(), 0)];
        while let Some((hypothesis, depth)) = todo.pop() {
            let head = |conn: &Conn| hypothesis.out.iter().find(|item| item.conn == *conn).cloned();
            let unseen = hypothesis.links.iter().filter(|(_, wire)| conn.is_none() && wire.is_none());
            let names = conn.iter().chain(unseen.map(|(conn, _)| conn));
            let heads: Vec<_> = names.filter_map(head).collect();
            if !heads.is_empty() {
                found.extend(heads.into_iter().map(|head| (hypothesis.clone(), head)));
                continue;
            }
            let parent = Rc::new(hypothesis);
            for index in 0..parent.pending.len() {
                let own = conn.is_some_and(|conn| Some(parent.pending[index].delivery.wire) == conn.wire());
                if !world.is_deliverable(&parent, index)
                    || (!own && depth == 2)
                    || found.len() + todo.len() > 64
                {
                    continue;
                }
                let mut brood = Brood::new();
                if parent.pending[index].delivery.foot.is_reader() {
                    for version in versions(&parent, index) {
                        world.deliver_reader(Rc::clone(&parent), index, version, place, &mut brood);
                    }
                } else {
                    world.deliver(Rc::clone(&parent), index, place, &mut brood);
                }
                todo.extend(
                    brood
                        .into_iter()
                        .map(|next| (Rc::unwrap_or_clone(next), if own { depth } else { depth + 1 })),
                );
            }
        }
        found
    }

    /// Returns the number of log entries that are not explained yet.
    pub(crate) fn lag(&self) -> usize {
        self.log.len() - self.front.horizon
    }

    /// Returns the position in the trace of the furthest entry that any hypothesis reached; `None` at the end of the
    /// log.
    pub(crate) fn furthest_place(&self) -> Option<u64> {
        self.log.get(self.front.furthest).map(|entry| entry.place)
    }

    /// Returns `true` if the furthest entry was a send that no hypothesis could take.
    pub(crate) fn is_out_of_step(&self) -> bool {
        self.front.out_of_step
    }

    /// Returns the number of open alternatives.
    pub(crate) fn open(&self) -> usize {
        self.stack.len + self.front.live.len()
    }

    /// Estimates the number of bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        let each = size_of::<Hypothesis>() + 64 + 96 * self.cells.len().min(64);
        (self.stack.len + self.front.live.len() + self.origin.hypotheses.len()) * each
            + self.memory.remembered.bytes()
            + self.log.capacity() * size_of::<Entry>()
    }

    pub(super) fn pulse(&self, world: &Composed<'_>) -> Pulse {
        let event = self
            .log
            .get(self.front.furthest.min(self.log.len().saturating_sub(1)))
            .map_or(0, |entry| entry.place);
        Pulse { event, turns: world.tally.runs.get(), open: self.open(), bytes: self.bytes() }
    }
}
