//! The end of a case: nothing of it may be under way when the next one begins.

use std::time::{Duration, Instant};

use confute::trace::Event;

use super::Case;
use crate::line::Line;
use crate::script::Peer;
use crate::trouble::Trouble;

/// How long to wait for what no longer matters.
const AFTERMATH: Duration = Duration::from_millis(250);
/// How long to wait for answers when somebody said stop.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a server gets to notice that connections which it opened are gone. If it used them again, it would fail.
const NOTICE: Duration = Duration::from_millis(20);
/// How often a slow server may surprise us while we ask whether it is alive.
const SURPRISES: u32 = 3;

impl Case<'_> {
    /// Waits for what is outstanding. What does not come is looked into.
    pub(super) fn finish(&mut self) {
        let patience = self.setup.limits.patience;
        let stopped = !self.draining && self.setup.stop.load(std::sync::atomic::Ordering::Relaxed);
        self.draining = true;
        self.clock.freed = Instant::now();
        self.release_all();
        if self.record.is_over() || self.health.trouble.is_some() {
            // Ends that were not looked at yet tell of a restart.
            self.turn(Duration::ZERO);
            self.clock.deadline = self.setup.limits.in_time(AFTERMATH);
            while self.outstanding.total > 0 && Instant::now() < self.clock.deadline && !self.is_gone() {
                self.be_courteous();
                self.turn(Duration::from_millis(10));
            }
            return;
        }
        for _ in 0..SURPRISES {
            // A server that drips is not silent, but it does not get for ever.
            let wait = if stopped { FAREWELL.min(patience) } else { patience * 4 };
            self.clock.deadline = self.setup.limits.in_time(wait);
            // What the tester was asked and did not answer, others may wait for.
            let came = self.wait_until(None, |case| {
                !case.questions.open.is_empty() || !case.connections.iter().any(Line::is_waiting)
            });
            let late = self.setup.limits.is_over();
            if came
                || late
                || self.record.is_over()
                || self.health.trouble.is_some()
                || (stopped && !self.health.silent)
            {
                return;
            }
            let owed = self.outstanding.total;
            let alive = self.is_alive();
            // A server that was not given its time does not hang.
            if !alive && self.setup.limits.is_over() {
                return;
            }
            if self.outstanding.total == owed {
                if alive && self.is_all_out() {
                    self.tell_stalled();
                    self.record.tell(Event::Quiescent, self.outstanding.total);
                }
                self.despair(alive);
                return;
            }
            // It was only slow.
        }
        self.despair(true);
    }

    /// Tells of answers that were begun and do not go on.
    fn tell_stalled(&mut self) {
        let (now, protocol) = (self.clock.micros(Instant::now()), self.setup.protocol);
        for line in self.connections.lines.iter_mut().flatten().filter(|line| line.is_waiting()) {
            let mut messages = Vec::new();
            line.reader.stalled(&mut messages);
            // What comes after the one that stalls was not there.
            if let (Some(wire), Some(mut message)) = (line.wire, messages.into_iter().next()) {
                protocol.stamp(&mut message, now);
                self.record.tell(Event::Received(wire, message), self.outstanding.total);
            }
        }
    }

    /// Whether everything was sent, and whoever owes an answer can still give it. Else its absence says nothing.
    fn is_all_out(&self) -> bool {
        let is_out = |line: &Line| line.outbox.is_empty() && !line.is_connecting();
        self.connections.iter().all(|line| is_out(line) && (line.owed.is_empty() || line.is_open()))
    }

    /// Whether nothing will come any more.
    fn is_gone(&self) -> bool {
        matches!(&self.health.trouble, Some(trouble) if trouble.is_absence())
    }

    /// Whether a fresh connection is answered.
    fn is_alive(&mut self) -> bool {
        self.health.silent = false;
        let protocol = self.setup.protocol;
        let message = protocol.probe().and_then(|ask| protocol.resolve(&ask, self.setup.name, &self.past));
        let Some(message) = message else { return false };
        // One that the script does not know.
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
            let line =
                case.connections.lines[token].as_ref().filter(|line| line.peer == Peer::Opened(number));
            line.map(|line| line.owed.is_empty())
        };
        self.wait_until(None, |case| probe(case) != Some(false));
        // One that answers and closes is alive too.
        let alive = self.outstanding.completed > completed;
        if probe(self) == Some(false) {
            self.hang_up(token);
        }
        self.health.silent = false;
        alive
    }

    /// Says which answer did not come.
    fn despair(&mut self, alive: bool) {
        let Self { setup, .. } = *self;
        let waited = setup.limits.patience;
        let oldest =
            self.connections.iter().filter(|line| line.is_waiting()).min_by_key(|line| line.history.since);
        let Some(line) = oldest else { return };
        if line.is_connecting() {
            self.fail(Trouble::Unresponsive { address: setup.target.address, waited });
            return;
        }
        let request = line.owed.front().and_then(|owed| self.past.request(owed.exchange?));
        let request = request.map_or_else(|| "what was sent last".to_owned(), crate::brief);
        self.fail(Trouble::Silent { request, outstanding: self.outstanding.total, waited, alive });
    }

    /// Ends every connection; nothing is told any more.
    pub(super) fn hang_up_all(&mut self) {
        let any_accepted = self.connections.iter().any(|line| matches!(line.peer, Peer::Accepted(_)));
        for line in self.connections.lines.drain(..).flatten() {
            // Only if nothing is lost by it.
            if line.owed.is_empty() && line.outbox.is_empty() && !line.socket.readable {
                line.drop_at_once();
            }
        }
        if any_accepted {
            self.net.ended = Some(Instant::now());
            std::thread::sleep(NOTICE);
        }
    }
}
