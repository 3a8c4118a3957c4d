//! Reductions: what the search leaves out, one file each, and the order in which they act.
//!
//! The plain search ([`search`](super::search)) is complete by itself. A reduction leaves out hypotheses or moves of
//! it, and never changes a verdict: whatever is left out either cannot explain the trace, or explains it only where
//! something that is kept does too. Each file argues why, premise by premise, with the counterexample that the premise
//! excludes. [`Reductions`] switches each of them at run time; the oracle tests compare the verdicts with all of them,
//! with none, with each alone, with each missing, and with random sets.
//!
//! They act at seven points, in this order:
//!
//! 0. *Before a search begins*: [`tables`] takes its place where hypotheses are not needed.
//! 1. *When an event comes*: [`parts`] chooses the group of cells that it concerns, and [`wait`] decides how far the log
//!    of that group is explained now.
//! 2. *Before a move*: [`foresight`] looks at the messages in flight, because that costs no turn; [`unseen`] looks at the
//!    delivery, which costs none either.
//! 3. *While a move takes effect*: [`foresight`] compares what is sent with what is known to be received, which ends
//!    most wrong moves before their hypothesis is finished; [`late`] keeps the contents that a write replaces.
//! 4. *After a content changed, or a read was sent*: first [`known`] takes the reads that the new content answers, because
//!    every read that is gone makes the next questions smaller; then [`grow`] (a comparison of texts), [`scenes`] and
//!    [`contents`] (which explore) ask if what is left can still be answered; last [`dead`] simplifies what is kept.
//! 5. *At an observation that no message in flight explains*: [`late`] first, because it needs no memory; then
//!    [`remember`], which ends most repeated work; then [`outlook`], which explores.
//! 6. *Where moves are listed*: [`relevance`] says which, [`unseen`] adds one, [`order`] says in which order, and at last
//!    [`settle`] forgets the past now and then.
//!
//! Correctness does not depend on this order: each argument holds for any hypothesis of the plain search. Two
//! reductions use another's results, and are off without it: [`unseen`] and all that asks about one cell need the
//! versions of [`late`]; [`dead`] speaks of contents that [`grow`] gave up.

pub(crate) mod contents;
mod dead;
pub(crate) mod foresight;
mod grow;
mod known;
pub(crate) mod late;
mod order;
mod outlook;
pub(crate) mod parts;
mod relevance;
pub(crate) mod remember;
mod scenes;
mod set;
mod settle;
pub(crate) mod tables;
mod unseen;
mod wait;

use std::rc::Rc;

use super::compose::Composed;
use super::hypothesis::{Hypothesis, Stir};
use super::search::stack::Node;
use super::search::{Part, Position};
use super::unify::Spot;
use crate::derive::book::Seen;
use crate::erased::Message;
use crate::lang::Conn;
pub(super) use contents::Contents;
pub(super) use outlook::Outlook;
pub(super) use scenes::Scenes;
pub use set::{Reduction, Reductions};
pub(super) use settle::Settling;

/// Result of the reductions at an observation that no message in flight explains.
pub(super) enum Foretold {
    /// The hypothesis, changed in place, explains the observation, and no alternative is needed.
    Explained,
    /// The hypothesis cannot explain the observation, or was tried before.
    Impossible,
    /// Moves have to be tried.
    Open(Option<Outlook>),
}

impl Part {
    /// Returns `false` if the hypothesis can be dropped after the move that led to it; may take reads in passing.
    pub(super) fn survives(&mut self, world: &Composed<'_>, hypothesis: &mut Hypothesis, at: usize) -> bool {
        if hypothesis.stirred == Stir::Calm {
            return true;
        }
        let written = std::mem::replace(&mut hypothesis.stirred, Stir::Calm) == Stir::Written;
        let place = self.log.get(at).or(self.log.last()).map_or(0, |entry| entry.place);
        if self.whole || !world.transport.is_reliable || world.transport.is_direct || !world.timeless {
            return true;
        }
        self.scan(world);
        if written && hypothesis.dead_until > place {
            // The content has grown, and nothing sees that either.
            return true;
        }
        let grows = written && self.has_growing_text(world, hypothesis);
        let known = || self.take_known_reads(world, hypothesis, (at, written, grows));
        let Some(unseen) = world.within(Reduction::KnownReads, known) else { return false };
        if written {
            if world.within(Reduction::Scenes, || self.is_doomed(world, hypothesis, at))
                || world.within(Reduction::LostContents, || self.is_lost(world, hypothesis, at))
            {
                return false;
            }
            world.within(Reduction::Scenes, || self.drop_versions(world, hypothesis));
        }
        !grows
            || world.within(Reduction::GrowingTexts, || self.suits_next_read(world, hypothesis, at, unseen))
    }

    /// Asks the reductions about an observation before any move is tried.
    pub(super) fn foretell(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        (spot, seen): (Spot, &Seen),
        place: u64,
    ) -> Foretold {
        let asked = self.keeps_to_itself(spot, seen);
        if world.transport.is_reliable
            && let Some((conn, seen)) = asked
            && world.within(Reduction::LateReads, || self.takes_late(world, hypothesis, conn, seen))
        {
            return Foretold::Explained;
        }
        if !world.within(Reduction::Remembering, || self.is_new(world, hypothesis, place)) {
            return Foretold::Impossible;
        }
        match asked {
            Some((conn, seen)) => {
                world.within(Reduction::Outlook, || self.look_out(world, hypothesis, conn, seen))
            }
            None => Foretold::Open(None),
        }
    }

    /// Pushes the moves that can help to explain an observation.
    pub(super) fn branch(
        &mut self,
        world: &Composed<'_>,
        hypothesis: Rc<Hypothesis>,
        (spot, seen): (Spot, &Seen),
        outlook: Option<Outlook>,
        position: Position,
    ) {
        let asked = self.keeps_to_itself(spot, seen);
        match asked.filter(|_| world.reduces(Reduction::Relevance)) {
            Some((conn, seen)) => world.within(Reduction::Relevance, || {
                self.steps_towards(world, hypothesis, conn, (seen, outlook), position);
            }),
            None => {
                self.push_covered(world, &hypothesis, (spot, seen), position);
                self.push_versions(world, &hypothesis, spot, position);
                self.steps_of_all(world, hypothesis, spot, position);
            }
        }
    }

    /// Returns the connection and the message of an observation to which only turns for requests on that connection
    /// can have sent it.
    fn keeps_to_itself<'s>(&self, spot: Spot, seen: &'s Seen) -> Option<(Conn, &'s Message)> {
        match (self.whole, spot, seen) {
            (false, Spot::Client(conn), Seen::Message(seen)) => Some((conn, &**seen)),
            _ => None,
        }
    }

    /// Returns `true` if the move of this alternative need not be tried.
    pub(super) fn skips(&self, world: &Composed<'_>, node: &Node) -> bool {
        self.log.get(node.at).is_some_and(|entry| {
            (!node.hypothesis.out.is_empty() && world.is_overtaken(&node.hypothesis, entry.place))
                || self.is_idle_write(world, node, entry.place)
        })
    }

    /// Returns `true` if the part consists of one cell, which only deliveries touch.
    fn is_plain(&self, world: &Composed<'_>) -> bool {
        self.cells.len() == 1
            && !self.whole
            && world.transport.is_reliable
            && !world.transport.is_direct
            && world.timeless
    }
}
