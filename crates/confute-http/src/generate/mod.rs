//! What to ask next, and when.
//!
//! Most of a case is a few resources, over and over: what they are is known then, and a wrong answer shows. In between
//! come bursts over many connections, after which everything touched is looked at again, and things that servers get
//! wrong on the wire.
//!
//! A resource with two writes whose outcome the server left open (202, 5xx) is given up, and another takes its place: each of
//! them may still be performed, so less and less could be said of it. Where several requests compete for it, one such write is
//! enough: what comes of it is looked at where requests come one after the other, which is cheap to judge.

mod flood;
mod odd;
mod opening;
mod reads;
mod ripe;
mod storm;

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use confute_drive::{Generator, Peer, Protocol as _, Step, Until, View};

use crate::ask::{Known, READS, WRITES, left_open, read, stale_read, successor, write};
use crate::branch;
use crate::message::{Method, Msg, Odd};
use crate::protocol::{Ask, AskTags, Http};
use crate::{mark, text};
use opening::Opening;

pub use reads::Reads;

/// Random numbers below a bound.
pub(crate) type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

/// So many cases begin a campaign with one request at a time.
const CALM: u64 = 2;
/// So many cases are short: what is wrong is found soon, and told with little before it.
const SHORT: u64 = 16;
/// Among so many requests the most telling one is chosen.
const CANDIDATES: u32 = 6;
/// After the short ones, so many times as much is asked at once in a case.
const LONG: usize = 4;

/// So many that compete for one thing are sent at once.
const MOST_GATHERED: u32 = 5;

/// Open writes with which a resource is still used where requests come one after the other.
const MOST_OPEN: usize = 1;
/// The same where several compete: each of them may have come before the open write or after it.
const MOST_OPEN_CROWDED: usize = 0;

/// More alternatives than this are not let grow: all wait until nothing is outstanding.
const MANY: usize = 200;

/// Asks an origin server for this and that.
#[derive(Clone, Debug)]
pub struct Traffic {
    http: Http,
    /// How many steps are left.
    left: usize,
    queue: VecDeque<Step<Ask>>,
    /// How many bodies were made.
    bodies: u64,
    /// How many resources there are.
    names: u64,
    /// The next connection to use where a new one is wanted.
    spare: u32,
    /// Whether nothing was asked yet.
    is_new: bool,
    /// What is asked first, if anything is.
    opening: Opening,
    /// Kinds of requests that are still to come before any comes again.
    deck: Vec<u64>,
    /// The same for what is wrong on purpose.
    odds: Vec<Odd>,
    /// How often content may still be held back: it takes long.
    expects: u32,
    /// For how long, in milliseconds.
    hold: u32,
    manner: Manner,
    /// Whose turn it is then.
    turn: bool,
    /// How often they were let loose.
    rounds: u64,
    /// Resources that were written by several at once, and not looked at since.
    doubtful: Vec<Arc<str>>,
    ripening: Ripening,
    /// How many resources were given up under a name.
    given_up: BTreeMap<Arc<str>, u32>,
}

/// The manner of the traffic, chosen when it begins.
#[derive(Clone, Copy, Debug, Default)]
struct Manner {
    /// Most of it is bursts.
    busy: bool,
    /// There is never more than one request at a time.
    gentle: bool,
    /// Branches that were rarely reached are preferred.
    curious: bool,
    /// All connections are kept busy all the time.
    floods: bool,
    /// Each resource has one writer, and readers that never rest.
    storms: bool,
}

impl Manner {
    /// Whether several requests may be under way at the same time.
    fn is_crowded(self) -> bool {
        !self.gentle
    }
}

/// Resources that are left alone for a while, so that their tags become strong.
#[derive(Clone, Debug, Default)]
struct Ripening {
    /// A row of them is still to be looked at after a pause, once.
    is_due: bool,
    /// That is left out where tags are weak.
    is_hasty: bool,
    /// The resources whose tags have had time to become strong.
    row: Vec<Arc<str>>,
    /// Those of them that were written to again.
    changed: Vec<Arc<str>>,
    /// The pause, in milliseconds.
    pause: u64,
    /// Kinds of writes that are still to come to them.
    writes: Vec<u64>,
}

/// Takes one of them, any; from all of them if there are none left.
pub(crate) fn draw<T: Copy>(
    deck: &mut Vec<T>,
    all: impl Iterator<Item = T>,
    pick: &mut Pick<'_>,
) -> Option<T> {
    if deck.is_empty() {
        deck.extend(all);
    }
    let at = pick(deck.len() as u64) as usize;
    (at < deck.len()).then(|| deck.swap_remove(at))
}

impl Traffic {
    /// So many steps.
    pub fn new(http: Http, steps: usize) -> Self {
        Self {
            http,
            left: steps,
            queue: VecDeque::new(),
            bodies: 0,
            names: 2,
            spare: 0,
            is_new: true,
            opening: Opening::default(),
            deck: vec![],
            odds: vec![],
            expects: 1,
            hold: 500,
            manner: Manner::default(),
            turn: false,
            rounds: 0,
            doubtful: vec![],
            ripening: Ripening::default(),
            given_up: BTreeMap::new(),
        }
    }

    /// That of the case with this number in a campaign: step by step, in bursts, with tags that had time to become strong,
    /// and as much as possible at once, by turns, later mostly the last. Waiting in vain for 100 takes half a second, so only now
    /// and then.
    pub fn of_case(http: Http, steps: usize, case: u64) -> Self {
        // The first ones are short: races have to wait for them.
        let traffic = Self::new(http, if case < CALM { steps * 3 / 5 } else { steps });
        let traffic = match case % 8 {
            // What is wrong all the time is best found alone: in a burst it is wrong in many ways at once.
            _ if case < CALM => traffic.gentle().opening(),
            5 => Self { left: LONG * steps, ..traffic.storming() },
            1 | 3 | 7 if case >= SHORT => Self { left: LONG * steps, ..traffic.flooding() },
            4 if case >= SHORT => traffic.busy(),
            4 if case < SHORT / 2 => traffic.gentle().resting(),
            0 | 4 => traffic.gentle(),
            // To let tags ripen takes a second: races are looked for first.
            2 if case < SHORT / 2 => Self { left: LONG * steps, ..traffic.storming() },
            3 if case < SHORT / 2 => traffic.busy(),
            2 | 6 => traffic.ripening(),
            1 => traffic.busy(),
            _ => traffic.flooding(),
        };
        let manner = Manner { curious: case >= SHORT, ..traffic.manner };
        let traffic = Self { manner, ..traffic };
        if case % 16 == 4 { traffic } else { traffic.impatient() }
    }

    /// The same, but most of it is bursts over all connections.
    #[must_use]
    pub fn busy(mut self) -> Self {
        self.manner.busy = true;
        self
    }

    /// The same, but never more than one request at a time.
    #[must_use]
    pub fn gentle(mut self) -> Self {
        self.manner.gentle = true;
        self
    }

    /// The same, but all connections are kept busy.
    #[must_use]
    pub fn flooding(mut self) -> Self {
        self.manner.floods = true;
        self
    }

    /// The same, but each resource has one writer, and readers that never rest.
    #[must_use]
    pub fn storming(mut self) -> Self {
        self.manner.storms = true;
        self
    }

    /// The same, but some resources are left alone for a while, so that weak tags become strong.
    #[must_use]
    pub fn ripening(mut self) -> Self {
        self.ripening.is_due = true;
        self
    }

    /// The same, but some resources are left alone for a moment, unless their tags are weak, which takes longer.
    #[must_use]
    pub fn resting(mut self) -> Self {
        (self.ripening.is_due, self.ripening.is_hasty) = (true, true);
        self
    }

    /// The same, but content is never held back for 100, which takes long.
    #[must_use]
    pub fn impatient(mut self) -> Self {
        self.expects = 0;
        self
    }

    /// The same, but content is held back for so many milliseconds where 100 is waited for.
    #[must_use]
    pub fn holding(mut self, millis: u32) -> Self {
        self.hold = millis;
        self
    }

    /// The resource that goes by this name now.
    fn current(&mut self, view: &View<'_, Http>, name: &Arc<str>) -> Arc<str> {
        let generation = self.given_up.get(name).copied().unwrap_or_default();
        let current = successor(name, generation);
        let most = if self.manner.is_crowded() { MOST_OPEN_CROWDED } else { MOST_OPEN };
        if left_open(view.past, &current) <= most {
            return current;
        }
        self.given_up.insert(name.clone(), generation + 1);
        successor(name, generation + 1)
    }

    pub(super) fn ask(&mut self, on: u32, ask: Ask) {
        self.queue.push_back(Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() });
    }

    pub(super) fn barrier(&mut self) {
        self.queue.push_back(Step::Wait(Until::Outstanding(0)));
    }

    /// Asks and waits for the answer.
    pub(super) fn exchange(&mut self, on: u32, ask: Ask) {
        self.ask(on, ask);
        self.barrier();
    }

    /// One of few names, now and then a new one.
    pub(super) fn name(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        if pick(40) == 0 {
            self.names += 1;
        }
        let latest = self.names.saturating_sub(1);
        let number = if pick(6) == 0 { pick(self.names) } else { latest - pick(2).min(latest) };
        format!("r{number}").into()
    }

    /// Content that can be told from any other, mostly as long as the one before.
    pub(super) fn body(&mut self, pick: &mut Pick<'_>) -> Arc<str> {
        self.bodies += 1;
        let mark = mark::mark(self.bodies);
        let times = match pick(12) {
            0 => {
                return if pick(2) == 0 {
                    "".into()
                } else {
                    text::text(&[&[0xff, 0, 0x80], mark.as_bytes()].concat())
                };
            }
            1 => 1 + pick(9) as usize,
            2 => 40,
            _ => 3,
        };
        mark.repeat(times).into()
    }

    pub(super) fn get(name: &Arc<str>) -> Ask {
        Ask { name: name.clone(), ..Ask::default() }
    }

    pub(super) fn put(&mut self, name: &Arc<str>, pick: &mut Pick<'_>) -> Ask {
        let body = Some(self.body(pick));
        Ask { method: Method::Put, name: name.clone(), body, chunked: pick(12) == 0, ..Ask::default() }
    }

    /// One request after the other, on one connection. Writes are followed by a look at what they did.
    fn stretch(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let on = pick(u64::from(view.connections.clamp(1, 4))) as u32;
        let name = self.name(pick);
        let known = Known::of(view.past, &name);
        if !known.is_there {
            let body = self.body(pick);
            let ask = match pick(3) {
                0 => self.put(&name, pick),
                1 => read(&known, &name, pick(READS), pick),
                _ => known.write_to_nothing(&name, body, pick),
            };
            self.exchange(on, ask);
            self.exchange(on, Self::get(&name));
            return;
        }
        if self.manner.curious && pick(2) == 0 {
            let ask = self.telling(view, &known, &name, pick);
            let writes = !ask.method.is_safe();
            self.exchange(on, ask);
            if writes {
                self.exchange(on, Self::get(&name));
            }
            return;
        }
        let kind = draw(&mut self.deck, 0..WRITES + READS + 5, pick).unwrap_or_default();
        if kind < WRITES {
            // The same content now and then: then a failed condition may be answered as if all were well.
            let body = known.body.clone().filter(|_| pick(12) == 0);
            let body = body.unwrap_or_else(|| self.body(pick));
            self.exchange(on, write(&known, &name, body, kind, pick));
            self.exchange(on, Self::get(&name));
        } else if kind < WRITES + READS {
            self.exchange(on, read(&known, &name, kind - WRITES, pick));
        } else if kind < WRITES + READS + 2 {
            self.exchange(on, Ask { method: Method::Delete, ..Self::get(&name) });
            self.exchange(on, Self::get(&name));
            self.exchange(on, stale_read(&known, &name, pick));
            let if_match = Some(AskTags::Any);
            let put = self.put(&name, pick);
            self.exchange(on, Ask { if_match, ..put });
            let put = self.put(&name, pick);
            self.exchange(on, Ask { if_none_match: Some(AskTags::Any), ..put });
            self.exchange(on, Self::get(&name));
        } else {
            let put = self.put(&name, pick);
            self.exchange(on, put);
            self.exchange(on, Self::get(&name));
        }
    }

    /// Of a few requests, the one whose answer says most about what the server did, and then the one that can reach what was
    /// reached least.
    fn telling(&mut self, view: &View<'_, Http>, known: &Known, name: &Arc<str>, pick: &mut Pick<'_>) -> Ask {
        let mut best = ((Reverse(0), u64::MAX), Self::get(name));
        for _ in 0..CANDIDATES {
            let kind = pick(WRITES + READS);
            let ask = if kind < WRITES {
                write(known, name, self.body(pick), kind, pick)
            } else {
                read(known, name, kind - WRITES, pick)
            };
            let Some(Msg::Request(request)) = self.http.resolve(&ask, "", view.past) else { continue };
            let Some(count) = branch::least(&request, view.reached, self.http.is_read_only()) else {
                continue;
            };
            // Where all would say the same, or nobody knows, nothing is learned. That a write may be left open is always one
            // opinion more, and tells nothing.
            let open = usize::from(!ask.method.is_safe());
            let opinions = (view.disagreement)(&ask).saturating_sub(open);
            let rank = (Reverse(opinions.max(1)), count);
            if rank < best.0 {
                best = (rank, ask);
            }
        }
        best.1
    }

    /// What comes next is sent all at once, now and then: some races are lost by who is a little later.
    pub(super) fn gather(&mut self, pick: &mut Pick<'_>) -> bool {
        let gathers = pick(2) == 0;
        if gathers {
            self.queue.push_back(Step::Gather);
        }
        gathers
    }

    /// Many at once, then a look at what became of it.
    fn burst(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let names = [self.name(pick), self.name(pick)];
        let least = if self.manner.busy { view.connections / 2 } else { 0 };
        let count = least + 2 + pick(u64::from((view.connections - least).saturating_sub(1)).max(1)) as u32;
        // Those that are sent at once may have happened in any order.
        let count = if self.gather(pick) { count.min(MOST_GATHERED) } else { count };
        let holds = (pick(5) == 0).then(|| pick(u64::from(count)) as u32);
        let races = pick(2) != 0;
        for on in 0..count {
            let name = &names[usize::from(!races && pick(3) == 0)];
            let known = Known::of(view.past, name);
            let ask = match pick(8) {
                0..=2 => Self::get(name),
                3 => read(&known, name, pick(READS), pick),
                4 if !races => Ask { method: Method::Delete, ..Self::get(name) },
                _ if races => known.race(name, self.body(pick), pick),
                5 => write(&known, name, self.body(pick), pick(WRITES), pick),
                _ => self.put(name, pick),
            };
            if holds == Some(on) {
                self.queue.push_back(Step::Hold(Peer::Opened(on)));
            }
            self.ask(on, ask);
        }
        if let Some(on) = holds {
            // Nothing can be waited for while something is held back.
            self.queue.push_back(Step::Wait(Until::Millis(3)));
            self.queue.push_back(Step::Release(Peer::Opened(on)));
        }
        self.barrier();
        self.doubtful.extend(names);
    }

    /// Several want to be the first to put something.
    fn create(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let name: Arc<str> = format!("r{}", self.names).into();
        self.names += 1;
        self.exchange(0, Ask { method: Method::Delete, ..Self::get(&name) });
        self.gather(pick);
        for on in 0..2 + pick(u64::from(view.connections.clamp(2, 4)) - 1) as u32 {
            let body = self.body(pick);
            let ask = Known::default().race(&name, body, pick);
            self.ask(on, ask);
        }
        self.barrier();
        self.doubtful.push(name);
    }

    /// After many at once there are several stories of what happened. Now and then the question is asked on which they differ
    /// most, and not only what is there.
    fn inquire(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let names = std::mem::take(&mut self.doubtful);
        for name in &names {
            let known = Known::of(view.past, name);
            if known.is_there && pick(2) == 0 {
                let ask = self.telling(view, &known, name, pick);
                self.exchange(0, ask);
            }
        }
        self.audit(&names);
    }

    /// Many reads at once, of different things.
    fn look(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        self.gather(pick);
        for on in 0..view.connections.clamp(2, 8) {
            let name = format!("r{}", if pick(4) == 0 { pick(self.names) } else { u64::from(on % 2) });
            self.ask(on, Self::get(&name.into()));
        }
        self.barrier();
    }

    pub(super) fn audit(&mut self, names: &[Arc<str>]) {
        for (at, name) in names.iter().enumerate() {
            if !names[..at].contains(name) {
                self.exchange(0, Self::get(name));
            }
        }
    }

    /// Several on one connection without waiting. The first is held back until the others are there.
    fn pipeline(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let one = self.name(pick);
        let other: Arc<str> = if &*one == "r0" { "r1".into() } else { "r0".into() };
        let names = [one, other];
        for name in &names {
            if !Known::of(view.past, name).is_there {
                let put = self.put(name, pick);
                self.exchange(0, put);
            }
        }
        self.barrier();
        let first = self.queue.len();
        if pick(3) != 0 {
            for at in 0..2 + pick(3) as usize {
                let name = &names[at % 2];
                let head = Ask { method: Method::Head, ..Self::get(name) };
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
        self.audit(&names);
    }

    /// Puts a few things in their places.
    fn begin(&mut self, pick: &mut Pick<'_>) {
        for number in 0..self.names {
            let name: Arc<str> = format!("r{number}").into();
            let put = self.put(&name, pick);
            self.exchange(0, put);
            self.exchange(0, Self::get(&name));
        }
    }

    fn other(&mut self, pick: &mut Pick<'_>) {
        let name = self.name(pick);
        let method = match pick(4) {
            0 | 1 => Method::Options,
            2 => Method::Other("POST".into()),
            _ => Method::Other("PATCH".into()),
        };
        // Conditions are not for OPTIONS.
        let if_none_match = Some(AskTags::Any).filter(|_| method == Method::Options && pick(2) == 0);
        self.exchange(0, Ask { method, if_none_match, ..Self::get(&name) });
    }
}

impl Generator<Http> for Traffic {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.left = self.left.checked_sub(1)?;
        if view.alternatives > MANY && view.outstanding.iter().any(|count| *count > 0) {
            return Some(Step::Wait(Until::Outstanding(0)));
        }
        while self.queue.is_empty() {
            if std::mem::take(&mut self.is_new) {
                if self.opening.is_over() {
                    self.begin(pick);
                    if self.manner.busy {
                        // What goes wrong with reads alone is best seen before anything is written at the same time.
                        self.look(view, pick);
                    }
                } else {
                    self.open(pick);
                }
                continue;
            }
            if !self.opening.is_over() {
                self.ask_plainly(view, pick);
                continue;
            }
            if std::mem::take(&mut self.ripening.is_due) {
                self.ripen(view, pick);
                continue;
            }
            if !self.doubtful.is_empty() {
                self.inquire(view, pick);
                continue;
            }
            if let Some(name) = self.ripening.row.pop() {
                self.harvest(view, &name, pick);
                continue;
            }
            if self.manner.storms {
                self.storm(view, pick);
                continue;
            }
            let choice = pick(64);
            if self.manner.floods && choice > 60 {
                // Whatever else there is to do wants quiet.
                self.release(0..view.wide.max(2));
            }
            match choice {
                // Often enough to be done in most cases that may do it at all.
                55..=62 if self.expects > 0 && !self.manner.floods => {
                    self.expects -= 1;
                    self.expect(view, pick);
                }
                43..=49 if self.manner.gentle => self.stretch(view, pick),
                50..=54 if self.manner.gentle => self.odd(view, pick),
                0..=60 if self.manner.floods => self.flood(view, pick),
                0..=33 if self.manner.busy => self.burst(view, pick),
                34..=39 if self.manner.busy => self.look(view, pick),
                40..=46 if self.manner.busy => self.pipeline(view, pick),
                0..=42 => self.stretch(view, pick),
                43..=47 => self.burst(view, pick),
                48 | 49 => self.create(view, pick),
                50..=52 => self.look(view, pick),
                53 | 54 => self.pipeline(view, pick),
                55..=59 => self.odd(view, pick),
                60 | 61 => self.close(view, pick),
                _ => self.other(pick),
            }
        }
        let mut step = self.queue.pop_front()?;
        if let Step::Ask { ask, .. } = &mut step {
            ask.name = self.current(view, &ask.name);
        }
        if let Step::Ask { cuts, ask, .. } = &mut step
            && cuts.is_empty()
            && ask.odd.is_none()
            && pick(30) == 0
        {
            *cuts = vec![(1 + pick(60) as usize, pick(3))];
        }
        Some(step)
    }
}
