//! The brute judge: the set of all configurations that explain the events so far.
//!
//! Before each observation the set is closed under every hidden step (deliveries, internal turns, every answer to every
//! choice inside them); the observation then keeps those that can show it. An empty set is a refutation. There is no
//! search order, no reduction and no forgetting: nothing to get wrong but the semantics itself.
//!
//! Where the rules leave room this is how they are read:
//! - Packets in flight on a connection that was hung up or broke may each be lost, also from the middle of a lane.
//! - Whether copies of a packet that arrived already are still to come, nothing owes them; at a quiescent moment they
//!   are known not to be on their way, and vanish.
//! - Where packets may be lost both ways, a quiescent moment means that all which were under way have arrived or have
//!   been lost.
//! - An internal action that was whole is free again after any message; so is every action after a whole turn.

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

/// What the judge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// Some behaviour of the model explains the events.
    Explained,
    /// None does.
    Refuted,
    /// Without a network: the tester sent while no server could take it.
    OutOfStep,
    /// More configurations than one cares to wait for.
    TooMany,
}

/// A message, or the end of the connection, on its way to the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Packet<M> {
    pub sent: u32,
    pub wire: WireConn,
    /// `None` is the end.
    pub item: Option<Rc<M>>,
    /// How many copies have arrived.
    pub taken: u8,
}

/// A message, or the end of the connection, on its way to the tester.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Output<O> {
    pub conn: Conn,
    /// `None` is the end.
    pub item: Option<Rc<O>>,
    /// How many copies have been seen.
    pub taken: u8,
}

/// A turn under way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Running<M> {
    cause: Cause,
    answers: Vec<Answer<M>>,
}

/// Everything that the future depends on.
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

/// One of the choices that name an internal action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Lead {
    Chosen(usize),
    Picked(Key),
}

/// A model, a network, and what all configurations have in common.
pub struct Brute<'a, S: Judged> {
    model: &'a S,
    network: &'a dyn Network,
    relaxed: &'a [&'static str],
    /// How often rules may be broken; `None` if there is no limit.
    pub most_deviations: Option<u32>,
    most: usize,
    has_internal: bool,
    accepted: BTreeSet<WireConn>,
    footprints: BTreeSet<Cell>,
    sent: u32,
    known: RefCell<FxHashMap<Rc<Facts>, bool>>,
    /// The largest set met.
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
            peak: StdCell::new(0),
        }
    }

    /// The configurations after one more event.
    pub fn event(&mut self, configs: Configs<S>, event: &Event<S::M>) -> Result<Configs<S>, Judgement> {
        // Hidden steps can always wait until something is seen: what the tester does only adds to what is possible.
        // Only without a network does its sending need a server that waits.
        let hidden = match event {
            Event::Opened(_) | Event::Accepted(_) | Event::HungUp(_) => false,
            Event::Sent(..) => self.network.is_direct(),
            _ => true,
        };
        // Internal turns may happen at the cells of a message from its sending on: without a network, just before it.
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
            Event::Quiescent => {
                let ways = [Direction::ToServer, Direction::ToTester];
                let owed = ways.iter().all(|way| !self.network.loses(*way));
                let gone = ways.iter().all(|way| self.network.loses(*way));
                for mut config in configs {
                    if gone {
                        config.inbox.clear();
                        config.outbox.clear();
                    }
                    if owed {
                        if !self.at_rest(&config) {
                            continue;
                        }
                        config.inbox.retain(|packet| packet.taken == 0);
                        config.outbox.clear();
                    }
                    next.push(config);
                }
            }
            _ => return Ok(configs),
        }
        self.distinct(next)
    }

    /// One hidden step, every way it can go.
    pub fn hidden_steps(&self, config: &Config<S>) -> Configs<S> {
        let mut next = self.deliveries(config);
        next.extend(self.internal_turns(config));
        next
    }

    /// One delivery, every way it can go.
    pub fn deliveries(&self, config: &Config<S>) -> Configs<S> {
        if self.network.is_direct() {
            return Vec::new();
        }
        (0..config.inbox.len()).flat_map(|at| self.deliver(config, at)).collect()
    }

    /// One internal turn, every way it can go.
    pub fn internal_turns(&self, config: &Config<S>) -> Configs<S> {
        if !self.has_internal || config.turn.is_some() {
            return Vec::new();
        }
        let mut config = config.clone();
        let cause = Cause::Internal { cell: u32::MAX, n: config.internals };
        config.internals += 1;
        self.run(config, Running { cause, answers: Vec::new() }, true)
    }

    /// The outputs that the tester may see next: lane and place in it.
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

    /// Whether some assignment satisfies all of these.
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

    /// The server's end of this connection, if it is known.
    fn end(&self, config: &Config<S>, wire: WireConn) -> Option<Conn> {
        if self.accepted.contains(&wire) {
            config.bound.iter().find(|(_, bound)| **bound == wire).map(|(conn, _)| *conn)
        } else {
            Some(Conn::client(wire.0))
        }
    }

    /// What the server's end of this connection may be.
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

    /// What the server waits for.
    fn awaits(&self, config: &Config<S>) -> (Option<Conn>, bool) {
        let answers = config.turn.as_ref().map_or(&[][..], |turn| &turn.answers);
        match tree::step(self.model, &config.cells, false, answers).node {
            Node::Recv { from, closes } => (from, closes),
            _ => panic!("a turn starts with a receive, and stops at one"),
        }
    }

    /// As which connections' the server would take this packet.
    fn takers(&self, config: &Config<S>, packet: &Packet<S::M>) -> Vec<Conn> {
        let (from, closes) = self.awaits(config);
        let mut ends = self.ends(config, packet.wire);
        ends.retain(|conn| from.is_none_or(|from| from == *conn) && (closes || packet.item.is_some()));
        ends
    }

    /// The packets that keep their order with this one and are before it; `None` if it travels by itself.
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

    /// The server takes the packet at this place, if it can.
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

    /// Runs a turn until it ends or waits, every way it can go.
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
                    if !step.writes.is_empty() {
                        Rc::make_mut(&mut config.cells).extend(step.writes);
                    }
                    if self.has_internal {
                        Rc::make_mut(&mut config.touched).extend(step.opened.iter().cloned());
                    }
                    if internal {
                        let action: Vec<Lead> =
                            turn.answers[..step.leading].iter().filter_map(lead).collect();
                        if config.ran.contains_key(&action) {
                            continue;
                        }
                        Rc::make_mut(&mut config.ran).insert(action, (step.whole, step.opened));
                        // The count only serves to name things: a turn that made none need not be told apart.
                        let made =
                            |answer: &Answer<S::M>| matches!(answer, Answer::Fresh(_) | Answer::Connected(_));
                        if !turn.answers.iter().any(made) {
                            config.internals -= 1;
                        }
                    } else if !config.ran.is_empty() {
                        Rc::make_mut(&mut config.ran).retain(|_, (whole, cells)| {
                            !(step.whole || *whole || cells.intersection(&step.opened).next().is_some())
                        });
                    }
                    all.push(config);
                    continue;
                }
                Node::Refused | Node::Idle | Node::Dead => continue,
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
                        // Without a limit the number is no part of what the future depends on.
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

    /// Whether the output at this place can be the next to be seen.
    fn skippable(&self, lane: Lane, outputs: &[Output<S::O>], at: usize) -> bool {
        lane == Lane::Unordered
            || outputs[..at].iter().all(|output| {
                output.taken > 0 || (output.item.is_some() && self.network.loses(Direction::ToTester))
            })
    }

    /// The tester sees this message, or the end, on this connection.
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

    /// Whether nothing is on its way that would still arrive.
    fn at_rest(&self, config: &Config<S>) -> bool {
        let unseen = config.outbox.values().flatten().any(|output| output.taken == 0);
        let undelivered = (0..config.inbox.len()).any(|at| {
            let packet = &config.inbox[at];
            !self.may_be_lost(config, packet)
                && self.before(config, at).iter().all(|i| self.may_be_lost(config, &config.inbox[*i]))
                && !self.takers(config, packet).is_empty()
        });
        !unseen && !undelivered
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
    /// Before anything happened.
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

    /// Nothing on this connection will be seen any more.
    fn lose(&mut self, wire: WireConn, conn: Conn) {
        self.gone.insert(wire);
        for outputs in self.outbox.values_mut() {
            outputs.retain(|output| output.conn != conn);
        }
        self.outbox.retain(|_, outputs| !outputs.is_empty());
    }
}

// By hand, because derives would ask the same of `S`.
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
