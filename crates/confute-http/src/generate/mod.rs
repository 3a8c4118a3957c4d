//! Traffic generators: the choice of the next request of a case, and of the time to send it.
//!
//! Most requests of a case are for a few resources, again and again, so that their state is known and a wrong response
//! shows. In between come bursts over many connections, each followed by reads of every resource that was written, and
//! requests that test the handling of messages on the wire.
//!
//! A resource with two writes whose outcome the server left open (202, 5xx) is given up, and another takes its place:
//! each of these writes may still be performed, so fewer and fewer responses would be wrong. Where several requests
//! compete for the resource, one such write is enough: its effect is examined where requests come one after the other,
//! which is cheap to judge.

mod conditional;
mod flood;
mod known;
mod mixture;
mod moves;
mod odd;
mod opening;
mod passage;
mod reads;
mod ripe;
mod storm;
mod watch;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use confute_drive::{Generator, Peer, Protocol as _, Step, Until, View};

use crate::ask::{Ask, AskRequest, AskTags};
use crate::branch;
use crate::mark;
use crate::message::{Message, Method, Odd};
use crate::protocol::Http;
use conditional::{ReadMove, WriteMove, create, race, read, write};
use confute_http1::text;
use flood::Half;
use known::{Known, left_open, successor};
use moves::{
    BURST, BUSY, CONTENTS, ContentMove, CrowdMove, EXPECTING, FIRST_MOVES, FLOODING, FirstMove, GENTLE,
    LONG_CONTENT, MIXED, Move, ON_THE_WIRE, OTHER_METHODS, RACE, SequenceMove, USUAL_CONTENT, Weighted,
    choose, choose_weighted, draw,
};
use opening::Opening;
use watch::Watches;

pub use mixture::Mixture;
pub use passage::Passage;
pub use reads::Reads;

/// Source of random numbers below a bound.
pub(crate) type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

/// Cases at the beginning of a campaign with one request at a time.
const CALM_CASES: u64 = 2;
/// Cases at the beginning of a campaign that are short: most violations are found early, and a counterexample from a
/// short case has little before it.
const SHORT_CASES: u64 = 16;
/// Requests among which the most informative one is chosen.
const CANDIDATES: u32 = 6;
/// Factor of the steps of a case that keeps all connections busy.
const LONG_FACTOR: usize = 4;

/// Most requests of a burst that are sent at the same moment.
const MOST_GATHERED: u32 = 5;

/// Most open writes of a resource that is still used where requests come one after the other.
const MOST_OPEN: usize = 1;
/// Most open writes of a resource that is still used where several requests compete for it: each of them may have been
/// performed before the open write or after it.
const MOST_OPEN_CROWDED: usize = 0;

/// Open alternatives of the search above which no request is sent until nothing is outstanding.
const MOST_ALTERNATIVES: usize = 200;

/// Traffic of one case for an origin server.
#[derive(Clone, Debug)]
pub struct Traffic {
    http: Http,
    /// Number of steps that are left.
    steps_left: usize,
    queue: VecDeque<Step<Ask>>,
    /// Number of contents made so far.
    bodies: u64,
    /// Number of resources in use.
    names: u64,
    /// Number of connections above those for traffic that were used.
    spare: u32,
    /// `true` until the first request.
    is_new: bool,
    /// Requests at the beginning, if it is a case with an [opening](Traffic::opening).
    opening: Opening,
    /// Moves that come before any comes again.
    deck: Vec<SequenceMove>,
    /// Malformed requests that come before any comes again.
    odds: Vec<Odd>,
    /// Number of times that content may still be held back, which takes long.
    expects_left: u32,
    /// Milliseconds for which content is held back.
    hold_millis: u32,
    manner: Manner,
    /// Branches of the model that were rarely reached are preferred.
    is_curious: bool,
    /// In a flood, the half of the connections that is next.
    half: Half,
    /// Number of rounds of a storm.
    rounds: u64,
    /// Resources that were written by several requests at once and not read since.
    unverified: Vec<Arc<str>>,
    ripening: Ripening,
    watches: Watches,
    /// Number of resources that were given up under a name.
    given_up: BTreeMap<Arc<str>, u32>,
}

/// The manner of the traffic, chosen when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Manner {
    /// Mostly one request after the other, with bursts in between.
    #[default]
    Mixed,
    /// Mostly bursts.
    Busy,
    /// Never more than one request at a time.
    Gentle,
    /// All connections are kept busy all the time.
    Flooding,
    /// Each resource has one writer, and readers that never rest.
    Storming,
}

impl Manner {
    /// Returns `true` if several requests may be under way at the same time.
    fn is_crowded(self) -> bool {
        self != Manner::Gentle
    }
}

/// Resources that are not written for a while, so that their tags become strong.
#[derive(Clone, Debug, Default)]
struct Ripening {
    /// `true` if a row of resources is still to be put and read after a pause, which is done once.
    is_due: bool,
    /// `true` if that is left out where tags are weak at first.
    is_hasty: bool,
    /// Resources whose tags have had time to become strong.
    row: Vec<Arc<str>>,
    /// Resources of the row that were written again.
    changed: Vec<Arc<str>>,
    /// The pause, in milliseconds.
    pause: u64,
    /// Conditional writes to the row that come before any comes again.
    writes: Vec<WriteMove>,
}

impl Traffic {
    /// Creates mixed traffic of this many steps.
    pub fn new(http: Http, steps: usize) -> Self {
        Self {
            http,
            steps_left: steps,
            queue: VecDeque::new(),
            bodies: 0,
            names: 2,
            spare: 0,
            is_new: true,
            opening: Opening::default(),
            deck: vec![],
            odds: vec![],
            expects_left: 1,
            hold_millis: 500,
            manner: Manner::default(),
            is_curious: false,
            half: Half::Upper,
            rounds: 0,
            unverified: vec![],
            ripening: Ripening::default(),
            watches: Watches::default(),
            given_up: BTreeMap::new(),
        }
    }

    /// Creates the traffic of the case with this number in a campaign. One request at a time, bursts, tags that had
    /// time to become strong, and as many requests as possible at once take turns; later most cases are of the last
    /// kind. To wait in vain for 100 takes half a second, so few cases do.
    pub fn of_case(http: Http, steps: usize, case: u64) -> Self {
        // The first cases are short, because races are not looked for before them.
        let traffic = Self::new(http, if case < CALM_CASES { steps * 3 / 5 } else { steps });
        let traffic = match case % 8 {
            // A rule that is broken all the time is best found alone: a burst breaks it in many ways at once.
            _ if case < CALM_CASES => traffic.gentle().opening(),
            5 => Self { steps_left: LONG_FACTOR * steps, ..traffic.storming() },
            1 | 3 | 7 if case >= SHORT_CASES => {
                Self { steps_left: LONG_FACTOR * steps, ..traffic.flooding() }
            }
            4 if case >= SHORT_CASES => traffic.busy(),
            4 if case < SHORT_CASES / 2 => traffic.gentle().resting(),
            0 | 4 => traffic.gentle(),
            // It takes a second until tags are strong, so races are looked for first.
            2 if case < SHORT_CASES / 2 => Self { steps_left: LONG_FACTOR * steps, ..traffic.storming() },
            3 if case < SHORT_CASES / 2 => traffic.busy(),
            2 | 6 => traffic.ripening(),
            1 => traffic.busy(),
            _ => traffic.flooding(),
        };
        let traffic = Self { is_curious: case >= SHORT_CASES, ..traffic };
        if case % 16 == 4 { traffic } else { traffic.impatient() }
    }

    /// Makes it mostly bursts over all connections.
    #[must_use]
    pub fn busy(mut self) -> Self {
        self.manner = Manner::Busy;
        self
    }

    /// Makes it send one request at a time.
    #[must_use]
    pub fn gentle(mut self) -> Self {
        self.manner = Manner::Gentle;
        self
    }

    /// Makes it keep all connections busy.
    #[must_use]
    pub fn flooding(mut self) -> Self {
        self.manner = Manner::Flooding;
        self
    }

    /// Gives each resource one writer, and readers that never rest.
    #[must_use]
    pub fn storming(mut self) -> Self {
        self.manner = Manner::Storming;
        self
    }

    /// Leaves some resources unwritten for a while, so that weak tags become strong.
    #[must_use]
    pub fn ripening(mut self) -> Self {
        self.ripening.is_due = true;
        self
    }

    /// Leaves some resources unwritten for a moment, unless their tags are weak, which would take longer.
    #[must_use]
    pub fn resting(mut self) -> Self {
        (self.ripening.is_due, self.ripening.is_hasty) = (true, true);
        self
    }

    /// Makes it never hold content back until a 100, which takes long.
    #[must_use]
    pub fn impatient(mut self) -> Self {
        self.expects_left = 0;
        self
    }

    /// Makes it hold content back for this many milliseconds where it waits for a 100.
    #[must_use]
    pub fn holding(mut self, millis: u32) -> Self {
        self.hold_millis = millis;
        self
    }

    /// Returns the resource that has this name now, and gives it up if too many of its writes are open.
    fn current(&mut self, view: &View<'_, Http>, name: &Arc<str>) -> Arc<str> {
        let generation = self.given_up.get(name).copied().unwrap_or_default();
        let current = successor(name, generation);
        if left_open(view.past, &current) <= self.most_open() {
            return current;
        }
        self.given_up.insert(name.clone(), generation + 1);
        successor(name, generation + 1)
    }

    /// Returns the most open writes of a resource that is still used.
    fn most_open(&self) -> usize {
        if self.manner.is_crowded() { MOST_OPEN_CROWDED } else { MOST_OPEN }
    }

    pub(super) fn ask(&mut self, on: u32, ask: AskRequest) {
        self.queue.push_back(Step::Ask { on: Peer::Opened(on), ask: ask.into(), cuts: Vec::new() });
    }

    pub(super) fn barrier(&mut self) {
        self.queue.push_back(Step::Wait(Until::Outstanding(0)));
    }

    /// Sends a request and waits for the response.
    pub(super) fn exchange(&mut self, on: u32, ask: AskRequest) {
        self.ask(on, ask);
        self.barrier();
    }

    /// Returns one of few names, now and then a new one.
    pub(super) fn name(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        if pick(40) == 0 {
            self.names += 1;
        }
        let latest = self.names.saturating_sub(1);
        let number = if pick(6) == 0 { pick(self.names) } else { latest - pick(2).min(latest) };
        format!("r{number}").into()
    }

    /// Returns content that no other request has, mostly of the same length.
    pub(super) fn body(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        self.bodies += 1;
        let mark = mark::mark(self.bodies);
        let times = match choose_weighted(&CONTENTS, pick) {
            ContentMove::EmptyOrBinary if pick(2) == 0 => return "".into(),
            ContentMove::EmptyOrBinary => {
                return text::text(&[&[0xff, 0, 0x80], mark.as_bytes()].concat());
            }
            ContentMove::AnyLength => 1 + pick(9) as usize,
            ContentMove::Long => LONG_CONTENT,
            ContentMove::Usual => USUAL_CONTENT,
        };
        mark.repeat(times).into()
    }

    pub(super) fn get(name: &Arc<str>) -> AskRequest {
        AskRequest { name: name.clone(), ..AskRequest::default() }
    }

    pub(super) fn delete(name: &Arc<str>) -> AskRequest {
        AskRequest { method: Method::Delete, ..Self::get(name) }
    }

    pub(super) fn put(&mut self, name: &Arc<str>, pick: &mut Pick<'_>) -> AskRequest {
        let body = Some(self.body(pick));
        AskRequest {
            method: Method::Put,
            name: name.clone(),
            body,
            chunked: pick(12) == 0,
            ..AskRequest::default()
        }
    }

    /// One request after the other, on one connection. A write is followed by a read of its effect.
    fn sequence(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let on = pick(u64::from(view.connections.clamp(1, 4))) as u32;
        let name = self.name(pick);
        let known = Known::of(view.past, &name);
        if !known.exists {
            let body = self.body(pick);
            let ask = match choose(&FIRST_MOVES, pick) {
                FirstMove::Put => self.put(&name, pick),
                FirstMove::Read => read(&known, &name, ReadMove::any(pick), pick),
                FirstMove::ConditionalPut => create(&known, &name, body, pick),
            };
            self.exchange(on, ask);
            self.exchange(on, Self::get(&name));
            return;
        }
        if self.is_curious && pick(2) == 0 {
            let ask = self.most_informative(view, &known, &name, pick);
            let writes = !ask.method.is_safe();
            self.exchange(on, ask);
            if writes {
                self.exchange(on, Self::get(&name));
            }
            return;
        }
        let Some(chosen) = draw(&mut self.deck, SequenceMove::all(), pick) else { return };
        match chosen {
            SequenceMove::Write(chosen) => {
                // The same content now and then: then a server may respond with success though the condition is false
                // (RFC 9110, 13.1.1).
                let body = known.body.clone().filter(|_| pick(12) == 0);
                let body = body.unwrap_or_else(|| self.body(pick));
                self.exchange(on, write(&known, &name, body, chosen, pick));
            }
            SequenceMove::Read(chosen) => return self.exchange(on, read(&known, &name, chosen, pick)),
            SequenceMove::Remove => {
                self.exchange(on, Self::delete(&name));
                self.exchange(on, Self::get(&name));
                // The condition would be false, but the resource does not exist.
                self.exchange(on, read(&known, &name, ReadMove::StaleMatch, pick));
                let put = self.put(&name, pick);
                self.exchange(on, AskRequest { if_match: Some(AskTags::Any), ..put });
                let put = self.put(&name, pick);
                self.exchange(on, AskRequest { if_none_match: Some(AskTags::Any), ..put });
            }
            SequenceMove::Put => {
                let put = self.put(&name, pick);
                self.exchange(on, put);
            }
        }
        self.exchange(on, Self::get(&name));
    }

    /// Returns, of a few requests, the one whose response decides between most hypotheses; among equals, the one that
    /// can reach the branch that was reached least.
    fn most_informative(
        &mut self,
        view: &View<'_, Http>,
        known: &Known,
        name: &Arc<str>,
        pick: &mut Pick<'_>,
    ) -> AskRequest {
        let mut best = ((Reverse(0), u64::MAX), Self::get(name));
        for _ in 0..CANDIDATES {
            let (writes, reads) = (WriteMove::ALL.len(), ReadMove::ALL.len());
            let at = pick((writes + reads) as u64) as usize;
            let ask = match WriteMove::ALL.get(at) {
                Some(chosen) => write(known, name, self.body(pick), *chosen, pick),
                None => read(known, name, ReadMove::ALL[at - writes], pick),
            };
            let ask = Ask::Send(ask);
            let Some(Message::Request(request)) = self.http.resolve(&ask, "", view.past) else { continue };
            let Some(count) = branch::least(&request, view.reached, self.http.is_read_only()) else {
                continue;
            };
            // Nothing is learned if all hypotheses expect the same response, or if that is unknown. Every write has one
            // more possible response, by which its outcome is left open, and that one decides nothing.
            let open = usize::from(!request.method.is_safe());
            let responses = (view.disagreement)(&ask).saturating_sub(open);
            let rank = (Reverse(responses.max(1)), count);
            if let (true, Ask::Send(ask)) = (rank < best.0, ask) {
                best = (rank, ask);
            }
        }
        best.1
    }

    /// Makes the requests that follow be sent at the same moment, every other time: some races show only without the
    /// delay between one request and the next. Returns `true` if it did.
    pub(super) fn gather(&mut self, pick: &mut Pick<'_>) -> bool {
        let gathers = pick(2) == 0;
        if gathers {
            self.queue.push_back(Step::Gather);
        }
        gathers
    }

    /// Many requests at once. Their resources are read afterwards.
    fn burst(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let names = [self.name(pick), self.name(pick)];
        let least = if self.manner == Manner::Busy { view.connections / 2 } else { 0 };
        let count = least + 2 + pick(u64::from((view.connections - least).saturating_sub(1)).max(1)) as u32;
        // Requests that are sent at the same moment may be performed in any order, and each order is a hypothesis.
        let count = if self.gather(pick) { count.min(MOST_GATHERED) } else { count };
        let holds = (pick(5) == 0).then(|| pick(u64::from(count)) as u32);
        let races = pick(2) != 0;
        for on in 0..count {
            let name = &names[usize::from(!races && pick(3) == 0)];
            let chosen = choose_weighted(if races { &RACE[..] } else { &BURST }, pick);
            let ask = self.crowded(view, name, chosen, pick);
            if holds == Some(on) {
                self.queue.push_back(Step::Hold(Peer::Opened(on)));
            }
            self.ask(on, ask);
        }
        if let Some(on) = holds {
            // A wait for responses does not include those on a held connection.
            self.queue.push_back(Step::Wait(Until::Millis(3)));
            self.queue.push_back(Step::Release(Peer::Opened(on)));
        }
        self.barrier();
        self.unverified.extend(names);
    }

    /// Returns a request that is one of several at the same time.
    fn crowded(
        &mut self,
        view: &View<'_, Http>,
        name: &Arc<str>,
        chosen: CrowdMove,
        pick: &mut Pick<'_>,
    ) -> AskRequest {
        let known = Known::of(view.past, name);
        match chosen {
            CrowdMove::Get => Self::get(name),
            CrowdMove::Read => read(&known, name, ReadMove::any(pick), pick),
            CrowdMove::Delete => Self::delete(name),
            CrowdMove::Write => {
                let body = self.body(pick);
                write(&known, name, body, WriteMove::any(pick), pick)
            }
            CrowdMove::Race => race(&known, name, self.body(pick), pick),
            CrowdMove::Put => self.put(name, pick),
        }
    }

    /// Several requests at once that create the same resource.
    fn create(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name: Arc<str> = format!("r{}", self.names).into();
        self.names += 1;
        self.exchange(0, Self::delete(&name));
        self.gather(pick);
        for on in 0..2 + pick(u64::from(view.connections.clamp(2, 4)) - 1) as u32 {
            let body = self.body(pick);
            let ask = race(&Known::default(), &name, body, pick);
            self.ask(on, ask);
        }
        self.barrier();
        self.unverified.push(name);
    }

    /// Reads the resources that were written by several requests at once. Every other time a request on which the
    /// hypotheses differ most comes first, because a plain read may not decide between them.
    fn verify(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let names = std::mem::take(&mut self.unverified);
        for name in &names {
            let known = Known::of(view.past, name);
            if known.exists && pick(2) == 0 {
                let ask = self.most_informative(view, &known, name, pick);
                self.exchange(0, ask);
            }
        }
        self.read_back(&names);
    }

    /// Many reads at once, of different resources.
    fn read_several(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        self.gather(pick);
        for on in 0..view.connections.clamp(2, 8) {
            let name = format!("r{}", if pick(4) == 0 { pick(self.names) } else { u64::from(on % 2) });
            self.ask(on, Self::get(&name.into()));
        }
        self.barrier();
    }

    /// Reads each of these resources once, one after the other.
    pub(super) fn read_back(&mut self, names: &[Arc<str>]) {
        for (at, name) in names.iter().enumerate() {
            if !names[..at].contains(name) {
                self.exchange(0, Self::get(name));
            }
        }
    }

    /// Several requests on one connection without waiting. The first is completed when the others were sent.
    fn pipeline(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let one = self.name(pick);
        let other: Arc<str> = if &*one == "r0" { "r1".into() } else { "r0".into() };
        let names = [one, other];
        for name in &names {
            if !Known::of(view.past, name).exists {
                let put = self.put(name, pick);
                self.exchange(0, put);
            }
        }
        self.barrier();
        let first = self.queue.len();
        if pick(3) != 0 {
            for at in 0..2 + pick(3) as usize {
                let name = &names[at % 2];
                let head = AskRequest { method: Method::Head, ..Self::get(name) };
                self.ask(0, if pick(6) == 0 { head } else { Self::get(name) });
            }
        } else {
            for at in 0..=pick(2) as usize {
                let put = self.put(&names[at % 2], pick);
                self.ask(0, put);
                self.ask(0, Self::get(&names[pick(2) as usize]));
            }
        }
        if let Some(Step::Ask { cuts, .. }) = self.queue.get_mut(first) {
            *cuts = vec![(9, 2)];
        }
        self.barrier();
        self.read_back(&names);
    }

    /// Creates the resources that the case begins with.
    fn create_resources(&mut self, pick: &mut Pick<'_>) {
        for number in 0..self.names {
            let name: Arc<str> = format!("r{number}").into();
            let put = self.put(&name, pick);
            self.exchange(0, put);
            self.exchange(0, Self::get(&name));
        }
    }

    fn other_method(&mut self, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let method = Method::from(choose(&OTHER_METHODS, pick));
        // OPTIONS has to be served whatever its conditions (RFC 9110, 13.2.1).
        let if_none_match = Some(AskTags::Any).filter(|_| method == Method::Options && pick(2) == 0);
        self.exchange(0, AskRequest { method, if_none_match, ..Self::get(&name) });
    }
}

impl Traffic {
    /// Chooses the next move by the tables of the manner.
    fn choose_move(&self, pick: &mut Pick<'_>) -> Move {
        let moves: &Weighted<Move> = match self.manner {
            Manner::Flooding => return choose_weighted(&FLOODING, pick),
            Manner::Mixed | Manner::Storming => &MIXED,
            Manner::Busy => &BUSY,
            Manner::Gentle => &GENTLE,
        };
        let last: &Weighted<Move> = if self.expects_left > 0 { &EXPECTING } else { &ON_THE_WIRE };
        choose_weighted(&[moves, last].concat(), pick)
    }

    /// Queues the steps of a move.
    fn perform(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let chosen = self.choose_move(pick);
        if self.manner == Manner::Flooding && chosen != Move::Flood {
            // Every other move needs an idle server.
            self.release(0..view.wide.max(2));
        }
        match chosen {
            Move::Sequence => self.sequence(view, pick),
            Move::Burst => self.burst(view, pick),
            Move::Create => self.create(view, pick),
            Move::Reads => self.read_several(view, pick),
            Move::Pipeline => self.pipeline(view, pick),
            Move::Flood => self.flood(view, pick),
            Move::Malformed => self.malformed_any(view, pick),
            Move::Close => self.close(view, pick),
            Move::OtherMethod => self.other_method(pick),
            Move::Expect => {
                self.expects_left -= 1;
                self.expect(view, pick);
            }
        }
    }
}

impl Generator<Http> for Traffic {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        if view.alternatives > MOST_ALTERNATIVES && view.outstanding.iter().any(|count| *count > 0) {
            return Some(Step::Wait(Until::Outstanding(0)));
        }
        while self.queue.is_empty() {
            if self.watch(view) {
                continue;
            }
            if std::mem::take(&mut self.is_new) {
                if self.opening.is_over() {
                    self.create_resources(pick);
                    if self.manner == Manner::Busy {
                        // Rules that reads alone break are best found before anything is written at the same time.
                        self.read_several(view, pick);
                    }
                } else {
                    self.begin_opening(pick);
                }
                continue;
            }
            if !self.opening.is_over() {
                self.continue_opening(view, pick);
                continue;
            }
            if std::mem::take(&mut self.ripening.is_due) {
                self.put_row(view, pick);
                continue;
            }
            if !self.unverified.is_empty() {
                self.verify(view, pick);
                continue;
            }
            if let Some(name) = self.ripening.row.pop() {
                self.use_ripe(view, &name, pick);
                continue;
            }
            if self.manner == Manner::Storming {
                self.storm(view, pick);
                continue;
            }
            self.perform(view, pick);
        }
        let mut step = self.queue.pop_front()?;
        if let Step::Ask { ask: Ask::Send(ask), .. } = &mut step {
            ask.name = self.current(view, &ask.name);
        }
        if let Step::Ask { cuts, ask: Ask::Send(ask), .. } = &mut step
            && cuts.is_empty()
            && ask.odd.is_none()
            && pick(30) == 0
        {
            *cuts = vec![(1 + pick(60) as usize, pick(3))];
        }
        Some(step)
    }
}
