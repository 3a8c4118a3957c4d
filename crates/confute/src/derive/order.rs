//! Order in which moves are tried when an observation has no explanation yet.
//!
//! Nothing here decides what is possible: every move that could help is put on the stack. Only the order is chosen,
//! and deliveries that cannot contribute to the observation are left out. In the following the *own* delivery is the
//! one on the connection of the observation, and a delivery *spoils* another if the other cannot give its observed
//! response after it.

use std::rc::Rc;

use smallvec::SmallVec;

use super::backtrack::{Part, versions};
use super::book::Seen;
use super::compose::{Brood, Composed};
use super::dualize::Task;
use super::foresight::{Fit, Outlook};
use super::hypothesis::Hypothesis;
use super::stack::{Move, Node};
use super::unify::Spot;
use crate::erased::Message;
use crate::lang::{Access, Conn, Val};

/// Number of consecutive rankings in which the own delivery spoilt nothing, after which ranking is given up.
const MOST_UNSPOILT: u32 = 24;

impl Part {
    /// Pushes every possible move; moves on the connection of the observation get the smaller depth.
    pub(super) fn steps_of_all(
        &mut self,
        world: &Composed<'_>,
        hypothesis: Rc<Hypothesis>,
        (spot, seen): (Spot, &Seen),
        (at, depth): (usize, usize),
    ) {
        let own = match spot {
            Spot::Client(conn) => conn.wire(),
            Spot::Accepted(wire) => Some(wire),
        };
        if world.has_internal {
            self.stack.push(Node::new(at, Rc::clone(&hypothesis), Move::Internal, depth + 1));
        }
        for (index, pending) in hypothesis.pending.iter().enumerate() {
            if world.is_deliverable(&hypothesis, index) {
                let depth = if Some(pending.delivery.wire) == own { depth } else { depth + 1 };
                let mut push =
                    |next_move| self.stack.push(Node::new(at, Rc::clone(&hypothesis), next_move, depth));
                push(Move::Deliver(index));
                // Earlier versions may be left from the time when reads could be placed late.
                if pending.delivery.foot.is_reader() && hypothesis.suspended.is_none() {
                    let past = versions(&hypothesis, index).into_iter().flatten();
                    past.for_each(|version| push(Move::Read(index, Some(version))));
                }
            }
        }
        // The own write may also have been overwritten before anything read it.
        if let (Seen::Message(seen), Some(index)) =
            (seen, hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == own))
            && hypothesis.pending[index].covered
        {
            let mut passed = Hypothesis::clone(&hypothesis);
            if world.passes_covered(&mut passed, index, &**seen) {
                self.stack.push(Node::go(at + 1, Rc::new(passed)));
            }
        }
    }

    /// Pushes the moves that can help to explain a message observed on this connection, the likeliest on top.
    pub(super) fn steps_towards(
        &mut self,
        world: &Composed<'_>,
        mut hypothesis: Rc<Hypothesis>,
        conn: Conn,
        (seen, outlook): (&Message, Option<Outlook>),
        (at, depth): (usize, usize),
        place: u64,
    ) {
        let pending = &hypothesis.pending;
        let own: SmallVec<[usize; 4]> = (0..pending.len())
            .rev()
            .filter(|index| {
                Some(pending[*index].delivery.wire) == conn.wire()
                    && !pending[*index].stale
                    && world.is_deliverable(&hypothesis, *index)
            })
            .collect();
        if own.is_empty() && !world.has_internal {
            // Turns that keep to themselves respond only on the connection of their request.
            return;
        }
        let others = self.influences(world, &hypothesis, &own, place);
        if let ([index], Some(Outlook { quiet: true, loud: true })) = (own.as_slice(), outlook) {
            let packet = &hypothesis.pending[*index].delivery;
            if !packet.foot.is_reader() && packet.foot.may_be_late() && packet.foot.replies == 1 {
                // The delivery may have changed nothing; its time then makes no difference, so one version stands for
                // all. Otherwise it must have changed something, which is the only other alternative worth trying.
                let sent = packet.sent;
                for version in versions(&hypothesis, *index) {
                    let mut passed = Hypothesis::clone(&hypothesis);
                    if hypothesis.must_write != Some(sent)
                        && world.passes_unnoticed(&mut passed, *index, version, seen) == Fit::Now
                    {
                        self.stack.push(Node::go(at + 1, Rc::new(passed)));
                        Rc::make_mut(&mut hypothesis).must_write = Some(sent);
                        break;
                    }
                }
            }
        }
        let mut covered = None;
        if let [index] = own.as_slice()
            && hypothesis.pending[*index].covered
        {
            let mut passed = Hypothesis::clone(&hypothesis);
            if world.passes_covered(&mut passed, *index, seen) {
                covered = Some(Node::go(at + 1, Rc::new(passed)));
            }
        }
        // Where texts grow, a covered write is tried last: the next read shows at once if the write took effect.
        // Elsewhere it is the likelier case, and is tried first.
        if self.memory.foresight.grows {
            self.stack.extend(covered.take().into_iter());
        }
        let order = self.rank(world, &hypothesis, &own, &others, (at, place), depth);
        if world.has_internal {
            self.stack.push(Node::new(at, Rc::clone(&hypothesis), Move::Internal, depth + 1));
        }
        // The likeliest move is pushed last, so that it is taken up first.
        let moods: &[Option<bool>] =
            if world.transport.is_reliable { &[None] } else { &[Some(true), Some(false)] };
        for mood in moods {
            for (index, depth) in order.iter().rev() {
                // A watched delivery was already tried at the present content.
                if hypothesis.pending[*index].watched {
                    continue;
                }
                let foot = &hypothesis.pending[*index].delivery.foot;
                let odd = mood.filter(|_| foot.replies == 1 && !foot.closes);
                if odd.is_none() && *mood == Some(true) {
                    continue;
                }
                let moves: SmallVec<[Move; 4]> = if foot.is_reader() {
                    let read = |version| Move::Read(*index, version);
                    versions(&hypothesis, *index).into_iter().rev().map(read).collect()
                } else {
                    SmallVec::from_elem(Move::Deliver(*index), 1)
                };
                for next_move in moves {
                    let depth = depth + usize::from(odd == Some(true));
                    let node = Node::new(at, Rc::clone(&hypothesis), next_move, depth);
                    self.stack.push(Node { odd, ..node });
                }
            }
        }
        self.stack.extend(covered.into_iter());
    }

    /// Returns the order in which to try the own delivery and the others, each with its depth.
    ///
    /// The own delivery comes first, unless it would spoil others, that is, make the responses observed to them
    /// impossible. In that case the delivery that spoils the fewest comes first.
    fn rank(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Rc<Hypothesis>,
        own: &[usize],
        others: &[usize],
        (at, place): (usize, u64),
        depth: usize,
    ) -> SmallVec<[(usize, usize); 8]> {
        let plain = |others: &[usize]| {
            own.iter()
                .map(|index| (*index, depth))
                .chain(others.iter().map(|index| (*index, depth + 1)))
                .collect()
        };
        let [mine] = own else { return plain(others) };
        if let Some(ranked) = self.rank_by_effects(world, hypothesis, *mine, others, depth) {
            return ranked;
        }
        if let Some(ranked) = self.rank_by_scenes(world, hypothesis, *mine, others, depth) {
            return ranked;
        }
        let answered = |index: &usize| {
            let delivery = &hypothesis.pending[*index].delivery;
            !delivery.foot.is_reader() && world.is_answered(delivery)
        };
        if self.memory.foresight.grows
            || self.memory.foresight.unspoilt.get() > MOST_UNSPOILT
            || !others.iter().any(answered)
        {
            return plain(others);
        }
        let deliver = |hypothesis: &Rc<Hypothesis>, index: usize| {
            let mut brood = Brood::new();
            world.deliver(Rc::clone(hypothesis), index, place, &mut brood);
            if !world.transport.is_reliable {
                self.sift(world, at, false, &mut brood);
            }
            brood
        };
        // Deliveries that can be taken now; `spoils` counts those of them that cannot be taken after a given one.
        let able: SmallVec<[u32; 8]> = others
            .iter()
            .filter(|index| answered(index) && !deliver(hypothesis, **index).is_empty())
            .map(|index| hypothesis.pending[*index].delivery.sent)
            .collect();
        let spoils = |index: usize| {
            let sent = hypothesis.pending[index].delivery.sent;
            let after = deliver(hypothesis, index);
            let Some(after) = after.into_iter().next() else { return usize::MAX };
            let survives = |other: &&u32| {
                let index = after.pending.iter().position(|pending| pending.delivery.sent == **other);
                index.is_none_or(|index| !deliver(&after, index).is_empty())
            };
            able.iter().filter(|other| **other != sent).filter(|other| !survives(other)).count()
        };
        let by_mine = spoils(*mine);
        if by_mine == 0 {
            self.memory.foresight.unspoilt.set(self.memory.foresight.unspoilt.get() + 1);
            return plain(others);
        }
        self.memory.foresight.unspoilt.set(0);
        let mut ranked: Vec<(usize, usize, usize)> = others
            .iter()
            .map(|index| {
                let spoilt = if able.contains(&hypothesis.pending[*index].delivery.sent) {
                    spoils(*index)
                } else {
                    usize::MAX
                };
                (spoilt, *index, if spoilt < by_mine { depth } else { depth + 1 })
            })
            .collect();
        ranked.push((by_mine, *mine, depth));
        ranked.sort_by_key(|(spoilt, index, _)| (*spoilt, index != mine));
        ranked.into_iter().map(|(_, index, depth)| (index, depth)).collect()
    }

    /// Keeps, on a network that loses messages, the expected results of a delivery (its response was observed, or
    /// nothing was observed instead), or with `odd` only the unexpected ones.
    pub(super) fn sift(&self, world: &Composed<'_>, at: usize, odd: bool, brood: &mut Brood) {
        let place = self.log[at].place;
        let rest = self.log[at..].iter().find(|entry| matches!(entry.task, Task::Rest));
        let places = place..rest.map_or(u64::MAX, |entry| entry.place);
        brood.retain(|next| match world.anticipate(next, &places) {
            Ok(_) if odd => true,
            Ok(expected) => {
                *next = Rc::new(expected);
                true
            }
            Err(else_seen) => else_seen == odd,
        });
    }

    /// Ranks deliveries like `rank`, if every content that the only cell can have is known, and with it the effect of
    /// each delivery. Deliveries that cannot give their responses now are left out; those after which the own
    /// delivery can be taken come first.
    fn rank_by_effects(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        mine: usize,
        others: &[usize],
        depth: usize,
    ) -> Option<SmallVec<[(usize, usize); 8]>> {
        let now = match (hypothesis.cells.as_slice(), self.has_few_contents(world)) {
            ([cell], true) if hypothesis.facts.is_empty() => cell.now.clone(),
            _ => return None,
        };
        let mut able: SmallVec<[(usize, Option<Val>); 8]> = SmallVec::new();
        for index in others.iter().copied().chain([mine]) {
            let effect = self.packet_effect(world, hypothesis, index, now.as_ref())?;
            // A read may have been taken when the content was different.
            if effect.matches || hypothesis.pending[index].delivery.foot.is_reader() {
                able.push((index, effect.after.unwrap_or_else(|| now.clone())));
            }
        }
        let mut ranked: SmallVec<[_; 8]> = SmallVec::new();
        for (index, after) in &able {
            let mut spoilt = 0;
            let mut enables = false;
            for (other, _) in able.iter().filter(|(other, _)| other != index) {
                if world.is_answered(&hypothesis.pending[*other].delivery) {
                    spoilt +=
                        usize::from(!self.packet_effect(world, hypothesis, *other, after.as_ref())?.matches);
                }
            }
            if *index != mine {
                enables = self.packet_effect(world, hypothesis, mine, after.as_ref())?.matches;
            }
            ranked.push((spoilt, *index, enables));
        }
        let by_mine =
            ranked.iter().find(|(_, index, _)| *index == mine).map_or(usize::MAX, |(spoilt, ..)| *spoilt);
        ranked.sort_by_key(|(spoilt, index, enables)| match (by_mine, *index == mine) {
            (0, true) => (0, false, 0),
            (0, false) => (1, !enables, *spoilt),
            (usize::MAX, _) => (1, !enables, *spoilt),
            (_, own) => (1 + *spoilt, !own, usize::from(!enables)),
        });
        let deep = |(spoilt, index, _): (usize, usize, bool)| {
            (
                index,
                if index == mine || spoilt < by_mine.min(usize::MAX - 1) && by_mine != usize::MAX {
                    depth
                } else {
                    depth + 1
                },
            )
        };
        Some(ranked.into_iter().map(deep).collect())
    }

    /// Returns the pending deliveries that could change the results of the own ones, directly or through others.
    fn influences(
        &self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        own: &[usize],
        place: u64,
    ) -> SmallVec<[usize; 8]> {
        let pending = &hypothesis.pending;
        // An internal turn may write any cell.
        let all = self.cells.len() <= 1 || world.has_internal;
        let mut relevant: SmallVec<[bool; 16]> = SmallVec::from_elem(all, pending.len());
        if !all {
            self.mark_dependent(hypothesis, own, &mut relevant);
        }
        let mut chosen: SmallVec<[usize; 8]> = (0..pending.len())
            .filter(|index| {
                let lane = pending[*index].delivery.lane;
                // A read by itself is placed when its response is observed; one in front of a write has to be taken
                // first.
                let leads_somewhere = (*index..pending.len()).any(|behind| {
                    relevant[behind]
                        && pending[behind].delivery.lane == lane
                        && (!world.late.get()
                            || !pending[behind].delivery.foot.is_reader()
                            || pending[behind].delivery.foot.cells.len() > 1)
                });
                leads_somewhere
                    && !pending[*index].watched
                    && !own.contains(index)
                    && world.is_deliverable(hypothesis, *index)
            })
            .collect();
        if chosen.len() > 1 {
            // Latest response first: a delivery that must be taken early is tried late, as a last resort.
            chosen.sort_by_cached_key(|index| {
                let delivery = &pending[*index].delivery;
                let answered = world.sightings.nth_since(Conn::client(delivery.wire), place, 0);
                std::cmp::Reverse((answered.map_or(u64::MAX, |(at, _)| *at), delivery.sent))
            });
        }
        chosen
    }

    /// Marks the own deliveries, and with each marked one those that precede it on its lane or share a cell with it
    /// that either of them writes.
    fn mark_dependent(&self, hypothesis: &Hypothesis, own: &[usize], relevant: &mut [bool]) {
        let pending = &hypothesis.pending;
        let mut touched: SmallVec<[(u32, Access); 8]> = SmallVec::new();
        let mut todo: SmallVec<[usize; 8]> = own.into();
        while let Some(index) = todo.pop() {
            relevant[index] = true;
            touched.extend(pending[index].delivery.foot.cells.iter().copied());
            for (other, packet) in pending.iter().enumerate() {
                if relevant[other] || todo.contains(&other) {
                    continue;
                }
                let conflicts = packet.delivery.foot.cells.iter().any(|(cell, access)| {
                    touched
                        .iter()
                        .any(|(known, had)| cell == known && (*access > Access::Read || *had > Access::Read))
                });
                let precedes = packet.delivery.lane == pending[index].delivery.lane && other < index;
                if conflicts || precedes {
                    todo.push(other);
                }
            }
        }
    }
}
