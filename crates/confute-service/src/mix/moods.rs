//! The traffic of a case: patterns of a few requests each, in random order.

use std::collections::VecDeque;

use confute::lang::ServerModel;
use confute_drive::{Generator, Peer, Step, Until, View};

use super::waiting::{Parked, parked};
use super::{Draw, Mix, references};
use crate::message::{Message, Role, kind_of, names};
use crate::name::Name;
use crate::service::Service;
use crate::wire::Wire;

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

/// Number of requests among which the traffic looks for one whose response decides between hypotheses.
const CANDIDATES: usize = 6;
/// Largest number of requests that are sent at one moment: each of their orders is a hypothesis.
const GATHERED: u64 = 5;
/// Number of draws until the traffic takes a request whose reference nothing has told yet.
const DRAWS: usize = 4;

/// A step to come. Requests are drawn when their turn comes, because they may refer to the responses before.
#[derive(Clone, Debug)]
enum Plan<M> {
    /// This request, on this connection or on an idle one.
    Fixed(Option<u32>, M),
    /// Requests that belong together, about this name or any, on so many connections at the same time.
    Sequences(u32, Option<u32>),
    /// A request: on this connection or on an idle one; about this name or about any.
    Ask(Option<u32>, Option<u32>),
    /// A request of this kind with the first of all choices, for the opening.
    Plain(usize),
    /// A request about which the hypotheses disagree.
    Inquire(Option<u32>),
    /// A request that waits, about this name.
    Park(u32),
    /// A request that wakes one of this kind, or of any, about this name.
    Wake(Option<usize>, Option<u32>),
    Gather,
    Hold(u32),
    Release(u32),
    Wait(Until),
    /// The end of a connection. Its next request opens a new one.
    HangUp(u32),
}

impl<M> Plan<M> {
    const BARRIER: Self = Plan::Wait(Until::Outstanding(0));
}

/// Random traffic of a case.
pub(crate) struct Traffic<M> {
    mix: Mix<M>,
    plans: VecDeque<Plan<M>>,
    held: Vec<u32>,
    /// Number of requests so far.
    asked: usize,
    marks: u64,
    /// Number of names in this case.
    names: u32,
    /// The requests that wake those that still wait at the end are planned.
    is_waking: bool,
    /// The requests that end the case are planned.
    is_ending: bool,
}

impl<M: Message> Traffic<M> {
    /// Creates the traffic of a case.
    pub(crate) fn new(mix: Mix<M>, case: u64) -> Self {
        let requests = M::KINDS.iter().enumerate().filter(|(_, kind)| kind.role == Role::Request);
        // The first case opens with every kind of request: what fails at once should fail in the smallest case.
        let plain = |(number, _)| [Plan::Plain(number), Plan::BARRIER];
        let plans = if case == 0 { requests.flat_map(plain).collect() } else { VecDeque::new() };
        // With fewer names more requests meet.
        let names = match case % 3 {
            _ if mix.is_flooding => mix.names,
            0 => mix.names,
            1 => mix.names.min(2),
            _ => mix.names.div_ceil(2),
        };
        Self { mix, plans, held: Vec::new(), asked: 0, marks: 0, names, is_waking: false, is_ending: false }
    }

    /// Adds a pattern of a few requests.
    fn plan(&mut self, connections: u32, parked: &[Parked], pick: &mut Pick<'_>) {
        let connections = connections.max(1);
        if self.mix.waiting.is_known() && pick(3) == 0 {
            self.plan_waking(connections, parked, pick);
            return;
        }
        let name = pick(u64::from(self.names)) as u32;
        let plans = &mut self.plans;
        let (one_in, most) = if self.mix.is_flooding { (8, 8) } else { (2, 4) };
        if !self.mix.sequences.is_empty() && pick(one_in) == 0 {
            let rivals = 1 + pick(u64::from(connections.min(most))) as u32;
            plans.push_back(Plan::Sequences(rivals, (pick(3) > 0).then_some(name)));
            return;
        }
        if self.mix.is_flooding && pick(16) > 0 {
            plans.extend((0..32 + pick(32)).map(|_| Plan::Ask(None, None)));
            return;
        }
        match pick(13) {
            // One after the other, on any connection.
            0 => {
                let focus = (pick(2) == 0).then_some(name);
                for _ in 0..2 + pick(4) {
                    plans.extend([Plan::Ask(None, focus), Plan::BARRIER]);
                }
            }
            // At one moment, about one name.
            1..=4 => {
                plans.push_back(Plan::BARRIER);
                if pick(2) == 0 {
                    plans.push_back(Plan::Gather);
                }
                for _ in 0..(2 + pick(GATHERED - 1)).min(u64::from(connections).max(2)) {
                    plans.push_back(Plan::Ask(None, Some(name)));
                }
                plans.extend([
                    Plan::BARRIER,
                    Plan::Inquire(Some(name)),
                    Plan::BARRIER,
                    Plan::Inquire(Some(name)),
                ]);
            }
            // On one connection, without waiting.
            5 => {
                let on = pick(u64::from(connections)) as u32;
                plans.push_back(Plan::BARRIER);
                plans.extend((0..2 + pick(3)).map(|_| Plan::Ask(Some(on), Some(name))));
            }
            // Some responses are read late.
            6 => {
                let held = 1 + pick(u64::from(connections.div_ceil(2))) as u32;
                plans.push_back(Plan::BARRIER);
                plans.extend((0..held).flat_map(|on| [Plan::Hold(on), Plan::Ask(Some(on), None)]));
                plans.extend((0..2 + pick(3)).map(|_| Plan::Ask(None, None)));
                plans.push_back(Plan::Wait(Until::Millis(1 + pick(2))));
                plans.extend((0..held).map(Plan::Release));
            }
            // What decides between hypotheses.
            7 => {
                for _ in 0..=pick(3) {
                    plans.extend([Plan::BARRIER, Plan::Inquire(None)]);
                }
            }
            // On a new connection in the place of an old one.
            8 => {
                let on = pick(u64::from(connections)) as u32;
                plans.extend([Plan::BARRIER, Plan::HangUp(on), Plan::Ask(Some(on), Some(name))]);
            }
            // As many as may be outstanding.
            _ => plans.extend((0..8 + pick(16)).map(|_| Plan::Ask(None, None))),
        }
    }

    /// Adds requests that wait for one name, and others that wake them at one moment; or only the latter, if some wait already.
    fn plan_waking(&mut self, connections: u32, parked: &[Parked], pick: &mut Pick<'_>) {
        let plans = &mut self.plans;
        let woken = if parked.is_empty() || pick(2) == 0 {
            let name = pick(u64::from(self.names)) as u32;
            let waiting = 1 + pick(u64::from(most_parked(connections)).max(1));
            plans.push_back(Plan::BARRIER);
            plans.extend((0..waiting).map(|_| Plan::Park(name)));
            plans.push_back(Plan::BARRIER);
            (Some(name), None)
        } else {
            let one = parked[pick(parked.len() as u64) as usize];
            (one.name, Some(one.kind))
        };
        if pick(2) == 0 {
            plans.push_back(Plan::Gather);
        }
        plans.extend((0..=pick(3)).map(|_| Plan::Wake(woken.1, woken.0)));
        plans.extend([Plan::BARRIER, Plan::Inquire(woken.0)]);
    }

    /// Plans the end of a case. In half of the cases those are woken first that still wait: it would also wake those whose wake-up was
    /// lost, so in the other half they are left to the model.
    fn plan_end(&mut self, parked: &[Parked], pick: &mut Pick<'_>) -> bool {
        if !self.is_waking {
            self.is_waking = true;
            let woken = if pick(2) == 0 { parked } else { &[] };
            self.plans = woken.iter().map(|one| Plan::Wake(Some(one.kind), one.name)).collect();
        }
        !self.plans.is_empty() || self.end()
    }

    /// Returns a random request.
    fn draw(&mut self, view: &Seen<'_, M>, focus: Option<u32>, pick: &mut Pick<'_>) -> M {
        let mut best = None;
        for _ in 0..DRAWS {
            let mut draw = Draw::new(pick, self.names, focus, self.marks);
            let mut ask = self.mix.draw(&mut draw);
            self.marks = draw.marks();
            let is_told = references::choose(&mut ask, self.mix.weights, view.past, pick);
            best = Some(ask);
            if is_told {
                break;
            }
        }
        best.unwrap_or_else(|| M::unreadable(String::new()))
    }

    /// Plans requests that belong together, for each of these connections, interleaved.
    fn interleave(
        &mut self,
        rivals: u32,
        focus: Option<u32>,
        (connections, parked): (u32, &[Parked]),
        pick: &mut Pick<'_>,
    ) {
        let first = pick(u64::from(connections)) as u32;
        let mut parts: Vec<(u32, VecDeque<M>)> = Vec::new();
        for rival in 0..rivals.min(connections) {
            let on = (first + rival) % connections;
            if parked.iter().any(|one| one.on == on) || self.has_plans_for(on) {
                continue;
            }
            let mut draw = Draw::new(pick, self.names, focus, self.marks);
            let sequence = self.mix.draw_sequence(&mut draw);
            self.marks = draw.marks();
            parts.push((on, sequence.into()));
        }
        let is_flooding = self.mix.is_flooding;
        let mut plans = Vec::new();
        if !is_flooding {
            plans.push(Plan::BARRIER);
        }
        while !parts.is_empty() {
            let place = pick(parts.len() as u64) as usize;
            match parts[place].1.pop_front() {
                Some(ask) => plans.push(Plan::Fixed(Some(parts[place].0), ask)),
                None => drop(parts.swap_remove(place)),
            }
            // Without a pause the requests of a sequence would reach the server together.
            match pick(8) {
                _ if is_flooding => plans.push(Plan::Ask(None, None)),
                0 => plans.push(Plan::BARRIER),
                1 => plans.push(Plan::Wait(Until::Soon(1))),
                2 => plans.push(Plan::Ask(None, focus)),
                _ => {}
            }
        }
        if !is_flooding {
            plans.extend([Plan::BARRIER, Plan::Inquire(focus)]);
        }
        plans.into_iter().rev().for_each(|plan| self.plans.push_front(plan));
    }

    /// Returns `true` if a sequence goes on on this connection.
    fn has_plans_for(&self, on: u32) -> bool {
        self.plans.iter().any(|plan| matches!(plan, Plan::Fixed(Some(other), _) if *other == on))
    }

    /// Plans the requests that end the case. Returns `false` if there are no more.
    fn end(&mut self) -> bool {
        let Some(last) = self.mix.last.clone().filter(|_| !self.is_ending) else { return false };
        self.is_ending = true;
        self.plans = (0..self.names).map(|number| Plan::Fixed(None, last(Name::number(number)))).collect();
        self.plans.push_front(Plan::BARRIER);
        !self.plans.is_empty()
    }

    /// Returns a request about which the hypotheses disagree, or a random one.
    fn inquire(&mut self, view: &Seen<'_, M>, focus: Option<u32>, pick: &mut Pick<'_>) -> M {
        let mut best = (0, self.draw(view, focus, pick));
        for _ in 0..CANDIDATES {
            let ask = self.draw(view, focus, pick);
            let answers = (view.disagreement)(&ask);
            if answers > best.0 {
                best = (answers, ask);
            }
        }
        best.1
    }

    /// Returns a connection for this request: an idle one, or one whose outstanding requests are about the same names. Requests on one
    /// connection are judged together, which is expensive if they concern different parts of the state.
    fn connection(
        &self,
        view: &Seen<'_, M>,
        ask: &M,
        (wanted, parked): (Option<u32>, &[Parked]),
        pick: &mut Pick<'_>,
    ) -> Option<u32> {
        let is_parked = |on: u32| parked.iter().any(|one| one.on == on);
        let load = |on: u32| view.outstanding.get(on as usize).copied().unwrap_or(0) as usize;
        let about = names(ask);
        let is_same = |on: &u32| {
            let on_it = view.past.iter().rev().filter(|exchange| exchange.on == Peer::Opened(*on));
            on_it.take(load(*on)).all(|exchange| names(&exchange.ask) == about)
        };
        let count = view.connections.max(1);
        match wanted.filter(|on| *on < count && !is_parked(*on)) {
            Some(on) => Some(on).filter(|on| load(*on) == 0 || is_same(on)),
            None => {
                let first = pick(u64::from(count)) as u32;
                let all = || (0..count).map(|offset| (first + offset) % count);
                let may_wait = kind_of(ask).waits;
                let is_free = |on: &u32| {
                    load(*on) == 0 && !self.held.contains(on) && !(may_wait && self.has_plans_for(*on))
                };
                all().find(is_free)
            }
        }
    }

    fn step(&mut self, view: &Seen<'_, M>, pick: &mut Pick<'_>) -> Option<Step<M>> {
        loop {
            let is_enough = self.asked >= self.mix.requests;
            if is_enough && let Some(on) = self.held.pop() {
                return Some(Step::Release(Peer::Opened(on)));
            }
            let parked = parked(view.past, view.outstanding);
            if is_enough && !self.plan_end(&parked, pick) {
                return None;
            }
            let Some(plan) = self.plans.pop_front() else {
                self.plan(view.connections, &parked, pick);
                continue;
            };
            let is_parked = |on: u32| parked.iter().any(|one| one.on == on);
            let (ask, on) = match plan.clone() {
                // The rest of a sequence follows once its connection is woken.
                Plan::Fixed(Some(on), _) if is_parked(on) => {
                    let waking = parked.iter().find(|one| one.on == on);
                    let waking = waking.map(|one| Plan::Wake(Some(one.kind), one.name));
                    self.asked += 1;
                    self.plans.push_front(Plan::BARRIER);
                    waking.into_iter().for_each(|plan| self.plans.push_front(plan));
                    self.plans.push_back(plan);
                    continue;
                }
                Plan::Wait(until) => return Some(Step::Wait(until)),
                Plan::Gather => return Some(Step::Gather),
                // Others would have to wake it first: who waits stays.
                Plan::HangUp(on) if is_parked(on) => continue,
                Plan::HangUp(on) => return Some(Step::HangUp(Peer::Opened(on))),
                Plan::Hold(on) => {
                    self.held.push(on);
                    return Some(Step::Hold(Peer::Opened(on)));
                }
                Plan::Release(on) => {
                    self.held.retain(|held| *held != on);
                    return Some(Step::Release(Peer::Opened(on)));
                }
                Plan::Plain(kind) => {
                    let Some(mut ask) = Draw::fixed(0).message::<M>(kind) else { continue };
                    references::choose(&mut ask, self.mix.weights, view.past, &mut |_| 0);
                    (ask, Some(0))
                }
                Plan::Fixed(on, mut ask) => {
                    references::choose(&mut ask, self.mix.weights, view.past, pick);
                    (ask, on)
                }
                Plan::Sequences(rivals, focus) => {
                    self.interleave(rivals, focus, (view.connections.max(1), &parked), pick);
                    continue;
                }
                Plan::Ask(on, focus) => (self.draw(view, focus, pick), on),
                Plan::Inquire(focus) => (self.inquire(view, focus, pick), None),
                Plan::Park(name) => {
                    let waiting = self.made(Some(name), view, pick, Mix::draw_waiting);
                    let Some(ask) = waiting else { continue };
                    (ask, None)
                }
                Plan::Wake(kind, name) => {
                    let waking = self.made(name, view, pick, |mix, draw| mix.draw_waking(kind, draw));
                    let Some(ask) = waking else { continue };
                    (ask, None)
                }
            };
            if kind_of(&ask).waits && parked.len() >= most_parked(view.connections) as usize {
                // With fewer connections nobody would wake those that wait. It counts, so that a case with nothing else ends.
                self.asked += 1;
                continue;
            }
            let open = (0..).zip(view.outstanding).filter(|(on, _)| !is_parked(*on));
            let total: usize = open.map(|(_, count)| *count as usize).sum();
            let free = self.connection(view, &ask, (on, &parked), pick);
            let free = free.filter(|_| total < self.mix.outstanding);
            let Some(on) = free else {
                self.plans.push_front(plan);
                // Only held connections may be left: then no response would be read.
                return Some(match self.held.pop() {
                    Some(on) => Step::Release(Peer::Opened(on)),
                    None => Step::Wait(Until::Something),
                });
            };
            self.asked += 1;
            return Some(Step::Ask { on: Peer::Opened(on), ask, cuts: self.cuts(pick) });
        }
    }

    /// Returns the request that `make` makes about this name.
    fn made(
        &mut self,
        focus: Option<u32>,
        view: &Seen<'_, M>,
        pick: &mut Pick<'_>,
        make: impl Fn(&Mix<M>, &mut Draw<'_>) -> Option<M>,
    ) -> Option<M> {
        let mut draw = Draw::new(pick, self.names, focus, self.marks);
        let made = make(&self.mix, &mut draw);
        self.marks = draw.marks();
        let mut ask = made?;
        references::choose(&mut ask, self.mix.weights, view.past, pick);
        Some(ask)
    }

    /// Returns the place where a request is cut, for a few of them.
    fn cuts(&self, pick: &mut Pick<'_>) -> Vec<(usize, u64)> {
        if pick(32) == 0 { vec![(1 + pick(8) as usize, pick(2))] } else { Vec::new() }
    }
}

/// Returns the number of connections that may wait for others at a time.
fn most_parked(connections: u32) -> u32 {
    connections / 2
}

/// The part of a view that the traffic uses.
struct Seen<'a, M> {
    past: &'a [confute_drive::Exchange<M, M>],
    connections: u32,
    outstanding: &'a [u32],
    disagreement: &'a dyn Fn(&M) -> usize,
}

impl<S, W> Generator<Service<S, W>> for Traffic<S::Msg>
where
    S: ServerModel<Msg: Message> + Send + Sync + 'static,
    W: Wire<S::Msg>,
{
    fn next(&mut self, view: &View<'_, Service<S, W>>, pick: &mut Pick<'_>) -> Option<Step<S::Msg>> {
        let seen = Seen {
            past: &view.past.exchanges,
            connections: view.connections,
            outstanding: view.outstanding,
            disagreement: view.disagreement,
        };
        self.step(&seen, pick)
    }
}
