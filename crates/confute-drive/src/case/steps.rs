//! The steps of a script, one by one.

use std::time::{Duration, Instant};

use confute::trace::{Event, WireConn};

use super::Case;
use crate::erased::{AnyAsk, AnyMessage};
use crate::line::{Line, Owed, Wrote};
use crate::script::{Peer, Step, Until};

/// So long is just now. Long enough for a burst: a server that answers faster than the tester asks would otherwise never have
/// two requests at once.
const FRESH: Duration = Duration::from_millis(1);

/// So long it waits for what the tester itself may hold up.
const STALEMATE: Duration = Duration::from_millis(100);

/// So much later than another one a question may come that came first the last time.
const LATE: Duration = Duration::from_millis(20);

impl Case<'_> {
    /// Looks for news before the next step, unless it did so just now.
    pub(super) fn look_for_news(&mut self) {
        if self.connections.gathered.is_none() && self.clock.polled.elapsed() > FRESH {
            self.turn(Duration::ZERO);
        }
    }

    /// Puts into the script what was answered since the last step: the next one is done in this knowledge.
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
            // What was waited for the last time is there already.
            Step::Wait(Until::Something) if waits_for_references && !self.questions.open.is_empty() => {}
            Step::Wait(until) => self.wait(until),
            Step::Hold(peer) => {
                if let Some(token) = self.opened_or_accepted(peer)
                    && let Some(line) = &mut self.connections.lines[token]
                {
                    line.held = true;
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
                    && let Some(line) = &mut self.connections.lines[token]
                {
                    line.finish();
                    self.attend(token);
                }
            }
        }
    }

    /// The connection of this name, if something can be sent there; opened if it can be.
    fn opened_or_accepted(&mut self, peer: Peer) -> Option<usize> {
        let token = self.connections.token(peer);
        let usable =
            token.filter(|token| self.connections.lines[*token].as_ref().is_some_and(|line| line.is_open()));
        match peer {
            Peer::Opened(number) => usable.or_else(|| self.open(number)),
            Peer::Accepted(_) => usable,
        }
    }

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
            if !self.wait_for(Some(self.patience()), |case| case.clock.happened != before) {
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

    /// Notes that nothing was done in the last step, and nothing is to be done next time.
    fn skip(&mut self) {
        self.record.figures.skipped += 1;
        if let Some(step) = self.script.last_mut() {
            *step = Step::Wait(Until::Millis(0));
        }
    }

    /// Sends what was gathered.
    pub(super) fn scatter(&mut self) {
        self.connections.gathered.take().into_iter().flatten().for_each(|token| self.attend(token));
    }

    /// Who gets an answer that was for this one. Last time it was there; this time it may be late, or another one, if the script
    /// is not quite the same: then it is the one that has waited longest, of those that it suits.
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

    /// Records a message and puts it out to be written. The caller attends to the connection next. An answer to the server is
    /// recorded only if it can be written: its connection may have ended unnoticed.
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
        let mut line = self.connections.lines[token].take()?;
        let sent = self.put_out(&mut line, &mut message, cuts, (now, micros), exchange);
        self.connections.lines[token] = Some(line);
        let wire = sent?;
        self.record.figures.requests += 1;
        self.record.figures.outstanding.add(self.outstanding.total as u64);
        let parts = protocol.parts(&message).unwrap_or_else(|| vec![message.clone()]);
        parts.into_iter().for_each(|part| self.record.tell(Event::Sent(wire, part), self.outstanding.total));
        Some(message)
    }

    /// Puts a message out to be written. `None` if it cannot be.
    fn put_out(
        &mut self,
        line: &mut Line,
        message: &mut AnyMessage,
        cuts: &[(usize, u64)],
        (now, micros): (Instant, u64),
        exchange: Option<usize>,
    ) -> Option<WireConn> {
        let protocol = self.setup.protocol;
        let wire = line.wire?;
        protocol.stamp(message, micros);
        if line.half_closed {
            protocol.half_closed(message);
        }
        if !line.owed.is_empty() {
            protocol.follows(message);
        }
        line.reader.sent(message);
        line.history.since = now;
        line.history.answered = false;
        let answers = protocol.answers(message);
        if let (Peer::Opened(number), 1..) = (line.peer, answers) {
            line.owed.push_back(Owed { exchange, answers, asked: now });
            self.outstanding.owe(number, answers);
        }
        line.outbox.push(cuts, |bytes| protocol.encode(message, bytes), |bytes| protocol.conceal(bytes));
        if protocol.is_last(message) {
            line.finish();
        }
        // Nothing is read in between, so this is as good as being recorded before its first byte is written.
        if self.is_apart(line) {
            let is_unwritten = matches!(self.write_out(line), (Wrote::Broken, false));
            if is_unwritten {
                self.part_apart(line);
            }
            line.asking = false;
            return (!is_unwritten).then_some(wire);
        }
        Some(wire)
    }

    fn release(&mut self, token: usize) {
        if let Some(line) = &mut self.connections.lines[token]
            && std::mem::take(&mut line.held)
        {
            line.history.since = Instant::now();
            self.attend(token);
        }
    }

    pub(super) fn release_all(&mut self) {
        (0..self.connections.lines.len()).for_each(|token| self.release(token));
    }

    pub(super) fn wait(&mut self, until: Until) {
        match until {
            Until::Outstanding(most) => {
                let asked = self.past.asked();
                // What else has come is read later: so much is to be outstanding, and not less.
                self.outstanding.enough = Some(most);
                self.wait_for(None, |case| case.counted() <= most || case.past.asked() > asked);
                self.outstanding.enough = None;
                if self.outstanding.total == 0 {
                    // That says it all.
                    self.outstanding.answered.clear();
                }
            }
            Until::Answered(step) => {
                self.wait_for(None, |case| !case.is_owed(step));
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

    /// Waits until this is so. A server that waits for the tester would be waited for in vain, so not long for that one.
    fn wait_for(&mut self, until: Option<Instant>, done: impl Fn(&Self) -> bool) -> bool {
        let start = Instant::now();
        self.wait_until(until, |case| {
            done(case) || (case.withholds() && case.clock.news.max(start).elapsed() > STALEMATE)
        }) && done(self)
    }

    /// Whether an answer to this step is still to come.
    fn is_owed(&self, step: usize) -> bool {
        let Some(place) = self.past.place(step) else { return false };
        self.connections.iter().flat_map(|line| &line.owed).any(|owed| owed.exchange == Some(place))
    }

    /// Answers outstanding on connections that are read.
    fn counted(&self) -> usize {
        let held = self.connections.iter().filter(|line| line.held);
        let unread: usize = held.flat_map(|line| &line.owed).map(|owed| owed.answers as usize).sum();
        self.outstanding.total - unread
    }

    fn patience(&self) -> Instant {
        Instant::now() + self.setup.limits.patience
    }
}
