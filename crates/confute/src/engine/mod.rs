//! The engine: a pure state machine that is told what happened and says what it makes of it.
//!
//! It has no clock, no sockets, no threads and no types of a model: a [`Tester`](crate::Tester) is its typed face. It does not
//! decide what to send; it says which hypotheses are alive, so that a generator can.
//!
//! Events are routed to [`Part`]s, groups of cells that are searched by themselves: see `route`.

mod budget;
mod expect;
mod route;

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::derive::backtrack::{Part, Progress};
use crate::derive::book::Seen;
use crate::derive::compose::{Allowance, Composed};
use crate::derive::hypothesis::Delivery;
use crate::derive::inquire::InternalKind;
use crate::derive::repeat::Repeats;
use crate::erased::{Message, Model};
use crate::lang::Conn;
use crate::network::Network;
use crate::trace::Event;
use crate::verdict::{Inconclusive, Refutation, Verdict};
pub(crate) use budget::Meter;
pub use budget::{Options, Pulse};

/// What is known of a connection.
#[derive(Default)]
struct Line {
    accepted: bool,
    ended: bool,
    /// The part that has requests of this connection under way.
    part: Option<usize>,
    /// How many answers are to come.
    owed: u64,
    /// Whether a request without an answer was sent: it may be under way for ever.
    silent: bool,
    /// The part of requests that touch no cell at all.
    lonely: Option<usize>,
}

/// Judges a server while it is talked to, whatever the types of its model.
pub struct Engine<'m> {
    pub(crate) world: Composed<'m>,
    parts: Vec<Option<Part>>,
    /// Which part a cell belongs to.
    part_of: FxHashMap<u32, usize>,
    lines: FxHashMap<u32, Line>,
    /// What was sent last on a connection.
    latest: FxHashMap<u32, Rc<Delivery>>,
    meter: Meter<'m>,
    events: u64,
    sent: u32,
    /// The one part, if everything is searched together.
    whole: Option<usize>,
    internal: InternalKind,
    verdict: Verdict,
    /// Parts that are not yet searched to the present.
    lagging: Vec<usize>,
    since_trim: u32,
    free: Vec<usize>,
}

impl<'m> Engine<'m> {
    /// Derives a tester from a model of the server and one of the network.
    pub(crate) fn new(model: &'m dyn Model, network: &'m dyn Network, options: Options<'m>) -> Self {
        let mut world = Composed::new(model, network);
        // Where any number is allowed anywhere, nobody counts: hypotheses that differ in that number only are the same.
        let is_counted = options.deviations != u32::MAX || options.at.is_some();
        world.allowance = Allowance {
            relaxed: options.relaxed.clone(),
            free: if is_counted { options.free.clone() } else { options.relaxed.clone() },
            most: options.deviations,
            only_at: options.at.map(|at| at as u64),
        };
        world.repeats = Repeats::new(options.repeat_all);
        let internal = world.internal_kind();
        world.has_internal = internal != InternalKind::None;
        // A read lets internal turns happen again, so it is no longer all the same when it took place.
        world.late.set(!world.has_internal);
        let mut engine = Self {
            world,
            parts: Vec::new(),
            part_of: FxHashMap::default(),
            lines: FxHashMap::default(),
            latest: FxHashMap::default(),
            // The watch is asked at once: whoever judges many short traces has to notice that time is up.
            meter: Meter { options, slice: u64::MAX, countdown: 1, look_at: 0, spent: None },
            events: 0,
            sent: 0,
            whole: None,
            internal,
            verdict: Verdict::Unrefuted,
            lagging: Vec::new(),
            since_trim: 0,
            free: Vec::new(),
        };
        if !engine.world.transport.is_reliable || engine.world.transport.is_direct {
            // What a lost or doubled packet may still do ties everything together.
            engine.unite(false);
        }
        if internal == InternalKind::Whole {
            engine.unite(true);
        }
        engine
    }

    /// Takes the next event and says what to think of the server now.
    pub fn observe(&mut self, event: Event<Rc<Message>>) -> &Verdict {
        if !self.verdict.is_unrefuted() {
            return &self.verdict;
        }
        // When nothing is under way any more, there is nothing to wait for.
        let at_rest = matches!(event, Event::Quiescent);
        if let Some(part) = self.enter(event) {
            if !self.lagging.contains(&part) {
                self.lagging.push(part);
            }
            if at_rest { self.catch_up() } else { self.keep_up() }
        }
        &self.verdict
    }

    /// What it thinks of the server so far. `Unrefuted` may still change for the last [`Engine::lag`] events.
    pub fn so_far(&self) -> &Verdict {
        &self.verdict
    }

    /// What it thinks of the server, all events considered.
    pub fn verdict(&mut self) -> &Verdict {
        if self.verdict.is_unrefuted() {
            self.catch_up();
        }
        &self.verdict
    }

    /// How many events wait to be explained: while requests are under way whose answers will tell in which order they
    /// were handled, the tester waits for these instead of trying every order. So a violation may be told a few events
    /// late, as many as are outstanding.
    pub fn lag(&self) -> usize {
        self.lagging.iter().filter_map(|part| self.parts[*part].as_ref()).map(Part::lag).sum()
    }

    /// How many events it has seen.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many turns of the model it has tried.
    pub fn turns(&self) -> u64 {
        self.world.tally.runs.get()
    }

    /// How many alternatives are open, over all parts.
    pub fn alternatives(&self) -> usize {
        self.parts.iter().flatten().map(Part::open).sum()
    }

    /// About how many bytes the search holds.
    pub fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Part::bytes).sum()
    }

    /// How many parts are searched apart.
    pub fn parts(&self) -> usize {
        self.parts.iter().flatten().count()
    }

    /// The names of the rules that some hypothesis asked about. One that is not among them was surely never put to the test; one
    /// that is was at least considered.
    pub fn rules_asked(&self) -> BTreeSet<&'static str> {
        self.world.tally.coverage.names()
    }

    /// Explains what can be explained without guessing: up to where every request has been answered.
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

    /// Searches until every part is explained, or one is not, or the budget is spent.
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
        let progress = part.advance(&self.world, &mut self.meter, target);
        if let Some(mistake) = self.world.tally.mistake.borrow_mut().take() {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
            return;
        }
        if self.world.tally.escaped.replace(false) {
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
        // Unless what does not fit together are turns of a model with hidden state.
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

    /// Tells it everything that will be seen.
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

/// Judges a whole trace. What came later is known from the start, and used.
pub(crate) fn judge(
    model: &dyn Model,
    network: &dyn Network,
    events: &[Event<Rc<Message>>],
    options: &Options<'_>,
) -> Verdict {
    let mut engine = Engine::new(model, network, options.clone());
    engine.foresee(events);
    for event in events {
        if let Some(part) = engine.enter(event.clone())
            && !engine.lagging.contains(&part)
        {
            engine.lagging.push(part);
        }
        if !engine.verdict.is_unrefuted() {
            return engine.verdict;
        }
    }
    engine.catch_up();
    engine.verdict
}
