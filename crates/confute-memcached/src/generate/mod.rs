//! Random traffic for memcached.

mod asks;

use confute_drive::{Generator, Peer, Step, Until, View};

use crate::ask::{Ask, StoreKind};
use crate::protocol::Memcached;

/// Parameters of the traffic.
///
/// Keys come in groups of one or two. All requests outstanding on one connection are about one group: keys
/// that share a connection must be judged together, which is expensive where many requests compete.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Number of keys in groups of one: the fewer, the more contention.
    pub singles: u32,
    /// Number of pairs of keys that pipelines and gets of both keys use together.
    pub pairs: u32,
    /// Number of requests in a case.
    pub requests: usize,
    /// Maximum number of outstanding responses.
    pub outstanding: usize,
    /// `true` if some requests have `noreply`.
    pub noreply: bool,
    /// `true` if some items have an expiration time.
    pub expiry: bool,
    /// `true` if numbers of 2^63 and more occur, which not every memcached handles: see
    /// [`COUNT_LARGE`](crate::rules::COUNT_LARGE).
    pub large: bool,
    /// Milliseconds to wait once per case, so that items really expire; 0 for no wait.
    pub nap: u64,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            singles: 12,
            pairs: 1,
            requests: 400,
            outstanding: 28,
            noreply: true,
            expiry: true,
            large: true,
            nap: 0,
        }
    }
}

/// Keys that are used together: the first one and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u32,
    keys: u32,
}

/// Traffic pattern of the next few steps.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// Sequential requests: each waits for its response.
    Alone,
    /// Requests over all connections, many of which are not read from meanwhile.
    Burst,
    /// Requests about one group over all connections.
    Rush(Group),
    /// Requests on this connection without waiting for responses.
    Pipeline(u32, Group),
    /// Reads of all keys, one by one from this key on. A barrier precedes them.
    Audit(u32),
}

/// Random traffic: sequential stretches, bursts, pipelines, delayed reads of responses, and barriers followed
/// by reads of all keys.
#[derive(Clone, Debug)]
pub struct Traffic {
    habits: Habits,
    mood: Mood,
    /// Number of steps left in the current pattern.
    left: u64,
    marks: u64,
    /// Number of requests made so far.
    asked: usize,
    /// Connections that are currently not read from.
    held: Vec<u32>,
    /// Group that each connection was last used for, and `true` if a request with `noreply` was ever sent on
    /// it: it is never known when such a request is done, so the connection stays with its group.
    lines: Vec<Option<(Group, bool)>>,
    /// Steps to take before anything else, last one first.
    due: Vec<Step<Ask>>,
}

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

impl Traffic {
    /// Creates traffic with these parameters.
    pub fn new(habits: Habits) -> Self {
        Self {
            habits,
            mood: Mood::Alone,
            left: 4,
            marks: 0,
            asked: 0,
            held: Vec::new(),
            lines: Vec::new(),
            due: Vec::new(),
        }
    }

    fn change(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) {
        let mut steps = Vec::new();
        let group = self.group(pick);
        let line = self.line(view, group, pick);
        (self.mood, self.left) = match (pick(16), line) {
            (0, _) => {
                steps = self.release(self.held.len(), pick);
                (Mood::Alone, 3 + pick(6))
            }
            (1, _) => {
                steps = self.release(self.held.len(), pick);
                steps.push(Step::Wait(Until::Outstanding(0)));
                (Mood::Audit(0), u64::from(self.keys()))
            }
            (2 | 3, Some(line)) => (Mood::Pipeline(line, group), 3 + pick(4)),
            (4, _) => (Mood::Rush(group), 2 + pick(4)),
            _ => {
                // A random share of the connections is not read from: some of them, mostly all.
                let share = 1 + pick(5);
                let free = |line: &u32| !self.held.contains(line);
                let more: Vec<u32> =
                    (0..view.connections).filter(|line| free(line) && pick(4) < share).collect();
                steps.extend(more.iter().map(|line| Step::Hold(Peer::Opened(*line))));
                self.held.extend(more);
                let most = self.habits.outstanding as u64;
                (Mood::Burst, most / 2 + pick(most.max(1)))
            }
        };
        self.due.extend(steps.into_iter().rev());
    }

    /// Resumes reading from at most this many connections, in random order.
    fn release(&mut self, most: usize, pick: &mut Pick<'_>) -> Vec<Step<Ask>> {
        let mut steps = Vec::new();
        while !self.held.is_empty() && steps.len() < most {
            let line = self.held.swap_remove(pick(self.held.len() as u64) as usize);
            steps.push(Step::Release(Peer::Opened(line)));
        }
        steps
    }

    /// Resumes reading from half of the held connections, then waits.
    fn pause(&mut self, until: Until, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        self.due.push(Step::Wait(until));
        let releases = self.release(self.held.len().div_ceil(2), pick);
        self.due.extend(releases);
        self.due.pop()
    }

    /// Stores an item that expires soon under every key, waits until all have expired, and reads every key.
    fn nap(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) {
        let barrier = Step::Wait(Until::Outstanding(0));
        let mut steps = self.release(self.held.len(), pick);
        steps.push(barrier.clone());
        for key in 0..self.keys() {
            let group = self.group_of(key);
            let Some(line) = self.line(view, group, pick) else { continue };
            self.use_line(line, group, false);
            self.marks += 1;
            let (how, data) = (StoreKind::Set, format!("brief{}", self.marks));
            let ask = Ask::Store { how, key, flags: 0, exptime: 1, data, token: None, noreply: false };
            steps.extend([Step::Ask { on: Peer::Opened(line), ask, cuts: Vec::new() }, barrier.clone()]);
        }
        steps.push(Step::Wait(Until::Millis(std::mem::take(&mut self.habits.nap))));
        self.due.extend(steps.into_iter().rev());
        (self.mood, self.left) = (Mood::Audit(0), u64::from(self.keys()));
    }

    fn group_of(&self, key: u32) -> Group {
        match key.checked_sub(self.habits.singles) {
            None => Group { first: key, keys: 1 },
            Some(place) => Group { first: key - place % 2, keys: 2 },
        }
    }

    fn keys(&self) -> u32 {
        self.habits.singles + 2 * self.habits.pairs
    }

    fn group(&self, pick: &mut Pick<'_>) -> Group {
        let singles = self.habits.singles;
        let number = pick(u64::from(singles + self.habits.pairs).max(1)) as u32;
        if number < singles {
            Group { first: number, keys: 1 }
        } else {
            Group { first: singles + 2 * (number - singles), keys: 2 }
        }
    }

    /// Returns a connection for requests about this group: one with nothing else outstanding.
    fn line(&self, view: &View<'_, Memcached>, group: Group, pick: &mut Pick<'_>) -> Option<u32> {
        let count = view.connections.max(1);
        let first = pick(u64::from(count)) as u32;
        let load = |line: u32| view.outstanding.get(line as usize).copied().unwrap_or(0);
        let lines = || (0..count).map(|offset| (first + offset) % count);
        let free = |line: &u32| match self.lines.get(*line as usize).copied().flatten() {
            Some((last, for_ever)) => last == group || (!for_ever && load(*line) == 0),
            None => true,
        };
        lines().find(|line| load(*line) == 0 && free(line)).or_else(|| lines().find(free))
    }

    /// Records the group that a connection is used for.
    fn use_line(&mut self, line: u32, group: Group, for_ever: bool) {
        let line = line as usize;
        self.lines.resize(self.lines.len().max(line + 1), None);
        let stays = self.lines[line].is_some_and(|(_, for_ever)| for_ever);
        self.lines[line] = Some((group, stays || for_ever));
    }
}

impl Generator<Memcached> for Traffic {
    fn next(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        if let Some(step) = self.due.pop() {
            return Some(step);
        }
        if self.asked >= self.habits.requests {
            self.due = self.release(self.held.len(), pick);
            return self.due.pop();
        }
        if self.habits.nap > 0 && self.asked >= self.habits.requests / 2 {
            self.nap(view, pick);
        } else if self.left == 0 {
            self.change(view, pick);
        }
        if let Some(step) = self.due.pop() {
            return Some(step);
        }
        let outstanding: usize = view.outstanding.iter().map(|count| *count as usize).sum();
        if outstanding >= self.habits.outstanding {
            return self.pause(Until::Something, pick);
        }
        let group = match self.mood {
            Mood::Rush(group) | Mood::Pipeline(_, group) => group,
            _ => self.group(pick),
        };
        let (line, ask) = match self.mood {
            Mood::Audit(key) => {
                let group = self.group_of(key);
                let Some(line) = self.line(view, group, pick) else {
                    return self.pause(Until::Something, pick);
                };
                self.mood = Mood::Audit(key + 1);
                self.use_line(line, group, false);
                (line, Ask::Get { keys: vec![key], unique: true })
            }
            mood => {
                let line = if let Mood::Pipeline(line, _) = mood {
                    Some(line)
                } else {
                    self.line(view, group, pick)
                };
                let Some(line) = line else { return self.pause(Until::Something, pick) };
                // A request with `noreply` may stay in flight for a long time, so only every fourth
                // connection carries them.
                let quiet = line % 4 == 0;
                let ask = self.ask(group, quiet, view.past, pick);
                self.use_line(line, group, ask.is_quiet());
                (line, ask)
            }
        };
        self.left -= 1;
        self.asked += 1;
        if matches!(self.mood, Mood::Alone) {
            self.due.push(Step::Wait(Until::Outstanding(0)));
        }
        let cuts = if pick(24) == 0 { vec![(1 + pick(12) as usize, pick(3))] } else { Vec::new() };
        Some(Step::Ask { on: Peer::Opened(line), ask, cuts })
    }
}
