//! Relevance: only deliveries that can contribute to an observation are tried for it.
//!
//! *Leaves out*: at an observation, moves that change nothing for the turn whose response it is.
//!
//! *Why no verdict changes*: a turn that keeps to itself responds on the connection of its request only, so one of the
//! deliveries on the observation's connection (the *own* ones) has to be taken. Another delivery matters to it only if it
//! writes a cell that an own turn opens, or reads one that an own turn writes, directly or through others, or if it has to go
//! first on its connection. Any other commutes with all of these: in an explanation that takes it here it can be moved
//! behind the observation, where it is still pending, and tried again for an observation to which it matters.
//!
//! *Premises*:
//! - *Turns keep to themselves* (the part is not `whole`) *and the observation is a message on a connection that the
//!   tester opened*: otherwise any turn may have sent it, and [`steps_of_all`](super::super::search::step) is used.
//! - *Dependence goes through others, and along connections*: a copy from x to y makes a write of x matter to a read of y;
//!   a read in front of a relevant write has to be taken first.
//! - *A read is left out by itself* only where reads are placed late: then its time makes no difference.
//! - *A watched read was tried at the present content already.*
//! - *Internal turns may write any cell*: with them, every delivery matters.
//!
//! *Place in the order*: first where moves are listed; [`order`](super::order) then arranges what is left.

use std::rc::Rc;

use smallvec::SmallVec;

use super::late::versions;
use super::{Outlook, Reduction};
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::inquire::Fit;
use crate::derive::search::stack::{Move, Node};
use crate::derive::search::{Part, Position};
use crate::erased::Message;
use crate::lang::{Access, Conn};

impl Part {
    /// Pushes the moves that can help to explain a message observed on this connection, the likeliest on top.
    pub(super) fn steps_towards(
        &mut self,
        world: &Composed<'_>,
        mut hypothesis: Rc<Hypothesis>,
        conn: Conn,
        (seen, outlook): (&Message, Option<Outlook>),
        position: Position,
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
            world.left_out(Reduction::Relevance);
            return;
        }
        let others = self.influences(world, &hypothesis, &own, position.place);
        self.push_quiet(world, &mut hypothesis, &own, (seen, outlook), position.at);
        let mut covered = match own.as_slice() {
            [index] => self.covered(world, &hypothesis, *index, seen),
            _ => None,
        }
        .map(|passed| Node::go(position.at + 1, passed));
        // Where texts grow, a covered write is tried last: the next read shows at once if the write took effect.
        // Elsewhere it is the likelier case, and is tried first.
        if self.memory.contents.grows {
            self.stack.extend(covered.take().into_iter());
        }
        let order = self.rank(world, &hypothesis, &own, &others, position);
        if world.has_internal {
            let depth = position.depth + 1;
            self.stack.push(Node::new(position.at, Rc::clone(&hypothesis), Move::Internal, depth));
        }
        self.push_ranked(world, &hypothesis, &order, position.at);
        self.stack.extend(covered.into_iter());
    }

    /// If the own delivery can give its response with and without a change: pushes one place at which it changes
    /// nothing, and demands a change of what is tried from now on.
    fn push_quiet(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Rc<Hypothesis>,
        own: &[usize],
        (seen, outlook): (&Message, Option<Outlook>),
        at: usize,
    ) {
        let ([index], Some(Outlook { quiet: true, loud: true })) = (own, outlook) else { return };
        let packet = &hypothesis.pending[*index].delivery;
        let sent = packet.sent;
        if packet.foot.is_reader()
            || !packet.foot.may_be_late()
            || packet.foot.replies != 1
            || hypothesis.must_write == Some(sent)
        {
            return;
        }
        // The delivery may have changed nothing; its time then makes no difference, so one version stands for all.
        // Otherwise it must have changed something, which is the only other alternative worth trying.
        for version in versions(hypothesis, *index) {
            let mut passed = Hypothesis::clone(hypothesis);
            if world.passes_unnoticed(&mut passed, *index, version, seen) == Fit::Now {
                if !planted(Fault::MustWriteTooOften) {
                    self.stack.push(Node::go(at + 1, Rc::new(passed)));
                }
                Rc::make_mut(hypothesis).must_write = Some(sent);
                world.left_out(Reduction::Outlook);
                return;
            }
        }
    }

    /// Pushes these deliveries, each with its depth; the first is the likeliest, so it is pushed last, and taken up
    /// first.
    fn push_ranked(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Rc<Hypothesis>,
        order: &[(usize, usize)],
        at: usize,
    ) {
        let anticipates = !world.transport.is_reliable && world.reduces(Reduction::Anticipation);
        let moods: &[Option<bool>] = if anticipates { &[Some(true), Some(false)] } else { &[None] };
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
                    versions(hypothesis, *index).into_iter().rev().map(read).collect()
                } else {
                    SmallVec::from_elem(Move::Deliver(*index), 1)
                };
                for next_move in moves {
                    let depth = depth + usize::from(odd == Some(true));
                    let node = Node::new(at, Rc::clone(hypothesis), next_move, depth);
                    self.stack.push(Node { odd, ..node });
                }
            }
        }
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
                let last =
                    if planted(Fault::InfluenceIgnoresReadersAhead) { *index + 1 } else { pending.len() };
                let leads_somewhere = (*index..last).any(|behind| {
                    relevant[behind]
                        && pending[behind].delivery.lane == lane
                        && (!world.late()
                            || !pending[behind].delivery.foot.is_reader()
                            || pending[behind].delivery.foot.cells.len() > 1)
                });
                leads_somewhere
                    && !pending[*index].watched
                    && !own.contains(index)
                    && world.is_deliverable(hypothesis, *index)
            })
            .collect();
        if chosen.len() > 1 && world.reduces(Reduction::Ranking) {
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
                let conflicts = conflicts && !planted(Fault::InfluenceByOthersForgotten);
                let precedes = precedes && !planted(Fault::InfluenceOfLanesForgotten);
                if conflicts || precedes {
                    todo.push(other);
                }
            }
        }
    }
}
