//! Tags that are weak at first: many resources are put, and looked at again when their tags have become strong.
//!
//! Some servers call a tag weak for a second after a change. Strong comparison is never true then, and what they get wrong
//! about strong tags would never be seen.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::{Pick, Traffic, draw};
use crate::ask::{Known, READS, WRITES, read, write};
use crate::protocol::Http;

/// How many resources ripen at once.
const ROW: u64 = 24;
/// So many milliseconds make a tag strong that is going to be.
const RIPE: u64 = 1_100;

impl Traffic {
    /// Puts a row of resources and waits, if tags are weak at first.
    pub(super) fn ripen(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        if !Known::of(view.past, &"r0".into()).is_weak {
            return;
        }
        self.row = (0..ROW).map(|number| format!("w{number}").into()).collect();
        let row = self.row.clone();
        let lines = view.connections.clamp(1, 4);
        for (on, name) in (0..lines).cycle().zip(&row) {
            let put = self.put(name, pick);
            self.ask(on, put);
        }
        self.barrier();
        self.queue.push_back(Step::Wait(Until::Millis(RIPE)));
        for (on, name) in (0..lines).cycle().zip(&row) {
            self.exchange(on, Self::get(name));
        }
    }

    /// A read of one of the row and a conditional write to it, and a look at what that did. Each is used once.
    pub(super) fn harvest(&mut self, view: &View<'_, Http>, name: &Arc<str>, pick: &mut Pick<'_>) {
        let known = Known::of(view.past, name);
        self.exchange(0, read(&known, name, pick(READS), pick));
        let kind = draw(&mut self.ripe, 0..WRITES, pick).unwrap_or_default();
        let body = self.body(pick);
        self.exchange(0, write(&known, name, body, kind, pick));
        self.exchange(0, Self::get(name));
    }
}
