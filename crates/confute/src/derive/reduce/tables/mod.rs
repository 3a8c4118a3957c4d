//! Tables: offline, a part whose turns are functions of its only cell is searched without hypotheses.
//!
//! *Leaves out*: everything in a hypothesis that follows from two things: the content of the cell, and the set of requests
//! in flight that were not handled yet. What a delivery does at a content is looked up in a table, which is filled by one
//! run of its turn; a step then costs a look-up instead of a run, and a way back costs what was done since.
//!
//! *Why no verdict changes*: let every request be alone on its connection, open the same one cell, and get one response.
//! A hypothesis then consists of the content and of which requests in flight were handled: a response on its way is the
//! one that was observed, or [`Foresight`](Reduction::Foresight) would have dropped it, and nothing else can be in flight.
//! The order of the log says until when a request can be handled: before its response was observed. So the trace is
//! explained if and only if the requests can be put into an order, each behind its call and before its response, in which
//! each gives the response that was observed: what [`search`] looks for, trying every request in flight in every place.
//! A request without a response may be handled at any time after its call, or never.
//!
//! *Premises*:
//! - *Offline, on a reliable network, from the start of the trace*: all responses are known, and nothing was settled.
//! - *One cell, no internal turns, and no turn that may touch anything*: nothing else changes the content, or sees it.
//! - *Alone on its connection*: of two requests in flight on one connection the second is handled after the first, and
//!   has the second response. The first response would be compared with both.
//! - *Each turn is a function of the content*: no secret, no choice, no fact ([`Composed::effect`] is certain). If the first
//!   turn that is not is met in the middle, the search begins anew without tables.
//! - *No relaxed rules*: the number of deviations would be part of a hypothesis.
//! - *Connections end by the tester only*, and no rest was observed: what these say of requests in flight is not a table.
//!
//! The reductions below act here too, each under the name, by the argument and with the switch of the one for
//! hypotheses: *known reads* (a read that changes nothing is taken at the first content that gives its response), *unseen
//! writes* (of two writes that look at nothing, with no look in between, the first is left in flight, covered),
//! *remembering*, *lost contents* and *growing texts* (see [`outlook`]). One acts only here: *projections* ([`project`]).
//!
//! *Place in the order*: before the search of hypotheses begins.

mod build;
mod effects;
mod outlook;
mod project;
mod search;

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::Reduction;
use crate::derive::compose::Composed;
use crate::derive::hypothesis::Delivery;
use crate::derive::search::{Part, Progress};
use crate::engine::{Meter, Pulse};
use effects::Effects;
use project::Projections;

/// Position of something that never comes.
const NEVER: u32 = u32::MAX;

/// A request of the log.
struct Request {
    delivery: Rc<Delivery>,
    /// Step at which it was sent.
    called: u32,
    /// Step at which its response was observed, or `NEVER`.
    answered: u32,
    /// `true` if its turn changes nothing at any content that can occur.
    reads: bool,
    /// `true` if its turn only adds to a text.
    adds: bool,
    /// `true` if its turn writes without a look, and leaves the same content in every state.
    fixed: bool,
    /// `true` if its turn gives the same response in every state.
    mute: bool,
    /// Contribution to the fingerprint of a state in which it was not handled yet.
    print: u128,
}

/// One step of the log.
#[derive(Clone, Copy)]
enum Step {
    Called(u32),
    Answered(u32),
}

/// The effect of a request at a content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Its response would not be the observed one, and will not be once the content has grown either.
    Never,
    /// Its response would not be the observed one.
    Differs,
    /// It gives its response, and leaves the content as it is.
    Same,
    /// It gives its response, and leaves this content.
    To(u32),
}

impl Outcome {
    /// Returns `true` if the request gives its observed response.
    fn fits(self) -> bool {
        matches!(self, Outcome::Same | Outcome::To(_))
    }
}

/// A state of the search, apart from the list of requests that were not handled yet.
#[derive(Clone, Copy)]
struct Place {
    /// Index of the step to explain.
    at: u32,
    content: u32,
    /// Step at which the request that wrote the content is answered, if nothing has looked at it since; otherwise 0.
    unseen_until: u32,
    /// Step at which a write without a look last happened: requests sent before it are covered.
    covered_until: u32,
}

/// A response that has to be explained, and the requests that may be handled next.
struct Choice {
    place: Place,
    /// Length of the trail at this point.
    trail: u32,
    /// The alternatives that are left are those from here to the end of the list.
    alternatives: u32,
}

/// A change of the list of requests that were not handled yet, to be undone on the way back.
#[derive(Clone, Copy)]
enum Change {
    Added(u32),
    Removed(u32),
}

/// The tabulated search of a part.
pub(in crate::derive) struct Tables {
    requests: Vec<Request>,
    steps: Vec<Step>,
    /// Index in the log of each step.
    entries: Vec<u32>,
    effects: Effects,
    projections: Option<Box<Projections>>,
    outlook: outlook::Outlook,
    place: Place,
    /// Requests that were sent and not handled yet, in sending order: the neighbours of each, in a ring through an element
    /// behind the last request.
    before: Vec<u32>,
    behind: Vec<u32>,
    /// By request: the length of the trail when it was handled, or `NEVER`.
    handled_at: Vec<u32>,
    /// Sum of their prints.
    print: u128,
    trail: Vec<Change>,
    choices: Vec<Choice>,
    alternatives: Vec<u32>,
    met: FxHashSet<u128>,
    /// Furthest step that was reached.
    furthest: u32,
    /// Number of times that the search went back.
    retreats: u64,
}

/// State of the attempt to search a part by tables.
#[derive(Default)]
pub(in crate::derive) enum Attempt {
    /// It was not looked at yet.
    #[default]
    Open,
    Running(Box<Tables>),
    /// The part is not searched by tables.
    Declined,
}

impl Part {
    /// Searches the part by tables. Returns `None` if that is not possible.
    pub(in crate::derive) fn search_by_tables(
        &mut self,
        world: &Composed<'_>,
        meter: &mut Meter<'_>,
    ) -> Option<Progress> {
        let attempt = std::mem::replace(&mut self.memory.tables, Attempt::Declined);
        let mut tables = match attempt {
            Attempt::Declined => return None,
            Attempt::Running(tables) => tables,
            Attempt::Open => {
                let tables = Box::new(Tables::of(self, world)?);
                world.note_tables(self);
                tables
            }
        };
        let pulse = |tables: &Tables| {
            let pulse = self.pulse(world);
            Pulse {
                open: pulse.open + tables.alternatives.len(),
                bytes: pulse.bytes + tables.bytes(),
                ..pulse
            }
        };
        let progress = tables.search(world, meter, &pulse);
        if tables.has_failed() {
            return None;
        }
        world.left_out(Reduction::Tables);
        self.front.furthest = match progress {
            Progress::Explained => self.log.len(),
            _ => tables.entries.get(tables.furthest as usize).map_or(self.log.len(), |entry| *entry as usize),
        };
        if progress == Progress::Explained {
            self.front.horizon = self.log.len();
        }
        self.memory.tables = Attempt::Running(tables);
        Some(progress)
    }
}
