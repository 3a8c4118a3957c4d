//! Order in which moves are tried when an observation has no explanation yet.
//!
//! *Leaves out*: deliveries that are sure to fail at once, because their known response is not the one that they would give
//! at the present content (a read excepted: it may have been taken when the content was different). Everything else is
//! put on the stack; only the order is chosen.
//!
//! *Why no verdict changes*: [`foresight`](super::foresight) drops such a delivery as soon as it sends, so leaving it out
//! only saves the turn; the argument and the premises are the same. The order of a complete search plays no part in its
//! result.
//!
//! *Anticipation* (on networks that lose messages): the results of a delivery are divided in two. The expected ones, whose
//! response was observed, or that send none where nothing was observed, are tried first, and the response is bound at
//! once to the first observation that it fits. The others, which include the same results without that binding, are
//! tried afterwards, so that nothing is left out.
//!
//! In the following the *own* delivery is the one on the connection of the observation, and a delivery *spoils* another
//! if the other cannot give its observed response after it.
//!
//! *Place in the order*: where moves are listed, after [`relevance`](super::relevance).

use std::rc::Rc;

use smallvec::SmallVec;

use super::Reduction;
use crate::derive::compose::{Brood, Composed};
use crate::derive::dualize::Task;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::search::{Part, Position};
use crate::lang::Val;

/// Number of consecutive rankings in which the own delivery spoilt nothing, after which ranking is given up.
const MOST_UNSPOILT: u32 = 24;

impl Part {
    /// Returns the order in which to try the own delivery and the others, each with its depth.
    ///
    /// The own delivery comes first, unless it would spoil others, that is, make the responses observed to them
    /// impossible. In that case the delivery that spoils the fewest comes first.
    pub(super) fn rank(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Rc<Hypothesis>,
        own: &[usize],
        others: &[usize],
        Position { at, depth, place }: Position,
    ) -> SmallVec<[(usize, usize); 8]> {
        let [mine] = own else { return plain(own, others, depth) };
        if !world.reduces(Reduction::Ranking) {
            return plain(own, others, depth);
        }
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
        if self.memory.contents.grows
            || self.memory.contents.unspoilt > MOST_UNSPOILT
            || !others.iter().any(answered)
        {
            return plain(own, others, depth);
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
            self.memory.contents.unspoilt += 1;
            return plain(own, others, depth);
        }
        let mut ranked: Vec<(usize, usize, usize)> = others
            .iter()
            .map(|index| {
                let is_able = able.contains(&hypothesis.pending[*index].delivery.sent);
                let spoilt = if is_able { spoils(*index) } else { usize::MAX };
                (spoilt, *index, if spoilt < by_mine { depth } else { depth + 1 })
            })
            .collect();
        self.memory.contents.unspoilt = 0;
        ranked.push((by_mine, *mine, depth));
        ranked.sort_by_key(|(spoilt, index, _)| (*spoilt, index != mine));
        ranked.into_iter().map(|(_, index, depth)| (index, depth)).collect()
    }

    /// Keeps, on a network that loses messages, the expected results of a delivery (its response was observed, or
    /// nothing was observed instead), or with `odd` only the unexpected ones.
    pub(in crate::derive) fn sift(&self, world: &Composed<'_>, at: usize, odd: bool, brood: &mut Brood) {
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
            let may_be_late =
                hypothesis.pending[index].delivery.foot.is_reader() && !planted(Fault::RankingDropsLateReads);
            if effect.matches || may_be_late {
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
}

/// Returns the own deliveries before the others.
fn plain(own: &[usize], others: &[usize], depth: usize) -> SmallVec<[(usize, usize); 8]> {
    let own = own.iter().map(|index| (*index, depth));
    own.chain(others.iter().map(|index| (*index, depth + 1))).collect()
}
