//! Runs one turn of the model inside one hypothesis.
//!
//! The [`Runner`] is the handler that the search puts behind [`Io`](crate::lang::Io). It answers from the hypothesis
//! (cells, facts), from the messages delivered to this turn, and from a [`Path`] of choices; where the path ends it
//! takes the first option and records the number of options, so that running the turn once for each path enumerates
//! its outcomes. It changes nothing: the effects of the turn are collected in a [`Ran`], to be applied by
//! [`compose`](super::compose).
//!
//! The runner also makes the *dry run* that finds a message's [`Footprint`]: it stops at the first look, before
//! anything could depend on the state.
//!
//! The effects are handled by subject: [`messages`] and connections, [`choices`], [`cells`], and [`objects`]; [`handler`]
//! adds the types of the model. [`path`] describes the answers of a run, [`ran`] its effects.

mod cells;
mod choices;
mod handler;
mod messages;
mod objects;
mod path;
mod ran;

use std::cell::{Cell, RefCell};

use smallvec::SmallVec;

use super::book::CellBook;
use super::coverage::Coverage;
use super::hypothesis::{Footprint, Hypothesis};
use crate::erased::{Letter, Message, Model, Shown};
use crate::fingerprint::Fingerprint;
use crate::lang::{Cause, Conn, Incoming, Mistake, Stop, Turn, Val, guarded, turn_of};

pub(crate) use path::{Answer, Path, has_more, next_path};
pub(crate) use ran::{Act, Ran};

/// Maximum number of calls to `io` in one turn: more than any turn needs.
const MOST_EFFECTS: usize = 100_000;
/// Maximum number of messages in one turn: a turn that waits for more must be a loop.
const MOST_MESSAGES: usize = 500;

/// The inputs of a run.
pub(crate) struct Start<'a> {
    /// Origin of the run, from which new names are made.
    pub(crate) cause: Cause,
    /// Messages of this turn so far.
    pub(crate) inbox: &'a [(Conn, Incoming<Message>)],
    /// Number of acts that had taken effect when the turn was suspended.
    pub(crate) acted: usize,
    /// Number of answers on the path that were given before the turn was suspended.
    pub(crate) fixed: usize,
    /// Footprint from the dry run; `None` in a dry run and in internal turns.
    pub(crate) foot: Option<&'a Footprint>,
    /// Earlier version of a cell, shown instead of the present one.
    pub(crate) version: Option<(u32, Option<&'a Val>)>,
    /// `true` in a dry run, which stops at the first look.
    pub(crate) dry: bool,
    /// Cells that an internal turn may pick; `None` outside internal turns.
    pub(crate) pickable: Option<&'a [u32]>,
    /// `true` if counted rules may be broken in this turn.
    pub(crate) may_break: bool,
    /// `true` if new objects are to have ids that the response does not tell.
    pub(crate) untold: bool,
}

impl<'a> Start<'a> {
    /// Returns the inputs of a turn that handles these messages from its beginning.
    pub(crate) fn of(cause: Cause, inbox: &'a [(Conn, Incoming<Message>)]) -> Self {
        Self {
            cause,
            inbox,
            acted: 0,
            fixed: 0,
            foot: None,
            version: None,
            dry: false,
            pickable: None,
            may_break: true,
            untold: false,
        }
    }
}

impl Clone for Start<'_> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

/// The rules that a run may break, and how often.
#[derive(Clone, Copy)]
pub(crate) struct Leeway<'a> {
    /// Rules that may be broken at all.
    pub(crate) relaxed: &'a [&'static str],
    /// Relaxed rules whose deviations are not counted.
    pub(crate) free: &'a [&'static str],
    /// Relaxed rules that are broken whenever they can be.
    pub(crate) always: &'a [&'static str],
    /// Number of deviations from the other relaxed rules that the hypothesis has left.
    pub(crate) left: u32,
    /// Record of the rules that were consulted.
    pub(crate) coverage: &'a Coverage,
}

/// The handler of one run.
pub(crate) struct Runner<'a> {
    pub(crate) book: &'a RefCell<CellBook>,
    /// See [`Composed::spare`](super::compose::Composed::spare).
    spare: &'a Cell<Option<Box<dyn Letter>>>,
    leeway: Leeway<'a>,
    /// Number of counted deviations in this run.
    counted: u32,
    pub(crate) hypothesis: &'a Hypothesis,
    pub(crate) start: Start<'a>,
    pub(crate) path: &'a mut Path,
    asked: usize,
    effects: usize,
    acted: usize,
    fresh: u32,
    connects: u32,
    own: Option<Conn>,
    /// Connections that the turn closed.
    closed: SmallVec<[Conn; 1]>,
    sent_to_own: u32,
    ran: Ran,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(
        (book, spare): (&'a RefCell<CellBook>, &'a Cell<Option<Box<dyn Letter>>>),
        leeway: Leeway<'a>,
        hypothesis: &'a Hypothesis,
        start: Start<'a>,
        path: &'a mut Path,
    ) -> Self {
        let whole = start.foot.is_some_and(|foot| foot.whole);
        let ran = Ran {
            end: Ok(()),
            acts: SmallVec::new(),
            writes: SmallVec::new(),
            opened: SmallVec::new(),
            facts: hypothesis.facts.clone(),
            deviations: SmallVec::new(),
            kept: SmallVec::new(),
            whole,
            looked: false,
            asked: 0,
            scanned: false,
            updated: false,
            creates: SmallVec::new(),
            lists: false,
            replies: None,
            received: 0,
            action: Fingerprint::default(),
        };
        Self {
            book,
            spare,
            leeway,
            counted: 0,
            hypothesis,
            start,
            path,
            asked: 0,
            effects: 0,
            acted: 0,
            fresh: 0,
            connects: 0,
            own: None,
            closed: SmallVec::new(),
            sent_to_own: 0,
            ran,
        }
    }

    /// Runs `serve` (or `internal`) once along the path.
    pub(crate) fn run(mut self, model: &dyn Model) -> Ran {
        let internal = self.start.pickable.is_some();
        let end =
            guarded(
                model.name(),
                || {
                    if internal { model.internal(&mut self) } else { model.serve(&mut self) }
                },
            );
        self.ran.end = end.unwrap_or_else(|why| Err(self.panicked(model, why)));
        self.ran.asked = self.asked;
        if !internal && self.ran.received == 0 && self.ran.end.is_ok() {
            // The search runs `serve` only for messages, so the behaviour that such a turn stands for would be
            // missing, and a correct server refuted.
            self.ran.end = Err(Mistake::NotReceived { what: "ends".to_owned() }.into());
        }
        let all = self.start.inbox.len();
        if !internal && self.ran.waits(all) && self.acted > self.start.acted {
            self.ran.end = Err(Mistake::ActsAndWaits.into());
        }
        if !self.ran.whole && !internal && self.ran.end.is_ok() {
            // The number of responses on which the search relies: the one declared with `replies`, or else that of the dry
            // run. In the dry run itself it is one if the turn looked at state, and what the turn sent if it did not.
            let announced = self.ran.replies.unwrap_or(if self.ran.looked || self.start.foot.is_some() {
                self.start.foot.map_or(1, |foot| foot.replies)
            } else {
                self.sent_to_own
            });
            if announced != self.sent_to_own {
                self.ran.end = Err(Mistake::Replies { sent: self.sent_to_own, announced }.into());
            }
            if !self.ran.looked && self.ran.replies.is_none() {
                self.ran.replies = Some(self.sent_to_own);
            }
        }
        self.ran
    }

    #[cold]
    fn panicked(&self, model: &dyn Model, why: String) -> Stop {
        let last = self.start.inbox.get(self.ran.received.saturating_sub(1));
        let message = last.map(|(_, item)| match item {
            Incoming::Message(message) => Shown(&**message).to_string(),
            Incoming::Closed => "Closed".to_owned(),
        });
        Mistake::Panicked { model: model.name(), turn: turn_of(message), why }.into()
    }

    fn tick(&mut self) -> Turn {
        self.effects += 1;
        if self.effects > MOST_EFFECTS {
            return Err(Mistake::Endless { effects: self.effects - 1 }.into());
        }
        Ok(())
    }

    /// Notes that the turn may depend on the state from here on.
    fn look(&mut self) -> Turn {
        if self.has_not_received() {
            return Err(Mistake::NotReceived { what: "makes a choice".to_owned() }.into());
        }
        if self.start.dry {
            return Err(Stop::Looked);
        }
        self.ran.looked = true;
        Ok(())
    }

    /// Returns `true` if the turn should have received first: its footprint has to follow from its message, unless
    /// the turn is `whole`.
    fn has_not_received(&self) -> bool {
        self.ran.received == 0 && !self.ran.whole && self.start.pickable.is_none()
    }

    /// Extends the turn beyond its own connection and cells, which is possible before its first look only.
    fn widen(&mut self, what: &'static str) -> Turn {
        if !self.ran.whole {
            if self.ran.looked {
                return Err(Mistake::WidenedLate { what }.into());
            }
            self.ran.whole = true;
        }
        Ok(())
    }
}
