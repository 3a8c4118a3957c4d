//! The world of a search: a server model attached to a network model, and what is certain about this run.
//!
//! Nothing here is a conjecture. [`compose`](super::compose) makes steps in it, [`reduce`](super::reduce) asks it.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::book::{CellBook, Sightings};
use super::coverage::Coverage;
use super::hypothesis::{Hypothesis, UNORDERED};
use super::reduce::{Reduction, Reductions};
use super::repeat::Repeats;
use super::turn::{Leeway, Path, Ran, Runner, Start};
use crate::account::{Note, SearchLog};
use crate::erased::{Letter, Model};
use crate::lang::{Conn, Mistake, Rule};
use crate::network::{Direction, Lane, Network};

/// A server model attached to a network model, and what is certain about this run.
pub(crate) struct Composed<'m> {
    pub(crate) model: &'m dyn Model,
    pub(crate) network: &'m dyn Network,
    pub(crate) book: RefCell<CellBook>,
    /// A letter that is no longer needed, kept so that its allocation can be reused.
    pub(crate) spare: Cell<Option<Box<dyn Letter>>>,
    pub(crate) sightings: Sightings,
    /// Connections that ended, each with its end.
    pub(crate) ended: FxHashMap<Conn, End>,
    pub(crate) allowance: Allowance,
    pub(crate) tally: Tally,
    /// Selection of the turns that are run again.
    pub(crate) repeats: Repeats,
    /// `true` if the time of a read makes no difference: there are no internal turns, and no turn that may touch
    /// anything.
    pub(crate) timeless: bool,
    /// The reductions of the search.
    pub(crate) reductions: Reductions,
    /// Log of the search, for people.
    pub(crate) log: Option<&'m dyn SearchLog>,
    pub(crate) has_internal: bool,
    /// `true` if everything that will be observed is known already.
    pub(crate) foresees: bool,
    pub(crate) transport: Transport,
}

/// The properties of the network that the search needs at every step, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transport {
    /// `true` if the server takes a message the moment it is sent.
    pub(crate) is_direct: bool,
    /// `true` if no message is lost, duplicated or reordered within its connection.
    pub(crate) is_reliable: bool,
    /// `true` if messages to the server may get lost.
    pub(crate) loses_input: bool,
    /// Maximum number of times that one message is delivered to the server.
    pub(crate) input_copies: u8,
    /// `true` if messages to the tester may get lost.
    pub(crate) loses_output: bool,
    /// Maximum number of times that the tester observes one message.
    pub(crate) output_copies: u8,
}

impl Transport {
    fn of(network: &dyn Network) -> Self {
        Self {
            is_direct: network.is_direct(),
            is_reliable: network.is_reliable(),
            loses_input: network.loses(Direction::ToServer),
            input_copies: network.copies(Direction::ToServer).max(1),
            loses_output: network.loses(Direction::ToTester),
            output_copies: network.copies(Direction::ToTester).max(1),
        }
    }
}

/// The deviations from the model that a hypothesis may assume.
pub(crate) struct Allowance {
    /// Rules that may be broken at all.
    pub(crate) relaxed: Vec<&'static str>,
    /// Relaxed rules whose deviations are not counted.
    pub(crate) free: Vec<&'static str>,
    /// Relaxed rules that are broken whenever they can be.
    pub(crate) always: Vec<&'static str>,
    /// Maximum number of deviations from the other relaxed rules.
    pub(crate) most: u32,
    /// Position of the only message for which counted rules may be broken; `None` if there is no such limit.
    pub(crate) only_at: Option<u64>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { relaxed: Vec::new(), free: Vec::new(), always: Vec::new(), most: u32::MAX, only_at: None }
    }
}

impl Allowance {
    /// Returns `true` if a turn for the message sent at this position may deviate from rules whose deviations are counted, which
    /// are all relaxed ones except for `free`.
    pub(super) fn may_break(&self, place: u64) -> bool {
        self.only_at.is_none_or(|only| only == place)
    }

    /// Returns `true` if deviations from this rule are counted.
    pub(super) fn counts(&self, rule: &Rule) -> bool {
        !self.free.contains(&rule.name)
    }

    /// Returns `true` if a run for the message sent at this position was allowed to break the rules it broke.
    pub(super) fn may_deviate(&self, ran: &Ran, place: u64) -> bool {
        self.may_break(place) || !ran.deviations.iter().any(|rule| self.counts(rule))
    }
}

/// An account of the turns that were run.
#[derive(Default)]
pub(crate) struct Tally {
    /// Number of runs.
    pub(crate) runs: Cell<u64>,
    /// Rules that the runs consulted.
    pub(crate) coverage: Coverage,
    /// First mistake of the model that was found.
    pub(crate) mistake: RefCell<Option<Mistake>>,
    /// By reduction: number of times that it left something out.
    left_out: [Cell<u64>; Reduction::ALL.len()],
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Position in the trace.
    pub(crate) place: u64,
    /// `true` if the tester saw the server close it, `false` if the tester hung up.
    pub(crate) by_server: bool,
}

impl<'m> Composed<'m> {
    pub(crate) fn new(model: &'m dyn Model, network: &'m dyn Network) -> Self {
        Self {
            model,
            network,
            book: RefCell::default(),
            spare: Cell::new(None),
            sightings: Sightings::default(),
            ended: FxHashMap::default(),
            allowance: Allowance::default(),
            tally: Tally::default(),
            repeats: Repeats::new(false),
            timeless: true,
            reductions: Reductions::ALL,
            log: None,
            has_internal: false,
            foresees: false,
            transport: Transport::of(network),
        }
    }

    /// Returns the lane of a message to the server: one of its own where order is not kept.
    pub(crate) fn lane_in(&self, conn: Conn, sent: u32) -> u64 {
        match self.network.lane(conn, Direction::ToServer) {
            Lane::Ordered(number) => number & !UNORDERED,
            Lane::Unordered => UNORDERED | u64::from(sent),
        }
    }

    pub(super) fn lane_out(&self, conn: Conn) -> u64 {
        match self.network.lane(conn, Direction::ToTester) {
            Lane::Ordered(number) => number & !UNORDERED,
            Lane::Unordered => UNORDERED | (conn.0 & !(UNORDERED << 1)),
        }
    }

    pub(crate) fn has_ended(&self, conn: Conn, place: u64) -> bool {
        !self.ended.is_empty() && self.ended.get(&conn).is_some_and(|end| end.place < place)
    }

    /// Runs a turn; a sample of the turns is run twice: see [`repeat`](super::repeat).
    pub(super) fn run(&self, hypothesis: &Hypothesis, start: Start<'_>, path: &mut Path) -> Ran {
        let count = self.tally.runs.get() + 1;
        self.tally.runs.set(count);
        if self.repeats.is_due(count) {
            return self.run_twice(hypothesis, start, path);
        }
        self.run_once(hypothesis, start, path)
    }

    pub(super) fn run_once(&self, hypothesis: &Hypothesis, start: Start<'_>, path: &mut Path) -> Ran {
        let left = self.allowance.most.saturating_sub(hypothesis.deviations);
        let leeway = Leeway {
            relaxed: &self.allowance.relaxed,
            free: &self.allowance.free,
            always: &self.allowance.always,
            left: if start.may_break { left } else { 0 },
            coverage: &self.tally.coverage,
        };
        Runner::new((&self.book, &self.spare), leeway, hypothesis, start, path).run(self.model)
    }

    pub(crate) fn blunder(&self, mistake: Mistake) {
        self.tally.mistake.borrow_mut().get_or_insert(mistake);
    }

    /// Returns `true` if the search uses this reduction.
    pub(crate) fn reduces(&self, reduction: Reduction) -> bool {
        self.reductions.has(reduction)
    }

    /// Returns `true` if reads may be placed at earlier versions.
    pub(crate) fn late(&self) -> bool {
        self.timeless && self.reduces(Reduction::LateReads)
    }

    /// Notes that a reduction left something out.
    pub(crate) fn left_out(&self, reduction: Reduction) {
        let count = &self.tally.left_out[reduction as usize];
        count.set(count.get() + 1);
        self.note(|| Note::LeftOut(reduction));
    }

    /// Does work of a reduction, which the log charges to it.
    #[inline]
    pub(crate) fn within<T>(&self, reduction: Reduction, work: impl FnOnce() -> T) -> T {
        self.note(|| Note::Enter(reduction));
        let result = work();
        self.note(|| Note::Leave);
        result
    }

    /// Sends a note to the log, if there is one. Without a log this is one comparison.
    #[inline]
    pub(crate) fn note<'n>(&self, note: impl FnOnce() -> Note<'n>) {
        if let Some(log) = self.log {
            self.send_note(log, note());
        }
    }

    #[cold]
    #[inline(never)]
    fn send_note(&self, log: &dyn SearchLog, note: Note<'_>) {
        log.note(self.tally.runs.get(), note);
    }
}

impl Tally {
    /// Returns the number of times that a reduction left something out.
    pub(crate) fn count_of(&self, reduction: Reduction) -> u64 {
        self.left_out[reduction as usize].get()
    }
}
