//! Packets in flight in one direction, ordered as the network specifies.
//!
//! A lane is a queue of which only the head may move. A packet that keeps no order has a lane of its own.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::network::Lane;

/// Queues of packets, none of them empty.
pub(super) struct Lanes<T> {
    queues: Vec<(Lane, VecDeque<T>)>,
    index: FxHashMap<u64, usize>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Self { queues: Vec::new(), index: FxHashMap::default() }
    }
}

impl<T> Lanes<T> {
    /// Returns the number of packets that may move now.
    pub(super) fn heads(&self) -> usize {
        self.queues.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    pub(super) fn push(&mut self, lane: Lane, packet: T) {
        let next = self.queues.len();
        let place = match lane {
            Lane::Ordered(number) => *self.index.entry(number).or_insert(next),
            Lane::Unordered => next,
        };
        if place == next {
            self.queues.push((lane, VecDeque::new()));
        }
        self.queues[place].1.push_back(packet);
    }

    /// Returns the packet that may move at this index, from 0 up to [`Lanes::heads`].
    pub(super) fn head(&mut self, place: usize) -> Option<&mut T> {
        self.queues.get_mut(place)?.1.front_mut()
    }

    /// Removes the packet that may move at this index.
    pub(super) fn take(&mut self, place: usize) -> Option<T> {
        let packet = self.queues.get_mut(place)?.1.pop_front();
        if self.queues[place].1.is_empty() {
            if let (Lane::Ordered(number), _) = self.queues.swap_remove(place) {
                self.index.remove(&number);
            }
            if let Some((Lane::Ordered(moved), _)) = self.queues.get(place) {
                self.index.insert(*moved, place);
            }
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_keeps_its_order() {
        let mut lanes = Lanes::default();
        for packet in 0..6 {
            lanes.push(Lane::Ordered(packet % 2), packet);
        }
        lanes.push(Lane::Unordered, 10);
        assert_eq!(lanes.heads(), 3);
        assert_eq!([lanes.take(0), lanes.take(0), lanes.take(0)], [Some(0), Some(2), Some(4)]);
        lanes.push(Lane::Ordered(0), 6);
        let mut rest = Vec::new();
        while let Some(packet) = lanes.take(lanes.heads() - 1) {
            rest.push(packet);
            if lanes.is_empty() {
                break;
            }
        }
        rest.retain(|packet| packet % 2 == 1);
        assert_eq!(rest, [1, 3, 5]);
    }
}
