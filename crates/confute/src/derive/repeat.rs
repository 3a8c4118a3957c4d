//! Repetition of turns: over the same answers a turn must do the same.
//!
//! A turn that depends on more than the results of `io` (a counter inside the model, a clock) shows the search
//! servers that do not exist, and correct ones are refuted. So a sample of the turns is run twice at once, which
//! detects behaviour that changes with every run. These turns are kept for a while and run once more later, which
//! detects behaviour that changes with what happened in between: a model that stores values beside its tables does
//! the same twice in a row. Nothing here changes a hypothesis or counts as a turn that was tried.

use std::cell::{Cell, RefCell};

use super::compose::Composed;
use super::hypothesis::{Footprint, Hypothesis};
use super::turn::{Path, Ran, Start};
use crate::erased::Message;
use crate::lang::{Cause, Conn, Incoming, Mistake, Stop, Val};

/// Number of turns at the start that are all run twice: most models with hidden state show it at once.
const FIRST: u64 = 8;
/// Minimum distance, after the first turns, between two turns that are run twice.
const LEAST_GAP: u64 = 128;
/// Number of values of the random addition to [`LEAST_GAP`]: a period of the model must not be that of the sample.
const GAPS: u64 = 128;
/// Maximum number of turns that are kept to be run again later.
const MOST_KEPT: usize = 16;
/// Maximum number of turns that are kept if every turn is run twice.
const MOST_KEPT_OF_ALL: usize = 64;

/// Selection of the turns that are run again, and store of those that are kept for later.
pub(crate) struct Repeats {
    /// `true` if every turn is run twice.
    all: bool,
    /// Number of the next turn to be run twice.
    next: Cell<u64>,
    random: Cell<u64>,
    kept: RefCell<Vec<Kept>>,
}

impl Repeats {
    pub(crate) fn new(all: bool) -> Self {
        Self { all, next: Cell::new(1), random: Cell::new(0x9e37_79b9_7f4a_7c15), kept: RefCell::default() }
    }

    /// Returns `true` if the turn with this number is to be run twice.
    pub(super) fn is_due(&self, number: u64) -> bool {
        number == self.next.get()
    }

    /// Chooses the next turn to be run twice, after this one.
    fn advance(&self, number: u64) {
        let gap = if self.all || number < FIRST { 1 } else { LEAST_GAP + self.below(GAPS) };
        self.next.set(number + gap);
    }

    /// Returns a number below `bound`, from a sequence that is the same in every run of the program: a mistake that
    /// was noticed once is noticed again.
    fn below(&self, bound: u64) -> u64 {
        let mut state = self.random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.set(state);
        state % bound
    }

    /// Keeps a turn, replacing another if there are enough.
    fn keep(&self, turn: Kept) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() < if self.all { MOST_KEPT_OF_ALL } else { MOST_KEPT } {
            kept.push(turn);
        } else {
            let place = self.below(kept.len() as u64) as usize;
            kept[place] = turn;
        }
    }
}

/// A turn with everything that it depended on, and its effects.
struct Kept {
    hypothesis: Hypothesis,
    inbox: Vec<(Conn, Incoming<Message>)>,
    foot: Option<Footprint>,
    version: Option<(u32, Option<Val>)>,
    pickable: Option<Vec<u32>>,
    cause: Cause,
    acted: usize,
    fixed: usize,
    dry: bool,
    may_break: bool,
    untold: bool,
    path: Path,
    ran: Ran,
}

impl Kept {
    fn new(hypothesis: &Hypothesis, start: &Start<'_>, path: &Path, ran: Ran) -> Self {
        Self {
            hypothesis: hypothesis.clone(),
            inbox: start.inbox.to_vec(),
            foot: start.foot.cloned(),
            version: start.version.map(|(cell, value)| (cell, value.cloned())),
            pickable: start.pickable.map(<[u32]>::to_vec),
            cause: start.cause,
            acted: start.acted,
            fixed: start.fixed,
            dry: start.dry,
            may_break: start.may_break,
            untold: start.untold,
            path: path.clone(),
            ran,
        }
    }

    fn start(&self) -> Start<'_> {
        Start {
            cause: self.cause,
            inbox: &self.inbox,
            acted: self.acted,
            fixed: self.fixed,
            foot: self.foot.as_ref(),
            version: self.version.as_ref().map(|(cell, value)| (*cell, value.as_ref())),
            dry: self.dry,
            pickable: self.pickable.as_deref(),
            may_break: self.may_break,
            untold: self.untold,
        }
    }
}

impl Composed<'_> {
    /// Runs a turn twice, and one of the kept turns once more.
    #[cold]
    pub(super) fn run_twice(&self, hypothesis: &Hypothesis, start: Start<'_>, path: &mut Path) -> Ran {
        self.repeats.advance(self.tally.runs.get());
        let first = self.run_once(hypothesis, start.clone(), path);
        let second = self.run_once(hypothesis, start.clone(), path);
        self.compare(&first, &second);
        let count = self.repeats.kept.borrow().len() as u64;
        if count > 0 {
            self.repeat(self.repeats.below(count) as usize);
        }
        // The result of a scan depends on the cells that were ever opened: later there may be more.
        if !second.scanned && !matches!(second.end, Err(Stop::Mistake(_))) {
            self.repeats.keep(Kept::new(hypothesis, &start, path, second));
        }
        first
    }

    /// Runs all kept turns once more, before a refutation is reported, which may rest on any of them.
    pub(crate) fn repeat_all(&self) {
        let count = self.repeats.kept.borrow().len();
        (0..count).for_each(|place| self.repeat(place));
    }

    fn repeat(&self, place: usize) {
        let kept = &self.repeats.kept.borrow()[place];
        let again = self.run_once(&kept.hypothesis, kept.start(), &mut kept.path.clone());
        self.compare(&kept.ran, &again);
    }

    fn compare(&self, first: &Ran, second: &Ran) {
        match &second.end {
            // The caller of the first run decides if this mistake counts: it may concern a state that is impossible.
            end @ Err(Stop::Mistake(_)) if *end == first.end => {}
            // The turn asked a different question this time.
            Err(Stop::Mistake(mistake)) => self.blunder(mistake.as_ref().clone()),
            _ => {
                if let Some((first, second)) = first.differs(second, &self.book.borrow()) {
                    self.blunder(Mistake::NotDeterministic { first, second });
                }
            }
        }
    }
}
