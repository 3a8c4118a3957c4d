//! The end of a case: nothing of it may be under way when the next one begins.

use std::time::{Duration, Instant};

use confute::trace::Event;

use confute::{Options, Pulse};

use super::{Case, CaseSetup};
use crate::connection::Connection;
use crate::erased::all_shared;
use crate::script::{Peer, Step};
use crate::trouble::Trouble;

/// Time to wait for outstanding responses after the case is decided.
const AFTERMATH: Duration = Duration::from_millis(250);
/// Time to wait for responses after a stop was requested.
const FAREWELL: Duration = Duration::from_secs(1);
/// Time for a server to notice that connections which it opened are gone. If it used them again, its requests
/// would fail.
const NOTICE: Duration = Duration::from_millis(20);
/// Divisor of the patience that yields the time for the response behind one that broke off, before the server is
/// probed.
const SOON: u32 = 8;
/// Number of times that a slow server may respond after all while it is probed.
const SURPRISES: u32 = 3;

impl Case<'_> {
    /// Waits for outstanding responses, and investigates those that do not arrive.
    ///
    /// A response that broke off shows with the next one on its connection whether its end was announced
    /// wrongly: a request is sent behind it. Then a probe shows that the server is alive. It need not be
    /// answered to its end: what one response lacks, all may lack. A replay sends no request that is not in its script.
    pub(super) fn finish(&mut self, replays: bool) {
        let patience = self.setup.limits.patience;
        let stopped = !self.draining && self.setup.stop.load(std::sync::atomic::Ordering::Relaxed);
        self.draining = true;
        self.clock.freed = Instant::now();
        self.release_all();
        if self.record.is_over() || self.health.trouble.is_some() {
            // Ends of connections that were not read yet may be signs of a restart.
            self.turn(Duration::ZERO);
            self.clock.deadline = self.setup.limits.in_time(AFTERMATH);
            while self.outstanding.total > 0 && Instant::now() < self.clock.deadline && !self.is_gone() {
                self.be_courteous();
                self.turn(Duration::from_millis(10));
            }
            return;
        }
        let mut behind = Vec::new();
        for round in 0..SURPRISES {
            // A server that sends byte by byte is not silent, but its time is limited.
            let wait = if stopped { FAREWELL.min(patience) } else { patience * 4 };
            self.clock.deadline = self.setup.limits.in_time(wait);
            // The server may be unable to respond before the tester answers its requests.
            let came = self.wait_until(None, |case| {
                !case.questions.open.is_empty() || !case.connections.iter().any(Connection::is_waiting)
            });
            let late = self.setup.limits.is_over();
            if came && !late && !stopped && !self.record.is_over() && self.health.trouble.is_none() {
                self.come_to_rest();
            }
            if came
                || late
                || self.record.is_over()
                || self.health.trouble.is_some()
                || (stopped && !self.health.silent)
            {
                return;
            }
            if round == 0 && !replays {
                behind = self.ask_behind();
                if self.record.is_over() || !self.connections.iter().any(Connection::is_waiting) {
                    return;
                }
            }
            let (owed, heard) = (self.outstanding.total, self.last_heard());
            let alive = self.is_alive(&behind);
            if self.record.is_over() {
                return;
            }
            self.leave_behind(&behind);
            // A server that was not given its full time does not hang.
            if !alive && self.setup.limits.is_over() {
                return;
            }
            if self.outstanding.total == owed && self.last_heard() == heard {
                self.report_silence(alive);
                if alive && self.is_all_out() {
                    self.tell_stalled();
                    self.record.tell(Event::Quiescent, self.outstanding.total);
                }
                return;
            }
            // The server was only slow.
        }
        self.report_silence(true);
    }

    /// Waits for what the model still expects after all requests but those that wait were answered: responses to these, and messages that
    /// nobody asked for. If nothing more comes from a live server, that is recorded.
    ///
    /// Usually nothing is expected: who waits may wait for ever. So the model is asked first, and the end of a case takes no time.
    fn come_to_rest(&mut self) {
        let protocol = self.setup.protocol;
        let waits = |case: &Self| case.connections.iter().any(Connection::is_parked);
        if !self.setup.limits.rests || (!protocol.has_unasked() && !waits(self)) {
            return;
        }
        while self.owes() {
            let before = self.clock.happened;
            let patience = self.setup.limits.patience;
            self.clock.deadline = self.setup.limits.in_time(patience);
            let is_news = self.wait_until(None, |case| case.clock.happened != before);
            if self.setup.limits.is_over() || self.record.is_over() || self.health.trouble.is_some() {
                return;
            }
            if is_news {
                continue;
            }
            let is_alive = self.is_alive(&[]);
            // The response to the probe is news, too.
            if self.clock.happened > before + u64::from(is_alive) {
                continue;
            }
            if is_alive && self.is_all_out() {
                self.record.tell(Event::Quiescent, self.outstanding.total);
            }
            return;
        }
    }

    /// Returns `true` if the server still has to send something, as the model says about everything that was observed.
    fn owes(&self) -> bool {
        let CaseSetup { protocol, limits, relaxed, .. } = *self.setup;
        let start = Instant::now();
        let watch = |_: &Pulse| start.elapsed() > limits.thought || limits.is_over();
        let options = Options {
            memory: limits.memory,
            watch: Some(&watch),
            relaxed: relaxed.to_vec(),
            ..Options::default()
        };
        let mut events = all_shared(&self.record.trace);
        events.push(Event::Quiescent);
        protocol.model().judge(protocol.network(), &events, &options).is_refuted()
    }

    /// Sends a request behind each response that broke off, if the protocol has one. A correct server
    /// completes the response before it answers that request. A response that was announced too long
    /// takes the beginning of the next one for its rest. Returns the connections.
    fn ask_behind(&mut self) -> Vec<Peer> {
        let (protocol, past) = (self.setup.protocol, &self.past);
        let behind = |connection: &Connection| {
            let is_last = connection.owed.len() == 1 && connection.is_open() && !connection.history.announced;
            let owed = connection.owed.front().filter(|_| is_last && connection.reader.has_head())?;
            Some((connection.peer, protocol.behind(past.request(owed.exchange?)?)?))
        };
        let asks: Vec<_> = self.connections.iter().filter_map(behind).collect();
        self.health.silent = false;
        self.clock.deadline = self.setup.limits.in_time(self.setup.limits.patience);
        // These waits ended without what they waited for.
        while matches!(self.script.last(), Some(Step::Wait(until)) if self.is_vain(*until)) {
            self.script.pop();
        }
        let peers: Vec<_> = asks.iter().map(|(on, _)| *on).collect();
        for (on, ask) in asks {
            let step = Step::Ask { on, ask, cuts: Vec::new() };
            self.script.push(step.clone());
            self.step(step, false);
        }
        // Usually there is no more to do.
        let soon = Instant::now() + self.setup.limits.patience / SOON;
        self.wait_until(Some(soon), |case| !case.is_behind(&peers));
        peers
    }

    /// Returns `true` if a response is outstanding on these connections.
    fn is_behind(&self, peers: &[Peer]) -> bool {
        self.connections
            .iter()
            .any(|connection| peers.contains(&connection.peer) && !connection.owed.is_empty())
    }

    /// Ends the connections on which the response that broke off is over by now, and the request behind it is
    /// not answered: where the end of one response is wrong, the next one may be lost.
    fn leave_behind(&mut self, behind: &[Peer]) {
        let last = self.past.len();
        for peer in behind {
            let Some(token) = self.connections.token(*peer) else { continue };
            let owed = self.connections.slots[token].as_ref().and_then(|connection| connection.owed.front());
            let is_behind = |exchange: usize| exchange + behind.len() >= last;
            if owed.and_then(|owed| owed.exchange).is_some_and(is_behind)
                && let Some(mut connection) = self.connections.slots[token].take()
            {
                // Bytes that are no response are wrong, however they go on.
                let mut messages = Vec::new();
                connection.reader.end(false, &mut messages);
                if let (Some(wire), Some(mut message)) = (connection.wire, messages.into_iter().next()) {
                    self.setup.protocol.stamp(&mut message, self.clock.micros(Instant::now()));
                    self.record.tell(Event::Received(wire, message), self.outstanding.total);
                }
                self.part(&connection);
                self.retire(token, *connection);
            }
        }
    }

    /// Returns the last time that anything was received on a connection with an outstanding response.
    fn last_heard(&self) -> Option<Instant> {
        let waiting = self.connections.iter().filter(|connection| connection.is_waiting());
        waiting.map(|connection| connection.history.heard).max()
    }

    /// Records the outstanding responses that a reader reports as stalled.
    fn tell_stalled(&mut self) {
        let (now, protocol) = (Instant::now(), self.setup.protocol);
        for connection in
            self.connections.slots.iter_mut().flatten().filter(|connection| connection.is_waiting())
        {
            let mut messages = Vec::new();
            let quiet =
                if connection.has_begun() { connection.history.heard } else { connection.quiet_since() };
            let silence = now.saturating_duration_since(quiet);
            connection.reader.stalled(silence, &mut messages);
            // Messages after the stalled one were not received.
            if let (Some(wire), Some(mut message)) = (connection.wire, messages.into_iter().next()) {
                protocol.stamp(&mut message, self.clock.micros(now));
                self.record.tell(Event::Received(wire, message.clone()), self.outstanding.total);
                if let Some(exchange) = connection.owed.front().and_then(|owed| owed.exchange) {
                    self.past.reply(exchange, &message);
                }
            }
        }
    }

    /// Returns `true` if everything was sent, and every connection with an outstanding response is still
    /// open. Otherwise a missing response proves nothing.
    fn is_all_out(&self) -> bool {
        let is_out = |connection: &Connection| connection.outbox.is_empty() && !connection.is_connecting();
        self.connections
            .iter()
            .all(|connection| is_out(connection) && (connection.owed.is_empty() || connection.is_open()))
    }

    /// Returns `true` if the server is gone, so that nothing more will arrive.
    fn is_gone(&self) -> bool {
        matches!(&self.health.trouble, Some(trouble) if trouble.is_absence())
    }

    /// Returns `true` if a fresh connection is answered, if only in part. The requests that were sent behind
    /// responses on these connections get their time too.
    fn is_alive(&mut self, behind: &[Peer]) -> bool {
        self.health.silent = false;
        let protocol = self.setup.protocol;
        let message = protocol.probe().and_then(|ask| protocol.resolve(&ask, self.setup.name, &self.past));
        let Some(message) = message else { return false };
        // A connection that the script does not use.
        let number = self.connections.opened.len() as u32;
        let Some(token) = self.open(number) else { return false };
        let (owed, completed) = (self.outstanding.total, self.outstanding.completed);
        self.clock.deadline = self.setup.limits.in_time(self.setup.limits.patience);
        self.clock.freed = self.clock.deadline;
        if self.send(token, message, &[], None).is_none() || self.outstanding.total == owed {
            return false;
        }
        self.attend(token);
        let probe = |case: &Self| {
            let connection = case.connections.slots[token]
                .as_ref()
                .filter(|connection| connection.peer == Peer::Opened(number));
            connection.map(|connection| connection.owed.is_empty())
        };
        self.wait_until(None, |case| probe(case) != Some(false) && !case.is_behind(behind));
        // A server that responds and closes is alive too.
        let has_begun = self.connections.slots[token].as_ref().is_some_and(|probe| probe.has_begun());
        let alive = self.outstanding.completed > completed || has_begun;
        if probe(self) == Some(false) {
            self.hang_up(token);
        }
        self.health.silent = false;
        alive
    }

    /// Reports the oldest missing response as trouble.
    fn report_silence(&mut self, alive: bool) {
        let Self { setup, .. } = *self;
        let waited = setup.limits.patience;
        let oldest = self
            .connections
            .iter()
            .filter(|connection| connection.is_waiting())
            .min_by_key(|connection| connection.history.since);
        let Some(connection) = oldest else { return };
        if connection.is_connecting() {
            self.fail(Trouble::Unresponsive { address: setup.target.address, waited });
            return;
        }
        let request = connection.owed.front().and_then(|owed| self.past.request(owed.exchange?));
        let request = request.map_or_else(|| "the last request".to_owned(), crate::brief);
        let outstanding = self.outstanding.total;
        let came = if connection.has_begun() { connection.reader.held() } else { 0 };
        let silence = connection.quiet_since().elapsed();
        self.fail(if came > 0 && silence < waited {
            Trouble::Slow { request, bytes: came, waited: connection.history.since.elapsed() }
        } else {
            Trouble::Silent { request, outstanding, waited, came, alive }
        });
    }

    /// Ends every connection, without recording it.
    pub(super) fn hang_up_all(&mut self) {
        let any_accepted =
            self.connections.iter().any(|connection| matches!(connection.peer, Peer::Accepted(_)));
        for connection in self.connections.slots.drain(..).flatten() {
            // A reset is only harmless if nothing is under way.
            if connection.owed.is_empty() && connection.outbox.is_empty() && !connection.socket.readable {
                connection.drop_at_once();
            }
        }
        if any_accepted {
            self.net.ended = Some(Instant::now());
            std::thread::sleep(NOTICE);
        }
    }
}
