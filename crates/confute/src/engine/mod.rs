//! The engine: a pure state machine that takes events and returns a verdict.
//!
//! The engine has no clock, no sockets, no threads and no types of a model: a [`Tester`](crate::Tester) is its typed
//! interface. It does not decide what to send; it reports the live hypotheses, so that a generator can.
//!
//! Events are routed to [`Part`]s, groups of cells that are searched by themselves: see `route`.

mod arrive;
mod budget;
mod expect;
mod route;

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::derive::book::Seen;
use crate::derive::compose::{Allowance, Composed};
use crate::derive::fault::{Fault, planted};
use crate::derive::hypothesis::Delivery;
use crate::derive::inquire::InternalKind;
use crate::derive::reduce::Reduction;
use crate::derive::repeat::Repeats;
use crate::derive::search::{Part, Progress};
use crate::erased::{Message, Model};
use crate::lang::Conn;
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Inconclusive, Refutation, Verdict};
use arrive::Arrivals;
pub(crate) use budget::Meter;
pub use budget::{Options, Pulse};

/// The state of a connection.
#[derive(Default)]
struct ConnectionState {
    accepted: bool,
    ended: bool,
    /// Part that has requests of this connection in flight.
    part: Option<usize>,
    /// Number of responses to come.
    owed: u64,
    /// `true` if a request without a response was sent: it may be in flight for ever.
    silent: bool,
    /// Part of the requests that touch no cell at all.
    detached: Option<usize>,
    /// Number of responses to come, considering events that are not routed yet.
    coming: u64,
    /// `true` if it is not certain which response belongs to which request.
    is_vague: bool,
    /// `true` if the tester hung up, considering events that are not routed yet.
    is_severed: bool,
}

/// Judge of a server during a conversation, independent of the types of its model.
pub struct Engine<'m> {
    pub(crate) world: Composed<'m>,
    parts: Vec<Option<Part>>,
    /// Part of each cell.
    part_of: FxHashMap<u32, usize>,
    connections: FxHashMap<u32, ConnectionState>,
    /// Latest message sent on each connection.
    latest: FxHashMap<u32, Rc<Delivery>>,
    meter: Meter<'m>,
    arrivals: Arrivals,
    events: u64,
    sent: u32,
    /// The only part, if everything is searched together.
    whole: Option<usize>,
    internal: InternalKind,
    verdict: Verdict,
    /// Parts that are not yet searched to the present.
    lagging: Vec<usize>,
    since_trim: u32,
    free: Vec<usize>,
}

impl<'m> Engine<'m> {
    /// Derives a tester from a server model and a network model.
    pub(crate) fn new(model: &'m dyn Model, network: &'m dyn Network, options: Options<'m>) -> Self {
        let mut world = Composed::new(model, network);
        // If any number is allowed anywhere, deviations are not counted: hypotheses that differ in that number only
        // are equal.
        let is_counted = options.deviations != u32::MAX || options.at.is_some();
        world.allowance = Allowance {
            relaxed: options.relaxed.clone(),
            free: if is_counted { options.free.clone() } else { options.relaxed.clone() },
            always: options.always.clone(),
            most: options.deviations,
            only_at: options.at.map(|at| at as u64),
        };
        world.repeats = Repeats::new(options.repeat_all);
        let internal = world.internal_kind();
        world.has_internal = internal != InternalKind::None;
        // A read lets internal turns happen again, so the time of a read makes a difference.
        world.timeless = !world.has_internal || planted(Fault::LateReadsBesideInternal);
        world.reductions = options.reductions;
        world.log = options.log;
        let mut engine = Self {
            world,
            parts: Vec::new(),
            part_of: FxHashMap::default(),
            connections: FxHashMap::default(),
            latest: FxHashMap::default(),
            // The watch is called at once: a caller that judges many short traces has to notice that time is up.
            meter: Meter { options, slice: u64::MAX, countdown: 1, look_at: 0, spent: None },
            arrivals: Arrivals::default(),
            events: 0,
            sent: 0,
            whole: None,
            internal,
            verdict: Verdict::Unrefuted,
            lagging: Vec::new(),
            since_trim: 0,
            free: Vec::new(),
        };
        let is_tied = (!engine.world.transport.is_reliable && !planted(Fault::CopiesSearchedApart))
            || engine.world.transport.is_direct
            || !engine.world.reduces(Reduction::Parts);
        if is_tied {
            // The possible late effects of a lost or duplicated message tie everything together.
            engine.unite(false);
        }
        if internal == InternalKind::Whole {
            engine.unite(true);
        }
        engine
    }

    /// Takes the next event and returns the verdict so far.
    pub fn observe(&mut self, event: Event<Rc<Message>>) -> &Verdict {
        if !self.verdict.is_unrefuted() {
            return &self.verdict;
        }
        // When nothing is in flight any more, there is nothing to wait for.
        let at_rest = matches!(event, Event::Quiescent);
        self.arrive(event);
        while self.verdict.is_unrefuted()
            && let Some(arrived) = self.next_arrived(at_rest)
        {
            let is_last = self.arrivals.queue.is_empty();
            if let Some(part) = self.enter(arrived) {
                if !self.lagging.contains(&part) {
                    self.lagging.push(part);
                }
                if at_rest && is_last { self.catch_up() } else { self.keep_up() }
            }
        }
        &self.verdict
    }

    /// Returns the verdict so far. `Unrefuted` may still change for the last [`Engine::lag`] events.
    pub fn so_far(&self) -> &Verdict {
        &self.verdict
    }

    /// Returns the verdict, all events considered.
    pub fn verdict(&mut self) -> &Verdict {
        self.enter_all();
        if self.verdict.is_unrefuted() {
            self.catch_up();
        }
        &self.verdict
    }

    /// Returns the number of events that wait to be explained. While requests are in flight whose responses will show
    /// in which order they were handled, the tester waits for these instead of trying every order. A violation may
    /// thus be reported late, by at most as many events as are outstanding.
    pub fn lag(&self) -> usize {
        let routed: usize =
            self.lagging.iter().filter_map(|part| self.parts[*part].as_ref()).map(Part::lag).sum();
        routed + self.arrivals.queue.len()
    }

    /// Returns, by reduction, the number of times that it left something out.
    pub fn left_out(&self) -> impl Iterator<Item = (Reduction, u64)> {
        Reduction::ALL.iter().map(|reduction| (*reduction, self.world.tally.count_of(*reduction)))
    }

    /// Returns `false` if an id became known after a request was judged that may have created its object: nothing is refuted any
    /// more, and what is unrefuted need not have an explanation. Judging the whole trace is exact.
    pub fn is_exact(&self) -> bool {
        self.world.foresees || !self.world.book.borrow().is_blurred
    }

    /// Returns the number of events observed.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of turns of the model tried.
    pub fn turns(&self) -> u64 {
        self.world.tally.runs.get()
    }

    /// Returns the number of open alternatives, over all parts.
    pub fn alternatives(&self) -> usize {
        self.parts.iter().flatten().map(Part::open).sum()
    }

    /// Returns the approximate number of bytes that the search holds.
    pub fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Part::bytes).sum()
    }

    /// Returns the number of parts that are searched separately.
    pub fn parts(&self) -> usize {
        self.parts.iter().flatten().count()
    }

    /// Returns the names of the rules that some hypothesis consulted. A rule that is not among them was certainly
    /// never tested; one that is was at least considered.
    pub fn rules_asked(&self) -> BTreeSet<&'static str> {
        self.world.tally.coverage.names()
    }

    /// Explains what can be explained without guessing: up to the first request that still waits for its response.
    fn keep_up(&mut self) {
        self.meter.slice = u64::MAX;
        for number in std::mem::take(&mut self.lagging) {
            let Some(part) = &mut self.parts[number] else { continue };
            let target = part.ripe(&self.world);
            self.search(number, target);
            if !self.verdict.is_unrefuted() {
                return;
            }
            if self.parts[number].as_ref().is_some_and(|part| part.lag() > 0)
                && !self.lagging.contains(&number)
            {
                self.lagging.push(number);
            }
        }
        self.since_trim += 1;
        if self.since_trim >= 4096 {
            self.since_trim = 0;
            self.trim();
        }
    }

    /// Searches until every part is explained, one of them cannot be, or the budget is spent.
    fn catch_up(&mut self) {
        let mut slice = 1_000;
        while !self.lagging.is_empty() {
            for part in std::mem::take(&mut self.lagging) {
                self.meter.slice = self.world.tally.runs.get().saturating_add(slice);
                self.search(part, usize::MAX);
                if !self.verdict.is_unrefuted() {
                    return;
                }
            }
            slice *= 2;
        }
    }

    fn search(&mut self, number: usize, target: usize) {
        let Some(part) = &mut self.parts[number] else { return };
        self.world.note_part(number, part);
        let progress = part.advance(&self.world, &mut self.meter, target);
        self.world.note_outcome(part, progress);
        if let Some(mistake) = self.world.tally.mistake.borrow_mut().take() {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
            return;
        }
        if std::mem::take(&mut part.escaped) {
            self.unite(true);
            self.lagging.clear();
            self.lagging.extend(self.whole);
            return;
        }
        match progress {
            Progress::Explained => {}
            Progress::Failed => self.refute(number),
            Progress::Unfinished => {
                if let Some(what) = self.meter.spent {
                    let event = part.furthest_place().unwrap_or(self.events) as usize;
                    self.verdict = Verdict::Inconclusive(Inconclusive::Budget {
                        what,
                        event,
                        turns: self.world.tally.runs.get(),
                        open: self.alternatives(),
                        bytes: self.bytes(),
                    });
                } else {
                    self.lagging.push(number);
                }
            }
        }
    }

    fn refute(&mut self, number: usize) {
        let Some(part) = &self.parts[number] else { return };
        let event = part.furthest_place().unwrap_or(self.events.saturating_sub(1)) as usize;
        if part.is_out_of_step() {
            self.verdict = Verdict::Inconclusive(Inconclusive::OutOfStep { event });
            return;
        }
        if !self.is_exact() {
            self.verdict = Verdict::Inconclusive(Inconclusive::LateId { event });
            return;
        }
        // The contradiction may instead come from turns of a model with hidden state.
        self.world.repeat_all();
        if let Some(mistake) = self.world.tally.mistake.borrow_mut().take() {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
            return;
        }
        self.verdict = Verdict::Refuted(Refutation {
            event,
            seen: String::new(),
            expected: Vec::new(),
            hypotheses: 0,
            more: false,
        });
    }

    /// Announces all observations of a trace in advance.
    fn foresee(&mut self, events: &[Event<Rc<Message>>]) {
        self.world.foresees = true;
        let mut accepted = FxHashSet::default();
        for (place, event) in events.iter().enumerate() {
            let (conn, seen) = match event {
                Event::Accepted(conn) => {
                    accepted.insert(conn.0);
                    continue;
                }
                Event::Received(conn, message) => (conn, Seen::Message(Rc::clone(message))),
                Event::Closed(conn) => (conn, Seen::Closed),
                _ => continue,
            };
            if !accepted.contains(&conn.0) {
                self.world.sightings.push(Conn::client(conn.0), place as u64, seen);
            }
        }
    }
}

/// Judges a whole trace. Later observations are known from the start, and used.
pub(crate) fn judge(
    model: &dyn Model,
    network: &dyn Network,
    events: &[Event<Rc<Message>>],
    options: &Options<'_>,
) -> Verdict {
    let mut engine = Engine::new(model, network, options.clone());
    engine.foresee(events);
    events.iter().for_each(|event| engine.arrive(event.clone()));
    engine.enter_all();
    if engine.verdict.is_unrefuted() {
        engine.catch_up();
    }
    engine.verdict
}
