//! Delays, refusals, and writes of unknown outcome.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::condition::{self, Outcome};
use super::origin::{Origin, Reply};
use super::store::Version;
use super::table::Oddity;
use super::validators::Current;
use crate::embedded::message::{Fields, Request};
use crate::embedded::switches::Stop;

/// Refusals and unknown outcomes occur once in this many requests.
const RARE: u64 = 48;
/// Frequency, once in this many requests, for twins that would otherwise show too rarely.
const OFTEN: u64 = 12;
/// A connection is closed instead of a response once in this many requests.
const RARER: u64 = 160;
/// Maximum delay of a request, in milliseconds.
const WAIT: u64 = 4;
/// Maximum delay of a postponed write, in milliseconds.
const LATER: u64 = 30;
/// Delay of a write that a twin performs after it was refused, in milliseconds.
const AGAIN: u64 = 25;
/// Interval at which the thread for postponed writes polls its queue.
const GLANCE: Duration = Duration::from_millis(1);

/// Treatment of a request.
pub(super) enum Deal {
    /// The response is sent.
    Reply(Reply),
    /// The connection is closed without a response.
    Silence,
}

/// A write that is performed later, once.
#[derive(Debug)]
pub(super) enum Job {
    /// The request is performed; its conditions are evaluated at that time.
    Perform(Request),
    /// The resource at this path is set to this version.
    Restore(String, Option<Arc<Version>>),
}

/// Postponed writes with their times.
pub(super) type Queue = Mutex<Vec<(Instant, Job)>>;

/// The thread that performs postponed writes. Dropping it stops the thread; writes that are still pending are never
/// performed.
#[derive(Debug)]
pub(super) struct Later {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Later {
    pub(super) fn start(origin: &Arc<Origin>, stop: Arc<Stop>) -> io::Result<Self> {
        let origin = origin.clone();
        let thread = thread::Builder::new().spawn(move || {
            while !origin.stop.is_now() {
                origin.stop.pause(GLANCE);
                origin.catch_up();
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.stop.now();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Origin {
    /// Performs the postponed writes that are due.
    fn catch_up(&self) {
        let now = Instant::now();
        let mut queue = self.later.lock().expect("nobody panics while holding it");
        let (due, rest) = queue.drain(..).partition(|(at, _)| *at <= now);
        *queue = rest;
        drop(queue);
        let due: Vec<(Instant, Job)> = due;
        for (_, job) in due {
            match job {
                Job::Perform(request) => drop(self.perform(&request)),
                Job::Restore(path, version) => self.store.lock().restore(&path, version),
            }
        }
    }

    fn postpone(&self, millis: u64, job: Job) {
        let mut queue = self.later.lock().expect("nobody panics while holding it");
        queue.push((Instant::now() + Duration::from_millis(millis), job));
    }

    /// Schedules this write to be performed once more after the next write of its resource. At any other time the
    /// repetition would hardly be visible.
    fn repeat_after_next_write(&self, request: &Request) {
        self.repeated.lock().expect("nobody panics while holding it").push(request.clone());
    }

    /// Performs the repetitions that waited for this write, a moment later.
    fn repeat(&self, write: &Request) {
        let mut repeated = self.repeated.lock().expect("nobody panics while holding it");
        for request in repeated.extract_if(.., |request| request.path() == write.path()) {
            self.postpone(WAIT, Job::Perform(request));
        }
    }

    fn wait(&self, most: u64) {
        self.stop.pause(Duration::from_millis(self.habits.below(most + 1)));
    }

    /// Treats a request that was received in full.
    pub(super) fn answer(&self, request: &Request) -> Deal {
        self.habits.count();
        let writes = matches!(&request.method[..], "PUT" | "DELETE");
        let reads = matches!(&request.method[..], "GET" | "HEAD");
        if (writes || reads)
            && let Some(reply) = self.refuse(request, writes)
        {
            return Deal::Reply(reply);
        }
        if writes && let Some(deal) = self.leave_open(request) {
            return deal;
        }
        let rarity = if self.habits.breaks(Oddity::Unanswered) { OFTEN } else { RARER };
        if self.habits.strikes(Oddity::Unanswered, rarity) {
            if writes && (self.habits.breaks(Oddity::Unanswered) || self.habits.below(2) == 0) {
                self.perform(request);
            }
            if writes && self.habits.breaks(Oddity::Unanswered) {
                self.repeat_after_next_write(request);
            }
            return Deal::Silence;
        }
        Deal::Reply(self.serve(request, writes))
    }

    /// Performs a request, with the delays of the active oddities.
    fn serve(&self, request: &Request, writes: bool) -> Reply {
        let habits = &self.habits;
        if habits.breaks(Oddity::SlowBefore) && writes {
            return self.race(request);
        }
        if habits.has(Oddity::SlowBefore) && habits.below(3) == 0 {
            self.wait(WAIT);
        }
        if habits.breaks(Oddity::SlowAfter) && writes {
            return self.write_behind(request);
        }
        let reply = self.perform(request);
        if writes && reply.status < 300 {
            self.repeat(request);
        }
        if reply.status == 412 && writes && habits.breaks(Oddity::AcceptedLater) {
            self.postpone(AGAIN, Job::Perform(unconditional(request)));
        }
        if habits.has(Oddity::SlowAfter) && habits.below(3) == 0 {
            self.wait(WAIT);
        }
        reply
    }

    /// Returns a refusal if the request is to be refused.
    fn refuse(&self, request: &Request, writes: bool) -> Option<Reply> {
        let habits = &self.habits;
        let path = request.path()?;
        if request.method == "PUT"
            && request.fields.has("transfer-encoding")
            && habits.has(Oddity::LengthRequired)
        {
            if habits.breaks(Oddity::LengthRequired) {
                self.perform(request);
            }
            return Some(Reply::explained(411, "a length is required"));
        }
        let put = request.method == "PUT";
        if habits.strikes(Oddity::Unavailable, RARE) && (put || !habits.breaks(Oddity::Unavailable)) {
            if habits.breaks(Oddity::Unavailable) {
                self.put_half(request);
            }
            return Some(self.retry_after(Reply::explained(503, "not now")));
        }
        let strikes = |oddity: Oddity| habits.strikes(oddity, RARE) && (writes || !habits.breaks(oddity));
        if strikes(Oddity::TooMany) {
            if habits.breaks(Oddity::TooMany) {
                self.perform(request);
            }
            return Some(self.retry_after(Reply::explained(429, "too many requests")));
        }
        if strikes(Oddity::Temporary) {
            if habits.breaks(Oddity::Temporary) {
                self.perform(request);
            }
            return Some(Reply::explained(307, "elsewhere").field("Location", format!("{path}-elsewhere")));
        }
        if strikes(Oddity::Permanent) {
            if habits.breaks(Oddity::Permanent) {
                self.store.lock().delete(&path);
            }
            return Some(Reply::explained(308, "elsewhere").field("Location", format!("{path}-elsewhere")));
        }
        if strikes(Oddity::Forbidden) {
            if habits.breaks(Oddity::Forbidden) {
                self.postpone(WAIT, Job::Perform(request.clone()));
            }
            return Some(Reply::explained(403, "not you"));
        }
        if writes && habits.has(Oddity::Locked) {
            return self.lock(request, path);
        }
        None
    }

    fn retry_after(&self, reply: Reply) -> Reply {
        if self.habits.below(2) == 0 { reply.field("Retry-After", "0") } else { reply }
    }

    /// Refuses a write that is concurrent with another to the same resource, or performs it under a lock of its own.
    fn lock(&self, request: &Request, path: String) -> Option<Reply> {
        let busy = || self.busy.lock().expect("nobody panics while holding it");
        {
            let mut paths = busy();
            if paths.contains(&path) {
                drop(paths);
                if self.habits.breaks(Oddity::Locked) {
                    while busy().contains(&path) && !self.stop.is_now() {
                        self.wait(1);
                    }
                    self.perform(request);
                }
                return Some(Reply::explained(423, "somebody else is at it"));
            }
            // Three of four writes take no lock: they would not last long enough for another to meet them.
            if self.habits.below(4) != 0 {
                return None;
            }
            paths.push(path.clone());
        }
        self.wait(WAIT);
        let reply = self.serve(request, true);
        busy().retain(|other| *other != path);
        Some(reply)
    }

    /// Responds to a write so that its outcome is unknown, if an oddity says so.
    fn leave_open(&self, request: &Request) -> Option<Deal> {
        let habits = &self.habits;
        let later = |request: Request| self.postpone(habits.below(LATER), Job::Perform(request));
        let rarity = if habits.breaks(Oddity::ErrorLater) { OFTEN } else { RARE };
        if habits.strikes(Oddity::ErrorLater, rarity) {
            if habits.breaks(Oddity::ErrorLater) {
                self.perform(request);
                self.repeat_after_next_write(request);
            } else if habits.below(3) != 0 {
                later(request.clone());
            }
            let status = [500, 502, 504][habits.below(3) as usize];
            return Some(Deal::Reply(Reply::explained(status, "something went wrong")));
        }
        if habits.strikes(Oddity::ErrorDone, RARE) {
            if habits.breaks(Oddity::ErrorDone) {
                self.put_half(request);
            } else {
                self.perform(request);
            }
            return Some(Deal::Reply(Reply::explained(500, "something went wrong")));
        }
        if habits.keeps(Oddity::AcceptedLater) && habits.strikes(Oddity::AcceptedLater, RARE) {
            later(request.clone());
            return Some(Deal::Reply(Reply::explained(202, "later")));
        }
        if habits.strikes(Oddity::AcceptedNever, RARE) {
            let status = if habits.breaks(Oddity::AcceptedNever) { 204 } else { 202 };
            let reply = if status == 202 { Reply::explained(202, "perhaps") } else { Reply::new(204) };
            return Some(Deal::Reply(reply));
        }
        if habits.strikes(Oddity::SilentLater, RARER) {
            let breaks = habits.breaks(Oddity::SilentLater);
            later(if breaks { unconditional(request) } else { request.clone() });
            return Some(Deal::Silence);
        }
        None
    }

    /// Stores half of the content of a PUT.
    fn put_half(&self, request: &Request) {
        if let Some(path) = request.path().filter(|_| request.content.len() > 1) {
            let half = &request.content[..request.content.len() / 2];
            self.store.lock().put(&path, Arc::from(half));
        }
    }

    /// Evaluates the conditions, waits, and then performs the write without evaluating them again.
    fn race(&self, request: &Request) -> Reply {
        let Some(path) = request.path() else { return self.perform(request) };
        let version = self.store.lock().versions.get(&path).cloned();
        let current = version.map(|version| Current::of(&version, &self.habits));
        if condition::evaluate(request, current.as_ref(), &self.habits) != Outcome::Perform {
            return self.perform(request);
        }
        self.wait(WAIT);
        self.perform(&unconditional(request))
    }

    /// Responds to a write as if it had been performed, and performs it a moment later.
    fn write_behind(&self, request: &Request) -> Reply {
        let Some(path) = request.path() else { return self.perform(request) };
        let old = self.store.lock().versions.get(&path).cloned();
        let reply = self.perform(request);
        let mut shelf = self.store.lock();
        let new = shelf.versions.get(&path).cloned();
        shelf.restore(&path, old);
        drop(shelf);
        self.postpone(WAIT, Job::Restore(path, new));
        reply
    }
}

/// Returns the request without its conditions.
fn unconditional(request: &Request) -> Request {
    let mut fields = Fields::default();
    for (name, value) in
        request.fields.iter().filter(|(name, _)| !name.to_ascii_lowercase().starts_with("if-"))
    {
        fields.push(name.to_owned(), value.to_vec());
    }
    Request { fields, ..request.clone() }
}
