//! Steps of the search: one alternative is brought forward through the log, and the choices on its way become
//! alternatives.

use std::rc::Rc;

use super::stack::{Move, Node};
use super::{Part, Position};
use crate::derive::book::Seen;
use crate::derive::compose::{Brood, Composed};
use crate::derive::dualize::{Entry, Task};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Hypothesis, Pending};
use crate::derive::reduce::Foretold;
use crate::derive::unify::{Reach, Spot};

impl Part {
    /// Brings one alternative forward as far as it goes without a choice; pushes the choices onto the stack.
    pub(in crate::derive) fn forward(&mut self, world: &Composed<'_>, node: Node) {
        world.note_step(self, &node);
        let (mut at, mut depth) = (node.at, node.depth);
        let Some(mut shared) = self.take_move(world, node) else { return };
        loop {
            self.front.reach(at);
            if !self.survives(world, Rc::make_mut(&mut shared), at) {
                return;
            }
            if at == self.front.horizon {
                self.front.live.push(Rc::unwrap_or_clone(shared));
                return;
            }
            match self.perform(world, shared, at, depth) {
                Some(next) => shared = next,
                None => return,
            }
            at += 1;
            depth = 0;
        }
    }

    /// Takes the move of an alternative. Returns the first hypothesis that it leads to, if any, and pushes the others
    /// onto the stack.
    fn take_move(&mut self, world: &Composed<'_>, node: Node) -> Option<Rc<Hypothesis>> {
        if self.skips(world, &node) {
            return None;
        }
        let Node { at, hypothesis, next_move, depth, odd, .. } = node;
        let place = match next_move {
            Move::Go => return Some(hypothesis),
            _ => self.log[at].place,
        };
        let mut brood = Brood::new();
        match next_move {
            Move::Go => {}
            Move::Deliver(index) => {
                let (delivery, unseen) =
                    (Rc::clone(&hypothesis.pending[index].delivery), hypothesis.unseen_until);
                world.deliver(hypothesis, index, place, &mut brood);
                self.note_write(world, (&delivery, unseen), &mut brood);
            }
            Move::Read(index, version) => {
                world.deliver_reader(hypothesis, index, version, place, &mut brood);
            }
            Move::Internal => self.escaped |= world.internal(&hypothesis, !self.whole, place, &mut brood),
        }
        if let Some(odd) = odd {
            self.sift(world, at, odd, &mut brood);
        }
        let mut brood = brood.into_iter();
        let first = brood.next()?;
        self.stack.extend(brood.rev().map(|it| Node::new(at, it, Move::Go, depth)));
        Some(first)
    }

    /// Performs the task at `at`. Returns the hypothesis behind it if no choice was needed; pushes the choices onto
    /// the stack.
    fn perform(
        &mut self,
        world: &Composed<'_>,
        mut shared: Rc<Hypothesis>,
        at: usize,
        depth: usize,
    ) -> Option<Rc<Hypothesis>> {
        let hypothesis = Rc::make_mut(&mut shared);
        let Entry { place, task } = &self.log[at];
        let position = Position { at, depth, place: *place };
        match task {
            Task::Given(delivery) => {
                world.admit(hypothesis, delivery);
                // Nothing arrives on a connection that the server has closed.
                let arrives = |it: &Pending| Rc::ptr_eq(&it.delivery, delivery);
                if world.transport.is_direct && hypothesis.pending.last().is_some_and(arrives) {
                    self.hand_over(world, shared, position);
                    return None;
                }
            }
            Task::Severed(spot) => world.sever(hypothesis, *spot),
            Task::Explain(spot, seen) => match world.see_head(hypothesis, *spot, seen) {
                Some(true) => hypothesis.tidy_floors(),
                head => return self.explain(world, shared, head.is_some(), position),
            },
            Task::Join(others) => {
                let most = if planted(Fault::MergedWithTheFirst) { 1 } else { usize::MAX };
                let joined = others.iter().take(most).rev().map(|other| Rc::new(hypothesis.joined(other)));
                self.stack.extend(joined.map(|it| Node::go(at + 1, it)));
                return None;
            }
            Task::Rest => return self.rest(world, shared, position),
        }
        Some(shared)
    }

    /// Explains the observation at `at`, which the message at the head of its lane does not explain; `ruled_out` if
    /// no other can either ([`Composed::see_head`]). Returns the hypothesis if it explains the observation without a
    /// choice; pushes the choices onto the stack.
    fn explain(
        &mut self,
        world: &Composed<'_>,
        mut shared: Rc<Hypothesis>,
        ruled_out: bool,
        position: Position,
    ) -> Option<Rc<Hypothesis>> {
        let Position { at, place, .. } = position;
        let Task::Explain(spot, seen) = &self.log[at].task else { return None };
        let (spot, seen) = (*spot, seen.clone());
        let hypothesis = Rc::make_mut(&mut shared);
        let mut brood = Brood::new();
        let mut reach =
            if ruled_out { Reach::Closed } else { world.see(hypothesis, spot, (&seen, place), &mut brood) };
        if matches!(seen, Seen::Closed) && world.network.breaks() {
            let mut broken = hypothesis.clone();
            world.sever(&mut broken, spot);
            brood.push(Rc::new(broken));
            reach = if brood.len() == 1 { Reach::Closed } else { reach };
        }
        let outlook = match reach {
            Reach::Closed => Foretold::Impossible,
            Reach::Open => self.foretell(world, hypothesis, (spot, &seen), place),
        };
        let outlook = match outlook {
            Foretold::Explained => return Some(shared),
            Foretold::Impossible if reach == Reach::Open => return None,
            Foretold::Impossible => None,
            Foretold::Open(outlook) => Some(outlook),
        };
        self.stack.extend(brood.into_iter().rev().map(|it| Node::go(at + 1, it)));
        if let Some(outlook) = outlook {
            self.branch(world, shared, (spot, &seen), outlook, position);
        }
        None
    }

    /// Pushes every possible move; moves on the connection of the observation get the smaller depth.
    pub(in crate::derive) fn steps_of_all(
        &mut self,
        world: &Composed<'_>,
        hypothesis: Rc<Hypothesis>,
        spot: Spot,
        Position { at, depth, .. }: Position,
    ) {
        if world.has_internal {
            self.stack.push(Node::new(at, Rc::clone(&hypothesis), Move::Internal, depth + 1));
        }
        for (index, pending) in hypothesis.pending.iter().enumerate() {
            if world.is_deliverable(&hypothesis, index) {
                let depth = depth + usize::from(Some(pending.delivery.wire) != spot.wire());
                self.stack.push(Node::new(at, Rc::clone(&hypothesis), Move::Deliver(index), depth));
            }
        }
    }
}
