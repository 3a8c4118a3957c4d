//! Growing texts: a text that is no beginning of what is read next is given up.
//!
//! *Leaves out*: hypotheses whose content is a text that a read, in flight or yet to be sent, cannot have observed, though
//! it has to.
//!
//! *Why no verdict changes*: a cell that is opened with [`Table::grow`](crate::lang::Table::grow) only gets longer, so
//! whatever is read later begins with the present text, until the cell is overwritten. If the model says that the response
//! at the present text cannot grow into the one observed
//! ([`ServerModel::may_grow_into`](crate::lang::ServerModel::may_grow_into)), the read must have been given something
//! else: a content that an overwriting delivery leaves behind, in flight now or sent before the response. If none of them
//! leads to what was observed, nothing does.
//!
//! *Premises*:
//! - *The model says that the response cannot grow into the observed one*: "a" may still become "ab".
//! - *Overwriting deliveries that are in flight or yet to be sent count as origins*, and only if each of them leaves the
//!   same content in every state; otherwise what it leaves is unknown, and nothing is given up.
//! - *A relaxed rule may be the one that forbids more than appending*: then no text counts as growing.
//! - *One cell without secrets.*
//!
//! *Place in the order*: after the known reads, which it judges on the way, and after the reductions that explore; it
//! compares one text.

use std::rc::Rc;

use super::{Contents, Reduction};
use crate::derive::book::Seen;
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::{Delivery, Hypothesis};
use crate::derive::inquire::Fit;
use crate::derive::search::Part;

impl Part {
    /// Returns `true` if the only cell holds a text that may be compared with later reads.
    pub(super) fn has_growing_text(&self, world: &Composed<'_>, hypothesis: &Hypothesis) -> bool {
        self.memory.contents.grows
            && self.cells.len() == 1
            && hypothesis.facts.is_empty()
            && world.reduces(Reduction::GrowingTexts)
    }

    /// Returns `true` if the next read that is yet to be sent can still find the content that it observed. If that
    /// requires the present content to be overwritten, and nothing sees it before, not even deliveries in flight
    /// (`unseen`), that is noted in `dead_until`.
    pub(super) fn suits_next_read(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        at: usize,
        unseen: bool,
    ) -> bool {
        let first = self.memory.contents.readers.partition_point(|(index, _)| *index < at);
        let Some((_, next)) = self.memory.contents.readers.get(first) else { return true };
        let next = Rc::clone(next);
        let Some((answered, Seen::Message(seen))) = world.answer(&next) else { return true };
        if world.fit(hypothesis, &next, 0, None, &**seen) != Fit::Never {
            return true;
        }
        self.note_death(world, hypothesis, (at, *answered), unseen);
        let has_origin = self.has_origin(world, hypothesis, &next, at);
        if !has_origin {
            world.left_out(Reduction::GrowingTexts);
        }
        has_origin
    }

    /// Returns `true` if a delivery in flight or yet to come could leave behind the content that this read observed,
    /// or one that grows into it.
    pub(super) fn has_origin(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &Hypothesis,
        reader: &Rc<Delivery>,
        at: usize,
    ) -> bool {
        let Contents { origins, overwriters, .. } = &mut self.memory.contents;
        let origins = origins.entry(reader.sent).or_insert_with(|| {
            let (answered, Seen::Message(seen)) = world.answer(reader)? else { return None };
            let mut found = Vec::new();
            for writer in overwriters.iter().filter(|writer| writer.place < *answered) {
                if !writer.foot.fixed {
                    return None;
                }
                if world.leads_to(writer, reader, &**seen) {
                    found.push((writer.sent, writer.place));
                }
            }
            Some(found.into())
        });
        let Some(origins) = origins else { return true };
        let now = self.log.get(at).map_or(u64::MAX, |entry| entry.place);
        origins.iter().any(|(sent, place)| {
            (*place >= now && !planted(Fault::OriginOnlyUnderWay))
                || hypothesis.pending.iter().any(|pending| pending.delivery.sent == *sent)
        })
    }
}
