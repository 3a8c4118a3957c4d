//! The open alternatives of a search, and the order in which they are taken up.

use std::rc::Rc;

use crate::derive::hypothesis::Hypothesis;

/// An alternative: a hypothesis that has explained the log up to `at`, and the move to try next.
pub(in crate::derive) struct Node {
    pub(in crate::derive) at: usize,
    pub(in crate::derive) hypothesis: Rc<Hypothesis>,
    pub(in crate::derive) next_move: Move,
    /// Number of other deliveries that were conjectured, before the observation's own one, to explain the observation
    /// at `at`.
    pub(in crate::derive) depth: usize,
    /// On a network that loses messages: `Some(true)` to consider only unexpected results (a response that got lost
    /// though others came, a second copy), `Some(false)` to consider only the others.
    pub(in crate::derive) odd: Option<bool>,
    pub(in crate::derive) serial: u64,
}

/// The next step of an alternative. Its choices are made only when it is taken up: most alternatives never are.
#[derive(Clone, Copy, Debug)]
pub(in crate::derive) enum Move {
    /// Continue without a move.
    Go,
    /// The server takes this pending delivery.
    Deliver(usize),
    /// The server took this pending delivery, which only reads, at a version of its cell.
    Read(usize, Option<usize>),
    /// An internal turn happens.
    Internal,
}

/// The open alternatives.
///
/// If an observation cannot be explained, either other messages (one, two, or many) were delivered before the
/// observation's own request, or an earlier choice was wrong, and it is unknown which. Going ever deeper at the
/// latest position would try every order of everything in flight; going back first would try old choices in vain. So
/// two orders are followed by turns: the latest alternative first, and the one with the fewest conjectured deliveries
/// first.
#[derive(Default)]
pub(in crate::derive) struct Stack {
    /// Alternatives by the number of deliveries conjectured for them (the last entry: fifteen or more), in the order in
    /// which they were pushed.
    levels: Vec<Vec<Node>>,
    pub(in crate::derive) len: usize,
    serial: u64,
}

impl Stack {
    pub(in crate::derive) fn push(&mut self, mut node: Node) {
        let depth = node.depth.min(15);
        while self.levels.len() <= depth {
            self.levels.push(Vec::new());
        }
        self.serial += 1;
        node.serial = self.serial;
        self.levels[depth].push(node);
        self.len += 1;
    }

    pub(in crate::derive) fn extend(&mut self, nodes: impl Iterator<Item = Node>) {
        nodes.for_each(|node| self.push(node));
    }

    /// Removes and returns the latest alternative.
    pub(in crate::derive) fn pop_latest(&mut self) -> Option<Node> {
        let level = self.levels.iter_mut().max_by_key(|level| level.last().map_or(0, |node| node.serial))?;
        let node = level.pop()?;
        self.len -= 1;
        Some(node)
    }

    /// Removes and returns the alternative with the fewest conjectured deliveries.
    pub(in crate::derive) fn pop_nearest(&mut self) -> Option<Node> {
        let node = self.levels.iter_mut().find_map(Vec::pop)?;
        self.len -= 1;
        Some(node)
    }

    pub(in crate::derive) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.levels.iter().flatten()
    }

    pub(in crate::derive) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.levels.iter_mut().flatten()
    }
}

impl Node {
    pub(in crate::derive) fn go(at: usize, hypothesis: Rc<Hypothesis>) -> Self {
        Self::new(at, hypothesis, Move::Go, 0)
    }

    pub(in crate::derive) fn new(
        at: usize,
        hypothesis: Rc<Hypothesis>,
        next_move: Move,
        depth: usize,
    ) -> Self {
        Self { at, hypothesis, next_move, depth, odd: None, serial: 0 }
    }
}
