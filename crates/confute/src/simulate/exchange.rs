//! Traffic for a simulation: clients that send requests, and origins that respond to forwarded ones.
//!
//! The traffic has random numbers of its own, so the same requests reach the same server under another
//! network as far as possible. It does not wait for particular events: a connection with room for a request
//! gets one soon.

use rustc_hash::FxHashMap;

use super::Simulation;
use crate::lang::{Mistake, ServerModel};
use crate::network::Network;
use crate::random::Random;
use crate::trace::{Event, WireConn};

/// Number of received messages that a request can refer to.
const WINDOW: usize = 64;

/// Parameters of an exchange.
#[derive(Clone, Debug)]
pub struct ExchangePlan {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of clients, with one connection each.
    pub connections: u32,
    /// Total number of requests.
    pub messages: u64,
    /// Number of requests a client sends before it waits for a response.
    pub outstanding: u32,
    /// Maximum number of outstanding requests over all connections: the more there are, the harder the trace
    /// is to explain.
    pub at_once: u32,
    /// Number of requests after which all clients wait until nothing is in flight; 0 for never.
    pub rest_every: u64,
    /// Names of the rules that the server breaks.
    pub deviate: Vec<&'static str>,
    /// The server breaks a rule on average once in this number of opportunities.
    pub one_in: u64,
}

impl Default for ExchangePlan {
    fn default() -> Self {
        Self {
            seed: 0,
            connections: 16,
            messages: 100_000,
            outstanding: 1,
            at_once: 12,
            rest_every: 0,
            deviate: Vec::new(),
            one_in: 100,
        }
    }
}

/// Statistics of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of requests sent by clients.
    pub requests: u64,
    /// Number of messages received, on any connection.
    pub received: u64,
    /// Number of deviations of the server.
    pub deviations: u64,
    /// Histogram of outstanding requests: how many requests left `n` outstanding just after they were sent,
    /// at index `n`.
    pub outstanding: Vec<u64>,
}

impl Statistics {
    /// Returns the median number of outstanding requests, counted just after each request was sent.
    pub fn median(&self) -> usize {
        let half = self.outstanding.iter().sum::<u64>().div_ceil(2);
        let mut below = 0;
        let reached = |count: &u64| {
            below += count;
            below >= half
        };
        self.outstanding.iter().position(reached).unwrap_or(0)
    }

    /// Adds the statistics of another exchange.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.received += other.received;
        self.deviations += other.deviations;
        self.outstanding.resize(self.outstanding.len().max(other.outstanding.len()), 0);
        for (all, more) in self.outstanding.iter_mut().zip(&other.outstanding) {
            *all += more;
        }
    }

    /// Returns the maximum number of outstanding requests.
    pub fn max(&self) -> usize {
        self.outstanding.len().saturating_sub(1)
    }
}

/// Generator of a client's next request, given the latest messages received.
pub type MakeRequest<'a, M> = dyn FnMut(&mut Random, &[M]) -> M + 'a;

/// Generator of an origin's response, given the message it received.
pub type MakeResponse<'a, M> = dyn FnMut(&mut Random, &M) -> Option<M> + 'a;

/// Runs a model behind a network under random traffic, and passes every event to `sink` until it returns
/// `false`.
///
/// Origins respond on the connections that the server opens. The last event is [`Event::Quiescent`] if all
/// traffic came to rest.
pub fn exchange<S: ServerModel<Msg: Clone>, N: Network + ?Sized>(
    model: &S,
    network: &N,
    plan: &ExchangePlan,
    request: &mut MakeRequest<'_, S::Msg>,
    answer: &mut MakeResponse<'_, S::Msg>,
    sink: &mut dyn FnMut(Event<S::Msg>) -> bool,
) -> Result<Statistics, Mistake> {
    let simulation = Simulation::new(model, network, plan.seed).deviating(&plan.deviate, plan.one_in);
    // Only an unreliable network, which may lose a response, is a reason to give up early.
    let patience = if network.is_reliable() { 4096 } else { 64 } * u64::from(plan.connections.max(1));
    let mut traffic = Traffic {
        plan,
        patience,
        simulation,
        random: Random::new(!plan.seed),
        clients: Vec::new(),
        by_wire: FxHashMap::default(),
        owed: Vec::new(),
        seen: Vec::new(),
        moves: 0,
        outstanding: 0,
        statistics: Statistics::default(),
        request,
        answer,
        sink,
    };
    traffic.run()?;
    traffic.statistics.deviations = traffic.simulation.deviations();
    Ok(traffic.statistics)
}

struct Client {
    wire: WireConn,
    outstanding: u32,
    /// Move at which the client sent its last request.
    since: u64,
}

struct Traffic<'a, S: ServerModel, N: Network + ?Sized> {
    plan: &'a ExchangePlan,
    patience: u64,
    simulation: Simulation<'a, S, N>,
    random: Random,
    clients: Vec<Client>,
    by_wire: FxHashMap<WireConn, usize>,
    /// Responses that origins have not sent yet.
    owed: Vec<(WireConn, S::Msg)>,
    seen: Vec<S::Msg>,
    moves: u64,
    outstanding: u32,
    statistics: Statistics,
    request: &'a mut MakeRequest<'a, S::Msg>,
    answer: &'a mut MakeResponse<'a, S::Msg>,
    sink: &'a mut dyn FnMut(Event<S::Msg>) -> bool,
}

impl<S: ServerModel<Msg: Clone>, N: Network + ?Sized> Traffic<'_, S, N> {
    fn run(&mut self) -> Result<(), Mistake> {
        for _ in 0..self.plan.connections {
            let client = self.open();
            self.clients.push(client);
            if !self.settle(self.clients.len() - 1) {
                return Ok(());
            }
        }
        let mut last_event = 0;
        let mut rested = 0;
        loop {
            let more = self.statistics.requests < self.plan.messages && !self.clients.is_empty();
            let rests = self.plan.rest_every > 0 && self.statistics.requests >= rested + self.plan.rest_every;
            let ready = self.simulation.is_ready();
            if ready && !self.owed.is_empty() && self.random.chance(1, 2) {
                let place = self.random.below(self.owed.len() as u64) as usize;
                let (wire, message) = self.owed.swap_remove(place);
                if !self.send(wire, message)? {
                    return Ok(());
                }
            } else if let Some(client) = self.free_client(ready && more && !rests) {
                if !self.ask(client)? {
                    return Ok(());
                }
            } else {
                if self.simulation.is_idle() && self.owed.is_empty() {
                    if !self.wait(more) {
                        (self.sink)(Event::Quiescent);
                        return Ok(());
                    }
                    if rests {
                        rested = self.statistics.requests;
                        if !(self.sink)(Event::Quiescent) {
                            return Ok(());
                        }
                    }
                }
                if !more && self.moves - last_event > self.patience {
                    return Ok(());
                }
                self.moves += 1;
                if let Some(event) = self.simulation.step()? {
                    last_event = self.moves;
                    if !self.see(event) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Returns a client that may send now, half of the time if there is one.
    fn free_client(&mut self, may_send: bool) -> Option<usize> {
        if !may_send || self.random.chance(1, 2) {
            return None;
        }
        let full = self.outstanding >= self.plan.at_once.max(1);
        let count = self.clients.len();
        let start = self.random.below(count as u64) as usize;
        let (now, patience, limit) = (self.moves, self.patience, self.plan.outstanding.max(1));
        let free = |at: &usize| {
            let client = &self.clients[*at];
            let gave_up = client.outstanding > 0 && now - client.since > patience;
            gave_up || (client.outstanding < limit && !full)
        };
        (start..count).chain(0..start).find(free)
    }

    /// Abandons all outstanding requests: nothing is in flight, so no response will arrive. Returns `true` if
    /// anything is left to do.
    fn wait(&mut self, more: bool) -> bool {
        self.outstanding = 0;
        for client in &mut self.clients {
            client.outstanding = 0;
        }
        more
    }

    fn open(&mut self) -> Client {
        Client { wire: self.simulation.open(), outstanding: 0, since: 0 }
    }

    /// Registers a client's new connection and reports it.
    fn settle(&mut self, client: usize) -> bool {
        let wire = self.clients[client].wire;
        self.by_wire.insert(wire, client);
        (self.sink)(Event::Opened(wire))
    }

    fn ask(&mut self, at: usize) -> Result<bool, Mistake> {
        let recent = self.seen.len().saturating_sub(WINDOW);
        let message = (self.request)(&mut self.random, &self.seen[recent..]);
        let client = &mut self.clients[at];
        if client.outstanding >= self.plan.outstanding.max(1) {
            self.outstanding -= client.outstanding;
            client.outstanding = 0;
        }
        client.outstanding += 1;
        client.since = self.moves;
        self.outstanding += 1;
        let wire = client.wire;
        self.statistics.requests += 1;
        let histogram = &mut self.statistics.outstanding;
        let outstanding = self.outstanding as usize;
        histogram.resize(histogram.len().max(outstanding + 1), 0);
        histogram[outstanding] += 1;
        self.send(wire, message)
    }

    fn send(&mut self, wire: WireConn, message: S::Msg) -> Result<bool, Mistake> {
        let go_on = (self.sink)(Event::Sent(wire, message.clone()));
        self.simulation.send(wire, message)?;
        Ok(go_on)
    }

    fn see(&mut self, event: Event<S::Msg>) -> bool {
        match &event {
            Event::Received(wire, message) => {
                self.statistics.received += 1;
                if self.seen.len() >= 2 * WINDOW {
                    self.seen.drain(..WINDOW);
                }
                self.seen.push(message.clone());
                if let Some(at) = self.by_wire.get(wire) {
                    let client = &mut self.clients[*at];
                    self.outstanding -= u32::from(client.outstanding > 0);
                    client.outstanding = client.outstanding.saturating_sub(1);
                } else if let Some(reply) = (self.answer)(&mut self.random, message) {
                    self.owed.push((*wire, reply));
                }
            }
            Event::Closed(wire) => {
                if let Some(at) = self.by_wire.remove(wire) {
                    let gone = std::mem::replace(&mut self.clients[at].outstanding, 0);
                    self.outstanding -= gone;
                    self.clients[at] = self.open();
                    return (self.sink)(event) && self.settle(at);
                }
            }
            _ => {}
        }
        (self.sink)(event)
    }
}
