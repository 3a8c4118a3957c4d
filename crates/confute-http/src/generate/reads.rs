//! Traffic for a server that can only be read: conditions, ranges and malformed requests for resources that exist.

use std::collections::VecDeque;
use std::sync::Arc;

use confute_drive::{Generator, Peer, Step, Until, View};

use super::Pick;
use super::conditional::{ReadMove, read};
use super::known::Known;
use super::moves::{choose_weighted, draw};
use crate::ask::{Ask, AskRequest};
use crate::message::{Method, Odd};
use crate::protocol::Http;

/// Traffic of one case that reads the resources of [`OriginSide::resources`](crate::OriginSide::resources) again and
/// again. It never sends an unsafe method.
#[derive(Clone, Debug)]
pub struct Reads {
    names: Vec<Arc<str>>,
    /// Number of steps that are left.
    steps_left: usize,
    queue: VecDeque<Step<Ask>>,
    /// Moves that come before any comes again.
    deck: Vec<OneMove>,
    /// Malformed requests that come before any comes again.
    odds: Vec<Odd>,
    /// Number of connections above those for traffic that were used.
    spare: u32,
}

/// One request.
#[derive(Clone, Copy, Debug)]
enum OneMove {
    /// A read with a condition, of a part, or with HEAD.
    Read(ReadMove),
    /// A plain OPTIONS.
    Options,
    /// A plain HEAD.
    Head,
}

impl OneMove {
    fn all() -> impl Iterator<Item = Self> {
        ReadMove::ALL.into_iter().map(OneMove::Read).chain([OneMove::Options, OneMove::Head])
    }
}

/// A group of steps that are queued together.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// One request on one connection.
    One,
    /// A request on each connection at once.
    OnAllConnections,
    /// A malformed request on a connection of its own.
    Malformed,
}

const MOVES: [(Move, u64); 3] = [(Move::One, 6), (Move::OnAllConnections, 3), (Move::Malformed, 1)];

impl Reads {
    /// Creates traffic of this many steps.
    pub fn new(http: &Http, steps: usize) -> Self {
        Self {
            names: http.resources().to_vec(),
            steps_left: steps,
            queue: VecDeque::new(),
            deck: Vec::new(),
            odds: Vec::new(),
            spare: 0,
        }
    }

    /// Returns a request for this resource.
    fn request(&mut self, view: &View<'_, Http>, name: &Arc<str>, pick: &mut Pick<'_>) -> AskRequest {
        let known = Known::of(view.past, name);
        if !known.exists {
            return AskRequest { name: name.clone(), ..AskRequest::default() };
        }
        let method = match draw(&mut self.deck, OneMove::all(), pick) {
            Some(OneMove::Read(chosen)) => return read(&known, name, chosen, pick),
            Some(OneMove::Options) => Method::Options,
            Some(OneMove::Head) | None => Method::Head,
        };
        AskRequest { method, name: name.clone(), ..AskRequest::default() }
    }

    fn ask(&mut self, on: u32, ask: AskRequest) {
        self.queue.push_back(Step::Ask { on: Peer::Opened(on), ask: ask.into(), cuts: Vec::new() });
    }

    /// Queues the steps of a move.
    fn perform(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) {
        let barrier = Step::Wait(Until::Outstanding(0));
        let name = self.names[pick(self.names.len() as u64) as usize].clone();
        match choose_weighted(&MOVES, pick) {
            Move::One => {
                let ask = self.request(view, &name, pick);
                self.ask(pick(4) as u32, ask);
            }
            Move::OnAllConnections => {
                for on in 0..view.wide {
                    let name = self.names[pick(self.names.len() as u64) as usize].clone();
                    let ask = self.request(view, &name, pick);
                    self.ask(on, ask);
                }
            }
            Move::Malformed => {
                let odd = draw(&mut self.odds, Odd::without_content().iter().copied(), pick);
                self.spare += 1;
                let on = view.wide + self.spare;
                self.queue.push_back(barrier.clone());
                self.ask(on, AskRequest { name, odd, ..AskRequest::default() });
                self.queue.push_back(Step::Wait(Until::Something));
                self.queue.push_back(Step::HangUp(Peer::Opened(on)));
            }
        }
        self.queue.push_back(barrier);
    }
}

impl Generator<Http> for Reads {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        if self.names.is_empty() {
            return None;
        }
        while self.queue.is_empty() {
            self.perform(view, pick);
        }
        self.queue.pop_front()
    }
}
