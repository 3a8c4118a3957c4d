//! Floods: requests on half of the connections while the responses on the other half are unread.
//!
//! A server that responds faster than the tester sends would otherwise rarely have two requests at once. There are more
//! resources than elsewhere, so that few requests compete for each, which keeps the number of hypotheses small.

use std::ops::Range;

use confute_drive::{Peer, Step, Until, View};

use super::moves::{CrowdMove, choose_weighted};
use super::{Pick, Traffic};
use crate::protocol::Http;

/// Open alternatives of the search above which all responses are read first.
const MOST_ALTERNATIVES: usize = 160;

/// Average number of connections that send requests to the same resource.
const RIVALS: u64 = 3;

/// Requests of a flood.
const FLOOD: [(CrowdMove, u64); 6] = [
    (CrowdMove::Get, 6),
    (CrowdMove::Read, 4),
    (CrowdMove::Delete, 1),
    (CrowdMove::Write, 1),
    (CrowdMove::Race, 2),
    (CrowdMove::Put, 2),
];

/// A half of the connections.
#[derive(Clone, Copy, Debug)]
pub(super) enum Half {
    Lower,
    Upper,
}

impl Half {
    fn other(self) -> Self {
        match self {
            Half::Lower => Half::Upper,
            Half::Upper => Half::Lower,
        }
    }

    fn of(self, connections: u32) -> Range<u32> {
        match self {
            Half::Lower => 0..connections / 2,
            Half::Upper => connections / 2..connections,
        }
    }
}

impl Traffic {
    /// Sends requests on one half of the connections while the responses on the other half are unread, and then reads
    /// those. The other half is next.
    pub(super) fn flood(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let all = view.wide.max(2);
        // Where fewer connections may compete, each has a resource of its own.
        let rivals = if view.connections < view.wide { 1 } else { RIVALS };
        self.names = self.names.max(u64::from(all).div_ceil(rivals));
        let half = self.half;
        self.half = half.other();
        self.wave(view, half.of(all), pick);
        self.release(half.other().of(all));
        // Now and then all responses are read, so that the state of the resources is certain.
        if view.alternatives > MOST_ALTERNATIVES || pick(24) == 0 {
            self.release(0..all);
        }
    }

    /// Sends a request on each of these connections, and stops reading from them.
    fn wave(&mut self, view: &View<'_, Http>, connections: Range<u32>, pick: &mut Pick<'_>) {
        self.gather(pick);
        for on in connections {
            let name = format!("r{}", pick(self.names)).into();
            let chosen = choose_weighted(&FLOOD, pick);
            let ask = self.crowded(view, &name, chosen, pick);
            self.queue.push_back(Step::Hold(Peer::Opened(on)));
            self.ask(on, ask);
        }
    }

    /// Reads all responses on these connections.
    pub(super) fn release(&mut self, connections: Range<u32>) {
        self.queue.extend(connections.map(|on| Step::Release(Peer::Opened(on))));
        self.queue.push_back(Step::Wait(Until::Outstanding(0)));
    }
}
