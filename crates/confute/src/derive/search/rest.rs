//! Steps that need no observation: a message is handed to the server without a network, or everything comes to rest.

use std::rc::Rc;

use super::stack::{Move, Node};
use super::{Part, Position};
use crate::derive::compose::{Brood, Composed};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::lang::Conn;

impl Part {
    /// Hands a message to the server without a network: the server must take it now.
    pub(super) fn hand_over(
        &mut self,
        world: &Composed<'_>,
        hypothesis: Rc<Hypothesis>,
        Position { at, place, .. }: Position,
    ) {
        if at == self.front.furthest {
            self.front.out_of_step = true;
        }
        if !hypothesis.out.is_empty() || !self.is_new(world, &hypothesis, place) {
            return;
        }
        let Some(last) = hypothesis.pending.len().checked_sub(1) else { return };
        if world.has_internal {
            let mut before = Hypothesis::clone(&hypothesis);
            before.pending.pop();
            self.stack.push(Node::new(at, Rc::new(before), Move::Internal, 1));
        }
        let mut brood = Brood::new();
        let took = world.deliver(hypothesis, last, place, &mut brood);
        if took && at >= self.front.furthest {
            // The server took it, though a later observation rules out the result.
            self.front.furthest = at + 1;
            self.front.out_of_step = false;
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at + 1, hypothesis)));
    }

    /// Brings the hypothesis to rest: nothing is in flight any more. Returns it if it is at rest already; otherwise
    /// pushes the deliveries that are left onto the stack.
    pub(super) fn rest(
        &mut self,
        world: &Composed<'_>,
        mut shared: Rc<Hypothesis>,
        Position { at, place, .. }: Position,
    ) -> Option<Rc<Hypothesis>> {
        if world.transport.loses_input && world.transport.loses_output {
            let rested = Rc::make_mut(&mut shared);
            rested.out.clear();
            if !planted(Fault::AnswersAfterRest) {
                rested.pending.iter_mut().for_each(|pending| pending.stale = true);
            }
            return Some(shared);
        }
        if world.transport.loses_input || world.transport.loses_output {
            return Some(shared);
        }
        let owes = shared.out.iter().any(|item| item.taken == 0) && !planted(Fault::RestWithAnswersUnderWay);
        if owes || !self.is_new(world, &shared, place) {
            return None;
        }
        let mut brood = Brood::new();
        let mut taken = false;
        // Deviations of turns that let their requests wait though they need not. Of several only one may have been able to go on, so they
        // are not added up.
        let mut broken: u32 = 0;
        for index in 0..shared.pending.len() {
            let delivery = &shared.pending[index].delivery;
            let conn =
                if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
            if shared.pending[index].taken > 0 || !world.is_deliverable(&shared, index) {
                continue;
            }
            let took = world.deliver(Rc::clone(&shared), index, place, &mut brood);
            // Deliveries left behind by an ended connection may arrive, but need not.
            if took && (!world.has_ended(conn, place) || planted(Fault::LoosePacketsOwed)) {
                match world.waits(&shared, index) {
                    Some(deviations) => broken = broken.max(deviations),
                    None => taken = true,
                }
            }
        }
        if world.has_internal {
            self.escaped |= world.internal(&shared, !self.whole, place, &mut brood);
        }
        self.stack.extend(brood.into_iter().rev().map(|hypothesis| Node::go(at, hypothesis)));
        if taken && !planted(Fault::RestWithPacketsUnderWay) {
            return None;
        }
        let rested = Rc::make_mut(&mut shared);
        rested.deviations += broken;
        if rested.deviations > world.allowance.most {
            return None;
        }
        // What waits was not handled before the rest: its response would have come.
        let turns = rested.turns;
        rested.pending.iter_mut().for_each(|pending| pending.since = pending.since.max(turns));
        // Spare copies are not in flight either.
        if !planted(Fault::CopiesAfterRest) {
            rested.pending.retain(|pending| pending.taken == 0);
        }
        rested.out.retain(|item| item.taken == 0);
        Some(shared)
    }
}
