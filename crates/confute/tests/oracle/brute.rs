//! The brute-force judge: the set of all configurations that explain the events so far.
//!
//! Before each observation the set is closed under every hidden step (deliveries, internal turns, every
//! answer to every choice inside them); the observation then keeps the configurations that can show it. An
//! empty set is a refutation. There is no search order, no reduction and no forgetting: only the semantics
//! itself can be wrong.
//!
//! Interpretation of the semantics where it is not determined:
//! - Packets in flight on a connection that was closed by the tester or broke may each be lost, also from the
//!   middle of a lane.
//! - Further copies of a packet that has arrived need not arrive; at a quiescent moment none of them is in
//!   flight, and they are dropped.
//! - Where packets may be lost in both directions, at a quiescent moment all packets that were in flight have
//!   arrived or have been lost.
//! - An internal action that was whole is available again after any message; so is every action after a whole
//!   turn.

use std::cell::{Cell as StdCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use confute::fingerprint::Fingerprint;
use confute::knowledge::Literal;
use confute::lang::{Cause, Conn};
use confute::network::{Direction, Lane, Network};
use confute::trace::{Event, WireConn};
use rustc_hash::{FxHashMap, FxHashSet};

use super::naive::{self, Facts};
use super::tree::{self, Answer, Cell, Cells, Judged, Key, Naked, Node};

/// Result of the brute-force judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// Some behaviour of the model explains the events.
    Explained,
    /// No behaviour of the model explains the events.
    Refuted,
    /// The tester sent, without a network, while no server could receive.
    OutOfStep,
    /// The number of configurations exceeds the limit.
    TooMany,
    /// The engine, online, judged a request without an id that became known later. The oracle never returns it.
    Late,
}

/// A message, or the end of the connection, on its way to the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packet<M> {
    pub sent: u32,
    pub wire: WireConn,
    /// The message; `None` is the end of the connection.
    pub item: Option<Rc<M>>,
    /// Number of copies that have arrived.
    pub taken: u8,
}

/// A message, or the end of the connection, on its way to the tester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output<O> {
    pub conn: Conn,
    /// The message; `None` is the end of the connection.
    pub item: Option<Rc<O>>,
    /// Number of copies that have been observed.
    pub taken: u8,
}

/// A suspended turn.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Running<M> {
    cause: Cause,
    answers: Vec<Answer<M>>,
}

/// A configuration: everything that the future depends on.
pub struct Config<S: Judged> {
    cells: Rc<Cells>,
    touched: Rc<BTreeSet<Cell>>,
    turn: Option<Running<S::M>>,
    pub inbox: Vec<Packet<S::M>>,
    pub outbox: BTreeMap<Lane, Vec<Output<S::O>>>,
    pub facts: Rc<Facts>,
    opened: BTreeSet<Conn>,
    pub bound: BTreeMap<Conn, WireConn>,
    closed: BTreeSet<Conn>,
    gone: BTreeSet<WireConn>,
    ran: Rc<BTreeMap<Vec<Lead>, (bool, BTreeSet<Cell>)>>,
    internals: u32,
    deviations: u32,
}

/// One of the choices that identify an internal action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Lead {
    Chosen(usize),
    Picked(Key),
}

/// A model, a network, and the state common to all configurations.
pub struct Brute<'a, S: Judged> {
    model: &'a S,
    network: &'a dyn Network,
    relaxed: &'a [&'static str],
    /// Maximum number of deviations; `None` if there is no limit.
    pub most_deviations: Option<u32>,
    most: usize,
    has_internal: bool,
    accepted: BTreeSet<WireConn>,
    footprints: BTreeSet<Cell>,
    sent: u32,
    known: RefCell<FxHashMap<Rc<Facts>, bool>>,
    /// The fewest deviations of a configuration in which the last turn left its request waiting.
    refused: std::cell::Cell<Option<u32>>,
    /// Size of the largest set of configurations so far.
    pub peak: StdCell<usize>,
}

type Configs<S> = Vec<Config<S>>;

/// Judges a whole trace.
pub fn judge<S: Judged>(
    model: &S,
    network: &dyn Network,
    (relaxed, most_deviations): (&[&'static str], Option<u32>),
    events: &[Event<S::M>],
    most: usize,
) -> Judgement {
    let mut brute = Brute::new(model, network, relaxed, most);
    brute.most_deviations = most_deviations;
    let mut configs = vec![Config::start()];
    for event in events {
        configs = match brute.event(configs, event) {
            Ok(configs) => configs,
            Err(judgement) => return judgement,
        };
        if configs.is_empty() {
            return Judgement::Refuted;
        }
    }
    Judgement::Explained
}

impl<'a, S: Judged> Brute<'a, S> {
    pub fn new(model: &'a S, network: &'a dyn Network, relaxed: &'a [&'static str], most: usize) -> Self {
        let has_internal = !matches!(tree::step(model, &Cells::new(), true, &[]).node, Node::Idle);
        Self {
            model,
            network,
            relaxed,
            most_deviations: None,
            most,
            has_internal,
            accepted: BTreeSet::new(),
            footprints: BTreeSet::new(),
            sent: 0,
            known: RefCell::default(),
            refused: std::cell::Cell::new(None),
            peak: StdCell::new(0),
        }
    }

    /// Returns the configurations after one more event.
    pub fn event(&mut self, configs: Configs<S>, event: &Event<S::M>) -> Result<Configs<S>, Judgement> {
        // Hidden steps can always be postponed until the next observation: actions of the tester only make
        // more steps possible. The exception is a send without a network, which requires a server that waits
        // for a message.
        let hidden = match event {
            Event::Opened(_) | Event::Accepted(_) | Event::HungUp(_) => false,
            Event::Sent(..) => self.network.is_direct(),
            _ => true,
        };
        // Internal turns may happen at the cells of a message from its sending on; without a network, just
        // before it.
        if let Event::Sent(wire, message) = event {
            self.footprints.extend(tree::footprint(
                self.model,
                Conn::client(wire.0),
                &Rc::new(message.clone()),
            ));
        }
        let configs = if hidden { self.close_under_hidden_steps(configs)? } else { configs };
        let mut next = Vec::new();
        match event {
            Event::Accepted(wire) => {
                self.accepted.insert(*wire);
                return Ok(configs);
            }
            Event::Sent(wire, message) => {
                let message = Rc::new(message.clone());
                let packet = Packet { sent: self.sent, wire: *wire, item: Some(message), taken: 0 };
                self.sent += 1;
                for mut config in configs {
                    if self.end(&config, *wire).is_some_and(|conn| config.closed.contains(&conn)) {
                        next.push(config);
                    } else if self.network.is_direct() {
                        if config.outbox.is_empty() {
                            config.inbox.push(packet.clone());
                            next.extend(self.deliver(&config, config.inbox.len() - 1));
                        }
                    } else {
                        config.inbox.push(packet.clone());
                        next.push(config);
                    }
                }
                if next.is_empty() {
                    return Err(Judgement::OutOfStep);
                }
            }
            Event::Received(wire, message) => {
                for config in &configs {
                    for conn in self.ends(config, *wire) {
                        self.see(config, conn, *wire, Some(message), &mut next);
                    }
                }
            }
            Event::Closed(wire) => {
                for config in &configs {
                    for conn in self.ends(config, *wire) {
                        self.see(config, conn, *wire, None, &mut next);
                        if self.network.breaks() {
                            let mut broken = config.clone();
                            self.bind(&mut broken, conn, *wire);
                            broken.lose(*wire, conn);
                            next.push(broken);
                        }
                    }
                }
            }
            Event::HungUp(wire) => {
                for mut config in configs {
                    let conn = self.end(&config, *wire).expect("the tester hangs up only what it knows");
                    config.lose(*wire, conn);
                    if !config.closed.contains(&conn) {
                        config.inbox.push(Packet { sent: self.sent, wire: *wire, item: None, taken: 0 });
                    }
                    next.push(config);
                }
                self.sent += 1;
            }
            Event::Quiescent => next.extend(self.rested(configs)),
            _ => return Ok(configs),
        }
        self.distinct(next)
    }

    /// Returns the configurations in which nothing more happens by itself.
    fn rested(&mut self, configs: Configs<S>) -> Vec<Config<S>> {
        let ways = [Direction::ToServer, Direction::ToTester];
        let owed = ways.iter().all(|way| !self.network.loses(*way));
        let gone = ways.iter().all(|way| self.network.loses(*way));
        let mut rested = Vec::new();
        for mut config in configs {
            if gone {
                config.inbox.clear();
                config.outbox.clear();
            }
            if owed {
                let Some(broken) = self.at_rest(&config) else { continue };
                config.deviations += broken;
                if self.most_deviations.is_some_and(|most| config.deviations > most) {
                    continue;
                }
                config.inbox.retain(|packet| packet.taken == 0);
                config.outbox.clear();
            }
            rested.push(config);
        }
        rested
    }

    /// Returns the configurations after one hidden step.
    pub fn hidden_steps(&self, config: &Config<S>) -> Configs<S> {
        let mut next = self.deliveries(config);
        next.extend(self.internal_turns(config));
        next
    }

    /// Returns the configurations after one delivery.
    pub fn deliveries(&self, config: &Config<S>) -> Configs<S> {
        if self.network.is_direct() {
            return Vec::new();
        }
        (0..config.inbox.len()).flat_map(|at| self.deliver(config, at)).collect()
    }

    /// Returns the configurations after one internal turn.
    pub fn internal_turns(&self, config: &Config<S>) -> Configs<S> {
        if !self.has_internal || config.turn.is_some() {
            return Vec::new();
        }
        let mut config = config.clone();
        let cause = Cause::Internal { cell: u32::MAX, n: config.internals };
        config.internals += 1;
        self.run(config, Running { cause, answers: Vec::new() }, true)
    }

    /// Returns the outputs that the tester may observe next, as lane and index in the lane.
    pub fn visible(&self, config: &Config<S>) -> Vec<(Lane, usize)> {
        let mut visible = Vec::new();
        for (lane, outputs) in &config.outbox {
            for at in 0..outputs.len() {
                if self.skippable(*lane, outputs, at) {
                    visible.push((*lane, at));
                }
            }
        }
        visible
    }

    /// Returns `true` if some assignment satisfies all facts.
    fn satisfiable(&self, facts: &Rc<Facts>) -> bool {
        if let Some(known) = self.known.borrow().get(facts) {
            return *known;
        }
        let answer = naive::solve(facts, &tree::sort).is_some();
        self.known.borrow_mut().insert(Rc::clone(facts), answer);
        answer
    }

    fn close_under_hidden_steps(&self, configs: Configs<S>) -> Result<Configs<S>, Judgement> {
        let mut seen: FxHashSet<Fingerprint> = FxHashSet::default();
        let mut todo = configs;
        let mut all = Vec::new();
        while let Some(config) = todo.pop() {
            if !seen.insert(Fingerprint::of(&config)) {
                continue;
            }
            if seen.len() > self.most {
                return Err(Judgement::TooMany);
            }
            todo.extend(self.hidden_steps(&config));
            all.push(config);
        }
        self.peak.set(self.peak.get().max(all.len()));
        Ok(all)
    }

    fn distinct(&self, configs: Configs<S>) -> Result<Configs<S>, Judgement> {
        let mut seen: FxHashSet<Fingerprint> = FxHashSet::default();
        let all: Configs<S> =
            configs.into_iter().filter(|config| seen.insert(Fingerprint::of(config))).collect();
        if all.len() > self.most { Err(Judgement::TooMany) } else { Ok(all) }
    }

    /// Returns the server's end of this connection, if it is known.
    fn end(&self, config: &Config<S>, wire: WireConn) -> Option<Conn> {
        if self.accepted.contains(&wire) {
            config.bound.iter().find(|(_, bound)| **bound == wire).map(|(conn, _)| *conn)
        } else {
            Some(Conn::client(wire.0))
        }
    }

    /// Returns the possible server's ends of this connection.
    fn ends(&self, config: &Config<S>, wire: WireConn) -> Vec<Conn> {
        match self.end(config, wire) {
            Some(conn) => vec![conn],
            None => config.opened.iter().copied().filter(|conn| !config.bound.contains_key(conn)).collect(),
        }
    }

    fn bind(&self, config: &mut Config<S>, conn: Conn, wire: WireConn) {
        if self.accepted.contains(&wire) {
            config.bound.insert(conn, wire);
        }
    }

    /// Returns the receive that the server waits at: its connection, and `true` if it accepts a close.
    fn awaits(&self, config: &Config<S>) -> (Option<Conn>, bool) {
        let answers = config.turn.as_ref().map_or(&[][..], |turn| &turn.answers);
        match tree::step(self.model, &config.cells, false, answers).node {
            Node::Recv { from, closes } => (from, closes),
            _ => panic!("a turn starts with a receive, and stops at one"),
        }
    }

    /// Returns the connections as which the server would accept this packet.
    fn takers(&self, config: &Config<S>, packet: &Packet<S::M>) -> Vec<Conn> {
        let (from, closes) = self.awaits(config);
        let mut ends = self.ends(config, packet.wire);
        ends.retain(|conn| from.is_none_or(|from| from == *conn) && (closes || packet.item.is_some()));
        ends
    }

    /// Returns the indices of the packets that must arrive before this one; empty if it keeps no order.
    fn before(&self, config: &Config<S>, at: usize) -> Vec<usize> {
        let lane = |wire: WireConn| match self.end(config, wire) {
            Some(conn) => (None, self.network.lane(conn, Direction::ToServer)),
            None => (Some(wire), self.network.lane(Conn::client(wire.0), Direction::ToServer)),
        };
        let own = lane(config.inbox[at].wire);
        if own.1 == Lane::Unordered {
            return Vec::new();
        }
        (0..at).filter(|i| lane(config.inbox[*i].wire) == own).collect()
    }

    fn may_be_lost(&self, config: &Config<S>, packet: &Packet<S::M>) -> bool {
        packet.taken > 0 || config.gone.contains(&packet.wire) || self.network.loses(Direction::ToServer)
    }

    /// Delivers the packet at this index to the server, if possible.
    fn deliver(&self, config: &Config<S>, at: usize) -> Configs<S> {
        let before = self.before(config, at);
        if !before.iter().all(|i| self.may_be_lost(config, &config.inbox[*i])) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for conn in self.takers(config, &config.inbox[at]) {
            let mut next = config.clone();
            let packet = &mut next.inbox[at];
            let received = Answer::Received(conn, packet.item.clone());
            let cause = Cause::Delivery { sent: packet.sent, copy: packet.taken };
            let wire = packet.wire;
            packet.taken += 1;
            let copies = if packet.item.is_some() { self.network.copies(Direction::ToServer) } else { 1 };
            let used_up = packet.taken >= copies;
            let mut place = 0;
            next.inbox.retain(|_| {
                place += 1;
                !(before.contains(&(place - 1)) || (used_up && place - 1 == at))
            });
            self.bind(&mut next, conn, wire);
            let mut turn = next.turn.take().unwrap_or(Running { cause, answers: Vec::new() });
            turn.answers.push(received);
            all.extend(self.run(next, turn, false));
        }
        all
    }

    /// Runs a turn until it ends or waits, along every alternative.
    fn run(&self, config: Config<S>, turn: Running<S::M>, internal: bool) -> Configs<S> {
        let mut all = Vec::new();
        let mut todo = vec![(config, turn)];
        while let Some((mut config, mut turn)) = todo.pop() {
            let step = tree::step(self.model, &config.cells, internal, &turn.answers);
            let index = turn.answers.len();
            match step.node {
                Node::Recv { .. } => {
                    assert!(!internal, "internal turns do not wait");
                    config.turn = Some(turn);
                    all.push(config);
                    continue;
                }
                Node::Done => {
                    all.extend(self.done(config, &turn, step, internal));
                    continue;
                }
                Node::Refused => {
                    let fewest = self.refused.get().unwrap_or(u32::MAX);
                    self.refused.set(Some(fewest.min(config.deviations)));
                    continue;
                }
                Node::Idle | Node::Dead => continue,
                Node::Send(conn, message) => {
                    assert!(!config.closed.contains(&conn), "sends on a connection that it closed");
                    self.post(&mut config, conn, Some(message));
                    turn.answers.push(Answer::Unit);
                }
                Node::Close(conn) => {
                    config.closed.insert(conn);
                    let packets = std::mem::take(&mut config.inbox);
                    config.inbox = packets
                        .into_iter()
                        .filter(|packet| self.end(&config, packet.wire) != Some(conn))
                        .collect();
                    self.post(&mut config, conn, None);
                    turn.answers.push(Answer::Unit);
                }
                Node::Connect => {
                    let conn = Conn::opened(turn.cause, index as u32);
                    config.opened.insert(conn);
                    turn.answers.push(Answer::Connected(conn));
                }
                Node::Fresh(sort) => turn.answers.push(Answer::Fresh(tree::name(turn.cause, index, sort))),
                Node::Assume(literal) => {
                    if !self.learn(&mut config, literal) {
                        continue;
                    }
                    turn.answers.push(Answer::Unit);
                }
                Node::Decide(literal) => {
                    for (so, literal) in [(true, literal.clone()), (false, literal.negated())] {
                        let (mut config, mut turn) = (config.clone(), turn.clone());
                        if self.learn(&mut config, literal) {
                            turn.answers.push(Answer::Decided(so));
                            todo.push((config, turn));
                        }
                    }
                    continue;
                }
                Node::Choose(options) => {
                    todo.extend((0..options).map(|way| branch(&config, &turn, Answer::Chosen(way))));
                    continue;
                }
                Node::Deviates(rule) => {
                    todo.push(branch(&config, &turn, Answer::Decided(false)));
                    let may = self.most_deviations.is_none_or(|most| config.deviations < most);
                    if self.relaxed.contains(&rule.name) && may {
                        // Without a limit the future does not depend on the number.
                        config.deviations += u32::from(self.most_deviations.is_some());
                        todo.push(branch(&config, &turn, Answer::Decided(true)));
                    }
                    continue;
                }
                Node::Pick(table) => {
                    let cells: BTreeSet<&Cell> = self.footprints.union(&config.touched).collect();
                    for cell in cells.into_iter().filter(|cell| cell.table == table) {
                        todo.push(branch(&config, &turn, Answer::Picked(cell.key.clone())));
                    }
                    continue;
                }
            }
            todo.push((config, turn));
        }
        all
    }

    /// Returns the configuration after a turn that has ended; `None` if its action may not happen again.
    fn done(
        &self,
        mut config: Config<S>,
        turn: &Running<S::M>,
        step: tree::Step<S::O>,
        internal: bool,
    ) -> Option<Config<S>> {
        if !step.writes.is_empty() {
            Rc::make_mut(&mut config.cells).extend(step.writes);
        }
        if self.has_internal {
            Rc::make_mut(&mut config.touched).extend(step.opened.iter().cloned());
        }
        if internal {
            let action: Vec<Lead> = turn.answers[..step.leading].iter().filter_map(lead).collect();
            if config.ran.contains_key(&action) {
                return None;
            }
            Rc::make_mut(&mut config.ran).insert(action, (step.whole, step.opened));
            // The count only serves to name secrets and connections: turns that created none need
            // not be distinguished.
            let made = |answer: &Answer<S::M>| matches!(answer, Answer::Fresh(_) | Answer::Connected(_));
            if !turn.answers.iter().any(made) {
                config.internals -= 1;
            }
        } else if !config.ran.is_empty() {
            Rc::make_mut(&mut config.ran).retain(|_, (whole, cells)| {
                !(step.whole || *whole || cells.intersection(&step.opened).next().is_some())
            });
        }
        Some(config)
    }

    fn learn(&self, config: &mut Config<S>, literal: Literal) -> bool {
        match naive::holds(&literal, &naive::Assignment::new()) {
            Some(known) => known,
            None => {
                Rc::make_mut(&mut config.facts).insert(literal);
                self.satisfiable(&config.facts)
            }
        }
    }

    fn post(&self, config: &mut Config<S>, conn: Conn, item: Option<S::O>) {
        let wire = conn.wire().map(WireConn).or_else(|| config.bound.get(&conn).copied());
        if wire.is_some_and(|wire| config.gone.contains(&wire)) {
            return;
        }
        let lane = self.network.lane(conn, Direction::ToTester);
        let outputs = config.outbox.entry(lane).or_default();
        outputs.push(Output { conn, item: item.map(Rc::new), taken: 0 });
        if lane == Lane::Unordered {
            outputs.sort_by_cached_key(Fingerprint::of);
        }
    }

    /// Returns `true` if the output at this index can be the next one observed.
    fn skippable(&self, lane: Lane, outputs: &[Output<S::O>], at: usize) -> bool {
        lane == Lane::Unordered
            || outputs[..at].iter().all(|output| {
                output.taken > 0 || (output.item.is_some() && self.network.loses(Direction::ToTester))
            })
    }

    /// Adds the configurations in which the tester observes this message, or the end, on this connection.
    fn see(&self, config: &Config<S>, conn: Conn, wire: WireConn, seen: Option<&S::M>, all: &mut Configs<S>) {
        let lane = self.network.lane(conn, Direction::ToTester);
        let Some(outputs) = config.outbox.get(&lane) else { return };
        for at in 0..outputs.len() {
            let output = &outputs[at];
            if output.conn != conn || !self.skippable(lane, outputs, at) {
                continue;
            }
            let literals = match (&output.item, seen) {
                (Some(message), Some(seen)) => message.literals(seen),
                (None, None) => Some(Vec::new()),
                _ => None,
            };
            let Some(literals) = literals else { continue };
            let mut next = config.clone();
            if !literals.into_iter().all(|literal| self.learn(&mut next, literal)) {
                continue;
            }
            self.bind(&mut next, conn, wire);
            let outputs = next.outbox.get_mut(&lane).unwrap();
            outputs[at].taken += 1;
            let copies = if seen.is_some() { self.network.copies(Direction::ToTester) } else { 1 };
            let used_up = outputs[at].taken >= copies;
            let skipped = if lane == Lane::Unordered { 0 } else { at };
            if used_up {
                outputs.remove(at);
            }
            outputs.drain(..skipped);
            if lane == Lane::Unordered {
                outputs.sort_by_cached_key(Fingerprint::of);
            }
            if outputs.is_empty() {
                next.outbox.remove(&lane);
            }
            all.push(next);
        }
    }

    /// Returns the largest number of deviations by which a packet that must still arrive is left waiting, if nothing else is in flight.
    fn at_rest(&self, config: &Config<S>) -> Option<u32> {
        if config.outbox.values().flatten().any(|output| output.taken == 0) {
            return None;
        }
        let mut broken: u32 = 0;
        for at in 0..config.inbox.len() {
            let packet = &config.inbox[at];
            let must_arrive = !self.may_be_lost(config, packet)
                && self.before(config, at).iter().all(|i| self.may_be_lost(config, &config.inbox[*i]))
                && !self.takers(config, packet).is_empty();
            if must_arrive {
                self.refused.set(None);
                self.deliver(config, at);
                broken = broken.max(self.refused.get()? - config.deviations);
            }
        }
        Some(broken)
    }
}

fn branch<S: Judged>(
    config: &Config<S>,
    turn: &Running<S::M>,
    answer: Answer<S::M>,
) -> (Config<S>, Running<S::M>) {
    let mut turn = turn.clone();
    turn.answers.push(answer);
    (config.clone(), turn)
}

fn lead<M>(answer: &Answer<M>) -> Option<Lead> {
    match answer {
        Answer::Chosen(way) => Some(Lead::Chosen(*way)),
        Answer::Picked(key) => Some(Lead::Picked(key.clone())),
        _ => None,
    }
}

impl<S: Judged> Config<S> {
    /// Returns the initial configuration.
    pub fn start() -> Self {
        Self {
            cells: Rc::default(),
            touched: Rc::default(),
            turn: None,
            inbox: Vec::new(),
            outbox: BTreeMap::new(),
            facts: Rc::default(),
            opened: BTreeSet::new(),
            bound: BTreeMap::new(),
            closed: BTreeSet::new(),
            gone: BTreeSet::new(),
            ran: Rc::default(),
            internals: 0,
            deviations: 0,
        }
    }

    /// Discards everything in flight to the tester on this connection.
    fn lose(&mut self, wire: WireConn, conn: Conn) {
        self.gone.insert(wire);
        for outputs in self.outbox.values_mut() {
            outputs.retain(|output| output.conn != conn);
        }
        self.outbox.retain(|_, outputs| !outputs.is_empty());
    }
}

// Implemented by hand, because derives would require the same traits of `S`.
macro_rules! by_fields {
    ($($field:ident),+) => {
        impl<S: Judged> Clone for Config<S> {
            fn clone(&self) -> Self {
                Self { $($field: self.$field.clone()),+ }
            }
        }
        impl<S: Judged> PartialEq for Config<S> {
            fn eq(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }
        impl<S: Judged> Eq for Config<S> {}
        impl<S: Judged> std::hash::Hash for Config<S> {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                $(self.$field.hash(state);)+
            }
        }
    };
}
by_fields!(
    cells, touched, turn, inbox, outbox, facts, opened, bound, closed, gone, ran, internals, deviations
);
