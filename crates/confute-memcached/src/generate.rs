//! What to ask next, and when.

use confute_drive::{Generator, Msg, Past, Peer, Step, Until, View};

use crate::ask::{Ask, StoreKind, TokenRef};
use crate::message::{Line, Message};
use crate::protocol::Memcached;

/// What traffic looks like.
#[derive(Clone, Debug)]
pub struct Habits {
    /// How many keys: the fewer, the more contention.
    pub keys: u32,
    /// How many steps a case has.
    pub steps: usize,
    /// How many answers are outstanding at most.
    pub outstanding: usize,
    /// Whether a get may name several keys.
    pub several: bool,
    /// Whether some requests are not answered.
    pub noreply: bool,
    /// Whether items expire.
    pub expiry: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self { keys: 3, steps: 400, outstanding: 24, several: true, noreply: true, expiry: true }
    }
}

/// What goes on for the next few steps.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// One request after the other.
    Alone,
    /// Requests over all connections.
    Burst,
    /// Requests on this connection, without waiting for answers.
    Pipeline(Peer),
    /// A barrier, then a look at every key.
    Audit(u32),
    /// Nothing is read from this connection meanwhile.
    Held(Peer),
}

/// Random traffic: sequential stretches, bursts, pipelines, answers held back, and barriers followed by audits.
#[derive(Clone, Debug)]
pub struct Traffic {
    habits: Habits,
    mood: Mood,
    /// For how many steps.
    left: u64,
    marks: u64,
    /// To be done before anything else, last first.
    due: Vec<Step<Ask>>,
}

type Pick<'a> = dyn FnMut(u64) -> u64 + 'a;

impl Traffic {
    /// Traffic with these habits.
    pub fn new(habits: Habits) -> Self {
        Self { habits, mood: Mood::Alone, left: 4, marks: 0, due: Vec::new() }
    }

    fn change(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) {
        if let Mood::Held(peer) = self.mood {
            self.due.push(Step::Release(peer));
        }
        let any = any_peer(view, pick);
        (self.mood, self.left) = match pick(10) {
            0 => (Mood::Alone, 3 + pick(6)),
            1 | 2 => (Mood::Pipeline(any), 3 + pick(5)),
            3 => {
                self.due.push(Step::Hold(any));
                (Mood::Held(any), 4 + pick(12))
            }
            4 => {
                self.due.push(Step::Wait(Until::Outstanding(0)));
                (Mood::Audit(0), u64::from(self.habits.keys))
            }
            _ => (Mood::Burst, 8 + pick(24)),
        };
    }

    fn ask(&mut self, past: &Past<Memcached>, pick: &mut Pick<'_>) -> Ask {
        let key = pick(u64::from(self.habits.keys)) as u32;
        let noreply = self.habits.noreply && pick(16) == 0;
        match pick(20) {
            0..=6 => self.get(key, pick),
            7..=9 => self.store(StoreKind::Set, key, noreply, pick),
            10 => self.store(StoreKind::Add, key, noreply, pick),
            11 => self.store(StoreKind::Replace, key, noreply, pick),
            12 => {
                let how = if pick(2) == 0 { StoreKind::Append } else { StoreKind::Prepend };
                self.store(how, key, noreply, pick)
            }
            13..=15 => {
                let token = self.token(key, past, pick);
                let Ask::Store { flags, exptime, data, .. } = self.store(StoreKind::Cas, key, noreply, pick)
                else {
                    return self.get(key, pick);
                };
                Ask::Store { how: StoreKind::Cas, key, flags, exptime, data, token: Some(token), noreply }
            }
            16 => Ask::Delete { key, noreply },
            17 | 18 => {
                let by = [1, 1, 2, 9, 90, u64::MAX][pick(6) as usize];
                Ask::Count { key, up: pick(2) == 0, by, noreply }
            }
            _ => Ask::Touch { key, exptime: self.exptime(pick), noreply },
        }
    }

    fn get(&self, key: u32, pick: &mut Pick<'_>) -> Ask {
        let mut keys = vec![key];
        if self.habits.several && pick(4) == 0 {
            let more = 1 + pick(u64::from(self.habits.keys.max(2)) - 1) as u32;
            keys.extend((1..=more).map(|next| (key + next) % self.habits.keys.max(1)));
            keys.dedup();
        }
        Ask::Get { keys, unique: pick(3) != 0 }
    }

    fn store(&mut self, how: StoreKind, key: u32, noreply: bool, pick: &mut Pick<'_>) -> Ask {
        let data = self.data(how, pick);
        let flags = if pick(2) == 0 { 0 } else { pick(1 << 16) as u32 };
        let exptime = if pick(6) == 0 { self.exptime(pick) } else { 0 };
        Ask::Store { how, key, flags, exptime, data, token: None, noreply }
    }

    fn exptime(&self, pick: &mut Pick<'_>) -> i64 {
        if self.habits.expiry { [0, 0, 1, 2, 100, -1][pick(6) as usize] } else { 0 }
    }

    /// Data that tells where it came from, of equal and of different length; numbers; nothing.
    fn data(&mut self, how: StoreKind, pick: &mut Pick<'_>) -> String {
        self.marks += 1;
        let mark = self.marks;
        match pick(8) {
            _ if matches!(how, StoreKind::Append | StoreKind::Prepend) => format!("<{mark}>"),
            0 => String::new(),
            1 | 2 => ["0", "1", "9", "10", "100", "18446744073709551615"][pick(6) as usize].to_owned(),
            3 => format!("{mark:x}-{}", "x".repeat(pick(200) as usize)),
            4 => format!("{mark}\r\nEND\r\n"),
            _ => format!("v{mark:07x}"),
        }
    }

    /// Mostly the latest token seen for this key, sometimes a stale one or one of another key, sometimes a guess.
    fn token(&self, key: u32, past: &Past<Memcached>, pick: &mut Pick<'_>) -> TokenRef {
        let guess = TokenRef::Guess(pick(1000));
        let foreign = pick(8) == 0;
        let wanted = if foreign { (key + 1) % self.habits.keys.max(1) } else { key };
        let back = if pick(4) == 0 { 1 + pick(4) as usize } else { 0 };
        let recent = past.exchanges.iter().rev().take(200);
        let mut seen = recent.filter(|exchange| gave_token(&exchange.ask, &exchange.replies, wanted));
        match seen.nth(back) {
            Some(exchange) if pick(12) != 0 => TokenRef::Seen { step: exchange.step, key: wanted },
            _ => guess,
        }
    }
}

/// Whether an answer has a token for this key.
fn gave_token(ask: &Ask, replies: &[Msg<Memcached>], key: u32) -> bool {
    let Ask::Get { keys, unique: true } = ask else { return false };
    let Some(place) = keys.iter().position(|asked| *asked == key) else { return false };
    let Some(Message::Answer(answer)) = replies.get(place) else { return false };
    matches!(answer.line, Line::Value { unique: Some(_), .. })
}

fn any_peer(view: &View<'_, Memcached>, pick: &mut Pick<'_>) -> Peer {
    Peer::Opened(pick(u64::from(view.connections.max(1))) as u32)
}

/// A connection with little outstanding: one of two.
fn calm_peer(view: &View<'_, Memcached>, pick: &mut Pick<'_>) -> Peer {
    let count = u64::from(view.connections.max(1));
    let (one, other) = (pick(count) as u32, pick(count) as u32);
    let load = |peer: u32| view.outstanding.get(peer as usize).copied().unwrap_or(0);
    Peer::Opened(if load(other) < load(one) { other } else { one })
}

impl Generator<Memcached> for Traffic {
    fn next(&mut self, view: &View<'_, Memcached>, pick: &mut Pick<'_>) -> Option<Step<Ask>> {
        if let Some(step) = self.due.pop() {
            return Some(step);
        }
        if view.steps >= self.habits.steps {
            if let Mood::Held(peer) = std::mem::replace(&mut self.mood, Mood::Alone) {
                return Some(Step::Release(peer));
            }
            return None;
        }
        if self.left == 0 {
            self.change(view, pick);
            if let Some(step) = self.due.pop() {
                return Some(step);
            }
        }
        let outstanding: usize = view.outstanding.iter().map(|count| *count as usize).sum();
        // What is held back does not come.
        let most = if matches!(self.mood, Mood::Held(_)) { usize::MAX } else { self.habits.outstanding };
        if outstanding >= most {
            let fewer = (self.habits.outstanding / 2).max(1) - 1;
            return Some(Step::Wait(if pick(4) == 0 { Until::Outstanding(fewer) } else { Until::Something }));
        }
        self.left -= 1;
        let (on, ask) = match self.mood {
            Mood::Audit(key) => {
                self.mood = Mood::Audit(key + 1);
                (any_peer(view, pick), Ask::Get { keys: vec![key], unique: true })
            }
            Mood::Pipeline(peer) => (peer, self.ask(view.past, pick)),
            Mood::Alone | Mood::Burst | Mood::Held(_) => (calm_peer(view, pick), self.ask(view.past, pick)),
        };
        if matches!(self.mood, Mood::Alone) {
            self.due.push(Step::Wait(Until::Outstanding(0)));
        }
        let cuts = if pick(24) == 0 { vec![(1 + pick(12) as usize, pick(3))] } else { Vec::new() };
        Some(Step::Ask { on, ask, cuts })
    }
}
