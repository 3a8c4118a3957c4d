//! Validators that change with time: a row of resources is put, and looked at again after a pause.
//!
//! Some servers call a tag weak for a second after a change. Strong comparison is never true then, and what they get wrong
//! about strong tags would never be seen. Others compute a tag late, or replace it: that too shows only if nothing is
//! written meanwhile.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::{Pick, Traffic, draw};
use crate::ask::{Known, READS, WRITES, read, write};
use crate::protocol::Http;

/// Resources in a row where tags are weak at first.
const ROW: u64 = 24;
/// Milliseconds after which a tag is strong that is ever going to be.
const RIPE: u64 = 1_100;
/// Resources in a row where tags are strong from the start.
const SHORT_ROW: u64 = 6;
/// Milliseconds without a write after which those are looked at again.
const PAUSE: u64 = 60;

impl Traffic {
    /// Puts a row of resources, and looks at each at once and after a pause.
    pub(super) fn ripen(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let is_weak = Known::of(view.past, &"r0".into()).is_weak;
        if is_weak && self.ripening.is_hasty {
            return;
        }
        let count;
        (count, self.ripening.pause) = if is_weak { (ROW, RIPE) } else { (SHORT_ROW, PAUSE) };
        self.ripening.row = (0..count).map(|number| format!("w{number}").into()).collect();
        let row = self.ripening.row.clone();
        let lines = view.connections.clamp(1, 4);
        for (on, name) in (0..lines).cycle().zip(&row) {
            let put = self.put(name, pick);
            self.ask(on, put);
            self.ask(on, Self::get(name));
        }
        self.barrier();
        self.look_after_pause(lines, &row);
    }

    /// Looks at each of these when nothing was written to it for a while.
    fn look_after_pause(&mut self, lines: u32, names: &[Arc<str>]) {
        self.queue.push_back(Step::Wait(Until::Millis(self.ripening.pause)));
        for (on, name) in (0..lines).cycle().zip(names) {
            self.exchange(on, Self::get(name));
        }
    }

    /// A read of one of the row and a conditional write to it, or a plain one, and a look at what that did. Each is used once.
    pub(super) fn harvest(&mut self, view: &View<'_, Http>, name: &Arc<str>, pick: &mut Pick<'_>) {
        let known = Known::of(view.past, name);
        self.exchange(0, read(&known, name, pick(READS), pick));
        let change = if pick(2) == 0 {
            self.put(name, pick)
        } else {
            let kind = draw(&mut self.ripening.writes, 0..WRITES, pick).unwrap_or_default();
            let body = self.body(pick);
            write(&known, name, body, kind, pick)
        };
        self.exchange(0, change);
        self.exchange(0, Self::get(name));
        self.ripening.changed.push(name.clone());
        if self.ripening.row.is_empty() {
            let changed = std::mem::take(&mut self.ripening.changed);
            self.look_after_pause(view.connections.clamp(1, 4), &changed);
        }
    }
}
