//! Server and network together: what can happen next inside one hypothesis (Fig 13, with the networks of Fig 5).
//!
//! The server's side of a step is a turn of the model; the network's side is which packet it takes. Neither does
//! anything by itself: the search asks for the steps it needs, so the network is stepped as lazily as the paper's.
//! A step makes new hypotheses out of one and never changes the one it starts from.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::book::{CellBook, Seen, Sightings};
use super::coverage::Coverage;
use super::foresight::Fit;
use super::hypothesis::{
    CellState, Delivery, Footprint, Hypothesis, Outgoing, Packed, Parcel, Pending, Stir, Suspended,
    UNORDERED, touches,
};
use super::repeat::Repeats;
use super::turn::{Act, Leeway, Path, Ran, Runner, Start, has_more, next_path};
use crate::erased::{Letter, Message, Model};
use crate::lang::{Access, Cause, Conn, Incoming, Mistake, Rule, Stop, Val};
use crate::network::{Direction, Lane, Network};

/// A server model attached to a network model, and what is known for sure about this run.
pub(crate) struct Composed<'m> {
    pub(crate) model: &'m dyn Model,
    pub(crate) network: &'m dyn Network,
    pub(crate) book: RefCell<CellBook>,
    /// A letter that is no longer needed.
    pub(crate) spare: Cell<Option<Box<dyn Letter>>>,
    pub(crate) sightings: Sightings,
    /// Connections that ended, and where in the trace.
    pub(crate) ended: FxHashMap<Conn, End>,
    pub(crate) allowance: Allowance,
    pub(crate) tally: Tally,
    /// The turns that are run again.
    pub(crate) repeats: Repeats,
    /// Whether reads may be placed at earlier versions: not once a turn may touch anything.
    pub(crate) late: Cell<bool>,
    pub(crate) has_internal: bool,
    /// Whether all that will be seen is known already.
    pub(crate) foresees: bool,
    pub(crate) transport: Transport,
}

/// The properties of the network that the search needs at every step, looked up once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transport {
    /// The server takes a message the moment it is sent.
    pub(crate) is_direct: bool,
    /// No packet is lost, doubled or reordered within its connection.
    pub(crate) is_reliable: bool,
    /// Packets to the server may get lost.
    pub(crate) loses_input: bool,
    /// Deliveries of one packet to the server, at most.
    pub(crate) input_copies: u8,
    /// Packets to the tester may get lost.
    pub(crate) loses_output: bool,
    /// Sights of one packet to the tester, at most.
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
    /// Those of them whose deviations are not counted.
    pub(crate) free: Vec<&'static str>,
    /// Deviations from the others, at most.
    pub(crate) most: u32,
    /// Where in the trace the only message was sent that the others may be broken for, if so.
    pub(crate) only_at: Option<u64>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { relaxed: Vec::new(), free: Vec::new(), most: u32::MAX, only_at: None }
    }
}

impl Allowance {
    /// Whether a turn for the message that was sent at this place may break rules that are counted.
    fn may_break(&self, place: u64) -> bool {
        self.only_at.is_none_or(|only| only == place)
    }

    /// Whether deviations from this rule are counted.
    fn counts(&self, rule: &Rule) -> bool {
        !self.free.contains(&rule.name)
    }

    /// Whether a run for the message that was sent at this place may have broken the rules that it did.
    fn may_deviate(&self, ran: &Ran, place: u64) -> bool {
        self.may_break(place) || !ran.deviations.iter().any(|rule| self.counts(rule))
    }
}

/// An account of the turns that were run.
#[derive(Default)]
pub(crate) struct Tally {
    /// The number of runs.
    pub(crate) runs: Cell<u64>,
    /// The rules that were asked about.
    pub(crate) coverage: Coverage,
    /// The first mistake of the model that was met.
    pub(crate) mistake: RefCell<Option<Mistake>>,
    /// An internal turn touched more than the part it was tried in.
    pub(crate) escaped: Cell<bool>,
    /// The server took the packet that was delivered last, whatever came of it.
    pub(crate) took: Cell<bool>,
}

impl Tally {
    /// Whether a turn did what ends the search: nothing that follows from it counts.
    pub(crate) fn stops_search(&self) -> bool {
        self.mistake.borrow().is_some() || self.escaped.get()
    }
}

/// How a connection ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Where in the trace.
    pub(crate) place: u64,
    /// Whether the tester saw it close, rather than hung up.
    pub(crate) by_server: bool,
}

/// New hypotheses.
pub(crate) type Brood = SmallVec<[Rc<Hypothesis>; 2]>;

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
            late: Cell::new(true),
            has_internal: false,
            foresees: false,
            transport: Transport::of(network),
        }
    }

    /// The lane of a packet to the server: a number of its own where order does not count.
    pub(crate) fn lane_in(&self, conn: Conn, sent: u32) -> u64 {
        match self.network.lane(conn, Direction::ToServer) {
            Lane::Ordered(number) => number & !UNORDERED,
            Lane::Unordered => UNORDERED | u64::from(sent),
        }
    }

    fn lane_out(&self, conn: Conn) -> u64 {
        match self.network.lane(conn, Direction::ToTester) {
            Lane::Ordered(number) => number & !UNORDERED,
            Lane::Unordered => UNORDERED | (conn.0 & !(UNORDERED << 1)),
        }
    }

    pub(crate) fn has_ended(&self, conn: Conn, place: u64) -> bool {
        !self.ended.is_empty() && self.ended.get(&conn).is_some_and(|end| end.place < place)
    }

    /// Runs a turn, now and then twice: see [`repeat`](super::repeat).
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
            left: if start.may_break { left } else { 0 },
            coverage: &self.tally.coverage,
        };
        Runner::new((&self.book, &self.spare), leeway, hypothesis, start, path).run(self.model)
    }

    pub(crate) fn blunder(&self, mistake: Mistake) {
        self.tally.mistake.borrow_mut().get_or_insert(mistake);
    }

    /// A message enters the network.
    pub(crate) fn admit(&self, hypothesis: &mut Hypothesis, delivery: &Rc<Delivery>) {
        let conn = if delivery.accepted {
            hypothesis.bound(delivery.wire)
        } else {
            Some(Conn::client(delivery.wire))
        };
        // What arrives after the server closed the connection is lost.
        if conn.is_some_and(|conn| hypothesis.is_closed(conn)) {
            return;
        }
        let since = hypothesis.turns;
        if delivery.foot.is_reader() && delivery.alone {
            hypothesis.stirred = hypothesis.stirred.max(Stir::Admitted);
        }
        hypothesis.pending.push(Pending {
            delivery: Rc::clone(delivery),
            since,
            taken: 0,
            loose: false,
            watched: false,
            covered: false,
            stale: false,
        });
    }

    /// Whether the network may take this pending packet next.
    pub(crate) fn is_deliverable(&self, hypothesis: &Hypothesis, index: usize) -> bool {
        let lane = hypothesis.pending[index].delivery.lane;
        hypothesis.pending[..index].iter().all(|earlier| {
            earlier.delivery.lane != lane || self.transport.loses_input || earlier.loose || earlier.taken > 0
        })
    }

    /// The network takes a pending packet, and the server handles it, now. Every way in which that can go.
    pub(crate) fn deliver(&self, hypothesis: Rc<Hypothesis>, index: usize, place: u64, brood: &mut Brood) {
        let delivery = &hypothesis.pending[index].delivery;
        if !delivery.accepted {
            let conn = Conn::client(delivery.wire);
            self.deliver_as(hypothesis, index, conn, place, brood);
        } else if let Some(conn) = hypothesis.bound(delivery.wire) {
            self.deliver_as(hypothesis, index, conn, place, brood);
        } else {
            for at in 0..hypothesis.links.len() {
                if hypothesis.links[at].1.is_none() {
                    let mut bound = Hypothesis::clone(&hypothesis);
                    bound.links[at].1 = Some(delivery.wire);
                    let conn = bound.links[at].0;
                    self.deliver_as(Rc::new(bound), index, conn, place, brood);
                }
            }
        }
    }

    fn deliver_as(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        conn: Conn,
        place: u64,
        brood: &mut Brood,
    ) {
        let pending = &hypothesis.pending[index];
        let message = (conn, pending.delivery.item.clone());
        if hypothesis.suspended.is_some() {
            return self.resume(&hypothesis, index, message, place, brood);
        }
        if pending.delivery.foot.is_reader() {
            return self.deliver_reader(hypothesis, index, None, place, brood);
        }
        let cause = Cause::Delivery { sent: pending.delivery.sent, copy: pending.taken };
        let inbox = [message];
        let mut path = Path::new();
        let mut parent = hypothesis;
        loop {
            let delivery = &parent.pending[index].delivery;
            let start = Start {
                foot: Some(&delivery.foot),
                may_break: self.allowance.may_break(delivery.place),
                ..Start::of(cause, &inbox)
            };
            let ran = self.run(&parent, start, &mut path);
            if !has_more(&path, 0) || self.tally.mistake.borrow().is_some() {
                brood.extend(self.after_message(parent, index, ran, &inbox, &path, cause, 0, place));
                return;
            }
            let parent_again = Rc::clone(&parent);
            brood.extend(self.after_message(parent, index, ran, &inbox, &path, cause, 0, place));
            parent = parent_again;
            next_path(&mut path, 0);
        }
    }

    /// A suspended turn goes on with one more message.
    fn resume(
        &self,
        hypothesis: &Rc<Hypothesis>,
        index: usize,
        message: (Conn, Incoming<Message>),
        place: u64,
        brood: &mut Brood,
    ) {
        let Some(suspended) = &hypothesis.suspended else { return };
        let mut inbox = suspended.inbox.clone();
        inbox.push(message);
        let mut path = suspended.path.clone();
        let foot = Footprint { whole: true, ..Footprint::default() };
        loop {
            let start = Start {
                acted: suspended.acted,
                fixed: suspended.path.len(),
                foot: Some(&foot),
                ..Start::of(suspended.cause, &inbox)
            };
            let ran = self.run(hypothesis, start, &mut path);
            let (acted, cause) = (suspended.acted, suspended.cause);
            brood.extend(self.after_message(
                Rc::clone(hypothesis),
                index,
                ran,
                &inbox,
                &path,
                cause,
                acted,
                place,
            ));
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, suspended.path.len()) {
                return;
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one run's whole result, used by its two callers only")]
    fn after_message(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        ran: Ran,
        inbox: &[(Conn, Incoming<Message>)],
        path: &Path,
        cause: Cause,
        acted: usize,
        place: u64,
    ) -> Option<Rc<Hypothesis>> {
        let blocked = match &ran.end {
            Ok(()) => false,
            Err(Stop::Blocked) => true,
            Err(Stop::Mistake(mistake)) => {
                self.blunder(mistake.as_ref().clone());
                return None;
            }
            Err(_) => false,
        };
        if ran.received < inbox.len() {
            return None;
        }
        self.tally.took.set(true);
        if matches!(ran.end, Err(Stop::Dead | Stop::Idle | Stop::Refused | Stop::Looked)) {
            return None;
        }
        if !self.allowance.may_deviate(&ran, hypothesis.pending[index].delivery.place) {
            return None;
        }
        let sent = hypothesis.pending[index].delivery.sent;
        if hypothesis.must_write == Some(sent) && ran.changes_nothing(&hypothesis) {
            return None;
        }
        if !ran.writes.is_empty() {
            hypothesis.pending[index].delivery.loud.set(true);
        }
        let mut shared = hypothesis;
        let next = Rc::make_mut(&mut shared);
        let heard = if next.pending[index].stale { next.out.len() } else { usize::MAX };
        next.must_write = next.must_write.filter(|must| *must != sent);
        // What comes behind it on its lane comes after this turn.
        let turn = next.turns + 1;
        self.take_back_then(next, index, turn);
        let started = if let Some(suspended) = &next.suspended {
            suspended.started
        } else {
            next.turns += 1;
            next.turns
        };
        if blocked {
            let mut numbers =
                next.suspended.as_ref().map_or_else(Vec::new, |suspended| suspended.sent.clone());
            numbers.push(sent);
            next.suspended = Some(Rc::new(Suspended {
                cause,
                inbox: inbox.to_vec(),
                sent: numbers,
                path: path.clone(),
                acted: acted + ran.acts.len(),
                started,
            }));
            let ran = Ran { writes: SmallVec::new(), ..ran };
            self.apply(next, ran, started, false, place)?;
            next.out.truncate(heard);
            return Some(shared);
        }
        next.suspended = None;
        self.apply(next, ran, started, true, place)?;
        if heard != usize::MAX {
            // It was handled before the rest: what was sent since cannot have seen what was there before it.
            let turns = next.turns;
            next.pending
                .iter_mut()
                .filter(|pending| !pending.stale)
                .for_each(|pending| pending.since = turns);
        }
        next.out.truncate(heard);
        Some(shared)
    }

    /// Takes a packet out of the network, with those before it that it overtook.
    fn take(&self, next: &mut Hypothesis, index: usize) {
        let stale = next.pending[index].stale;
        self.take_one(next, index);
        // What came to rest before this was sent did not come after it.
        if !stale && self.transport.loses_input {
            next.pending.retain(|pending| !pending.stale);
        }
    }

    fn take_one(&self, next: &mut Hypothesis, index: usize) {
        let lane = next.pending[index].delivery.lane;
        let loose = next.pending[index].loose;
        next.pending[index].taken += 1;
        if next.pending[index].taken >= self.transport.input_copies {
            next.pending.remove(index);
        }
        if lane & UNORDERED == 0 && (loose || self.transport.loses_input || self.transport.input_copies > 1) {
            let mut position = 0;
            next.pending.retain(|pending| {
                let overtaken = position < index && pending.delivery.lane == lane;
                position += 1;
                !overtaken
            });
        }
    }

    /// A turn that only reads takes place: now, or (`version`) when a cell held an earlier content.
    ///
    /// Nothing changes by it but what is on its way.
    pub(crate) fn deliver_reader(
        &self,
        hypothesis: Rc<Hypothesis>,
        index: usize,
        version: Option<usize>,
        place: u64,
        brood: &mut Brood,
    ) {
        let pending = &hypothesis.pending[index];
        let foot = &pending.delivery.foot;
        let cell = foot.cells.first().map(|(cell, _)| *cell);
        let shown = version.and_then(|version| {
            let cell = hypothesis.cell(cell?)?;
            Some((cell.number, cell.past()[version].0.as_ref()))
        });
        let from =
            if foot.cells.len() > 1 { hypothesis.turns } else { version_start(&hypothesis, cell, version) };
        let inbox = [(Conn::client(pending.delivery.wire), pending.delivery.item.clone())];
        let mut path = Path::new();
        loop {
            let start = Start {
                foot: Some(foot),
                version: shown,
                may_break: self.allowance.may_break(pending.delivery.place),
                ..Start::of(Cause::Delivery { sent: pending.delivery.sent, copy: pending.taken }, &inbox)
            };
            let ran = self.run(&hypothesis, start, &mut path);
            self.tally.took.set(true);
            match &ran.end {
                Ok(()) if !self.allowance.may_deviate(&ran, pending.delivery.place) => {}
                Ok(()) => {
                    let mut next = Hypothesis::clone(&hypothesis);
                    let heard = if next.pending[index].stale { next.out.len() } else { usize::MAX };
                    self.take_back_then(&mut next, index, from);
                    if self.apply(&mut next, ran, 0, true, place).is_some() {
                        next.out.truncate(heard);
                        brood.push(Rc::new(next));
                    }
                }
                Err(Stop::Mistake(mistake)) => self.blunder(mistake.as_ref().clone()),
                Err(_) => {}
            }
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, 0) {
                return;
            }
        }
    }

    /// Takes a packet that was handled in the past: no earlier than its cell had the version from turn `from` on. The
    /// next packet on its lane was handled no earlier, unless this one was evaluated in parallel with it. Then the floor
    /// stays where the last packet that was not parallel left it.
    fn take_back_then(&self, next: &mut Hypothesis, index: usize, from: u32) {
        let pending = &next.pending[index];
        let (lane, since, parallel) = (pending.delivery.lane, pending.since, pending.delivery.parallel);
        self.take(next, index);
        if !parallel && next.pending.iter().any(|pending| pending.delivery.lane == lane) {
            let floor = since.max(from).max(next.floor(lane));
            next.floors.retain(|(number, _)| *number != lane);
            next.floors.push((lane, floor));
        }
    }

    /// Whether a pending packet may have been handled at a version of its cell without changing anything or teaching
    /// anything, with just what was seen as its only answer. If so it is taken, in place.
    pub(crate) fn passes_unnoticed(
        &self,
        hypothesis: &mut Hypothesis,
        index: usize,
        version: Option<usize>,
        seen: &Message,
    ) -> Fit {
        let pending = &hypothesis.pending[index];
        if !pending.watched && pending.delivery.foot.cells.len() > 1 && pending.delivery.followed.get() {
            // What is behind it came after it, but nobody knows since when all its cells were as they are.
            return Fit::Perhaps;
        }
        let fit = self.fit(hypothesis, &pending.delivery, pending.taken, version, seen);
        if fit == Fit::Now {
            let cell = pending.delivery.foot.cells.first().map(|(cell, _)| *cell);
            // What is watched fits what was written just now, or it would have fitted before.
            let from =
                if pending.watched { hypothesis.turns } else { version_start(hypothesis, cell, version) };
            hypothesis.must_write = None;
            // Somebody has looked.
            hypothesis.unseen_until = 0;
            self.take_back_then(hypothesis, index, from);
        }
        fit
    }

    /// Takes a packet that came just before its cell was overwritten, so that nobody can tell, if it gives this answer.
    pub(crate) fn passes_covered(&self, hypothesis: &mut Hypothesis, index: usize, seen: &Message) -> bool {
        let pending = &hypothesis.pending[index];
        let delivery = &pending.delivery;
        if delivery.followed.get() {
            // What is behind it came after it, but nobody knows since when it was covered.
            return false;
        }
        let (conn, copy) = (Conn::client(delivery.wire), pending.taken);
        let inbox = [(conn, delivery.item.clone())];
        let mut path = Path::new();
        let start = Start {
            foot: Some(&delivery.foot),
            ..Start::of(Cause::Delivery { sent: delivery.sent, copy }, &inbox)
        };
        let mut ran = self.run(hypothesis, start, &mut path);
        if let Err(Stop::Mistake(mistake)) = &ran.end {
            self.blunder(mistake.as_ref().clone());
        }
        let ([Act::Send(to, message)], Ok(())) = (ran.acts.as_slice(), &ran.end) else { return false };
        if *to != conn || !path.is_empty() || message.unify(seen, &mut ran.facts).is_err() {
            return false;
        }
        if ran.facts.fingerprint() != hypothesis.facts.fingerprint() {
            // What is learnt about what was overwritten is of no use, unless it says something about the rest.
            let mut then = hypothesis.clone();
            then.facts = ran.facts;
            then.forget();
            let mut before = hypothesis.clone();
            before.forget();
            if then.facts.fingerprint() != before.facts.fingerprint() {
                return false;
            }
        }
        self.take(hypothesis, index);
        true
    }

    /// A read whose answer is known already takes place now: nothing but its answer is on its way then.
    pub(crate) fn answer_now(&self, hypothesis: &mut Hypothesis, wire: u32) {
        let conn = Conn::client(wire);
        // In a lane of its own, so that it is in nobody's way.
        let lane = UNORDERED | u64::from(wire);
        hypothesis.out.push(Outgoing { lane, conn, parcel: Parcel::Verified, taken: 0, due: 0 });
    }

    /// What was seen first on a packet's connection after it was sent, and where, if that is known.
    pub(crate) fn answer<'d>(&self, delivery: &'d Delivery) -> Option<&'d (u64, Seen)> {
        if let Some(answer) = delivery.answer.get() {
            return answer.as_ref();
        }
        let seen = self.sightings.nth_since(Conn::client(delivery.wire), delivery.place, 0);
        if seen.is_none() && !self.foresees && !self.has_ended_at_all(delivery) {
            return None;
        }
        delivery.answer.get_or_init(|| seen.map(|(place, seen)| (*place, seen.clone()))).as_ref()
    }

    /// Whether the connection of a packet has ended, so that it will never be answered.
    pub(crate) fn has_ended_at_all(&self, delivery: &Delivery) -> bool {
        let conn =
            if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
        self.ended.contains_key(&conn)
    }

    /// Whether the answer to a packet is known.
    pub(crate) fn is_answered(&self, delivery: &Delivery) -> bool {
        self.answer(delivery).is_some()
    }

    /// An internal turn, in every way it can go.
    pub(crate) fn internal(&self, hypothesis: &Hypothesis, local: bool, place: u64, brood: &mut Brood) {
        let pickable: SmallVec<[u32; 8]> = hypothesis.cells.iter().map(|cell| cell.number).collect();
        if hypothesis.suspended.is_some() {
            return;
        }
        let mut path = Path::new();
        loop {
            let start = Start {
                pickable: Some(&pickable),
                ..Start::of(Cause::Internal { cell: u32::MAX, n: hypothesis.internals }, &[])
            };
            let ran = self.run(hypothesis, start, &mut path);
            match &ran.end {
                Ok(()) => {
                    let action = ran.action;
                    let strays = ran.opened.iter().any(|(cell, _)| hypothesis.cell(*cell).is_none());
                    if local && (ran.whole || strays || !ran.acts.is_empty()) {
                        self.tally.escaped.set(true);
                    } else if !hypothesis.fired.iter().any(|(fired, _)| *fired == action) {
                        let mut next = hypothesis.clone();
                        next.turns += 1;
                        next.internals += 1;
                        let started = next.turns;
                        // What may touch anything may happen again after any message.
                        if ran.opened.is_empty() || ran.whole {
                            next.fired.push((action, u32::MAX));
                        }
                        next.fired.extend(ran.opened.iter().map(|(cell, _)| (action, *cell)));
                        let heard = next.out.len();
                        if self.apply(&mut next, ran, started, false, place).is_some() {
                            if next.pending.iter().any(|pending| pending.stale) {
                                // Before the rest, and nothing of it is under way any more; or after it, and then what
                                // was under way before it is gone.
                                let mut before = next.clone();
                                before.out.truncate(heard);
                                brood.push(Rc::new(before));
                                next.pending.retain(|pending| !pending.stale);
                            }
                            brood.push(Rc::new(next));
                        }
                    }
                }
                Err(Stop::Mistake(mistake)) => self.blunder(mistake.as_ref().clone()),
                Err(_) => {}
            }
            if self.tally.mistake.borrow().is_some() || !next_path(&mut path, 0) {
                return;
            }
        }
    }

    /// Puts what a run did into the hypothesis. `None` if that cannot be.
    fn apply(
        &self,
        next: &mut Hypothesis,
        ran: Ran,
        started: u32,
        by_message: bool,
        place: u64,
    ) -> Option<()> {
        next.deviations += ran.deviations.iter().filter(|rule| self.allowance.counts(rule)).count() as u32;
        if next.deviations > self.allowance.most {
            return None;
        }
        next.facts = ran.facts;
        next.unseen_until = 0;
        if by_message && !next.fired.is_empty() {
            if ran.whole {
                next.fired.clear();
            } else {
                let touched: SmallVec<[_; 4]> = next
                    .fired
                    .iter()
                    .filter(|(_, cell)| *cell == u32::MAX || ran.opened.iter().any(|(open, _)| open == cell))
                    .map(|(action, _)| *action)
                    .collect();
                next.fired.retain(|(action, _)| !touched.contains(action));
            }
        }
        if self.has_internal {
            // Internal turns pick among the cells that were ever opened.
            for (cell, _) in &ran.opened {
                self.ensure(next, *cell);
            }
        }
        if !ran.writes.is_empty() && ran.opened.iter().any(|(_, access)| *access == Access::Write) {
            next.dead_until = 0;
        }
        let mut overwritten = false;
        for (cell, value) in ran.writes {
            overwritten |= self.write(next, cell, value, started);
        }
        for act in ran.acts {
            match act {
                Act::Connect(conn) => next.links.push((conn, None)),
                Act::Close(conn) => self.close(next, conn, place)?,
                Act::Send(conn, message) => self.emit(next, conn, message, &ran.kept, place)?,
            }
        }
        if overwritten && !next.facts.is_empty() {
            // Or states that differ only in what nobody can ever see again would not be found equal.
            next.forget();
        }
        Some(())
    }

    /// Writes a cell; says whether that may have been the last mention of some secret.
    fn write(&self, next: &mut Hypothesis, cell: u32, value: Option<Val>, started: u32) -> bool {
        let index = self.ensure(next, cell);
        let print = |value: &Option<Val>| value.as_ref().map(|value| value.fingerprint);
        if print(&next.cells[index].now) == print(&value) {
            return false;
        }
        let old = std::mem::replace(&mut next.cells[index].now, value);
        next.stirred = Stir::Written;
        if self.late.get()
            && next.pending.iter().any(|pending| touches(pending, cell) && pending.since < started)
        {
            Rc::make_mut(next.cells[index].past.get_or_insert_default()).push((old, started));
            return false;
        }
        if next.cells[index].now.is_none()
            && next.cells[index].past.is_none()
            && next.cells.len() > 8
            && !self.has_internal
            && !self.late.get()
            && self.book.borrow().cells[cell as usize].initial.is_none()
        {
            // Empty again, as it was before anybody knew of it.
            next.cells.remove(index);
        }
        let mut secret = false;
        if let Some(old) = old {
            old.data.secrets(&mut |_| secret = true);
        }
        secret
    }

    /// Where the hypothesis keeps this cell; with its initial content if it did not have it yet.
    pub(crate) fn ensure(&self, next: &mut Hypothesis, cell: u32) -> usize {
        match next.cells.binary_search_by_key(&cell, |state| state.number) {
            Ok(index) => index,
            Err(index) => {
                let book = self.book.borrow();
                let info = &book.cells[cell as usize];
                for (var, sort) in &info.secrets {
                    next.facts.declare(*var, *sort);
                }
                next.cells.insert(index, CellState { number: cell, now: info.initial.clone(), past: None });
                index
            }
        }
    }

    fn close(&self, next: &mut Hypothesis, conn: Conn, place: u64) -> Option<()> {
        if self.is_lost(next, conn, place) || next.is_closed(conn) {
            return Some(());
        }
        let wire =
            conn.wire().or_else(|| next.links.iter().find(|link| link.0 == conn).and_then(|link| link.1));
        next.pending.retain(|pending| Some(pending.delivery.wire) != wire);
        if let Some((_, seen)) = self.foreseen(next, conn, place)
            && matches!(seen, Seen::Message(_))
        {
            return None;
        }
        let lane = self.lane_out(conn);
        next.out.push(Outgoing { lane, conn, parcel: Parcel::Close, taken: 0, due: 0 });
        Some(())
    }

    fn emit(
        &self,
        next: &mut Hypothesis,
        conn: Conn,
        message: Box<dyn Letter>,
        by: &[&'static Rule],
        place: u64,
    ) -> Option<()> {
        if self.is_lost(next, conn, place) {
            // Where connections do not break, only the model itself can have closed it.
            if !self.network.breaks() && self.ended.get(&conn).is_some_and(|end| end.by_server) {
                self.blunder(Mistake::SendOnClosed { conn: conn.to_string() });
                return None;
            }
            return Some(());
        }
        if next.is_closed(conn) {
            self.blunder(Mistake::SendOnClosed { conn: conn.to_string() });
            return None;
        }
        match self.foreseen(next, conn, place) {
            Some((_, Seen::Message(seen))) => {
                let fits = message.unify(&**seen, &mut next.facts);
                self.spare.set(Some(message));
                fits.ok()?;
                let lane = self.lane_out(conn);
                next.out.push(Outgoing { lane, conn, parcel: Parcel::Verified, taken: 0, due: 0 });
                return Some(());
            }
            Some((_, Seen::Closed)) if !self.network.breaks() => return None,
            _ => {}
        }
        let parcel = Parcel::Message(Packed::new(message, by.into()));
        let lane = self.lane_out(conn);
        next.out.push(Outgoing { lane, conn, parcel, taken: 0, due: 0 });
        Some(())
    }

    /// Whether nobody will see what is sent there any more.
    fn is_lost(&self, next: &Hypothesis, conn: Conn, place: u64) -> bool {
        if !conn.is_opened_by_server() {
            return self.has_ended(conn, place);
        }
        match next.links.iter().find(|(known, _)| *known == conn) {
            None => true,
            Some((_, None)) => false,
            Some((_, Some(wire))) => self.has_ended(Conn::accepted(*wire), place),
        }
    }

    /// What was later seen in the place of the next packet to this connection, if that is known already.
    fn foreseen(&self, next: &Hypothesis, conn: Conn, place: u64) -> Option<&(u64, Seen)> {
        // Without a network a message must not depend on what is only seen later: the tester may be out of step.
        if !self.transport.is_reliable || self.transport.is_direct || conn.is_opened_by_server() {
            return None;
        }
        let ahead = next.out.iter().filter(|item| item.conn == conn).count();
        self.sightings.nth_since(conn, place, ahead)
    }
}

/// The turn since which a cell had this version.
fn version_start(hypothesis: &Hypothesis, cell: Option<u32>, version: Option<usize>) -> u32 {
    let past = cell.and_then(|cell| hypothesis.cell(cell)).map_or(&[][..], CellState::past);
    // Versions are kept from before the packet was sent on, so what is missing here began before that.
    version.map_or(past.len(), |version| version).checked_sub(1).map_or(0, |before| past[before].1)
}

impl Hypothesis {
    /// Whether the model closed this connection and the tester has not seen it yet.
    pub(crate) fn is_closed(&self, conn: Conn) -> bool {
        self.out.iter().any(|item| item.conn == conn && matches!(item.parcel, Parcel::Close))
    }
}
