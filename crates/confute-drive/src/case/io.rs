//! The sockets of a case: waiting, writing, reading.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use confute::trace::Event;

use super::Case;
use crate::connection::{Connection, Got, Wrote};
use crate::erased::AnyMessage;
use crate::net::LISTENER;
use crate::script::Peer;
use crate::trouble::Trouble;

/// Number of reads from one connection before the others have their turn.
const READS: u32 = 4;
/// Number of responses too long to be read, with no other in between, that make a flood. Where many
/// connections are opened at once, a few of them may be the only ones that are answered so far, so more are
/// required if they are small.
const MOST_OVERLONG: u32 = 3;
const MOST_SMALL_OVERLONG: u32 = 8;
/// Size in bytes below which an overlong response is small.
const SMALL_OVERLONG: usize = 1 << 20;
/// Multiple of the largest message that several cases may hold of unfinished ones.
const CRAMMED: usize = 8;
/// Part of the largest message from which on an unfinished one contributes to that.
const SHARE: usize = 16;
/// Multiple of the patience that a response may take if its bytes arrive one by one.
pub(super) const TRICKLE: u32 = 4;
/// Longest wait for the poll, so that a request to stop is noticed.
const NAP: Duration = Duration::from_millis(50);

impl Case<'_> {
    /// Waits for a condition. Returns `false` if the case is over, or the time is up, first.
    pub(super) fn wait_until(&mut self, until: Option<Instant>, done: impl Fn(&Self) -> bool) -> bool {
        self.scatter();
        loop {
            if self.draining {
                self.be_courteous();
            }
            if done(self) {
                return true;
            }
            let now = Instant::now();
            let end = until.map_or(self.clock.deadline, |until| until.min(self.clock.deadline));
            if self.is_over() || now >= end {
                return false;
            }
            let pause = self.connections.iter().filter_map(|connection| connection.outbox.pause()).min();
            let next = [Some(end), pause, self.silence()].into_iter().flatten().min().unwrap_or(end);
            let moved = self.turn(next.saturating_duration_since(now).min(NAP));
            if !moved && self.is_silent() {
                self.health.silent = !self.read_anyway() && self.is_silent();
            }
            self.give_way();
        }
    }

    /// Ends the case if an older one waits for connections that this one may have, or if this one waits so: each may have
    /// connections for which the other waits. Content that is held back until 100 Continue is no reason for the server not to
    /// take the connection.
    fn give_way(&mut self) {
        let Some(shift) = &self.net.shift else { return };
        let freed = self.clock.freed;
        let is_new = |connection: &&Connection| {
            let is_unmet = connection.history.answers == 0 && connection.reader.held() == 0;
            is_unmet && matches!(connection.peer, Peer::Opened(_)) && connection.is_waiting()
        };
        let since = |connection: &Connection| match connection.outbox.pause() {
            Some(_) => connection.quiet_since(),
            None => connection.quiet_since().max(freed),
        };
        let since =
            if self.withholds() { None } else { self.connections.iter().filter(is_new).map(since).min() };
        let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
        if shift.gives_way(waited, self.setup.limits.patience) {
            self.fail(Trouble::Starved { waited });
        }
    }

    /// Reads every connection, whatever the system reports, before the server is called silent. Returns
    /// `true` if something was received.
    fn read_anyway(&mut self) -> bool {
        let before = self.clock.happened;
        for token in 0..self.connections.slots.len() {
            if let Some(connection) = &mut self.connections.slots[token] {
                connection.socket.readable = true;
                self.attend(token);
            }
        }
        self.clock.happened != before
    }

    /// Returns `true` if the patience with the server has ended.
    fn is_silent(&mut self) -> bool {
        self.silence().is_some_and(|silence| Instant::now() >= silence)
    }

    /// Returns the end of the patience with the server. `None` while the tester itself holds something back:
    /// the server may be waiting for that. A server that sends byte by byte is not silent, but its time is
    /// limited.
    fn silence(&mut self) -> Option<Instant> {
        if self.holds_back() {
            self.clock.freed = Instant::now();
            return None;
        }
        let (patience, freed) = (self.setup.limits.patience, self.clock.freed);
        let waiting = self.connections.iter().filter(|connection| connection.is_waiting());
        let ends = waiting.map(|connection| {
            let longest = connection.history.since.max(freed) + TRICKLE * patience;
            longest.min(connection.quiet_since().max(freed) + patience)
        });
        ends.min()
    }

    /// Returns `true` if the server may be waiting for the tester.
    fn holds_back(&self) -> bool {
        self.withholds() || self.connections.iter().any(|connection| connection.outbox.pause().is_some())
    }

    /// Returns `true` if the server may be waiting for later steps of the script.
    pub(super) fn withholds(&self) -> bool {
        !self.questions.open.is_empty() || self.connections.iter().any(|connection| connection.held)
    }

    /// Polls the sockets, with this longest wait, and handles their events. Returns `true` if there were any.
    pub(super) fn turn(&mut self, wait: Duration) -> bool {
        let wait = if self.connections.ready.is_empty() { wait } else { Duration::ZERO };
        let start = Instant::now();
        if let Err(error) = self.net.poll.poll(&mut self.net.events, Some(wait)) {
            self.net.events.clear();
            if error.kind() != ErrorKind::Interrupted {
                self.fail(Trouble::Local { what: "cannot wait for sockets", why: error.to_string() });
            }
        }
        self.clock.polled = Instant::now();
        if !wait.is_zero() {
            let waited = self.clock.polled.saturating_duration_since(start);
            self.record.figures.waiting += waited;
            if let Some(shift) = &self.net.shift {
                shift.waited(waited);
            }
        }
        let mut ready = std::mem::take(&mut self.connections.ready);
        let (mut accepts, mut ends) = (false, 0);
        for event in &self.net.events {
            if event.token() == LISTENER {
                accepts = true;
            } else if let Some(Some(connection)) = self.connections.slots.get_mut(event.token().0) {
                connection.ready(event);
                // Ends are handled first, and all of them: ends at the same time may be a restart.
                let place = if event.is_read_closed() { ends } else { ready.len() };
                ends += usize::from(event.is_read_closed());
                ready.insert(place, event.token().0);
            }
        }
        for (token, connection) in self.connections.slots.iter().enumerate() {
            if connection.as_ref().is_some_and(|connection| {
                connection.outbox.pause().is_some_and(|pause| pause <= self.clock.polled)
            }) {
                ready.push(token);
            }
        }
        let moved = !ready.is_empty() || accepts;
        let mut tokens = ready.drain(..);
        for token in tokens.by_ref() {
            self.attend(token);
            ends = ends.saturating_sub(1);
            if ends == 0 && self.outstanding.enough.is_some_and(|enough| self.outstanding.total <= enough) {
                break;
            }
        }
        self.connections.ready.extend(tokens);
        if self.connections.ready.len() > 2 * self.connections.slots.len() {
            self.connections.ready.sort_unstable();
            self.connections.ready.dedup();
        }
        if accepts {
            self.accept();
        }
        moved
    }

    /// Writes to and reads from a connection as far as possible, and removes it if it has ended.
    pub(super) fn attend(&mut self, token: usize) {
        let Some(mut connection) = self.connections.slots.get_mut(token).and_then(Option::take) else {
            return;
        };
        if self.serve(token, &mut connection) {
            self.connections.slots[token] = Some(connection);
        } else {
            self.retire(token, *connection);
        }
    }

    /// Writes to and reads from a connection as far as possible. Returns `false` if it has ended.
    fn serve(&mut self, token: usize, connection: &mut Connection) -> bool {
        let was_connecting = connection.is_connecting();
        let (outcome, _) = self.write_out(connection);
        if let Wrote::Unconnected(error) = outcome {
            self.unconnected(&error);
            self.ended(connection, false);
            return false;
        }
        if connection.is_connecting() {
            return true;
        }
        self.health.connected |= was_connecting;
        if self.is_apart(connection) && !self.go_on(token, connection) {
            return false;
        }
        if connection.half_closed {
            // Nothing more will arrive, so the connection is over after the last response.
            let goes_on = matches!(outcome, Wrote::Fine) && !connection.socket.finished;
            if !goes_on {
                self.ended(connection, true);
            }
            return goes_on;
        }
        for _ in 0..READS {
            if !connection.socket.readable || connection.held {
                return true;
            }
            match connection.read(&mut self.net.buffer) {
                Got::Nothing => {
                    if connection.has_room() && connection.outbox.pause().is_none() {
                        self.connections.ready.push(token);
                    }
                    return true;
                }
                Got::Bytes(count) => {
                    let bytes = &self.net.buffer[..count];
                    connection.history.unasked += count;
                    connection.history.heard = Instant::now();
                    if let Some(wire) = connection.wire {
                        self.raw.keep(wire, false, self.clock.micros(Instant::now()), bytes);
                    }
                    connection.reader.feed(bytes, &mut self.inbox);
                    if connection.reader.goes_on() && connection.outbox.resume() {
                        self.connections.ready.push(token);
                    }
                    let (overlong, came) = (self.health.overlong, connection.history.unasked);
                    if !self.take_in(token, connection)
                        || (self.is_apart(connection) && !self.go_on(token, connection))
                    {
                        return false;
                    }
                    let (held, limits) = (connection.reader.held(), self.setup.limits);
                    if connection.reader.is_lost() {
                        // A single overlong response is ignored; several in a row are a flood.
                        self.health.overlong = overlong + 1;
                        self.outstanding.lost += connection.owed.len();
                        let is_small = came < SMALL_OVERLONG;
                        let most = if is_small { MOST_SMALL_OVERLONG } else { MOST_OVERLONG };
                        if self.health.overlong >= most {
                            self.fail(Trouble::Flood { bytes: came, unfinished: true });
                        }
                        self.part(connection);
                        return false;
                    }
                    let is_full = self.is_crammed(connection.history.unread.note(held), held);
                    if held > limits.message || is_full || connection.history.unasked > limits.unasked {
                        let unfinished = held > limits.message || is_full;
                        let bytes = if unfinished { held } else { connection.history.unasked };
                        self.fail(Trouble::Flood { bytes, unfinished });
                        self.part(connection);
                        return false;
                    }
                }
                Got::End { orderly } => {
                    connection.reader.end(orderly, &mut self.inbox);
                    let goes_on = self.take_in(token, connection);
                    if goes_on && orderly && self.is_awaited(token, connection) {
                        connection.half_closed = true;
                        self.connections.ready.push(token);
                        return true;
                    }
                    if goes_on {
                        self.ended(connection, orderly);
                    }
                    return false;
                }
            }
        }
        self.connections.ready.push(token);
        true
    }

    /// Writes as far as possible. Returns the result, and `true` if any byte was written.
    pub(super) fn write_out(&mut self, connection: &mut Connection) -> (Wrote, bool) {
        let was_finished = connection.socket.finished;
        let (wire, raw, start) = (connection.wire, &mut self.raw, self.clock.start);
        let mut wrote = false;
        let outcome = connection.flush(|bytes| {
            wrote = true;
            if let Some(wire) = wire {
                raw.keep(wire, true, start.elapsed().as_micros() as u64, bytes);
            }
        });
        if wrote {
            connection.history.since = Instant::now();
        }
        if connection.socket.finished && !was_finished && matches!(connection.peer, Peer::Accepted(_)) {
            self.net.ended = Some(Instant::now());
        }
        (outcome, wrote)
    }

    /// Returns the time when the tester last ended a connection that the server had opened, in microseconds
    /// since the case began (below zero if that was before).
    fn ended_at(&self) -> Option<i64> {
        let ended = self.net.ended?;
        let since = ended.saturating_duration_since(self.clock.start).as_micros();
        let before = self.clock.start.saturating_duration_since(ended).as_micros();
        Some(i64::try_from(since).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(i64::MAX))
    }

    /// Returns `true` if the cases hold too many bytes of unfinished messages, to which this connection contributes its
    /// share. A case alone may hold more.
    fn is_crammed(&self, all: usize, held: usize) -> bool {
        let most = self.setup.limits.message;
        all > CRAMMED * most
            && held > most / SHARE
            && self.net.shift.as_ref().is_some_and(crate::crew::Shift::has_company)
    }

    /// Takes the messages that were read. Returns `false` if the connection has ended.
    fn take_in(&mut self, token: usize, connection: &mut Connection) -> bool {
        if self.inbox.is_empty() {
            return true;
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        let goes_on = inbox.drain(..).all(|message| self.received(token, connection, message));
        self.inbox = inbox;
        goes_on
    }

    pub(super) fn received(
        &mut self,
        token: usize,
        connection: &mut Connection,
        mut message: AnyMessage,
    ) -> bool {
        let protocol = self.setup.protocol;
        let now = Instant::now();
        protocol.stamp(&mut message, self.clock.micros(now));
        if matches!(connection.peer, Peer::Accepted(_)) {
            match self.classify(token, connection, message) {
                Some(Some(concerns)) => message = concerns,
                Some(None) => return true,
                None => {
                    self.part(connection);
                    return false;
                }
            }
        }
        if let (Peer::Opened(_), Some(wire), true) =
            (connection.peer, connection.wire, protocol.is_unasked(&message))
        {
            self.clock.note_news(now);
            self.record.figures.answers += 1;
            connection.history.unasked = 0;
            self.record.tell(Event::Received(wire, message), self.outstanding.total);
            return true;
        }
        if let (Peer::Opened(_), Some(owed)) = (connection.peer, connection.owed.front())
            && let Some(request) = owed.exchange.and_then(|exchange| self.past.request(exchange))
        {
            protocol.note_causes(&mut message, request, &self.past, self.ended_at());
        }
        if matches!(connection.peer, Peer::Opened(_)) && protocol.is_excused(&message) {
            self.outstanding.lost += connection.owed.len();
            self.part(connection);
            return false;
        }
        let is_first = matches!(connection.peer, Peer::Opened(_)) && connection.history.answers == 0;
        if is_first && protocol.turns_away(&message) {
            self.ended(connection, true);
            return false;
        }
        let wire = match connection.wire {
            Some(wire) => wire,
            None => self.introduce(token, connection),
        };
        if let Some(place) = connection.owed.front().and_then(|owed| owed.exchange) {
            protocol.notice(&self.past, place, &mut message);
        }
        if self.is_apart(connection) && !connection.is_open() {
            protocol.dropped(&mut message);
        }
        self.clock.note_news(now);
        self.health.overlong = 0;
        self.record.figures.answers += 1;
        self.record.tell(Event::Received(wire, message.clone()), self.outstanding.total);
        let Peer::Opened(number) = connection.peer else {
            self.past.was_asked(connection.peer, &message);
            if connection.is_open() || !protocol.has_single_exchanges() {
                self.questions.open.push((connection.peer, message));
            } else {
                // The tester can send nothing more on it, so the request stays unanswered.
                self.part_apart(connection);
                connection.asking = false;
            }
            return true;
        };
        connection.history.announced |= protocol.announces_end(&message);
        self.responded((number, connection), &message, now);
        true
    }

    /// Notes a response to the oldest request of a connection.
    fn responded(
        &mut self,
        (number, connection): (u32, &mut Connection),
        message: &AnyMessage,
        now: Instant,
    ) {
        let protocol = self.setup.protocol;
        let Some(owed) = connection.owed.front_mut() else { return };
        let (exchange, asked, waits) = (owed.exchange, owed.asked, owed.waits);
        let mut done = false;
        if protocol.completes(message) {
            owed.answers -= 1;
            done = owed.answers == 0;
            if done {
                connection.owed.pop_front();
                if let Some(step) = exchange.and_then(|exchange| self.past.step(exchange)) {
                    self.outstanding.note_answer(connection.peer, step);
                }
            }
            self.outstanding.settle(number, 1);
            connection.history.since = now;
            connection.history.answered = true;
            connection.history.answers += 1;
            connection.history.met.get_or_insert(now);
            self.health.downfall.answered(connection, asked);
            if let Some(shift) = &self.net.shift {
                // How long a request waits for others says nothing about the server.
                let is_first = connection.history.answers == 1 && !waits;
                shift.answered(is_first.then(|| now.saturating_duration_since(asked)));
            }
            connection.history.unasked = 0;
            self.outstanding.completed += 1;
            self.health.fruitless = 0;
        }
        if let Some(exchange) = exchange {
            self.note_reply(exchange, message, done.then_some(now));
        }
    }

    /// Adds a response to its exchange, which is complete at `done`.
    fn note_reply(&mut self, exchange: usize, message: &AnyMessage, done: Option<Instant>) {
        let protocol = self.setup.protocol;
        let Some(request) = self.past.request(exchange) else { return };
        if let Some(now) = done
            && let Some(refusal) = protocol.refusal(request, message)
        {
            let refusals = &mut self.record.figures.refusals;
            *refusals.statuses.entry(refusal.status).or_default() += 1;
            if let Some(pause) = refusal.retry_after {
                refusals.retry_after += 1;
                self.clock.retry_at = self.clock.retry_at.max(now.checked_add(pause));
            }
        }
        if let Some(how) = protocol.broken_off(message) {
            self.record.figures.broken_off.add(|| format!("{request:#}: {how}"));
        }
        self.past.reply(exchange, message);
        if done.is_some() {
            self.setup.gauge.reach(protocol.reached(&self.past, exchange));
        }
    }
}
