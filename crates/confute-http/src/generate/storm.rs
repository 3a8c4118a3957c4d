//! For each resource one writer, or two rivals, and several readers; each of them asks again as soon as it has its answer.
//!
//! With so few writers the order of the writes is known, or nearly, so whatever a read tells is judged at once, however
//! much goes on: thousands of chances a second for a read to meet a write halfway. What many writers do to each other is for
//! bursts and floods.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::{Pick, Traffic};
use crate::ask::{Known, READS, read};
use crate::mark;
use crate::message::Method;
use crate::protocol::{Ask, Http};

/// So many connections share a resource.
const SHARERS: u32 = 4;
/// One resource in so many has two that write to it.
const RIVALLED: u32 = 4;
/// After so many rounds all go on with something new: what is found then has little before it, and is soon blamed on a rule.
const ROUNDS: u64 = 32;
/// So many marks make a content, so that its length mostly tells nothing.
const MARKS: usize = 3;

impl Traffic {
    /// Whoever has nothing outstanding asks again, all of them at once; then something has to come.
    pub(super) fn storm(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let idle: Vec<u32> = (0..view.wide.max(2))
            .filter(|on| view.outstanding.get(*on as usize).is_none_or(|count| *count == 0))
            .collect();
        let groups = u64::from(view.wide.max(2).div_ceil(SHARERS));
        let latest = self.rounds / ROUNDS * groups;
        self.rounds += 1;
        self.names = self.names.max(latest + groups);
        if idle.len() > 1 {
            self.queue.push_back(Step::Gather);
        }
        for on in idle {
            let name: Arc<str> = format!("r{}", latest + u64::from(on / SHARERS)).into();
            // Where few are to compete, each resource has one writer.
            let has_rivals = on / SHARERS % RIVALLED == 1 && view.connections == view.wide;
            let ask = match on % SHARERS {
                0 | 1 if has_rivals => Known::of(view.past, &name).race(&name, self.content(pick), pick),
                0 => Ask { method: Method::Put, body: Some(self.content(pick)), ..Self::get(&name) },
                _ if pick(8) == 0 => read(&Known::of(view.past, &name), &name, pick(READS), pick),
                _ => Self::get(&name),
            };
            self.ask(on, ask);
        }
        self.queue.push_back(Step::Wait(Until::Something));
    }

    /// Content that can be told from any other, mostly as long as the one before.
    fn content(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        self.bodies += 1;
        mark::mark(self.bodies).repeat(if pick(8) == 0 { 2 * MARKS } else { MARKS }).into()
    }
}
