//! What to ask next, and when.

mod asks;

use confute_drive::{Generator, Peer, Step, Until, View};

use crate::ask::{Ask, StoreKind};
use crate::protocol::Memcached;

/// What traffic looks like.
///
/// Keys come in groups of one or two. What is outstanding on one connection at one time is about one group, because keys
/// that share a connection must be judged together: that is dear where many requests compete.
#[derive(Clone, Debug)]
pub struct Habits {
    /// How many keys are used by themselves: the fewer, the more contention.
    pub singles: u32,
    /// How many pairs of keys are used together, by pipelines and by gets of both.
    pub pairs: u32,
    /// How many steps a case has.
    pub steps: usize,
    /// How many answers are outstanding at most.
    pub outstanding: usize,
    /// Whether some requests are not answered.
    pub noreply: bool,
    /// Whether items expire.
    pub expiry: bool,
    /// How many milliseconds to wait once a case, so that items that expire really do; 0 for not at all.
    pub nap: u64,
}

impl Default for Habits {
    fn default() -> Self {
        Self { singles: 9, pairs: 1, steps: 400, outstanding: 40, noreply: true, expiry: true, nap: 0 }
    }
}

/// Keys that are used together: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: u32,
    keys: u32,
}

/// What goes on for the next few steps.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// One request after the other.
    Alone,
    /// Requests over all connections.
    Burst,
    /// Requests about one group over all connections.
    Rush(Group),
    /// Requests on this connection, without waiting for answers.
    Pipeline(u32, Group),
    /// A barrier, then a look at every key.
    Audit(u32),
    /// Nothing is read from this connection meanwhile.
    Held(u32),
}

/// Random traffic: sequential stretches, bursts, pipelines, answers held back, and barriers followed by audits.
#[derive(Clone, Debug)]
pub struct Traffic {
    habits: Habits,
    mood: Mood,
    /// For how many steps.
    left: u64,
    marks: u64,
    /// What each connection was used for last, and whether it will never be known when that was done.
    lines: Vec<Option<(Group, bool)>>,
    /// To be done before anything else, last first.
    due: Vec<Step<Ask>>,
}

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

impl Traffic {
    /// Traffic with these habits.
    pub fn new(habits: Habits) -> Self {
        Self { habits, mood: Mood::Alone, left: 4, marks: 0, lines: Vec::new(), due: Vec::new() }
    }

    fn change(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) {
        if let Mood::Held(line) = self.mood {
            self.due.push(Step::Release(Peer::Opened(line)));
        }
        let group = self.group(pick);
        let line = self.line(view, group, pick);
        (self.mood, self.left) = match (pick(10), line) {
            (0, _) => (Mood::Alone, 3 + pick(6)),
            (1 | 2, Some(line)) => (Mood::Pipeline(line, group), 3 + pick(4)),
            (3, Some(line)) => {
                self.due.push(Step::Hold(Peer::Opened(line)));
                (Mood::Held(line), 4 + pick(8))
            }
            (4, _) => {
                self.due.push(Step::Wait(Until::Outstanding(0)));
                (Mood::Audit(0), u64::from(self.keys()))
            }
            (5, _) => (Mood::Rush(group), 2 + pick(4)),
            _ => (Mood::Burst, 8 + pick(24)),
        };
    }

    /// Every key gets an item that expires soon; then a long wait, and a look at every key.
    fn nap(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) {
        let barrier = Step::Wait(Until::Outstanding(0));
        let mut steps = Vec::new();
        if let Mood::Held(line) = self.mood {
            steps.push(Step::Release(Peer::Opened(line)));
        }
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

    /// A connection for requests about this group: one with nothing else outstanding.
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

    /// Notes what a connection is used for.
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
        if view.steps >= self.habits.steps {
            if let Mood::Held(line) = std::mem::replace(&mut self.mood, Mood::Alone) {
                return Some(Step::Release(Peer::Opened(line)));
            }
            return None;
        }
        if self.habits.nap > 0 && view.steps >= self.habits.steps / 2 {
            self.nap(view, pick);
        } else if self.left == 0 {
            self.change(view, pick);
        }
        if let Some(step) = self.due.pop() {
            return Some(step);
        }
        let outstanding: usize = view.outstanding.iter().map(|count| *count as usize).sum();
        // What is held back does not come.
        let held = matches!(self.mood, Mood::Held(_));
        if outstanding >= self.habits.outstanding && !held {
            let fewer = self.habits.outstanding / 2;
            let some = Until::Outstanding(fewer);
            return Some(Step::Wait(if pick(4) == 0 { some } else { Until::Something }));
        }
        self.left -= 1;
        let group = match self.mood {
            Mood::Rush(group) | Mood::Pipeline(_, group) => group,
            _ => self.group(pick),
        };
        let (line, ask) = match self.mood {
            Mood::Audit(key) => {
                self.mood = Mood::Audit(key + 1);
                let group = self.group_of(key);
                let Some(line) = self.line(view, group, pick) else {
                    return Some(Step::Wait(Until::Something));
                };
                self.use_line(line, group, false);
                (line, Ask::Get { keys: vec![key], unique: true })
            }
            mood => {
                let line = if let Mood::Pipeline(line, _) = mood {
                    Some(line)
                } else {
                    self.line(view, group, pick)
                };
                let Some(line) = line else { return Some(Step::Wait(Until::Something)) };
                // Where a request was not answered it may be under way for long: few connections are used for that.
                let quiet = line % 4 == 0;
                let ask = self.ask(group, quiet, view.past, pick);
                self.use_line(line, group, ask.is_quiet());
                (line, ask)
            }
        };
        if matches!(self.mood, Mood::Alone) {
            self.due.push(Step::Wait(Until::Outstanding(0)));
        }
        let cuts = if pick(24) == 0 { vec![(1 + pick(12) as usize, pick(3))] } else { Vec::new() };
        Some(Step::Ask { on: Peer::Opened(line), ask, cuts })
    }
}
