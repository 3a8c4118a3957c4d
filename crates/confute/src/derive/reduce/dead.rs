//! Dead contents: contents that nothing will see are not told apart.
//!
//! *Leaves out*: the difference between hypotheses whose only cell holds different contents, if nothing sees either of
//! them, nor what they grow into, before the cell is overwritten.
//!
//! *Why no verdict changes*: such a content is replaced in the fingerprint by a mark, up to the position at which the cell
//! must have been overwritten (`dead_until`). Until then no turn looks at it: each delivery in flight is a watched read,
//! whose response this content does not give, or a write that looks at nothing, and so is each that is sent before. So
//! both hypotheses have the same futures, and the second is not tried.
//!
//! *Premises*:
//! - *No read, in flight or yet to be sent, can have seen the content or what it grows into*: both are asked, not one.
//! - *What overwrites a dead content is not dead*: a write ends the mark; an addition does not.
//! - *The next read observed something that the present text cannot grow into*, so that an overwriting delivery must come
//!   before it; [`grow`](super::grow) has just found that out.
//!
//! *Place in the order*: last after a change, because it only simplifies what is kept.

use super::Reduction;
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::dualize::Task;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::inquire::Fit;
use crate::derive::search::Part;

impl Part {
    /// Notes up to which position nothing sees the present content, if it has to be overwritten by then; `unseen` if
    /// nothing in flight sees it.
    pub(super) fn note_death(
        &self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        (at, answered): (usize, u64),
        unseen: bool,
    ) {
        if !world.reduces(Reduction::DeadContents) {
            return;
        }
        let is_dead = if planted(Fault::DeadThoughSeen) {
            unseen || self.is_unseen_until(world, hypothesis, at, answered)
        } else {
            unseen && self.is_unseen_until(world, hypothesis, at, answered)
        };
        if is_dead {
            world.left_out(Reduction::DeadContents);
            hypothesis.dead_until = answered;
        }
    }

    /// Returns `true` if no delivery sent before `place` can have seen the present content of the only cell, nor what
    /// it grows into.
    fn is_unseen_until(&self, world: &Composed<'_>, hypothesis: &Hypothesis, at: usize, place: u64) -> bool {
        self.log[at..].iter().take_while(|entry| entry.place < place).all(|entry| match &entry.task {
            Task::Given(delivery) if delivery.foot.mute => true,
            Task::Given(delivery) if delivery.foot.is_reader() && delivery.alone => {
                matches!(world.answer(delivery), Some((_, Seen::Message(seen)))
                    if world.fit(hypothesis, delivery, 0, None, &**seen) == Fit::Never)
            }
            Task::Explain(..) => true,
            _ => false,
        })
    }
}
