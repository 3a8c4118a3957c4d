//! Performs the steps of a script.

use std::time::{Duration, Instant};

use confute::trace::{Event, WireConn};

use super::Case;
use crate::connection::{Connection, Owed, Wrote};
use crate::erased::{AnyAsk, AnyMessage};
use crate::script::{Peer, Step, Until};

/// Time after a poll in which sockets are not polled again before a step. It is long enough for a burst: a
/// server that responds faster than the tester sends would otherwise never have two requests at once.
const FRESH: Duration = Duration::from_millis(1);

/// Longest wait without news while the server may be waiting for the tester.
const STALEMATE: Duration = Duration::from_millis(100);

/// Time for the response to a request that was waiting, after the last news or the last such request.
const WAKING: Duration = Duration::from_millis(3);

/// Delay by which a request of the server may come after another one in a replay, though it came first in the
/// original run.
const LATE: Duration = Duration::from_millis(20);

impl Case<'_> {
    /// Polls the sockets before the next step, unless that was done just now.
    pub(super) fn look_for_news(&mut self) {
        if self.connections.gathered.is_none() && self.clock.polled.elapsed() > FRESH {
            self.turn(Duration::ZERO);
        }
    }

    /// Adds the responses since the last step to the script: the next step is chosen in knowledge of them.
    pub(super) fn note_answers(&mut self) {
        let waits = self.outstanding.answered.drain(..).map(|(_, step)| Step::Wait(Until::Answered(step)));
        self.script.extend(waits);
    }

    pub(super) fn step(&mut self, step: Step<AnyAsk>, waits_for_references: bool) {
        if !matches!(step, Step::Ask { .. } | Step::Hold(_) | Step::Gather) {
            self.scatter();
        }
        match step {
            Step::Gather => {
                self.connections.gathered.get_or_insert_default();
            }
            Step::Ask { on, ask, cuts } => self.ask(on, ask, &cuts, waits_for_references),
            // The request that the original run waited for is there already.
            Step::Wait(Until::Something) if waits_for_references && !self.questions.open.is_empty() => {}
            Step::Wait(until) => self.wait(until),
            Step::Hold(peer) => {
                if let Some(token) = self.opened_or_accepted(peer)
                    && let Some(connection) = &mut self.connections.slots[token]
                {
                    connection.held = true;
                }
            }
            Step::Release(peer) => {
                if let Some(token) = self.connections.token(peer) {
                    self.release(token);
                }
            }
            Step::HangUp(peer) => {
                if let Some(token) = self.connections.token(peer) {
                    self.hang_up(token);
                }
            }
            Step::Finish(peer) => {
                if let Some(token) = self.connections.token(peer)
                    && let Some(connection) = &mut self.connections.slots[token]
                {
                    connection.finish();
                    self.attend(token);
                }
            }
        }
    }

    /// Returns the connection with this name if messages can be sent on it; opens it if it is the tester's to
    /// open.
    fn opened_or_accepted(&mut self, peer: Peer) -> Option<usize> {
        let token = self.connections.token(peer);
        let usable = token.filter(|token| {
            self.connections.slots[*token].as_ref().is_some_and(|connection| connection.is_open())
        });
        match peer {
            Peer::Opened(number) => usable.or_else(|| self.open(number)),
            Peer::Accepted(_) => usable,
        }
    }

    /// Sends an ask. Waits until fewer requests than the limit are outstanding and, in a replay, until the responses that the
    /// ask refers to have arrived; then resolves it. An ask that cannot be resolved or sent is skipped.
    fn ask(&mut self, on: Peer, ask: AnyAsk, cuts: &[(usize, u64)], waits_for_references: bool) {
        if self.outstanding.total >= self.setup.limits.outstanding {
            self.wait(Until::Outstanding(self.setup.limits.outstanding - 1));
        }
        let on = match on {
            Peer::Accepted(_) => self.who_asks(on, &ask, waits_for_references),
            Peer::Opened(_) => Some(on),
        };
        let (protocol, name) = (self.setup.protocol, self.setup.name);
        let mut message = protocol.resolve(&ask, name, &self.past);
        while message.is_none() && waits_for_references && self.outstanding.total > 0 && !self.is_over() {
            let before = self.clock.happened;
            // A request that waits may wait for this one.
            let end = if self.counted() > 0 { self.patience() } else { Instant::now() + STALEMATE };
            if !self.wait_for(Some(end), |case| case.clock.happened != before) {
                break;
            }
            message = protocol.resolve(&ask, name, &self.past);
        }
        if self.is_over() {
            return;
        }
        let found = on.zip(message);
        let found = found.and_then(|(on, message)| Some((on, self.opened_or_accepted(on)?, message)));
        let Some((on, token, message)) = found else {
            self.skip();
            return;
        };
        let exchange = self.past.len();
        if let Some(place) = self.questions.open.iter().position(|(peer, _)| *peer == on) {
            self.questions.open.remove(place);
        }
        let Some(request) = self.send(token, message, cuts, Some(exchange)) else {
            self.skip();
            return;
        };
        let step = self.script.len() - 1;
        self.past.ask(step, on, &ask, request);
        match &mut self.connections.gathered {
            Some(gathered) => gathered.push(token),
            None => self.attend(token),
        }
    }

    /// Notes that the last step did nothing, and replaces it by one that does nothing in a replay either.
    fn skip(&mut self) {
        self.record.figures.skipped += 1;
        if let Some(step) = self.script.last_mut() {
            *step = Step::Wait(Until::Millis(0));
        }
    }

    /// Sends the gathered requests.
    pub(super) fn scatter(&mut self) {
        self.connections.gathered.take().into_iter().flatten().for_each(|token| self.attend(token));
    }

    /// Returns the connection that gets a response meant for this one. In the original run a request was
    /// waiting there; in a replay it may be late, or come on another connection if the script differs. Then
    /// the response goes to the request that has waited longest, of those that it suits.
    fn who_asks(&mut self, on: Peer, ask: &AnyAsk, is_replay: bool) -> Option<Peer> {
        let protocol = self.setup.protocol;
        let suits = |asked: &AnyMessage| !is_replay || protocol.suits(ask, asked);
        let asks = |case: &Self| case.questions.open.iter().any(|(peer, asked)| *peer == on && suits(asked));
        let is_any = |case: &Self| case.questions.open.iter().any(|(_, asked)| suits(asked));
        let is_enough =
            |case: &Self| asks(case) || (is_replay && (is_any(case) || case.outstanding.total == 0));
        self.wait_for(Some(self.patience()), is_enough);
        if !asks(self) && self.outstanding.total > 1 {
            self.wait_for(Some(Instant::now() + LATE), asks);
        }
        if asks(self) || !is_replay {
            return Some(on);
        }
        let (other, _) = self.questions.open.iter().find(|(_, asked)| suits(asked))?;
        let other = *other;
        if let Some(Step::Ask { on, .. }) = self.script.last_mut() {
            *on = other;
        }
        Some(other)
    }

    /// Records a message and queues it for writing. The caller attends to the connection next. A response to
    /// the server is recorded only if it can be written: its connection may have ended unnoticed.
    pub(super) fn send(
        &mut self,
        token: usize,
        mut message: AnyMessage,
        cuts: &[(usize, u64)],
        exchange: Option<usize>,
    ) -> Option<AnyMessage> {
        let protocol = self.setup.protocol;
        let now = Instant::now();
        let micros = self.clock.micros(now);
        let mut connection = self.connections.slots[token].take()?;
        let sent = self.put_out(&mut connection, &mut message, cuts, (now, micros), exchange);
        self.connections.slots[token] = Some(connection);
        let wire = sent?;
        self.record.figures.requests += 1;
        self.record.figures.outstanding.add(self.outstanding.total as u64);
        let parts = protocol.parts(&message).unwrap_or_else(|| vec![message.clone()]);
        parts.into_iter().for_each(|part| self.record.tell(Event::Sent(wire, part), self.outstanding.total));
        Some(message)
    }

    /// Queues a message for writing. Returns `None` if it cannot be written.
    fn put_out(
        &mut self,
        connection: &mut Connection,
        message: &mut AnyMessage,
        cuts: &[(usize, u64)],
        (now, micros): (Instant, u64),
        exchange: Option<usize>,
    ) -> Option<WireConn> {
        let protocol = self.setup.protocol;
        let wire = connection.wire?;
        protocol.stamp(message, micros);
        if connection.half_closed {
            protocol.half_closed(message);
        }
        if !connection.owed.is_empty() {
            protocol.follows(message);
        }
        connection.reader.sent(message);
        connection.history.since = now;
        connection.history.answered = false;
        let answers = protocol.answers(message);
        if let (Peer::Opened(number), 1..) = (connection.peer, answers) {
            let waits = protocol.may_wait(message);
            connection.owed.push_back(Owed { exchange, answers, asked: now, waits });
            self.outstanding.owe(number, answers);
        }
        let reader = &connection.reader;
        let encode = |bytes: &mut Vec<u8>| {
            let from = bytes.len();
            protocol.encode(message, bytes);
            reader.amend(bytes, from);
        };
        connection.outbox.push(cuts, encode, |bytes| protocol.conceal(bytes));
        if protocol.is_last(message) {
            connection.finish();
        }
        // Nothing is read in between, so recording the message after this write is as good as before its
        // first byte.
        if self.is_apart(connection) {
            let is_unwritten = matches!(self.write_out(connection), (Wrote::Broken, false));
            if is_unwritten {
                self.part_apart(connection);
            }
            connection.asking = false;
            return (!is_unwritten).then_some(wire);
        }
        Some(wire)
    }

    fn release(&mut self, token: usize) {
        if let Some(connection) = &mut self.connections.slots[token]
            && std::mem::take(&mut connection.held)
        {
            connection.history.since = Instant::now();
            self.attend(token);
        }
    }

    pub(super) fn release_all(&mut self) {
        (0..self.connections.slots.len()).for_each(|token| self.release(token));
    }

    pub(super) fn wait(&mut self, until: Until) {
        match until {
            Until::Outstanding(most) => {
                let asked = self.past.asked();
                // Further responses are read later: this number is to stay outstanding, and not fewer.
                self.outstanding.enough = Some(most);
                let is_enough = |case: &Self| case.counted() <= most || case.past.asked() > asked;
                self.wait_for(None, is_enough);
                while let Some(end) = self.waking()
                    && is_enough(self)
                {
                    let before = self.clock.happened;
                    self.wait_until(Some(end), |case| case.clock.happened != before);
                    if self.is_over() {
                        break;
                    }
                }
                self.outstanding.enough = None;
                if self.outstanding.total == 0 {
                    // With nothing outstanding, a barrier in the script implies these waits.
                    self.outstanding.answered.clear();
                }
            }
            Until::Answered(step) => {
                let start = Instant::now();
                // A request that waits may wait for later steps.
                let is_vain =
                    |case: &Self| case.is_parked(step) && case.clock.news.max(start).elapsed() > STALEMATE;
                self.wait_for(None, |case| !case.is_owed(step) || is_vain(case));
            }
            Until::Something => {
                let (before, patience) = (self.clock.happened, self.patience());
                self.wait_for(Some(patience), |case| case.clock.happened != before || case.counted() == 0);
            }
            Until::Soon(millis) => {
                let (before, end) = (self.clock.happened, Instant::now() + Duration::from_millis(millis));
                self.wait_until(Some(end), |case| case.clock.happened != before);
            }
            Until::Millis(millis) => {
                let end = Instant::now() + Duration::from_millis(millis);
                self.wait_until(Some(end), |_| false);
            }
        }
    }

    /// Waits for a condition, but not long while the server may be waiting for the tester: then the condition
    /// might never come true.
    fn wait_for(&mut self, until: Option<Instant>, done: impl Fn(&Self) -> bool) -> bool {
        let start = Instant::now();
        self.wait_until(until, |case| {
            done(case) || (case.withholds() && case.clock.news.max(start).elapsed() > STALEMATE)
        }) && done(self)
    }

    /// Returns `true` if this wait for responses has not ended by itself.
    pub(super) fn is_vain(&self, until: Until) -> bool {
        match until {
            Until::Outstanding(most) => self.counted() > most,
            Until::Answered(step) => self.is_owed(step),
            Until::Something | Until::Soon(_) | Until::Millis(_) => false,
        }
    }

    /// Returns `true` if a response to this step is outstanding.
    fn is_owed(&self, step: usize) -> bool {
        let Some(place) = self.past.place(step) else { return false };
        self.connections
            .iter()
            .flat_map(|connection| &connection.owed)
            .any(|owed| owed.exchange == Some(place))
    }

    /// Returns `true` if the response to this step is outstanding, and may come later or never.
    fn is_parked(&self, step: usize) -> bool {
        let Some(place) = self.past.place(step) else { return false };
        let parked = self.connections.iter().filter(|connection| connection.is_parked());
        parked.flat_map(|connection| &connection.owed).any(|owed| owed.exchange == Some(place))
    }

    /// Returns the number of outstanding responses on connections that are read, without those that may come later or never.
    fn counted(&self) -> usize {
        let open = |connection: &&Connection| connection.held || connection.is_parked();
        let unread = self.connections.iter().filter(open);
        let unread: usize =
            unread.flat_map(|connection| &connection.owed).map(|owed| owed.answers as usize).sum();
        self.outstanding.total - unread
    }

    /// Returns the time until which a request that has just been sent, or woken by what has just happened, is likely to be answered:
    /// without that moment a barrier would not separate the response from what follows.
    fn waking(&self) -> Option<Instant> {
        let first = self.connections.iter().filter_map(|connection| connection.owed.front());
        let latest = first.filter(|owed| owed.waits).map(|owed| owed.asked).max();
        let end = latest?.max(self.clock.news) + WAKING;
        (Instant::now() < end && Instant::now() < self.clock.deadline).then_some(end)
    }

    fn patience(&self) -> Instant {
        Instant::now() + self.setup.limits.patience
    }
}
