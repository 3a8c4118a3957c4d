//! Validators that change with time: a row of resources is put, and read again after a pause.
//!
//! Some servers mark a tag as weak for a second after a change. Strong comparison is never true then, and violations of
//! the rules about strong tags would never show. Others compute a tag late, or replace it, which shows only if nothing
//! is written meanwhile.

use std::sync::Arc;

use confute_drive::{Step, Until, View};

use super::conditional::{ReadMove, WriteMove, read, write};
use super::known::Known;
use super::moves::draw;
use super::{Pick, Traffic};
use crate::protocol::Http;

/// Resources in a row where tags are weak at first.
const ROW: u64 = 24;
/// Milliseconds without a write after which a tag that is still weak stays weak.
const RIPE: u64 = 1_100;
/// Resources in a row where tags are strong from the start.
const SHORT_ROW: u64 = 6;
/// Milliseconds without a write after which resources of the short row are read again.
const PAUSE: u64 = 60;

impl Traffic {
    /// Puts a row of resources, and reads each at once and after a pause.
    pub(super) fn put_row(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let is_weak = Known::of(view.past, &"r0".into()).is_weak;
        if is_weak && self.ripening.is_hasty {
            return;
        }
        let count;
        (count, self.ripening.pause) = if is_weak { (ROW, RIPE) } else { (SHORT_ROW, PAUSE) };
        self.ripening.row = (0..count).map(|number| format!("w{number}").into()).collect();
        let row = self.ripening.row.clone();
        let connections = view.connections.clamp(1, 4);
        for (on, name) in (0..connections).cycle().zip(&row) {
            let put = self.put(name, pick);
            self.ask(on, put);
            self.ask(on, Self::get(name));
        }
        self.barrier();
        self.read_after_pause(connections, &row);
    }

    /// Waits for the pause, in which nothing is written, and reads each of these resources.
    fn read_after_pause(&mut self, connections: u32, names: &[Arc<str>]) {
        self.queue.push_back(Step::Wait(Until::Millis(self.ripening.pause)));
        for (on, name) in (0..connections).cycle().zip(names) {
            self.exchange(on, Self::get(name));
        }
    }

    /// Reads one of the row, writes it, conditionally or not, and reads it again. Each resource of the row is used
    /// once.
    pub(super) fn use_ripe(&mut self, view: &View<'_, Http>, name: &Arc<str>, pick: &mut Pick<'_>) {
        let known = Known::of(view.past, name);
        self.exchange(0, read(&known, name, ReadMove::any(pick), pick));
        let change = if pick(2) == 0 {
            self.put(name, pick)
        } else {
            let chosen = draw(&mut self.ripening.writes, WriteMove::ALL.into_iter(), pick);
            let body = self.body(pick);
            write(&known, name, body, chosen.unwrap_or(WriteMove::MadeUpMatch), pick)
        };
        self.exchange(0, change);
        self.exchange(0, Self::get(name));
        self.ripening.changed.push(name.clone());
        if self.ripening.row.is_empty() {
            let changed = std::mem::take(&mut self.ripening.changed);
            self.read_after_pause(view.connections.clamp(1, 4), &changed);
        }
    }
}
