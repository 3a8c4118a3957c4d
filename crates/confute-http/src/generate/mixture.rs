//! Traffic for a server that is origin and gateway: its own traffic and forwarded traffic on the same connections, and
//! pipelines of both.

use std::collections::{BTreeSet, VecDeque};

use confute_drive::{Generator, Peer, Step, Until, View};

use super::passage::RequestMove;
use super::{Passage, Pick, Traffic};
use crate::ask::{Ask, AskRequest};
use crate::message::Method;
use crate::protocol::Http;
use crate::smaller;

/// Most connections in use: every way in which requests can overtake each other is a hypothesis.
const CONNECTIONS: u32 = 6;

/// Steps of own traffic in a case. The time to find the broken rule grows with its square.
const STEPS: usize = 80;
/// Steps of own traffic in a calm case, so that every move of the opening is made.
const CALM_STEPS: usize = 150;
/// Forwarded requests in a case.
const REQUESTS: usize = 20;
/// Forwarded requests in a calm case, so that every kind comes once.
const CALM_REQUESTS: usize = 27;
/// Most forwarded requests that are outstanding.
const MOST_OUTSTANDING: usize = 4;
/// Calm cases, with one request after the other, among those with both kinds of traffic. Every other case has own
/// traffic only, over all connections, because races need many requests at once.
const CALM_CASES: u64 = 2;
/// Steps of a case with own traffic only.
const ALONE_STEPS: usize = 200;

/// Steps before the first pipeline, so that there are resources to read.
const STEPS_BEFORE_PIPELINES: usize = 10;

/// Traffic of one case.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// Generator of the requests that the server itself serves.
    own: Traffic,
    /// Generator of the requests that the server forwards, and of the responses to them.
    forwarded: Passage,
    /// `true` until the own traffic is over.
    has_own: bool,
    /// `true` until the forwarded traffic is over.
    has_forwarded: bool,
    /// Number of steps with nothing under way of which one, on average, is a pipeline of both kinds.
    pipelines_in: u64,
    queue: VecDeque<Step<Ask>>,
    /// A step that has to wait until no forwarded request is outstanding.
    pending: Option<Step<Ask>>,
    /// Connections that nothing is read from.
    held: BTreeSet<Peer>,
    /// `true` if every response has to be received before the next request is sent.
    is_draining: bool,
    /// Most connections that own traffic uses.
    most: u32,
}

impl Mixture {
    /// Creates the traffic of the case with this number in a campaign: first one request after the other, later more
    /// and more at once.
    pub fn of_case(http: Http, case: u64) -> Self {
        let (turn, is_alone) = (case / 2, case % 2 == 1);
        if is_alone {
            // Every kind of traffic takes its turn, except that of calm cases.
            let own = Traffic::of_case(http, ALONE_STEPS, CALM_CASES + turn);
            let alone = Self::new(own, Passage::new(0, 1));
            return Self { has_forwarded: false, pipelines_in: u64::MAX, most: u32::MAX, ..alone };
        }
        let calm = turn < CALM_CASES;
        let own = Traffic::new(http, if calm { CALM_STEPS } else { STEPS });
        // To wait in vain for 100 takes half a second, so few cases do.
        let own = if turn % 8 == CALM_CASES { own } else { own.impatient() };
        let own = if calm { own.gentle().opening() } else { own };
        let most = if calm { 1 } else { 1 + turn as usize % MOST_OUTSTANDING };
        let forwarded = Passage::new(if calm { CALM_REQUESTS } else { REQUESTS }, most).hinting(turn);
        let mixture = Self::new(own, if calm { forwarded.opening() } else { forwarded });
        // A rule that is broken all the time is best found without pipelines.
        if calm { Self { pipelines_in: u64::MAX, ..mixture } } else { mixture }
    }

    /// Combines own and forwarded traffic.
    pub fn new(own: Traffic, forwarded: Passage) -> Self {
        Self {
            own,
            forwarded,
            has_own: true,
            has_forwarded: true,
            pipelines_in: 8,
            queue: VecDeque::new(),
            pending: None,
            held: BTreeSet::new(),
            is_draining: false,
            most: CONNECTIONS,
        }
    }
}

/// Outstanding responses of each connection.
struct Outstanding {
    /// Responses of the server itself.
    own: Vec<u32>,
    /// Responses of the origin that the server forwards.
    forwarded: Vec<u32>,
}

impl Outstanding {
    fn of(view: &View<'_, Http>) -> Self {
        let forwarded: Vec<u32> =
            (0..).zip(view.outstanding).map(|(on, count)| forwarded(view, on, *count)).collect();
        let own = view.outstanding.iter().zip(&forwarded).map(|(all, forwarded)| all - forwarded).collect();
        Self { own, forwarded }
    }

    fn is_forwarding(&self) -> bool {
        self.forwarded.iter().any(|count| *count > 0)
    }

    /// Returns the view of own traffic, which has no forwarded requests in it.
    fn own<'a>(&'a self, view: &View<'a, Http>, most: u32) -> View<'a, Http> {
        let (connections, wide) = (view.connections.min(most), view.wide.min(most));
        View { connections, wide, outstanding: &self.own, asked: &[], ..copy(view) }
    }
}

/// Returns the view of forwarded traffic: all requests, because it has to know which connections are idle.
fn forwarded_view<'a>(view: &View<'a, Http>) -> View<'a, Http> {
    let (connections, wide) = (view.connections.min(CONNECTIONS), view.wide.min(CONNECTIONS));
    View { connections, wide, ..copy(view) }
}

fn copy<'a>(view: &View<'a, Http>) -> View<'a, Http> {
    let View { past, steps, connections, wide, outstanding, asked, alternatives, reached, disagreement } =
        *view;
    View { past, steps, connections, wide, outstanding, asked, alternatives, reached, disagreement }
}

/// Returns the number of forwarded requests among the latest `outstanding` ones on a connection.
fn forwarded(view: &View<'_, Http>, on: u32, outstanding: u32) -> u32 {
    let latest = view.past.exchanges.iter().rev().filter(|exchange| exchange.on == Peer::Opened(on));
    latest.take(outstanding as usize).filter(|exchange| exchange.request.is_forwarded()).count() as u32
}

impl Mixture {
    /// Returns a step that brings outstanding responses: a response that the server waits for, or a wait.
    fn drain(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) -> Step<Ask> {
        self.forwarded.next_response(&forwarded_view(view), pick).unwrap_or(Step::Wait(Until::Something))
    }

    /// Sends safe requests of both kinds on one connection without waiting, perhaps with a write at the end. The first
    /// is completed when the others were sent.
    fn pipeline(&mut self, view: &View<'_, Http>, pick: &mut Pick<'_>) {
        let on = Peer::Opened(pick(view.connections.clamp(1, CONNECTIONS).into()) as u32);
        let (count, first) = (2 + pick(4), pick(2));
        for at in 0..count {
            // The first two are one of each kind.
            let is_forwarded = if at < 2 { at == first } else { pick(2) == 0 };
            let ask = if is_forwarded {
                let request = self.forwarded.request(RequestMove::Get, pick);
                AskRequest { method: safe_method(pick), ..request }
            } else {
                let (method, name) = (safe_method(pick), format!("r{}", pick(2)).into());
                let read = AskRequest { method, name, ..AskRequest::default() };
                if at + 1 == count && pick(3) == 0 { self.write(read) } else { read }
            };
            let cuts = if at == 0 { vec![(9, 2)] } else { Vec::new() };
            self.queue.push_back(Step::Ask { on, ask: ask.into(), cuts });
        }
        // A pipeline may be read in any order, so its resources must not be written meanwhile.
        self.is_draining = true;
    }

    /// Returns, while the case is in its opening, `true` if own traffic is next and `false` if forwarded traffic is.
    /// Own traffic creates its first resource, then the first request is forwarded, and then own traffic continues.
    fn opens_with_own(&self, is_quiet: bool) -> Option<bool> {
        let is_over = !self.own.is_opening() && !self.forwarded.is_opening();
        if is_over {
            return None;
        }
        Some(if self.forwarded.is_opening() { !self.own.has_begun() } else { is_quiet })
    }

    fn write(&mut self, read: AskRequest) -> AskRequest {
        let body = format!("<behind {}>", self.forwarded.mark());
        AskRequest { method: Method::Put, body: Some(body.into()), ..read }
    }

    /// Returns the next step of own traffic.
    fn next_own(
        &mut self,
        outstanding: &Outstanding,
        view: &View<'_, Http>,
        pick: &mut Pick<'_>,
    ) -> Option<Step<Ask>> {
        let Some(step) = self.own.next(&outstanding.own(view, self.most), pick) else {
            self.has_own = false;
            self.queue.extend(std::mem::take(&mut self.held).into_iter().map(Step::Release));
            return self.queue.pop_front();
        };
        match &step {
            Step::Hold(peer) => drop(self.held.insert(*peer)),
            Step::Release(peer) => drop(self.held.remove(peer)),
            _ if has_to_wait(&step, outstanding, pick) => {
                self.pending = Some(step);
                return Some(self.drain(view, pick));
            }
            _ => {}
        }
        Some(step)
    }
}

/// Returns `true` if a step of own traffic has to wait until no forwarded request is outstanding.
fn has_to_wait(step: &Step<Ask>, outstanding: &Outstanding, pick: &mut Pick<'_>) -> bool {
    match step {
        Step::Wait(Until::Outstanding(_)) => outstanding.is_forwarding(),
        Step::Ask { on: Peer::Opened(on), ask: Ask::Send(ask), .. } => {
            let is_busy = outstanding.forwarded.get(*on as usize).is_some_and(|count| *count > 0);
            is_busy && (!smaller::is_plain(ask) || pick(2) == 0)
        }
        _ => false,
    }
}

fn safe_method(pick: &mut Pick<'_>) -> Method {
    if pick(5) == 0 { Method::Head } else { Method::Get }
}

impl Generator<Http> for Mixture {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        if let Some(step) = self.queue.pop_front() {
            return Some(step);
        }
        let outstanding = Outstanding::of(view);
        let is_quiet = view.outstanding.iter().all(|count| *count == 0);
        self.is_draining &= !is_quiet;
        if self.is_draining || (self.pending.is_some() && outstanding.is_forwarding()) {
            return Some(self.drain(view, pick));
        }
        if let Some(step) = self.pending.take() {
            return Some(step);
        }
        if is_quiet
            && self.held.is_empty()
            && self.has_own
            && view.steps > STEPS_BEFORE_PIPELINES
            && pick(self.pipelines_in) == 0
        {
            self.pipeline(view, pick);
            return self.queue.pop_front();
        }
        // While a connection is held, only own traffic, which holds it, knows when to wait.
        let own_first =
            !self.held.is_empty() || self.opens_with_own(is_quiet).unwrap_or_else(|| pick(2) == 0);
        if self.has_own
            && (own_first || !self.has_forwarded)
            && let Some(step) = self.next_own(&outstanding, view, pick)
        {
            return Some(step);
        }
        if self.has_forwarded {
            match self.forwarded.next(&forwarded_view(view), pick) {
                Some(step) => return Some(step),
                None => self.has_forwarded = false,
            }
        }
        if self.has_own { self.next_own(&outstanding, view, pick) } else { None }
    }
}
