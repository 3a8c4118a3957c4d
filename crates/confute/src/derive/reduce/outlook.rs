//! Outlook: if a delivery can give its observed response at no content within reach, the hypothesis is dropped; if it can
//! only by changing nothing, its place makes no difference.
//!
//! *Leaves out*: hypotheses that wait for a response that cannot come; and, for a delivery that can give its response
//! both by changing something (`loud`) and without (`quiet`), all but one of the places where it changes nothing.
//!
//! *Why no verdict changes*: starting from the present content, everything is explored that the other deliveries in
//! flight lead to, in any number and order. What is sent later is not needed: the response is observed *here*. If the
//! delivery gives its response neither at one of these contents nor at an earlier version that it may have met, no order
//! explains the observation. If it gives it at some version without writing, adding facts about secrets or choosing, it is taken there;
//! the case that it changes something is the other alternative (`must_write`), in which a turn that changes nothing is
//! refused, because it was tried.
//!
//! *Premises*:
//! - *The earlier versions are asked too*, and *all that the others lead to*: a compare-and-swap that fails now may have
//!   succeeded before, or may succeed after a pending write.
//! - *That the delivery changed nothing is tried before it is said that it must change something.*
//! - *One cell without secrets; no internal turns; no growing texts; alone on its connection.*
//!
//! *Place in the order*: last at an observation, because it explores. Where contents never repeat looking ahead is in
//! vain, so it pauses for longer and longer after it met too many.

use smallvec::SmallVec;

use super::contents::{MOST_CONTENTS, print};
use super::late::versions;
use super::{Foretold, Reduction};
use crate::derive::compose::Composed;
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Hypothesis;
use crate::derive::inquire::{Effect, Fit};
use crate::derive::search::Part;
use crate::erased::Message;
use crate::lang::{Conn, Val};

/// The ways in which a delivery can still give its observed response: without changing anything (`quiet`) or by
/// changing something (`loud`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::derive) struct Outlook {
    pub(super) quiet: bool,
    pub(super) loud: bool,
}

impl Part {
    /// Determines whether the request on this connection can still get the response that was observed there, whatever the other
    /// requests in flight do. The request's delivery is the hypothesis' first pending one on the connection.
    pub(super) fn look_out(
        &mut self,
        world: &Composed<'_>,
        hypothesis: &mut Hypothesis,
        conn: Conn,
        seen: &Message,
    ) -> Foretold {
        let own = hypothesis.pending.iter().position(|it| Some(it.delivery.wire) == conn.wire());
        let Some(index) = own.filter(|index| hypothesis.pending[*index].delivery.alone) else {
            return Foretold::Open(None);
        };
        if !world.transport.is_reliable || !world.reduces(Reduction::Outlook) {
            return Foretold::Open(None);
        }
        let outlook = self.outlook(world, hypothesis, index);
        match outlook {
            Some(Outlook { quiet: false, loud: false }) => {
                world.left_out(Reduction::Outlook);
                Foretold::Impossible
            }
            Some(Outlook { quiet: true, loud: false })
                if versions(hypothesis, index)
                    .into_iter()
                    .any(|version| world.passes_unnoticed(hypothesis, index, version, seen) == Fit::Now) =>
            {
                world.left_out(Reduction::Outlook);
                Foretold::Explained
            }
            _ => Foretold::Open(outlook),
        }
    }

    /// Determines if the delivery at `index` can ever give its observed response, whatever the others do: by changing
    /// something (`loud`), or without (`quiet`). Explores every content to which the others could bring the only
    /// cell, in any number and order; `None` where that is too much.
    fn outlook(&mut self, world: &Composed<'_>, hypothesis: &Hypothesis, index: usize) -> Option<Outlook> {
        let [cell] = hypothesis.cells.as_slice() else { return None };
        if !hypothesis.facts.is_empty() || world.has_internal || self.memory.contents.grows {
            return None;
        }
        // Where contents never repeat, looking ahead is in vain; it is tried again now and then.
        if self.memory.contents.blurred > 0 {
            self.memory.contents.blurred -= 1;
            return None;
        }
        let number = cell.number;
        let mut contents: SmallVec<[Option<Val>; 16]> = SmallVec::new();
        contents.push(cell.now.clone());
        let mut outlook = Outlook { quiet: false, loud: false };
        for version in versions(hypothesis, index).into_iter().flatten() {
            let past = cell.past()[version].0.clone();
            let effect = self.effect(world, &hypothesis.pending[index].delivery, number, past.as_ref())?;
            outlook.quiet |= effect.matches && !planted(Fault::OutlookWithoutPast);
        }
        let mut at = 0;
        while at < contents.len() {
            for (other, pending) in hypothesis.pending.iter().enumerate() {
                if pending.delivery.foot.is_reader() && other != index {
                    continue;
                }
                let Effect { matches, after, .. } =
                    self.effect(world, &pending.delivery, number, contents[at].as_ref())?;
                if !matches {
                    continue;
                }
                if other == index {
                    outlook.quiet |= after.is_none();
                    outlook.loud |= after.is_some();
                } else if let Some(after) = after
                    && !contents.iter().any(|known| print(known.as_ref()) == print(after.as_ref()))
                {
                    if contents.len() == MOST_CONTENTS {
                        self.memory.contents.blur = (self.memory.contents.blur * 4).clamp(16, 1 << 20);
                        self.memory.contents.blurred = self.memory.contents.blur;
                        return None;
                    }
                    if !planted(Fault::OutlookWithoutOthers) {
                        contents.push(after);
                    }
                }
            }
            at += 1;
        }
        Some(outlook)
    }
}
