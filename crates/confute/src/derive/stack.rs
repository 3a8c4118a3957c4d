//! The alternatives that were passed by, and which of them to take up next.

use std::rc::Rc;

use super::hypothesis::Hypothesis;

/// An alternative: a hypothesis that has explained the log up to `at`, and the step to try next.
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) hypothesis: Rc<Hypothesis>,
    pub(super) step: Step,
    /// How many packets were delivered, for the sake of what is to be explained at `at`, before the one in question.
    pub(super) depth: usize,
    /// Where packets get lost: whether to look only at what nobody expects (an answer that got lost though others came,
    /// a second copy), or only at the rest.
    pub(super) odd: Option<bool>,
    pub(super) serial: u64,
}

/// What to try. Choices stay unmade until their turn comes: most never do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Go on as it is.
    Go,
    /// The server takes this pending packet.
    Deliver(usize),
    /// It took this one, which only reads, at a version of its cell.
    Read(usize, Option<usize>),
    /// Something happens inside the server.
    Internal,
}

/// The alternatives.
///
/// Where something seen cannot be explained, either some other packet was delivered before it (one, or two, or many), or
/// an earlier choice was wrong, and nobody knows which. Going ever deeper at the latest place would try every order of
/// everything under way; going back first would try old choices for nothing. So two orders are followed in turns: the
/// latest alternative first, and the one with the fewest conjectured deliveries first.
#[derive(Default)]
pub(super) struct Stack {
    /// By depth, in the order of being passed by.
    levels: Vec<Vec<Node>>,
    pub(super) len: usize,
    serial: u64,
}

impl Stack {
    pub(super) fn push(&mut self, mut node: Node) {
        let depth = node.depth.min(15);
        while self.levels.len() <= depth {
            self.levels.push(Vec::new());
        }
        self.serial += 1;
        node.serial = self.serial;
        self.levels[depth].push(node);
        self.len += 1;
    }

    pub(super) fn extend(&mut self, nodes: impl Iterator<Item = Node>) {
        nodes.for_each(|node| self.push(node));
    }

    /// The latest alternative.
    pub(super) fn pop_latest(&mut self) -> Option<Node> {
        let level = self.levels.iter_mut().max_by_key(|level| level.last().map_or(0, |node| node.serial))?;
        let node = level.pop()?;
        self.len -= 1;
        Some(node)
    }

    /// The alternative with the fewest conjectured deliveries.
    pub(super) fn pop_nearest(&mut self) -> Option<Node> {
        let node = self.levels.iter_mut().find_map(Vec::pop)?;
        self.len -= 1;
        Some(node)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.levels.iter().flatten()
    }

    pub(super) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.levels.iter_mut().flatten()
    }
}

impl Node {
    pub(super) fn go(at: usize, hypothesis: Rc<Hypothesis>) -> Self {
        Self::new(at, hypothesis, Step::Go, 0)
    }

    pub(super) fn new(at: usize, hypothesis: Rc<Hypothesis>, step: Step, depth: usize) -> Self {
        Self { at, hypothesis, step, depth, odd: None, serial: 0 }
    }
}
