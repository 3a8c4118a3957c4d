//! What to ask of a server that can only be read: conditions, parts and bad framing on resources that are there.

use std::collections::VecDeque;
use std::sync::Arc;

use confute_drive::{Generator, Peer, Step, Until, View};

use super::draw;
use crate::ask::{Known, READS, read};
use crate::message::{Method, Odd};
use crate::protocol::{Ask, Http};

/// What can be wrong about a request without content.
const ODDS: [Odd; 4] = [Odd::NoHost, Odd::TwoHosts, Odd::SpaceBeforeColon, Odd::Folded];

/// Reads the resources of [`Http::resources`] over and over. It never sends a method that changes anything.
#[derive(Clone, Debug)]
pub struct Reads {
    names: Vec<Arc<str>>,
    left: usize,
    queue: VecDeque<Step<Ask>>,
    /// Kinds of reads that are still to come before any comes again.
    deck: Vec<u64>,
    odds: Vec<Odd>,
    /// The next connection that nothing else uses.
    spare: u32,
}

impl Reads {
    /// So many steps.
    pub fn new(http: &Http, steps: usize) -> Self {
        Self {
            names: http.resources.clone(),
            left: steps,
            queue: VecDeque::new(),
            deck: Vec::new(),
            odds: Vec::new(),
            spare: 0,
        }
    }

    fn one(&mut self, view: &View<'_, Http>, name: &Arc<str>, pick: &mut dyn FnMut(u64) -> u64) -> Ask {
        let known = Known::of(view.past, name);
        if !known.is_there {
            return Ask { name: name.clone(), ..Ask::default() };
        }
        let kind = draw(&mut self.deck, 0..READS + 2, pick).unwrap_or_default();
        if kind < READS {
            return read(&known, name, kind, pick);
        }
        let method = if kind == READS { Method::Options } else { Method::Head };
        Ask { method, name: name.clone(), ..Ask::default() }
    }

    fn ask(&mut self, on: u32, ask: Ask) {
        self.queue.push_back(Step::Ask { on: Peer::Opened(on), ask, cuts: Vec::new() });
    }

    fn plan(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) {
        let barrier = Step::Wait(Until::Outstanding(0));
        let name = self.names[pick(self.names.len() as u64) as usize].clone();
        match pick(10) {
            0..=5 => {
                let ask = self.one(view, &name, pick);
                self.ask(pick(4) as u32, ask);
            }
            6..=8 => {
                for on in 0..view.wide {
                    let name = self.names[pick(self.names.len() as u64) as usize].clone();
                    let ask = self.one(view, &name, pick);
                    self.ask(on, ask);
                }
            }
            _ => {
                let odd = draw(&mut self.odds, ODDS.into_iter(), pick);
                self.spare += 1;
                let on = view.wide + self.spare;
                self.queue.push_back(barrier.clone());
                self.ask(on, Ask { name, odd, ..Ask::default() });
                self.queue.push_back(Step::Wait(Until::Something));
                self.queue.push_back(Step::HangUp(Peer::Opened(on)));
            }
        }
        self.queue.push_back(barrier);
    }
}

impl Generator<Http> for Reads {
    fn next(&mut self, view: &View<'_, Http>, pick: &mut dyn FnMut(u64) -> u64) -> Option<Step<Ask>> {
        self.left = self.left.checked_sub(1)?;
        if self.names.is_empty() {
            return None;
        }
        while self.queue.is_empty() {
            self.plan(view, pick);
        }
        self.queue.pop_front()
    }
}
