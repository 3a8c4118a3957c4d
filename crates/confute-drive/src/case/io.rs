//! The sockets of a case: waiting, writing, reading.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use confute::trace::Event;

use super::Case;
use crate::erased::AnyMessage;
use crate::line::{Got, Line, Wrote};
use crate::net::LISTENER;
use crate::script::Peer;
use crate::trouble::Trouble;

/// How often one connection is read before the others have their turn.
const READS: u32 = 4;
/// Responses too long to be read, with no other in between, that make a flood. Where many connections are opened at once, a few of
/// them may be the only ones that are answered so far, so it takes more of them if they are small.
const MOST_OVERLONG: u32 = 3;
const MOST_SMALL_OVERLONG: u32 = 8;
/// Bytes below which one is small.
const SMALL_OVERLONG: usize = 1 << 20;
/// A wait is never longer, so that a request to stop is heard.
const NAP: Duration = Duration::from_millis(50);

impl Case<'_> {
    /// Waits until this is so; `false` if the case is over, or the time is up, first.
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
            let pause = self.connections.iter().filter_map(|line| line.outbox.pause()).min();
            let next = [Some(end), pause, self.silence()].into_iter().flatten().min().unwrap_or(end);
            let moved = self.turn(next.saturating_duration_since(now).min(NAP));
            if !moved && self.silence().is_some_and(|silence| Instant::now() >= silence) {
                self.health.silent = !self.read_anyway();
            }
        }
    }

    /// Reads every connection, whatever the system says of it, before anybody is called silent; whether there was anything.
    fn read_anyway(&mut self) -> bool {
        let before = self.clock.happened;
        for token in 0..self.connections.lines.len() {
            if let Some(line) = &mut self.connections.lines[token] {
                line.socket.readable = true;
                self.attend(token);
            }
        }
        self.clock.happened != before
    }

    /// When the patience with the server ends. Never, while the tester itself holds something back: the server may be
    /// waiting for that.
    fn silence(&mut self) -> Option<Instant> {
        if self.holds_back() {
            self.clock.freed = Instant::now();
            return None;
        }
        let waiting = self.connections.iter().filter(|line| line.is_waiting());
        let since = waiting.map(|line| line.history.since).min()?;
        Some(since.max(self.clock.freed) + self.setup.limits.patience)
    }

    /// Whether the server may be waiting for the tester.
    fn holds_back(&self) -> bool {
        self.withholds() || self.connections.iter().any(|line| line.outbox.pause().is_some())
    }

    /// Whether it may wait until the script goes on.
    pub(super) fn withholds(&self) -> bool {
        !self.questions.open.is_empty() || self.connections.iter().any(|line| line.held)
    }

    /// Asks the system for news, waiting so long at most, and handles what there is; whether there was any.
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
            self.record.figures.waiting += self.clock.polled.saturating_duration_since(start);
        }
        let mut ready = std::mem::take(&mut self.connections.ready);
        let (mut accepts, mut ends) = (false, 0);
        for event in &self.net.events {
            if event.token() == LISTENER {
                accepts = true;
            } else if let Some(Some(line)) = self.connections.lines.get_mut(event.token().0) {
                line.ready(event);
                // Ends first, and all of them: whether they come at once is worth knowing.
                let place = if event.is_read_closed() { ends } else { ready.len() };
                ends += usize::from(event.is_read_closed());
                ready.insert(place, event.token().0);
            }
        }
        for (token, line) in self.connections.lines.iter().enumerate() {
            if line
                .as_ref()
                .is_some_and(|line| line.outbox.pause().is_some_and(|pause| pause <= self.clock.polled))
            {
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
        if self.connections.ready.len() > 2 * self.connections.lines.len() {
            self.connections.ready.sort_unstable();
            self.connections.ready.dedup();
        }
        if accepts {
            self.accept();
        }
        moved
    }

    /// Writes to and reads from a connection what can be.
    pub(super) fn attend(&mut self, token: usize) {
        let Some(mut line) = self.connections.lines.get_mut(token).and_then(Option::take) else { return };
        if self.serve(token, &mut line) {
            self.connections.lines[token] = Some(line);
        } else {
            self.retire(token, *line);
        }
    }

    /// The same; whether the connection goes on.
    fn serve(&mut self, token: usize, line: &mut Line) -> bool {
        let was_connecting = line.is_connecting();
        let (outcome, _) = self.write_out(line);
        if let Wrote::Unconnected(error) = outcome {
            self.unconnected(&error);
            self.ended(line, false);
            return false;
        }
        if line.is_connecting() {
            return true;
        }
        self.health.connected |= was_connecting;
        if self.is_apart(line) && !self.go_on(token, line) {
            return false;
        }
        if line.half_closed {
            // Nothing more will come, so it is over with the last answer.
            let goes_on = matches!(outcome, Wrote::Fine) && !line.socket.finished;
            if !goes_on {
                self.ended(line, true);
            }
            return goes_on;
        }
        for _ in 0..READS {
            if !line.socket.readable || line.held {
                return true;
            }
            match line.read(&mut self.net.buffer) {
                Got::Nothing => {
                    if line.has_room() && line.outbox.pause().is_none() {
                        self.connections.ready.push(token);
                    }
                    return true;
                }
                Got::Bytes(count) => {
                    let bytes = &self.net.buffer[..count];
                    line.history.unasked += count;
                    if let Some(wire) = line.wire {
                        self.raw.keep(wire, false, self.clock.micros(Instant::now()), bytes);
                    }
                    line.reader.feed(bytes, &mut self.inbox);
                    if line.reader.goes_on() && line.outbox.resume() {
                        self.connections.ready.push(token);
                    }
                    let (overlong, came) = (self.health.overlong, line.history.unasked);
                    if !self.take_in(token, line) || (self.is_apart(line) && !self.go_on(token, line)) {
                        return false;
                    }
                    let (held, limits) = (line.reader.held(), self.setup.limits);
                    if line.reader.is_lost() {
                        // One that is too long is left alone; one after the other is a flood.
                        self.health.overlong = overlong + 1;
                        self.outstanding.lost += line.owed.len();
                        let is_small = came < SMALL_OVERLONG;
                        let most = if is_small { MOST_SMALL_OVERLONG } else { MOST_OVERLONG };
                        if self.health.overlong >= most {
                            self.fail(Trouble::Flood { bytes: came, unfinished: true });
                        }
                        self.part(line);
                        return false;
                    }
                    if held > limits.message || line.history.unasked > limits.unasked {
                        let unfinished = held > limits.message;
                        let bytes = if unfinished { held } else { line.history.unasked };
                        self.fail(Trouble::Flood { bytes, unfinished });
                        self.part(line);
                        return false;
                    }
                }
                Got::End { orderly } => {
                    line.reader.end(orderly, &mut self.inbox);
                    let goes_on = self.take_in(token, line);
                    if goes_on && orderly && self.is_awaited(token, line) {
                        line.half_closed = true;
                        self.connections.ready.push(token);
                        return true;
                    }
                    if goes_on {
                        self.ended(line, orderly);
                    }
                    return false;
                }
            }
        }
        self.connections.ready.push(token);
        true
    }

    /// Writes what can be; whether anything was.
    pub(super) fn write_out(&mut self, line: &mut Line) -> (Wrote, bool) {
        let was_finished = line.socket.finished;
        let (wire, raw, start) = (line.wire, &mut self.raw, self.clock.start);
        let mut wrote = false;
        let outcome = line.flush(|bytes| {
            wrote = true;
            if let Some(wire) = wire {
                raw.keep(wire, true, start.elapsed().as_micros() as u64, bytes);
            }
        });
        if wrote {
            line.history.since = Instant::now();
        }
        if line.socket.finished && !was_finished && matches!(line.peer, Peer::Accepted(_)) {
            self.net.ended = Some(Instant::now());
        }
        (outcome, wrote)
    }

    /// When the tester last ended a connection that the server had opened, in microseconds since the case began.
    fn ended_at(&self) -> Option<i64> {
        let ended = self.net.ended?;
        let since = ended.saturating_duration_since(self.clock.start).as_micros();
        let before = self.clock.start.saturating_duration_since(ended).as_micros();
        Some(i64::try_from(since).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(i64::MAX))
    }

    /// Takes the messages that were read; whether the connection goes on.
    fn take_in(&mut self, token: usize, line: &mut Line) -> bool {
        if self.inbox.is_empty() {
            return true;
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        let goes_on = inbox.drain(..).all(|message| self.received(token, line, message));
        self.inbox = inbox;
        goes_on
    }

    pub(super) fn received(&mut self, token: usize, line: &mut Line, mut message: AnyMessage) -> bool {
        let protocol = self.setup.protocol;
        let now = Instant::now();
        protocol.stamp(&mut message, self.clock.micros(now));
        if matches!(line.peer, Peer::Accepted(_)) {
            match self.sort_out(token, line, message) {
                Some(Some(concerns)) => message = concerns,
                Some(None) => return true,
                None => {
                    self.part(line);
                    return false;
                }
            }
        }
        if let (Peer::Opened(_), Some(owed)) = (line.peer, line.owed.front())
            && let Some(request) = owed.exchange.and_then(|exchange| self.past.request(exchange))
        {
            protocol.note_causes(&mut message, request, &self.past, self.ended_at());
        }
        if matches!(line.peer, Peer::Opened(_)) && protocol.is_excused(&message) {
            self.outstanding.lost += line.owed.len();
            self.part(line);
            return false;
        }
        let wire = match line.wire {
            Some(wire) => wire,
            None => self.introduce(token, line),
        };
        if let Some(place) = line.owed.front().and_then(|owed| owed.exchange) {
            protocol.notice(&self.past, place, &mut message);
        }
        if self.is_apart(line) && !line.is_open() {
            protocol.dropped(&mut message);
        }
        self.clock.note_news(now);
        self.health.overlong = 0;
        self.record.figures.answers += 1;
        self.record.tell(Event::Received(wire, message.clone()), self.outstanding.total);
        let Peer::Opened(number) = line.peer else {
            self.past.was_asked(line.peer, &message);
            if line.is_open() || !protocol.has_single_exchanges() {
                self.questions.open.push((line.peer, message));
            } else {
                // The tester has ended it, so nobody will answer.
                self.part_apart(line);
                line.asking = false;
            }
            return true;
        };
        line.history.announced |= protocol.announces_end(&message);
        let Some(owed) = line.owed.front_mut() else { return true };
        let (exchange, asked) = (owed.exchange, owed.asked);
        let mut done = false;
        if protocol.completes(&message) {
            owed.answers -= 1;
            done = owed.answers == 0;
            if done {
                line.owed.pop_front();
                if let Some(step) = exchange.and_then(|exchange| self.past.step(exchange)) {
                    self.outstanding.note_answer(line.peer, step);
                }
            }
            self.outstanding.settle(number, 1);
            line.history.since = now;
            line.history.answered = true;
            line.history.answers += 1;
            self.health.downfall.answered(line, asked);
            line.history.unasked = 0;
            self.outstanding.completed += 1;
            self.health.fruitless = 0;
        }
        if let Some((exchange, request)) = exchange.and_then(|place| Some((place, self.past.request(place)?)))
        {
            if done && let Some(refusal) = protocol.refusal(request, &message) {
                let refusals = &mut self.record.figures.refusals;
                *refusals.statuses.entry(refusal.status).or_default() += 1;
                if let Some(pause) = refusal.retry_after {
                    refusals.retry_after += 1;
                    self.clock.retry_at = self.clock.retry_at.max(now.checked_add(pause));
                }
            }
            self.past.reply(exchange, &message);
            if done {
                self.setup.gauge.reach(protocol.reached(&self.past, exchange));
            }
        }
        true
    }
}
