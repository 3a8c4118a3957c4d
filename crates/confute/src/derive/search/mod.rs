//! The plain search (Fig 11): keeps one live explanation and the alternatives behind it, and goes back only when it
//! fails.
//!
//! A [`Part`] is a group of cells that no turn ties to others; it is searched by itself. Its log is the list of what has
//! to be explained. Its stack holds the alternatives that were not taken, each with its position in the log. When the
//! live explanation fails, the latest alternative is taken up and brought forward; when none is left, nothing explains
//! the observations.
//!
//! This folder is complete by itself: [`step`] pushes *every* move that is possible where an observation has no
//! explanation yet, so a trace is refuted only if no order of moves explains it. It calls [`reduce`](super::reduce) at
//! the six points that are listed there, to leave out work; without any reduction each of these calls answers "go on".

pub(super) mod rest;
pub(super) mod stack;
pub(super) mod step;

use std::rc::Rc;

use super::compose::Composed;
use super::dualize::Entry;
use super::hypothesis::Hypothesis;
use super::reduce::remember::Remembered;
use super::reduce::tables::Attempt;
use super::reduce::{Contents, Reduction, Scenes, Settling};
use crate::engine::Meter;
use stack::{Node, Stack};

/// Maximum number of log entries that are explained in one stretch.
pub(super) const STRETCH: usize = 256;

/// A group of cells that are searched together.
pub(crate) struct Part {
    pub(crate) cells: Vec<u32>,
    /// `true` if some turn here may touch anything.
    pub(crate) whole: bool,
    pub(super) origin: Origin,
    pub(crate) log: Vec<Entry>,
    pub(super) front: Front,
    pub(super) stack: Stack,
    pub(super) memory: Memory,
    pub(super) settling: Settling,
    /// `true` if every alternative is to be found, so that their order makes no difference.
    pub(super) thorough: bool,
    /// `true` if an internal turn touched more than this part: nothing that was found here is valid.
    pub(crate) escaped: bool,
}

/// The start of a part's log.
pub(super) struct Origin {
    /// Position in the trace from which the hypotheses hold: everything before is settled.
    pub(super) place: u64,
    /// All hypotheses at the start of the log.
    pub(super) hypotheses: Vec<Hypothesis>,
}

/// The progress of a search through the log.
pub(super) struct Front {
    /// Index up to which the log is to be explained for now.
    pub(super) horizon: usize,
    /// Hypotheses that explain the log up to the horizon.
    pub(super) live: Vec<Hypothesis>,
    /// Index of the furthest entry that any hypothesis reached.
    pub(super) furthest: usize,
    /// `true` if the furthest entry was a send that no hypothesis could take.
    pub(super) out_of_step: bool,
}

impl Front {
    /// Notes that a hypothesis has explained the log up to this index.
    fn reach(&mut self, at: usize) {
        if at > self.furthest {
            self.furthest = at;
            self.out_of_step = false;
        }
    }
}

/// Results of the reductions that hold for every hypothesis of a part.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) remembered: Remembered,
    pub(super) contents: Contents,
    pub(super) scenes: Scenes,
    pub(super) tables: Attempt,
}

/// The outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Some hypothesis explains everything so far.
    Explained,
    /// No hypothesis explains everything so far.
    Failed,
    /// The search was stopped before its end.
    Unfinished,
}

/// The point at which a hypothesis stands.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// Index in the log of the entry to explain.
    pub(super) at: usize,
    /// Number of other deliveries that were conjectured for that entry.
    pub(super) depth: usize,
    /// Position of the entry in the trace.
    pub(super) place: u64,
}

impl Part {
    pub(crate) fn new(cells: Vec<u32>, base: Vec<Hypothesis>, whole: bool) -> Self {
        Self {
            cells,
            whole,
            log: Vec::new(),
            front: Front { horizon: 0, live: base.clone(), furthest: 0, out_of_step: false },
            origin: Origin { place: 0, hypotheses: base },
            stack: Stack::default(),
            memory: Memory::default(),
            settling: Settling::after(0),
            thorough: false,
            escaped: false,
        }
    }

    /// Adds a cell that was in no part before.
    pub(crate) fn adopt(&mut self, world: &Composed<'_>, cell: u32) {
        if let Err(at) = self.cells.binary_search(&cell) {
            self.cells.insert(at, cell);
            for node in self.stack.nodes_mut() {
                world.ensure(Rc::make_mut(&mut node.hypothesis), cell);
            }
            for hypothesis in self.origin.hypotheses.iter_mut().chain(&mut self.front.live) {
                world.ensure(hypothesis, cell);
            }
        }
    }

    /// Searches again from the start of the log.
    pub(crate) fn restart(&mut self) {
        self.stack = Stack::default();
        self.front.live.clone_from(&self.origin.hypotheses);
        self.front.horizon = 0;
        self.memory.remembered.forget_all();
        self.memory.tables = Attempt::Declined;
    }

    /// Searches until the log is explained, no alternative is left, or the meter is spent.
    ///
    /// Works in stretches, each settled if it can be, so that the past does not accumulate.
    pub(crate) fn advance(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>, target: usize) -> Progress {
        if let Some(progress) = self.search_by_tables(world, meter) {
            return progress;
        }
        let mut target = target.min(self.log.len());
        loop {
            match self.explore(world, meter) {
                Progress::Explained => {}
                other => return other,
            }
            if self.is_due_to_settle(world) {
                let before = self.log.len();
                world.within(Reduction::Settling, || self.settle(world, meter));
                target -= before - self.log.len();
                if self.stops(world) {
                    return Progress::Unfinished;
                }
                if self.front.live.is_empty() {
                    continue;
                }
            }
            if self.front.horizon >= target {
                return Progress::Explained;
            }
            let at = self.front.horizon;
            self.front.horizon = (self.front.horizon + STRETCH).min(target);
            self.stack
                .extend(self.front.live.drain(..).rev().map(|hypothesis| Node::go(at, Rc::new(hypothesis))));
        }
    }

    /// Takes up alternatives until one reaches the horizon.
    fn explore(&mut self, world: &Composed<'_>, meter: &mut Meter<'_>) -> Progress {
        let mut stint = 64;
        let mut switch_at = world.tally.runs.get() + stint;
        let mut nearest = false;
        while self.front.live.is_empty() {
            if meter.is_spent(world.tally.runs.get(), || self.pulse(world)) {
                return Progress::Unfinished;
            }
            let before = world.tally.runs.get();
            if before >= switch_at && world.reduces(Reduction::Ranking) {
                stint += stint / 2;
                switch_at = before + stint;
                nearest = !nearest;
            }
            let node = if nearest { self.stack.pop_nearest() } else { self.stack.pop_latest() };
            let Some(node) = node else { return Progress::Failed };
            self.forward(world, node);
            self.settling.runs += world.tally.runs.get() - before;
            if self.stops(world) {
                return Progress::Unfinished;
            }
        }
        Progress::Explained
    }

    /// Returns `true` if a turn did something that ends the search: nothing that follows from it is valid.
    pub(super) fn stops(&self, world: &Composed<'_>) -> bool {
        self.escaped || world.tally.mistake.borrow().is_some()
    }
}
