//! As much as possible at once: half of the connections wait, unread, while the others ask again.
//!
//! A server that answers faster than the tester asks would otherwise rarely have two requests at once. There are more
//! resources than elsewhere, so that few requests compete for each: what becomes of them can be followed.

use confute_drive::{Peer, Step, Until, View};

use super::{Pick, Traffic};
use crate::ask::{Known, READS, WRITES, read, write};
use crate::message::Method;
use crate::protocol::{Ask, Http};

/// With more alternatives open than this, everything is read first.
const SOME: usize = 160;

/// So many connections ask for the same thing, more or less.
const RIVALS: u64 = 3;

impl Traffic {
    /// Half of the connections ask, while what the others asked is still unread; then that is read, and next time it is
    /// their turn.
    pub(super) fn flood(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let all = view.wide.max(2);
        let halves = [0..all / 2, all / 2..all];
        // Where few are to compete, each asks for something else.
        let rivals = if view.connections < view.wide { 1 } else { RIVALS };
        self.names = self.names.max(u64::from(all).div_ceil(rivals));
        let [asks, waits] = if self.turn {
            halves
        } else {
            let [first, second] = halves;
            [second, first]
        };
        self.turn = !self.turn;
        self.wave(view, asks, pick);
        self.release(waits);
        // Now and then all at rest, so that what was done is certain.
        if view.alternatives > SOME || pick(24) == 0 {
            self.release(0..all);
        }
    }

    /// Each of these connections asks something, and nothing is read from it.
    fn wave(&mut self, view: &View<'_, Http>, lines: std::ops::Range<u32>, pick: &mut Pick<'_>) {
        self.gather(pick);
        for on in lines {
            let name = format!("r{}", pick(self.names)).into();
            let known = Known::of(view.past, &name);
            let ask = match pick(16) {
                0..=5 => Self::get(&name),
                6..=9 => read(&known, &name, pick(READS), pick),
                10 => Ask { method: Method::Delete, ..Self::get(&name) },
                11 => write(&known, &name, self.body(pick), pick(WRITES), pick),
                12 | 13 => known.race(&name, self.body(pick), pick),
                _ => self.put(&name, pick),
            };
            self.queue.push_back(Step::Hold(Peer::Opened(on)));
            self.ask(on, ask);
        }
    }

    /// Reads what came on these connections.
    pub(super) fn release(&mut self, lines: std::ops::Range<u32>) {
        self.queue.extend(lines.map(|on| Step::Release(Peer::Opened(on))));
        self.queue.push_back(Step::Wait(Until::Outstanding(0)));
    }
}
