//! Composition of server and network: the possible next steps inside one hypothesis (Fig 13, with the networks of Fig
//! 5).
//!
//! In a step the network selects a delivery and the server runs a turn of the model. Neither acts by itself: the
//! search requests the steps it needs, so the network is stepped as lazily as the paper's. A step makes new
//! hypotheses from one and never changes the one it starts from.

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
    /// `true` if reads may be placed at earlier versions: not once a turn may touch anything.
    pub(crate) late: Cell<bool>,
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
    /// Returns `true` if a turn for the message sent at this position may break counted rules.
    fn may_break(&self, place: u64) -> bool {
        self.only_at.is_none_or(|only| only == place)
    }

    /// Returns `true` if deviations from this rule are counted.
    fn counts(&self, rule: &Rule) -> bool {
        !self.free.contains(&rule.name)
    }

    /// Returns `true` if a run for the message sent at this position was allowed to break the rules it broke.
    fn may_deviate(&self, ran: &Ran, place: u64) -> bool {
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
    /// `true` if an internal turn touched more than the part in which it was tried.
    pub(crate) escaped: Cell<bool>,
    /// `true` if the server took the latest delivery, whatever the result.
    pub(crate) took: Cell<bool>,
}

impl Tally {
    /// Returns `true` if a turn did something that ends the search: nothing that follows from it is valid.
    pub(crate) fn stops_search(&self) -> bool {
        self.mistake.borrow().is_some() || self.escaped.get()
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Position in the trace.
    pub(crate) place: u64,
    /// `true` if the tester saw the server close it, `false` if the tester hung up.
    pub(crate) by_server: bool,
}

/// Hypotheses that result from a step.
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

    /// Returns the lane of a message to the server: one of its own where order is not kept.
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

    /// Puts a message into the network.
    pub(crate) fn admit(&self, hypothesis: &mut Hypothesis, delivery: &Rc<Delivery>) {
        let conn = if delivery.accepted {
            hypothesis.bound(delivery.wire)
        } else {
            Some(Conn::client(delivery.wire))
        };
        // A message that arrives after the server closed the connection is lost.
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

    /// Returns `true` if the network may deliver this pending message next.
    pub(crate) fn is_deliverable(&self, hypothesis: &Hypothesis, index: usize) -> bool {
        let lane = hypothesis.pending[index].delivery.lane;
        hypothesis.pending[..index].iter().all(|earlier| {
            earlier.delivery.lane != lane || self.transport.loses_input || earlier.loose || earlier.taken > 0
        })
    }

    /// Delivers a pending message, which the server handles now. Adds every possible result to `brood`.
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

    /// Continues a suspended turn with one more message. The choices that the turn made before it was suspended stay as
    /// they are; the loop tries all those after it.
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
        // No dry run has found the footprint of the rest: it may touch any cell.
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
        // Deliveries behind it on its lane are taken after this turn.
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
            // It was handled before the rest: messages sent since then cannot have seen the state before it.
            let turns = next.turns;
            next.pending
                .iter_mut()
                .filter(|pending| !pending.stale)
                .for_each(|pending| pending.since = turns);
        }
        next.out.truncate(heard);
        Some(shared)
    }

    /// Removes a delivery from the network, with those that it overtook.
    fn take(&self, next: &mut Hypothesis, index: usize) {
        let stale = next.pending[index].stale;
        self.take_one(next, index);
        // A stale delivery, which was in flight at the last rest, was not taken after one that was sent since.
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

    /// Handles a delivery that only reads: now, or (`version`) when its cell held an earlier content.
    ///
    /// No cell is written.
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

    /// Takes a delivery that was handled in the past: no earlier than turn `from`, when the version that it read
    /// began. The next delivery on its lane was handled no earlier, unless this one was evaluated in parallel with
    /// it. Then the floor stays where the last delivery that was not parallel left it.
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

    /// Checks if a pending delivery may have been handled at a version of its cell without a write and without a new
    /// fact, with exactly `seen` as its only response. If so ([`Fit::Now`]), takes it, in place.
    pub(crate) fn passes_unnoticed(
        &self,
        hypothesis: &mut Hypothesis,
        index: usize,
        version: Option<usize>,
        seen: &Message,
    ) -> Fit {
        let pending = &hypothesis.pending[index];
        if !pending.watched && pending.delivery.foot.cells.len() > 1 && pending.delivery.followed.get() {
            // Deliveries behind it were taken after it, but since when all its cells have been as they are is
            // unknown.
            return Fit::Perhaps;
        }
        let fit = self.fit(hypothesis, &pending.delivery, pending.taken, version, seen);
        if fit == Fit::Now {
            let cell = pending.delivery.foot.cells.first().map(|(cell, _)| *cell);
            // A watched delivery fits what was written just now, or it would have fitted before.
            let from =
                if pending.watched { hypothesis.turns } else { version_start(hypothesis, cell, version) };
            hypothesis.must_write = None;
            // The cell has been read.
            hypothesis.unseen_until = 0;
            self.take_back_then(hypothesis, index, from);
        }
        fit
    }

    /// Takes a delivery that came just before its cell was overwritten, so that nothing shows its write, if it gives
    /// the response `seen`. Returns `true` if it was taken.
    pub(crate) fn passes_covered(&self, hypothesis: &mut Hypothesis, index: usize, seen: &Message) -> bool {
        let pending = &hypothesis.pending[index];
        let delivery = &pending.delivery;
        if delivery.followed.get() {
            // Deliveries behind it were taken after it, but since when it has been covered is unknown.
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
            // Facts about the overwritten content are of no use, unless they constrain the rest.
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

    /// Sends the response of a read that is known to match already.
    pub(crate) fn answer_now(&self, hypothesis: &mut Hypothesis, wire: u32) {
        let conn = Conn::client(wire);
        // It has a lane of its own, so that it delays no other message.
        let lane = UNORDERED | u64::from(wire);
        hypothesis.out.push(Outgoing { lane, conn, parcel: Parcel::Verified, taken: 0, due: 0 });
    }

    /// Returns the first observation on the connection of a delivery after it was sent, with its position, if known.
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

    /// Returns `true` if the connection of a delivery has ended: a response that has not come by then never will.
    pub(crate) fn has_ended_at_all(&self, delivery: &Delivery) -> bool {
        let conn =
            if delivery.accepted { Conn::accepted(delivery.wire) } else { Conn::client(delivery.wire) };
        self.ended.contains_key(&conn)
    }

    /// Returns `true` if the response to a delivery is known.
    pub(crate) fn is_answered(&self, delivery: &Delivery) -> bool {
        self.answer(delivery).is_some()
    }

    /// Runs an internal turn. Adds every possible result to `brood`.
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
                        // An action that may touch anything may happen again after any message.
                        if ran.opened.is_empty() || ran.whole {
                            next.fired.push((action, u32::MAX));
                        }
                        next.fired.extend(ran.opened.iter().map(|(cell, _)| (action, *cell)));
                        let heard = next.out.len();
                        if self.apply(&mut next, ran, started, false, place).is_some() {
                            if next.pending.iter().any(|pending| pending.stale) {
                                // The internal turn came before the rest, and none of its messages is in flight any
                                // more; or it came after, and then the deliveries that were in flight before the rest
                                // are gone.
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

    /// Applies the effects of a run to the hypothesis. Returns `None` if they are impossible.
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
            // Otherwise states that differ only in what nothing can ever see again would not be found equal.
            next.forget();
        }
        Some(())
    }

    /// Writes a cell. Returns `true` if that may have removed the last mention of some secret.
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
            // The cell is empty again, as it was before it was first opened.
            next.cells.remove(index);
        }
        let mut secret = false;
        if let Some(old) = old {
            old.data.secrets(&mut |_| secret = true);
        }
        secret
    }

    /// Returns the index of this cell in the hypothesis; adds the cell with its initial content if it is missing.
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

    /// Returns `true` if nothing that is sent on this connection will be observed any more.
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

    /// Returns the later observation that the next message on this connection has to match, if known already.
    fn foreseen(&self, next: &Hypothesis, conn: Conn, place: u64) -> Option<&(u64, Seen)> {
        // Without a network a message must not depend on later observations: the tester may be out of step.
        if !self.transport.is_reliable || self.transport.is_direct || conn.is_opened_by_server() {
            return None;
        }
        let ahead = next.out.iter().filter(|item| item.conn == conn).count();
        self.sightings.nth_since(conn, place, ahead)
    }
}

/// Returns the turn since which a cell had this version.
fn version_start(hypothesis: &Hypothesis, cell: Option<u32>, version: Option<usize>) -> u32 {
    let past = cell.and_then(|cell| hypothesis.cell(cell)).map_or(&[][..], CellState::past);
    // Versions are kept from before the delivery was sent, so one without a predecessor here began before that.
    version.map_or(past.len(), |version| version).checked_sub(1).map_or(0, |before| past[before].1)
}

impl Hypothesis {
    /// Returns `true` if the model closed this connection and the tester has not observed it yet.
    pub(crate) fn is_closed(&self, conn: Conn) -> bool {
        self.out.iter().any(|item| item.conn == conn && matches!(item.parcel, Parcel::Close))
    }
}
