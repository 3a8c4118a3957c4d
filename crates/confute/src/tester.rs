//! The tester: a pure state machine that is told what happened and says what it makes of it.
//!
//! It has no clock, no sockets and no threads. It does not decide what to send; it says which hypotheses are alive, so
//! that a generator can.
//!
//! Events are routed to [`Part`]s: groups of cells that are searched by themselves. Which cells a message's turn can
//! touch follows from the message alone (a dry run finds out), so two parts have nothing to do with each other until a
//! message touches both, or until a connection has requests under way in both, whose order ties them. Then they become
//! one part. The state of a model whose turns may touch anything is one part from the start.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::derive::backtrack::{Part, Progress};
use crate::derive::book::Seen;
use crate::derive::compose::{Composed, End};
use crate::derive::dualize::{Entry, Task};
use crate::derive::hypothesis::{Delivery, Hypothesis, Parcel};
use crate::derive::inquire::InternalKind;
use crate::derive::unify::Spot;
use crate::fingerprint::Fingerprint;
use crate::lang::{Conn, Incoming, ServerModel};
use crate::network::Network;
use crate::trace::{Event, WireConn};
use crate::verdict::{Expectation, Inconclusive, Refutation, Verdict};

/// How much a judgement may cost, and under which rules it is made.
#[derive(Clone)]
pub struct Options<'a> {
    /// How many turns of the model may be tried.
    pub turns: u64,
    /// About how many bytes the search may hold.
    pub memory: usize,
    /// Called now and then, also deep inside the search, with how far it is; `true` means that the time is up. The
    /// core has no clock of its own.
    pub watch: Option<&'a dyn Fn(&Pulse) -> bool>,
    /// Rules that the server may break.
    pub relaxed: Vec<&'static str>,
    /// How often it may break them.
    pub deviations: u32,
    /// Those among them that it may break any number of times.
    pub free: Vec<&'static str>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            turns: u64::MAX,
            memory: 2 << 30,
            watch: None,
            relaxed: Vec::new(),
            deviations: u32::MAX,
            free: Vec::new(),
        }
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// The furthest event that the part being searched has explained.
    pub event: u64,
    /// How many turns of the model were tried.
    pub turns: u64,
    /// How many alternatives that part has open.
    pub open: usize,
    /// About how many bytes they take.
    pub bytes: usize,
}

/// Watches the budget.
pub(crate) struct Meter<'a> {
    options: Options<'a>,
    /// Where the present slice ends.
    slice: u64,
    countdown: u32,
    pub(crate) spent: Option<&'static str>,
}

impl Meter<'_> {
    /// Whether to stop: because the slice is over, or (then `spent` says what) for good.
    pub(crate) fn is_spent(&mut self, runs: u64, pulse: impl FnOnce() -> Pulse) -> bool {
        if self.spent.is_some() || runs >= self.slice {
            return true;
        }
        self.countdown -= 1;
        if self.countdown == 0 {
            self.countdown = 64;
            let pulse = pulse();
            if runs >= self.options.turns {
                self.spent = Some("turn");
            } else if pulse.bytes > self.options.memory {
                self.spent = Some("memory");
            } else if self.options.watch.is_some_and(|watch| watch(&pulse)) {
                self.spent = Some("time");
            }
        }
        self.spent.is_some()
    }
}

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

/// Judges a server while it is talked to.
pub struct Tester<'m, S: ServerModel> {
    pub(crate) world: Composed<'m, S>,
    parts: Vec<Option<Part<S>>>,
    /// Which part a cell belongs to.
    part_of: FxHashMap<u32, usize>,
    lines: FxHashMap<u32, Line>,
    /// What was sent last on a connection.
    latest: FxHashMap<u32, Rc<Delivery<S::Msg>>>,
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

impl<'m, S: ServerModel> Tester<'m, S> {
    /// Derives a tester from a model of the server and one of the network.
    pub fn new(model: &'m S, network: &'m dyn Network, options: Options<'m>) -> Self {
        let mut world = Composed::new(model, network);
        world.relaxed.clone_from(&options.relaxed);
        world.most_deviations = options.deviations;
        world.free.clone_from(&options.free);
        let internal = world.internal_kind();
        world.has_internal = internal != InternalKind::None;
        // A read lets internal turns happen again, so it is no longer all the same when it took place.
        world.late.set(!world.has_internal);
        let mut tester = Self {
            world,
            parts: Vec::new(),
            part_of: FxHashMap::default(),
            lines: FxHashMap::default(),
            latest: FxHashMap::default(),
            meter: Meter { options, slice: u64::MAX, countdown: 64, spent: None },
            events: 0,
            sent: 0,
            whole: None,
            internal,
            verdict: Verdict::Unrefuted,
            lagging: Vec::new(),
            since_trim: 0,
            free: Vec::new(),
        };
        if !tester.world.is_reliable || tester.world.is_direct {
            // What a lost or doubled packet may still do ties everything together.
            tester.unite(false);
        }
        if internal == InternalKind::Whole {
            tester.unite(true);
        }
        tester
    }

    /// Takes the next event and says what to think of the server now.
    pub fn observe(&mut self, event: Event<S::Msg>) -> &Verdict {
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

    /// What it thinks of the server so far. `Unrefuted` may still change for the last [`Tester::lag`] events.
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
        self.world.runs.get()
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
                self.meter.slice = self.world.runs.get().saturating_add(slice);
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
        if let Some(mistake) = self.world.mistake.borrow_mut().take() {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
            return;
        }
        if self.world.escaped.replace(false) {
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
                    let event = part.log.get(part.furthest).map_or(self.events, |entry| entry.place) as usize;
                    self.verdict = Verdict::Inconclusive(Inconclusive::Budget {
                        what,
                        event,
                        turns: self.world.runs.get(),
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
        let event =
            part.log.get(part.furthest).map_or(self.events.saturating_sub(1), |entry| entry.place) as usize;
        if part.out_of_step {
            self.verdict = Verdict::Inconclusive(Inconclusive::OutOfStep { event });
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

    /// Puts an event into the log of the part that it concerns.
    fn enter(&mut self, event: Event<S::Msg>) -> Option<usize> {
        let place = self.events;
        self.events += 1;
        match event {
            Event::Opened(conn) => {
                self.lines.entry(conn.0).or_default();
                None
            }
            Event::Accepted(conn) => {
                self.lines.entry(conn.0).or_default().accepted = true;
                None
            }
            Event::Sent(conn, message) => self.give(conn, Incoming::Message(Rc::new(message)), place),
            Event::Received(conn, message) => {
                Some(self.explain(conn, Seen::Message(Rc::new(message)), place))
            }
            Event::Closed(conn) => {
                let part = self.explain(conn, Seen::Closed, place);
                self.end(conn, place, true);
                Some(part)
            }
            Event::HungUp(conn) => {
                let spot = self.spot(conn);
                let owner = self.lines.entry(conn.0).or_default().part.or(self.whole);
                self.end(conn, place, false);
                if let Some(part) = owner {
                    self.log(part, place, Task::Severed(spot));
                }
                self.give(conn, Incoming::Closed, place).or(owner)
            }
            Event::Quiescent => {
                for part in 0..self.parts.len() {
                    if self.parts[part].is_some() {
                        self.log(part, place, Task::Rest);
                        self.lagging.push(part);
                    }
                }
                self.lagging.pop()
            }
        }
    }

    fn spot(&self, conn: WireConn) -> Spot {
        match self.lines.get(&conn.0) {
            Some(line) if line.accepted => Spot::Accepted(conn.0),
            _ => Spot::Client(Conn::client(conn.0)),
        }
    }

    fn end(&mut self, conn: WireConn, place: u64, by_server: bool) {
        let conn_name = match self.spot(conn) {
            Spot::Client(conn) => conn,
            Spot::Accepted(wire) => Conn::accepted(wire),
        };
        let line = self.lines.entry(conn.0).or_default();
        line.ended = true;
        line.owed = 0;
        self.world.ended.insert(conn_name, End { place, by_server });
    }

    fn log(&mut self, part: usize, place: u64, task: Task<S>) {
        if let Some(part) = &mut self.parts[part] {
            part.log.push(Entry { place, task });
        }
    }

    fn give(&mut self, conn: WireConn, item: Incoming<S::Msg>, place: u64) -> Option<usize> {
        let spot = self.spot(conn);
        let (accepted, name) = match spot {
            Spot::Client(conn) => (false, conn),
            Spot::Accepted(wire) => (true, Conn::accepted(wire)),
        };
        let mut foot = self.world.footprint(name, &item);
        if let Some(mistake) = self.world.mistake.borrow_mut().take() {
            self.verdict = Verdict::Inconclusive(Inconclusive::Mistake(mistake));
            return None;
        }
        if foot.ignored {
            return None;
        }
        if accepted {
            foot.whole = true;
            foot = foot.complete();
        }
        if foot.whole
            && !self.whole.is_some_and(|part| self.parts[part].as_ref().is_some_and(|part| part.whole))
        {
            self.unite(true);
        }
        let sent = self.sent;
        self.sent += 1;
        let lane = self.world.lane_in(name, sent);
        let part = self.home(conn, &foot);
        let line = self.lines.entry(conn.0).or_default();
        let alone = line.owed == 0 && !line.silent && !accepted;
        line.part = Some(part);
        line.owed += u64::from(foot.replies) + u64::from(foot.closes);
        line.silent |= foot.replies == 0 && !foot.is_reader();
        let delivery = Rc::new(Delivery {
            sent,
            wire: conn.0,
            accepted,
            item,
            foot,
            lane,
            place,
            alone,
            followed: Cell::new(false),
            loud: Cell::new(false),
            answer: OnceCell::new(),
            print: Fingerprint::of(&(0xde_u8, sent)),
        });
        if let Some(before) = self.latest.insert(conn.0, Rc::clone(&delivery)) {
            before.followed.set(!alone);
        }
        self.log(part, place, Task::Given(delivery));
        Some(part)
    }

    fn explain(&mut self, conn: WireConn, seen: Seen<S::Msg>, place: u64) -> usize {
        let spot = self.spot(conn);
        if let Spot::Client(name) = spot
            && !self.world.foresees
        {
            self.world.sightings.push(name, place, seen.clone());
        }
        let line = self.lines.entry(conn.0).or_default();
        let part = self.whole.or(line.part);
        line.owed = line.owed.saturating_sub(1);
        if line.owed == 0 && !line.silent {
            line.part = None;
        }
        let part = match part {
            Some(part) => part,
            // Nobody asked: a part without any hypothesis that could have sent it.
            None if self.internal == InternalKind::None => {
                self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false))
            }
            None => {
                self.unite(true);
                self.whole.unwrap_or_default()
            }
        };
        self.log(part, place, Task::Explain(spot, seen));
        part
    }

    /// The part that a message belongs to, made or merged where needed.
    fn home(&mut self, conn: WireConn, foot: &crate::derive::hypothesis::Footprint) -> usize {
        if let Some(whole) = self.whole {
            if let Some(part) = &mut self.parts[whole] {
                foot.cells.iter().for_each(|(cell, _)| part.adopt(&self.world, *cell));
            }
            return whole;
        }
        let line = self.lines.entry(conn.0).or_default();
        if line.silent && line.owed == 0 {
            let clear = line
                .part
                .is_none_or(|part| self.parts[part].as_ref().is_none_or(|part| part.is_clear_of(conn.0)));
            if clear {
                line.silent = false;
                line.part = None;
            }
        }
        let mut home = line.part;
        if foot.cells.is_empty() && home.is_none() {
            home = line.lonely;
        }
        for (cell, _) in &foot.cells {
            let theirs = self.part_of.get(cell).copied();
            home = match (home, theirs) {
                (Some(home), Some(theirs)) if home != theirs => Some(self.merge(home, theirs)),
                (home, theirs) => home.or(theirs),
            };
        }
        let home =
            home.unwrap_or_else(|| self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false)));
        if foot.cells.is_empty() {
            self.lines.entry(conn.0).or_default().lonely = Some(home);
        }
        for (cell, _) in &foot.cells {
            if self.part_of.insert(*cell, home) != Some(home)
                && let Some(part) = &mut self.parts[home]
            {
                part.adopt(&self.world, *cell);
            }
        }
        home
    }

    fn add(&mut self, part: Part<S>) -> usize {
        if let Some(free) = self.free.pop() {
            self.parts[free] = Some(part);
            return free;
        }
        self.parts.push(Some(part));
        self.parts.len() - 1
    }

    fn merge(&mut self, into: usize, from: usize) -> usize {
        if let (Some(left), Some(right)) = (self.parts[into].take(), self.parts[from].take()) {
            for cell in &right.cells {
                self.part_of.insert(*cell, into);
            }
            #[expect(
                clippy::iter_over_hash_type,
                reason = "each is changed by itself, so the order is all the same"
            )]
            for line in self.lines.values_mut() {
                for held in [&mut line.part, &mut line.lonely] {
                    if *held == Some(from) {
                        *held = Some(into);
                    }
                }
            }
            self.lagging.retain(|part| *part != from);
            if !self.lagging.contains(&into) {
                self.lagging.push(into);
            }
            self.parts[into] = Some(left.merge(right));
            self.free.push(from);
        }
        into
    }

    /// From now on everything is searched together.
    fn unite(&mut self, touches_anything: bool) {
        let numbers: Vec<usize> = (0..self.parts.len()).filter(|part| self.parts[*part].is_some()).collect();
        let first = match numbers.first() {
            Some(first) => *first,
            None => self.add(Part::new(Vec::new(), vec![Hypothesis::default()], false)),
        };
        for other in numbers.into_iter().skip(1) {
            self.merge(first, other);
        }
        self.whole = Some(first);
        if touches_anything {
            if let Some(part) = &mut self.parts[first]
                && !part.whole
            {
                part.whole = true;
                // What was left out because no turn could touch more than it said may matter now.
                part.restart();
                if !self.lagging.contains(&first) {
                    self.lagging.push(first);
                }
            }
            self.world.late.set(false);
        }
    }

    /// Tells it everything that will be seen.
    fn foresee(&mut self, events: &[Event<S::Msg>])
    where
        S::Msg: Clone,
    {
        self.world.foresees = true;
        let mut accepted = FxHashSet::default();
        for (place, event) in events.iter().enumerate() {
            let (conn, seen) = match event {
                Event::Accepted(conn) => {
                    accepted.insert(conn.0);
                    continue;
                }
                Event::Received(conn, message) => (conn, Seen::Message(Rc::new(message.clone()))),
                Event::Closed(conn) => (conn, Seen::Closed),
                _ => continue,
            };
            if !accepted.contains(&conn.0) {
                self.world.sightings.push(Conn::client(conn.0), place as u64, seen);
            }
        }
    }

    /// What the hypotheses expect to come next on this connection, merged into classes; how many hypotheses there are;
    /// and whether some were left out.
    pub fn expectations(&mut self, conn: WireConn) -> (Vec<Expectation>, usize, bool)
    where
        S::Msg: std::fmt::Debug,
    {
        self.catch_up();
        let spot = self.spot(conn);
        let owner = self.whole.or_else(|| self.lines.get(&conn.0).and_then(|line| line.part));
        let Some(part) = owner.and_then(|part| self.parts[part].as_mut()) else {
            return (Vec::new(), 0, false);
        };
        let (hypotheses, more) = part.survey(&self.world, 100);
        let mut classes: BTreeMap<(Option<String>, Vec<&'static str>), usize> = BTreeMap::new();
        for hypothesis in &hypotheses {
            let name = match spot {
                Spot::Client(conn) => Some(conn),
                Spot::Accepted(wire) => hypothesis.bound(wire),
            };
            let mut said = BTreeSet::new();
            for (then, head) in
                name.map_or_else(Vec::new, |name| part.prospects(&self.world, hypothesis, name, self.events))
            {
                said.insert(match &head.parcel {
                    Parcel::Message(sent) => (
                        Some(sent.describe::<S::Msg>(&then.facts)),
                        sent.by.iter().map(|rule| rule.name).collect(),
                    ),
                    Parcel::Close => (Some("the connection closed".to_owned()), Vec::new()),
                    Parcel::Verified => continue,
                });
            }
            if said.is_empty() {
                said.insert((None, Vec::new()));
            }
            for class in said {
                *classes.entry(class).or_default() += 1;
            }
        }
        let expected = classes
            .into_iter()
            .map(|((message, rules), hypotheses)| Expectation { message, rules, hypotheses })
            .collect();
        (expected, hypotheses.len(), more)
    }

    /// Forgets what no part needs any more.
    fn trim(&mut self) {
        if self.world.foresees {
            return;
        }
        let oldest = self
            .parts
            .iter()
            .flatten()
            .filter_map(|part| part.log.first().map(|entry| entry.place))
            .min()
            .unwrap_or(self.events);
        self.world.sightings.forget_before(oldest);
        let used: FxHashSet<usize> =
            self.lines.values().flat_map(|line| [line.part, line.lonely]).flatten().collect();
        for number in 0..self.parts.len() {
            let idle =
                self.parts[number].as_ref().is_some_and(|part| part.is_idle() && part.cells.is_empty());
            if idle && !used.contains(&number) && self.whole != Some(number) {
                self.parts[number] = None;
                self.free.push(number);
            }
        }
    }
}

/// Judges a whole trace. What came later is known from the start, and used.
pub fn judge<S: ServerModel>(
    model: &S,
    network: &dyn Network,
    events: &[Event<S::Msg>],
    options: &Options<'_>,
) -> Verdict
where
    S::Msg: Clone,
{
    let mut tester = Tester::new(model, network, options.clone());
    tester.foresee(events);
    for event in events {
        if let Some(part) = tester.enter(event.clone())
            && !tester.lagging.contains(&part)
        {
            tester.lagging.push(part);
        }
        if !tester.verdict.is_unrefuted() {
            return tester.verdict;
        }
    }
    tester.catch_up();
    tester.verdict
}
